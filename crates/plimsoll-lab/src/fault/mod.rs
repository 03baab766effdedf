//! Faults: what physically breaks, written beside the failure mode that names it.
//!
//! A `fault.md` says which states are the roots, which machine is picked, what the fault breaks (in
//! words that the simulator knows) and its direct evidence as edits with placeholders. What follows
//! in the cluster is not written here: the simulator works it out, and it never reads the rules.

mod bind;
mod parse;

pub use bind::{Bindings, Bound};
pub use parse::parse_faults;

/// Which machine a fault happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    Master,
    Worker,
    Node,
    /// A worker's BareMetalHost that never became a node.
    Host,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Masters and workers of their own.
    Ha,
    /// Masters that carry everything.
    Compact,
    Sno,
}

/// The word of a line below `breaks:`, and what it is said of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    pub line: u32,
    pub word: &'static str,
    pub arguments: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The file it stands in, for messages.
    pub path: String,
    pub id: String,
    /// `(id, entity)` with placeholders: the roots that name this fault.
    pub roots: Vec<(String, String)>,
    pub pick: Pick,
    /// As in `Infrastructure`: baremetal, none, external. Empty: any.
    pub platforms: Vec<String>,
    /// Minor versions, both ends in it.
    pub minors: Option<(u32, u32)>,
    pub topologies: Vec<Topology>,
    pub installing: bool,
    pub breaks: Vec<Break>,
    /// Breaks of another fault that this one keeps from happening.
    pub cancels: Vec<String>,
    /// Edits with placeholders, and the line of the file they start at.
    pub edits: (u32, String),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {message}")]
pub struct FaultError {
    pub path: String,
    pub line: u32,
    pub message: String,
}

/// Every word that may stand below `breaks:`, with how many arguments it has and what they are.
pub const WORDS: &[(&str, usize, &str)] = &[
    ("kubelet-silent", 1, "NODE"),
    ("mirror-pods-gone", 1, "NODE"),
    ("node-network-down", 1, "NODE"),
    ("node-never-joins", 1, "NODE"),
    ("workload-down", 1, "NAMESPACE/NAME"),
    ("workload-missing", 1, "NAMESPACE/NAME"),
    ("static-pod-crashing", 2, "COMPONENT NODE"),
    ("static-pod-stuck", 2, "COMPONENT NODE"),
    ("etcd-member-down", 1, "NODE"),
    ("etcd-slow", 0, ""),
    ("config-stuck", 2, "NODE \"reason\""),
    ("controllers-stopped", 0, ""),
    ("scheduler-stopped", 0, ""),
    ("ingress-unreachable", 1, "\"error text\""),
    ("operator-degraded", 3, "NAME REASON \"message\""),
    ("operator-unavailable", 3, "NAME REASON \"message\""),
    ("drain-blocked", 1, "NODE"),
    ("pulls-fail", 2, "NODE \"error text\""),
    ("install-stalls", 0, ""),
];
