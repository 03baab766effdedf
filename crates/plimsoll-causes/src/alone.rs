//! Which seen roots nothing else could have caused, whatever the unknowns turn out to be.
//!
//! This is what keeps "confirmed" honest: taking evidence away only adds possible causes, so it can
//! only take the word away. Numbers of the search play no part here.

use crate::Role;
use crate::net::{Net, has_loop};
use crate::weights::{displaces, likelihood};

/// For every node: no other node that is true or unknown could take its place as the root.
pub(crate) fn alone(net: &Net) -> Vec<bool> {
    let graph = net.graph;
    let feeding: Vec<Feed> = feeds(net);
    (0..graph.nodes.len())
        .map(|node| {
            let (Some(prior), Some(group)) = (graph.prior(node), net.group_of[node]) else {
                return false;
            };
            let kin = feeding[group].reaches(node, net, group);
            let mut miss = 1.0;
            for (_, link) in net.links_to(node) {
                let is_fault = graph.nodes[link.cause].role == Role::Fault;
                let possible = match net.group_of[link.cause] {
                    None => false,
                    Some(of) if of == group => {
                        let apart = is_fault && !net.same_ring(link.cause, node);
                        link.cause != node && (kin || apart)
                    }
                    // A symptom may be there even where nobody knows what would cause it.
                    Some(of) => is_fault || feeding[of].any(),
                };
                if possible && graph.nodes[link.cause].role == Role::Expected {
                    return false;
                }
                if possible {
                    miss *= 1.0 - likelihood(link.likelihood);
                }
            }
            !displaces(1.0 - miss, prior)
        })
        .collect()
}

/// What could set off the nodes of a group.
#[derive(Clone, Copy, Default)]
struct Feed {
    /// Something in a group before it.
    before: bool,
    /// How many members need no cause.
    sources: usize,
    /// The members can keep each other going.
    ring: bool,
}

impl Feed {
    fn any(self) -> bool {
        self.before || self.sources > 0 || self.ring
    }

    /// Whether something other than `node`, a member that can be a root, could set the group off.
    fn reaches(self, node: usize, net: &Net, group: usize) -> bool {
        self.before || self.sources > 1 || (self.ring && has_cycle_without(node, net, group))
    }
}

fn feeds(net: &Net) -> Vec<Feed> {
    let graph = net.graph;
    let mut feeds = vec![Feed::default(); net.groups.len()];
    for (group, members) in net.groups.iter().enumerate() {
        let is_source = |&&node: &&usize| {
            graph.prior(node).is_some() || graph.nodes[node].role == Role::Expected
        };
        feeds[group].sources = members.iter().filter(is_source).count();
        feeds[group].ring = members.len() > 1 || has_loop(graph, &net.out, members[0]);
        if feeds[group].any() {
            for link in members.iter().flat_map(|&node| net.links_from(node)) {
                if let Some(after) = net.group_of[link.1.effect].filter(|&after| after != group) {
                    feeds[after].before = true;
                }
            }
        }
    }
    feeds
}

/// Peels off members without a remaining cause; what cannot be peeled holds a cycle.
fn has_cycle_without(node: usize, net: &Net, group: usize) -> bool {
    let members = &net.groups[group];
    let local = |other: usize| members.binary_search(&other).ok().filter(|_| other != node);
    let mut causes = vec![0usize; members.len()];
    for &member in members.iter().filter(|&&member| member != node) {
        for (_, link) in net.links_from(member) {
            if let Some(effect) = local(link.effect) {
                causes[effect] += 1;
            }
        }
    }
    let mut free: Vec<usize> =
        (0..members.len()).filter(|&at| causes[at] == 0 && members[at] != node).collect();
    let mut peeled = 0;
    while let Some(at) = free.pop() {
        peeled += 1;
        for (_, link) in net.links_from(members[at]) {
            if let Some(effect) = local(link.effect) {
                causes[effect] -= 1;
                if causes[effect] == 0 {
                    free.push(effect);
                }
            }
        }
    }
    peeled + 1 < members.len()
}

/// Unknown direct causes of a strongly seen node that is not alone.
pub(crate) fn doubts(net: &Net, alone: &[bool], node: usize) -> Vec<usize> {
    if alone[node] || !net.graph.is_true(node) || !net.graph.is_strong(node) {
        return Vec::new();
    }
    let causes = net.links_to(node).map(|(_, link)| link.cause);
    let mut doubts: Vec<usize> = causes.filter(|&cause| net.graph.is_unknown(cause)).collect();
    doubts.sort_unstable();
    doubts.dedup();
    doubts
}
