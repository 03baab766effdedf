//! The links that carry an explanation, which faults own each node, and what maintenance owns.

use crate::net::Net;
use crate::spread::{Place, Spread};
use crate::weights::likelihood;
use crate::{Likelihood, Link, Role};

/// Roots remembered for one node; keeps the cost linear when very many roots share their effects.
const OWNERS_KEPT: usize = 8;

pub(crate) struct Chain {
    /// For every node the links by which a root, maintenance or a ring reaches it.
    pub(crate) all: Vec<Vec<usize>>,
    /// The same without hidden detours: those worth showing.
    pub(crate) shown: Vec<Vec<usize>>,
    /// Active, a note, or an unknown node on the way to one.
    pub(crate) needed: Vec<bool>,
    /// Reached from a root or a ring, and not from maintenance only.
    pub(crate) fault: Vec<bool>,
}

pub(crate) fn chain(net: &Net, spread: &Spread) -> Chain {
    let count = net.graph.nodes.len();
    let mut fault = vec![false; count];
    let mut all = vec![Vec::new(); count];
    for &node in &spread.order {
        if matches!(spread.place[node], Place::Root | Place::Ring) {
            fault[node] = true;
            continue;
        }
        let carriers = net.links_to(node).filter(|(_, link)| spread.carries(net, link));
        let (by_fault, by_plan): (Vec<_>, Vec<_>) =
            carriers.partition(|(_, link)| fault[link.cause]);
        let blamed = by_fault.iter().any(|(_, link)| outweighs_plan(net, link));
        let links = match blamed {
            true => by_fault.into_iter().filter(|(_, link)| outweighs_plan(net, link)).collect(),
            false => by_plan,
        };
        fault[node] = blamed;
        all[node] = links.into_iter().map(|(index, _)| index).collect();
    }
    let mut shown: Vec<Vec<usize>> =
        (0..count).map(|node| plainest(net, spread, node, &all[node])).collect();
    let needed = needed(net, spread, &mut shown);
    Chain { all, shown, needed, fault }
}

/// Where maintenance is a direct cause, only a plain and nearly certain fault is blamed instead.
fn outweighs_plan(net: &Net, link: &Link) -> bool {
    let plain = net.graph.is_active(link.cause) && net.graph.is_strong(link.cause);
    !net.maintained[link.effect] || (plain && link.likelihood <= Likelihood::Usually)
}

/// Links from seen causes where there are any, else the one likeliest link from a hidden cause.
fn plainest(net: &Net, spread: &Spread, node: usize, links: &[usize]) -> Vec<usize> {
    let link = |&index: &usize| &net.graph.links[index];
    let seen: Vec<usize> =
        links.iter().copied().filter(|index| net.graph.is_true(link(index).cause)).collect();
    if !seen.is_empty() && net.graph.is_true(node) {
        return seen;
    }
    let weight =
        |index: &usize| spread.belief[link(index).cause] * likelihood(link(index).likelihood);
    let mut best: Option<usize> = None;
    for &index in links {
        if best.is_none_or(|best| weight(&index) > weight(&best)) {
            best = Some(index);
        }
    }
    best.into_iter().collect()
}

/// Walks back from what is active and forgets links that lead to nothing seen.
fn needed(net: &Net, spread: &Spread, shown: &mut [Vec<usize>]) -> Vec<bool> {
    let graph = net.graph;
    let mut needed = vec![false; graph.nodes.len()];
    for &node in spread.order.iter().rev() {
        let noted = graph.is_true(node) && graph.nodes[node].role == Role::Note;
        let plainly = shown[node].iter().any(|&link| graph.is_true(graph.links[link].cause));
        needed[node] |= graph.is_active(node) || (noted && plainly);
        if !needed[node] {
            shown[node].clear();
        }
        for &link in &shown[node] {
            needed[graph.links[link].cause] = true;
        }
    }
    needed
}

/// For every node, the roots, maintenance nodes and rings that reach it by `links`.
pub(crate) fn owners(net: &Net, spread: &Spread, links: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut owners: Vec<Vec<usize>> = vec![Vec::new(); net.graph.nodes.len()];
    for &node in &spread.order {
        let mut own: Vec<usize> = match spread.place[node] {
            Place::Root | Place::Maintenance => vec![node],
            Place::Ring => net.ring_of[node].map(|ring| net.rings[ring][0]).into_iter().collect(),
            _ => links[node]
                .iter()
                .flat_map(|&link| owners[net.graph.links[link].cause].iter().copied())
                .collect(),
        };
        own.sort_unstable();
        own.dedup();
        own.truncate(OWNERS_KEPT);
        owners[node] = own;
    }
    owners
}
