//! What is out of sight is not gone, and what can be judged is judged, whatever else cannot be read.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_lab::Tree;

fn incident() -> Tree {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/incidents/four-hours.md");
    let cases = plimsoll_lab::parse_cases(&fs_err::read_to_string(file).unwrap()).unwrap();
    cases[0].tree().unwrap()
}

/// Of the roots of the incident, those that nobody could tell without these files.
fn hidden_without(gone: &str) -> BTreeSet<String> {
    let whole = incident();
    let roots = support::diagnose(&whole).roots;
    let known: Vec<_> = roots.iter().map(plimsoll_model::diagnosis::Root::state).collect();
    let rest: Tree = whole.into_iter().filter(|(path, _)| !path.contains(gone)).collect();
    let (base, _) = support::examine(&rest);
    let hidden = plimsoll_engine::hidden(&support::PACK, &base, known.iter());
    hidden.into_iter().map(|state| state.id).collect()
}

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(ToString::to_string).collect()
}

#[test]
fn a_root_is_hidden_by_what_it_rests_on_and_by_nothing_else() {
    assert_eq!(hidden_without("persistentvolumeclaims"), ids(&[]));
    assert_eq!(hidden_without("infrastructures"), ids(&["vip-outside-machine-network"]));
    assert_eq!(hidden_without("metal3.io"), ids(&["inspection-stuck"]));
    assert!(hidden_without("host_service_logs").contains("kubelet-anonymous"));
}
