//! A diagnosis against what a case expects of it.

use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status};
use plimsoll_model::entity::EntityId;

use crate::expect::{Expect, Trial};

/// A sentence for every expectation that does not hold. Repairs are tried by whoever can carry them out: [`trials`].
pub fn check(expects: &[Expect], diagnosis: &Diagnosis) -> Vec<String> {
    expects.iter().filter_map(|expect| failure(expect, expects, diagnosis)).collect()
}

/// The repairs that are to be tried.
pub fn trials(expects: &[Expect]) -> impl Iterator<Item = &Trial> {
    expects.iter().filter_map(|expect| match expect {
        Expect::Repair(trial) => Some(trial),
        _ => None,
    })
}

fn failure(expect: &Expect, all: &[Expect], diagnosis: &Diagnosis) -> Option<String> {
    match expect {
        Expect::Root { state, confidence } => root(state, *confidence, diagnosis),
        Expect::State { state, status } => with_status(state, *status, diagnosis),
        Expect::Chain(states) => chain(states, diagnosis),
        Expect::Quiet { id, entity } => quiet(id, entity.as_ref(), diagnosis),
        Expect::NoRoots => (!diagnosis.roots.is_empty())
            .then(|| format!("no root was expected, but there is {}", roots(diagnosis))),
        Expect::NoOtherRoots => other_roots(all, diagnosis),
        Expect::Verdict(verdict) => (diagnosis.verdict != *verdict).then(|| {
            format!("the verdict {verdict:?} was expected, but it is {:?}", diagnosis.verdict)
        }),
        Expect::Deadlock(members) => deadlock(members, diagnosis),
        Expect::NothingUnexplained => (!diagnosis.unexplained.is_empty()).then(|| {
            let left = names(&diagnosis.unexplained);
            format!("everything should be explained, but these are left: {left}")
        }),
        Expect::Unexplained(state) => (!diagnosis.unexplained.contains(state))
            .then(|| format!("{} should be left unexplained, but is not", name(state))),
        Expect::Next(state) => {
            let held = diagnosis
                .next_checks
                .iter()
                .any(|check| check.id == state.id && check.entity == state.entity);
            (!held).then(|| format!("{} is not among the next checks", name(state)))
        }
        Expect::Repair(_) => None,
        Expect::RuledOut(state) => {
            let held = diagnosis
                .ruled_out
                .iter()
                .any(|ruled| ruled.id == state.id && ruled.entity == state.entity);
            (!held).then(|| format!("{} is not ruled out", name(state)))
        }
    }
}

fn name(state: &StateRef) -> String {
    format!("{} {}", state.id, state.entity)
}

fn names(states: &[StateRef]) -> String {
    states.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn roots(diagnosis: &Diagnosis) -> String {
    if diagnosis.roots.is_empty() {
        return "none".into();
    }
    let all = diagnosis.roots.iter().map(|root| format!("{} {}", root.id, root.entity));
    all.collect::<Vec<_>>().join(", ")
}

fn root(state: &StateRef, confidence: Option<Confidence>, diagnosis: &Diagnosis) -> Option<String> {
    let found =
        diagnosis.roots.iter().find(|root| root.id == state.id && root.entity == state.entity);
    match (found, confidence) {
        (None, _) => {
            Some(format!("{} should be a root; the roots are: {}", name(state), roots(diagnosis)))
        }
        (Some(root), Some(expected)) if root.confidence != expected => {
            Some(format!("the root {} is {:?}, not {expected:?}", name(state), root.confidence))
        }
        _ => None,
    }
}

fn with_status(state: &StateRef, status: Status, diagnosis: &Diagnosis) -> Option<String> {
    let found =
        diagnosis.states.iter().find(|found| found.id == state.id && found.entity == state.entity);
    match found {
        Some(found) if found.status == status => None,
        Some(found) => Some(format!("{} is {:?}, not {status:?}", name(state), found.status)),
        None => {
            let same: Vec<String> = diagnosis
                .states
                .iter()
                .filter(|found| found.id == state.id)
                .map(|found| format!("{} ({:?})", found.entity, found.status))
                .collect();
            let elsewhere = match same.is_empty() {
                true => String::new(),
                false => format!("; it is seen on {}", same.join(", ")),
            };
            Some(format!(
                "{} should be {status:?}, but is not in the answer{elsewhere}",
                name(state)
            ))
        }
    }
}

fn chain(states: &[StateRef], diagnosis: &Diagnosis) -> Option<String> {
    let missing = states.windows(2).find(|pair| {
        !diagnosis.edges.iter().any(|edge| edge.from == pair[0] && edge.to == pair[1])
    })?;
    let causes: Vec<String> = diagnosis
        .edges
        .iter()
        .filter(|edge| edge.to == missing[1])
        .map(|edge| name(&edge.from))
        .collect();
    let instead = match causes.is_empty() {
        true => "nothing".into(),
        false => causes.join(", "),
    };
    Some(format!(
        "{} should cause {}; what causes it is: {instead}",
        name(&missing[0]),
        name(&missing[1])
    ))
}

fn quiet(id: &str, entity: Option<&EntityId>, diagnosis: &Diagnosis) -> Option<String> {
    let fits = |found: &str, of: &EntityId| found == id && entity.is_none_or(|entity| entity == of);
    if let Some(state) = diagnosis
        .states
        .iter()
        .find(|state| state.status == Status::Active && fits(&state.id, &state.entity))
    {
        return Some(format!("{id} should be quiet, but is active on {}", state.entity));
    }
    diagnosis
        .roots
        .iter()
        .find(|root| fits(&root.id, &root.entity))
        .map(|root| format!("{id} should be quiet, but {} is blamed for it", root.entity))
}

fn other_roots(all: &[Expect], diagnosis: &Diagnosis) -> Option<String> {
    let expected = |id: &str, entity: &EntityId| {
        all.iter().any(|expect| {
            matches!(expect, Expect::Root { state, .. } if state.id == id && state.entity == *entity)
        })
    };
    let others: Vec<String> = diagnosis
        .roots
        .iter()
        .filter(|root| !expected(&root.id, &root.entity))
        .map(|root| format!("{} {}", root.id, root.entity))
        .collect();
    (!others.is_empty())
        .then(|| format!("there are more roots than expected: {}", others.join(", ")))
}

fn deadlock(members: &[StateRef], diagnosis: &Diagnosis) -> Option<String> {
    let held = diagnosis
        .deadlocks
        .iter()
        .any(|deadlock| members.iter().all(|member| deadlock.members.contains(member)));
    if held {
        return None;
    }
    let rings: Vec<String> =
        diagnosis.deadlocks.iter().map(|deadlock| names(&deadlock.members)).collect();
    let found = if rings.is_empty() { "none".into() } else { rings.join(" / ") };
    Some(format!("no deadlock holds {}; found: {found}", names(members)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::expect::parse_expect;

    fn diagnosis() -> Diagnosis {
        let state = |id: &str, entity: &str, status: &str| json!({"id": id, "entity": entity, "status": status, "since": null, "summary": "", "evidence": []});
        let at = |id: &str, entity: &str| json!({"id": id, "entity": entity});
        serde_json::from_value(json!({
            "schema": "plimsoll.diagnosis/v1", "generated_for": null, "cluster": {}, "sources": [],
            "verdict": "recoverable", "reason": "",
            "roots": [{"id": "a", "entity": "Node/m", "confidence": "confirmed", "since": null,
                       "summary": "", "explains": [], "evidence": [], "repairs": []}],
            "states": [state("a", "Node/m", "active"), state("b", "Pod/n/p", "active"),
                       state("r", "Node/m", "recovered"), state("e", "Node/m", "expected"),
                       state("u", "Node/m", "unknown")],
            "edges": [{"from": at("a", "Node/m"), "to": at("b", "Pod/n/p"), "rule": "", "because": ""},
                      {"from": at("b", "Pod/n/p"), "to": at("c", "Node/m"), "rule": "", "because": ""}],
            "deadlocks": [{"members": [at("x", "Node/m"), at("y", "Node/n")], "breakers": []}],
            "unexplained": [at("z", "Node/m")],
            "ruled_out": [{"id": "o", "entity": "Node/m", "by": ""}],
            "alternatives": [],
            "next_checks": [{"id": "k", "entity": "Node/m", "how": "", "cost": "low", "separates": []}]
        }))
        .unwrap()
    }

    fn failures(lines: &[&str]) -> Vec<String> {
        let expects: Vec<Expect> = lines.iter().map(|line| parse_expect(line).unwrap()).collect();
        check(&expects, &diagnosis())
    }

    #[test]
    fn what_holds_gives_no_sentence() {
        assert_eq!(
            failures(&[
                "root a Node/m confirmed",
                "root a Node/m",
                "active b Pod/n/p",
                "recovered r Node/m",
                "expected e Node/m",
                "unknown u Node/m",
                "chain a Node/m -> b Pod/n/p -> c Node/m",
                "quiet b Pod/n/other",
                "quiet r",
                "no other roots",
                "verdict recoverable",
                "deadlock y Node/n, x Node/m",
                "unexplained z Node/m",
                "next k Node/m",
                "ruled-out o Node/m",
            ]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_does_not_hold_gives_a_sentence() {
        for (line, sentence) in [
            ("root b Node/m", "b Node/m should be a root; the roots are: a Node/m"),
            ("root a Node/m suspected", "the root a Node/m is Confirmed, not Suspected"),
            ("active r Node/m", "r Node/m is Recovered, not Active"),
            (
                "active b Pod/n/q",
                "b Pod/n/q should be Active, but is not in the answer; it is seen on Pod/n/p (Active)",
            ),
            ("recovered q Node/m", "q Node/m should be Recovered, but is not in the answer"),
            (
                "chain a Node/m -> c Node/m",
                "a Node/m should cause c Node/m; what causes it is: b Pod/n/p",
            ),
            ("quiet b", "b should be quiet, but is active on Pod/n/p"),
            ("no roots", "no root was expected, but there is a Node/m"),
            ("no other roots", "there are more roots than expected: a Node/m"),
            ("verdict healthy", "the verdict Healthy was expected, but it is Recoverable"),
            (
                "deadlock x Node/m, z Node/m",
                "no deadlock holds x Node/m, z Node/m; found: x Node/m, y Node/n",
            ),
            ("unexplained none", "everything should be explained, but these are left: z Node/m"),
            ("unexplained a Node/m", "a Node/m should be left unexplained, but is not"),
            ("next a Node/m", "a Node/m is not among the next checks"),
            ("ruled-out a Node/m", "a Node/m is not ruled out"),
        ] {
            assert_eq!(failures(&[line]), [sentence]);
        }
    }

    #[test]
    fn a_suspected_root_is_not_quiet_though_no_detector_saw_it() {
        let mut diagnosis = diagnosis();
        diagnosis.states.clear();
        let expects = [parse_expect("quiet a").unwrap()];
        assert_eq!(check(&expects, &diagnosis), ["a should be quiet, but Node/m is blamed for it"]);
    }
}
