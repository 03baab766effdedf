//! etcd before the API server before the rest, and nothing while the cluster is changing itself.

use plimsoll_model::EntityId;
use plimsoll_model::diagnosis::{Confidence, Root, StateRef};
use plimsoll_model::plan::Action;

use super::Scene;

/// What only looks, or lets one node in, disturbs no order.
const HARMLESS: u8 = 1;

/// 0 etcd, 1 the API server, 2 the rest. A node counts as what stands on it.
fn layer(state: &StateRef, explains: &[StateRef]) -> u8 {
    let is_of = |state: &StateRef, operator: &str, kinds: &[&str], words: &[&str]| {
        kinds.contains(&state.entity.kind.as_str())
            || state.entity == EntityId::cluster_scoped("ClusterOperator", operator)
            || words.iter().any(|word| state.id.starts_with(word))
    };
    let of_etcd = |state: &StateRef| is_of(state, "etcd", &["EtcdMember"], &["etcd-"]);
    let of_api = |state: &StateRef| {
        is_of(state, "kube-apiserver", &["APIService"], &["apiserver-", "api-unreachable"])
    };
    let on_a_node = state.entity.kind == "Node";
    match () {
        () if of_etcd(state) || (on_a_node && explains.iter().any(of_etcd)) => 0,
        () if of_api(state) || (on_a_node && explains.iter().any(of_api)) => 1,
        () => 2,
    }
}

pub fn lower_layer_first(scene: &Scene) -> Vec<String> {
    let Some(diagnosis) = scene.diagnosis else { return Vec::new() };
    if scene.step.reach() <= HARMLESS || matches!(scene.step.action, Action::Hand { .. }) {
        return Vec::new();
    }
    let own = layer(&scene.plan.root, &scene.plan.reason.explains);
    let below = |root: &&Root| {
        root.state() != scene.plan.root
            && root.confidence != Confidence::Suspected
            && layer(&root.state(), &root.explains) < own
    };
    let first: Vec<String> = (diagnosis.roots.iter())
        .filter(below)
        .map(|root| format!("{} ({})", root.id, root.entity))
        .collect();
    match first.is_empty() {
        true => Vec::new(),
        false => vec![format!(
            "what it stands on is broken: {} comes first (etcd, then the API server, then the rest)",
            first.join(", ")
        )],
    }
}

/// An unknown rollout is one: whoever cannot be asked may be in the middle of it.
pub fn not_during_a_rollout(scene: &Scene) -> Vec<String> {
    let is_harmless = scene.step.reach() <= HARMLESS || scene.plan.during_rollout;
    if is_harmless || matches!(scene.step.action, Action::Hand { .. }) {
        return Vec::new();
    }
    let mut why = Vec::new();
    match scene.flag(&EntityId::cluster(), "updating") {
        Some(false) => {}
        Some(true) => why.push("the cluster is being updated".to_string()),
        None => why.push("whether the cluster is being updated is not known".to_string()),
    }
    if !scene.is_listed("MachineConfigPool") {
        why.push("whether a pool is being rolled out is not known".to_string());
    }
    for pool in scene.all("MachineConfigPool") {
        let paused = scene.flag(pool, "paused") == Some(true);
        match scene.text(pool, "updating.status") {
            _ if paused => {}
            Some("False") => {}
            Some("True") => why.push(format!("{pool} is being rolled out")),
            _ => why.push(format!("whether {pool} is being rolled out is not known")),
        }
    }
    for name in ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let operator = EntityId::cluster_scoped("ClusterOperator", name);
        match scene.text(&operator, "progressing.status") {
            _ if scene.plan.root.entity == operator => {}
            Some("False") => {}
            Some("True") => why.push(format!("{operator} is being rolled out")),
            _ => why.push(format!("whether {operator} is being rolled out is not known")),
        }
    }
    why
}
