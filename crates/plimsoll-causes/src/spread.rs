//! From a choice of unseen roots to what is explained: belief flows from causes to effects, and
//! whatever is strongly seen, can be a root and is not reached becomes one.
//!
//! The choice itself is made in `search`; this is the only place that decides who is a root.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::admissible::{arrival, earliest, in_time};
use crate::net::Net;
use crate::weights::{FAINT, displaces, likelihood, rounded};
use crate::{Link, Role};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not explained, or not needed.
    Out,
    Root,
    Maintenance,
    /// In a ring that nothing outside set off.
    Ring,
    /// Seen, and reached by a cause.
    Caused,
    /// Unknown, and reached by a cause.
    Assumed,
}

pub(crate) struct Spread {
    pub(crate) place: Vec<Place>,
    /// Placed nodes, each after what it was reached by, and the position of each node in it.
    pub(crate) order: Vec<usize>,
    pub(crate) position: Vec<usize>,
    /// Chance that the node is true; 0 where it was not reached.
    pub(crate) belief: Vec<f64>,
    /// Chance that no placed cause produced the node.
    pub(crate) miss: Vec<f64>,
    /// The same for causes that are seen but themselves unexplained.
    pub(crate) loose_miss: Vec<f64>,
    /// Bound on the onset of placed nodes, carried through unknown ones.
    pub(crate) earliest: Vec<i64>,
}

impl Spread {
    /// Whether the link carries belief from a placed cause to an effect placed after it.
    pub(crate) fn carries(&self, net: &Net, link: &Link) -> bool {
        self.place[link.cause] != Place::Out
            && matches!(self.place[link.effect], Place::Caused | Place::Assumed)
            && self.position[link.cause] < self.position[link.effect]
            && in_time(&net.graph.nodes[link.effect], arrival(self.earliest[link.cause], link))
    }
}

#[derive(Clone, Copy)]
enum Start {
    Root(usize),
    /// By its place in the net.
    Ring(usize),
}

/// What the search and earlier rounds decided, by node.
pub(crate) struct Choice {
    /// Roots that are unknown or only weakly seen.
    pub(crate) chosen: Vec<bool>,
    /// Seen nodes that turned out to be reached from elsewhere, so that others start first.
    pub(crate) deferred: Vec<bool>,
}

impl Choice {
    pub(crate) fn none(count: usize) -> Choice {
        Choice { chosen: vec![false; count], deferred: vec![false; count] }
    }
}

struct Spreader<'net, 'graph> {
    net: &'net Net<'graph>,
    choice: &'net Choice,
    done: Spread,
    ready: BinaryHeap<(i64, Reverse<usize>)>,
}

pub(crate) fn spread(net: &Net, choice: &Choice) -> Spread {
    let count = net.graph.nodes.len();
    let done = Spread {
        place: vec![Place::Out; count],
        order: Vec::with_capacity(count),
        position: vec![0; count],
        belief: vec![0.0; count],
        miss: vec![1.0; count],
        loose_miss: vec![1.0; count],
        earliest: vec![i64::MAX; count],
    };
    let mut spreader = Spreader { net, choice, done, ready: BinaryHeap::new() };
    for group in 0..net.groups.len() {
        spreader.settle_group(group);
    }
    spreader.done
}

impl Spreader<'_, '_> {
    fn settle_group(&mut self, group: usize) {
        let net = self.net;
        let members = &net.groups[group];
        for &node in members {
            if net.graph.is_maintenance(node) {
                self.settle(node, Place::Maintenance);
            } else if self.choice.chosen[node] && net.graph.is_unknown(node) {
                self.settle(node, Place::Root);
            }
        }
        for &node in members {
            self.offer(node);
        }
        self.drain();
        for start in self.own_starts(members) {
            match start {
                Start::Root(root) if self.done.place[root] == Place::Out => {
                    self.settle(root, Place::Root);
                }
                Start::Root(_) => {}
                Start::Ring(ring) => self.settle_ring(&net.rings[ring]),
            }
            self.drain();
        }
        self.leave_loose(members);
    }

    /// Where the group starts unless something reaches it from outside: seen causes before their
    /// effects, and among equals the earliest onset.
    fn own_starts(&self, members: &[usize]) -> Vec<Start> {
        let net = self.net;
        let mut starts = Vec::new();
        for &node in members {
            if self.done.place[node] != Place::Out {
                continue;
            }
            let since = net.graph.nodes[node].since.unwrap_or(i64::MAX);
            if self.is_own_root(node) {
                let last = self.choice.deferred[node];
                starts.push(((last, net.layer[node], false, since, node), Start::Root(node)));
            }
            if let Some(ring) = net.ring_of[node].filter(|&ring| net.rings[ring][0] == node) {
                starts.push(((false, net.layer[node], true, since, node), Start::Ring(ring)));
            }
        }
        starts.sort_unstable_by_key(|&(key, _)| key);
        starts.into_iter().map(|(_, start)| start).collect()
    }

    /// A weak sign convicts only by the search, but inside a ring someone has to be first.
    fn is_own_root(&self, node: usize) -> bool {
        let graph = self.net.graph;
        graph.is_active(node)
            && graph.prior(node).is_some()
            && (graph.is_strong(node)
                || self.choice.chosen[node]
                || self.net.ring_of[node].is_some())
            && !self.net.maintained[node]
            && !self.follows_the_unexplained(node)
    }

    /// What a seen symptom brought about is no root, even where nobody knows what caused that.
    fn follows_the_unexplained(&self, node: usize) -> bool {
        let graph = self.net.graph;
        let is_left = |link: &&Link| {
            let cause = link.cause;
            graph.is_active(cause)
                && graph.is_strong(cause)
                && self.done.place[cause] == Place::Out
                && self.net.group_of[cause] != self.net.group_of[node]
        };
        let links = self.net.links_to(node).map(|(_, link)| link).filter(is_left);
        let miss: f64 = links.map(|link| 1.0 - likelihood(link.likelihood)).product();
        graph.is_strong(node) && graph.prior(node).is_some_and(|prior| displaces(1.0 - miss, prior))
    }

    /// A ring that nothing has reached stands for itself.
    fn settle_ring(&mut self, ring: &[usize]) {
        if ring.iter().all(|&node| self.done.place[node] == Place::Out) {
            for &node in ring {
                self.done.place[node] = Place::Ring;
            }
            for &node in ring {
                self.settle(node, Place::Ring);
            }
        }
    }

    /// What is strongly seen is true even when unexplained, so its effects are no riddle of their own.
    fn leave_loose(&mut self, members: &[usize]) {
        let graph = self.net.graph;
        for &node in members {
            if self.done.place[node] != Place::Out || !graph.is_true(node) || !graph.is_strong(node)
            {
                continue;
            }
            for (_, link) in self.net.links_from(node) {
                let later = self.net.group_of[link.effect] != self.net.group_of[node]
                    || self.net.layer[link.effect] > self.net.layer[node];
                if later {
                    self.done.loose_miss[link.effect] *= 1.0 - likelihood(link.likelihood);
                }
            }
        }
    }

    fn settle(&mut self, node: usize, place: Place) {
        let graph = self.net.graph;
        let done = &mut self.done;
        done.place[node] = place;
        done.position[node] = done.order.len();
        done.order.push(node);
        done.belief[node] = if place == Place::Assumed { 1.0 - done.miss[node] } else { 1.0 };
        if place != Place::Assumed {
            done.earliest[node] = earliest(&graph.nodes[node]);
        }
        for (_, link) in self.net.links_from(node) {
            self.pass_on(link);
        }
    }

    fn pass_on(&mut self, link: &Link) {
        let Link { cause, effect, .. } = *link;
        let done = &mut self.done;
        let begins = arrival(done.earliest[cause], link);
        if done.place[effect] != Place::Out || !in_time(&self.net.graph.nodes[effect], begins) {
            return;
        }
        done.miss[effect] *= 1.0 - done.belief[cause] * likelihood(link.likelihood);
        done.earliest[effect] = done.earliest[effect].min(begins);
        if self.net.group_of[effect] == self.net.group_of[cause] {
            self.offer(effect);
        }
    }

    fn offer(&mut self, node: usize) {
        if self.done.place[node] == Place::Out && self.is_reached(node) {
            self.ready.push((rounded(1.0 - self.done.miss[node]), Reverse(node)));
        }
    }

    fn is_reached(&self, node: usize) -> bool {
        let graph = self.net.graph;
        let support = 1.0 - self.done.miss[node];
        match graph.prior(node) {
            _ if graph.is_false(node) || graph.nodes[node].role == Role::Expected => false,
            Some(prior)
                if graph.is_true(node) && graph.is_strong(node) && !self.net.maintained[node] =>
            {
                displaces(support, prior)
            }
            _ => support >= FAINT,
        }
    }

    fn drain(&mut self) {
        while let Some((_, Reverse(node))) = self.ready.pop() {
            if self.done.place[node] == Place::Out {
                let unknown = self.net.graph.is_unknown(node);
                self.settle(node, if unknown { Place::Assumed } else { Place::Caused });
            }
        }
    }
}
