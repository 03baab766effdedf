//! What can be typed. Only structs: what it means is in `commands`.

mod diagnose;

use clap::{Parser, Subcommand};

pub use diagnose::{Diagnose, Output, ShownEvidence};

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
}
