//! What is different between two diagnoses of one cluster: `plimsoll.moves/v1`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::{Confidence, Diagnosis, StateRef, Status, Verdict};
use crate::{EntityId, Time};

pub const MOVES_SCHEMA: &str = "plimsoll.moves/v1";

/// From one diagnosis to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moves {
    /// Always `plimsoll.moves/v1`.
    pub schema: String,
    /// Times of the two.
    pub from: Option<Time>,
    pub to: Option<Time>,
    /// Before and now; equal where it did not move.
    pub verdict: (Verdict, Verdict),
    /// Why nothing new could be seen; what was known before stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind: Option<String>,
    /// What could not be read this time; what is out of sight for that is kept as it was, and not told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Everything that could not be read the last time can be read again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen_again: bool,
    /// Sorted by root.
    pub roots: Vec<RootMove>,
    /// Sorted by state.
    pub states: Vec<StateMove>,
    /// Symptoms that had a cause, or were not there, and have none now. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexplained: Vec<StateRef>,
}

/// A root cause that came, went or changed how sure it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RootMove {
    pub id: String,
    pub entity: EntityId,
    /// Absent when it was none before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Confidence>,
    /// Absent when it is none any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Confidence>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateMove {
    pub id: String,
    pub entity: EntityId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<Status>,
}

/// What is known of a cluster that is looked at again and again.
#[derive(Clone, Debug)]
pub struct Known {
    time: Option<Time>,
    verdict: Verdict,
    roots: BTreeMap<StateRef, Confidence>,
    states: BTreeMap<StateRef, Status>,
    unexplained: BTreeSet<StateRef>,
    /// What could not be read, of all that was asked for, whenever it was looked.
    never_read: Unread,
}

/// What was asked for and not given: what stays the same from one look to the next, and a sentence of it.
pub type Unread = BTreeMap<String, String>;

impl Known {
    pub fn new(diagnosis: &Diagnosis, unread: Unread) -> Self {
        let roots = diagnosis.roots.iter().map(|root| (root.state(), root.confidence));
        let states = diagnosis.states.iter().map(|state| (state.state(), state.status));
        Self {
            time: diagnosis.generated_for,
            verdict: diagnosis.verdict,
            roots: roots.collect(),
            states: states.collect(),
            unexplained: diagnosis.unexplained.iter().cloned().collect(),
            never_read: unread,
        }
    }

    /// What was read before and is not now.
    pub fn lost(&self, unread: &Unread) -> Vec<String> {
        let lost = unread.iter().filter(|(what, _)| !self.never_read.contains_key(*what));
        lost.map(|(_, sentence)| sentence.clone()).collect()
    }

    pub fn states(&self) -> impl Iterator<Item = &StateRef> {
        self.states.keys().chain(self.roots.keys())
    }

    /// What moved. What is `hidden`, nobody can tell this time: it stands as it was.
    pub fn look(
        &mut self,
        diagnosis: &Diagnosis,
        unread: Unread,
        hidden: &BTreeSet<StateRef>,
    ) -> Moves {
        let lost = self.lost(&unread);
        let mut now = Self::new(diagnosis, unread);
        now.never_read.retain(|what, _| self.never_read.contains_key(what));
        if now.verdict == Verdict::NotProvable && self.verdict != Verdict::NotProvable {
            let why = lost.first().unwrap_or(&diagnosis.reason);
            return self.unseen(now.time, why.clone());
        }
        now.keep(self, hidden);
        let moves = Moves {
            schema: MOVES_SCHEMA.into(),
            from: self.time,
            to: now.time,
            verdict: (self.verdict, now.verdict),
            blind: None,
            unread: lost,
            seen_again: false,
            roots: moved(&self.roots, &now.roots)
                .map(|(StateRef { id, entity }, before, now)| RootMove { id, entity, before, now })
                .collect(),
            states: moved(&self.states, &now.states)
                .map(|(StateRef { id, entity }, before, now)| StateMove { id, entity, before, now })
                .collect(),
            unexplained: now.unexplained.difference(&self.unexplained).cloned().collect(),
        };
        *self = now;
        moves
    }

    fn keep(&mut self, before: &Self, hidden: &BTreeSet<StateRef>) {
        for (state, sure) in before.roots.iter().filter(|(state, _)| hidden.contains(*state)) {
            let now = self.roots.entry(state.clone()).or_insert(*sure);
            *now = (*now).min(*sure);
        }
        for (state, status) in before.states.iter().filter(|(state, _)| hidden.contains(*state)) {
            self.states.insert(state.clone(), *status);
        }
        // A root that may still be there: it may be the cause of anything, and nothing is better than it was.
        if before.roots.keys().any(|state| hidden.contains(state)) {
            self.unexplained.clone_from(&before.unexplained);
            if before.verdict != Verdict::NotProvable {
                self.verdict = self.verdict.max(before.verdict);
            }
        }
    }

    /// Nothing could be looked at: what was known stands.
    pub fn unseen(&self, to: Option<Time>, why: String) -> Moves {
        Moves {
            schema: MOVES_SCHEMA.into(),
            from: self.time,
            to,
            verdict: (self.verdict, self.verdict),
            blind: Some(why),
            unread: Vec::new(),
            seen_again: false,
            roots: Vec::new(),
            states: Vec::new(),
            unexplained: Vec::new(),
        }
    }
}

impl Moves {
    /// The published schema of this format.
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Moves), MOVES_SCHEMA, "Plimsoll moves")
    }

    pub fn is_none(&self) -> bool {
        let is_still = self.verdict.0 == self.verdict.1;
        is_still && self.roots.is_empty() && self.states.is_empty() && self.unexplained.is_empty()
    }
}

/// What is not the same in both, with its value in each.
fn moved<V: Copy + PartialEq>(
    before: &BTreeMap<StateRef, V>,
    now: &BTreeMap<StateRef, V>,
) -> impl Iterator<Item = (StateRef, Option<V>, Option<V>)> {
    let mut all: Vec<&StateRef> = before.keys().chain(now.keys()).collect();
    all.sort();
    all.dedup();
    let changed = all.into_iter().filter_map(|key| {
        let (before, now) = (before.get(key).copied(), now.get(key).copied());
        (before != now).then(|| (key.clone(), before, now))
    });
    changed.collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// With these roots, each with a state of its own, on the one node.
    fn diagnosis(verdict: &str, roots: &[(&str, &str)]) -> Diagnosis {
        let root = |(id, confidence): &(&str, &str)| {
            json!({
                "id": id, "entity": "Node/a", "confidence": confidence, "since": null,
                "summary": "", "explains": [], "evidence": [], "repairs": [],
            })
        };
        let state = |(id, _): &(&str, &str)| {
            json!({
                "id": id, "entity": "Node/a", "status": "active", "since": null, "summary": "",
                "evidence": [],
            })
        };
        serde_json::from_value(json!({
            "schema": "plimsoll.diagnosis/v1", "generated_for": null, "cluster": {}, "sources": [],
            "verdict": verdict, "reason": "of its own",
            "roots": roots.iter().map(root).collect::<Vec<_>>(),
            "states": roots.iter().map(state).collect::<Vec<_>>(),
            "edges": [], "deadlocks": [], "unexplained": [], "ruled_out": [], "alternatives": [],
            "next_checks": [],
        }))
        .unwrap()
    }

    fn unread(what: &[&str]) -> Unread {
        what.iter().map(|what| (what.to_string(), format!("{what}: no"))).collect()
    }

    fn gone(moves: &Moves) -> Vec<&str> {
        moves.roots.iter().filter(|root| root.now.is_none()).map(|root| root.id.as_str()).collect()
    }

    fn hidden(ids: &[&str]) -> BTreeSet<StateRef> {
        let entity = EntityId::cluster_scoped("Node", "a");
        ids.iter().map(|id| StateRef { id: (*id).into(), entity: entity.clone() }).collect()
    }

    #[test]
    fn what_is_hidden_stands_and_what_is_false_is_gone() {
        let both = diagnosis("recoverable", &[("a", "confirmed"), ("b", "confirmed")]);
        let one = diagnosis("recoverable", &[("a", "suspected")]);
        let mut known = Known::new(&both, unread(&["logs"]));
        let moves = known.look(&one, unread(&["logs", "nodes"]), &hidden(&["a", "b"]));
        assert!(moves.is_none(), "{moves:?}");
        assert_eq!(moves.unread, ["nodes: no"]);
        // What is new is told in any case, and what was kept is still known.
        let other = diagnosis("recoverable", &[("a", "confirmed"), ("c", "probable")]);
        let moves = known.look(&other, unread(&["nodes"]), &hidden(&["b"]));
        assert_eq!((moves.roots.len(), gone(&moves)), (1, vec![]), "{moves:?}");
        // What can be judged is judged, whatever else cannot be read.
        let moves = known.look(&one, unread(&["nodes"]), &hidden(&["c"]));
        assert_eq!(gone(&moves), ["b"]);
        let healthy = diagnosis("healthy", &[]);
        let mut other = known.clone();
        let moves = other.look(&healthy, unread(&["nodes"]), &hidden(&["a"]));
        assert_eq!((gone(&moves), moves.verdict.1), (vec!["c"], Verdict::Recoverable));
        let moves = known.look(&one, unread(&[]), &hidden(&[]));
        assert_eq!(gone(&moves), ["c"]);
        assert_eq!(moves.unread, Vec::<String>::new());
        // It was read since, so it lacks now.
        assert_eq!(known.lost(&unread(&["logs"])), ["logs: no"]);
    }

    #[test]
    fn a_symptom_that_lost_its_cause_is_told() {
        let both = diagnosis("recoverable", &[("a", "confirmed"), ("b", "confirmed")]);
        let mut one = diagnosis("recoverable", &[("a", "confirmed")]);
        let symptom = StateRef { id: "c".into(), entity: EntityId::cluster_scoped("Node", "a") };
        one.unexplained.push(symptom.clone());
        let mut known = Known::new(&both, unread(&[]));
        assert_eq!(known.clone().look(&one, unread(&[]), &hidden(&["b"])).unexplained, []);
        assert_eq!(known.look(&one, unread(&[]), &hidden(&[])).unexplained, [symptom]);
        assert!(known.look(&one, unread(&[]), &hidden(&[])).is_none(), "once");
    }

    #[test]
    fn where_nothing_can_be_told_what_was_known_stands() {
        let one = diagnosis("recoverable", &[("a", "confirmed")]);
        let nothing = diagnosis("not-provable", &[]);
        let mut known = Known::new(&one, unread(&[]));
        let moves = known.look(&nothing, unread(&["the API"]), &hidden(&[]));
        assert_eq!(moves.blind.as_deref(), Some("the API: no"));
        assert!(moves.is_none());
        let moves = known.look(&nothing, unread(&[]), &hidden(&[]));
        assert_eq!(moves.blind.as_deref(), Some("of its own"));
        let moves = known.look(&diagnosis("healthy", &[]), unread(&[]), &hidden(&[]));
        assert_eq!(gone(&moves), ["a"]);
        assert_eq!(moves.verdict.1, Verdict::Healthy);
    }
}
