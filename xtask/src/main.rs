//! Everything around the product: the gate, the generated files, the benchmark, fuzzing, scaffolds.
//!
//! The product itself is run as a process and never linked, so that this builds in seconds. What a
//! test of the product can check belongs into that crate's tests, not here.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a developer's tool talks")]

mod all_tests;
mod bench;
mod ci;
mod fuzz;
mod generate;
mod new_case;
mod score;
mod shell;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Build, check and measure Plimsoll")]
enum Verb {
    /// Install what the tests need, then run every check.
    Ci,
    /// Run every test of the workspace, two programs at a time.
    Test,
    /// Check the house rules that no other tool checks.
    Tidy,
    /// Write the folder of a new failure mode: `<area>/<id>`.
    NewCase { case: String },
    /// Write the generated files.
    Gen {
        /// Change nothing; fail if a file is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Measure the product against ripgrep on a synthetic must-gather.
    Bench(bench::Args),
    /// Fuzz every parser, or one of them.
    Fuzz(fuzz::Args),
    /// Diagnose the incident corpus and compare the answers with the truth.
    Score {
        /// Passed on; see `cargo xtask score --help`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    let done = match Verb::parse() {
        Verb::Ci => ci::run(),
        Verb::Test => all_tests::run(),
        Verb::Tidy => tidy::run(),
        Verb::NewCase { case } => new_case::run(&shell::root(), &case),
        Verb::Gen { check } => generate::run(check),
        Verb::Bench(args) => bench::run(&args),
        Verb::Fuzz(args) => fuzz::run(&args),
        Verb::Score { args } => score::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
