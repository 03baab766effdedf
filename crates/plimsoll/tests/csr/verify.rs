//! A cluster that is ill, recovers, and is tried with a workload.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;
use plimsoll_rig::{Running, wait_for};
use serde_json::Value;

use crate::cluster::{Asking, Cluster, PATIENCE, Shared, answer, text, trial};

const NOW: [&str; 3] = ["--now", "2025-12-03T18:42:00Z", "--no-probe"];
const ILL: &str = "condition ClusterOperator/network Degraded=True reason=ApplyOperatorConfig since=-2h message=\"it is broken\"";
/// Of every container that the rig puts into a pod.
const IMAGE: &str = "registry.example.com/x";

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&Cluster)| trial(&format!("verify/{name}"), shared, run);
    vec![
        with("recovers", recovers),
        with("a-request-waits", a_request_waits),
        with("static-pod-restarts", static_pod_restarts),
        with("after-install", after_install),
        with("smoke", smoke),
        with("smoke-interrupted", smoke_interrupted),
    ]
}

fn verify(cluster: &Cluster, arguments: &[&str]) -> std::process::Output {
    let json = ["--output", "json"];
    cluster.plimsoll(&[&["verify"][..], arguments, &NOW, &json].concat())
}

fn left(answer: &Value) -> Vec<String> {
    let all = answer["criteria"].as_array().unwrap().iter().filter(|one| one["ok"] != "yes");
    let said = |part: &Value| part.as_str().unwrap().to_string();
    all.map(|one| format!("{} {}", said(&one["id"]), said(&one["entity"]))).collect()
}

/// From 1 to 0 when the operator is well again, and stays so.
fn recovers(cluster: &Cluster) {
    cluster.load(ILL);
    let ill = answer(&verify(cluster, &["--dwell", "2", "--poll", "1", "--patience", "3"]), 1);
    let left = left(&ill);
    assert!(left.contains(&"operator-not-degraded ClusterOperator/network".into()), "{left:?}");
    assert_eq!(ill["verified"], false);
    let schema = include_str!("../../../../docs/schema/verify.v1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::validator_for(&schema).unwrap().validate(&ill).map_err(|e| e.to_string()).unwrap();
    let waiting = [
        &["verify", "--dwell", "4", "--poll", "1", "--patience", "120", "--output", "json"][..],
        &NOW,
    ];
    let child = cluster.command(&waiting.concat()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    cluster.load("");
    let well = answer(&child.wait_with_output().unwrap(), 0);
    let window = &well["window"];
    assert!(window["held_seconds"].as_u64().unwrap() >= 4, "{window}");
    assert!(window["looks"].as_u64().unwrap() >= 3, "{window}");
    let failed = window["failed_before"].to_string();
    assert!(failed.contains("operator-not-degraded"), "{window}");
    let steady = well["criteria"].to_string();
    assert!(steady.contains("static-pods-steady"), "{well:#}");
    // One look only, and what it was repaired of.
    let gone = answer(&verify(cluster, &["--dwell", "0", "--for", "network-operator-degraded"]), 0);
    assert!(gone["criteria"].to_string().contains("network-operator-degraded is gone"), "{gone:#}");
    let unknown = verify(cluster, &["--for", "network-operator-degradet"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        text(&unknown).contains("did you mean network-operator-degraded"),
        "{}",
        text(&unknown)
    );
}

fn a_request_waits(cluster: &Cluster) {
    cluster.load("");
    answer(&verify(cluster, &["--dwell", "0"]), 0);
    cluster.ask(&Asking::client("csr-new", "system:node:worker-77"));
    let ill = answer(&verify(cluster, &["--dwell", "0", "--patience", "1"]), 1);
    let left = left(&ill);
    assert!(left.contains(&"no-pending-requests Cluster/cluster".into()), "{left:?}");
}

/// A restart in the window begins it anew.
fn static_pod_restarts(cluster: &Cluster) {
    cluster.load("");
    let arguments = [
        &["verify", "--dwell", "5", "--poll", "1", "--patience", "90", "--output", "json"][..],
        &NOW,
    ];
    let child = cluster.command(&arguments.concat()).spawn().unwrap();
    let _ = cluster.server.kubectl(&["create", "namespace", "openshift-etcd"], "");
    // Again and again, so that some are in the window, however late that begins.
    for count in 5..25 {
        let patch = format!(
            r#"[{{"op": "replace", "path": "/status/containerStatuses/0/restartCount", "value": {count}}}]"#
        );
        let pod = ["patch", "pod", "etcd-master-0", "-n", "openshift-etcd"];
        let how = ["--subresource=status", "--type=json", "-p", &patch];
        cluster.server.kubectl(&[&pod[..], &how].concat(), "").unwrap();
        std::thread::sleep(Duration::from_millis(700));
    }
    let well = answer(&child.wait_with_output().unwrap(), 0);
    let failed = well["window"]["failed_before"].to_string();
    assert!(failed.contains("static-pods-steady"), "{:#}", well["window"]);
}

fn after_install(cluster: &Cluster) {
    cluster.load(ILL);
    let shown = cluster.plimsoll(
        &[&["verify", "--after-install", "--dwell", "0", "--patience", "1"][..], &NOW].concat(),
    );
    assert_eq!(shown.status.code(), Some(1), "{}", text(&shown));
    let shown = text(&shown).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("the installer does not wait for this"), "{shown}");
    assert!(shown.contains("install complete: the install was complete at"), "{shown}");
    assert!(shown.contains("After the install, the first hour ended"), "{shown}");
}

/// Somebody has to take away what is in a namespace, and is there once one is gone.
fn namespaces(cluster: &Cluster) -> Running {
    let running = cluster.server.controllers("namespace", &[]).unwrap();
    let kubectl = |arguments: &[&str]| cluster.server.kubectl(arguments, "");
    kubectl(&["create", "namespace", "first-of-all"]).unwrap();
    kubectl(&["delete", "namespace", "first-of-all", "--timeout=120s"]).unwrap();
    running
}

/// The namespace of the workload, once it is there.
fn workload(cluster: &Cluster) -> Option<(String, String)> {
    let path = "jsonpath={range .items[*]}{.metadata.namespace} {.spec.template.spec.containers[0].image}{\"\\n\"}{end}";
    let all = cluster.server.kubectl(&["get", "deployments", "-A", "-o", path], "").ok()?;
    let found = all.lines().find(|line| line.starts_with("plimsoll-smoke-"))?;
    found.split_once(' ').map(|(namespace, image)| (namespace.into(), image.into()))
}

fn left_namespaces(cluster: &Cluster) -> String {
    let all = cluster.server.kubectl(&["get", "namespaces", "-o", "name"], "").unwrap();
    all.lines().filter(|line| line.contains("plimsoll-smoke")).collect()
}

fn smoke(cluster: &Cluster) {
    cluster.load("");
    let _controllers = namespaces(cluster);
    let arguments = [&["verify", "--smoke", "--dwell", "0", "--output", "json"][..], &NOW];
    let child = cluster.command(&arguments.concat()).spawn().unwrap();
    let mut found = String::new();
    // What a scheduler and a kubelet would do.
    let runs = wait_for("the workload", PATIENCE, || {
        let Some((namespace, image)) = workload(cluster) else { return false };
        found = image;
        let status = r#"{"status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}"#;
        let patch = [
            "patch",
            "deployment",
            "plimsoll-smoke",
            "-n",
            &namespace,
            "--subresource=status",
            "-p",
            status,
        ];
        cluster.server.kubectl(&patch, "").is_ok()
    });
    let output = child.wait_with_output().unwrap();
    runs.unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    let done = answer(&output, 0);
    assert!(done["criteria"].to_string().contains("a new pod ran in a new namespace"), "{done:#}");
    assert_eq!((found.as_str(), left_namespaces(cluster).as_str()), (IMAGE, ""));
}

fn smoke_interrupted(cluster: &Cluster) {
    cluster.load("");
    let _controllers = namespaces(cluster);
    let arguments = [&["verify", "--smoke", "--dwell", "0"][..], &NOW];
    let child = cluster.command(&arguments.concat()).spawn().unwrap();
    let runs = wait_for("the workload", PATIENCE, || workload(cluster).is_some());
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let output = child.wait_with_output().unwrap();
    runs.unwrap_or_else(|error| panic!("{error}: {}", text(&output)));
    assert!(interrupted.unwrap().success());
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(text(&output).contains("the smoke workload is gone again"), "{}", text(&output));
    assert_eq!(left_namespaces(cluster), "");
}
