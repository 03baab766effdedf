use std::path::PathBuf;

use clap::Args;

use super::{DataOutput, Reach, Talk};

/// Put all that is needed for a diagnosis into one archive, without secrets
///
/// The archive is laid out as a must-gather; 'plimsoll diagnose FILE' gives what
/// a live diagnosis would have given at that time. Only reads.
/// Exit codes: 0 complete, 3 with gaps, which are listed, 2 wrong usage,
/// 66 nothing to read from.
#[derive(Debug, Args)]
pub struct Capture {
    /// kube:CONTEXT for a context of the kubeconfig (without any source, the current
    /// one); ssh:[USER@]HOST for a node over ssh, ssh:all for all that the API names;
    /// node:ROOT for the node this runs on; bmc:FILE for BMCs over Redfish,
    /// bmc:cluster for those of the cluster's BareMetalHosts
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,

    /// The archive to write (.tar.gz); it must not exist yet
    #[arg(long, short = 'o', value_name = "FILE", required_unless_present = "rbac")]
    pub file: Option<PathBuf>,

    /// Write other addresses and host names in place of the true ones. NAMES is a
    /// file for you alone that tells which is which; it is made, or used again
    #[arg(long, value_name = "NAMES", requires = "file")]
    pub disguise: Option<PathBuf>,

    /// Print the roles that a reading needs, for 'oc apply -f -', and read nothing;
    /// with USER (or system:serviceaccount:NAMESPACE:NAME) also what grants them
    #[arg(long, value_name = "USER", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["file", "sources"])]
    pub rbac: Option<String>,

    /// Form of the account of what was written
    #[arg(long, value_enum, default_value_t = DataOutput::Text)]
    pub output: DataOutput,

    /// Take this as the time of the capture
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<jiff::Timestamp>,

    /// Add a knowledge pack from a folder; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub pack: Vec<PathBuf>,

    #[command(flatten)]
    pub reach: Reach,

    #[command(flatten)]
    pub talk: Talk,
}
