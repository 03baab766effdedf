//! Machines that never become nodes. The base is made without such a node; what is left to tell is
//! who notices.

use super::operators::Complaint;
use super::world::World;
use super::{Next, What};
use crate::base::{Platform, machine_name};

pub(super) fn never(world: &World<'_>, node: &str) -> Vec<Next> {
    let mut next = Vec::new();
    if world.params.platform == Platform::BareMetal {
        let machine = machine_name(world.params, node);
        next.push(((3_600, 3_700), What::MachineWaits(machine)));
    }
    if world.params.is_master(node) {
        next.push(((0, 60), What::MasterMissing(node.into())));
    }
    next
}

/// Two of three: etcd is not fault tolerant, and authentication waits for a third API server.
pub(super) fn master_missing(world: &World<'_>, _node: &str) -> Vec<Next> {
    let mut next = Vec::new();
    let left = world.params.masters.len();
    let quorum = format!(
        "etcd cluster has quorum of {left} which is not fault tolerant: [{}]",
        world.params.masters.join(" ")
    );
    let members = Complaint::degraded("etcd", "ClusterMemberControllerDegraded", "Error", &quorum);
    next.push(((300, 420), What::Complains(members)));
    if world.installing() {
        let waiting = format!("need at least 3 kube-apiservers, got {left}");
        let known =
            Complaint::unavailable("authentication", "WellKnownAvailable", "NotReady", &waiting);
        next.push(((60, 240), What::Complains(known)));
        next.push(((2_400, 3_000), What::InstallStalled));
    }
    next
}
