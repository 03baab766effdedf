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
    /// Sorted by root.
    pub roots: Vec<RootMove>,
    /// Sorted by state.
    pub states: Vec<StateMove>,
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
    /// What could not be read when all of this was seen.
    unread: BTreeSet<String>,
}

impl Known {
    pub fn new(diagnosis: &Diagnosis, unread: BTreeSet<String>) -> Self {
        let roots = diagnosis.roots.iter().map(|root| (root.state(), root.confidence));
        let states = diagnosis.states.iter().map(|state| (state.state(), state.status));
        Self {
            time: diagnosis.generated_for,
            verdict: diagnosis.verdict,
            roots: roots.collect(),
            states: states.collect(),
            unread,
        }
    }

    /// What moved. Where less could be read than before, what is gone from sight need not be gone.
    pub fn look(&mut self, diagnosis: &Diagnosis, unread: BTreeSet<String>) -> Moves {
        let mut now = Self::new(diagnosis, unread);
        let lost: Vec<String> = now.unread.difference(&self.unread).cloned().collect();
        if now.verdict == Verdict::NotProvable && self.verdict != Verdict::NotProvable {
            let why = lost.first().unwrap_or(&diagnosis.reason);
            return self.unseen(now.time, why.clone());
        }
        if !lost.is_empty() {
            now.keep(self);
        }
        let moves = Moves {
            schema: MOVES_SCHEMA.into(),
            from: self.time,
            to: now.time,
            verdict: (self.verdict, now.verdict),
            blind: None,
            unread: lost,
            roots: moved(&self.roots, &now.roots)
                .map(|(StateRef { id, entity }, before, now)| RootMove { id, entity, before, now })
                .collect(),
            states: moved(&self.states, &now.states)
                .map(|(StateRef { id, entity }, before, now)| StateMove { id, entity, before, now })
                .collect(),
        };
        *self = now;
        moves
    }

    /// What was known before and is out of sight, or seen less surely.
    fn keep(&mut self, before: &Self) {
        for (state, sure) in &before.roots {
            let now = self.roots.entry(state.clone()).or_insert(*sure);
            *now = (*now).min(*sure);
        }
        for (state, status) in &before.states {
            let now = self.states.entry(state.clone()).or_insert(*status);
            if *now == Status::Unknown {
                *now = *status;
            }
        }
        if self.roots == before.roots {
            self.verdict = before.verdict;
        }
        self.unread.clone_from(&before.unread);
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
            roots: Vec::new(),
            states: Vec::new(),
        }
    }
}

impl Moves {
    /// The published schema of this format.
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Moves), MOVES_SCHEMA, "Plimsoll moves")
    }

    pub fn is_none(&self) -> bool {
        self.verdict.0 == self.verdict.1 && self.roots.is_empty() && self.states.is_empty()
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

    fn unread(what: &[&str]) -> BTreeSet<String> {
        what.iter().map(|what| (*what).to_string()).collect()
    }

    fn gone(moves: &Moves) -> Vec<&str> {
        moves.roots.iter().filter(|root| root.now.is_none()).map(|root| root.id.as_str()).collect()
    }

    #[test]
    fn what_is_seen_no_more_is_gone_only_where_as_much_was_read() {
        let both = diagnosis("recoverable", &[("a", "confirmed"), ("b", "confirmed")]);
        let one = diagnosis("recoverable", &[("a", "suspected")]);
        let mut known = Known::new(&both, unread(&["logs"]));
        let moves = known.look(&one, unread(&["logs", "nodes"]));
        assert!(moves.is_none(), "{moves:?}");
        assert_eq!(moves.unread, ["nodes"]);
        // What is new is told in any case, and what was kept is still known.
        let other = diagnosis("recoverable", &[("a", "confirmed"), ("c", "probable")]);
        let moves = known.look(&other, unread(&["nodes"]));
        assert_eq!((moves.roots.len(), gone(&moves)), (1, vec![]), "{moves:?}");
        let moves = known.look(&one, unread(&["logs"]));
        assert_eq!(gone(&moves), ["b", "c"]);
        assert_eq!(moves.unread, Vec::<String>::new());
        assert!(known.look(&one, unread(&[])).is_none());
    }

    #[test]
    fn where_nothing_can_be_told_what_was_known_stands() {
        let one = diagnosis("recoverable", &[("a", "confirmed")]);
        let mut known = Known::new(&one, unread(&[]));
        let moves = known.look(&diagnosis("not-provable", &[]), unread(&["the API"]));
        assert_eq!(moves.blind.as_deref(), Some("the API"));
        assert!(moves.is_none());
        let moves = known.look(&diagnosis("not-provable", &[]), unread(&[]));
        assert_eq!(moves.blind.as_deref(), Some("of its own"));
        let moves = known.look(&diagnosis("healthy", &[]), unread(&[]));
        assert_eq!(gone(&moves), ["a"]);
        assert_eq!(moves.verdict.1, Verdict::Healthy);
    }
}
