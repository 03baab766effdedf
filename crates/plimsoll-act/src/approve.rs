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
    /// Since when requests belong to this plan.
    pub since: Option<Time>,
    /// For the request to come.
    pub patience: Duration,
    pub poll: Duration,
}

impl ApproveTarget<'_> {
    /// Requests of the node and kind, newest first.
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
        let made = |one: &Value| one["metadata"]["creationTimestamp"].as_str().map(str::to_string);
        all.sort_by_key(|one| std::cmp::Reverse(made(one)));
        Ok((node.clone(), *signer, all))
    }

    fn is_of_this_plan(&self, one: &Value) -> bool {
        let made = one["metadata"]["creationTimestamp"].as_str();
        let made = made.and_then(|text| text.parse::<Time>().ok());
        match (made, self.since) {
            (Some(made), Some(since)) => made >= since,
            _ => true,
        }
    }
}

impl Target for ApproveTarget<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        let (_, _, all) = self.requests(step)?;
        let pending = all.iter().any(is_pending);
        let approved = |one: &&Value| {
            let conditions = one.pointer("/status/conditions").and_then(Value::as_array);
            let is_it = conditions.into_iter().flatten().any(|one| one["type"] == "Approved");
            is_it && self.is_of_this_plan(one)
        };
        let found = all.iter().find(approved);
        let standing = match (pending, found) {
            (false, Some(_)) => Standing::Done,
            _ => Standing::Ahead,
        };
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
            if all.iter().any(is_pending) {
                return self.decide(&node, signer);
            }
            if begun.elapsed() >= patience {
                // A kubelet whose serving certificate is still good asks for none.
                return match signer {
                    Signer::Serving => Ok(format!("{node} asks for no serving certificate")),
                    Signer::Client => {
                        Err(Trouble::Failed(format!("no client request of {node} came")))
                    }
                };
            }
            std::thread::sleep(self.poll);
        }
    }

    fn undo(&self, _: &Step) -> Result<String, Trouble> {
        Err(Trouble::Failed("an approval cannot be taken back".into()))
    }
}

impl ApproveTarget<'_> {
    /// Judged on a fresh look at who is expected, and among all that were ever made: of a burst only the
    /// newest counts.
    fn decide(&self, node: &str, signer: Signer) -> Result<String, Trouble> {
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
            return Err(Trouble::Refused(format!(
                "the rule lets no {kind} request of {node} through: {}",
                why.join("; ")
            )));
        };
        let why = judgement.reasons.join("; ");
        self.api.block_on(requests::approve(client, request, &why, now)).map_err(trouble)?;
        let name = request["metadata"]["name"].as_str().unwrap_or_default();
        Ok(format!("{name} of {node} approved: {why}"))
    }
}

fn trouble(refusal: Refusal) -> Trouble {
    let why = refusal.to_string();
    match refusal.code {
        Some(409) => Trouble::Stale(why),
        Some(401 | 403) => Trouble::Refused(why),
        Some(400..=499) => Trouble::Failed(why),
        _ => Trouble::Lost(why),
    }
}
