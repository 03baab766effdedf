//! Edits reach every copy of an object and nothing else.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panic")]

use plimsoll_lab::base::base;
use plimsoll_lab::edit::{apply, parse_edits};
use plimsoll_lab::tree::Tree;
use plimsoll_yaml::{Limits, Node, parse};

fn edited(base_name: &str, text: &str) -> Result<Tree, String> {
    let mut tree = base(base_name).unwrap();
    let edits = parse_edits(text, 1).map_err(|error| error.to_string())?;
    apply(&mut tree, &edits).map_err(|error| error.to_string())?;
    Ok(tree)
}

fn object(tree: &Tree, path: &str) -> Node {
    parse(std::str::from_utf8(&tree[path]).unwrap(), &Limits::OBJECT).unwrap()
}

fn item<'l>(list: &'l Node, name: &str) -> Option<&'l Node> {
    list.get("items")?.items().iter().find(|item| item.text_at(&["metadata", "name"]) == Some(name))
}

/// Files that differ between two trees.
fn changed<'t>(before: &'t Tree, after: &'t Tree) -> Vec<&'t str> {
    let mut paths: Vec<&str> = before
        .iter()
        .filter(|(path, bytes)| after.get(*path) != Some(bytes))
        .map(|(path, _)| path.as_str())
        .chain(after.keys().filter(|path| !before.contains_key(*path)).map(String::as_str))
        .collect();
    paths.sort_unstable();
    paths
}

const OPERATOR: &str = "cluster-scoped-resources/config.openshift.io/clusteroperators/etcd.yaml";
const OPERATORS: &str = "cluster-scoped-resources/config.openshift.io/clusteroperators.yaml";

#[test]
fn a_condition_is_set_in_the_object_and_in_the_list() {
    let text = "condition ClusterOperator/etcd Degraded=True reason=Guard since=-2h30m message=\"GuardControllerDegraded: Missing operand on node master-1\"";
    let before = base("metal-3-2").unwrap();
    let after = edited("metal-3-2", text).unwrap();
    assert_eq!(changed(&before, &after), [OPERATORS, OPERATOR]);
    let list = object(&after, OPERATORS);
    for copy in [&object(&after, OPERATOR), item(&list, "etcd").unwrap()] {
        let degraded = copy
            .at(&["status", "conditions"])
            .unwrap()
            .items()
            .iter()
            .find(|c| c.text_at(&["type"]) == Some("Degraded"))
            .unwrap();
        assert_eq!(degraded.text_at(&["status"]), Some("True"));
        assert_eq!(degraded.text_at(&["reason"]), Some("Guard"));
        assert_eq!(degraded.text_at(&["lastTransitionTime"]), Some("2025-12-03T16:12:00Z"));
    }
    let other = |tree: &Tree| {
        item(&object(tree, OPERATORS), "network").cloned().map(|n| plimsoll_yaml::emit(&n))
    };
    assert_eq!(other(&before), other(&after));
}

#[test]
fn a_field_is_set_and_taken_away_again() {
    let before = base("metal-3-2").unwrap();
    let set = "set Infrastructure/cluster status.platformStatus.baremetal.apiServerInternalIPs = [10.46.124.13]\n";
    let after = edited("metal-3-2", set).unwrap();
    let path = "cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml";
    let ips = object(&after, path)
        .at(&["status", "platformStatus", "baremetal", "apiServerInternalIPs"])
        .unwrap()
        .items()[0]
        .clone();
    assert_eq!(ips.as_text(), Some("10.46.124.13"));
    let back = edited("metal-3-2", &format!("{set}set Infrastructure/cluster status.platformStatus.baremetal.apiServerInternalIPs = [192.168.111.5]")).unwrap();
    assert_eq!(changed(&before, &back), Vec::<&str>::new());
    let unset =
        edited("metal-3-2", "unset Infrastructure/cluster status.controlPlaneTopology").unwrap();
    assert!(object(&unset, path).at(&["status", "controlPlaneTopology"]).is_none());
    assert_eq!(
        edited("metal-3-2", "unset Infrastructure/cluster status.nope"),
        Err("line 1: status.nope: no such field".into())
    );
}

#[test]
fn a_deleted_pod_takes_its_logs_along() {
    let after = edited("metal-3-2", "delete Pod/openshift-etcd/etcd-master-1").unwrap();
    assert!(!after.keys().any(|path| path.contains("/etcd-master-1/")));
    assert!(after.keys().any(|path| path.contains("/etcd-guard-master-1/")));
    let list = object(&after, "namespaces/openshift-etcd/core/pods.yaml");
    assert!(item(&list, "etcd-master-1").is_none());
    assert!(item(&list, "etcd-master-0").is_some());
    assert_eq!(
        edited("metal-3-2", "delete Secret/kube-system/none"),
        Err("line 1: there is no Secret/kube-system/none".into())
    );
}

#[test]
fn a_star_reaches_all_pods_of_a_set() {
    let after =
        edited("metal-3-2", "delete Pod/openshift-machine-config-operator/machine-config-server-*")
            .unwrap();
    assert!(!after.keys().any(|path| path.contains("/pods/machine-config-server-")));
    assert!(after.keys().any(|path| path.contains("/pods/machine-config-daemon-")));
}

#[test]
fn an_object_is_created_in_the_forms_of_its_kind() {
    let text = "create\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: x, namespace: kube-system}\n  data: {a: b}\ncreate\n  apiVersion: certificates.k8s.io/v1\n  kind: CertificateSigningRequest\n  metadata: {name: csr-new}\n";
    let after = edited("metal-3-2", text).unwrap();
    let maps = object(&after, "namespaces/kube-system/core/configmaps.yaml");
    assert_eq!(item(&maps, "x").unwrap().text_at(&["data", "a"]), Some("b"));
    let folder = "cluster-scoped-resources/certificates.k8s.io/certificatesigningrequests";
    assert!(after.contains_key(&format!("{folder}/csr-new.yaml")));
    assert!(item(&object(&after, &format!("{folder}.yaml")), "csr-new").is_some());
    let wrong = "create\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: x}\n";
    assert_eq!(edited("metal-3-2", wrong), Err("line 1: a ConfigMap needs a namespace".into()));
}

#[test]
fn journal_lines_stand_in_the_order_of_time() {
    let text = "journal kubelet master-1 from=-2h to=-1h every=10m klog=E \"kubelet.go:1] User \\\"system:anonymous\\\" cannot get\"";
    let after = edited("metal-3-2", text).unwrap();
    let journal =
        std::str::from_utf8(&after["host_service_logs/masters/kubelet_service.log"]).unwrap();
    let new: Vec<&str> = journal.lines().filter(|line| line.contains("cannot get")).collect();
    assert_eq!(new.len(), 7);
    assert!(new[0].starts_with("Dec 03 16:42:00.000000 master-1 kubenswrapper[2451]: E1203 16:42:00.000000    2451 kubelet.go:1] User"));
    let stamps: Vec<&str> = journal.lines().map(|line| &line[..22]).collect();
    assert!(stamps.is_sorted());
    let worker = edited("metal-3-2", "journal kubelet worker-0 from=-2h \"x\"").unwrap();
    assert!(worker.contains_key("host_service_logs/workers/kubelet_service.log"));
    let many = "journal kubelet master-1 from=-2h to=now every=1s \"x\"";
    assert!(edited("metal-3-2", many).unwrap_err().starts_with("line 1: 7201 lines are more than"));
}

#[test]
fn log_lines_go_to_the_container_that_is_named() {
    let text = "log openshift-machine-config-operator/machine-config-server-*/machine-config-server from=-10m klog=E \"api.go:1] could not fetch config\"\nlog openshift-etcd/etcd-master-0/etcd/previous from=-10m \"panic\"";
    let after = edited("metal-3-2", text).unwrap();
    let hits = after.iter().filter(|(path, bytes)| {
        path.contains("machine-config-server-")
            && path.ends_with("current.log")
            && String::from_utf8_lossy(bytes)
                .contains("2025-12-03T18:32:00.000000000Z E1203 18:32:00.000000       1 api.go:1]")
    });
    assert_eq!(hits.count(), 3);
    let previous =
        &after["namespaces/openshift-etcd/pods/etcd-master-0/etcd/etcd/logs/previous.log"];
    assert_eq!(previous, b"2025-12-03T18:32:00.000000000Z panic\n");
    assert!(edited("metal-3-2", "log a/b/c from=-1m \"x\"").is_err());
}

#[test]
fn an_event_joins_the_list_of_its_namespace() {
    let text = "event default Node/master-1 reason=NodeNotReady since=-1h count=12 message=\"m\"";
    let after = edited("metal-3-2", text).unwrap();
    let list = object(&after, "namespaces/default/core/events.yaml");
    let event = list
        .get("items")
        .unwrap()
        .items()
        .iter()
        .find(|item| item.text_at(&["reason"]) == Some("NodeNotReady"))
        .unwrap();
    assert_eq!(event.text_at(&["firstTimestamp"]), Some("2025-12-03T17:42:00Z"));
    assert_eq!(event.text_at(&["lastTimestamp"]), Some("2025-12-03T18:41:00Z"));
    assert_eq!(event.get("count").and_then(Node::as_int), Some(12));
    assert!(event.at(&["involvedObject", "namespace"]).is_none());
}

#[test]
fn files_are_written_and_removed() {
    let after = edited(
        "metal-3-2",
        "file etcd_info/alarm_list.json\n  {\"alarms\":[]}\nremove host_service_logs/**\n",
    )
    .unwrap();
    assert_eq!(after["etcd_info/alarm_list.json"], b"{\"alarms\":[]}\n");
    assert!(!after.keys().any(|path| path.starts_with("host_service_logs/")));
    assert_eq!(
        edited("metal-3-2", "remove nothing/*"),
        Err("line 1: no file fits nothing/*".into())
    );
}

#[test]
fn a_recorded_base_is_edited_as_a_made_one() {
    let after =
        edited("gcp-4.18", "condition ClusterOperator/etcd Degraded=True since=-1h").unwrap();
    assert!(String::from_utf8_lossy(&after[OPERATOR]).contains("2024-10-24T13:45"));
}
