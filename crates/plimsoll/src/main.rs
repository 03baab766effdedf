//! The command line: the only crate that reads the environment, prints, and decides exit codes.

mod args;
mod bmcs;
mod check_live;
mod commands;
mod config;
mod consumed;
mod documents;
mod exit;
mod files;
mod fixing;
mod knowledge;
mod live;
mod mend;
mod names;
mod output;
mod progress;
mod smoke;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};

/// Millions of small texts are held and given back: a third of the time of a diagnosis, with that of libc.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    exit::end_on_interrupt();
    let result = match &args.command {
        Command::Diagnose(diagnose) => commands::diagnose::run(diagnose),
        Command::Check(check) => commands::check::run(check),
        Command::Fix(fix) => commands::fix::run(fix),
        Command::Capture(capture) => commands::capture::run(capture),
        Command::Csr(csr) => commands::csr::run(csr),
        Command::Verify(verify) => commands::verify::run(verify),
        Command::Explain(explain) => commands::explain::run(explain),
        Command::Knowledge(knowledge) => commands::knowledge::run(&knowledge.verb),
    };
    exit::finish(result)
}
