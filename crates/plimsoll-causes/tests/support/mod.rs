//! Short ways to write graphs.

#![allow(dead_code, reason = "every test file uses another part of it")]

use plimsoll_causes::{
    Confidence, Explanation, Graph, Likelihood, Link, Node, Observed, Prior, Role, Strength,
};

pub fn seen() -> Node {
    Node {
        observed: Observed::True,
        strength: Strength::Strong,
        provable: true,
        root: None,
        role: Role::Fault,
        since: None,
        since_exact: true,
    }
}

pub fn absent() -> Node {
    Node { observed: Observed::False, ..seen() }
}

pub fn unknown() -> Node {
    Node { observed: Observed::Unknown, ..seen() }
}

pub fn root(node: Node, prior: Prior) -> Node {
    Node { root: Some(prior), ..node }
}

pub fn common(node: Node) -> Node {
    root(node, Prior::Common)
}

pub fn weak(node: Node) -> Node {
    Node { strength: Strength::Weak, ..node }
}

pub fn at(node: Node, since: i64) -> Node {
    Node { since: Some(since), ..node }
}

pub fn role(node: Node, role: Role) -> Node {
    Node { role, ..node }
}

pub fn link(cause: usize, effect: usize, likelihood: Likelihood) -> Link {
    Link { cause, effect, likelihood, delay_min: None, delay_max: None }
}

/// Links that usually hold.
pub fn graph(nodes: &[Node], links: &[(usize, usize)]) -> Graph {
    let links = links.iter().map(|&(cause, effect)| link(cause, effect, Likelihood::Usually));
    Graph { nodes: nodes.to_vec(), links: links.collect(), holds: Vec::new() }
}

pub fn roots(explanation: &Explanation) -> Vec<usize> {
    explanation.roots.iter().map(|root| root.node).collect()
}

pub fn confirmed(explanation: &Explanation) -> Vec<usize> {
    let confirmed =
        explanation.roots.iter().filter(|root| root.confidence == Confidence::Confirmed);
    confirmed.map(|root| root.node).collect()
}

/// Small, fast, and the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    pub fn chance(&mut self, chance: f64) -> bool {
        ((self.roll() % 1_000_000) as f64) < chance * 1e6
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.roll() % 1_000_000) as f64 / 1e6
    }
}
