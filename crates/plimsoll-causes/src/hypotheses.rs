//! The rival root sets of one component with their weights, and what each says of an unknown node.

use crate::candidates::Component;
use crate::net::Net;
use crate::search::RootSet;
use crate::spread::{Place, Spread};
use crate::weights::displaces;

pub(crate) struct Hypothesis {
    pub(crate) set: RootSet,
    /// Nodes that are roots if this is how it was: the set, and seen nodes it leaves without a cause.
    pub(crate) roots: Vec<usize>,
    pub(crate) weight: f64,
}

pub(crate) fn hypotheses(
    net: &Net,
    base: &Spread,
    component: &Component,
    ranked: &[(RootSet, f64)],
) -> Vec<Hypothesis> {
    let top = ranked.iter().map(|&(_, score)| score).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = ranked.iter().map(|(_, score)| (score - top).exp()).sum();
    ranked
        .iter()
        .map(|(set, score)| Hypothesis {
            set: set.clone(),
            roots: roots_under(net, base, component, set),
            weight: (score - top).exp() / total,
        })
        .collect()
}

fn roots_under(net: &Net, base: &Spread, component: &Component, set: &[usize]) -> Vec<usize> {
    let mut miss: Vec<f64> = component.slots.iter().map(|slot| base.miss[slot.node]).collect();
    for &candidate in set {
        for &(slot, chance) in &component.candidates[candidate].hits {
            miss[slot] *= 1.0 - chance;
        }
    }
    let mut roots: Vec<usize> = set.iter().map(|&at| component.candidates[at].node).collect();
    for (slot, miss) in component.slots.iter().zip(miss) {
        let displaced =
            net.graph.prior(slot.node).is_some_and(|prior| displaces(1.0 - miss, prior));
        if base.place[slot.node] == Place::Root && !displaced {
            roots.push(slot.node);
        }
    }
    roots.sort_unstable();
    roots
}

/// Chance that the unknown node is true if the set holds the roots.
pub(crate) fn chance_under(
    base: &Spread,
    component: &Component,
    set: &[usize],
    node: usize,
) -> f64 {
    let mut miss = 1.0 - base.belief[node];
    for &at in set {
        let candidate = &component.candidates[at];
        if candidate.node == node {
            return 1.0;
        }
        if let Ok(found) = candidate.hidden.binary_search_by_key(&node, |&(node, _)| node) {
            miss *= 1.0 - candidate.hidden[found].1;
        }
    }
    1.0 - miss
}

/// Unknown nodes on which the sets may differ, in node order.
pub(crate) fn unknowns<'set>(
    net: &Net,
    component: &Component,
    sets: impl Iterator<Item = &'set RootSet>,
) -> Vec<usize> {
    let mut members: Vec<usize> = sets.flatten().copied().collect();
    members.sort_unstable();
    members.dedup();
    let mut nodes: Vec<usize> = Vec::new();
    for at in members {
        let candidate = &component.candidates[at];
        nodes.extend(Some(candidate.node).filter(|&node| net.graph.is_unknown(node)));
        nodes.extend(candidate.hidden.iter().map(|&(node, _)| node));
    }
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}
