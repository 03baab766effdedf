//! What a step must never do, whoever wrote it. A pack is data and may be wrong; these rules are code.
//!
//! Each guard looks at one step and at the cluster as it is right before that step, and gives its
//! reasons. What it cannot see it does not assume: an unknown quorum is no quorum.

mod etcd;
mod files;
mod hosts;
mod keys;
mod objects;
mod order;

use plimsoll_model::plan::{Action, Plan, Step, Target};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Value};
use serde_json::Value as Json;

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

type Guard = fn(&Scene) -> Vec<String>;

const GUARDS: &[(&str, Guard)] = &[
    ("object", objects::objects_are_what_they_are_called),
    ("order", order::lower_layer_first),
    ("rollout", order::not_during_a_rollout),
    ("quorum", etcd::quorum_survives),
    ("one-master", etcd::one_master_at_a_time),
    ("secret", objects::secrets_stay),
    ("delete", objects::only_what_comes_back_is_deleted),
    ("owner", objects::owned_elsewhere),
    ("webhook", objects::webhooks_stay),
    ("user-data", objects::user_data_of_the_operator),
    ("request", objects::requests_by_rule_only),
    ("static-pod", objects::static_pods_stay),
    ("status", objects::status_by_subresource),
    ("annotations", objects::annotations_follow_the_disk),
    ("dependencies", objects::metal3_after_its_dependencies),
    ("host", hosts::no_host_for_anothers_sake),
    ("serial", hosts::strangers_by_serial),
    ("file", files::only_known_files),
    ("key", keys::keys_go_where_they_belong),
    ("identity", files::no_admin_for_a_kubelet),
];

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
    let of_node = matches!(target, Target::Node { .. });
    let acts = !matches!(action, Action::Hand { .. } | Action::Wait);
    let changes = matches!(action, Action::Patch { .. } | Action::Fill { .. } | Action::Delete);
    let may_speak = move |guard: &'static str| match guard {
        // It judges paths and names, of which nothing is known in advance.
        "object" => false,
        "order" | "rollout" => acts && blast > 1,
        "quorum" => {
            of_node
                || matches!(action, Action::Power { .. })
                || ["MachineConfigPool", "MachineConfig", "BareMetalHost", "Node"].contains(&kind)
                // It is rendered into the config of every node.
                || (kind, name) == ("ConfigMap", "root-ca")
        }
        "one-master" => of_node || matches!(target, Target::Bmc { .. }),
        "secret" => kind == "Secret",
        "delete" => matches!(action, Action::Delete) && !objects::is_deletable(kind),
        "owner" => changes,
        "webhook" => kind.ends_with("WebhookConfiguration"),
        "user-data" => kind == "Secret",
        "request" => matches!(action, Action::Approve { .. }),
        "static-pod" => kind == "Pod",
        "status" => matches!(action, Action::Patch { subresource: Some(_), .. }),
        "annotations" => kind == "Node",
        "dependencies" => ["Pod", "Deployment"].contains(&kind),
        "host" => kind == "BareMetalHost" || matches!(target, Target::Bmc { .. }),
        "serial" => matches!(action, Action::Power { .. }),
        "file" => of_node,
        "key" => keys::is_made(action),
        "identity" => matches!(action, Action::WriteFile { .. }),
        _ => acts,
    };
    GUARDS.iter().map(|(name, _)| *name).filter(move |name| may_speak(name))
}

/// Everything that speaks against the step, sorted.
pub fn refusals(scene: &Scene) -> Vec<Refusal> {
    let of = |(guard, judge): &(&'static str, Guard)| {
        let guard = *guard;
        judge(scene).into_iter().map(move |why| Refusal { guard, why })
    };
    let mut found: Vec<Refusal> = GUARDS.iter().flat_map(of).collect();
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
