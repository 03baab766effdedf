//! A real kubelet behind a real API server: what it says of its node, the logs that it serves, and
//! what is left when it does not answer.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use plimsoll_live::{Patience, Request, Vantage};
use plimsoll_model::diagnosis::Status;
use plimsoll_model::{Diagnosis, EntityId, Time, Value};
use plimsoll_rig::{ApiServer, IMAGE, Objects, RealKubelet, definitions, wait_for};
use plimsoll_sources::{Given, NoProgress};
use serde_json::json;
use tempfile::TempDir;

use crate::cluster::{diagnose_live, on_a_real_kubelet, request};
use crate::support::{NEEDS, PACK, READER};

const NODE: &str = "master-0";
const LIMIT: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(5);
const SLOW: &str = r#"{"level":"warn","caller":"wal/wal.go:805","msg":"slow fdatasync","took":"1.23s","expected-duration":"1s"}"#;
const FIRST: &str = r#"{"level":"fatal","caller":"etcdmain/etcd.go:204","msg":"discovery failed"}"#;
/// Of one there is an object; of the other there is none, and only metadata is asked for.
const KINDS: [&str; 2] =
    ["\"name\":\"clusteroperators.config", "\"name\":\"machineconfigs.machineconfig"];
const LOGS: &str = "capture/namespaces/openshift-etcd/pods/etcd-master-0";

pub fn trials() -> Vec<Trial> {
    vec![on_a_real_kubelet("real-kubelet", run)]
}

fn run() {
    let folder = TempDir::new().unwrap();
    let server = ApiServer::start_for_kubelets(folder.path()).unwrap();
    let mut known = definitions().unwrap();
    known.retain(|text| KINDS.iter().any(|kind| text.contains(kind)));
    assert_eq!(known.len(), KINDS.len());
    server.define(&known).unwrap();
    server.load(etcd_operator()).unwrap();
    server.kubectl(&["create", "namespace", "openshift-etcd"], "").unwrap();
    let mut kubelet = RealKubelet::start(&server, folder.path(), NODE).unwrap();
    let label = "node-role.kubernetes.io/master=";
    server.kubectl(&["label", "node", NODE, label], "").unwrap();
    let begun = now();
    kubelet.run(&etcd()).unwrap();
    restarted(&server, &kubelet);

    logs_are_read(&server, begun);
    the_kubelet_is_who_its_certificate_says(&kubelet);

    let grace = ["--node-monitor-grace-period=8s", "--node-monitor-period=1s"];
    let controllers = server.controllers("nodelifecycle", &grace).unwrap();
    kubelet.freeze().unwrap();
    without_its_kubelet_the_rest_is_read(&server, "no answer within 5 s");
    kubelet.kill().unwrap();
    let port = format!("{}:10250", kubelet.address);
    let refused = format!(
        "the API server failed (500): https://{port}: dial tcp {port}: connect: connection refused"
    );
    without_its_kubelet_the_rest_is_read(&server, &refused);
    wait_for("the silence", LIMIT, || kubelet.ready(&server).as_deref() == Some("Unknown"))
        .unwrap();
    let (diagnosis, _) = read(&server);
    assert!(is_active(&diagnosis, "node-not-ready Node/master-0"), "{:#?}", diagnosis.states);
    drop(controllers);

    // Containers run on without their kubelet, and so do their logs.
    kubelet.restart(&server).unwrap();
    logs_are_read(&server, begun);
}

#[expect(clippy::disallowed_methods, reason = "the kubelet has the clock of this machine")]
fn now() -> Time {
    Time::now()
}

fn etcd_operator() -> Objects {
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": "AsExpected",
            "lastTransitionTime": "2025-12-03T18:00:00Z"})
    };
    let operator = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": "etcd", "uid": "5d2f0c0e-0000-4000-8000-000000000001"}, "spec": {},
        "status": {"conditions": [condition("Available", "True"),
            condition("Degraded", "False"), condition("Progressing", "False")]},
    });
    let mut objects = Objects::default();
    objects.push("config.openshift.io", "clusteroperators", operator).unwrap();
    objects
}

/// It fails once, and then complains of its disk.
fn etcd() -> serde_json::Value {
    let first = format!("if [ ! -e /data/ran ]; then touch /data/ran; echo '{FIRST}'; exit 1; fi");
    let then = format!("for n in 1 2 3 4; do echo '{SLOW}'; done; sleep 100000");
    let container = |name: &str, script: &str| {
        json!({"name": name, "image": IMAGE, "imagePullPolicy": "Never",
            "command": ["/bin/sh", "-c", script],
            "volumeMounts": [{"name": "data", "mountPath": "/data"}]})
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "etcd", "namespace": "openshift-etcd", "labels": {"app": "etcd"}},
        "spec": {
            "hostNetwork": true,
            "terminationGracePeriodSeconds": 1,
            "containers": [
                container("etcd", &format!("{first}; {then}")),
                container("etcd-metrics", "echo listening; sleep 100000"),
                container("etcd-readyz", "echo listening; sleep 100000"),
            ],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    })
}

/// The API has the mirror of the static pod, and that it runs for the second time.
fn restarted(server: &ApiServer, kubelet: &RealKubelet) {
    let path =
        "jsonpath={.status.containerStatuses[*].restartCount} {.status.containerStatuses[*].ready}";
    let pod = ["-n", "openshift-etcd", "get", "pod", "etcd-master-0", "-o", path];
    let mut said = String::new();
    let runs = wait_for("the static pod", LIMIT, || {
        said = server.kubectl(&pod, "").unwrap_or_else(|error| error.to_string());
        said == "1 0 0 true true true"
    });
    runs.unwrap_or_else(|error| panic!("{error}: {said}\n{}", kubelet.last_words()));
}

fn read(server: &ApiServer) -> (Diagnosis, BTreeMap<String, String>) {
    let vantage = Vantage { kubeconfig: Some(server.admin().unwrap()), ..Vantage::default() };
    let patience = Patience { request: PATIENCE, ..Patience::default() };
    let request = Request { patience, ..request(vantage, now()) };
    let (diagnosis, archive) = diagnose_live(request, &NEEDS);
    let mut archive = tar::Archive::new(archive.as_slice());
    let files = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (entry.path().unwrap().display().to_string(), text)
    });
    (diagnosis, files.collect())
}

fn is_active(diagnosis: &Diagnosis, wanted: &str) -> bool {
    diagnosis.states.iter().any(|state| {
        state.status == Status::Active && format!("{} {}", state.id, state.entity) == wanted
    })
}

fn gaps_of_node(diagnosis: &Diagnosis) -> Vec<&str> {
    let gaps = diagnosis.sources[0].gaps.iter().map(String::as_str);
    gaps.filter(|gap| gap.contains(NODE)).collect()
}

/// Every line with the time at which the container wrote it.
fn logs_are_read(server: &ApiServer, begun: Time) {
    let (diagnosis, files) = read(server);
    let lines = |log: &str| -> Vec<&str> {
        let text = files.get(&format!("{LOGS}/{log}"));
        let text = text.unwrap_or_else(|| panic!("no {log}: {:#?}", diagnosis.sources));
        let of_line = |line: &'_ str| line.len() - line.split_once(' ').unwrap().1.len();
        text.lines()
            .map(|line| {
                let (time, said) = line.split_at(of_line(line));
                let time: Time = time.trim().parse().unwrap();
                assert!(begun <= time && time <= now(), "{line}");
                said
            })
            .collect()
    };
    assert_eq!(lines("etcd/etcd/logs/current.log"), [SLOW; 4]);
    assert_eq!(lines("etcd/etcd/logs/previous.log"), [FIRST]);
    assert_eq!(lines("etcd-metrics/etcd-metrics/logs/current.log"), ["listening"]);
    assert!(
        is_active(&diagnosis, "etcd-disk-slow ClusterOperator/etcd"),
        "{:#?}",
        diagnosis.states
    );
    // This kubelet is none of OpenShift's, which serve journals as well.
    let of_node = ["journals of master-0: the API has no such thing (404)"];
    assert_eq!(gaps_of_node(&diagnosis), of_node);
    // Of lists without anything in them, none is refused.
    let refused = diagnosis.sources[0].gaps.iter().filter(|gap| gap.contains("no JSON"));
    assert_eq!(refused.count(), 0, "{:#?}", diagnosis.sources[0].gaps);
}

/// From the files of the node alone.
fn the_kubelet_is_who_its_certificate_says(kubelet: &RealKubelet) {
    let root = format!("node:{}", kubelet.root.display());
    let snapshot = READER.read(vec![Given::Path(root.into())], &NoProgress).unwrap();
    let (base, _) = plimsoll_engine::facts::extract(&PACK, &snapshot, None);
    let node = &base.entities[&EntityId::cluster_scoped("Node", NODE)];
    let user = "system:node:master-0";
    assert_eq!(node.facts["kubeletUser"], Value::Text(user.into()));
    let subject = node.facts["kubeletCert"].get("subject").unwrap().text().unwrap();
    assert!(subject.contains(user) && subject.contains("system:nodes"), "{subject}");
}

/// Whatever is not the kubelet's to tell is there, and who is silent is told once for all that is
/// missing by it.
fn without_its_kubelet_the_rest_is_read(server: &ApiServer, why: &str) {
    let begun = Instant::now();
    let (diagnosis, files) = read(server);
    let took = begun.elapsed();
    assert!(took < 3 * PATIENCE, "{took:?}");
    assert!(
        files.contains_key("capture/cluster-scoped-resources/core/nodes/master-0.yaml"),
        "{files:#?}"
    );
    assert!(!files.keys().any(|path| path.ends_with(".log")), "{:#?}", files.keys());
    let gaps =
        ["4 logs of pods on master-0", "journals of master-0"].map(|what| format!("{what}: {why}"));
    assert_eq!(gaps_of_node(&diagnosis), gaps);
}
