//! One answer against the truth of its case.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_engine::Pack;
use plimsoll_lab::sim::Truth;
use plimsoll_model::Diagnosis;
use plimsoll_model::diagnosis::{Confidence, StateRef};

/// What came out of one case, as counts that can be added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The confirmed and probable roots are the true ones, no more and no fewer.
    pub exact: bool,
    pub top1: bool,
    pub top3: bool,
    /// Exact; or nothing is wrongly blamed and what is missed is named as the thing to check.
    pub honest: bool,
    pub wrong_confirmed: usize,
    /// Roots of any confidence that are no truth.
    pub false_roots: usize,
    /// Edges of the answer between states of the truth, and those of them that are true.
    pub edges: usize,
    pub edges_true: usize,
    /// Links of the truth between states that the answer knows, and those of them it shows.
    pub links: usize,
    pub links_found: usize,
    pub symptoms: usize,
    pub covered: usize,
    /// By confidence, surest first: right ones and all.
    pub words: [(usize, usize); 3],
}

/// How the states of an answer are called in the truth, which knows general names only.
pub struct Names {
    generals: BTreeMap<String, Vec<String>>,
}

impl Names {
    pub fn of(pack: &Pack) -> Self {
        let above = |id: &str| {
            let found = pack.states.iter().find(|state| state.id == id);
            found.and_then(|state| state.refines.clone())
        };
        let generals = pack.states.iter().map(|state| {
            let mut names = Vec::new();
            let mut next = above(&state.id);
            while let Some(id) = next.filter(|id| !names.contains(id)) {
                next = above(&id);
                names.push(id);
            }
            (state.id.clone(), names)
        });
        Self { generals: generals.collect() }
    }

    fn means(&self, said: &StateRef, meant: &StateRef) -> bool {
        let general = || self.generals.get(&said.id).is_some_and(|all| all.contains(&meant.id));
        said.entity == meant.entity && (said.id == meant.id || general())
    }

    /// The state of the truth that a state of the answer stands for.
    fn in_truth<'t>(&self, said: &StateRef, truth: &[&'t StateRef]) -> Option<&'t StateRef> {
        let exact = truth.iter().find(|state| **state == said);
        exact.or_else(|| truth.iter().find(|state| self.means(said, state))).copied()
    }
}

pub fn judge(names: &Names, truth: &Truth, evidence_left: bool, d: &Diagnosis) -> Judgement {
    let said: Vec<(StateRef, Confidence)> =
        d.roots.iter().map(|root| (root.state(), root.confidence)).collect();
    let is_true = |state: &StateRef| truth.roots.contains(state);
    let sure: BTreeSet<&StateRef> = said
        .iter()
        .filter(|(_, confidence)| *confidence != Confidence::Suspected)
        .map(|(state, _)| state)
        .collect();
    let wanted: BTreeSet<&StateRef> = truth.roots.iter().collect();
    let mut ranked: Vec<&(StateRef, Confidence)> = said.iter().collect();
    ranked.sort_by_key(|(_, confidence)| *confidence);
    let within = |count: usize| ranked.iter().take(count).any(|(state, _)| is_true(state));
    let exact = sure == wanted;
    let mut judgement = Judgement {
        exact,
        top1: within(1),
        top3: within(3),
        honest: exact || honest(&sure, &wanted, evidence_left, d),
        false_roots: said.iter().filter(|(state, _)| !is_true(state)).count(),
        ..Judgement::default()
    };
    for (state, confidence) in &said {
        let word = match confidence {
            Confidence::Confirmed => 0,
            Confidence::Probable => 1,
            Confidence::Suspected => 2,
        };
        judgement.words[word].0 += usize::from(is_true(state));
        judgement.words[word].1 += 1;
        let wrong = *confidence == Confidence::Confirmed && !is_true(state);
        judgement.wrong_confirmed += usize::from(wrong);
    }
    chains(names, truth, d, &mut judgement);
    coverage(names, truth, d, &mut judgement);
    judgement
}

/// Nothing but the truth is blamed, and each missed root is suspected or to be checked. Where all
/// of its own evidence is gone, nobody can name it.
fn honest(
    sure: &BTreeSet<&StateRef>,
    wanted: &BTreeSet<&StateRef>,
    evidence_left: bool,
    d: &Diagnosis,
) -> bool {
    let named = |state: &StateRef| {
        let same = |id: &str, entity| id == state.id && entity == &state.entity;
        d.roots.iter().any(|root| same(&root.id, &root.entity))
            || d.next_checks.iter().any(|check| same(&check.id, &check.entity))
    };
    sure.is_subset(wanted) && (!evidence_left || wanted.difference(sure).all(|state| named(state)))
}

fn chains(names: &Names, truth: &Truth, d: &Diagnosis, judgement: &mut Judgement) {
    let states: Vec<&StateRef> = truth.roots.iter().chain(&truth.symptoms).collect();
    let links: Vec<(&StateRef, &StateRef)> = truth.links.iter().map(|(a, b)| (a, b)).collect();
    let said: Vec<(&StateRef, &StateRef)> = d
        .edges
        .iter()
        .filter_map(|edge| {
            Some((names.in_truth(&edge.from, &states)?, names.in_truth(&edge.to, &states)?))
        })
        .filter(|(from, to)| from != to)
        .collect();
    judgement.edges = said.len();
    judgement.edges_true = said.iter().filter(|(from, to)| leads(&links, from, to)).count();
    let known: BTreeSet<&StateRef> = said.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let both = |(from, to): &&(&StateRef, &StateRef)| known.contains(from) && known.contains(to);
    judgement.links = links.iter().filter(both).count();
    judgement.links_found =
        links.iter().filter(both).filter(|(from, to)| leads(&said, from, to)).count();
}

/// What of an answer the truth does not hold: edges that are not so, symptoms that are nowhere.
pub fn doubts(names: &Names, truth: &Truth, d: &Diagnosis) -> Vec<String> {
    let states: Vec<&StateRef> = truth.roots.iter().chain(&truth.symptoms).collect();
    let links: Vec<(&StateRef, &StateRef)> = truth.links.iter().map(|(a, b)| (a, b)).collect();
    let mut found = Vec::new();
    for edge in &d.edges {
        if let (Some(from), Some(to)) =
            (names.in_truth(&edge.from, &states), names.in_truth(&edge.to, &states))
            && from != to
            && !leads(&links, from, to)
        {
            found.push(format!("not so: {} {} -> {} {}", from.id, from.entity, to.id, to.entity));
        }
    }
    let placed = placed(d);
    for symptom in &truth.symptoms {
        if !placed.iter().any(|said| names.means(said, symptom)) {
            found.push(format!("nowhere: {} {}", symptom.id, symptom.entity));
        }
    }
    found
}

/// Whether there is a way from one state to the other.
fn leads(links: &[(&StateRef, &StateRef)], from: &StateRef, to: &StateRef) -> bool {
    let mut seen: BTreeSet<&StateRef> = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        for (_, next) in links.iter().filter(|(cause, _)| *cause == at) {
            if *next == to {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// What the answer places: as a root, in a chain or among the unexplained.
fn placed(d: &Diagnosis) -> BTreeSet<StateRef> {
    let mut placed: BTreeSet<StateRef> = d.unexplained.iter().cloned().collect();
    for root in &d.roots {
        placed.insert(root.state());
        placed.extend(root.explains.iter().cloned());
    }
    placed.extend(d.edges.iter().flat_map(|edge| [edge.from.clone(), edge.to.clone()]));
    placed.extend(d.deadlocks.iter().flat_map(|ring| ring.members.iter().cloned()));
    placed
}

fn coverage(names: &Names, truth: &Truth, d: &Diagnosis, judgement: &mut Judgement) {
    let placed = placed(d);
    judgement.symptoms = truth.symptoms.len();
    judgement.covered = truth
        .symptoms
        .iter()
        .filter(|symptom| placed.iter().any(|said| names.means(said, symptom)))
        .count();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(text: &str) -> StateRef {
        let (id, entity) = text.split_once(' ').unwrap();
        StateRef { id: id.into(), entity: entity.parse().unwrap() }
    }

    fn names() -> Names {
        let special = ("quorum".to_string(), vec!["degraded".to_string()]);
        Names { generals: BTreeMap::from([special]) }
    }

    fn truth() -> Truth {
        Truth {
            roots: vec![state("cert Node/m")],
            symptoms: [state("degraded CO/etcd"), state("gone Pod/n/p")].into(),
            links: [
                (state("cert Node/m"), state("gone Pod/n/p")),
                (state("gone Pod/n/p"), state("degraded CO/etcd")),
            ]
            .into(),
        }
    }

    fn diagnosis(roots: &[(&str, &str)], edges: &[(&str, &str)], checks: &[&str]) -> Diagnosis {
        let at = |text: &str| json!({"id": state(text).id, "entity": state(text).entity});
        let roots: Vec<_> = roots
            .iter()
            .map(|(text, confidence)| {
                let mut root = at(text);
                root["confidence"] = (*confidence).into();
                root["since"] = json!(null);
                root["summary"] = "".into();
                for key in ["explains", "evidence", "repairs"] {
                    root[key] = json!([]);
                }
                root
            })
            .collect();
        let edges: Vec<_> = edges
            .iter()
            .map(|(from, to)| json!({"from": at(from), "to": at(to), "rule": "", "because": ""}))
            .collect();
        let checks: Vec<_> = checks
            .iter()
            .map(|text| {
                let mut check = at(text);
                check["how"] = "".into();
                check["cost"] = "low".into();
                check["separates"] = json!([]);
                check
            })
            .collect();
        serde_json::from_value(json!({
            "schema": "", "generated_for": null, "cluster": {}, "sources": [],
            "verdict": "recoverable", "reason": "", "roots": roots, "states": [], "edges": edges,
            "deadlocks": [], "unexplained": [], "ruled_out": [], "alternatives": [],
            "next_checks": checks
        }))
        .unwrap()
    }

    #[test]
    fn a_right_answer_is_exact_and_its_chain_is_found_through_a_refined_name() {
        let d = diagnosis(
            &[("cert Node/m", "confirmed")],
            &[("cert Node/m", "gone Pod/n/p"), ("gone Pod/n/p", "quorum CO/etcd")],
            &[],
        );
        let found = judge(&names(), &truth(), true, &d);
        assert!(found.exact && found.top1 && found.honest);
        assert_eq!((found.edges, found.edges_true), (2, 2));
        assert_eq!((found.links, found.links_found), (2, 2));
        assert_eq!((found.symptoms, found.covered), (2, 2));
        assert_eq!(found.words, [(1, 1), (0, 0), (0, 0)]);
        assert_eq!((found.wrong_confirmed, found.false_roots), (0, 0));
    }

    #[test]
    fn a_short_cut_is_true_and_a_turned_edge_is_not() {
        let d = diagnosis(
            &[("cert Node/m", "probable")],
            &[("cert Node/m", "degraded CO/etcd"), ("degraded CO/etcd", "gone Pod/n/p")],
            &[],
        );
        let found = judge(&names(), &truth(), true, &d);
        assert_eq!((found.edges, found.edges_true), (2, 1));
        assert_eq!((found.links, found.links_found), (2, 1));
    }

    #[test]
    fn a_wrong_root_is_counted_by_its_word() {
        let d = diagnosis(&[("other Node/m", "confirmed"), ("cert Node/m", "suspected")], &[], &[]);
        let found = judge(&names(), &truth(), true, &d);
        assert!(!found.exact && !found.top1 && found.top3 && !found.honest);
        assert_eq!((found.wrong_confirmed, found.false_roots), (1, 1));
        assert_eq!(found.words, [(0, 1), (0, 0), (1, 1)]);
        assert_eq!(found.covered, 0);
    }

    #[test]
    fn abstaining_is_honest_when_the_check_is_named_or_nothing_is_left() {
        let silent = diagnosis(&[], &[], &[]);
        assert!(!judge(&names(), &truth(), true, &silent).honest);
        assert!(judge(&names(), &truth(), false, &silent).honest);
        let asking = diagnosis(&[], &[], &["cert Node/m"]);
        assert!(judge(&names(), &truth(), true, &asking).honest);
        let elsewhere = diagnosis(&[("other Node/m", "probable")], &[], &["cert Node/m"]);
        assert!(!judge(&names(), &truth(), false, &elsewhere).honest);
    }

    #[test]
    fn nothing_wrong_and_nothing_said_is_exact() {
        let found = judge(&names(), &Truth::default(), true, &diagnosis(&[], &[], &[]));
        assert!(found.exact && found.honest);
        let found = judge(
            &names(),
            &Truth::default(),
            true,
            &diagnosis(&[("cert Node/m", "suspected")], &[], &[]),
        );
        assert!(found.exact);
        assert_eq!(found.false_roots, 1);
    }
}
