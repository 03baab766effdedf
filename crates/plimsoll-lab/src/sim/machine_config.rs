//! Nodes that cannot take their machine config, and the pools and the operator above them.

use serde_json::json;

use super::operators::Complaint;
use super::script::Script;
use super::world::World;
use super::{Happening, Next, What};

const MCO: &str = "machineconfiguration.openshift.io";

fn pool_of(world: &World<'_>, node: &str) -> &'static str {
    if world.params.is_master(node) { "master" } else { "worker" }
}

fn size(world: &World<'_>, pool: &str) -> usize {
    world.params.nodes().into_iter().filter(|node| pool_of(world, node) == pool).count()
}

pub(super) fn stuck(world: &World<'_>, node: &str) -> Vec<Next> {
    match world.has_node(node) {
        true => vec![((2, 40), What::PoolDegraded(pool_of(world, node).into()))],
        false => Vec::new(),
    }
}

/// The master pool is required: the operator waits ten minutes for it. The worker pool only stands
/// in the way of an upgrade.
pub(super) fn pool_degraded(world: &World<'_>, pool: &str) -> Vec<Next> {
    if pool != "master" {
        return Vec::new();
    }
    let total = size(world, pool);
    let message = format!(
        "Failed to resync {} because: error during syncRequiredMachineConfigPools: [context deadline exceeded, error MachineConfigPool master is not ready, retrying. Status: (pool degraded: true total: {total}, ready {ready}, updated: {ready}, unavailable: 1)]",
        world.params.version,
        ready = total.saturating_sub(1),
    );
    let complaint = Complaint::degraded("machine-config", "", "RequiredPoolsFailed", &message);
    vec![((600, 1_200), What::Complains(complaint))]
}

/// The controller tries for an hour before it says that the node is degraded.
pub(super) fn draining(node: &str) -> Vec<Next> {
    let reason = format!(
        "failed to drain node: {node} after 1 hour. Please see machine-config-controller logs for more information"
    );
    vec![((3_600, 3_700), What::ConfigStuck { node: node.into(), reason })]
}

pub(super) fn show(world: &World<'_>, happenings: &[Happening], script: &mut Script) {
    for Happening { what, .. } in happenings {
        match what {
            What::ConfigStuck { node, reason } => {
                let target = format!("Node/{node}");
                let annotation = |key: &str| format!("metadata.annotations[\"{MCO}/{key}\"]");
                script.set(&target, &annotation("state"), &json!("Degraded"));
                script.set(&target, &annotation("reason"), &json!(reason));
            }
            What::Draining(node) => draining_node(world, node, script),
            _ => {}
        }
    }
    for Happening { what, at, .. } in happenings {
        let What::PoolDegraded(pool) = what else { continue };
        let mut texts = Vec::new();
        for found in happenings {
            if let What::ConfigStuck { node, reason } = &found.what
                && pool_of(world, node) == pool
            {
                texts.push(format!("Node {node} is reporting: {reason:?}"));
            }
        }
        let count = texts.len();
        let target = format!("MachineConfigPool/{pool}");
        let reason = format!("{count} nodes are reporting degraded status on sync");
        script.condition(&target, "NodeDegraded", ("True", &reason, &texts.join(", ")), *at);
        script.condition(&target, "Degraded", ("True", "", ""), *at);
        script.condition(&target, "Updated", ("False", "", ""), *at);
        let left = size(world, pool).saturating_sub(count);
        script.set(&target, "status.degradedMachineCount", &json!(count));
        script.set(&target, "status.unavailableMachineCount", &json!(count));
        script.set(&target, "status.readyMachineCount", &json!(left));
        script.set(&target, "status.updatedMachineCount", &json!(left));
        let text = "One or more machine config pools are degraded, please see `oc get mcp` for further details and resolve before upgrading";
        let target = "ClusterOperator/machine-config";
        script.condition(target, "Upgradeable", ("False", "DegradedPool", text), *at);
    }
}

/// A node that was told to drain for a new config and is not empty yet.
fn draining_node(world: &World<'_>, node: &str, script: &mut Script) {
    let pool = pool_of(world, node);
    let config =
        format!("rendered-{pool}-{}", &crate::base::uid("Next", "", pool).replace('-', ""));
    let target = format!("Node/{node}");
    let annotation = |key: &str| format!("metadata.annotations[\"{MCO}/{key}\"]");
    script.set(&target, &annotation("state"), &json!("Working"));
    script.set(&target, &annotation("desiredConfig"), &json!(config));
    script.set(&target, &annotation("desiredDrain"), &json!(format!("drain-{config}")));
    script.set(&target, "spec.unschedulable", &json!(true));
}
