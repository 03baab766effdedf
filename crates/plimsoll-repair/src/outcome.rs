//! What became of the cluster: the diagnosis before against the diagnosis after.

use std::collections::BTreeSet;

use plimsoll_engine::Pack;
use plimsoll_engine::predicate::Truth;
use plimsoll_engine::rules;
use plimsoll_model::diagnosis::{Confidence, StateRef, Status, Verdict};
use plimsoll_model::session::Outcome;
use plimsoll_model::{Diagnosis, FactBase};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    pub outcome: Outcome,
    pub says: String,
}

/// Only what was seen counts: a suspicion rests on what is missing. Something that is known already to
/// be wrong without a place in the plan stays out of it.
pub fn judge(before: &Diagnosis, after: &Diagnosis, root: &StateRef) -> Judged {
    let roots = |diagnosis: &Diagnosis| -> BTreeSet<StateRef> {
        let seen = diagnosis.roots.iter().filter(|root| root.confidence != Confidence::Suspected);
        seen.map(plimsoll_model::diagnosis::Root::state).collect()
    };
    let active = |diagnosis: &Diagnosis| -> BTreeSet<StateRef> {
        let active = diagnosis.states.iter().filter(|s| s.status == Status::Active && !s.note);
        active.map(plimsoll_model::diagnosis::State::state).collect()
    };
    let (roots_before, roots_after) = (roots(before), roots(after));
    let (active_before, active_after) = (active(before), active(after));
    let judged = |outcome, says: String| Judged { outcome, says };
    // A root that was a symptom before was hidden by the one that is gone.
    let new: Vec<String> = roots_after
        .iter()
        .filter(|new| !roots_before.contains(new) && !active_before.contains(new))
        .map(shown)
        .collect();
    if !new.is_empty() {
        return judged(Outcome::Worse, format!("new: {}", new.join(", ")));
    }
    let appeared: Vec<String> = active_after.difference(&active_before).map(shown).collect();
    if !appeared.is_empty() {
        return judged(Outcome::Worse, format!("new: {}", appeared.join(", ")));
    }
    if after.verdict == Verdict::NotProvable && before.verdict != Verdict::NotProvable {
        let says = format!("it cannot be seen any more: {}", after.reason);
        // Missing data is no reason to change anything again.
        return judged(Outcome::Stopped, says);
    }
    let still_there = active_after.contains(root) || roots_after.contains(root);
    let effects: BTreeSet<StateRef> = before
        .roots
        .iter()
        .filter(|known| known.state() == *root)
        .flat_map(|known| known.explains.iter().cloned())
        .collect();
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
/// something is gone, but a thing that is gone has no states.
pub fn would_show(pack: &Pack, base: &FactBase, state: &StateRef) -> bool {
    let states = rules::run(pack, base);
    let of_it = states.get(&state.entity).into_iter().flatten();
    let mut of_it = of_it.filter(|one| pack.states[one.state].id == state.id);
    of_it.all(|one| !matches!(one.truth, Truth::Unknown(_)))
}

fn shown(state: &StateRef) -> String {
    format!("{} ({})", state.id, state.entity)
}
