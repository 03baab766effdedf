//! Plans of a small pack, and what holds for every repair of the built-in one.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::path::Path;

use plimsoll_engine::pack::VerbRule;
use plimsoll_engine::{PackFile, summary};
use plimsoll_model::diagnosis::Confidence;
use plimsoll_model::plan::{Signer, Undo, UnitVerb};
use plimsoll_model::{Entity, EntityId};
use serde_json::json;

use super::place::placed;
use super::*;

const REPAIRS: &str = r#"
repairs:
- id: by-hand
  title: look
  steps:
  - hand: "Look at {name}."
    run: ["oc -n {namespace} get bmh {name} -o wide", "curl -k https://{bmcHost}/redfish/v1"]
    expect: "It is well."
  escalate: "-"
  source: "-"
- id: asks
  title: asks
  steps:
  - hand: "Look."
    expect: "Seen."
  - patch: BareMetalHost/openshift-machine-api/{name}
    title: "Set the address of {name} to {set.address}"
    operations: [{op: replace, path: /spec/bmc/address, value: "{set.address}"}]
    require:
    - {on: self, that: "self.state == 'registering'", says: it is being registered}
    minutes: 1
  - create: "MachineConfig/99-{set.role}-x"
    title: make it
    maker: chrony-machine-config
    inputs: {role: "{set.role}"}
    minutes: 2
  escalate: "-"
  source: "-"
- id: boots
  title: boots
  steps:
  - patch: BareMetalHost/openshift-machine-api/{name}
    title: boot
    operations: [{op: add, path: "/metadata/annotations/reboot.metal3.io", value: "{}"}]
    minutes: 2
  - wait: it is up
    minutes: 3
  escalate: "-"
  source: "-"
- id: branches
  title: branches
  steps:
  - patch: BareMetalHost/openshift-machine-api/{name}
    title: on
    when: "self.poweredOn"
    operations: [{op: replace, path: /spec/online, value: true}]
  - patch: BareMetalHost/openshift-machine-api/{name}
    title: off
    when: "!self.poweredOn"
    operations: [{op: replace, path: /spec/online, value: false}]
  escalate: "-"
  source: "-"
- id: elsewhere
  title: elsewhere
  steps:
  - patch: "Deployment/default/{set.name}"
    title: change it
    operations: [{op: add, path: /spec/paused, value: true}]
  escalate: "-"
  source: "-"
"#;

fn small() -> Pack {
    Pack::load(&[PackFile { path: "x/repair.yaml".into(), text: REPAIRS.into() }]).unwrap()
}

fn root(repair: &str) -> Root {
    Root {
        id: "ill".into(),
        entity: EntityId::cluster_scoped("BareMetalHost", "worker-1"),
        confidence: Confidence::Confirmed,
        since: None,
        summary: String::new(),
        explains: Vec::new(),
        evidence: Vec::new(),
        repairs: vec![Repair {
            id: repair.into(),
            summary: String::new(),
            minutes: Some(40),
            blast: Some(3),
            by: None,
        }],
        folklore: Vec::new(),
        ties: Vec::new(),
    }
}

fn diagnosis() -> Diagnosis {
    serde_json::from_value(json!({
        "schema": "plimsoll.diagnosis/v1", "generated_for": null,
        "cluster": {"version": null, "platform": null, "topology": null, "id": null},
        "sources": [], "verdict": "recoverable", "reason": "", "roots": [], "states": [],
        "edges": [], "deadlocks": [], "unexplained": [], "ruled_out": [], "alternatives": [],
        "next_checks": [],
    }))
    .unwrap()
}

fn plan(repair: &str, answers: &[(&str, &str)]) -> Plan {
    let answers = answers.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let mut base = FactBase::default();
    let mut host = Entity::default();
    host.facts.insert("state".into(), "inspecting".into());
    base.entities.insert(EntityId::cluster_scoped("BareMetalHost", "worker-1"), host);
    draft(&small(), &base, &diagnosis(), &root(repair), &answers.collect()).unwrap()
}

fn told(plan: &Plan) -> Vec<String> {
    plan.hindrances.iter().map(ToString::to_string).collect()
}

/// A plan without a step is not what a fact that is missing makes of one with two.
#[test]
fn a_step_that_may_be_needed_is_not_left_out_without_a_word() {
    let plan = plan("branches", &[]);
    assert_eq!(plan.steps.len(), 0);
    let told = told(&plan);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|why| why.contains("poweredOn")), "{told:?}");
}

#[test]
fn a_command_has_no_holes() {
    let plan = plan("by-hand", &[]);
    let Action::Hand { run, .. } = &plan.steps[0].action else { panic!("by hand") };
    assert_eq!(run[0], "oc -n openshift-machine-api get bmh worker-1 -o wide");
    assert_eq!(run[1], "curl -k https://BMC_HOST/redfish/v1");
    assert_eq!((plan.minutes, plan.blast), (Some(40), 3), "what its steps do not say");
}

#[test]
fn what_only_the_user_knows_is_asked_for_at_once_and_nothing_vanishes() {
    let plan = plan("asks", &[]);
    assert_eq!(plan.steps.len(), 3);
    assert!(plan.steps[1].title.ends_with("(needs --set address=…)"), "{}", plan.steps[1].title);
    let asked = "only you know it: give --set address=VALUE --set role=VALUE";
    assert_eq!(told(&plan), [asked]);
    let known: Vec<String> = asks(&small(), "asks").into_iter().collect();
    assert_eq!(known, ["address", "role"]);
}

#[test]
fn what_a_step_demands_and_is_not_so_is_said_before_anything_is_done() {
    let plan = plan("asks", &[("address", "redfish://192.0.2.1/x"), ("role", "worker")]);
    let said = "step 2: not met now: it is being registered (BareMetalHost/worker-1)";
    assert_eq!(told(&plan), [said]);
    let diff = &plan.steps[2].diff;
    assert_eq!(diff[0], "+ MachineConfig/99-worker-x, made by chrony-machine-config");
    assert_eq!(plan.minutes, Some(40), "a step by hand does not say how long it takes");
}

/// What is shown of a plan is read from the cluster before any guard sees it.
#[test]
fn a_name_that_leads_elsewhere_is_no_step() {
    let plan = plan("elsewhere", &[("name", "web/../../pods/db")]);
    assert!(plan.steps.is_empty());
    assert_eq!(told(&plan), ["'web/../../pods/db' is no name of an object"]);
}

#[test]
fn a_boot_is_not_taken_back() {
    let plan = plan("boots", &[]);
    assert!(matches!(plan.steps[0].undo, Undo::Impossible { .. }));
    assert_eq!(plan.minutes, Some(5), "the sum of its steps");
    let network = json!({"op": "add", "value": "192.0.2.0/24",
        "path": "/spec/platformSpec/baremetal/machineNetworks/-"});
    let infrastructure = EntityId::cluster_scoped("Infrastructure", "cluster");
    let target = Target::Api(crate::resource(&infrastructure).unwrap());
    let append = Action::Patch { subresource: None, operations: vec![network] };
    assert!(matches!(undo(&append, &target), Undo::Impossible { .. }));
    let other = json!({"op": "replace", "path": "/spec/x", "value": 1});
    let change = Action::Patch { subresource: None, operations: vec![other] };
    assert!(matches!(undo(&change, &target), Undo::Patch { .. }));
}

#[test]
fn verdicts_stand_in_the_plan_by_name() {
    let approve = Action::Approve { node: "worker-1".into(), signer: Signer::Client };
    let mut drafted = plan("boots", &[]);
    drafted.steps[0].action = approve;
    drafted.steps[0].commands = Vec::new();
    let judged = |verdict: &str| -> plimsoll_model::csr::Judged {
        serde_json::from_value(json!({"name": "csr-1", "created": null, "node": "worker-1",
            "wave": "client", "requestor": "somebody", "verdict": verdict,
            "reasons": ["that is why"]}))
        .unwrap()
    };
    let denied = with_verdicts(drafted.clone(), &[judged("deny")]);
    assert_eq!(denied.steps[0].diff, ["! csr-1: to be denied: that is why"]);
    assert!(denied.steps[0].commands.is_empty());
    assert_eq!(told(&denied), ["step 1: the rule denies csr-1: that is why"]);
    // What waits today is not what a kubelet asks for that is started first.
    let start = Step {
        action: Action::Unit { unit: "kubelet".into(), verb: UnitVerb::Start },
        target: Target::Node { name: "worker-1".into() },
        ..drafted.steps[1].clone()
    };
    let mut started = drafted.clone();
    started.steps.insert(0, start);
    let denied = with_verdicts(started, &[judged("deny")]);
    assert_eq!(denied.steps[1].diff, ["! csr-1: to be denied: that is why"]);
    assert!(denied.hindrances.is_empty(), "{:?}", denied.hindrances);
    let held = with_verdicts(drafted.clone(), &[judged("hold")]);
    assert!(held.steps[0].commands.is_empty() && held.hindrances.is_empty());
    let good = with_verdicts(drafted, &[judged("approve")]);
    assert_eq!(good.steps[0].commands, ["oc adm certificate approve csr-1"]);
}

fn built_in() -> Pack {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    Pack::load(&files).unwrap()
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<PackFile>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What is known of configs is no part of a diagnosis.
        if path == root.join("check") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let shown = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.push(PackFile { path: shown, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
}

/// Lines of a repair that somebody types.
fn lines(rule: &RepairRule) -> Vec<&String> {
    let of_steps = rule.steps.iter().flat_map(|step| {
        let run: &[String] = match &step.verb {
            VerbRule::Hand { run, .. } => run,
            _ => &[],
        };
        step.commands.iter().chain(run)
    });
    of_steps.chain(rule.verify.iter().filter_map(|verify| verify.run.as_ref())).collect()
}

/// Kinds whose facts have their namespace in the name of the thing.
const NAMESPACED: [&str; 7] =
    ["ConfigMap", "DaemonSet", "Deployment", "PersistentVolumeClaim", "Pod", "Secret", "Service"];

#[test]
fn every_command_with_a_namespace_gets_one() {
    let mut wrong = Vec::new();
    for rule in &built_in().repairs {
        let names_it =
            |line: &&String| summary::placeholders(line).iter().any(|p| p == "namespace");
        if !lines(rule).iter().any(names_it) {
            continue;
        }
        for kind in rule.kinds.iter().filter(|kind| !NAMESPACED.contains(&kind.as_str())) {
            if placed(&EntityId::cluster_scoped(kind, "x")).namespace.is_none() {
                wrong.push(format!("{}: a {kind} has no namespace", rule.id));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// `ssh host sudo sh -c 'a && b'` runs `b` without sudo, and `;` ends a command: two shells read it.
#[test]
fn a_command_for_another_machine_is_one_word_or_plain_words() {
    let mut wrong = Vec::new();
    for rule in &built_in().repairs {
        for line in lines(rule) {
            let Some((_, rest)) = line.split_once("ssh core@") else { continue };
            let Some((_, command)) = rest.split_once(' ') else { continue };
            let is_one_word = command.starts_with(['\'', '"']);
            // What follows is done here, or is a remark.
            let there = command.split(['|', '>', '#', '&']).next().unwrap_or_default();
            if !is_one_word && there.contains(['\'', '"', ';', '*', '$']) {
                wrong.push(format!("{}: {line}", rule.id));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
