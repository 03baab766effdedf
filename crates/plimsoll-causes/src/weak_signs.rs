//! Weak signs that nothing explains. The search may leave them: alone they convict nobody.

use std::collections::BTreeSet;

use crate::{Confidence, Explanation, Graph, RootFinding, admissible, explain};

/// As [`explain`], but a weak sign that could be a root and that nothing explains is a probable one:
/// better said than left among the unexplained. The search asks more of it, so that noise is no root.
pub fn blame(graph: &Graph) -> Explanation {
    let mut told = explain(graph);
    blame_signs(graph, &mut told);
    told
}

/// One blame is enough: what it would cause and is unexplained as well is put below it.
fn blame_signs(graph: &Graph, told: &mut Explanation) {
    let mut left: BTreeSet<usize> = told.unexplained.iter().copied().collect();
    let links: Vec<usize> = (0..graph.links.len())
        .filter(|&at| {
            let link = &graph.links[at];
            link.cause != link.effect
                && left.contains(&link.cause)
                && left.contains(&link.effect)
                && admissible(graph, link)
        })
        .collect();
    let is_sign = |node: &usize| graph.prior(*node).is_some() && !graph.is_strong(*node);
    let mut signs: Vec<usize> = left.iter().copied().filter(is_sign).collect();
    // What has a cause among them waits for it; in a ring the first begins.
    signs.sort_by_key(|&node| links.iter().any(|&at| graph.links[at].effect == node));
    for root in signs {
        if !left.remove(&root) {
            continue;
        }
        let mut explains = Vec::new();
        let mut todo = vec![root];
        while let Some(cause) = todo.pop() {
            for &at in links.iter().filter(|&&at| graph.links[at].cause == cause) {
                let effect = graph.links[at].effect;
                if left.remove(&effect) {
                    told.chain.push(at);
                    explains.push(effect);
                    todo.push(effect);
                }
            }
        }
        explains.sort_unstable();
        told.roots.push(RootFinding {
            node: root,
            confidence: Confidence::Probable,
            explains,
            ties: Vec::new(),
            doubts: Vec::new(),
        });
    }
    told.unexplained.retain(|node| left.contains(node));
    told.links_left.retain(|&at| left.contains(&graph.links[at].cause));
    told.links_left.retain(|&at| left.contains(&graph.links[at].effect));
    told.chain.sort_unstable();
    told.roots.sort_by_key(|root| root.node);
    let roots: BTreeSet<usize> = told.roots.iter().map(|root| root.node).collect();
    told.alternatives.retain(|alternative| !roots.contains(&alternative.node));
    told.roots.iter_mut().for_each(|root| root.ties.retain(|tie| !roots.contains(tie)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Likelihood, Link, Node, Observed, Prior, Role, Strength};

    fn graph(roots: &[bool], links: &[(usize, usize)]) -> Graph {
        let node = |root: &bool| Node {
            observed: Observed::True,
            strength: Strength::Weak,
            provable: true,
            root: root.then_some(Prior::Rare),
            role: Role::Fault,
            since: None,
            since_exact: true,
        };
        let link = |&(cause, effect): &(usize, usize)| Link {
            cause,
            effect,
            likelihood: Likelihood::Sometimes,
            delay_min: None,
            delay_max: None,
        };
        Graph {
            nodes: roots.iter().map(node).collect(),
            links: links.iter().map(link).collect(),
            holds: Vec::new(),
        }
    }

    type Roots = Vec<(usize, Vec<usize>)>;

    /// Roots with what they explain, links of the chain, and what is left.
    fn blamed(graph: &Graph) -> (Roots, Vec<usize>, Vec<usize>) {
        let all = (0..graph.nodes.len()).collect();
        let mut explanation = Explanation { unexplained: all, ..Explanation::default() };
        blame_signs(graph, &mut explanation);
        let roots = explanation.roots.into_iter().map(|root| (root.node, root.explains)).collect();
        (roots, explanation.chain, explanation.unexplained)
    }

    #[test]
    fn the_first_of_a_chain_is_blamed_and_the_rest_stands_below_it() {
        let chain = graph(&[true, false, true, false], &[(2, 0), (0, 1)]);
        assert_eq!(blamed(&chain), (vec![(2, vec![0, 1])], vec![0, 1], vec![3]));
    }

    #[test]
    fn a_ring_is_blamed_once_and_strangers_each() {
        assert_eq!(blamed(&graph(&[true, true], &[(0, 1), (1, 0)])).0, [(0, vec![1])]);
        assert_eq!(blamed(&graph(&[true, true], &[])).0, [(0, vec![]), (1, vec![])]);
    }
}
