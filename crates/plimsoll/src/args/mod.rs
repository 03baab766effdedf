//! What can be typed. Only structs: what it means is in `commands`.

mod capture;
mod check;
mod csr;
mod diagnose;
mod explain;
mod fix;
mod knowledge;
mod reach;
mod verify;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub use capture::Capture;
pub use check::{Check, CheckOutput, Example, LivePart};
pub use csr::Csr;
pub use diagnose::{Diagnose, Output, ShownEvidence};
pub use explain::Explain;
pub use fix::{Fix, PlanOutput};
pub use knowledge::{Knowledge, KnowledgeVerb, OfPacks, Pages, Test};
pub use reach::Reach;
pub use verify::Verify;

/// From a broken bare-metal OpenShift cluster to its root causes, with proof.
#[derive(Debug, Parser)]
#[command(name = "plimsoll", version, max_term_width = 80)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Diagnose(Diagnose),
    Check(Check),
    Fix(Fix),
    Capture(Capture),
    Csr(Csr),
    Verify(Verify),
    Explain(Explain),
    Knowledge(Knowledge),
}

/// How much is said beside the answer.
#[derive(Debug, ClapArgs)]
pub struct Talk {
    /// No progress and no notes on stderr
    #[arg(long, short)]
    pub quiet: bool,

    /// No colour, even on a terminal
    #[arg(long)]
    pub no_color: bool,
}

/// Forms of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageOutput {
    Text,
    Json,
    Markdown,
}

/// Forms of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataOutput {
    Text,
    Json,
}
