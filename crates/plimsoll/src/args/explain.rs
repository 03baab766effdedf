use std::path::PathBuf;

use clap::Args;

use super::{PageOutput, Talk};

/// One failure mode as in the docs, or what a line from a log speaks for
///
/// Exit codes: 0 explained, 2 no such failure mode or wrong usage, 66 unreadable
/// input.
#[derive(Debug, Args)]
pub struct Explain {
    /// A failure mode, one of its states or repairs, or its catalogue number
    #[arg(value_name = "ID", required_unless_present = "log")]
    pub ids: Vec<String>,

    /// Name the failure modes that this text speaks for; `-` reads it from stdin
    #[arg(long, value_name = "TEXT", conflicts_with = "ids", allow_hyphen_values = true)]
    pub log: Option<String>,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = PageOutput::Text)]
    pub output: PageOutput,

    /// Add a knowledge pack from a folder; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub pack: Vec<PathBuf>,

    #[command(flatten)]
    pub talk: Talk,
}
