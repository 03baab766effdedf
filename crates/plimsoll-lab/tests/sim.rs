//! The simulator: plausible times, causes before effects, the same again from the same seed; and
//! every fault of the knowledge can be made on every cluster that it fits.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::path::Path;

use jiff::SignedDuration;
use plimsoll_lab::base::{self, BaseParams};
use plimsoll_lab::corpus::{self, Class};
use plimsoll_lab::fault::{Bindings, Fault, WORDS, parse_faults};
use plimsoll_lab::sim::{self, Outcome, What};
use plimsoll_lab::tree::Tree;

fn faults() -> Vec<Fault> {
    let knowledge = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let mut all = Vec::new();
    for area in folders(&knowledge) {
        for case in folders(&area) {
            if let Ok(text) = fs_err::read_to_string(case.join("fault.md")) {
                all.extend(parse_faults(&case.display().to_string(), &text).unwrap());
            }
        }
    }
    all
}

fn folders(path: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs_err::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    found.sort();
    found
}

/// A fault that breaks one thing on master-1 of the default cluster, some minutes before the gather.
fn simulated(breaks: &str, minutes_ago: i64, seed: u64) -> (Tree, Outcome) {
    let text = format!(
        "# fault: x\n```fault\nroot: x Node/{{node}}\npick: master\nbreaks:\n- {breaks}\n```\n"
    );
    let params = BaseParams::default();
    let onset = params.now - SignedDuration::from_mins(minutes_ago);
    let fault = &parse_faults("x", &text).unwrap()[0];
    let bound = fault.bind(&Bindings { params: &params, node: "master-1".into(), onset }).unwrap();
    let mut tree = base::metal(&params);
    let outcome = sim::run(&params, &mut tree, &[bound], seed).unwrap();
    (tree, outcome)
}

fn seconds_after(outcome: &Outcome, wanted: impl Fn(&What) -> bool) -> i64 {
    let start = outcome.happenings[0].at;
    let found = outcome.happenings.iter().find(|found| wanted(&found.what)).unwrap();
    found.at.duration_since(start).as_secs()
}

fn text(tree: &Tree, path: &str) -> String {
    String::from_utf8(tree[path].clone()).unwrap()
}

const OPERATORS: &str = "cluster-scoped-resources/config.openshift.io/clusteroperators";

#[test]
fn a_silent_kubelet_is_noticed_in_the_time_it_takes() {
    let (tree, outcome) = simulated("kubelet-silent {node}", 180, 1);
    let unknown = seconds_after(&outcome, |what| matches!(what, What::NodeUnknown(_)));
    assert!((40..=55).contains(&unknown), "{unknown}");
    let evicted = seconds_after(&outcome, |what| matches!(what, What::PodEvicted(_)));
    assert!((340..=370).contains(&evicted), "{evicted}");
    let etcd = text(&tree, &format!("{OPERATORS}/etcd.yaml"));
    assert!(
        etcd.contains("The master nodes not ready: node \\\"master-1\\\" not ready since")
            || etcd.contains("The master nodes not ready: node \"master-1\" not ready since"),
        "{etcd}"
    );
    assert!(etcd.contains("because NodeStatusUnknown (Kubelet stopped posting node status.)"));
    let symptoms: Vec<String> = outcome
        .truth
        .symptoms
        .iter()
        .map(|state| format!("{} {}", state.id, state.entity))
        .collect();
    assert!(symptoms.contains(&"node-not-ready Node/master-1".to_string()), "{symptoms:?}");
    assert!(symptoms.contains(&"operator-degraded ClusterOperator/authentication".to_string()));
    assert!(symptoms.contains(&"cluster-version-failing Cluster/cluster".to_string()));
}

#[test]
fn what_has_not_happened_yet_does_not_show() {
    let (tree, outcome) = simulated("kubelet-silent {node}", 2, 1);
    assert!(outcome.happenings.iter().any(|found| matches!(found.what, What::NodeUnknown(_))));
    assert!(!outcome.happenings.iter().any(|found| matches!(found.what, What::PodEvicted(_))));
    let etcd = text(&tree, &format!("{OPERATORS}/etcd.yaml"));
    assert!(!etcd.contains("not ready since"), "five minutes of inertia are not over");
}

#[test]
fn guards_complain_of_missing_mirror_pods_only_while_the_node_is_ready() {
    let (tree, _) = simulated("mirror-pods-gone {node}", 60, 1);
    let etcd = text(&tree, &format!("{OPERATORS}/etcd.yaml"));
    assert!(etcd.contains("GuardControllerDegraded: Missing operand on node master-1"));
    let both = "kubelet-silent {node}\n- mirror-pods-gone {node}";
    let (_, outcome) = simulated(both, 60, 1);
    let guards = outcome.happenings.iter().filter(
        |found| matches!(&found.what, What::Complains(said) if said.part.starts_with("Guard")),
    );
    // The pods go before the node is marked: the first complaints may have been on their way.
    assert!(guards.count() <= 4);
}

#[test]
fn a_stuck_master_reaches_its_pool_and_then_the_operator() {
    let (tree, outcome) = simulated("config-stuck {node} \"can't reconcile config\"", 120, 3);
    let pool = seconds_after(&outcome, |what| matches!(what, What::PoolDegraded(_)));
    let operator = seconds_after(&outcome, |what| matches!(what, What::Complains(_)));
    assert!(pool <= 100 && operator - pool >= 600, "{pool} {operator}");
    let shown = text(&tree, &format!("{OPERATORS}/machine-config.yaml"));
    assert!(shown.contains("error MachineConfigPool master is not ready"));
    let links: Vec<String> =
        outcome.truth.links.iter().map(|(from, to)| format!("{} -> {}", from.id, to.id)).collect();
    for link in [
        "x -> node-config-degraded",
        "node-config-degraded -> pool-degraded",
        "pool-degraded -> operator-degraded",
    ] {
        assert!(links.contains(&link.to_string()), "{link} is not in {links:?}");
    }
}

#[test]
fn routers_down_reach_those_who_ask_their_routes() {
    let (tree, _) = simulated("workload-down openshift-ingress/router-default", 120, 3);
    let ingress = text(&tree, &format!("{OPERATORS}/ingress.yaml"));
    assert!(ingress.contains("MinimumReplicasUnavailable"));
    let console = text(&tree, &format!("{OPERATORS}/console.yaml"));
    assert!(console.contains("192.168.111.4:443: connect: connection refused"), "{console}");
}

#[test]
fn every_word_starts_something_and_causes_come_before_effects() {
    for (word, count, _) in WORDS {
        let arguments = match (*word, count) {
            ("workload-down" | "workload-missing", _) => "openshift-console/console".to_string(),
            ("static-pod-crashing" | "static-pod-stuck", _) => "etcd {node}".into(),
            ("operator-degraded" | "operator-unavailable", _) => "dns X \"text\"".into(),
            ("ingress-unreachable", _) => "\"EOF\"".into(),
            (_, 0) => String::new(),
            (_, 1) => "{node}".into(),
            _ => "{node} \"text\"".into(),
        };
        let (tree, outcome) = simulated(format!("{word} {arguments}").trim_end(), 300, 5);
        assert!(outcome.happenings.len() > 1, "{word} starts nothing");
        for found in &outcome.happenings {
            if let Some(&first) = found.causes.first() {
                assert!(outcome.happenings[first].at <= found.at, "{word}: {found:?}");
            }
        }
        let (again, _) = simulated(format!("{word} {arguments}").trim_end(), 300, 5);
        assert_eq!(tree, again, "{word}: another tree from the same seed");
    }
}

#[test]
fn the_plan_is_the_same_each_time_and_holds_every_class() {
    let faults = faults();
    let (one, two) = (corpus::plan(&faults, 1), corpus::plan(&faults, 1));
    assert_eq!(one.len(), two.len());
    assert!(one.iter().zip(&two).all(|(a, b)| a.seed == b.seed && a.class == b.class));
    for class in Class::ALL {
        assert!(one.iter().any(|spec| spec.class == class), "no case of {}", class.name());
    }
}

/// A fault.md that names what a cluster does not have fails here, with its file and line.
#[test]
fn every_fault_can_be_made() {
    let faults = faults();
    let mut failures = Vec::new();
    let specs = corpus::plan(&faults, 1);
    // Each fault stands there twice, on two clusters; the score makes the others.
    for spec in specs.iter().filter(|spec| spec.class == Class::Single).step_by(2) {
        if let Err(error) = spec.make() {
            failures.push(error.to_string());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
