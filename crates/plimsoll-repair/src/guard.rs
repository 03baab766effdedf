//! What a step must never do, whoever wrote it. A pack is data and may be wrong; these rules are code.
//!
//! Each guard looks at one step and at the cluster as it is right before that step, and gives its
//! reasons. What it cannot see it does not assume: an unknown quorum is no quorum.

mod change;
mod etcd;
mod fields;
mod files;
mod hosts;
mod keys;
mod objects;
mod order;

use plimsoll_model::plan::{Action, Plan, Step, Target};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Value};
use serde_json::Value as Json;

use change::Leaf;
pub use etcd::Members;
pub use objects::owner;

/// Why a step is refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// Of the guard: stable, for scripts and tests.
    pub guard: &'static str,
    pub why: String,
}

/// What a guard sees.
pub struct Scene<'s> {
    pub plan: &'s Plan,
    pub step: &'s Step,
    pub base: &'s FactBase,
    /// Of now; absent where only objects were read.
    pub diagnosis: Option<&'s Diagnosis>,
    /// The object of the step as it is now.
    pub object: Option<&'s Json>,
    /// The user asked for this by name, and it is taken back by itself.
    pub break_glass: bool,
}

/// What a guard judges, and on which steps it may speak at all; that is told in advance to who reads of a
/// repair.
struct Guard {
    name: &'static str,
    judge: fn(&Scene) -> Vec<String>,
    may_speak: fn(&Seen) -> bool,
}

/// What is known of a step before anything is known of the cluster.
struct Seen<'a> {
    action: &'a Action,
    target: &'a Target,
    blast: u8,
    kind: &'a str,
    name: &'a str,
}

impl Seen<'_> {
    fn acts(&self) -> bool {
        self.action.acts()
    }

    fn of_node(&self) -> bool {
        matches!(self.target, Target::Node { .. })
    }

    fn of_bmc(&self) -> bool {
        matches!(self.target, Target::Bmc { .. })
    }

    fn is_any(&self, kinds: &[&str]) -> bool {
        kinds.contains(&self.kind)
    }

    fn changes(&self) -> bool {
        matches!(self.action, Action::Patch { .. } | Action::Fill { .. } | Action::Delete)
    }

    fn patches(&self) -> bool {
        matches!(self.action, Action::Patch { .. })
    }

    fn powers(&self) -> bool {
        matches!(self.action, Action::Power { .. })
    }

    /// Pools, what is rendered into the config of their nodes, and machines.
    fn may_take_down(&self) -> bool {
        self.powers()
            || matches!(self.action, Action::WriteFile { .. })
            || self.is_any(&["MachineConfigPool", "MachineConfig", "BareMetalHost", "Node", "Etcd"])
            || (self.kind, self.name) == ("ConfigMap", "root-ca")
    }
}

const fn guard(
    name: &'static str,
    judge: fn(&Scene) -> Vec<String>,
    may_speak: fn(&Seen) -> bool,
) -> Guard {
    Guard { name, judge, may_speak }
}

const GUARDS: &[Guard] = &[
    // It judges paths and names, of which nothing is known in advance.
    guard("object", objects::objects_are_what_they_are_called, |_| false),
    guard("order", order::lower_layer_first, |seen| seen.acts() && seen.blast > 1),
    guard("rollout", order::not_during_a_rollout, |seen| seen.acts() && seen.blast > 1),
    guard("quorum", etcd::quorum_survives, |seen| seen.may_take_down()),
    guard("one-master", etcd::one_master_at_a_time, |seen| seen.of_node() || seen.of_bmc()),
    guard("healthy-nodes", etcd::enough_nodes_stay, |seen| {
        seen.is_any(&["MachineConfigPool", "MachineConfig"])
    }),
    guard("field", fields::only_known_fields, |seen| seen.patches()),
    guard("secret", objects::secrets_stay, |seen| seen.kind == "Secret"),
    guard("content", objects::only_makers_make, |seen| objects::is_said_by_the_plan(seen.action)),
    guard("delete", objects::only_what_comes_back_is_deleted, |seen| {
        matches!(seen.action, Action::Delete) && !objects::is_deletable(seen.kind)
    }),
    guard("owner", objects::owned_elsewhere, |seen| seen.changes()),
    guard("webhook", objects::webhooks_stay, |seen| seen.kind.ends_with("WebhookConfiguration")),
    guard("user-data", objects::user_data_of_the_operator, |seen| seen.kind == "Secret"),
    guard("request", objects::requests_by_rule_only, |seen| {
        seen.kind == "CertificateSigningRequest" && !matches!(seen.action, Action::Delete)
    }),
    guard("static-pod", objects::static_pods_stay, |seen| seen.kind == "Pod"),
    guard("status", objects::status_by_subresource, |seen| seen.patches()),
    guard("annotations", objects::annotations_are_the_daemons, |seen| seen.kind == "Node"),
    guard("dependencies", objects::metal3_after_its_dependencies, |seen| {
        seen.is_any(&["Pod", "Deployment"])
    }),
    guard("host", hosts::no_host_for_anothers_sake, |seen| {
        seen.kind == "BareMetalHost" || seen.powers()
    }),
    guard("serial", hosts::strangers_by_serial, |seen| seen.powers()),
    guard("file", files::only_known_files, |seen| seen.of_node()),
    guard("key", keys::keys_go_where_they_belong, |seen| {
        keys::is_made(seen.action) || seen.patches()
    }),
    guard("identity", files::no_admin_for_a_kubelet, |seen| {
        matches!(seen.action, Action::WriteFile { .. })
    }),
];

/// What is asked of an undo that takes machines down. Somebody is waiting for it, and it may still be wrong now.
const OF_AN_UNDO: [&str; 3] = ["rollout", "quorum", "one-master"];
/// What is asked of every undo: a plan is a file, and says how it is taken back.
const OF_EVERY_UNDO: [&str; 3] = ["object", "field", "secret"];

/// Guards that may speak against a step of this kind, by their names; for who reads of it in advance.
pub fn watching<'a>(
    action: &'a Action,
    target: &'a Target,
    blast: u8,
) -> impl Iterator<Item = &'static str> + 'a {
    let (kind, name) = match target {
        Target::Api(object) => (object.kind.as_str(), object.name.as_str()),
        _ => ("", ""),
    };
    let seen = Seen { action, target, blast, kind, name };
    GUARDS.iter().filter(move |guard| (guard.may_speak)(&seen)).map(|guard| guard.name)
}

/// Everything that speaks against the step, sorted.
pub fn refusals(scene: &Scene) -> Vec<Refusal> {
    judged(scene, |_| true)
}

/// What speaks against taking a step back. The scene's step is the one that does it: see [`crate::reversed`].
pub fn refusals_of_undo(scene: &Scene) -> Vec<Refusal> {
    let takes_down = etcd::takes_down(scene);
    // What this plan made, and is still as it made it, is gone for nobody.
    let is_own = matches!(scene.step.action, Action::Delete);
    judged(scene, |name| match name {
        "secret" if is_own => false,
        _ => OF_EVERY_UNDO.contains(&name) || (takes_down && OF_AN_UNDO.contains(&name)),
    })
}

fn judged(scene: &Scene, asked: impl Fn(&str) -> bool) -> Vec<Refusal> {
    let of = |one: &Guard| {
        let guard = one.name;
        (one.judge)(scene).into_iter().map(move |why| Refusal { guard, why })
    };
    let asked = GUARDS.iter().filter(|guard| asked(guard.name));
    let mut found: Vec<Refusal> = asked.flat_map(of).collect();
    found.sort();
    found.dedup();
    found
}

/// By its name, or by the first part of a name with a domain, as people and BMCs call it.
fn is_called(id: &EntityId, name: &str) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    id.name == name || first(&id.name) == first(name)
}

impl<'s> Scene<'s> {
    fn fact(&self, entity: &EntityId, path: &str) -> Option<&'s Value> {
        crate::condition::fact(self.base, entity, path)
    }

    fn text(&self, entity: &EntityId, path: &str) -> Option<&'s str> {
        self.fact(entity, path).and_then(Value::text)
    }

    fn flag(&self, entity: &EntityId, path: &str) -> Option<bool> {
        match self.fact(entity, path) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
    }

    fn minor(&self) -> Option<i64> {
        match self.fact(&EntityId::cluster(), "minor") {
            Some(Value::Int(minor)) => Some(*minor),
            _ => None,
        }
    }

    /// What a patch changes; nothing of any other step.
    fn leaves(&self) -> Vec<Leaf> {
        match &self.step.action {
            Action::Patch { operations, .. } => change::leaves(operations, self.object),
            _ => Vec::new(),
        }
    }

    /// Whether everything of a kind is known: what is not among it is not there.
    fn is_listed(&self, kind: &str) -> bool {
        crate::verify::is_listed(self.base, kind)
    }

    /// Nodes, and hosts where the platform has them, are known to the last one.
    fn knows_all_machines(&self) -> bool {
        let infrastructure = EntityId::cluster_scoped("Infrastructure", "cluster");
        let has_no_hosts =
            self.text(&infrastructure, "platform").is_some_and(|platform| platform != "BareMetal");
        self.is_listed("Node") && (self.is_listed("BareMetalHost") || has_no_hosts)
    }

    /// Entities of a kind.
    fn all(&self, kind: &'static str) -> impl Iterator<Item = &'s EntityId> {
        self.base.entities.keys().filter(move |id| id.kind == kind)
    }

    /// Hosts that the cluster itself has. One that is known by the word of a BMC alone is anybody's: who
    /// names a foreign machine gives its BMC to be read, too.
    fn hosts(&self) -> impl Iterator<Item = &'s EntityId> {
        let base = self.base;
        let of_cluster = move |id: &&EntityId| base.entities[*id].facts.contains_key("consumer");
        self.all("BareMetalHost").filter(of_cluster)
    }
}

#[cfg(test)]
mod tests;
