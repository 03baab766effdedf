//! One step at a time, on a cluster that stands still, and on one of which nothing is known.

use serde_json::json;

use super::*;

fn plan(action: &Json, target: &Json) -> Plan {
    let step = json!({
        "number": 1, "title": "", "blast": 2, "action": action, "target": target,
        "undo": {"by": "restore"}, "rehearsal": {"by": "server"},
    });
    serde_json::from_value(json!({
        "schema": "plimsoll.plan/v1", "digest": "", "made_for": null, "cluster": {},
        "root": {"id": "broken", "entity": "Cluster/cluster"}, "confidence": "confirmed",
        "repair": "r", "title": "", "roots": [], "blast": 2, "steps": [step], "verify": [],
        "reason": {"summary": "", "explains": [], "evidence": []},
    }))
    .unwrap()
}

fn object(name: &str) -> Json {
    let entity: EntityId = name.parse().unwrap();
    let mut target = json!(crate::resource(&entity).unwrap());
    target["in"] = "api".into();
    target
}

/// A cluster in which nothing is rolled out, and of which all nodes, hosts and pools are known.
fn still() -> FactBase {
    let mut base = FactBase::default();
    let mut set = |id: EntityId, fact: &str, value: Value| {
        base.entities.entry(id).or_default().facts.insert(fact.into(), value);
    };
    let whole = |plural: &str| (plural.to_string(), Value::List(Vec::new()));
    let lists = ["nodes", "baremetalhosts", "machineconfigpools"].map(whole);
    set(EntityId::cluster(), "lists", Value::Map(lists.into()));
    set(EntityId::cluster(), "updating", false.into());
    for name in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let settled = Value::Map([("status".to_string(), "False".into())].into());
        set(EntityId::cluster_scoped("ClusterOperator", name), "progressing", settled);
    }
    base
}

fn add_node(base: &mut FactBase, name: &str, is_master: bool, is_ready: bool) {
    let node = base.entities.entry(EntityId::cluster_scoped("Node", name)).or_default();
    node.facts.insert("controlPlane".into(), is_master.into());
    let status = if is_ready { "True" } else { "Unknown" };
    let ready = Value::Map([("status".to_string(), status.into())].into());
    node.facts.insert("ready".into(), ready);
}

fn add_members(base: &mut FactBase, all: i64, well: i64) {
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.facts.insert("etcdMembers".into(), all.into());
    cluster.facts.insert("etcdHealthy".into(), well.into());
}

/// Names of the guards that speak against it, where the object is seen as given.
fn refused(action: &Json, target: &Json, seen: Option<&Json>) -> Vec<&'static str> {
    refused_in(&still(), action, target, seen)
}

fn refused_in(
    base: &FactBase,
    action: &Json,
    target: &Json,
    seen: Option<&Json>,
) -> Vec<&'static str> {
    let plan = plan(action, target);
    let scene = Scene {
        plan: &plan,
        step: &plan.steps[0],
        base,
        diagnosis: None,
        object: seen,
        break_glass: false,
    };
    refusals(&scene).into_iter().map(|refusal| refusal.guard).collect()
}

fn literal(value: Json) -> Json {
    json!({"from": "plan", "value": value})
}

fn made(maker: &str, inputs: Json) -> Json {
    json!({"from": "maker", "maker": maker, "inputs": inputs})
}

#[test]
fn what_a_secret_holds_is_made() {
    let secret = object("Secret/openshift-machine-config-operator/machine-config-server-tls");
    let password = || literal(json!({"stringData": {"password": "x"}}));
    for verb in ["create", "fill"] {
        let of = |content: Json| refused(&json!({"do": verb, "content": content}), &secret, None);
        assert_eq!(of(password()), ["secret"], "{verb}");
        assert_eq!(of(literal(json!({"type": "Opaque"}))), ["secret"], "{verb}");
        assert_eq!(of(made("mcs-tls-secret", json!({}))), Vec::<&str>::new(), "{verb}");
    }
    let config = object("ConfigMap/default/settings");
    let create = json!({"do": "create", "content": password()});
    assert_eq!(refused(&create, &config, None), Vec::<&str>::new());
}

/// A plan is a file: whoever writes one may call a Secret a ConfigMap, and no guard would know it again.
#[test]
fn an_object_is_what_it_is_called() {
    let patch = |subresource: Json| {
        let operations = json!([{"op": "replace", "path": "/data/password", "value": "eA=="}]);
        json!({"do": "patch", "subresource": subresource, "operations": operations})
    };
    let mut secret = object("Secret/openshift-machine-api/worker-0-bmc-secret");
    assert_eq!(refused(&patch(Json::Null), &secret, None), ["field", "secret"]);
    secret["kind"] = "ConfigMap".into();
    assert_eq!(refused(&patch(Json::Null), &secret, None), ["field", "object"]);
    let mut config = object("ConfigMap/default/settings");
    config["name"] = "settings/../../secrets/token".into();
    assert_eq!(refused(&patch(Json::Null), &config, None), ["field", "object"]);
    let deployment = object("Deployment/default/web");
    assert_eq!(refused(&patch("proxy".into()), &deployment, None), ["field", "object"]);
    assert_eq!(refused(&patch("status".into()), &deployment, None), ["field"]);
}

#[test]
fn a_patch_leaves_the_data_of_a_secret_alone() {
    let secret = object("Secret/openshift-machine-api/worker-0-bmc-secret");
    let patch = |operation: Json| json!({"do": "patch", "operations": [operation]});
    for operation in [
        json!({"op": "replace", "path": "/data/password", "value": "eA=="}),
        json!({"op": "add", "path": "/stringData", "value": {"password": "x"}}),
        json!({"op": "add", "path": "/stringData/password", "value": "x"}),
        json!({"op": "replace", "path": "", "value": {}}),
        json!({"op": "copy", "from": "/data/password", "path": "/metadata/labels/shown"}),
    ] {
        let found = refused(&patch(operation.clone()), &secret, None);
        assert!(found.contains(&"secret"), "{operation}");
    }
    let mark = json!({"op": "add", "path": "/metadata/labels/mark", "value": "yes"});
    assert_eq!(refused(&patch(mark), &secret, None), ["field"], "nor is anything else of it");
    // Which Secret a host names is no credential; whose host it is, is another question.
    let host = object("BareMetalHost/openshift-machine-api/worker-0");
    let name = json!({"op": "replace", "path": "/spec/bmc/credentialsName", "value": "other"});
    assert_eq!(refused(&patch(name), &host, None), ["host"]);
}

#[test]
fn a_file_that_lets_somebody_in_is_made() {
    let node = json!({"in": "node", "name": "worker-0"});
    let write = |path: &str, content: Json| {
        let action = json!({"do": "write-file", "path": path, "mode": 384, "content": content});
        let found = refused(&action, &node, None);
        found.into_iter().filter(|guard| ["file", "identity"].contains(guard)).collect::<Vec<_>>()
    };
    let text = || literal(json!("kind: Config"));
    let bootstrap = "/etc/kubernetes/kubeconfig";
    assert_eq!(write(bootstrap, text()), ["file"]);
    assert_eq!(write(bootstrap, made("bootstrap-kubeconfig", json!({}))), Vec::<&str>::new());
    assert_eq!(write("/var/lib/kubelet/kubeconfig", text()), ["identity"]);
    for path in ["/var/lib/kubelet/pki/kubelet-client-current.pem", "/etc/kubernetes/x.kubeconfig"]
    {
        assert_eq!(write(path, text()), ["file"], "{path}");
    }
}

#[test]
fn a_private_key_goes_into_its_secret_alone() {
    let fill = |name: &str, content: Json| {
        refused(&json!({"do": "fill", "content": content}), &object(name), None)
    };
    let nothing = Vec::<&str>::new();
    let mco = |kind: &str, name: &str| format!("{kind}/openshift-machine-config-operator/{name}");
    let (ca, tls) = ("machine-config-server-ca", "machine-config-server-tls");
    let by = |maker: &str| made(maker, json!({}));
    assert_eq!(fill(&mco("Secret", ca), by("mcs-ca-secret")), nothing);
    assert_eq!(fill(&mco("ConfigMap", ca), by("mcs-ca-configmap")), nothing, "it is public");
    assert_eq!(fill(&mco("ConfigMap", ca), by("mcs-ca-secret")), ["key"]);
    assert_eq!(fill(&mco("Secret", tls), by("mcs-ca-secret")), ["key"], "nor into another one");
    assert_eq!(fill("Secret/default/theirs", by("mcs-tls-secret")), ["key"]);
    assert_eq!(fill(&mco("Secret", tls), by("somebody-elses")), ["key"]);
    let key = || literal(json!({"data": {"tls.key": "-----BEGIN RSA PRIVATE KEY-----\nMII"}}));
    assert_eq!(fill("ConfigMap/default/settings", key()), ["key"]);
    let node = json!({"in": "node", "name": "worker-0"});
    let write = |path: &str, mode: u32, maker: &str| {
        let content = made(maker, json!({}));
        let action = json!({"do": "write-file", "path": path, "mode": mode, "content": content});
        refused(&action, &node, None).contains(&"key")
    };
    let bootstrap = "/etc/kubernetes/kubeconfig";
    assert!(!write(bootstrap, 0o600, "bootstrap-kubeconfig"));
    assert!(write(bootstrap, 0o644, "bootstrap-kubeconfig"));
    assert!(write("/etc/containers/policy.json", 0o600, "bootstrap-kubeconfig"));
    assert!(write(bootstrap, 0o600, "mcs-ca-secret"));
}

#[test]
fn a_private_key_is_known_through_base64() {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n";
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIBhTCCASugAwIBAgIQIRi6zePL\n";
    let once = |text: &str| STANDARD.encode(text);
    let folded = once(&KEY.repeat(3))
        .as_bytes()
        .chunks(64)
        .fold(String::new(), |all, line| all + std::str::from_utf8(line).unwrap() + "\n");
    let config = |key: &str| format!("users:\n- user:\n    client-key-data: {key}\n");
    let source = |text: &str| format!("data:text/plain;charset=utf-8;base64,{}", once(text));
    for (what, value, is_refused) in [
        ("as it is", KEY.to_string(), true),
        ("once", once(KEY), true),
        ("without its end", STANDARD_NO_PAD.encode(KEY), true),
        ("of URLs", URL_SAFE.encode(format!("???>>>{KEY}")), true),
        ("twice", once(&once(KEY)), true),
        ("in lines", folded, true),
        ("in a kubeconfig", config(&once(KEY)), true),
        ("in a file of a kubeconfig", source(&config(&once(KEY))), true),
        ("a certificate", once(CERTIFICATE), false),
        ("in a file of a certificate", source(&config(&once(CERTIFICATE))), false),
        ("a digest", "sha256:".to_string() + &"0f".repeat(32), false),
        ("a long word", "plain".repeat(4000), false),
        ("nothing", String::new(), false),
    ] {
        let create = json!({"do": "create", "content": literal(json!({"data": {"x": value}}))});
        let found = refused(&create, &object("ConfigMap/default/settings"), None);
        assert_eq!(found.contains(&"key"), is_refused, "{what}");
        let patch = json!({"do": "patch", "operations":
            [{"op": "add", "path": "/data/x", "value": value}]});
        let found = refused(&patch, &object("ConfigMap/default/settings"), None);
        assert_eq!(found.contains(&"key"), is_refused, "{what}, patched");
    }
}

/// A host is switched on for its own sake, and none for another's.
#[test]
fn no_master_is_switched_on_for_a_worker() {
    let mut base = FactBase::default();
    for (name, is_master) in [("master-1", true), ("worker-1", false)] {
        let mut host = plimsoll_model::Entity::default();
        host.facts.insert("consumer".into(), "machine".into());
        host.facts.insert("controlPlane".into(), is_master.into());
        host.facts.insert("state".into(), "provisioned".into());
        base.entities.insert(EntityId::cluster_scoped("BareMetalHost", name), host);
    }
    let on = json!({"do": "patch", "operations":
        [{"op": "replace", "path": "/spec/online", "value": true}]});
    for (root, host, is_refused) in [
        ("worker-1", "master-1", true),
        ("master-1", "worker-1", true),
        ("master-1", "master-1", false),
        ("worker-1", "worker-1", false),
    ] {
        let target = object(&format!("BareMetalHost/openshift-machine-api/{host}"));
        let mut plan = plan(&on, &target);
        plan.root.entity = EntityId::cluster_scoped("BareMetalHost", root);
        let scene = Scene {
            plan: &plan,
            step: &plan.steps[0],
            base: &base,
            diagnosis: None,
            object: None,
            break_glass: false,
        };
        let found = refusals(&scene).into_iter().any(|refusal| refusal.guard == "host");
        assert_eq!(found, is_refused, "{host} for {root}");
    }
}

#[test]
fn only_what_comes_back_is_deleted() {
    let delete = |name: &str| {
        let found = refused(&json!({"do": "delete"}), &object(name), None);
        found.contains(&"delete")
    };
    for name in [
        "Machine/openshift-machine-api/worker-0",
        "MachineSet/openshift-machine-api/worker",
        "Node/worker-0",
        "BareMetalHost/openshift-machine-api/worker-0",
        "MachineConfig/99-worker-ssh",
        "MachineConfig/rendered-worker-1",
        "Etcd/cluster",
        "Infrastructure/cluster",
        "ConfigMap/kube-system/root-ca",
    ] {
        assert!(delete(name), "{name}");
    }
    for name in ["Pod/default/web", "CertificateSigningRequest/csr-1", "Secret/default/token"] {
        assert!(!delete(name), "{name}");
    }
}

/// Every node reboots for it, and whoever reads of the repair is told who watches.
#[test]
fn the_root_authority_is_not_changed_without_a_quorum() {
    let fill = json!({"do": "fill", "content": made("mcs-root-ca-configmap", json!({}))});
    let root = object("ConfigMap/kube-system/root-ca");
    assert_eq!(refused(&fill, &root, None), ["quorum"]);
    let plan = plan(&fill, &root);
    let step = &plan.steps[0];
    assert!(watching(&step.action, &step.target, step.blast).any(|guard| guard == "quorum"));
}

/// With an unknown number of members, nothing that reboots masters is let through.
#[test]
fn a_config_is_of_the_pool_that_its_label_names() {
    let label = |role: &str| {
        let labels = json!({"machineconfiguration.openshift.io/role": role});
        json!({"metadata": {"labels": labels}})
    };
    let create = |name: &str, content: Json| {
        let action = json!({"do": "create", "content": content});
        refused(&action, &object(&format!("MachineConfig/{name}")), None)
    };
    let nothing = Vec::<&str>::new();
    assert_eq!(create("99-worker-in-name-only", literal(label("master"))), ["content", "quorum"]);
    assert_eq!(create("99-ssh", literal(label("worker"))), ["content"]);
    assert_eq!(create("99-worker-ssh", literal(json!({}))), ["content", "quorum"]);
    assert_eq!(create("rendered-worker-1", literal(json!({}))), ["content"]);
    assert_eq!(create("rendered-worker-1", literal(label("master"))), ["content", "quorum"]);
    let chrony = |role: &str| made("chrony-machine-config", json!({"role": role}));
    assert_eq!(create("99-worker-chrony", chrony("worker")), nothing);
    assert_eq!(create("99-worker-chrony", chrony("master")), ["quorum"]);
    let other = made("mcs-ca-configmap", json!({"role": "worker"}));
    assert_eq!(create("99-worker-chrony", other), ["key", "quorum"]);

    let config = object("MachineConfig/99-worker-ssh");
    let patch = |path: &str, seen: Option<&Json>| {
        let operation = json!({"op": "add", "path": path, "value": "x"});
        refused(&json!({"do": "patch", "operations": [operation]}), &config, seen)
    };
    let (worker, master) = (label("worker"), label("master"));
    assert_eq!(patch("/spec/osImageURL", None), ["field", "quorum"]);
    assert_eq!(patch("/spec/osImageURL", Some(&worker)), ["field"]);
    assert_eq!(patch("/spec/osImageURL", Some(&master)), ["field", "quorum"]);
    assert_eq!(patch("/metadata/labels", Some(&worker)), ["field", "quorum"]);
    let delete = |seen: &Json| refused(&json!({"do": "delete"}), &config, Some(seen));
    assert_eq!(delete(&worker), ["delete"]);
    assert_eq!(delete(&master), ["delete", "quorum"]);
}

/// Hosts and nodes of a cluster, and a machine of which only its BMC tells.
fn rack() -> FactBase {
    let mut base = still();
    let mut set = |kind: &str, name: &str, fact: &str, value: Value| {
        let entity = base.entities.entry(EntityId::cluster_scoped(kind, name)).or_default();
        entity.facts.insert(fact.into(), value);
    };
    for (host, serial, master) in [("master-1", "7XK1037", true), ("worker-0", "7XK1111", false)] {
        set("Node", host, "controlPlane", master.into());
        set("BareMetalHost", host, "controlPlane", master.into());
        set("BareMetalHost", host, "consumer", host.into());
        set("BareMetalHost", host, "serial", serial.into());
        set("BareMetalHost", host, "state", "provisioned".into());
    }
    set("Node", "by-hand-0", "controlPlane", false.into());
    set("Node", "master-7.ocp.example.com", "controlPlane", true.into());
    set("BareMetalHost", "rack-7", "bmc", Value::Map(std::collections::BTreeMap::new()));
    base
}

/// Its BMC has to be given to switch it off, and what that says makes it no host of the cluster.
#[test]
fn a_stranger_is_switched_off_by_its_serial_number_and_nobody_else_is() {
    let base = rack();
    let off = |host: &str, serial: Option<&str>| {
        let target = json!({"in": "bmc", "host": host, "serial": serial});
        refused_in(&base, &json!({"do": "power", "to": "off"}), &target, None)
    };
    assert_eq!(off("rack-7", Some("CN7475")), Vec::<&str>::new());
    for none in [None, Some(""), Some(" ")] {
        assert!(off("rack-7", none).contains(&"serial"), "{none:?}");
    }
    for known in ["7XK1037", "7xk1037", " 7XK1037"] {
        assert_eq!(off("rack-7", Some(known)), ["serial"], "{known} is that of master-1");
    }
    assert_eq!(off("worker-0", Some("7XK1111")), ["host"]);
    assert_eq!(off("by-hand-0", Some("CN7475")), ["host"], "a node that has no host");
    assert!(off("master-7", Some("CN7475")).contains(&"host"), "a node with its domain");
    let on = json!({"do": "power", "to": "on"});
    let node = json!({"in": "bmc", "host": "by-hand-0"});
    assert_eq!(refused_in(&base, &on, &node, None), Vec::<&str>::new());
}

/// The API flaps, and nothing was read: then nobody knows whose machine this is, nor what is going on.
#[test]
fn what_is_not_known_is_not_allowed() {
    let target = json!({"in": "bmc", "host": "rack-7", "serial": "CN7475"});
    let off = json!({"do": "power", "to": "off"});
    assert_eq!(refused_in(&rack(), &off, &target, None), Vec::<&str>::new());
    let unknown = refused_in(&FactBase::default(), &off, &target, None);
    assert_eq!(unknown[..2], ["host", "one-master"]);
    assert!(unknown.contains(&"quorum") && unknown.contains(&"rollout"), "{unknown:?}");
    for fact in ["lists", "updating"] {
        let mut base = still();
        base.entities.get_mut(&EntityId::cluster()).unwrap().facts.remove(fact);
        let online = json!({"do": "patch", "operations":
            [{"op": "replace", "path": "/spec/bmc/address", "value": "x"}]});
        let host = object("BareMetalHost/openshift-machine-api/worker-0");
        assert!(refused_in(&base, &online, &host, None).contains(&"rollout"), "{fact}");
    }
    let mut base = still();
    base.entities.remove(&EntityId::cluster_scoped("ClusterOperator", "etcd"));
    let pause = json!({"do": "patch", "operations":
        [{"op": "add", "path": "/spec/paused", "value": true}]});
    let pool = object("MachineConfigPool/worker");
    assert_eq!(refused_in(&base, &pause, &pool, None), ["rollout"]);
    // Where the platform has no hosts, none have to be listed.
    let mut base = still();
    let lists = Value::Map([("nodes".to_string(), Value::List(Vec::new()))].into());
    base.entities.get_mut(&EntityId::cluster()).unwrap().facts.insert("lists".into(), lists);
    assert!(refused_in(&base, &off, &target, None).contains(&"host"));
    let infrastructure = EntityId::cluster_scoped("Infrastructure", "cluster");
    base.entities.entry(infrastructure).or_default().facts.insert("platform".into(), "None".into());
    assert!(!refused_in(&base, &off, &target, None).contains(&"host"));
}

/// However a patch is written, it is judged by what becomes of the object.
#[test]
fn a_patch_is_judged_by_what_it_changes() {
    let host = "BareMetalHost/openshift-machine-api/worker-0";
    let seen = json!({"metadata": {"name": "worker-0", "annotations": {"a": "b"}},
        "spec": {"online": true, "bmc": {"address": "x"}, "image": {"url": "y"}}});
    let with = |name: &str, operation: Json| {
        let patch = json!({"do": "patch", "operations": [operation]});
        refused_in(&rack(), &patch, &object(name), (name == host).then_some(&seen))
    };
    let mut off = seen["spec"].clone();
    off["online"] = false.into();
    let whole = json!({"op": "replace", "path": "/spec", "value": off});
    assert_eq!(with(host, whole), ["host"]);
    let metadata = json!({"name": "worker-0", "annotations": {"a": "b", "reboot.metal3.io": ""}});
    let reboots = json!({"op": "replace", "path": "/metadata", "value": metadata});
    assert_eq!(with(host, reboots), ["host"]);
    for (name, operation) in [
        (host, json!({"op": "remove", "path": "/spec/image"})),
        (host, json!({"op": "remove", "path": "/spec/bmc"})),
        (
            "MachineSet/openshift-machine-api/worker",
            json!({"op": "replace", "path": "/spec/replicas", "value": 0}),
        ),
        (
            "ClusterVersion/version",
            json!({"op": "add", "path": "/spec/desiredUpdate", "value": {"version": "4.19.1"}}),
        ),
        (
            "Etcd/cluster",
            json!({"op": "add", "path": "/spec/unsupportedConfigOverrides", "value": {"x": true}}),
        ),
        (
            "MachineConfigPool/worker",
            json!({"op": "copy", "from": "/spec/a", "path": "/spec/paused"}),
        ),
    ] {
        assert!(with(name, operation.clone()).contains(&"field"), "{name} {operation}");
    }
}

/// A rollout of etcd restarts one member after the other.
#[test]
fn etcd_is_not_rolled_out_without_a_margin() {
    let again = json!({"do": "patch", "operations":
        [{"op": "add", "path": "/spec/forceRedeploymentReason", "value": "again"}]});
    let etcd = object("Etcd/cluster");
    let nothing = Vec::<&str>::new();
    for (all, well, expected) in [(3, 3, nothing), (3, 2, vec!["quorum"]), (1, 1, vec!["quorum"])] {
        let mut base = still();
        add_members(&mut base, all, well);
        assert_eq!(refused_in(&base, &again, &etcd, None), expected, "{well} of {all}");
    }
}

#[test]
fn nodes_are_drained_only_where_more_than_half_are_ready() {
    let unpause = json!({"do": "patch", "operations":
        [{"op": "replace", "path": "/spec/paused", "value": false}]});
    let pool = object("MachineConfigPool/worker");
    for (ready, all, is_refused) in
        [(3, 3, false), (2, 3, false), (1, 3, true), (1, 2, true), (0, 1, false)]
    {
        let mut base = still();
        for number in 0..all {
            add_node(&mut base, &format!("worker-{number}"), false, number < ready);
        }
        add_node(&mut base, "master-0", true, true);
        let found = refused_in(&base, &unpause, &pool, None);
        assert_eq!(found.contains(&"healthy-nodes"), is_refused, "{ready} of {all}: {found:?}");
    }
}

#[test]
fn only_a_kubelet_is_restarted() {
    let node = json!({"in": "node", "name": "worker-0"});
    let mut base = still();
    add_node(&mut base, "worker-0", false, true);
    let of = |unit: &str| {
        let action = json!({"do": "unit", "unit": unit, "verb": "stop"});
        refused_in(&base, &action, &node, None)
    };
    assert_eq!(of("kubelet"), Vec::<&str>::new());
    for unit in ["crio", "NetworkManager", "chronyd", "NetworkManager.service"] {
        assert_eq!(of(unit), ["file"], "{unit}");
    }
}

/// Where Argo CD tracks by a label of its choice, it is known by what it wrote.
#[test]
fn who_keeps_an_object_is_known_by_what_it_wrote() {
    let object = |manager: &str| {
        json!({"kind": "MachineConfigPool", "metadata": {"name": "worker",
            "labels": {"app.kubernetes.io/instance": "day-two"},
            "managedFields": [{"manager": "machine-config-operator"}, {"manager": manager}]}})
    };
    assert!(owner(&object("argocd-controller")).unwrap().contains("kept by Argo CD"));
    assert!(owner(&object("kustomize-controller")).unwrap().contains("kept by Flux"));
    assert_eq!(owner(&object("kubectl-edit")), None);
}

/// A plan is a file, and may say that it reaches nowhere.
#[test]
fn a_step_reaches_as_far_as_its_verb_whatever_the_plan_says() {
    let target = json!({"in": "node", "name": "worker-0"});
    let mut plan = plan(&json!({"do": "unit", "unit": "kubelet", "verb": "restart"}), &target);
    plan.steps[0].blast = 0;
    assert_eq!(plan.steps[0].reach(), 3);
    assert!(plan.steps[0].is_typed());
    let base = FactBase::default();
    let (diagnosis, object) = (None, None);
    let step = &plan.steps[0];
    let scene = Scene { plan: &plan, step, base: &base, diagnosis, object, break_glass: false };
    assert!(refusals(&scene).iter().any(|refusal| refusal.guard == "rollout"));
}

/// Whoever writes a pack or a plan may leave its level out.
#[test]
fn how_far_a_step_reaches_follows_from_what_it_does() {
    let reach = |action: Json, name: &str| plan(&action, &object(name)).steps[0].reach();
    let patch = |path: &str, value: Json| json!({"do": "patch", "operations": [{"op": "replace", "path": path, "value": value}]});
    let pool = "MachineConfigPool/master";
    assert_eq!(reach(patch("/spec/paused", true.into()), pool), 2);
    assert_eq!(reach(patch("/spec/paused", false.into()), pool), 4);
    assert_eq!(reach(patch("/spec", json!({})), pool), 4);
    let removes = json!({"do": "patch", "operations": [{"op": "remove", "path": "/spec/paused"}]});
    assert_eq!(reach(removes, pool), 4);
    assert_eq!(reach(patch("/status/configuration/name", "x".into()), pool), 2);
    assert_eq!(reach(patch("/spec/forceRedeploymentReason", "x".into()), "Etcd/cluster"), 4);
    let host = "BareMetalHost/openshift-machine-api/worker-0";
    assert_eq!(reach(patch("/spec/bmc/address", "x".into()), host), 3);
    let create = json!({"do": "create", "content": made("chrony-machine-config", json!({}))});
    assert_eq!(reach(create.clone(), "MachineConfig/99-worker-chrony"), 4);
    assert_eq!(reach(create, "MachineConfig/rendered-worker-1"), 2);
}
