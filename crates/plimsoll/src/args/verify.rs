use std::path::PathBuf;

use clap::Args;

use super::{DataOutput, Reach, Talk};

/// See whether the cluster is well, and stays so
///
/// Every ClusterOperator Available, not Progressing and not Degraded, every Node
/// Ready, pools, etcd, requests, ClusterVersion, and a diagnosis without a root.
/// A live cluster is looked at again and again until all of it held for --dwell.
/// Exit codes: 0 verified, 1 not, 2 wrong usage, 66 unreadable input.
#[derive(Debug, Args)]
pub struct Verify {
    /// As for 'diagnose'. Of a live cluster a window of time is watched; of an archive
    /// there is one look
    #[arg(value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,

    /// After the repair of this failure mode: it must be gone, and what a person has
    /// to check is listed; Node/master-1:ID asks of that one alone
    #[arg(long = "for", value_name = "[ENTITY:]ID")]
    pub after: Option<String>,

    /// Seconds that everything has to hold
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=86400))]
    pub dwell: u64,

    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub poll: u64,

    /// Seconds after which it is given up when it never held that long; 20 minutes
    /// more than --dwell where it is not given
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=172_800))]
    pub patience: Option<u64>,

    /// The gate of the first hour after an install: what is Degraded counts, although
    /// the installer did not wait for it
    #[arg(long)]
    pub after_install: bool,

    /// At the end, run a small workload in a namespace of its own, and take it away
    /// again
    #[arg(long)]
    pub smoke: bool,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = DataOutput::Text)]
    pub output: DataOutput,

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
