//! What the rule says today of the requests that a plan would approve, by their names.

use plimsoll_model::csr::{Judged, Verdict};
use plimsoll_model::plan::{Action, Hindrance, Plan};

/// Requests that are told one by one: of a flood, the first are enough.
const TOLD: usize = 8;

/// They are judged again when it is carried out; until then nobody has to guess.
pub fn with_verdicts(mut plan: Plan, judged: &[Judged]) -> Plan {
    let mut hindrances = Vec::new();
    for step in &mut plan.steps {
        let Action::Approve { node, signer } = &step.action else { continue };
        let is_its = |one: &&Judged| one.node.as_ref() == Some(node) && one.wave == Some(*signer);
        let its: Vec<&Judged> = judged.iter().filter(is_its).collect();
        step.diff = its.iter().take(TOLD).map(|one| told(one)).collect();
        let may = its.iter().filter(|one| one.verdict == Verdict::Approve);
        let by_name = may.map(|one| format!("oc adm certificate approve {}", one.name));
        step.commands.extend(by_name);
        if !its.is_empty() && its.iter().all(|one| one.verdict == Verdict::Deny) {
            let names: Vec<&str> = its.iter().take(TOLD).map(|one| one.name.as_str()).collect();
            let why = its.first().map(|one| one.reasons.join("; ")).unwrap_or_default();
            let why = format!("the rule denies {}: {why}", names.join(", "));
            hindrances.push(Hindrance::of_step(step.number, why));
        }
    }
    plan.hindrances.extend(hindrances);
    plan
}

fn told(one: &Judged) -> String {
    let (sign, verdict) = match one.verdict {
        Verdict::Approve => ('+', "may be approved"),
        Verdict::Hold => ('?', "held, and left alone"),
        Verdict::Deny => ('!', "to be denied"),
    };
    format!("{sign} {}: {verdict}: {}", one.name, one.reasons.join("; "))
}
