use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::{Reach, Talk};

/// Name the root causes, how each produced every symptom, and where the proof is
///
/// Exit codes: 0 healthy, 1 root causes found, 3 not provable from this data,
/// 2 wrong usage, 66 unreadable input.
#[derive(Debug, Args)]
pub struct Diagnose {
    /// A folder, or an archive (.tar, .tar.gz, .tar.xz, .tar.zst), whose kind is
    /// found out: a must-gather, an `oc adm inspect`, a log bundle of
    /// `openshift-install gather bootstrap`, an agent-gather, a sosreport, an
    /// insights archive, the installer's folder. Or a text: .openshift_install.log,
    /// the console log of a machine. node:ROOT is the root of a node, such as
    /// node:/host. Live: kube:CONTEXT is the cluster behind a context of the
    /// kubeconfig (without any source, the current one), ssh:[USER@]HOST a node over
    /// ssh, ssh:all every node that the API names, bmc:FILE BMCs over Redfish,
    /// bmc:cluster those of its BareMetalHosts. Several sources describe one cluster.
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,

    /// Show all evidence of root N, or of `all` roots and states
    #[arg(long, value_name = "N|all", num_args = 0..=1, default_missing_value = "all")]
    pub evidence: Option<ShownEvidence>,

    /// Diagnose live sources again every so many seconds and show what moved
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "30", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub follow: Option<u64>,

    /// Keep what was read of live sources in this archive, as 'capture' does
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    pub keep: Option<PathBuf>,

    /// Take this as the time of the gather
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<jiff::Timestamp>,

    /// Add a knowledge pack from a folder; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub pack: Vec<PathBuf>,

    /// Findings that you accept, in place of ./plimsoll.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub reach: Reach,

    #[command(flatten)]
    pub talk: Talk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    Text,
    Json,
    Markdown,
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownEvidence {
    Root(usize),
    All,
}

impl FromStr for ShownEvidence {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Self::Root(number)),
            _ if text == "all" => Ok(Self::All),
            _ => Err("give the number of a root, or 'all'".into()),
        }
    }
}
