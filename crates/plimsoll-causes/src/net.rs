//! The graph made ready to walk: admissible links by their ends, and the order in which causes come
//! before effects.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::{Graph, Link, admissible};

pub(crate) struct Net<'graph> {
    pub(crate) graph: &'graph Graph,
    /// Admissible links by cause, and by effect.
    pub(crate) out: Vec<Vec<usize>>,
    pub(crate) into: Vec<Vec<usize>>,
    /// Nodes not seen false that can reach each other, causes before effects.
    pub(crate) groups: Vec<Vec<usize>>,
    /// `None` for nodes seen false.
    pub(crate) group_of: Vec<Option<usize>>,
    /// Active nodes that cause each other, by their smallest member.
    pub(crate) rings: Vec<Vec<usize>>,
    pub(crate) ring_of: Vec<Option<usize>>,
    /// Length of the longest way down to a node that is seen, through seen nodes only.
    pub(crate) layer: Vec<usize>,
    /// Whether planned maintenance that is seen is a direct cause.
    pub(crate) maintained: Vec<bool>,
}

impl<'graph> Net<'graph> {
    pub(crate) fn new(graph: &'graph Graph) -> Net<'graph> {
        let count = graph.nodes.len();
        let mut out = vec![Vec::new(); count];
        let mut into = vec![Vec::new(); count];
        let mut maintained = vec![false; count];
        for (index, link) in graph.links.iter().enumerate() {
            if admissible(graph, link) {
                out[link.cause].push(index);
                into[link.effect].push(index);
                maintained[link.effect] |= graph.is_maintenance(link.cause);
            }
        }
        let mut groups = strong_components(graph, &out, |node| !graph.is_false(node));
        groups.reverse();
        let group_of = index_of(count, &groups);
        let mut rings = strong_components(graph, &out, |node| graph.is_active(node));
        rings.retain(|ring| ring.len() > 1 || has_loop(graph, &out, ring[0]));
        rings.sort_unstable_by_key(|ring| ring[0]);
        let ring_of = index_of(count, &rings);
        let layer = layers(graph, &out);
        Net { graph, out, into, groups, group_of, rings, ring_of, layer, maintained }
    }

    pub(crate) fn links_from(&self, node: usize) -> impl Iterator<Item = (usize, &'graph Link)> {
        self.out[node].iter().map(|&index| (index, &self.graph.links[index]))
    }

    pub(crate) fn links_to(&self, node: usize) -> impl Iterator<Item = (usize, &'graph Link)> {
        self.into[node].iter().map(|&index| (index, &self.graph.links[index]))
    }

    pub(crate) fn same_ring(&self, one: usize, other: usize) -> bool {
        self.ring_of[one].is_some() && self.ring_of[one] == self.ring_of[other]
    }
}

pub(crate) fn has_loop(graph: &Graph, out: &[Vec<usize>], node: usize) -> bool {
    out[node].iter().any(|&link| graph.links[link].effect == node)
}

/// Effects before causes; members in node order. Kosaraju, because petgraph's Tarjan recurses and a
/// long chain would overflow the stack.
fn strong_components(
    graph: &Graph,
    out: &[Vec<usize>],
    keep: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let kept: Vec<usize> = (0..graph.nodes.len()).filter(|&node| keep(node)).collect();
    let mut place = vec![None; graph.nodes.len()];
    let mut walk = DiGraph::<(), ()>::with_capacity(kept.len(), graph.links.len());
    for &node in &kept {
        place[node] = Some(walk.add_node(()));
    }
    for (&node, from) in kept.iter().zip((0..).map(NodeIndex::new)) {
        for &link in &out[node] {
            if let Some(to) = place[graph.links[link].effect] {
                walk.add_edge(from, to, ());
            }
        }
    }
    let mut components: Vec<Vec<usize>> = kosaraju_scc(&walk)
        .into_iter()
        .map(|members| members.into_iter().map(|member| kept[member.index()]).collect())
        .collect();
    for members in &mut components {
        members.sort_unstable();
    }
    components
}

fn layers(graph: &Graph, out: &[Vec<usize>]) -> Vec<usize> {
    let blamable = |node| graph.is_true(node) && !graph.is_maintenance(node);
    let components = strong_components(graph, out, blamable);
    let mut layer = vec![0; graph.nodes.len()];
    for members in components.iter().rev() {
        let deepest = members.iter().map(|&node| layer[node]).max().unwrap_or(0);
        for &node in members {
            layer[node] = deepest;
        }
        for &link in members.iter().flat_map(|&node| &out[node]) {
            let effect = graph.links[link].effect;
            if members.binary_search(&effect).is_err() {
                layer[effect] = layer[effect].max(deepest + 1);
            }
        }
    }
    layer
}

fn index_of(count: usize, sets: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut of = vec![None; count];
    for (index, set) in sets.iter().enumerate() {
        for &member in set {
            of[member] = Some(index);
        }
    }
    of
}
