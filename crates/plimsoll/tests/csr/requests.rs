//! Asked, judged, approved, refused, held.

use libtest_mimic::Trial;
use plimsoll_act::requests;
use plimsoll_live::{Patience, Vantage};
use plimsoll_model::Time;
use serde_json::Value;

use crate::cluster::{Asking, Cluster, Shared, answer, text, trial};

const MACHINE: &str = "ostest-cktts-worker-0-njsv9";
const WORKER: &str = "system:node:worker-1";

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&Cluster)| trial(&format!("csr/{name}"), shared, run);
    vec![
        with("judging-changes-nothing", judging_changes_nothing),
        with("both-waves", both_waves),
        with("strangers", strangers),
        with("a-node-that-exists", a_node_that_exists),
        with("expected-nodes", expected_nodes),
        with("bursts", bursts),
        with("changed-since-it-was-read", changed_since_it_was_read),
        with("without-the-right", without_the_right),
        with("half-read", half_read),
        with("captured", captured),
    ]
}

#[expect(clippy::disallowed_methods, reason = "requests have the clock of this machine")]
fn now() -> Time {
    Time::now()
}

/// A Machine of half an hour ago whose node is to come.
fn expecting_worker(cluster: &Cluster) {
    let made = now() - jiff::SignedDuration::from_mins(30);
    let made = made.strftime("%Y-%m-%dT%H:%M:%SZ");
    cluster.load(&format!(
        "delete Node/worker-1\nunset Machine/{MACHINE} status.nodeRef\nset Machine/{MACHINE} metadata.creationTimestamp = \"{made}\""
    ));
}

fn one<'v>(answer: &'v Value, name: &str) -> &'v Value {
    let all = answer["requests"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {answer:#}"))
}

fn judging_changes_nothing(cluster: &Cluster) {
    expecting_worker(cluster);
    cluster.ask(&Asking::client("csr-new", WORKER));
    let judged = answer(&cluster.plimsoll(&["csr", "--output", "json"]), 0);
    let request = one(&judged, "csr-new");
    assert_eq!((&request["verdict"], &request["wave"]), (&"approve".into(), &"client".into()));
    assert_eq!(request["node"], "worker-1");
    let schema = include_str!("../../../../docs/schema/csr.v1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    jsonschema::validator_for(&schema)
        .unwrap()
        .validate(&judged)
        .map_err(|e| e.to_string())
        .unwrap();
    assert_eq!(cluster.decision("csr-new"), "");
    let shown = cluster.plimsoll(&["csr"]);
    assert!(text(&shown).contains("hint: --approve"), "{}", text(&shown));
    assert_eq!(cluster.decision("csr-new"), "");
}

/// The second request comes when the first is through, and is waited for.
fn both_waves(cluster: &Cluster) {
    expecting_worker(cluster);
    cluster.ask(&Asking::client("csr-client", WORKER));
    let mut waiting = cluster.command(&["csr", "--approve", "--wait", "120", "--output", "json"]);
    let child = waiting.spawn().unwrap();
    let child = cluster.await_approval("csr-client", child);
    cluster.ask(&Asking::serving("csr-serving", WORKER, &["worker-1", "192.168.111.24"]));
    let output = child.wait_with_output().unwrap();
    let done = answer(&output, 0);
    for name in ["csr-client", "csr-serving"] {
        assert_eq!(one(&done, name)["done"]["approved"], true, "{done:#}");
        assert_eq!(cluster.decision(name), "Approved");
    }
    let message = "jsonpath={.status.conditions[0].reason} {.status.conditions[0].message}";
    let told = cluster.server.kubectl(&["get", "csr", "csr-client", "-o", message], "").unwrap();
    assert!(told.starts_with("PlimsollApprove Approved by plimsoll: "), "{told}");
    assert!(told.contains(&format!("Machine {MACHINE} was made 30 minutes before")), "{told}");
    // Who was let in is not judged again.
    let after = answer(&cluster.plimsoll(&["csr", "--approve", "--output", "json"]), 0);
    assert_eq!(after["requests"], Value::Array(Vec::new()));
}

/// None of these is approved, whatever else is.
fn strangers(cluster: &Cluster) {
    expecting_worker(cluster);
    let mallory: (&str, &[&str]) = ("mallory", &[]);
    cluster.ask(&Asking { by: mallory, ..Asking::client("csr-mallory", WORKER) });
    cluster.ask(&Asking {
        subject: ("system:masters", "system:admin"),
        ..Asking::client("csr-admin", "")
    });
    cluster
        .ask(&Asking { subject: ("system:masters", WORKER), ..Asking::client("csr-masters", "") });
    cluster.ask(&Asking {
        names: &["api-int.ostest.lab.example"],
        ..Asking::client("csr-named", WORKER)
    });
    let other: (&str, &[&str]) = ("system:node:worker-0", &["system:nodes"]);
    cluster.ask(&Asking { by: other, ..Asking::client("csr-other", WORKER) });
    let vip = ["worker-0", "192.168.111.23", "192.168.111.5"];
    cluster.ask(&Asking::serving("csr-vip", "system:node:worker-0", &vip));
    cluster.ask(&Asking::client("csr-unknown", "system:node:worker-77"));
    cluster.ask(&Asking::client("csr-good", WORKER));
    let done = answer(&cluster.plimsoll(&["csr", "--approve", "--output", "json"]), 1);
    assert_eq!(cluster.decision("csr-good"), "Approved", "{done:#}");
    for (name, verdict) in [
        ("csr-mallory", "deny"),
        ("csr-admin", "deny"),
        ("csr-masters", "deny"),
        ("csr-named", "deny"),
        ("csr-other", "deny"),
        ("csr-vip", "deny"),
        ("csr-unknown", "hold"),
    ] {
        assert_eq!(one(&done, name)["verdict"], verdict, "{:#}", one(&done, name));
        assert_eq!(cluster.decision(name), "", "{name}");
    }
}

fn a_node_that_exists(cluster: &Cluster) {
    cluster.load(
        "condition Node/worker-0 Ready=Unknown reason=NodeStatusUnknown since=-4h message=\"x\"",
    );
    cluster.ask(&Asking::client("csr-again", "system:node:worker-0"));
    let held = answer(&cluster.plimsoll(&["csr", "--approve", "--output", "json"]), 1);
    let why = one(&held, "csr-again")["reasons"][0].as_str().unwrap();
    assert!(why.starts_with("Node worker-0 exists already (not Ready)"), "{why}");
    let held = cluster.plimsoll(&["csr", "--approve", "--node", "worker-1"]);
    assert_eq!((held.status.code(), cluster.decision("csr-again").as_str()), (Some(0), ""));
    let done = cluster.plimsoll(&["csr", "--approve", "--node", "worker-0", "--output", "json"]);
    assert_eq!(one(&answer(&done, 0), "csr-again")["done"]["approved"], true);
}

fn expected_nodes(cluster: &Cluster) {
    cluster.load("delete Node/worker-1");
    cluster.ask(&Asking::client("csr-edge", "system:node:edge-7"));
    cluster.ask(&Asking::serving(
        "csr-edge-serving",
        "system:node:edge-7",
        &["edge-7", "192.0.2.7"],
    ));
    answer(&cluster.plimsoll(&["csr", "--approve", "--output", "json"]), 1);
    cluster.write("bad.yaml", "nodes:\n- name: edge-7\n  adresses: [192.0.2.7]\n");
    let refused = cluster.plimsoll(&["csr", "--approve", "--expect", "bad.yaml"]);
    assert_eq!(refused.status.code(), Some(66));
    assert!(text(&refused).contains("bad.yaml:3:3: unknown key 'adresses'"), "{}", text(&refused));
    assert_eq!(cluster.decision("csr-edge"), "");
    cluster.write("nodes.yaml", "nodes:\n- name: edge-7\n  addresses: [192.0.2.7]\n");
    let with_list = ["csr", "--approve", "--expect", "nodes.yaml", "--output", "json"];
    answer(&cluster.plimsoll(&with_list), 0);
    for name in ["csr-edge", "csr-edge-serving"] {
        assert_eq!(cluster.decision(name), "Approved", "{name}");
    }
}

fn bursts(cluster: &Cluster) {
    expecting_worker(cluster);
    for name in ["csr-first", "csr-second"] {
        cluster.ask(&Asking::client(name, WORKER));
        // Times of requests are whole seconds.
        std::thread::sleep(std::time::Duration::from_millis(1100));
    }
    // Nor does the older one pass in a later round.
    let arguments = ["csr", "--approve", "--wait", "5", "--output", "json"];
    let done = answer(&cluster.plimsoll(&arguments), 1);
    assert_eq!(cluster.decision("csr-second"), "Approved");
    assert_eq!(cluster.decision("csr-first"), "", "{done:#}");
}

/// Approving is of one request as it was read, and of no other that has its name.
fn changed_since_it_was_read(cluster: &Cluster) {
    expecting_worker(cluster);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let vantage =
        Vantage { kubeconfig: Some(cluster.server.admin().unwrap()), ..Vantage::default() };
    let client = runtime.block_on(plimsoll_live::client(&vantage, Patience::default())).unwrap();
    let read = || runtime.block_on(requests::pending(&client)).unwrap().remove(0);
    let approve =
        |request: &Value| runtime.block_on(requests::approve(&client, request, "why", now()));
    cluster.ask(&Asking::client("csr-moved", WORKER));
    let before = read();
    cluster.server.kubectl(&["annotate", "csr", "csr-moved", "a=b"], "").unwrap();
    assert_eq!(approve(&before).unwrap_err().code, Some(409));
    let before = read();
    cluster.server.kubectl(&["delete", "csr", "csr-moved"], "").unwrap();
    cluster.ask(&Asking::client("csr-moved", "system:node:worker-77"));
    assert_eq!(approve(&before).unwrap_err().code, Some(409));
    assert_eq!(cluster.decision("csr-moved"), "");
    let mut nameless = read();
    nameless["metadata"].as_object_mut().unwrap().remove("uid");
    assert!(approve(&nameless).unwrap_err().why.contains("uid"));
    let now_is = read();
    approve(&now_is).unwrap();
    assert_eq!(cluster.decision("csr-moved"), "Approved");
    assert!(approve(&now_is).is_err());
}

fn without_the_right(cluster: &Cluster) {
    expecting_worker(cluster);
    cluster.ask(&Asking::client("csr-new", WORKER));
    let reader = cluster.config_of("reader", &[]);
    let refused =
        cluster.plimsoll(&["csr", "--approve", "--kubeconfig", &reader, "--output", "json"]);
    let refused = answer(&refused, 1);
    let done = &one(&refused, "csr-new")["done"];
    assert_eq!(done["approved"], false);
    assert!(done["says"].as_str().unwrap().contains("forbidden"), "{done}");
    assert_eq!(cluster.decision("csr-new"), "");
    let nobody = cluster.config_of("mallory", &[]);
    let unread = cluster.plimsoll(&["csr", "--kubeconfig", &nobody]);
    assert_eq!(unread.status.code(), Some(66), "{}", text(&unread));
}

/// Who may not see Machines cannot know who is expected.
fn half_read(cluster: &Cluster) {
    expecting_worker(cluster);
    cluster.ask(&Asking::client("csr-new", WORKER));
    let role = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: half}
rules:
- {apiGroups: ['', certificates.k8s.io], resources: [nodes, certificatesigningrequests], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: half}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: half}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: half}]
";
    cluster.server.kubectl(&["apply", "-f", "-"], role).unwrap();
    let half = cluster.config_of("half", &[]);
    let held = cluster.plimsoll(&["csr", "--kubeconfig", &half, "--output", "json"]);
    let held = answer(&held, 1);
    assert_eq!(one(&held, "csr-new")["verdict"], "hold");
    assert!(
        one(&held, "csr-new")["reasons"][0].as_str().unwrap().contains("Machines: "),
        "{held:#}"
    );
    assert_eq!(held["gaps"].as_array().unwrap().len(), 3, "{held:#}");
}

/// A capture is judged as the cluster was, and approves nothing.
fn captured(cluster: &Cluster) {
    expecting_worker(cluster);
    cluster.ask(&Asking::client("csr-new", WORKER));
    let file = format!("capture-{}.tar.gz", std::process::id());
    let captured = cluster.plimsoll(&["capture", "-o", &file, "--no-probe"]);
    assert!(captured.status.success(), "{}", text(&captured));
    let judged = answer(&cluster.plimsoll(&["csr", &file, "--output", "json"]), 0);
    assert_eq!(one(&judged, "csr-new")["verdict"], "approve");
    let refused = cluster.plimsoll(&["csr", &file, "--approve"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("--approve needs a live cluster"), "{}", text(&refused));
    assert_eq!(cluster.decision("csr-new"), "");
}
