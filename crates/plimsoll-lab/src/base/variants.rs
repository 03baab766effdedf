//! Clusters in the middle of planned work: nothing is wrong with them, though much is not ready.

use jiff::SignedDuration;
use plimsoll_yaml::{Limits, Node, parse};

use super::{BaseParams, Phase, Platform, bracketed, metal};
use crate::edit;
use crate::tree::Tree;

/// The age at which the edits were written down.
const INSTALLING_FOR: i64 = 20 * 60;

/// In the middle of an installation. One that takes longer hangs on something before the workers:
/// the rollouts are through, and nobody has taken up the workers' hosts.
pub(super) fn installing(params: &BaseParams) -> Option<Tree> {
    let params = BaseParams { phase: Phase::Installing, ..params.clone() };
    let age = params.now.duration_since(params.installed).as_secs();
    let last = params.masters.last()?;
    let at = |name: &str| name.replace("master-2", last);
    let mut text = String::new();
    for line in include_str!("installing.edits").lines() {
        let of_rollout = line.contains("master-2") || line.contains("nodeStatuses[2]");
        let of_metal = line.contains("metal3") && params.platform != Platform::BareMetal;
        if of_metal || (of_rollout || line.contains("revision 7")) && age > INSTALLING_FOR + 600 {
            continue;
        }
        text += &at(line)
            .replace("nodeStatuses[2]", &format!("nodeStatuses[{}]", params.masters.len() - 1));
        text.push('\n');
    }
    let text = text
        .replace("ostest.lab.example", &params.fqdn())
        .replace("4.18.14", &params.version)
        .replace("192.168.111.4", &bracketed(&params.ingress_vip))
        .replace("worker-0", params.workers.first().map_or("worker-0", String::as_str));
    let mut tree = metal(&params);
    let mut edits = edit::parse_edits(&text, 1).ok()?;
    if age > INSTALLING_FOR + 600 {
        let older = SignedDuration::from_secs(age - INSTALLING_FOR);
        edits.iter_mut().for_each(|edit| edit::set_back(&mut edit.verb, older));
    }
    edit::apply(&mut tree, &edits).ok()?;
    if age > INSTALLING_FOR + 600 && params.platform == Platform::BareMetal {
        edit::apply(&mut tree, &edit::parse_edits(&not_taken_up(&params), 1).ok()?).ok()?;
    }
    Some(tree)
}

/// The workers' hosts and machines as the installer's manifests made them.
fn not_taken_up(params: &BaseParams) -> String {
    let mut edits = String::new();
    for worker in &params.workers {
        let machine = super::machine_name(params, worker);
        edits +=
            &format!("delete Machine/{machine}\nunset BareMetalHost/{worker} spec.consumerRef\n");
        edits += &format!("unset BareMetalHost/{worker} status\n");
    }
    if let Some(name) = params.workers.first().map(|_| super::metal3::machine_set(params)) {
        edits += &format!("unset MachineSet/{name} status\n");
    }
    edits
}

/// From one patch release to a later one, the control plane done, the first worker rebooting.
pub(super) fn upgrading(params: &BaseParams) -> Option<Tree> {
    let node = params.workers.first()?;
    let (nodes, minor) = (params.nodes().len(), params.minor());
    let mut text = String::new();
    for line in include_str!("upgrading.edits").lines() {
        let targets = if line.contains("Node/master-*") { params.masters.len() } else { 1 };
        for master in params.masters.iter().take(targets) {
            text += &line.replace("master-*", master);
            text.push('\n');
        }
    }
    let text = text
        .replace("4.18.14", &params.version)
        .replace("4.18.20", &format!("{minor}.90"))
        .replace(
            "Have 4 available DNS pods, want 5.",
            &format!("Have {} available DNS pods, want {nodes}.", nodes - 1),
        )
        .replace("Waiting for 1/5 Profiles", &format!("Waiting for 1/{nodes} Profiles"))
        .replace(
            "updating: 0 of 2 updated",
            &format!("updating: 0 of {} updated", params.workers.len()),
        )
        .replace("all 3 nodes", &format!("all {} nodes", params.masters.len()))
        .replace("status.numberReady = 4", &format!("status.numberReady = {}", nodes - 1))
        .replace("status.numberAvailable = 4", &format!("status.numberAvailable = {}", nodes - 1))
        .replace("worker-0", node);
    let mut tree = changed(metal(params), &text)?;
    away(&mut tree, node, nodes).ok()?;
    Some(tree)
}

/// What becomes of a node's pods when it was drained and reboots: those bound to it are not ready,
/// the others wait for a place.
fn away(tree: &mut Tree, node: &str, nodes: usize) -> Result<(), edit::EditError> {
    let pods: Vec<Node> = tree
        .iter()
        .filter(|(path, _)| path.contains("/pods/") && path.ends_with(".yaml"))
        .filter_map(|(_, bytes)| parse(std::str::from_utf8(bytes).ok()?, &Limits::OBJECT).ok())
        .filter(|pod| pod.text_at(&["spec", "nodeName"]) == Some(node))
        .collect();
    let mut edits = String::new();
    for pod in &pods {
        let text = |path: &[&str]| pod.text_at(path).unwrap_or_default().to_string();
        let owner = pod.at(&["metadata", "ownerReferences"]).and_then(|all| all.items().first());
        let kind = owner.and_then(|owner| owner.text_at(&["kind"])).unwrap_or_default();
        let (namespace, name) = (text(&["metadata", "namespace"]), text(&["metadata", "name"]));
        let target = format!("Pod/{namespace}/{name}");
        if matches!(kind, "DaemonSet" | "Node") {
            edits += &format!("condition {target} Ready=False since=-149s\n");
        } else {
            let waiting = format!(
                "{{phase: Pending, qosClass: Burstable, conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, lastProbeTime: null, message: '0/{nodes} nodes are available: 1 node(s) were unschedulable, {} node(s) didn''t match pod anti-affinity rules.'}}]}}",
                nodes - 1
            );
            edits += &format!(
                "unset {target} spec.nodeName\nset {target} metadata.creationTimestamp = @-10m\nset {target} status = {waiting}\n"
            );
            edits += &format!(
                "condition {target} PodScheduled=False since=-10m\nremove namespaces/{namespace}/pods/{name}/*/*/**\n"
            );
        }
    }
    edit::apply(tree, &edit::parse_edits(&edits, 1)?)
}

fn changed(mut tree: Tree, text: &str) -> Option<Tree> {
    let edits = edit::parse_edits(text, 1).ok()?;
    edit::apply(&mut tree, &edits).ok()?;
    Some(tree)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Stack;

    #[test]
    fn the_edits_of_the_variants_fit_their_base() {
        for text in [include_str!("installing.edits"), include_str!("upgrading.edits")] {
            edit::parse_edits(text, 1).unwrap();
        }
        for stack in [Stack::V4, Stack::V6, Stack::Dual] {
            let mut params = BaseParams::default();
            params.address(stack);
            assert!(upgrading(&params).is_some());
            assert!(installing(&params).is_some());
            params.installed = params.now - SignedDuration::from_mins(20);
            assert!(installing(&params).is_some());
        }
    }
}
