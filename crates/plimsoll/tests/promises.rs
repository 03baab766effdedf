//! The eight promises of the design, on every incident and on incidents with evidence taken away.
//! (On generated graphs they are tested in the causes crate.)

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use plimsoll_lab::dice::Dice;
use plimsoll_lab::{Tree, parse_cases};
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status};

/// (name, tree) of every case below a folder.
fn cases(folder: &str) -> Vec<(String, Tree)> {
    let mut files = Vec::new();
    find(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder), &mut files);
    files.sort();
    let mut found = Vec::new();
    for file in files {
        for case in parse_cases(&fs_err::read_to_string(&file).unwrap()).unwrap() {
            // The recorded tree is large and healthy; it has its own test.
            if case.base != "gcp-4.18" {
                found.push((format!("{}: {}", file.display(), case.name), case.tree().unwrap()));
            }
        }
    }
    assert!(found.len() > 10);
    found
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // Cases of configs have a form and a test of their own.
        if path.ends_with("knowledge/check") {
            continue;
        }
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|e| e == "md")
            && !path.ends_with("case.md")
            && !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("fault"))
        {
            files.push(path);
        }
    }
}

fn active(d: &Diagnosis) -> BTreeSet<StateRef> {
    d.states
        .iter()
        .filter(|state| state.status == Status::Active && !state.note)
        .map(|state| state.state())
        .collect()
}

#[test]
fn the_answer_to_every_incident_keeps_the_promises() {
    for (name, tree) in cases("fixtures/incidents") {
        let d = support::diagnose(&tree);
        let roots: BTreeSet<StateRef> = d.roots.iter().map(|root| root.state()).collect();
        let active = active(&d);
        // 1: confirmed means seen, with proof.
        for root in d.roots.iter().filter(|root| root.confidence == Confidence::Confirmed) {
            let state = root.state();
            assert!(active.contains(&state), "{name}: {} is confirmed and not active", root.id);
            assert!(!root.evidence.is_empty(), "{name}: {} is confirmed without proof", root.id);
        }
        // 2: no edge of the explanation leads into a root, outside a deadlock.
        let in_ring: BTreeSet<&StateRef> =
            d.deadlocks.iter().flat_map(|ring| &ring.members).collect();
        for edge in &d.edges {
            assert!(
                !roots.contains(&edge.to) || in_ring.contains(&edge.to),
                "{name}: {} is caused",
                edge.to.id
            );
        }
        // 3: without the root, something named is left unexplained.
        for root in &d.roots {
            let state = root.state();
            let others: BTreeSet<&StateRef> = d
                .roots
                .iter()
                .filter(|r| (&r.id, &r.entity) != (&root.id, &root.entity))
                .flat_map(|r| &r.explains)
                .collect();
            let own = active.contains(&state) || root.explains.iter().any(|s| !others.contains(s));
            assert!(own, "{name}: {} explains nothing of its own", root.id);
        }
        // 4: every active symptom is in a chain or in the unexplained list.
        let explained: BTreeSet<&StateRef> =
            d.roots.iter().flat_map(|root| &root.explains).collect();
        for state in &active {
            let placed = roots.contains(state)
                || explained.contains(state)
                || d.unexplained.contains(state)
                || in_ring.contains(state);
            assert!(placed, "{name}: {} {} is nowhere", state.id, state.entity);
        }
        // 5: every state of the answer cites a place, every edge its rule.
        for state in d.states.iter().filter(|state| state.status == Status::Active) {
            let cited = !state.evidence.is_empty()
                && state
                    .evidence
                    .iter()
                    .all(|at| !at.path.is_empty() && (at.line.is_some() || at.pointer.is_some()));
            assert!(cited, "{name}: {} {} cites nothing", state.id, state.entity);
        }
        assert!(d.edges.iter().all(|edge| !edge.rule.is_empty() && !edge.because.is_empty()));
        // 6: same input, same bytes.
        assert_eq!(
            plimsoll_report::json(&d),
            plimsoll_report::json(&support::diagnose(&tree)),
            "{name}"
        );
    }
}

/// 7: taking evidence away weakens or widens an answer; it never makes a new confirmed root.
fn confirmed_by_deleting(folder: &str, percents: impl Fn(usize) -> Vec<u64>) -> BTreeSet<String> {
    let mut made = BTreeSet::new();
    for (name, tree) in cases(folder) {
        // Of its name, so that a case that is added changes nothing for the others.
        let mut dice = Dice::named(0, name.rsplit("../").next().unwrap_or(&name));
        let percents = percents(dice.below(9));
        if percents.is_empty() {
            continue;
        }
        let before = support::confirmed(&support::diagnose(&tree));
        for percent in percents {
            let mut mutated = tree.clone();
            mutated.retain(|_, _| !dice.chance(percent));
            let after = support::confirmed(&support::diagnose(&mutated));
            for new in after.difference(&before) {
                made.insert(format!("{} at {percent} % fewer files of {name}", new.id));
            }
        }
    }
    made
}

#[test]
fn deleting_evidence_of_incidents_confirms_nothing_new() {
    let made = confirmed_by_deleting("fixtures/incidents", |_| vec![10, 20, 30, 40, 50]);
    assert!(made.is_empty(), "{made:#?}");
}

#[test]
fn deleting_evidence_of_single_faults_confirms_nothing_new() {
    // Every third case, so that the suite stays quick.
    let made = confirmed_by_deleting("knowledge", |number| match number {
        0 => vec![10],
        3 => vec![30],
        6 => vec![50],
        _ => Vec::new(),
    });
    assert!(made.is_empty(), "{made:#?}");
}
