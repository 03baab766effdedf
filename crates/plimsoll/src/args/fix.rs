use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Reach, Talk};

/// Plan the repair of a root cause; carry the plan out only when told to
///
/// Without --apply nothing is changed, ever: the plan is shown, with its digest.
/// Exit codes: 0 fixed and verified (or nothing to fix), 1 not fixed, 3 the cause
/// is not provable, 4 the plan is stale, 5 a guard refused, 2 wrong usage,
/// 66 unreadable input.
#[derive(Debug, Args)]
pub struct Fix {
    /// The root: its number in 'plimsoll diagnose', or its id (the first, if none is
    /// given). Then sources, as 'diagnose' takes them; ssh:all or ssh:HOST for plans
    /// that touch nodes, bmc:FILE or bmc:cluster for plans that touch power
    #[arg(value_name = "ROOT | SOURCE")]
    pub names: Vec<PathBuf>,

    /// Form of the plan or of the record
    #[arg(long, short, value_enum, default_value_t = PlanOutput::Text)]
    pub output: PlanOutput,

    /// Write the plan to this file as well; it must not exist yet
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,

    /// Carry out the plan with this digest, as it was shown
    #[arg(long, value_name = "DIGEST", conflicts_with_all = ["save", "resume", "rollback"])]
    pub apply: Option<String>,

    /// Take the plan from this file, where it is not the one shown last
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub plan: Option<PathBuf>,

    /// Go on with a session that ended before its last step, or on its way back
    #[arg(long, conflicts_with_all = ["save", "rollback"])]
    pub resume: bool,

    /// Take back what a session did, last step first
    #[arg(long)]
    pub rollback: bool,

    /// The session that --resume and --rollback mean, by the digest of its plan;
    /// without it, the last one
    #[arg(long, value_name = "DIGEST")]
    pub session: Option<String>,

    /// What only you know and the plan asks for; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,

    /// Type the name of what is touched in advance, where nobody sits at a terminal;
    /// may be given more than once
    #[arg(long, value_name = "NAME")]
    pub confirm: Vec<String>,

    /// Another repair of the root than the one proposed; 'plimsoll explain ROOT' lists them
    #[arg(long, value_name = "ID", conflicts_with_all = ["apply", "resume", "rollback", "break_glass"])]
    pub repair: Option<String>,

    /// Break a rule on purpose and for a known time, where a pack knows how: shows that
    /// plan, and is given again with --apply. It is taken back by itself
    #[arg(long, conflicts_with = "rollback")]
    pub break_glass: bool,

    /// Try again what was tried on the same thing and did not hold; with --resume, go
    /// forward with what was being taken back
    #[arg(long)]
    pub again: bool,

    /// Seconds that the cluster has to stay well
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub dwell: u64,

    /// Seconds that it may take to become well after the last step
    #[arg(long, value_name = "SECONDS", default_value_t = 1200)]
    pub settle: u64,

    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub poll: u64,

    /// Where plans, journals and copies of what was there are kept, in place of
    /// ~/.local/state/plimsoll
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

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
pub enum PlanOutput {
    Text,
    Json,
    Markdown,
}
