//! Nodes that could have explained something active, had a false node not spoken against them.

use crate::net::Net;
use crate::spread::{Place, Spread};
use crate::{Likelihood, Role, RuledOut};

pub(crate) fn ruled_out(net: &Net, spread: &Spread) -> Vec<RuledOut> {
    let graph = net.graph;
    let leads = leads_to_active(net);
    (0..graph.nodes.len())
        .filter(|&node| graph.prior(node).is_some() && !graph.is_true(node))
        .filter(|&node| spread.place[node] == Place::Out)
        .filter(|&node| {
            net.links_from(node).any(|(_, link)| link.effect != node && leads[link.effect])
        })
        .filter_map(|node| {
            let by = if graph.is_false(node) { Some(node) } else { missing_effect(net, node) };
            by.map(|by| RuledOut { node, by })
        })
        .collect()
}

/// Active nodes, and unknown ones with a way to one.
fn leads_to_active(net: &Net) -> Vec<bool> {
    let graph = net.graph;
    let mut leads: Vec<bool> = (0..graph.nodes.len()).map(|node| graph.is_active(node)).collect();
    let mut todo: Vec<usize> = (0..leads.len()).filter(|&node| leads[node]).collect();
    while let Some(node) = todo.pop() {
        for (_, link) in net.links_to(node) {
            let cause = link.cause;
            let open = graph.is_unknown(cause) && graph.nodes[cause].role != Role::Expected;
            if !leads[cause] && open {
                leads[cause] = true;
                todo.push(cause);
            }
        }
    }
    leads
}

/// The surest effect that a strong detector would have seen and did not.
fn missing_effect(net: &Net, node: usize) -> Option<usize> {
    net.links_from(node)
        .filter(|(_, link)| link.likelihood == Likelihood::Always)
        .filter(|(_, link)| net.graph.is_false(link.effect) && net.graph.is_strong(link.effect))
        .map(|(_, link)| (link.likelihood, link.effect))
        .min()
        .map(|(_, effect)| effect)
}
