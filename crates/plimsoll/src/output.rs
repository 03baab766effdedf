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
    let mut out = std::io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let why = plimsoll_sources::plain(&error);
            Err(Failure::Unreadable(format!("the answer could not be written to stdout: {why}")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_fault_of_ours_and_a_closed_pipe_none_at_all() {
        let full = written(fs_err::write("/dev/full", "x"));
        let Err(Failure::Unreadable(why)) = full else { panic!("it was written") };
        assert!(why.starts_with("the answer could not be written to stdout: "), "{why}");
        assert!(written(Err(std::io::ErrorKind::BrokenPipe.into())).is_ok());
    }
}
