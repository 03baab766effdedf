//! Facts made by hand, one of them wrong at a time.

#![allow(clippy::unwrap_used, reason = "tests")]

use plimsoll_model::Evidence;
use serde_json::json;

use super::*;

const NOW: &str = "2025-12-03T18:42:00Z";

fn condition_of(status: &str) -> Value {
    let text = |text: &str| Value::Text(text.into());
    Value::Map(BTreeMap::from([
        ("status".into(), text(status)),
        ("reason".into(), text("Because")),
        ("message".into(), text("of it")),
    ]))
}

fn set(base: &mut FactBase, entity: &str, fact: &str, value: impl Into<Value>) {
    let entity = base.entities.entry(entity.parse().unwrap()).or_default();
    let nowhere = Evidence {
        source: String::new(),
        path: String::new(),
        line: None,
        pointer: None,
        time: None,
        text: String::new(),
    };
    entity.set(fact, value, nowhere);
}

fn well() -> FactBase {
    let mut base = FactBase { now: Some(NOW.parse().unwrap()), ..FactBase::default() };
    let cluster = "Cluster/cluster";
    for (entity, fact, status) in [
        (cluster, "available", "True"),
        (cluster, "failing", "False"),
        (cluster, "progressing", "False"),
        ("ClusterOperator/etcd", "available", "True"),
        ("ClusterOperator/etcd", "progressing", "False"),
        ("ClusterOperator/etcd", "degraded", "False"),
        ("Node/master-0", "ready", "True"),
        ("MachineConfigPool/master", "updated", "True"),
        ("MachineConfigPool/master", "degraded", "False"),
    ] {
        set(&mut base, entity, fact, condition_of(status));
    }
    for (fact, number) in
        [("pendingRequests", 0), ("etcdMembers", 3), ("etcdHealthy", 3), ("controlPlaneNodes", 3)]
    {
        set(&mut base, cluster, fact, i64::from(number));
    }
    set(&mut base, cluster, "installEnded", "2025-12-03T18:12:00Z".parse::<Time>().unwrap());
    base
}

fn diagnosis(verdict: &str, roots: serde_json::Value, states: serde_json::Value) -> Diagnosis {
    serde_json::from_value(json!({
        "schema": "plimsoll.diagnosis/v1", "generated_for": NOW, "cluster": {}, "sources": [],
        "verdict": verdict, "reason": "nothing is wrong", "roots": roots, "states": states,
        "edges": [], "deadlocks": [], "unexplained": [], "ruled_out": [], "alternatives": [],
        "next_checks": [],
    }))
    .unwrap()
}

fn healthy() -> Diagnosis {
    diagnosis("healthy", json!([]), json!([]))
}

fn file(path: &str, text: &str) -> plimsoll_engine::PackFile {
    plimsoll_engine::PackFile { path: path.into(), text: text.into() }
}

/// Cordoned nodes and certificate requests that wait, as failures; a node that is cordoned is also noted.
fn pack() -> Pack {
    let case = r#"
id: cordoned
title: A node is cordoned
states:
- {id: cordoned, on: Node, when: "self.unschedulable", summary: "{name} is cordoned."}
- {id: noted, on: Node, role: note, when: "self.unschedulable", summary: "{name} is cordoned."}
- {id: old, on: Node, when: "self.unschedulable", applies: {versions: ..4.12}, summary: "s"}
- {id: waiting, on: CertificateSigningRequest, when: "self.pending", summary: "{name} waits."}
- {id: over, on: Node, when: "self.unschedulable", recovered: "self.controlPlane", summary: "s"}
"#;
    let files = [file("x/cordoned/case.yaml", case)];
    Pack::load(&files).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// `id entity: word` of all that is not met.
fn left(base: &FactBase, diagnosis: &Diagnosis, wanted: &Wanted) -> Vec<String> {
    let all = criteria(&pack(), base, diagnosis, wanted);
    let left = all.iter().filter(|one| one.ok != Met::Yes);
    left.map(|one| format!("{} {}: {:?}", one.id, one.entity, one.ok)).collect()
}

#[test]
fn a_cluster_that_is_well_meets_everything() {
    let gone = BTreeSet::from(["cordoned".into()]);
    let wanted = Wanted { gone, after_install: true, ..Wanted::default() };
    let mut base = well();
    set(&mut base, "Node/master-0", "unschedulable", false);
    assert_eq!(left(&base, &healthy(), &wanted), Vec::<String>::new());
    let says = criteria(&pack(), &base, &healthy(), &wanted);
    let installed = says.iter().find(|one| one.id == "install-complete").unwrap();
    assert!(installed.says.ends_with("30 minutes ago"), "{}", installed.says);
    assert!(gate(&well()).unwrap().starts_with("the first hour ends in 30 minutes"));
}

#[test]
fn each_thing_that_is_wrong_is_told_by_its_name() {
    for (entity, fact, status, told) in [
        ("ClusterOperator/etcd", "available", "False", "operator-available"),
        ("ClusterOperator/etcd", "progressing", "True", "operator-settled"),
        ("ClusterOperator/etcd", "degraded", "True", "operator-not-degraded"),
        ("Node/master-0", "ready", "Unknown", "node-ready"),
        ("MachineConfigPool/master", "updated", "False", "pool-updated"),
        ("MachineConfigPool/master", "degraded", "True", "pool-not-degraded"),
        ("Cluster/cluster", "available", "False", "cluster-available"),
        ("Cluster/cluster", "failing", "True", "cluster-not-failing"),
        ("Cluster/cluster", "progressing", "True", "cluster-settled"),
    ] {
        let mut base = well();
        set(&mut base, entity, fact, condition_of(status));
        let expected = format!("{told} {entity}: No");
        assert_eq!(left(&base, &healthy(), &Wanted::default()), [expected]);
    }
}

#[test]
fn what_is_not_known_is_not_met() {
    assert_eq!(left(&FactBase::default(), &healthy(), &Wanted::default()).len(), 8);
    let mut base = well();
    base.entities.get_mut(&EntityId::cluster()).unwrap().facts.remove("pendingRequests");
    let expected = ["no-pending-requests Cluster/cluster: Unknown"];
    assert_eq!(left(&base, &healthy(), &Wanted::default()), expected);
    let mut base = well();
    let operator = base.entities.get_mut(&"ClusterOperator/etcd".parse().unwrap()).unwrap();
    operator.facts.remove("degraded");
    let expected = ["operator-not-degraded ClusterOperator/etcd: Unknown"];
    assert_eq!(left(&base, &healthy(), &Wanted::default()), expected);
}

/// Somebody else may tell of a thing whose own object was not read, or that is not there any more.
#[test]
fn what_only_others_tell_of_is_not_known_unless_a_list_does_not_have_it() {
    let mut base = well();
    set(&mut base, "Node/master-2", "events", Value::Map(BTreeMap::new()));
    set(&mut base, "ClusterOperator/network", "details", Value::Map(BTreeMap::new()));
    set(&mut base, "MachineConfigPool/infra", "served", "failed");
    let found = left(&base, &healthy(), &Wanted::default());
    let expected = [
        "node-ready Node/master-2: Unknown",
        "operator-available ClusterOperator/network: Unknown",
        "operator-not-degraded ClusterOperator/network: Unknown",
        "operator-settled ClusterOperator/network: Unknown",
        "pool-not-degraded MachineConfigPool/infra: Unknown",
        "pool-updated MachineConfigPool/infra: Unknown",
    ];
    assert_eq!(found, expected);
    let whole = || Value::List(Vec::new());
    let lists = ["nodes", "clusteroperators", "machineconfigpools"];
    let lists = lists.map(|plural| (plural.to_string(), whole()));
    set(&mut base, "Cluster/cluster", "lists", Value::Map(BTreeMap::from(lists)));
    assert_eq!(left(&base, &healthy(), &Wanted::default()), Vec::<String>::new());
    // In the list, and without its condition.
    set(&mut base, "Node/master-2", "controlPlane", true);
    let expected = ["node-ready Node/master-2: Unknown"];
    assert_eq!(left(&base, &healthy(), &Wanted::default()), expected);
}

#[test]
fn etcd_is_asked_before_its_operator() {
    let of = |members: i64, healthy: i64, alarms: i64| {
        let mut base = well();
        set(&mut base, "Cluster/cluster", "etcdMembers", members);
        set(&mut base, "Cluster/cluster", "etcdHealthy", healthy);
        set(&mut base, "Cluster/cluster", "etcdAlarms", alarms);
        etcd(&base).ok
    };
    assert_eq!(of(3, 3, 0), Met::Yes);
    for (members, healthy, alarms) in [(3, 2, 0), (2, 2, 0), (4, 4, 0), (3, 3, 1)] {
        assert_eq!(of(members, healthy, alarms), Met::No, "{members} {healthy} {alarms}");
    }
    let by_operator = |available: &str, degraded: &str| {
        let mut base = well();
        base.entities.get_mut(&EntityId::cluster()).unwrap().facts.remove("etcdMembers");
        let details = Value::Map(BTreeMap::from([
            ("EtcdMembersAvailable".into(), condition_of(available)),
            ("EtcdMembersDegraded".into(), condition_of(degraded)),
        ]));
        set(&mut base, "ClusterOperator/etcd", "details", details);
        etcd(&base).ok
    };
    assert_eq!(by_operator("True", "False"), Met::Yes);
    assert_eq!(by_operator("True", "True"), Met::No);
    assert_eq!(by_operator("False", "False"), Met::No);
    assert_eq!(by_operator("", "False"), Met::Unknown);
}

#[test]
fn a_diagnosis_with_a_root_is_not_well() {
    let root = |confidence: &str| {
        json!([{"id": "kubelet-anonymous", "entity": "Node/master-1", "confidence": confidence,
            "since": null, "summary": "it lost its identity", "explains": [], "evidence": [], "repairs": []}])
    };
    let of = |confidence: &str| {
        left(&well(), &diagnosis("recoverable", root(confidence), json!([])), &Wanted::default())
    };
    assert_eq!(of("confirmed"), ["no-root-cause Node/master-1: No"]);
    assert_eq!(of("suspected"), ["no-root-cause Node/master-1: Unknown"]);
    let blind = diagnosis("not-provable", json!([]), json!([]));
    assert_eq!(
        left(&well(), &blind, &Wanted::default()),
        ["no-root-cause Cluster/cluster: Unknown"]
    );
    let deadlock = diagnosis("recoverable", json!([]), json!([]));
    assert_eq!(left(&well(), &deadlock, &Wanted::default()), ["no-root-cause Cluster/cluster: No"]);
}

fn left_of(name: &str, base: &FactBase, states: serde_json::Value) -> Vec<String> {
    let wanted = Wanted { gone: BTreeSet::from([name.into()]), ..Wanted::default() };
    left(base, &diagnosis("healthy", json!([]), states), &wanted)
}

#[test]
fn what_was_repaired_is_gone_when_its_rule_says_so_of_everything() {
    let nothing = Vec::<String>::new();
    let mut base = well();
    // The diagnosis does not list what it could not tell.
    assert_eq!(left_of("cordoned", &base, json!([])), ["state-gone Node/master-0: Unknown"]);
    set(&mut base, "Node/master-0", "unschedulable", true);
    assert_eq!(left_of("cordoned", &base, json!([])), ["state-gone Node/master-0: No"]);
    let expected = json!([{"id": "cordoned", "entity": "Node/master-0", "status": "expected",
        "since": null, "summary": "", "evidence": []}]);
    assert_eq!(left_of("cordoned", &base, expected), nothing);
    set(&mut base, "Node/master-0", "unschedulable", false);
    assert_eq!(left_of("cordoned", &base, json!([])), nothing);
    set(&mut base, "Node/worker-0", "ready", condition_of("True"));
    assert_eq!(left_of("cordoned", &base, json!([])), ["state-gone Node/worker-0: Unknown"]);
    let wanted = Wanted { gone: BTreeSet::from(["cordoned".into()]), ..Wanted::default() };
    let of_one = Wanted { on: Some("Node/master-0".into()), ..wanted.clone() };
    assert_eq!(left(&base, &healthy(), &of_one), nothing, "the other one was not asked for");
    let told = criteria(&pack(), &base, &healthy(), &wanted);
    let told = told.iter().find(|one| one.id == "state-gone").unwrap();
    assert_eq!(told.says, "whether cordoned is gone is not provable from this data");
}

#[test]
fn what_is_over_or_cannot_be_here_or_is_no_failure_is_not_left() {
    let nothing = Vec::<String>::new();
    let mut base = well();
    set(&mut base, "Node/master-0", "unschedulable", true);
    assert_eq!(left_of("over", &base, json!([])), ["state-gone Node/master-0: No"]);
    set(&mut base, "Node/master-0", "controlPlane", true);
    assert_eq!(left_of("over", &base, json!([])), nothing);
    assert_eq!(left_of("noted", &base, json!([])), nothing);
    assert_eq!(left_of("old", &base, json!([])), ["state-gone Node/master-0: No"]);
    set(&mut base, "Cluster/cluster", "minor", 18i64);
    assert_eq!(left_of("old", &base, json!([])), nothing);
    assert_eq!(left_of("nonsense", &base, json!([])), ["state-gone Cluster/cluster: Unknown"]);
}

/// Requests go by themselves: where all were listed and there is none, none waits.
#[test]
fn of_what_was_not_listed_nobody_knows_that_there_is_none() {
    let mut base = well();
    assert_eq!(left_of("waiting", &base, json!([])), ["state-gone Cluster/cluster: Unknown"]);
    let list = |namespaces: Vec<&str>| {
        let plural = "certificatesigningrequests".to_string();
        Value::Map(BTreeMap::from([(plural, namespaces.into())]))
    };
    set(&mut base, "Cluster/cluster", "lists", list(vec!["some"]));
    assert_eq!(left_of("waiting", &base, json!([])), ["state-gone Cluster/cluster: Unknown"]);
    for whole in [Vec::new(), vec!["*", "some"]] {
        set(&mut base, "Cluster/cluster", "lists", list(whole));
        assert_eq!(left_of("waiting", &base, json!([])), Vec::<String>::new());
    }
    set(&mut base, "CertificateSigningRequest/csr-1", "pending", true);
    let expected = ["state-gone CertificateSigningRequest/csr-1: No"];
    assert_eq!(left_of("waiting", &base, json!([])), expected);
}

#[test]
fn an_install_that_is_not_complete_does_not_pass_the_gate() {
    let mut base = well();
    let cluster = base.entities.get_mut(&EntityId::cluster()).unwrap();
    cluster.facts.remove("installEnded");
    let wanted = Wanted { after_install: true, ..Wanted::default() };
    assert_eq!(left(&base, &healthy(), &wanted), ["install-complete Cluster/cluster: Unknown"]);
    set(&mut base, "Cluster/cluster", "installed", false);
    assert_eq!(left(&base, &healthy(), &wanted), ["install-complete Cluster/cluster: No"]);
    let mut late = well();
    set(&mut late, "ClusterOperator/etcd", "degraded", condition_of("True"));
    late.now = Some("2025-12-04T17:12:00Z".parse().unwrap());
    assert!(gate(&late).unwrap().starts_with("the first hour ended 22 hours ago"));
    let told = criteria(&pack(), &late, &healthy(), &wanted);
    let degraded = told.iter().find(|one| one.ok == Met::No).unwrap();
    assert!(degraded.says.contains("the installer does not wait for this"), "{}", degraded.says);
}

#[test]
fn static_pods_run_through_the_window() {
    let pods = |restarts: i64, created: &str, name: &str| {
        let mut base = FactBase::default();
        let pod = format!("Pod/openshift-etcd/{name}");
        set(&mut base, &pod, "mirror", true);
        set(&mut base, &pod, "restarts", restarts);
        set(&mut base, &pod, "created", created.parse::<Time>().unwrap());
        let other = "Pod/default/other";
        set(&mut base, other, "mirror", false);
        set(&mut base, other, "restarts", restarts * 7);
        super::restarts(&base)
    };
    let begin = pods(3, "2025-12-01T00:00:00Z", "etcd-master-0");
    assert_eq!(begin.len(), 1);
    let says = |now: Restarts| {
        let found = steady(&begin, &now);
        (found[0].ok, found[0].says.clone())
    };
    assert_eq!(says(begin.clone()).0, Met::Yes);
    let again = says(pods(5, "2025-12-01T00:00:00Z", "etcd-master-0"));
    assert_eq!(again, (Met::No, "restarted 2 times in the window".into()));
    assert_eq!(says(pods(0, "2025-12-03T00:00:00Z", "etcd-master-0")).0, Met::No);
    assert_eq!(says(pods(3, "2025-12-01T00:00:00Z", "etcd-master-9")).0, Met::No);
    assert_eq!(says(Restarts::new()).0, Met::Unknown);
}

#[test]
fn a_failure_mode_brings_what_a_person_checks() {
    let case = r#"
id: cable-loose
title: A cable is loose
states:
- id: cable-loose
  on: Node
  root: rare
  when: "self.unschedulable"
  summary: "A port of {name} loses its link."
  recovery:
  - {verdict: recoverable, repair: push-the-cable-in, summary: "Push the cable in."}
- id: cable-noted
  on: Node
  when: "self.unschedulable"
  summary: "Somebody noted it."
"#;
    let repair = r#"
repairs:
- id: push-the-cable-in
  title: "Push in the cable of {name}"
  steps:
  - {hand: "Push it in", expect: "it clicks"}
  verify:
  - {run: "ip link on {name}", expect: "all ports are up"}
  escalate: "the switch"
  source: "common sense"
"#;
    let files = [file("x/cable-loose/case.yaml", case), file("x/cable-loose/repair.yaml", repair)];
    let pack = Pack::load(&files).unwrap_or_else(|errors| panic!("{errors:?}"));
    let (states, by_hand) = after_repair(&pack, "cable-loose").unwrap();
    assert_eq!(states, BTreeSet::from(["cable-loose".to_string(), "cable-noted".to_string()]));
    assert_eq!(by_hand[0].run.as_deref(), Some("ip link on <name>"));
    assert_eq!(by_hand[0].expect, "all ports are up");
    let (states, by_hand) = after_repair(&pack, "cable-noted").unwrap();
    assert_eq!((states.len(), by_hand.len()), (1, 0));
    assert_eq!(after_repair(&pack, "push-the-cable-in").unwrap().1.len(), 1);
    assert!(after_repair(&pack, "cable-tight").is_none());
}
