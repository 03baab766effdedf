//! What a plan says of the very cluster that it is for.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeMap;

use plimsoll_lab::parse_cases;
use plimsoll_model::EntityId;
use plimsoll_model::plan::{Action, Plan, Target};
use plimsoll_repair::{draft, draft_of};
use serde_json::json;

use support::{PACK, READER};

const CASES: &str = include_str!("../../../knowledge/ignition/mcs-ca-mismatch/tests/cases.md");
const BASE: &str = "```edits base=metal-3-2\n";
const SET: &str = "MachineSet/ostest-cktts-worker-0 spec.template.spec.providerSpec.value.userData";

/// For a pointer ignition with an old CA, in a cluster with one more edit.
fn plan(edit: &str, minor: i64) -> Plan {
    let text = CASES.replacen(BASE, &format!("{BASE}{edit}\n"), 1);
    let tree = parse_cases(&text).unwrap()[0].tree().unwrap();
    let snapshot = READER.read_tree("must-gather", &tree);
    let (mut base, diagnosis) = plimsoll_engine::examine(&PACK, &snapshot, &[], None);
    let cluster = base.entities.get_mut(&EntityId::cluster()).unwrap();
    cluster.facts.insert("minor".into(), minor.into());
    let root = diagnosis.roots.iter().find(|root| root.id == "mcs-ca-mismatch").unwrap();
    draft(&PACK, &base, &diagnosis, root, &BTreeMap::new()).unwrap()
}

/// Names of what the plan writes.
fn filled(plan: &Plan) -> Vec<&str> {
    let one = plan.steps.iter().filter_map(|step| match (&step.action, &step.target) {
        (Action::Fill { .. }, Target::Api(object)) => Some(object.name.as_str()),
        _ => None,
    });
    one.collect()
}

#[test]
fn the_secret_that_new_workers_are_given_is_named() {
    let own = plan(&format!("set {SET}.name = worker-user-data"), 18);
    assert_eq!(filled(&own), ["worker-user-data"]);
    let title = &own.steps[0].title;
    assert!(title.contains("into worker-user-data, the pointer ignition that new"), "{title}");

    let other = plan(&format!("set {SET}.name = infra-user-data"), 18);
    assert_eq!(filled(&other), ["infra-user-data", "worker-user-data"]);
}

#[test]
fn what_the_operator_renders_is_told_by_release_and_not_written() {
    for (minor, source) in [(17, "kube-system/root-ca"), (19, "machine-config-server-ca")] {
        let managed = plan(&format!("set {SET}.name = worker-user-data-managed"), minor);
        assert_eq!(filled(&managed), ["worker-user-data"]);
        let title = &managed.steps[0].title;
        assert!(title.contains("are given worker-user-data-managed"), "{title}");
        assert!(title.contains(source), "{title}");
    }
}

#[test]
fn what_the_data_does_not_tell_is_asked_for() {
    let untold = plan(&format!("unset {SET}"), 18);
    assert_eq!(filled(&untold), ["worker-user-data"]);
    let title = &untold.steps[0].title;
    assert!(title.starts_with("This data does not tell which secret"), "{title}");
}

/// A kubelet that starts with its old kubeconfig goes on as system:admin by the copies that it made.
#[test]
fn by_hand_the_copies_of_a_kubelet_go_before_its_kubeconfig_comes_back() {
    let rule = PACK.repair("borrow-admin-identity").unwrap();
    let lines: Vec<&String> = rule.steps.iter().flat_map(|step| &step.commands).collect();
    let at = |what: &str| {
        let found = lines.iter().position(|line| line.contains(what));
        found.unwrap_or_else(|| panic!("{what}: {lines:#?}"))
    };
    assert!(at("systemctl stop kubelet") < at("sudo rm -f $f"));
    assert!(at("sudo rm -f $f") < at("mv /var/lib/kubelet/kubeconfig.before"));
    assert!(at("mv /var/lib/kubelet/kubeconfig.before") < at("systemctl start kubelet"));
}

/// Its disk has the pointer that it was written with, whatever the secret holds by then.
#[test]
fn a_machine_with_an_old_pointer_is_written_again() {
    let last = plan(&format!("set {SET}.name = worker-user-data"), 18).steps.pop().unwrap();
    assert!(last.title.starts_with("Have the machine that waits written again"), "{}", last.title);
    let Action::Hand { run, .. } = &last.action else { panic!("{last:#?}") };
    assert!(run.iter().any(|line| line.contains("delete machine MACHINE_OF_THIS_HOST")), "{run:?}");
}

/// A load balancer of your own may hold an address of no node: then the address itself is appended.
#[test]
fn a_vip_off_the_nodes_subnets_is_appended_as_itself() {
    const VIPS: &str =
        include_str!("../../../knowledge/network/vip-outside-machine-network/tests/cases.md");
    for (heading, network) in [
        ("the load balancer is the user's own", "10.99.1.5/32"),
        ("only the second VIP is outside", "fd00:46::13/128"),
    ] {
        let cases = parse_cases(VIPS).unwrap();
        let case = cases.iter().find(|case| case.name.contains(heading));
        let case = case.unwrap_or_else(|| panic!("no case '{heading}'"));
        let snapshot = READER.read_tree("must-gather", &case.tree().unwrap());
        let (base, diagnosis) = plimsoll_engine::examine(&PACK, &snapshot, &[], None);
        let root = diagnosis.roots.iter().find(|root| root.id == "vip-outside-machine-network");
        let plan = draft(&PACK, &base, &diagnosis, root.unwrap(), &BTreeMap::new()).unwrap();
        assert_eq!(plan.repair, "append-machine-network");
        assert!(plan.hindrances.is_empty(), "{:?}", plan.hindrances);
        let Action::Patch { operations, .. } = &plan.steps[0].action else { panic!("{plan:#?}") };
        assert_eq!(operations[0]["value"], network, "{heading}");
    }
}

/// What restarts the control plane is begun with a backup that a person makes.
#[test]
fn etcd_is_backed_up_before_the_control_plane_is_rolled_out() {
    const POOLS: &str =
        include_str!("../../../knowledge/control-plane/revision-failing/tests/cases.md");
    let tree = parse_cases(POOLS).unwrap()[0].tree().unwrap();
    let snapshot = READER.read_tree("must-gather", &tree);
    let (base, diagnosis) = plimsoll_engine::examine(&PACK, &snapshot, &[], None);
    let root = diagnosis.roots.iter().find(|root| root.id == "revision-failing").unwrap();
    let plan = draft(&PACK, &base, &diagnosis, root, &BTreeMap::new()).unwrap();
    assert_eq!(plan.repair, "retry-revision");
    let backup = |step: &plimsoll_model::plan::Step| match &step.action {
        Action::Hand { run, .. } => run.iter().any(|line| line.contains("cluster-backup.sh")),
        _ => false,
    };
    assert!(backup(&plan.steps[0]), "{:#?}", plan.steps[0]);
    assert_eq!(plan.steps.iter().filter(|step| backup(step)).count(), 1);
}

/// A trial that could not fail would graduate anything.
#[test]
fn a_repair_that_does_not_hold_fails_its_trial() {
    const POOLS: &str =
        include_str!("../../../knowledge/machine-config/pool-paused/tests/cases.md");
    let cases = parse_cases(POOLS).unwrap();
    let case = cases.iter().find(|case| plimsoll_lab::trials(&case.expects).next().is_some());
    let tree = case.unwrap().tree().unwrap();
    let snapshot = READER.read_tree("must-gather", &tree);
    let (base, diagnosis) = plimsoll_engine::examine(&PACK, &snapshot, &[], None);
    let object = |group: &str, entity: &EntityId| plimsoll_lab::object(&tree, group, entity);
    let none = BTreeMap::new();
    let plan = || draft_of(&PACK, &base, &diagnosis, "unpause-pool", &none).unwrap();
    let tried = |plan: Plan| plimsoll_act::tried(plan, &base, &diagnosis, &object);
    assert_eq!(tried(plan()), Ok(()));

    let absent = plimsoll_act::tried(plan(), &base, &diagnosis, &|_, _| Ok(None)).unwrap_err();
    assert!(absent.contains("does not exist"), "{absent}");
    let mut by_hand = plan();
    by_hand.steps.retain(|step| matches!(step.action, Action::Hand { .. }));
    assert!(tried(by_hand).unwrap_err().contains("nothing that could be carried out"));
    let patched = |path: &str| {
        let mut plan = plan();
        for step in &mut plan.steps {
            if let Action::Patch { operations, .. } = &mut step.action {
                *operations = vec![json!({"op": "add", "path": path, "value": 9})];
            }
        }
        tried(plan).unwrap_err()
    };
    assert!(patched("/spec/maxUnavailable").contains("is not a plan's to change"));
    assert!(patched("/spec/not/there").contains("/spec/not/there"));
    let unknown = draft_of(&PACK, &base, &diagnosis, "no-such-repair", &none).unwrap_err();
    assert_eq!(unknown, "no pack has it");
    let other = draft_of(&PACK, &base, &diagnosis, "mend-metal3", &none).unwrap_err();
    assert_eq!(other, "no root of this case has it");
}
