//! What is different between two diagnoses of one cluster: `plimsoll.moves/v1`.

use std::collections::BTreeMap;

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

impl Moves {
    pub fn between(before: &Diagnosis, now: &Diagnosis) -> Self {
        let roots = |diagnosis: &Diagnosis| -> BTreeMap<StateRef, Confidence> {
            diagnosis.roots.iter().map(|root| (root.state(), root.confidence)).collect()
        };
        let states = |diagnosis: &Diagnosis| -> BTreeMap<StateRef, Status> {
            let state = |one: &crate::diagnosis::State| StateRef {
                id: one.id.clone(),
                entity: one.entity.clone(),
            };
            diagnosis.states.iter().map(|one| (state(one), one.status)).collect()
        };
        Self {
            schema: MOVES_SCHEMA.into(),
            from: before.generated_for,
            to: now.generated_for,
            verdict: (before.verdict, now.verdict),
            blind: None,
            roots: moved(&roots(before), &roots(now))
                .map(|(StateRef { id, entity }, before, now)| RootMove { id, entity, before, now })
                .collect(),
            states: moved(&states(before), &states(now))
                .map(|(StateRef { id, entity }, before, now)| StateMove { id, entity, before, now })
                .collect(),
        }
    }

    /// Where less was seen than before, so that what is gone from sight need not be gone: why that is.
    pub fn blind(before: &Diagnosis, now: &Diagnosis) -> Option<Self> {
        let lost = now.verdict == Verdict::NotProvable && before.verdict != Verdict::NotProvable;
        let mut gaps = now.sources.iter().filter(|source| !source.complete).flat_map(|s| &s.gaps);
        let why = gaps.next().or(Some(&now.reason)).filter(|_| lost)?;
        Some(Self::unseen(before, now.generated_for, why.clone()))
    }

    /// Nothing could be looked at: what was known stands.
    pub fn unseen(before: &Diagnosis, to: Option<Time>, why: String) -> Self {
        Self {
            schema: MOVES_SCHEMA.into(),
            from: before.generated_for,
            to,
            verdict: (before.verdict, before.verdict),
            blind: Some(why),
            roots: Vec::new(),
            states: Vec::new(),
        }
    }

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
