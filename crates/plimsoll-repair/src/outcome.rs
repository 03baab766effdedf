//! What became of the cluster: the diagnosis before against the diagnosis after.

use std::collections::BTreeSet;

use plimsoll_engine::Pack;
use plimsoll_engine::predicate::Truth;
use plimsoll_engine::rules;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status, Verdict};
use plimsoll_model::plan::Plan;
use plimsoll_model::session::{Baseline, Outcome};
use plimsoll_model::{Diagnosis, FactBase};

use crate::verify::is_listed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub outcome: Outcome,
    pub says: String,
}

/// What is wrong before the first step of a plan. Only what was seen counts: a suspicion rests on what is
/// missing.
pub fn baseline(diagnosis: &Diagnosis, plan: &Plan) -> Baseline {
    let known = diagnosis.roots.iter().filter(|known| known.state() == plan.root);
    Baseline {
        roots: roots(diagnosis),
        active: active(diagnosis),
        explained: known.flat_map(|known| &known.explains).cloned().collect(),
        provable: diagnosis.verdict != Verdict::NotProvable,
    }
}

fn roots(diagnosis: &Diagnosis) -> BTreeSet<StateRef> {
    let seen = diagnosis.roots.iter().filter(|root| root.confidence != Confidence::Suspected);
    seen.map(plimsoll_model::diagnosis::Root::state).collect()
}

fn active(diagnosis: &Diagnosis) -> BTreeSet<StateRef> {
    let active = diagnosis.states.iter().filter(|s| s.status == Status::Active && !s.note);
    active.map(plimsoll_model::diagnosis::State::state).collect()
}

/// Something that is known already to be wrong without a place in the plan stays out of it.
pub fn judge(before: &Baseline, after: &Diagnosis, plan: &Plan) -> Judged {
    let root = &plan.root;
    let (roots_after, active_after) = (roots(after), active(after));
    let judged = |outcome, says: String| Judged { outcome, says };
    // A root that was a symptom before was hidden by the one that is gone.
    let new: Vec<String> = roots_after
        .iter()
        .filter(|new| !before.roots.contains(*new) && !before.active.contains(*new))
        .map(shown)
        .collect();
    if !new.is_empty() {
        return judged(Outcome::Worse, format!("new: {}", new.join(", ")));
    }
    let appeared: Vec<String> = active_after.difference(&before.active).map(shown).collect();
    if !appeared.is_empty() {
        return judged(Outcome::Worse, format!("new: {}", appeared.join(", ")));
    }
    if after.verdict == Verdict::NotProvable && before.provable {
        let says = format!("it cannot be seen any more: {}", after.reason);
        // Missing data is no reason to change anything again.
        return judged(Outcome::Stopped, says);
    }
    let still_there = active_after.contains(root) || roots_after.contains(root);
    // Who goes on with a plan may find the root gone already, and what it caused still there.
    let effects: BTreeSet<StateRef> =
        before.explained.iter().chain(&plan.reason.explains).cloned().collect();
    let left: Vec<String> = effects.intersection(&active_after).map(shown).collect();
    match (still_there, left.is_empty()) {
        (true, _) => judged(Outcome::Unchanged, format!("{} is still there", shown(root))),
        (false, false) => judged(Outcome::Improved, format!("left: {}", left.join(", "))),
        (false, true) => {
            judged(Outcome::Fixed, format!("{} and all that it caused is gone", shown(root)))
        }
    }
}

/// Whether these facts would show the state if it were there: data that is missing is no proof that
/// something is gone, but a thing that is gone has no states. That it is gone, a list of its kind says.
pub fn would_show(pack: &Pack, base: &FactBase, state: &StateRef) -> bool {
    let is_there = base.entities.get(&state.entity).is_some_and(|entity| !entity.facts.is_empty());
    if !is_there && !is_listed(base, &state.entity.kind) {
        return false;
    }
    let states = rules::run(pack, base);
    let of_it = states.get(&state.entity).into_iter().flatten();
    let mut of_it = of_it.filter(|one| pack.states[one.state].id == state.id);
    of_it.all(|one| !matches!(one.truth, Truth::Unknown(_)))
}

fn shown(state: &StateRef) -> String {
    format!("{} ({})", state.id, state.entity)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROOT: (&str, &str) = ("drive-full", "BareMetalHost/worker-1");
    const EFFECT: (&str, &str) = ("not-joined", "BareMetalHost/worker-1");

    /// With this root, if any, and these states.
    fn seen(root: Option<(&str, &str)>, active: &[(&str, &str)]) -> Diagnosis {
        let state = |(id, entity): &(&str, &str)| {
            json!({"id": id, "entity": entity, "status": "active", "since": null, "summary": "",
                "evidence": []})
        };
        let of_root = |(id, entity): (&str, &str)| {
            json!({"id": id, "entity": entity, "confidence": "confirmed", "since": null,
                "summary": "", "evidence": [], "repairs": [],
                "explains": [{"id": EFFECT.0, "entity": EFFECT.1}]})
        };
        let roots: Vec<_> = root.into_iter().map(of_root).collect();
        let states: Vec<_> = active.iter().map(state).collect();
        serde_json::from_value(json!({
            "schema": "", "generated_for": null, "cluster": {}, "sources": [], "reason": "",
            "verdict": "recoverable", "roots": roots, "states": states, "edges": [], "deadlocks": [],
            "unexplained": [], "ruled_out": [], "alternatives": [], "next_checks": [],
        }))
        .unwrap()
    }

    fn plan() -> Plan {
        serde_json::from_value(json!({
            "schema": "plimsoll.plan/v1", "digest": "", "made_for": null, "cluster": {},
            "root": {"id": ROOT.0, "entity": ROOT.1}, "confidence": "confirmed", "repair": "r",
            "title": "", "roots": [], "blast": 2, "steps": [], "verify": [],
            "reason": {"summary": "", "evidence": [],
                "explains": [{"id": EFFECT.0, "entity": EFFECT.1}]},
        }))
        .unwrap()
    }

    #[test]
    fn what_a_root_caused_has_to_be_gone_with_it() {
        let ill = seen(Some(ROOT), &[ROOT, EFFECT]);
        let half = seen(None, &[EFFECT]);
        let well = seen(None, &[]);
        let outcome = |before: &Diagnosis, after: &Diagnosis| {
            judge(&baseline(before, &plan()), after, &plan()).outcome
        };
        assert_eq!(outcome(&ill, &ill), Outcome::Unchanged);
        assert_eq!(outcome(&ill, &half), Outcome::Improved);
        assert_eq!(outcome(&ill, &well), Outcome::Fixed);
        // Gone on with after a kill: the first look of this life comes after the act of the last one.
        assert_eq!(outcome(&half, &half), Outcome::Improved);
        assert_eq!(outcome(&half, &well), Outcome::Fixed);
    }
    #[test]
    fn what_is_in_no_list_is_not_gone() {
        let state: StateRef =
            serde_json::from_value(json!({"id": ROOT.0, "entity": ROOT.1})).unwrap();
        let pack = Pack::load(&[]).unwrap();
        let mut base = FactBase::default();
        assert!(!would_show(&pack, &base, &state), "nobody was asked");
        let cluster = base.entities.entry(plimsoll_model::EntityId::cluster()).or_default();
        let none = plimsoll_model::Value::List(Vec::new());
        let lists = [("baremetalhosts".to_string(), none)].into();
        cluster.facts.insert("lists".into(), plimsoll_model::Value::Map(lists));
        assert!(would_show(&pack, &base, &state), "it is gone");
    }

    #[test]
    fn what_was_wrong_at_the_beginning_is_not_new_and_all_else_is() {
        let ill = seen(Some(ROOT), &[ROOT, EFFECT]);
        let worse = seen(None, &[("operator-degraded", "ClusterOperator/ingress")]);
        let first = baseline(&ill, &plan());
        assert_eq!(judge(&first, &worse, &plan()).outcome, Outcome::Worse);
        let written = serde_json::to_string(&first).unwrap();
        let read: Baseline = serde_json::from_str(&written).unwrap();
        assert_eq!(judge(&read, &worse, &plan()).outcome, Outcome::Worse);
    }
}
