//! Every kind of input that the pack declares is taken from every healthy cluster in turn: what was
//! not collected must never be read as a fault.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::collections::BTreeSet;

use plimsoll_lab::{Tree, base};
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, Status};
use rayon::prelude::*;

const HEALTHY: [&str; 4] = ["metal-3-2", "sno", "none-3-3", "metal-installing"];

/// (what it is, whether a file of a gather belongs to it)
type Input = (String, Box<dyn Fn(&str) -> bool + Sync + Send>);

fn declared() -> Vec<Input> {
    let needs = plimsoll_engine::needs(&support::PACK);
    let mut inputs: Vec<Input> = Vec::new();
    for need in &needs.resources {
        let (folder, list) = (
            format!("/{}/{}/", need.group, need.plural),
            format!("/{}/{}.yaml", need.group, need.plural),
        );
        let own = format!("/{}/", need.plural);
        inputs.push((
            format!("{}.{}", need.plural, need.group),
            Box::new(move |path| {
                path.contains(&folder)
                    || path.ends_with(&list)
                    // A pod has a folder of its own, with its logs.
                    || (path.contains(&own) && own == "/pods/" && path.ends_with(".yaml"))
            }),
        ));
    }
    let selectors: BTreeSet<String> =
        needs.signatures.iter().flat_map(|signature| signature.logs.clone()).collect();
    for selector in selectors {
        let parts: Vec<String> = selector.split('/').map(str::to_string).collect();
        inputs.push((format!("logs of {selector}"), Box::new(move |path| is_log_of(&parts, path))));
    }
    for glob in needs.files {
        let tail = glob.rsplit('/').next().unwrap().replace('*', "");
        inputs.push((glob, Box::new(move |path| path.ends_with(&tail))));
    }
    inputs
}

fn is_log_of(selector: &[String], path: &str) -> bool {
    let part = |at: usize| selector.get(at).map_or("", |part| part.trim_end_matches('*'));
    match selector.first().map(String::as_str) {
        Some("unit") => path.contains(&format!("/{}_service.log", part(1))),
        Some("pod") => {
            path.contains("/logs/")
                && path.contains(&format!("namespaces/{}", part(1)))
                && path.contains(&format!("/{}", part(2)))
        }
        Some("static") => path.starts_with(&format!("static-pods/{}", part(1))),
        _ => false,
    }
}

/// What is red, be it a fault or planned: without the file that says so, planned work looks like a
/// fault, and may be told as one that is not proven.
fn red(diagnosis: &Diagnosis) -> BTreeSet<String> {
    let red = |status| matches!(status, Status::Active | Status::Expected);
    let states = diagnosis.states.iter().filter(|state| red(state.status) && !state.note);
    states.map(|state| format!("{} {}", state.id, state.entity)).collect()
}

fn failure(name: &str, tree: &Tree, before: &BTreeSet<String>, input: &Input) -> Option<String> {
    let (what, holds) = input;
    let mut less = tree.clone();
    less.retain(|path, _| !holds(path));
    if less.len() == tree.len() {
        return None;
    }
    let diagnosis = support::diagnose(&less);
    let settled = before.is_empty();
    let mut new: Vec<String> = red(&diagnosis).difference(before).cloned().collect();
    // In the middle of planned work much is red, and which of it is over is in some file.
    new.retain(|_| settled);
    let roots: Vec<String> = diagnosis
        .roots
        .iter()
        .filter(|root| root.confidence == Confidence::Confirmed || settled)
        .map(|root| format!("{} {}", root.id, root.entity))
        .collect();
    let fine = new.is_empty() && roots.is_empty();
    (!fine).then(|| format!("{name} without {what}: red {new:?}, roots {roots:?}"))
}

#[test]
fn what_was_not_collected_from_a_healthy_cluster_is_no_fault() {
    let inputs = declared();
    let failures: Vec<String> = HEALTHY
        .par_iter()
        .flat_map(|name| {
            let tree = base::base(name).unwrap();
            let before = red(&support::diagnose(&tree));
            let judged = inputs.par_iter().filter_map(|input| failure(name, &tree, &before, input));
            judged.collect::<Vec<_>>()
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
