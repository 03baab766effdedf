use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{DataOutput, Talk};

/// The knowledge packs: list them, check them, run their cases
#[derive(Debug, Args)]
pub struct Knowledge {
    #[command(subcommand)]
    pub verb: KnowledgeVerb,
}

#[derive(Debug, Subcommand)]
pub enum KnowledgeVerb {
    /// Every failure mode: id, title, area, catalogue number, where it applies
    List(OfPacks),
    /// Check a pack: does it load, is it whole, is every rule tested
    ///
    /// Without --pack the built-in pack is checked, with it only the packs named.
    /// Exit codes: 0 clean, 1 problems found, 66 unreadable input.
    Lint(OfPacks),
    /// Run the literate cases (tests/*.md) of a pack
    ///
    /// Without --pack those of the built-in pack, with it only those of the packs
    /// named, on top of the built-in pack.
    /// Exit codes: 0 all pass, 1 a case fails, 2 no case matches, 66 unreadable.
    Test(Test),
    /// Every fact that a rule may read, by kind of thing, as Markdown
    Facts,
    /// Write the reference pages of the built-in pack into a folder
    #[command(hide = true)]
    Pages(Pages),
}

#[derive(Debug, Args)]
pub struct OfPacks {
    /// A knowledge pack of your own; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub pack: Vec<PathBuf>,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = DataOutput::Text)]
    pub output: DataOutput,

    #[command(flatten)]
    pub talk: Talk,
}

#[derive(Debug, Args)]
pub struct Test {
    /// Only cases whose file or name contains this
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,

    #[command(flatten)]
    pub of: OfPacks,
}

#[derive(Debug, Args)]
pub struct Pages {
    /// An existing folder
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
