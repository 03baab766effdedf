//! Rings of active nodes that cause each other: how they run, and what set them off.

use std::collections::VecDeque;

use crate::net::Net;
use crate::spread::{Place, Spread};
use crate::{Deadlock, Graph, Likelihood, Link};

pub(crate) fn deadlocks(net: &Net, spread: &Spread, shown: &[Vec<usize>]) -> Vec<Deadlock> {
    net.rings
        .iter()
        .map(|ring| {
            let first = first_member(net, ring);
            let entry = outside_cause(net, ring, shown)
                .or_else(|| ring.iter().copied().find(|&node| spread.place[node] == Place::Root))
                .or(first);
            Deadlock { members: ring_order(net, ring, first), entry }
        })
        .collect()
}

/// Rings that are closed by what one node does to keep another from ending. Onsets say nothing about
/// these: what holds a state may have come long after it.
pub(crate) fn held_deadlocks(graph: &Graph, shown: &[Vec<usize>]) -> Vec<Deadlock> {
    let holds = graph.holds.iter().filter(|(holder, held)| {
        [*holder, *held].iter().all(|&node| node < graph.nodes.len() && graph.is_active(node))
    });
    let links: Vec<Link> = holds
        .map(|&(cause, effect)| Link {
            cause,
            effect,
            likelihood: Likelihood::Usually,
            delay_min: Some(i64::MIN / 4),
            delay_max: None,
        })
        .collect();
    if links.is_empty() {
        return Vec::new();
    }
    let mut closed = graph.clone();
    closed.links.extend(&links);
    let net = Net::new(&closed);
    net.rings
        .iter()
        .filter(|ring| {
            let inside = |node: &usize| ring.binary_search(node).is_ok();
            links.iter().any(|link| inside(&link.cause) && inside(&link.effect))
        })
        .map(|ring| {
            let first = first_member(&net, ring);
            let entry = outside_cause(&net, ring, shown).or(first);
            Deadlock { members: ring_order(&net, ring, first), entry }
        })
        .collect()
}

/// Links inside rings; no link enters a root, so that every chain still starts there.
pub(crate) fn ring_links<'net>(
    net: &'net Net,
    spread: &'net Spread,
) -> impl Iterator<Item = usize> + 'net {
    net.rings
        .iter()
        .flatten()
        .flat_map(|&node| net.links_from(node))
        .filter(|(_, link)| net.same_ring(link.cause, link.effect))
        .filter(|(_, link)| spread.place[link.effect] != Place::Root)
        .map(|(index, _)| index)
}

fn first_member(net: &Net, ring: &[usize]) -> Option<usize> {
    ring.iter().copied().min_by_key(|&node| (net.graph.nodes[node].since.unwrap_or(i64::MAX), node))
}

/// The cause outside that most surely leads into the ring.
fn outside_cause(net: &Net, ring: &[usize], shown: &[Vec<usize>]) -> Option<usize> {
    ring.iter()
        .flat_map(|&node| &shown[node])
        .map(|&link| &net.graph.links[link])
        .filter(|link| !net.same_ring(link.cause, link.effect))
        .map(|link| (link.likelihood, link.cause))
        .min()
        .map(|(_, cause)| cause)
}

/// The shortest ring through `first`, found breadth first, then everybody else.
fn ring_order(net: &Net, ring: &[usize], first: Option<usize>) -> Vec<usize> {
    let Some(first) = first else { return Vec::new() };
    let local = |node: usize| ring.binary_search(&node).ok();
    let mut reached_from: Vec<Option<usize>> = vec![None; ring.len()];
    let mut todo = VecDeque::from([first]);
    let mut last = None;
    while let (Some(node), None) = (todo.pop_front(), last) {
        let mut effects: Vec<usize> =
            net.links_from(node).map(|(_, &Link { effect, .. })| effect).collect();
        effects.sort_unstable();
        for effect in effects {
            if effect == first {
                last = Some(node);
            } else if let Some(at) = local(effect).filter(|&at| reached_from[at].is_none()) {
                reached_from[at] = Some(node);
                todo.push_back(effect);
            }
        }
    }
    let mut members: Vec<usize> = Vec::with_capacity(ring.len());
    while let Some(node) = last.filter(|&node| node != first) {
        members.push(node);
        last = local(node).and_then(|at| reached_from[at]);
    }
    members.push(first);
    members.reverse();
    let mut on_ring = members.clone();
    on_ring.sort_unstable();
    members.extend(ring.iter().filter(|node| on_ring.binary_search(node).is_err()));
    members
}
