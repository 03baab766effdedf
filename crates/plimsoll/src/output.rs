//! Where answers go: stdout for data, stderr for talk.

use std::io::Write;

use plimsoll_report::TextOptions;

use crate::args::Talk;
use crate::exit::Failure;

const WIDTH: usize = 80;

pub fn text_options(talk: &Talk) -> TextOptions {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let color = !talk.no_color && choice != anstream::ColorChoice::Never;
    TextOptions { width: WIDTH, color, ..TextOptions::default() }
}

/// A reader that went away (`| head`) is no fault of ours.
pub fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Internal(anyhow::anyhow!(error).context("cannot write the answer")))
        }
        _ => Ok(()),
    }
}

/// Said even to who wants no notes: why something was not done.
pub fn complain(text: &str) {
    anstream::eprintln!("error: {text}");
}

pub fn note(talk: &Talk, text: &str) {
    if !talk.quiet {
        anstream::eprintln!("{text}");
    }
}
