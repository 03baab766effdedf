//! Cruder ways to name roots on the same graph, to measure what the inference is worth. Nothing of
//! the product uses them.

use std::collections::BTreeSet;

use crate::{Graph, admissible};

/// The same graph without any onset: no link is ruled out by time.
pub fn without_onsets(graph: &Graph) -> Graph {
    let mut graph = graph.clone();
    graph.nodes.iter_mut().for_each(|node| node.since = None);
    graph
}

/// Active nodes that may be roots and that no active node could have caused.
pub fn no_failing_parent(graph: &Graph) -> Vec<usize> {
    let mut caused = vec![false; graph.nodes.len()];
    for link in graph.links.iter().filter(|link| admissible(graph, link)) {
        caused[link.effect] |= graph.is_true(link.cause);
    }
    (0..graph.nodes.len()).filter(|&node| graph.is_active(node) && !caused[node]).collect()
}

/// Greedy set cover: again and again the possible root with the largest share of its effects active
/// (its hit ratio), then with the most that nothing chosen so far covers.
pub fn set_cover(graph: &Graph) -> Vec<usize> {
    let mut effects = vec![Vec::new(); graph.nodes.len()];
    for link in graph.links.iter().filter(|link| admissible(graph, link)) {
        effects[link.cause].push(link.effect);
    }
    let candidates: Vec<(usize, BTreeSet<usize>, f64)> = (0..graph.nodes.len())
        .filter(|&node| graph.prior(node).is_some() && !graph.is_false(node))
        .map(|node| {
            let reached = reach(graph, &effects, node);
            let told = reached.iter().filter(|&&at| !graph.is_unknown(at)).count();
            let active: BTreeSet<usize> =
                reached.into_iter().filter(|&at| graph.is_active(at)).collect();
            let ratio = active.len() as f64 / told.max(1) as f64;
            (node, active, ratio)
        })
        .collect();
    let mut open: BTreeSet<usize> =
        (0..graph.nodes.len()).filter(|&node| graph.is_active(node)).collect();
    let mut roots = Vec::new();
    loop {
        let best = candidates
            .iter()
            .map(|(node, active, ratio)| {
                (*node, active, *ratio, active.intersection(&open).count())
            })
            .filter(|(.., gain)| *gain > 0)
            .max_by(|a, b| a.2.total_cmp(&b.2).then(a.3.cmp(&b.3)).then(b.0.cmp(&a.0)));
        let Some((node, active, ..)) = best else { break };
        open.retain(|at| !active.contains(at));
        roots.push(node);
    }
    roots.sort_unstable();
    roots
}

/// The node and everything that follows from it, through nodes that are not seen false; the first
/// false ones are in it, for they speak against it.
fn reach(graph: &Graph, effects: &[Vec<usize>], from: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for &effect in &effects[node] {
            if found.insert(effect) && !graph.is_false(effect) {
                open.push(effect);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Likelihood, Link, Node, Observed, Prior, Role, Strength};

    fn node(observed: Observed, root: bool, since: i64) -> Node {
        Node {
            observed,
            strength: Strength::Strong,
            provable: true,
            root: root.then_some(Prior::Uncommon),
            role: Role::Fault,
            since: Some(since),
            since_exact: true,
        }
    }

    fn link(cause: usize, effect: usize) -> Link {
        Link { cause, effect, likelihood: Likelihood::Usually, delay_min: None, delay_max: None }
    }

    /// 0 caused 1, which came with 2; 3 is unknown and could have caused 1 and 4, and 4 is not there.
    fn graph() -> Graph {
        let nodes = vec![
            node(Observed::True, true, 0),
            node(Observed::True, false, 500),
            node(Observed::True, false, 500),
            node(Observed::Unknown, true, 0),
            node(Observed::False, false, 0),
        ];
        let links = vec![link(0, 1), link(1, 2), link(3, 1), link(3, 4)];
        Graph { nodes, links, holds: Vec::new() }
    }

    #[test]
    fn each_method_names_the_plain_root() {
        assert_eq!(no_failing_parent(&graph()), [0]);
        assert_eq!(set_cover(&graph()), [0]);
    }

    #[test]
    fn without_onsets_an_effect_may_come_first() {
        let mut graph = graph();
        graph.nodes[0].since = Some(5_000);
        assert_eq!(no_failing_parent(&graph), [0, 1]);
        assert_eq!(no_failing_parent(&without_onsets(&graph)), [0]);
    }
}
