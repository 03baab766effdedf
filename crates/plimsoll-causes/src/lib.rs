//! From what was seen to why it happened: the most probable explanation of a graph of propositions.
//!
//! [`explain`] takes propositions (seen true, seen false, unknown) and cause links between them, and
//! names the root causes, the chains from each to every symptom, rings, runner-ups, and the unknowns
//! worth looking at next; [`blame`] adds weak signs that nothing explains. Nothing here knows a
//! cluster, a file, a clock or a word of text: nodes and links are indices, and their names live with
//! the caller. Ties are broken by index.

mod admissible;
mod alone;
mod alternatives;
pub mod baselines;
mod candidates;
mod chain;
mod checks;
mod deadlock;
mod hypotheses;
mod net;
mod ruled_out;
mod search;
mod spread;
mod verdict;
mod weak_signs;
mod weights;

pub use admissible::{ONSET_SLACK_SECONDS, admissible};
pub use verdict::explain;
pub use weak_signs::blame;

/// Propositions in the canonical order, and the cause links between them.
/// Links that name a node which does not exist are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    /// Pairs (holder, held): the holder does not start the held node but keeps it from ending.
    /// They explain nothing; they close rings that are reported as deadlocks.
    pub holds: Vec<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    pub observed: Observed,
    /// How much the observation is worth.
    pub strength: Strength,
    /// The data would show what could have caused it; else it is not confirmed as a root.
    pub provable: bool,
    /// How often this happens by itself; `None` when it always needs a cause.
    pub root: Option<Prior>,
    pub role: Role,
    /// Onset in seconds; read only when the node was seen true.
    pub since: Option<i64>,
    /// `false`: the onset is known only as "at or before `since`".
    pub since_exact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Observed {
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    Strong,
    /// A sign that is sometimes wrong: alone it never confirms anything.
    Weak,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Prior {
    Common,
    Uncommon,
    Rare,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    Fault,
    /// Planned maintenance: explains, and is never a root.
    Expected,
    /// Never needs explaining and is never blamed; can be an effect and pass one on.
    Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    pub cause: usize,
    pub effect: usize,
    pub likelihood: Likelihood,
    /// The effect starts no sooner than this many seconds after the cause.
    pub delay_min: Option<i64>,
    /// The effect starts no later than this many seconds after the cause.
    pub delay_max: Option<i64>,
}

/// How often the cause produces the effect. Ordered from the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likelihood {
    Always,
    Usually,
    Sometimes,
    Rarely,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// In node order.
    pub roots: Vec<RootFinding>,
    /// Links that carry the explanation. No link enters a root; acyclic outside `deadlocks`.
    pub chain: Vec<usize>,
    /// Links from one unexplained node to another; acyclic.
    pub links_left: Vec<usize>,
    /// Unknown nodes taken as true between a root (or maintenance) and what it explains.
    pub assumed: Vec<usize>,
    /// Active nodes that planned maintenance explains.
    pub expected: Vec<usize>,
    /// Active nodes with no chain to a root, to maintenance or to a deadlock.
    pub unexplained: Vec<usize>,
    pub deadlocks: Vec<Deadlock>,
    pub alternatives: Vec<Alternative>,
    pub ruled_out: Vec<RuledOut>,
    /// The answer changes when all numbers are moved a little, or a cruder method disagrees with it.
    pub sensitive: bool,
    /// Largest gain first.
    pub next_checks: Vec<NextCheck>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootFinding {
    pub node: usize,
    pub confidence: Confidence,
    /// Active nodes and notes down the chain; a node below very many roots counts for some of them.
    pub explains: Vec<usize>,
    /// Alternatives that are as good as this root.
    pub ties: Vec<usize>,
    /// Unknown direct causes that keep a strongly seen root from being confirmed.
    pub doubts: Vec<usize>,
}

/// Ordered from the surest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Seen by a strong detector where its causes would be seen too, and nothing that is seen or
    /// unknown could have caused it.
    Confirmed,
    /// Seen, but by a weak sign or with an unknown that may stand behind it.
    Probable,
    /// Not seen.
    Suspected,
}

/// Active nodes that cause each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// In ring order, then the members off the shortest ring in node order.
    pub members: Vec<usize>,
    /// What set the ring off: a cause outside, else the member to start from.
    pub entry: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternative {
    pub node: usize,
    pub instead_of: usize,
    pub tie: bool,
    /// Unknown nodes whose truth would tell the two apart, most telling first.
    pub separated_by: Vec<usize>,
}

/// A node that could have explained something active, and the false node that speaks against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuledOut {
    pub node: usize,
    pub by: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NextCheck {
    pub node: usize,
    /// Expected information in bits.
    pub gain: f64,
    /// Possible roots whose standing the answer would change.
    pub separates: Vec<usize>,
}

impl Graph {
    pub(crate) fn is_true(&self, node: usize) -> bool {
        self.nodes[node].observed == Observed::True
    }

    pub(crate) fn is_unknown(&self, node: usize) -> bool {
        self.nodes[node].observed == Observed::Unknown
    }

    pub(crate) fn is_false(&self, node: usize) -> bool {
        self.nodes[node].observed == Observed::False
    }

    pub(crate) fn is_strong(&self, node: usize) -> bool {
        self.nodes[node].strength == Strength::Strong
    }

    /// Seen true and a fault: the nodes that want an explanation.
    pub(crate) fn is_active(&self, node: usize) -> bool {
        self.is_true(node) && self.nodes[node].role == Role::Fault
    }

    pub(crate) fn is_maintenance(&self, node: usize) -> bool {
        self.is_true(node) && self.nodes[node].role == Role::Expected
    }

    /// How often the node is a root by itself, if it may be one at all.
    pub(crate) fn prior(&self, node: usize) -> Option<Prior> {
        self.nodes[node].root.filter(|_| self.nodes[node].role == Role::Fault)
    }
}
