//! etcd keeps its quorum, and masters are touched one after the other.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use plimsoll_model::plan::{Action, Content, Object, Plan, Power, Target};
use plimsoll_model::{EntityId, FactBase, Value};
use regex::Regex;
use serde_json::Value as Json;

use super::change::Leaf;
use super::{Scene, is_called};

/// How many members there are, and how many are well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Members {
    pub all: u64,
    pub well: u64,
}

#[expect(clippy::expect_used, reason = "a constant pattern, which a test uses")]
static AVAILABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:(\d+) of )?(\d+) members are available").expect("constant pattern")
});

impl Members {
    /// By etcd's own word, else by its operator's; `None` where neither was heard.
    pub fn of(base: &FactBase) -> Option<Self> {
        let cluster = EntityId::cluster();
        let number = |path: &str| match crate::condition::fact(base, &cluster, path) {
            Some(Value::Int(number)) => u64::try_from(*number).ok(),
            _ => None,
        };
        if let (Some(all), Some(well)) = (number("etcdMembers"), number("etcdHealthy")) {
            // Who answers and is no member does not vote.
            return Some(Self { all, well: well.min(all) });
        }
        let operator = EntityId::cluster_scoped("ClusterOperator", "etcd");
        let said = crate::condition::fact(base, &operator, "details.EtcdMembersAvailable")?;
        let found = AVAILABLE.captures(said.get("message")?.text()?)?;
        let all: u64 = found.get(2)?.as_str().parse().ok()?;
        let well = match found.get(1) {
            Some(well) => well.as_str().parse().ok()?,
            None => all,
        };
        Some(Self { all, well })
    }

    pub fn quorum(self) -> u64 {
        self.all / 2 + 1
    }

    /// Whether one more may go.
    pub fn can_lose_one(self) -> bool {
        self.well > self.quorum()
    }
}

/// A step that takes machines or the members of etcd down.
enum Takes {
    Machine(String),
    /// Every machine of the control plane, one after the other.
    Masters,
    /// Every machine of another pool, one after the other.
    Workers,
    /// Every member of etcd, one after the other.
    Members,
    Nothing,
}

/// A machine that is known by its serial number and is none of this cluster, as far as all of it is known.
fn is_stranger(scene: &Scene) -> bool {
    let Target::Bmc { host, serial: Some(_) } = &scene.step.target else { return false };
    let is_it = |id: &EntityId| is_called(id, host);
    scene.knows_all_machines() && !scene.hosts().chain(scene.all("Node")).any(is_it)
}

/// Whether the step takes anything of the control plane down, or a machine. Workers are looked after by their pool,
/// which drains no second one.
pub fn takes_down(scene: &Scene) -> bool {
    !matches!(takes(scene), Takes::Nothing | Takes::Workers)
}

fn takes(scene: &Scene) -> Takes {
    if is_stranger(scene) {
        return Takes::Nothing;
    }
    match (&scene.step.action, &scene.step.target) {
        (Action::Power { to: Power::Off }, Target::Bmc { host, .. }) => {
            Takes::Machine(host.clone())
        }
        // Up to 4.17 the operator renders it into the config of every node. Later ones lose nothing by waiting.
        (Action::Fill { .. } | Action::Patch { .. } | Action::Delete, Target::Api(object))
            if object.kind == "ConfigMap"
                && (object.namespace.as_deref(), object.name.as_str())
                    == (Some("kube-system"), "root-ca") =>
        {
            Takes::Masters
        }
        (_, Target::Api(object)) if object.kind == "MachineConfig" => of_config(scene, object),
        (Action::Patch { .. }, Target::Api(object)) => of_patch(scene, object),
        (Action::Delete, Target::Api(object)) if object.kind == "Node" => {
            Takes::Machine(object.name.clone())
        }
        (Action::WriteFile { path, .. }, Target::Node { name })
            if path == "/run/machine-config-daemon-force" =>
        {
            Takes::Machine(name.clone())
        }
        _ => Takes::Nothing,
    }
}

fn of_patch(scene: &Scene, object: &Object) -> Takes {
    let leaves = scene.leaves();
    let any = |path: &str, is_it: fn(&Leaf) -> bool| {
        leaves.iter().any(|leaf| leaf.path == path && is_it(leaf))
    };
    let unpauses = any("/spec/paused", |leaf| !leaf.is_set_to(true));
    let switches_off = any("/spec/online", |leaf| !leaf.is_set_to(true));
    let rolls_out = any("/spec/forceRedeploymentReason", |_| true);
    match object.kind.as_str() {
        "MachineConfigPool" if unpauses && object.name == "master" => Takes::Masters,
        "MachineConfigPool" if unpauses => Takes::Workers,
        "Etcd" if rolls_out => Takes::Members,
        "BareMetalHost" if switches_off || super::hosts::asks_for_reboot(&leaves) => {
            Takes::Machine(object.name.clone())
        }
        _ => Takes::Nothing,
    }
}

/// By this label a pool takes a config, whatever it is called.
const ROLE: &str = "/metadata/labels/machineconfiguration.openshift.io~1role";
/// Labels what it makes with the role that it is told.
const LABELLED_BY_ROLE: &str = "chrony-machine-config";

fn labelled(config: &Json) -> Option<&str> {
    config.pointer(ROLE).and_then(Json::as_str)
}

/// Which pool's nodes a config reboots. One of which nobody tells may be the masters'.
fn of_config(scene: &Scene, object: &Object) -> Takes {
    let now = scene.object.and_then(labelled);
    let roles = match &scene.step.action {
        Action::Create { content: Content::Plan { value } } => vec![labelled(value)],
        Action::Create { content: Content::Maker { maker, inputs } } => {
            let told = inputs.get("role").and_then(Json::as_str);
            vec![told.filter(|_| maker == LABELLED_BY_ROLE)]
        }
        // Whoever loses it is rendered anew, and so is whoever gets it.
        Action::Patch { .. } if scene.leaves().iter().any(|leaf| leaf.is_about(ROLE)) => {
            vec![now, None]
        }
        _ => vec![now],
    };
    // A rendered config that no label gives to a pool is only a record.
    let is_record = object.name.starts_with("rendered-")
        && matches!(scene.step.action, Action::Create { .. } | Action::Delete);
    let is_masters = |role: &Option<&str>| match role {
        Some(role) => *role == "master",
        None => !is_record,
    };
    match roles.iter().any(is_masters) {
        true => Takes::Masters,
        false if is_record => Takes::Nothing,
        false => Takes::Workers,
    }
}

/// The Node of a machine, which may be known as a host.
fn node_of(scene: &Scene, machine: &str) -> EntityId {
    let host = scene.all("BareMetalHost").find(|id| id.name == machine);
    let node = host.and_then(|host| scene.text(host, "node")).unwrap_or(machine);
    EntityId::cluster_scoped("Node", node)
}

/// `None` where nobody tells.
fn is_master(scene: &Scene, machine: &str) -> Option<bool> {
    let by_node = scene.flag(&node_of(scene, machine), "controlPlane");
    let host = scene.all("BareMetalHost").find(|id| id.name == machine);
    by_node.or_else(|| host.and_then(|host| scene.flag(host, "controlPlane")))
}

pub fn quorum_survives(scene: &Scene) -> Vec<String> {
    let members = Members::of(scene.base);
    let margin = |what: &str| match members {
        Some(members) if members.can_lose_one() => Vec::new(),
        Some(Members { all: 1, .. }) => vec![format!(
            "{what}, and this cluster has one: no plan takes that down, a person does it by hand"
        )],
        Some(Members { all, well }) => vec![format!(
            "{what}, and etcd has {well} of {all} members well: one less and it has no quorum"
        )],
        None => vec![format!("{what}, and how many members of etcd are well is not known")],
    };
    match takes(scene) {
        Takes::Nothing | Takes::Workers => Vec::new(),
        Takes::Masters => margin("it reboots masters one after the other"),
        Takes::Members => margin("it restarts the members of etcd one after the other"),
        Takes::Machine(machine) => match is_master(scene, &machine) {
            Some(false) => Vec::new(),
            // A master whose member is gone already takes nothing with it.
            Some(true) if !runs_a_member(scene, &machine) => Vec::new(),
            Some(true) => margin(&format!("it takes {machine} down, which runs etcd")),
            None => margin(&format!("it takes {machine} down, which may run etcd")),
        },
    }
}

/// False only when etcd's own list has other members and none there.
fn runs_a_member(scene: &Scene, machine: &str) -> bool {
    let node = node_of(scene, machine);
    let members: Vec<&EntityId> = scene.all("EtcdMember").collect();
    members.is_empty()
        || members.iter().any(|member| scene.text(member, "node") == Some(node.name.as_str()))
}

/// Masters that the plan touches from the inside or by their power.
fn masters_of(scene: &Scene, plan: &Plan) -> BTreeSet<String> {
    let touched = plan.steps.iter().filter_map(|step| match &step.target {
        Target::Node { name } => Some(node_of(scene, name).name),
        Target::Bmc { host, .. } => Some(node_of(scene, host).name),
        _ => None,
    });
    touched.filter(|name| is_master(scene, name) != Some(false)).collect()
}

pub fn one_master_at_a_time(scene: &Scene) -> Vec<String> {
    let machine = match &scene.step.target {
        Target::Node { name } => name,
        Target::Bmc { host, .. } => host,
        _ => return Vec::new(),
    };
    // Looking and switching on disturbs nobody.
    if matches!(scene.step.action, Action::Power { to: Power::On } | Action::EjectMedia) {
        return Vec::new();
    }
    if is_master(scene, machine) == Some(false) || is_stranger(scene) {
        return Vec::new();
    }
    let own = node_of(scene, machine);
    let masters = masters_of(scene, scene.plan);
    if masters.len() > 1 {
        let names: Vec<&str> = masters.iter().map(String::as_str).collect();
        return vec![format!("the plan touches several masters: {}", names.join(", "))];
    }
    // Of a node that is itself what is broken, nothing is lost.
    if scene.plan.root.entity == own {
        return Vec::new();
    }
    if !scene.is_listed("Node") {
        return vec!["whether the other masters are ready is not known".into()];
    }
    let is_down = |id: &&EntityId| {
        **id != own
            && scene.flag(id, "controlPlane") == Some(true)
            && scene.text(id, "ready.status") != Some("True")
    };
    let down: Vec<&str> = scene.all("Node").filter(is_down).map(|id| id.name.as_str()).collect();
    match down.is_empty() {
        true => Vec::new(),
        false => vec![format!("another master is not ready: {}", down.join(", "))],
    }
}

/// Draining one node after the other needs somewhere for the pods to go: more than half of them have to be ready.
/// Who is not known to be ready is not.
pub fn enough_nodes_stay(scene: &Scene) -> Vec<String> {
    let masters = match takes(scene) {
        Takes::Masters => true,
        Takes::Workers => false,
        _ => return Vec::new(),
    };
    let role = if masters { "masters" } else { "workers" };
    if !scene.is_listed("Node") {
        return vec![format!("how many {role} are ready is not known")];
    }
    let is_its = |id: &&EntityId| scene.flag(id, "controlPlane").unwrap_or(masters) == masters;
    let nodes: Vec<&EntityId> = scene.all("Node").filter(is_its).collect();
    let ready = nodes.iter().filter(|id| scene.text(id, "ready.status") == Some("True")).count();
    match nodes.len() < 2 || ready * 2 > nodes.len() {
        true => Vec::new(),
        false => vec![format!(
            "its nodes are drained one after the other, and only {ready} of {} {role} are ready",
            nodes.len()
        )],
    }
}
