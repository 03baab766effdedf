//! A plan is a file, and lets itself do what it says. What its repair would do now is drawn anew and held
//! against it.

use plimsoll_model::plan::{Action, Plan, Step, Target};

/// Where a plan is not what is drawn now, of the same root by the same repair. What is not known now may have been
/// known then, and says nothing against it.
pub fn otherwise(plan: &Plan, now: &Plan) -> Option<String> {
    if !now.hindrances.is_empty() {
        return None;
    }
    if plan.steps.len() != now.steps.len() {
        let (then, now) = (plan.steps.len(), now.steps.len());
        return Some(format!("drawn now, it would have {now} steps, and has {then}"));
    }
    let mut both = plan.steps.iter().zip(&now.steps);
    both.find_map(|(step, now)| {
        let part = differs(step, now)?;
        Some(format!("drawn now, step {} would be another: its {part}", step.number))
    })
}

fn differs(step: &Step, now: &Step) -> Option<&'static str> {
    // What a person does, a person reads.
    if matches!(step.action, Action::Hand { .. }) && matches!(now.action, Action::Hand { .. }) {
        return None;
    }
    // Which requests wait, and what the rule says of each, is told beside the plan.
    let is_told = matches!(step.action, Action::Approve { .. });
    let parts = [
        (step.action == now.action, "action"),
        (place(&step.target) == place(&now.target), "target"),
        (is_told || step.diff == now.diff, "diff"),
        (step.undo == now.undo, "way back"),
        (step.require == now.require, "conditions"),
        (step.unless == now.unless, "conditions"),
        (step.expect == now.expect, "expectations"),
    ];
    parts.iter().find(|(is_same, _)| !is_same).map(|(_, part)| *part)
}

/// What is touched, whichever version of it was read.
fn place(target: &Target) -> Target {
    let mut target = target.clone();
    if let Target::Api(object) = &mut target {
        object.resource_version = None;
        object.decision = None;
    }
    target
}
