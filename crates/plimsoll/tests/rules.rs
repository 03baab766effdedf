//! What must hold of every rule, tried on its own cases.
//!
//! A case says what its author thought of. Here the harness tries what no author writes down: the
//! files that an active state cites are taken away until nothing is left to cite, and the edits of
//! every case are put on every other base that they fit.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_lab::{Case, CaseKind, Expect, Tree};
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status};

/// An object may stand in a list, in a file of its own, and in an event; no state cites more forms.
const MAX_ROUNDS: usize = 8;

/// Every healthy cluster of the lab: high availability, compact, a single node, without a platform,
/// another version.
const BASES: [&str; 5] = ["metal-3-2", "metal-3-0", "metal-4.19", "none-3-3", "sno"];

/// States whose edits can be made on a base where they are no fault, and why.
const NO_FAULT_ELSEWHERE: [(&str, &[&str], &str); 10] = [
    ("vip-outside-machine-network", &["none-3-3", "sno"], "without the platform there are no VIPs"),
    ("vip-in-use-or-equal", &["none-3-3", "sno"], "without the platform there are no VIPs"),
    ("cidr-overlap", &["none-3-3", "sno"], "without the platform no machine network is told"),
    ("baremetal-unconfigured", &["none-3-3", "sno"], "the operator is off without the platform"),
    ("baremetal-disabled", &["none-3-3", "sno"], "the operator is off without the platform"),
    (
        "suspicious-csr",
        &["metal-3-0", "none-3-3", "sno"],
        "the machine that asks is none of theirs",
    ),
    ("etcd-db-large", &["none-3-3", "sno"], "the member is none of theirs"),
    ("etcd-fragmented", &["none-3-3", "sno"], "the member is none of theirs"),
    ("etcd-endpoints-missing", &["sno"], "three endpoints for one master: a node may be lost"),
    ("no-node-fits", &["metal-3-0", "sno"], "there is no worker that could fit"),
];

fn case_file(path: &Path, text: String) -> datatest_stable::Result<()> {
    let cases = plimsoll_lab::parse_cases(&text)?;
    let mut failures = Vec::new();
    for case in cases.iter().filter(|case| case.kind == CaseKind::Fires) {
        let tree = case.tree()?;
        let own: Vec<&StateRef> = fired(case).into_iter().filter(|s| is_of(s, path)).collect();
        let found = [taken_away(&own, &tree), elsewhere(case, &own)];
        for failure in found.into_iter().flatten() {
            failures.push(format!("{}:{}: {}: {failure}", path.display(), case.line, case.name));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// States that the case says are there.
fn fired(case: &Case) -> BTreeSet<&StateRef> {
    case.expects
        .iter()
        .filter_map(|expect| match expect {
            Expect::Root { state, confidence: Some(Confidence::Confirmed) }
            | Expect::State { state, status: Status::Active } => Some(state),
            _ => None,
        })
        .collect()
}

/// Whether the rule of a state stands in the folder of this file; others are tried in theirs.
fn is_of(state: &StateRef, path: &Path) -> bool {
    let Some(folder) = path.parent().and_then(Path::parent) else { return false };
    let rule = support::PACK.state(&state.id).map(|rule| &support::PACK.states[rule]);
    rule.is_some_and(|rule| {
        let of = &support::PACK.cases[rule.case];
        Path::new(&of.path).parent().is_some_and(|own| folder.ends_with(own))
    })
}

/// The files that prove an active state; `None` when it is not active.
fn cited(diagnosis: &Diagnosis, of: &StateRef) -> Option<BTreeSet<String>> {
    let active = diagnosis
        .states
        .iter()
        .find(|s| s.id == of.id && s.entity == of.entity && s.status == Status::Active)?;
    Some(active.evidence.iter().map(|at| at.path.clone()).collect())
}

/// Without what it cites a state is not active, and nothing else is confirmed in its place.
fn taken_away(states: &[&StateRef], tree: &Tree) -> Vec<String> {
    let mut failures = Vec::new();
    if states.is_empty() {
        return failures;
    }
    let whole = support::diagnose(tree);
    let before = support::confirmed(&whole);
    for state in states {
        let named = format!("{} {}", state.id, state.entity);
        let mut tree = tree.clone();
        let mut diagnosis = whole.clone();
        for round in 0.. {
            let Some(files) = cited(&diagnosis, state) else { break };
            if files.is_empty() || round == MAX_ROUNDS {
                failures.push(format!("{named} is active after {round} rounds without evidence"));
                break;
            }
            tree.retain(|path, _| !files.contains(path));
            diagnosis = support::diagnose(&tree);
            let after = support::confirmed(&diagnosis);
            let new: Vec<String> =
                after.difference(&before).map(|s| format!("{} {}", s.id, s.entity)).collect();
            if !new.is_empty() {
                let taken: Vec<&str> = files.iter().map(String::as_str).collect();
                failures.push(format!(
                    "without {} there is a new confirmed root {}",
                    taken.join(", "),
                    new.join(", ")
                ));
                break;
            }
        }
    }
    failures
}

/// The same fault on another healthy cluster is the same fault, where the rule applies.
fn elsewhere(case: &Case, states: &[&StateRef]) -> Vec<String> {
    let mut failures = Vec::new();
    if states.is_empty() || !BASES.contains(&case.base.as_str()) {
        return failures;
    }
    for base in BASES.iter().filter(|base| **base != case.base) {
        let moved = Case { base: (*base).into(), ..case.clone() };
        // Edits that find nothing to edit do not fit this base.
        let Ok(tree) = moved.tree() else { continue };
        let diagnosis = support::diagnose(&tree);
        for state in states {
            let is_no_fault = NO_FAULT_ELSEWHERE
                .iter()
                .any(|(id, bases, _)| *id == state.id && bases.contains(base));
            if !is_no_fault
                && support::applies(&state.id, &diagnosis.cluster)
                && cited(&diagnosis, state).is_none()
            {
                failures.push(format!("on {base}: {} {} is not active", state.id, state.entity));
            }
        }
    }
    failures
}

datatest_stable::harness! {
    { test = case_file, root = "../../knowledge", pattern = r"^(?!check/).*tests/.*\.md$" },
}
