//! Every base is whole, parses, and is the same each time.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panic")]

use plimsoll_lab::base::{NAMES, Platform, base, daemon_pod, metal, params};
use plimsoll_lab::edit::gather_time;
use plimsoll_lab::tree::Tree;
use plimsoll_yaml::{Limits, Node, parse};

fn text<'t>(tree: &'t Tree, path: &str) -> &'t str {
    let bytes = tree.get(path).unwrap_or_else(|| panic!("no {path}"));
    std::str::from_utf8(bytes).unwrap()
}

fn object(tree: &Tree, path: &str) -> Node {
    parse(text(tree, path), &Limits::OBJECT).unwrap()
}

fn condition<'n>(object: &'n Node, name: &str) -> &'n str {
    object
        .at(&["status", "conditions"])
        .unwrap()
        .items()
        .iter()
        .find(|condition| condition.text_at(&["type"]) == Some(name))
        .and_then(|condition| condition.text_at(&["status"]))
        .unwrap_or_else(|| panic!("no condition {name}"))
}

fn objects_below<'t>(tree: &'t Tree, prefix: &str) -> Vec<(&'t str, Node)> {
    tree.keys()
        .filter(|path| path.starts_with(prefix) && path.ends_with(".yaml"))
        .map(|path| (path.as_str(), object(tree, path)))
        .collect()
}

const OPERATORS: &str = "cluster-scoped-resources/config.openshift.io/clusteroperators/";

#[test]
fn every_yaml_of_every_base_parses() {
    for name in NAMES {
        let tree = base(name).unwrap_or_else(|| panic!("{name} cannot be made"));
        assert!(tree.len() > 500, "{name} has {} files", tree.len());
        for path in tree.keys().filter(|path| path.ends_with(".yaml")) {
            let text = text(&tree, path);
            assert!(name == "gcp-4.18" || text.starts_with("---\n"), "{name} {path}");
            if let Err(error) = parse(text, &Limits::OBJECT) {
                panic!("{name} {path}: {error}");
            }
        }
        assert!(gather_time(&tree).is_some(), "{name}");
    }
    assert_eq!(base("mars"), None);
}

#[test]
fn every_json_and_every_pod_log_is_well_formed() {
    for name in NAMES.into_iter().filter(|name| *name != "gcp-4.18") {
        let tree = base(name).unwrap();
        let now = gather_time(&tree).unwrap();
        for path in tree.keys().filter(|path| path.ends_with(".json")) {
            serde_json::from_str::<serde_json::Value>(text(&tree, path)).unwrap();
        }
        for path in tree.keys().filter(|path| path.ends_with("/current.log")) {
            let mut last = None;
            for line in text(&tree, path).lines() {
                let time: jiff::Timestamp = line.split(' ').next().unwrap().parse().unwrap();
                assert!(time <= now && Some(time) >= last, "{name} {path}: {line}");
                last = Some(time);
            }
        }
    }
}

#[test]
fn a_generated_base_is_small_and_the_same_each_time() {
    for name in ["metal-3-2", "none-3-3", "sno"] {
        let params = params(name).unwrap();
        let tree = metal(&params);
        assert_eq!(tree, metal(&params));
        let bytes: usize = tree.values().map(Vec::len).sum();
        assert!(bytes < 4 << 20, "{name} has {bytes} bytes");
    }
}

#[test]
fn nothing_is_wrong_with_a_healthy_base() {
    for name in ["metal-3-2", "metal-3-0", "sno", "metal-4.19", "none-3-3"] {
        let tree = base(name).unwrap();
        let operators = objects_below(&tree, OPERATORS);
        assert_eq!(operators.len(), 34);
        for (path, operator) in operators {
            assert_eq!(condition(&operator, "Available"), "True", "{name} {path}");
            assert_eq!(condition(&operator, "Degraded"), "False", "{name} {path}");
            assert_eq!(condition(&operator, "Progressing"), "False", "{name} {path}");
        }
        for (path, node) in objects_below(&tree, "cluster-scoped-resources/core/nodes/") {
            assert_eq!(condition(&node, "Ready"), "True", "{name} {path}");
        }
        for path in tree.keys().filter(|path| path.contains("/pods/") && path.ends_with(".yaml")) {
            let pod = object(&tree, path);
            let phase = pod.text_at(&["status", "phase"]);
            let ready = condition(&pod, "Ready");
            assert!(
                matches!((phase, ready), (Some("Running"), "True") | (Some("Succeeded"), "False")),
                "{name} {path}"
            );
        }
    }
}

#[test]
fn nodes_hosts_machines_and_etcd_agree() {
    for name in ["metal-3-2", "metal-3-0", "sno", "none-3-3"] {
        let params = params(name).unwrap();
        let tree = base(name).unwrap();
        let nodes = objects_below(&tree, "cluster-scoped-resources/core/nodes/");
        assert_eq!(nodes.len(), params.masters.len() + params.workers.len());
        let hosts =
            objects_below(&tree, "namespaces/openshift-machine-api/metal3.io/baremetalhosts/");
        let expected = if params.platform == Platform::BareMetal { nodes.len() } else { 0 };
        assert_eq!(hosts.len(), expected, "{name}");
        for (path, host) in hosts {
            let machine = host.text_at(&["spec", "consumerRef", "name"]).unwrap();
            let machine = object(
                &tree,
                &format!(
                    "namespaces/openshift-machine-api/machine.openshift.io/machines/{machine}.yaml"
                ),
            );
            let node = machine.text_at(&["status", "nodeRef", "name"]);
            assert_eq!(node, host.text_at(&["metadata", "name"]), "{path}");
        }
        let members: serde_json::Value =
            serde_json::from_str(text(&tree, "etcd_info/member_list.json")).unwrap();
        let members = members["members"].as_array().unwrap();
        assert_eq!(members.len(), params.masters.len());
        assert!(members.iter().all(|member| member["ID"].as_u64().unwrap() > 1 << 53));
        for pool in ["master", "worker"] {
            let pool = object(
                &tree,
                &format!(
                    "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools/{pool}.yaml"
                ),
            );
            let config = pool.text_at(&["status", "configuration", "name"]).unwrap();
            object(
                &tree,
                &format!(
                    "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigs/{config}.yaml"
                ),
            );
        }
    }
}

#[test]
fn a_mirror_pod_stands_for_every_static_pod() {
    let tree = base("metal-3-2").unwrap();
    for node in ["master-0", "master-1", "master-2"] {
        for (namespace, pod) in [
            ("openshift-etcd", "etcd"),
            ("openshift-kube-apiserver", "kube-apiserver"),
            ("openshift-kube-controller-manager", "kube-controller-manager"),
            ("openshift-kube-scheduler", "openshift-kube-scheduler"),
            ("openshift-kni-infra", "haproxy"),
        ] {
            let name = format!("{pod}-{node}");
            let found = object(&tree, &format!("namespaces/{namespace}/pods/{name}/{name}.yaml"));
            assert_eq!(
                found.text_at(&["metadata", "annotations", "kubernetes.io/config.source"]),
                Some("file")
            );
            let owner = &found.at(&["metadata", "ownerReferences"]).unwrap().items()[0];
            let holder = object(&tree, &format!("cluster-scoped-resources/core/nodes/{node}.yaml"));
            assert_eq!(owner.text_at(&["uid"]), holder.text_at(&["metadata", "uid"]));
        }
        let server = daemon_pod("machine-config-server", node);
        assert!(tree.contains_key(&format!(
            "namespaces/openshift-machine-config-operator/pods/{server}/{server}.yaml"
        )));
    }
}

#[test]
fn the_certificate_of_the_machine_config_server_holds() {
    use x509_parser::prelude::*;
    for (name, host) in [
        ("metal-3-2", "api-int.ostest.lab.example"),
        ("sno", "api-int.sno.lab.example"),
        ("none-3-3", "api-int.gw.lo"),
    ] {
        let tree = base(name).unwrap();
        let secrets =
            object(&tree, "namespaces/openshift-machine-config-operator/core/secrets.yaml");
        let secret = secrets
            .get("items")
            .unwrap()
            .items()
            .iter()
            .find(|item| item.text_at(&["metadata", "name"]) == Some("machine-config-server-tls"))
            .unwrap();
        let encoded = secret.text_at(&["data", "tls.crt"]).unwrap();
        let pem =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded).unwrap();
        let maps = object(&tree, "namespaces/kube-system/core/configmaps.yaml");
        let root = maps
            .get("items")
            .unwrap()
            .items()
            .iter()
            .find(|item| item.text_at(&["metadata", "name"]) == Some("root-ca"))
            .unwrap();
        let root = parse_x509_pem(root.text_at(&["data", "ca.crt"]).unwrap().as_bytes()).unwrap().1;
        let server = parse_x509_pem(&pem).unwrap().1;
        let (root, server) = (root.parse_x509().unwrap(), server.parse_x509().unwrap());
        assert_eq!(server.issuer(), root.subject());
        let names = server.subject_alternative_name().unwrap().unwrap();
        assert!(names.value.general_names.contains(&GeneralName::DNSName(host)), "{name}");
        let now = gather_time(&tree).unwrap().as_second();
        assert!(server.validity().is_valid_at(ASN1Time::from_timestamp(now).unwrap()));
    }
}

#[test]
fn an_installation_in_progress_waits_for_its_workers() {
    let tree = base("metal-installing").unwrap();
    let version =
        object(&tree, "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml");
    assert_eq!(condition(&version, "Progressing"), "True");
    assert_eq!(condition(&version, "Failing"), "False");
    assert!(
        !text(&tree, "cluster-scoped-resources/config.openshift.io/clusterversions/version.yaml")
            .contains("Completed")
    );
    assert!(
        !text(&tree, "namespaces/kube-system/core/configmaps.yaml").contains("status: complete")
    );
    assert_eq!(objects_below(&tree, "cluster-scoped-resources/core/nodes/").len(), 3);
    for (path, operator) in objects_below(&tree, OPERATORS) {
        assert_ne!(condition(&operator, "Degraded"), "True", "{path}");
    }
    let host =
        object(&tree, "namespaces/openshift-machine-api/metal3.io/baremetalhosts/worker-0.yaml");
    assert_eq!(host.text_at(&["status", "provisioning", "state"]), Some("provisioning"));
}

#[test]
fn an_upgrade_has_one_worker_away_and_nothing_degraded() {
    let tree = base("metal-upgrading").unwrap();
    let node = object(&tree, "cluster-scoped-resources/core/nodes/worker-0.yaml");
    assert_eq!(condition(&node, "Ready"), "Unknown");
    assert_eq!(node.at(&["spec", "unschedulable"]).and_then(Node::as_bool), Some(true));
    for (path, operator) in objects_below(&tree, OPERATORS) {
        assert_eq!(condition(&operator, "Degraded"), "False", "{path}");
        assert_eq!(condition(&operator, "Available"), "True", "{path}");
    }
    let routers = objects_below(&tree, "namespaces/openshift-ingress/pods/");
    let phases: Vec<_> = routers.iter().map(|(_, pod)| pod.text_at(&["status", "phase"])).collect();
    assert_eq!(phases.len(), 2);
    assert!(phases.contains(&Some("Pending")) && phases.contains(&Some("Running")));
    let pool = object(
        &tree,
        "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigpools/worker.yaml",
    );
    assert_eq!(condition(&pool, "Updating"), "True");
    assert_eq!(condition(&pool, "Degraded"), "False");
    let target = pool.text_at(&["spec", "configuration", "name"]).unwrap();
    object(
        &tree,
        &format!(
            "cluster-scoped-resources/machineconfiguration.openshift.io/machineconfigs/{target}.yaml"
        ),
    );
}
