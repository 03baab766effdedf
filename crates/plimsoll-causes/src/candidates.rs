//! Roots that might be there without being plainly seen, and what each of them would explain.
//!
//! What is strongly seen or already explained splits the graph: belief never has to pass through it.
//! So a candidate reaches only as far as unknown and doubtful nodes carry, and candidates that share
//! no riddle do not compete. Which of them win is decided in `search`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::admissible::{arrival, earliest, in_time};
use crate::net::Net;
use crate::spread::{Place, Spread};
use crate::weights::{self, Detector, FAINT, LEAK, UNSEEN_ODDS, likelihood, rounded};
use crate::{Observed, Role};

/// Hidden nodes one candidate may pass through; keeps the cost of a candidate constant.
const WIDEST_REACH: usize = 400;

pub(crate) struct Candidate {
    pub(crate) node: usize,
    /// Log odds of its prior; an unseen one pays for being unseen.
    pub(crate) log_prior: f64,
    /// Observed nodes (by slot) it would produce, with the chance.
    pub(crate) hits: Vec<(usize, f64)>,
    /// Unknown nodes it would produce, with the chance, in node order.
    pub(crate) hidden: Vec<(usize, f64)>,
}

/// An observed node as the candidates of one component see it.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) node: usize,
    pub(crate) seen: bool,
    pub(crate) detector: Detector,
    /// Chance that the node is not there unless a candidate produces it.
    pub(crate) miss: f64,
    /// It is unexplained so far, or a root only for want of a cause.
    pub(crate) needy: bool,
}

/// Candidates that compete for the same riddles.
#[derive(Default)]
pub(crate) struct Component {
    pub(crate) slots: Vec<Slot>,
    pub(crate) candidates: Vec<Candidate>,
}

pub(crate) fn components(net: &Net, base: &Spread) -> Vec<Component> {
    let field = Field { net, base };
    let mut walk = Walk::new(net.graph.nodes.len());
    let reaches: Vec<Reach> = field
        .candidates()
        .into_iter()
        .map(|node| walk.reach(&field, node))
        .filter(|reach| reach.observed.iter().any(|&(node, _)| field.is_needy(node)))
        .collect();
    let mut components: Vec<Component> = Vec::new();
    for members in competing(&field, &reaches) {
        components.push(field.component(members.iter().map(|&index| &reaches[index])));
    }
    components
}

struct Reach {
    node: usize,
    observed: Vec<(usize, f64)>,
    hidden: Vec<(usize, f64)>,
}

struct Field<'net, 'graph> {
    net: &'net Net<'graph>,
    base: &'net Spread,
}

impl Field<'_, '_> {
    fn is_needy(&self, node: usize) -> bool {
        let graph = self.net.graph;
        graph.is_active(node)
            && match self.base.place[node] {
                Place::Root => true,
                Place::Out => !graph.is_strong(node) || self.base.loose_miss[node] > 1.0 - FAINT,
                _ => false,
            }
    }

    /// Unknown, or seen by a weak sign that nothing explains: belief passes through.
    fn is_soft(&self, node: usize) -> bool {
        let graph = self.net.graph;
        let doubtful =
            graph.is_true(node) && !graph.is_strong(node) && self.base.place[node] == Place::Out;
        graph.nodes[node].role != Role::Expected && (graph.is_unknown(node) || doubtful)
    }

    /// Soft nodes that can be roots and lie above a riddle, in node order.
    fn candidates(&self) -> Vec<usize> {
        let count = self.net.graph.nodes.len();
        let mut above: Vec<bool> = (0..count).map(|node| self.is_needy(node)).collect();
        let mut todo: Vec<usize> = (0..count).filter(|&node| above[node]).collect();
        while let Some(node) = todo.pop() {
            for (_, link) in self.net.links_to(node) {
                if !above[link.cause] && self.is_soft(link.cause) {
                    above[link.cause] = true;
                    todo.push(link.cause);
                }
            }
        }
        let fits = |&node: &usize| {
            let taken = self.net.graph.is_true(node) && self.net.maintained[node];
            self.is_soft(node) && self.net.graph.prior(node).is_some() && !taken
        };
        (0..count).filter(|&node| above[node]).filter(fits).collect()
    }

    fn component<'reach>(&self, reaches: impl Iterator<Item = &'reach Reach> + Clone) -> Component {
        let mut nodes: Vec<usize> = reaches
            .clone()
            .flat_map(|reach| reach.observed.iter().map(|&(node, _)| node))
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        let slots = nodes.iter().map(|&node| self.slot(node)).collect();
        let candidates = reaches.map(|reach| self.candidate(reach, &nodes)).collect();
        Component { slots, candidates }
    }

    fn slot(&self, node: usize) -> Slot {
        let graph = self.net.graph;
        let leak = match graph.prior(node) {
            Some(word) if graph.is_strong(node) => weights::prior(word),
            _ => LEAK,
        };
        let explained = match self.base.place[node] {
            Place::Ring => 0.0,
            _ => self.base.miss[node] * self.base.loose_miss[node],
        };
        Slot {
            node,
            seen: graph.is_true(node),
            detector: weights::detector(graph.nodes[node].strength),
            miss: (1.0 - leak) * explained,
            needy: self.is_needy(node),
        }
    }

    fn candidate(&self, reach: &Reach, nodes: &[usize]) -> Candidate {
        let graph = self.net.graph;
        let prior = graph.prior(reach.node).map_or(LEAK, weights::prior);
        let unseen = if graph.is_unknown(reach.node) { UNSEEN_ODDS.ln() } else { 0.0 };
        let slot_of = |&(node, chance): &(usize, f64)| {
            nodes.binary_search(&node).ok().map(|slot| (slot, chance))
        };
        Candidate {
            node: reach.node,
            log_prior: (prior / (1.0 - prior)).ln() - unseen,
            hits: reach.observed.iter().filter_map(slot_of).collect(),
            hidden: reach.hidden.clone(),
        }
    }
}

/// Groups of reaches that share a riddle, each in node order, by their first member.
fn competing(field: &Field, reaches: &[Reach]) -> Vec<Vec<usize>> {
    let mut leader: Vec<usize> = (0..reaches.len()).collect();
    let mut first_at = vec![None; field.net.graph.nodes.len()];
    for (index, reach) in reaches.iter().enumerate() {
        for &(node, _) in reach.observed.iter().filter(|&&(node, _)| field.is_needy(node)) {
            let other = *first_at[node].get_or_insert(index);
            let (one, two) = (find(&mut leader, index), find(&mut leader, other));
            leader[one.max(two)] = one.min(two);
        }
    }
    let mut groups = vec![Vec::new(); reaches.len()];
    for index in 0..reaches.len() {
        groups[find(&mut leader, index)].push(index);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn find(leader: &mut [usize], mut index: usize) -> usize {
    while leader[index] != index {
        leader[index] = leader[leader[index]];
        index = leader[index];
    }
    index
}

/// Scratch space of one walk, cleared by what the walk touched.
struct Walk {
    miss: Vec<f64>,
    earliest: Vec<i64>,
    closed: Vec<bool>,
    touched: Vec<usize>,
    ready: BinaryHeap<(i64, Reverse<usize>)>,
}

impl Walk {
    fn new(count: usize) -> Walk {
        Walk {
            miss: vec![1.0; count],
            earliest: vec![i64::MAX; count],
            closed: vec![false; count],
            touched: Vec::new(),
            ready: BinaryHeap::new(),
        }
    }

    /// Belief from `start` outwards, likeliest node first, so that rings need no special care.
    fn reach(&mut self, field: &Field, start: usize) -> Reach {
        let graph = field.net.graph;
        let mut reach = Reach { node: start, observed: Vec::new(), hidden: Vec::new() };
        self.touched.push(start);
        self.closed[start] = true;
        self.earliest[start] = earliest(&graph.nodes[start]);
        if graph.is_true(start) {
            reach.observed.push((start, 1.0));
        }
        self.pass_on(field, start, 1.0 - field.base.belief[start]);
        while let Some((_, Reverse(node))) = self.ready.pop() {
            let chance = 1.0 - self.miss[node];
            if self.closed[node] || chance < FAINT || reach.hidden.len() >= WIDEST_REACH {
                continue;
            }
            self.closed[node] = true;
            if graph.is_unknown(node) {
                reach.hidden.push((node, chance));
                self.pass_on(field, node, chance * (1.0 - field.base.belief[node]));
            } else {
                reach.observed.push((node, chance));
                let detector = weights::detector(graph.nodes[node].strength);
                self.earliest[node] = earliest(&graph.nodes[node]);
                self.pass_on(field, node, detector.after_firing(chance));
            }
        }
        for &node in &self.touched {
            if !self.closed[node] && !field.is_soft(node) {
                reach.observed.push((node, 1.0 - self.miss[node]));
            }
            self.miss[node] = 1.0;
            self.earliest[node] = i64::MAX;
            self.closed[node] = false;
        }
        self.touched.clear();
        reach.observed.sort_unstable_by_key(|&(node, _)| node);
        reach.hidden.sort_unstable_by_key(|&(node, _)| node);
        reach
    }

    fn pass_on(&mut self, field: &Field, node: usize, belief: f64) {
        for (_, link) in field.net.links_from(node) {
            let effect = link.effect;
            let target = &field.net.graph.nodes[effect];
            let begins = arrival(self.earliest[node], link);
            if self.closed[effect] || target.role == Role::Expected || !in_time(target, begins) {
                continue;
            }
            if self.miss[effect] == 1.0 {
                self.touched.push(effect);
            }
            self.miss[effect] *= 1.0 - belief * likelihood(link.likelihood);
            self.earliest[effect] = self.earliest[effect].min(begins);
            if target.observed != Observed::False && field.is_soft(effect) {
                self.ready.push((rounded(1.0 - self.miss[effect]), Reverse(effect)));
            }
        }
    }
}
