//! Clusters in the middle of planned work: nothing is wrong with them, though much is not ready.

use jiff::SignedDuration;
use plimsoll_yaml::{Limits, Node, parse};

use super::{BaseParams, Phase, metal};
use crate::edit;
use crate::tree::Tree;

/// Twenty minutes into an installation.
pub(super) fn installing() -> Option<Tree> {
    let default = BaseParams::default();
    let installed = default.now.checked_sub(SignedDuration::from_mins(20)).ok()?;
    let params = BaseParams { phase: Phase::Installing, installed, ..default };
    changed(metal(&params), include_str!("installing.edits"))
}

/// From 4.18.14 to 4.18.20, the control plane done, the first worker rebooting.
pub(super) fn upgrading() -> Option<Tree> {
    let mut tree = changed(metal(&BaseParams::default()), include_str!("upgrading.edits"))?;
    away(&mut tree, "worker-0").ok()?;
    Some(tree)
}

/// What becomes of a node's pods when it was drained and reboots: those bound to it are not ready,
/// the others wait for a place.
fn away(tree: &mut Tree, node: &str) -> Result<(), edit::EditError> {
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
            let waiting = "{phase: Pending, qosClass: Burstable, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, lastProbeTime: null, message: '0/5 nodes are available: 1 node(s) were unschedulable, 4 node(s) didn''t match pod anti-affinity rules.'}]}";
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

    #[test]
    fn the_edits_of_the_variants_fit_their_base() {
        for text in [include_str!("installing.edits"), include_str!("upgrading.edits")] {
            edit::parse_edits(text, 1).unwrap();
        }
        let edits = edit::parse_edits(include_str!("upgrading.edits"), 1).unwrap();
        edit::apply(&mut metal(&BaseParams::default()), &edits).unwrap();
        assert!(installing().is_some());
    }
}
