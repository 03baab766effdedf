//! What the rule says today of the requests that a plan would approve, by their names.

use std::collections::BTreeSet;

use plimsoll_model::csr::{Judged, Verdict};
use plimsoll_model::plan::{Action, Hindrance, Plan, Step, Target, UnitVerb};

/// Requests that are told one by one: of a flood, the first are enough.
const TOLD: usize = 8;

/// They are judged again when it is carried out; until then nobody has to guess.
pub fn with_verdicts(mut plan: Plan, judged: &[Judged]) -> Plan {
    let mut hindrances = Vec::new();
    let mut asks_anew: BTreeSet<String> = BTreeSet::new();
    for step in &mut plan.steps {
        asks_anew.extend(started(step));
        let Action::Approve { node, signer } = &step.action else { continue };
        let is_its = |one: &&Judged| one.node.as_ref() == Some(node) && one.wave == Some(*signer);
        let its: Vec<&Judged> = judged.iter().filter(is_its).collect();
        step.diff = its.iter().take(TOLD).map(|one| told(one)).collect();
        let may = its.iter().filter(|one| one.verdict == Verdict::Approve);
        let by_name = may.map(|one| format!("oc adm certificate approve {}", one.name));
        step.commands.extend(by_name);
        let is_denied = its.iter().all(|one| one.verdict == Verdict::Deny);
        // What waits today is not what a kubelet asks for that is started by an earlier step.
        if !its.is_empty() && is_denied && !asks_anew.contains(node) {
            let names: Vec<&str> = its.iter().take(TOLD).map(|one| one.name.as_str()).collect();
            let why = its.first().map(|one| one.reasons.join("; ")).unwrap_or_default();
            let why = format!("the rule denies {}: {why}", names.join(", "));
            hindrances.push(Hindrance::of_step(step.number, why));
        }
    }
    plan.hindrances.extend(hindrances);
    plan
}

/// The node whose kubelet a step starts.
fn started(step: &Step) -> Option<String> {
    match (&step.action, &step.target) {
        (Action::Unit { unit, verb }, Target::Node { name }) => {
            let starts = unit.trim_end_matches(".service") == "kubelet" && *verb != UnitVerb::Stop;
            starts.then(|| name.clone())
        }
        _ => None,
    }
}

fn told(one: &Judged) -> String {
    let (sign, verdict) = match one.verdict {
        Verdict::Approve => ('+', "may be approved"),
        Verdict::Hold => ('?', "held, and left alone"),
        Verdict::Deny => ('!', "to be denied"),
    };
    format!("{sign} {}: {verdict}: {}", one.name, one.reasons.join("; "))
}
