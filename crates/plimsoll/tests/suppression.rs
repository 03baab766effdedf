//! Accepting findings: on every incident, for every state that is seen.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_engine::Suppression;
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status, Verdict};

/// Every answer to an incident, with a way to ask it again.
fn incidents(name: &str) -> Vec<(String, plimsoll_model::Snapshot)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/incidents").join(name);
    let cases = plimsoll_lab::parse_cases(&fs_err::read_to_string(file).unwrap()).unwrap();
    cases
        .into_iter()
        .map(|case| {
            let tree = case.tree().unwrap();
            (case.name, support::READER.read_tree("must-gather", &tree))
        })
        .collect()
}

fn accepting(snapshot: &plimsoll_model::Snapshot, states: &[StateRef]) -> Diagnosis {
    let list: Vec<Suppression> = states
        .iter()
        .map(|state| Suppression {
            id: state.id.clone(),
            entity: Some(state.entity.to_string()),
            reason: "known".into(),
            until: "2999-12-31".parse().unwrap(),
        })
        .collect();
    plimsoll_engine::examine(&support::PACK, snapshot, &list, None).1
}

fn active(d: &Diagnosis) -> Vec<StateRef> {
    let states = d.states.iter().filter(|state| state.status == Status::Active && !state.note);
    states.map(plimsoll_model::diagnosis::State::state).collect()
}

fn roots(d: &Diagnosis, confirmed: bool) -> BTreeSet<StateRef> {
    let roots = d.roots.iter();
    roots
        .filter(|root| !confirmed || root.confidence == Confidence::Confirmed)
        .map(plimsoll_model::diagnosis::Root::state)
        .collect()
}

#[test]
fn accepting_any_state_makes_no_new_root_and_hides_no_state() {
    for (name, snapshot) in incidents("four-hours.md").into_iter().chain(incidents("hard-way.md")) {
        let before = accepting(&snapshot, &[]);
        assert!(before.suppressed.is_empty() && before.notes.is_empty());
        // Every third, so that the suite stays quick.
        for state in active(&before).into_iter().step_by(3) {
            let after = accepting(&snapshot, std::slice::from_ref(&state));
            let told = format!("{name}: accepting {} {}", state.id, state.entity);
            assert!(roots(&after, true).is_subset(&roots(&before, true)), "{told}");
            assert!(roots(&after, false).is_subset(&roots(&before, false)), "{told}");
            assert!(!roots(&after, false).contains(&state), "{told}: it is still a root");
            assert!(!after.unexplained.contains(&state), "{told}: it is still unexplained");
            assert_eq!(after.states, before.states, "{told}");
            assert_eq!(after.suppressed.len(), 1, "{told}");
            assert!(!after.suppressed[0].evidence.is_empty(), "{told}: without proof");
            // Every active symptom is under a root, unexplained, in a ring, or accepted.
            let placed: BTreeSet<&StateRef> = (after.roots.iter().flat_map(|root| &root.explains))
                .chain(&after.unexplained)
                .chain(after.deadlocks.iter().flat_map(|ring| &ring.members))
                .chain(after.suppressed.iter().flat_map(|known| &known.explains))
                .collect();
            for symptom in active(&after) {
                let own = symptom == state || roots(&after, false).contains(&symptom);
                assert!(own || placed.contains(&symptom), "{told}: {symptom:?} is nowhere");
            }
        }
    }
}

#[test]
fn accepting_every_root_leaves_nothing_to_blame() {
    let (name, snapshot) = incidents("four-hours.md").swap_remove(0);
    let before = accepting(&snapshot, &[]);
    let all: Vec<StateRef> = roots(&before, false).into_iter().collect();
    let after = accepting(&snapshot, &all);
    assert!(after.roots.len() < before.roots.len(), "{name}");
    assert_ne!(after.verdict, before.verdict);
    assert!(after.reason.contains("accepted as known"), "{}", after.reason);
    let schema = Diagnosis::json_schema();
    assert!(jsonschema::is_valid(&schema, &serde_json::to_value(&after).unwrap()));
    let seen = accepting(&snapshot, &active(&before));
    assert!(seen.roots.is_empty() && seen.unexplained.is_empty());
    assert_eq!(seen.verdict, Verdict::Healthy);
    assert!(
        seen.reason.starts_with("nothing is wrong beyond what you accepted"),
        "{}",
        seen.reason
    );
}
