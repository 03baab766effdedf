//! Which rules of a pack no case tests. A pure comparison of names: whether the cases pass is
//! another question.
//!
//! A state is tested when some case of each kind speaks of it: `fires` (or an incident) in which it is
//! a root, active, expected or part of a chain; `quiet` in which it is said to be quiet; `unknown` in
//! which its evidence is missing; and, for states that can be over, `recovered` in which it is said to
//! be recovered, or, where its rule speaks of now alone, to be quiet. An edge is tested by a `chain`
//! line with its two ends next to each other, under the names that the answer gives them: a more exact
//! state stands in for the general one that it refines. Where an edge only keeps its effect going, a
//! `deadlock` line with both will do.

use std::collections::BTreeMap;

use plimsoll_model::diagnosis::{StateRef, Status};

use crate::case::{Case, CaseKind};
use crate::expect::Expect;

/// Cases of one file.
#[derive(Clone, Debug)]
pub struct CaseFile {
    pub path: String,
    pub cases: Vec<Case>,
}

/// A state that must be tested, and where it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestedState {
    pub id: String,
    /// It has a rule that says when it is over.
    pub recovers: bool,
    pub path: String,
    pub line: u32,
    pub column: u32,
}

/// An edge that must be tested, and where it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestedEdge {
    pub from: String,
    pub to: String,
    /// It does not start its effect, but keeps it from ending.
    pub keeps: bool,
    /// Its cause is planned work, which explains exact states by their general names.
    pub planned: bool,
    pub path: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Untested {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// Everything that no case tests, by place. `refines` has the general state of every exact one.
pub fn untested(
    files: &[CaseFile],
    states: &[TestedState],
    edges: &[TestedEdge],
    refines: &BTreeMap<String, String>,
) -> Vec<Untested> {
    let cases: Vec<&Case> = files.iter().flat_map(|file| &file.cases).collect();
    let mut found = Vec::new();
    for state in states {
        let id = state.id.as_str();
        let needs = [
            ("fires", true, cases.iter().any(|case| fires(case, id))),
            ("quiet", true, cases.iter().any(|case| is_quiet(case, id))),
            ("recovered", state.recovers, cases.iter().any(|case| recovers(case, id))),
            ("unknown", true, cases.iter().any(|case| is_unknown(case, id))),
        ];
        for (kind, _, _) in needs.iter().filter(|(_, needed, there)| *needed && !there) {
            found.push(Untested {
                path: state.path.clone(),
                line: state.line,
                column: state.column,
                message: format!("no '{kind}' case speaks of the state '{id}'"),
            });
        }
    }
    for edge in edges {
        // A line that is the very words of another edge tests that one.
        let shown = |from: &str, to: &str| {
            let stands_for = |exact: &str, general: &str| {
                exact == general || refines.get(exact).is_some_and(|found| found == general)
            };
            (from == edge.from && to == edge.to)
                || (stands_for(from, &edge.from)
                    && (to == edge.to || (edge.planned && stands_for(to, &edge.to)))
                    && !edges.iter().any(|other| other.from == from && other.to == to))
        };
        if !cases.iter().any(|case| shows(case, edge, shown)) {
            let line = if edge.keeps { "chain or deadlock" } else { "chain" };
            found.push(Untested {
                path: edge.path.clone(),
                line: edge.line,
                column: edge.column,
                message: format!("no {line} line shows {} -> {}", edge.from, edge.to),
            });
        }
    }
    found.sort();
    found
}

fn fires(case: &Case, id: &str) -> bool {
    let there = |states: &[StateRef]| states.iter().any(|state| state.id == id);
    matches!(case.kind, CaseKind::Fires | CaseKind::Incident)
        && case.expects.iter().any(|expect| match expect {
            Expect::Root { state, .. } | Expect::Unexplained(state) => state.id == id,
            Expect::State { state, status } => {
                state.id == id && matches!(status, Status::Active | Status::Expected)
            }
            Expect::Chain(states) | Expect::Deadlock(states) => there(states),
            _ => false,
        })
}

fn is_quiet(case: &Case, id: &str) -> bool {
    case.kind == CaseKind::Quiet
        && case.expects.iter().any(|expect| match expect {
            Expect::Quiet { id: quiet, .. } => quiet == id,
            Expect::RuledOut(state) => state.id == id,
            _ => false,
        })
}

fn recovers(case: &Case, id: &str) -> bool {
    case.expects.iter().any(|expect| match expect {
        Expect::State { state, status: Status::Recovered } => state.id == id,
        Expect::Quiet { id: quiet, .. } => case.kind == CaseKind::Recovered && quiet == id,
        _ => false,
    })
}

/// Without its evidence a state may be suspected, unknown, quiet or worth a check: all of these tell
/// that somebody thought of it.
fn is_unknown(case: &Case, id: &str) -> bool {
    case.kind == CaseKind::Unknown
        && case.expects.iter().any(|expect| match expect {
            Expect::Root { state, .. } | Expect::State { state, .. } | Expect::Next(state) => {
                state.id == id
            }
            Expect::Quiet { id: quiet, .. } => quiet == id,
            _ => false,
        })
}

fn shows(case: &Case, edge: &TestedEdge, shown: impl Fn(&str, &str) -> bool) -> bool {
    case.expects.iter().any(|expect| match expect {
        Expect::Chain(states) => states.windows(2).any(|pair| shown(&pair[0].id, &pair[1].id)),
        Expect::Deadlock(states) if edge.keeps => {
            let has = |id: &str| states.iter().any(|state| state.id == id);
            has(&edge.from) && has(&edge.to)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_cases;

    fn file(cases: &[(&str, &str)]) -> CaseFile {
        let text: String = cases
            .iter()
            .map(|(head, expects)| {
                format!("## {head}\n```edits base=sno\n```\n```expect\n{expects}\n```\n")
            })
            .collect();
        CaseFile { path: "t.md".into(), cases: parse_cases(&text).unwrap() }
    }

    fn state(id: &str, recovers: bool) -> TestedState {
        TestedState { id: id.into(), recovers, path: "a/case.yaml".into(), line: 7, column: 3 }
    }

    fn edge(from: &str, to: &str, keeps: bool) -> TestedEdge {
        TestedEdge {
            from: from.into(),
            to: to.into(),
            keeps,
            planned: false,
            path: "a/case.yaml".into(),
            line: 9,
            column: 3,
        }
    }

    fn messages(files: &[CaseFile], states: &[TestedState], edges: &[TestedEdge]) -> Vec<String> {
        let refines = BTreeMap::from([("exact".to_string(), "a".to_string())]);
        untested(files, states, edges, &refines).into_iter().map(|found| found.message).collect()
    }

    #[test]
    fn what_every_kind_of_case_speaks_of_is_tested() {
        let files = [file(&[
            ("fires: x", "root a Node/m\nchain a Node/m -> b Node/m"),
            ("quiet: x", "quiet a\nquiet b"),
            ("recovered: x", "recovered a Node/m"),
            ("unknown: x", "root a Node/m suspected\nquiet b"),
        ])];
        assert!(
            messages(&files, &[state("a", true), state("b", false)], &[edge("a", "b", false)])
                .is_empty()
        );
    }

    #[test]
    fn what_is_missing_is_named_with_its_place() {
        let found = untested(&[], &[state("a", true)], &[edge("a", "b", false)], &BTreeMap::new());
        assert_eq!((found[0].path.as_str(), found[0].line), ("a/case.yaml", 7));
        let messages: Vec<&str> = found.iter().map(|found| found.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "no 'fires' case speaks of the state 'a'",
                "no 'quiet' case speaks of the state 'a'",
                "no 'recovered' case speaks of the state 'a'",
                "no 'unknown' case speaks of the state 'a'",
                "no chain line shows a -> b",
            ]
        );
    }

    #[test]
    fn a_case_of_the_wrong_kind_does_not_count() {
        let files = [file(&[
            ("quiet: x", "active a Node/m"),
            ("fires: x", "quiet a\nchain a Node/m -> c Node/m -> b Node/m"),
        ])];
        let found = messages(&files, &[state("a", false)], &[edge("a", "b", false)]);
        assert_eq!(
            found,
            [
                "no 'quiet' case speaks of the state 'a'",
                "no 'unknown' case speaks of the state 'a'",
                "no chain line shows a -> b"
            ]
        );
    }

    #[test]
    fn an_edge_that_keeps_is_shown_by_a_deadlock() {
        let files = [file(&[("fires: x", "deadlock a Node/m, b Node/n")])];
        assert!(messages(&files, &[], &[edge("b", "a", true)]).is_empty());
        assert_eq!(messages(&files, &[], &[edge("b", "a", false)]).len(), 1);
    }

    #[test]
    fn a_state_that_is_over_may_be_quiet_in_a_case_of_that_kind_only() {
        let rest = "root a Node/m";
        let over = file(&[("fires: x", rest), ("recovered: x", "quiet a")]);
        assert!(!messages(&[over], &[state("a", true)], &[]).join(" ").contains("'recovered'"));
        let never = file(&[("fires: x", rest), ("quiet: x", "quiet a")]);
        assert!(messages(&[never], &[state("a", true)], &[]).join(" ").contains("'recovered'"));
    }

    #[test]
    fn an_exact_state_stands_in_for_its_general_one() {
        let cause = file(&[("fires: x", "chain exact Node/m -> b Node/m")]);
        assert!(messages(std::slice::from_ref(&cause), &[], &[edge("a", "b", false)]).is_empty());
        let both = [edge("a", "b", false), edge("exact", "b", false)];
        assert_eq!(messages(&[cause], &[], &both), ["no chain line shows a -> b"]);

        let effect = file(&[("fires: x", "chain work Node/m -> exact Node/m")]);
        let of_fault = edge("work", "a", false);
        let of_work = TestedEdge { planned: true, ..of_fault.clone() };
        assert!(messages(std::slice::from_ref(&effect), &[], &[of_work]).is_empty());
        assert_eq!(messages(&[effect], &[], &[of_fault]).len(), 1);
    }
}
