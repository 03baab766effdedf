use std::path::PathBuf;

use clap::Args;

use super::{DataOutput, Reach, Talk};

/// Judge the certificate requests of kubelets, and approve what the rules let through
///
/// The rules are those of OpenShift's machine-approver, with BareMetalHosts and your
/// own list of nodes beside Machines. Without --approve nothing is changed.
/// Exit codes: 0 nothing is left to look at, 1 some are held or should be denied,
/// 2 wrong usage, 66 unreadable input.
#[derive(Debug, Args)]
pub struct Csr {
    /// kube:CONTEXT for a context of the kubeconfig (without any source, the current
    /// one), or a must-gather or capture, which is only judged
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,

    /// Approve those that the rules let through: one by one, each judged again right
    /// before
    #[arg(long)]
    pub approve: bool,

    /// Go on for so many seconds, for requests that come later: a node asks for its
    /// serving certificate when it has its first one. Ends when both are through
    #[arg(long, value_name = "SECONDS", requires = "approve", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub wait: Option<u64>,

    /// Nodes that you expect: a YAML file with 'nodes', each with 'name' and, where
    /// they are known, 'addresses'
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,

    /// Only the requests of this node, which you are repairing: it may ask for a new
    /// identity although its Node exists
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = DataOutput::Text)]
    pub output: DataOutput,

    /// Take this as the time of the gather
    #[arg(long, value_name = "RFC3339", conflicts_with = "approve")]
    pub now: Option<jiff::Timestamp>,

    #[command(flatten)]
    pub reach: Reach,

    #[command(flatten)]
    pub talk: Talk,
}
