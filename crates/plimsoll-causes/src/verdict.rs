//! Puts the parts together: spread what is seen, choose among the unseen, spread again, and tell.

use crate::alone::{alone, doubts};
use crate::alternatives::Rivals;
use crate::candidates::{Component, components};
use crate::chain::{Chain, chain, owners};
use crate::checks;
use crate::deadlock::{deadlocks, held_deadlocks, ring_links};
use crate::hypotheses::hypotheses;
use crate::net::Net;
use crate::ruled_out::ruled_out;
use crate::search::{Found, cover_agrees, is_sensitive, search};
use crate::spread::{Choice, Place, Spread, spread};
use crate::weights::{displaces, likelihood};
use crate::{Alternative, Confidence, Deadlock, Explanation, Graph, Link, NextCheck, RootFinding};

/// Rounds of dropping one idle root a component before all that are left are dropped at once.
const POLITE_ROUNDS: usize = 4;

/// Rounds in which a seen root may still be put behind others.
const DEFERRING_ROUNDS: usize = 8;

/// A component with the search's answer.
struct Case {
    component: Component,
    found: Found,
    cover_agrees: bool,
}

/// The most probable explanation of what is seen in the graph.
pub fn explain(graph: &Graph) -> Explanation {
    let net = Net::new(graph);
    let base = spread(&net, &Choice::none(graph.nodes.len()));
    let mut cases: Vec<Case> = components(&net, &base).into_iter().map(Case::new).collect();
    let fancied: Vec<usize> = cases.iter().flat_map(Case::chosen).collect();
    let (last, chain) = settle(&net, &mut cases);
    let is_root = |node: usize| last.place[node] == Place::Root;
    let worth_a_check = |node: usize| is_root(node) || fancied.contains(&node);

    let mut alternatives = Vec::new();
    let mut next_checks: Vec<NextCheck> = Vec::new();
    for Case { component, found, .. } in &cases {
        let rivals = Rivals { net: &net, base: &base, component, best: &found.best };
        alternatives.extend(rivals.alternatives(is_root));
        let hypotheses = hypotheses(&net, &base, component, &found.ranked);
        next_checks.extend(checks::next_checks(&net, &base, component, &hypotheses, worth_a_check));
    }
    checks::keep_best(&mut next_checks);
    let ruled_out = ruled_out(&net, &last);
    alternatives.retain(|alternative: &Alternative| {
        ruled_out.binary_search_by_key(&alternative.node, |out| out.node).is_err()
    });
    alternatives.sort_by_key(|alternative| alternative.instead_of);

    let active = (0..graph.nodes.len()).filter(|&node| graph.is_active(node));
    let assumed = |&node: &usize| last.place[node] == Place::Assumed && chain.needed[node];
    let expected = |&node: &usize| last.place[node] == Place::Caused && !chain.fault[node];
    let mut links: Vec<usize> =
        chain.shown.iter().flatten().copied().chain(ring_links(&net, &last)).collect();
    links.sort_unstable();
    links.dedup();
    Explanation {
        roots: roots(&net, &last, &chain, &cases, &alternatives),
        chain: links,
        assumed: (0..graph.nodes.len()).filter(assumed).collect(),
        expected: active.clone().filter(expected).collect(),
        unexplained: active.filter(|&node| last.place[node] == Place::Out).collect(),
        links_left: links_left(&net, &last),
        deadlocks: all_deadlocks(graph, &net, &last, &chain.shown),
        alternatives,
        ruled_out,
        sensitive: cases.iter().any(Case::is_sensitive),
        next_checks,
    }
}

/// What nobody explains may still follow from one another: the first of them is where to look.
fn links_left(net: &Net, last: &Spread) -> Vec<usize> {
    let left = |node: usize| last.place[node] == Place::Out && net.graph.is_active(node);
    let follows = |link: &Link| {
        left(link.cause) && left(link.effect) && !net.same_ring(link.cause, link.effect)
    };
    let links = (0..net.graph.nodes.len()).flat_map(|node| net.links_to(node));
    let mut found: Vec<usize> =
        links.filter(|(_, link)| follows(link)).map(|(index, _)| index).collect();
    found.sort_unstable();
    found
}

/// A ring that is part of a larger one, closed by a hold, is reported once.
fn all_deadlocks(graph: &Graph, net: &Net, last: &Spread, shown: &[Vec<usize>]) -> Vec<Deadlock> {
    let mut held = held_deadlocks(graph, shown);
    let within = |ring: &Deadlock| {
        held.iter().any(|larger| ring.members.iter().all(|node| larger.members.contains(node)))
    };
    let mut plain = deadlocks(net, last, shown);
    plain.retain(|ring| !within(ring));
    plain.append(&mut held);
    plain
}

impl Case {
    fn new(component: Component) -> Case {
        let found = search(&component);
        let cover_agrees = cover_agrees(&component, &found.best);
        Case { component, found, cover_agrees }
    }

    fn is_sensitive(&self) -> bool {
        !self.cover_agrees || is_sensitive(&self.component, &self.found.best)
    }

    fn chosen(&self) -> impl Iterator<Item = usize> {
        self.found.best.iter().map(|&at| self.component.candidates[at].node)
    }
}

/// Spreads from the chosen roots, and again after what the result itself shows to be wrong: a chosen
/// root without which everything is still explained, or a seen root that another one reaches.
fn settle(net: &Net, cases: &mut [Case]) -> (Spread, Chain) {
    let count = net.graph.nodes.len();
    let mut choice = Choice::none(count);
    let mut round = 0;
    loop {
        choice.chosen = vec![false; count];
        for node in cases.iter().flat_map(Case::chosen) {
            choice.chosen[node] = true;
        }
        let spread = spread(net, &choice);
        let chain = chain(net, &spread);
        let owners = owners(net, &spread, &chain.all);
        let deferred = round < DEFERRING_ROUNDS && defer(net, &spread, &owners, &mut choice);
        if !drop_idle(net, cases, &owners, round) && !deferred {
            return (spread, chain);
        }
        round += 1;
    }
}

/// A chosen root must earn its place by a symptom that is nobody else's. One that is not seen itself
/// must stand right above it: with another unseen state between the two it is a guess upon a guess.
fn drop_idle(net: &Net, cases: &mut [Case], owners: &[Vec<usize>], round: usize) -> bool {
    let mut earns = vec![false; owners.len()];
    for (node, owners) in owners.iter().enumerate() {
        if let ([owner], true) = (owners.as_slice(), net.graph.is_active(node)) {
            let beside = || net.links_from(*owner).any(|(_, link)| link.effect == node);
            earns[*owner] |= !net.graph.is_unknown(*owner) || beside();
        }
    }
    let mut dropped = false;
    for case in cases {
        let candidates = &case.component.candidates;
        let idle = |&at: &usize| !earns[candidates[at].node];
        if round >= POLITE_ROUNDS {
            dropped |= case.found.best.iter().any(idle);
            case.found.best.retain(|at| !idle(at));
        } else if let Some(at) = case.found.best.iter().rposition(idle) {
            case.found.best.remove(at);
            dropped = true;
        }
    }
    dropped
}

/// Inside a group that unknown nodes hold together, the order of starts is a guess. A seen root that
/// causes of other owners would displace starts last next time.
fn defer(net: &Net, spread: &Spread, owners: &[Vec<usize>], choice: &mut Choice) -> bool {
    let graph = net.graph;
    let mut deferred = false;
    for &node in &spread.order {
        let Some(prior) = graph.prior(node).filter(|_| graph.is_true(node)) else { continue };
        if spread.place[node] != Place::Root || choice.deferred[node] {
            continue;
        }
        let elsewhere = |link: &&Link| {
            spread.place[link.cause] != Place::Out && !owners[link.cause].contains(&node)
        };
        let links = net.links_to(node).map(|(_, link)| link).filter(elsewhere);
        let miss: f64 = links
            .map(|link| 1.0 - spread.belief[link.cause] * likelihood(link.likelihood))
            .product();
        if displaces(1.0 - miss, prior) {
            choice.deferred[node] = true;
            deferred = true;
        }
    }
    deferred
}

fn roots(
    net: &Net,
    last: &Spread,
    chain: &Chain,
    cases: &[Case],
    alternatives: &[Alternative],
) -> Vec<RootFinding> {
    let graph = net.graph;
    let alone = alone(net);
    let mut doubted = vec![false; graph.nodes.len()];
    for node in cases.iter().filter(|case| !case.cover_agrees).flat_map(Case::chosen) {
        doubted[node] = true;
    }
    let mut explains = vec![Vec::new(); graph.nodes.len()];
    for (node, owners) in owners(net, last, &chain.shown).into_iter().enumerate() {
        for owner in owners {
            if graph.is_true(node) && chain.needed[node] && owner != node {
                explains[owner].push(node);
            }
        }
    }
    let mut ties = vec![Vec::new(); graph.nodes.len()];
    for alternative in alternatives.iter().filter(|alternative| alternative.tie) {
        ties[alternative.instead_of].push(alternative.node);
    }
    (0..graph.nodes.len())
        .filter(|&node| last.place[node] == Place::Root)
        .map(|node| RootFinding {
            node,
            confidence: confidence(graph, node, alone[node], doubted[node]),
            explains: std::mem::take(&mut explains[node]),
            ties: std::mem::take(&mut ties[node]),
            doubts: doubts(net, &alone, node),
        })
        .collect()
}

fn confidence(graph: &Graph, node: usize, alone: bool, doubted: bool) -> Confidence {
    if graph.is_true(node) && graph.is_strong(node) && graph.nodes[node].provable && alone {
        Confidence::Confirmed
    } else if graph.is_true(node) && !doubted {
        Confidence::Probable
    } else {
        Confidence::Suspected
    }
}
