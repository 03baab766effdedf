//! Requests of a node that is being repaired: waited for, judged by rule, and approved one by one.

use std::time::{Duration, Instant};

use plimsoll_model::Time;
use plimsoll_model::csr::Verdict;
use plimsoll_model::plan::{Action, Signer, Step};
use plimsoll_repair::request::{self, is_pending, wave};
use serde_json::Value;

use crate::api::Api;
use crate::ask::Refusal;
use crate::requests;
use crate::target::{Kept, Sight, Standing, Target, Trouble};

pub struct ApproveTarget<'a> {
    pub api: &'a Api,
    pub clock: fn() -> Time,
    /// The node whose kubelet lost its identity, if that is what the plan is about.
    pub repairing: Option<String>,
    /// The plan starts that kubelet before this: it asks anew.
    pub starts_it: bool,
    /// Since when requests belong to this plan.
    pub since: Option<Time>,
    /// For the request to come.
    pub patience: Duration,
    pub poll: Duration,
}

impl ApproveTarget<'_> {
    /// Requests of the node and kind.
    fn requests(&self, step: &Step) -> Result<(String, Signer, Vec<Value>), Trouble> {
        let Action::Approve { node, signer } = &step.action else {
            return Err(Trouble::Failed("this step approves nothing".into()));
        };
        let client = self.api.client();
        let mut all = self.api.block_on(requests::all(client)).map_err(trouble)?;
        let inventory = self.api.block_on(requests::inventory(client)).map_err(trouble)?;
        let now = (self.clock)();
        all.retain(|one| {
            wave(one) == Some(*signer)
                && request::judge(one, &inventory, now).node.as_ref() == Some(node)
        });
        Ok((node.clone(), *signer, all))
    }

    /// What waited before the plan is nobody's word in it.
    fn is_to_come(&self, node: &str, all: &[Value]) -> bool {
        let waits = |one: &Value| is_pending(one) && is_since(one, self.since);
        self.repairing.as_deref() == Some(node) && !all.iter().any(waits)
    }

    /// A kubelet that was just started asks anew, and what waits until then may be of anybody: of itself as
    /// somebody else, too.
    fn may_still_ask(&self, node: &str, all: &[Value]) -> bool {
        let is_started = self.starts_it && self.repairing.as_deref() == Some(node);
        is_started || self.is_to_come(node, all)
    }
}

/// A kubelet whose serving certificate is still good does not.
fn asks_for_none(node: &str) -> String {
    format!("{node} asks for no serving certificate")
}

fn made(request: &Value) -> Option<Time> {
    request["metadata"]["creationTimestamp"].as_str()?.parse().ok()
}

fn is_since(request: &Value, since: Option<Time>) -> bool {
    match (made(request), since) {
        (Some(made), Some(since)) => made >= since,
        _ => true,
    }
}

/// The request of this plan that was approved, unless the node asked again after it. Older ones may wait for
/// ever: somebody else asked for them, or the node itself did not wait.
fn approved(all: &[Value], since: Option<Time>) -> Option<&Value> {
    let is_approved = |one: &&Value| {
        let conditions = one.pointer("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|one| one["type"] == "Approved")
    };
    let newest_pending = all.iter().filter(|one| is_pending(one)).map(made).max();
    let its = all.iter().filter(|one| is_since(one, since));
    its.filter(is_approved)
        .max_by_key(|one| made(one))
        .filter(|one| newest_pending.is_none_or(|pending| made(one) >= pending))
}

impl Target for ApproveTarget<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        let (_, _, all) = self.requests(step)?;
        let found = approved(&all, self.since);
        let standing = if found.is_some() { Standing::Done } else { Standing::Ahead };
        let hash = found.and_then(|one| one["metadata"]["uid"].as_str()).unwrap_or_default();
        Ok(Sight { standing, hash: hash.into(), object: None })
    }

    fn rehearse(&self, _: &Step) -> Result<(), Trouble> {
        Ok(())
    }

    /// A request stays where it is.
    fn keep(&self, _: &Step) -> Result<Vec<Kept>, Trouble> {
        Ok(Vec::new())
    }

    fn act(&self, step: &Step) -> Result<String, Trouble> {
        let begun = Instant::now();
        loop {
            let (node, signer, all) = self.requests(step)?;
            // A kubelet asks for its second one as soon as it has the first, if it needs it.
            let patience = match signer {
                Signer::Client => self.patience,
                Signer::Serving => self.patience / 4,
            };
            let is_over = begun.elapsed() >= patience;
            if all.iter().any(is_pending) {
                match self.decide(&node, signer)? {
                    Ok(says) => return Ok(says),
                    Err(_) if !is_over && self.may_still_ask(&node, &all) => {}
                    Err(_) if signer == Signer::Serving && self.is_to_come(&node, &all) => {
                        return Ok(asks_for_none(&node));
                    }
                    Err(why) => return Err(Trouble::Refused(why)),
                }
            } else if is_over {
                return match signer {
                    Signer::Serving => Ok(asks_for_none(&node)),
                    Signer::Client => {
                        Err(Trouble::Failed(format!("no client request of {node} came")))
                    }
                };
            }
            std::thread::sleep(self.poll);
        }
    }

    fn undo(&self, _: &Step, _: Option<&str>) -> Result<String, Trouble> {
        Err(Trouble::Failed("an approval cannot be taken back".into()))
    }
}

impl ApproveTarget<'_> {
    /// Judged on a fresh look at who is expected, and among all that were ever made: of a burst only the
    /// newest counts. What was approved, or why none was.
    fn decide(&self, node: &str, signer: Signer) -> Result<Result<String, String>, Trouble> {
        let client = self.api.client();
        let mut inventory = self.api.block_on(requests::inventory(client)).map_err(trouble)?;
        inventory.repairing.clone_from(&self.repairing);
        let all = self.api.block_on(requests::all(client)).map_err(trouble)?;
        let now = (self.clock)();
        self.api.block_on(requests::ask_kubelets(client, &all, &mut inventory, now));
        let judged = request::judge_all(&all, &inventory, now);
        let is_meant = |(request, one): &(&Value, &request::Judgement)| {
            is_pending(request) && one.node.as_deref() == Some(node) && one.wave == Some(signer)
        };
        let meant: Vec<_> = all.iter().zip(&judged).filter(is_meant).collect();
        let good = meant.iter().find(|(_, one)| one.verdict == Verdict::Approve);
        let Some((request, judgement)) = good else {
            let why: Vec<String> = meant.iter().flat_map(|(_, one)| one.reasons.clone()).collect();
            let kind = if signer == Signer::Client { "client" } else { "serving" };
            return Ok(Err(format!(
                "the rule lets no {kind} request of {node} through: {}",
                why.join("; ")
            )));
        };
        let why = judgement.reasons.join("; ");
        self.api.block_on(requests::approve(client, request, &why, now)).map_err(trouble)?;
        let name = request["metadata"]["name"].as_str().unwrap_or_default();
        Ok(Ok(format!("{name} of {node} approved: {why}")))
    }
}

fn trouble(refusal: Refusal) -> Trouble {
    let why = refusal.to_string();
    match refusal.code {
        Some(409) => Trouble::Stale(why),
        Some(401 | 403) => Trouble::Refused(why),
        None | Some(429 | 500..=599) => Trouble::Lost(why),
        Some(_) => Trouble::Failed(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_repair::request::CLIENT_SIGNER;
    use serde_json::json;

    fn asked(name: &str, at: &str, decided: Option<&str>) -> Value {
        let conditions = decided.map(|kind| json!([{"type": kind}])).unwrap_or_default();
        json!({
            "metadata": {"name": name, "creationTimestamp": format!("2025-12-03T{at}Z")},
            "spec": {"signerName": CLIENT_SIGNER}, "status": {"conditions": conditions},
        })
    }

    fn found(all: &[Value]) -> Option<&str> {
        let since = "2025-12-03T18:00:00Z".parse().ok();
        approved(all, since)?["metadata"]["name"].as_str()
    }

    #[test]
    fn a_request_of_before_that_nobody_answers_does_not_hide_the_one_that_was_approved() {
        let stray = asked("stray", "17:40:00", None);
        let own = asked("own", "18:01:00", Some("Approved"));
        assert_eq!(found(&[stray.clone(), own.clone()]), Some("own"));
        assert_eq!(found(&[stray]), None);
        let again = asked("again", "18:02:00", None);
        assert_eq!(found(&[own, again]), None, "it asked once more");
    }

    #[test]
    fn what_was_approved_before_the_plan_is_not_its_doing() {
        let old = asked("old", "09:00:00", Some("Approved"));
        let denied = asked("denied", "18:01:00", Some("Denied"));
        assert_eq!(found(&[old, denied]), None);
    }
}
