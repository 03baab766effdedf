//! On stderr: a bar for reads that take longer than a second, and what is read of a live cluster.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_sources::Progress;

const PATIENCE: Duration = Duration::from_secs(1);

/// Draws nothing when stderr is no terminal.
pub struct Bar {
    bar: ProgressBar,
    begun: OnceLock<Instant>,
}

impl Bar {
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let template = "reading [{bar:30}] {bytes}/{total_bytes} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, begun: OnceLock::new() }
    }

    pub fn done(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn start(&self, total_bytes: Option<u64>) {
        self.bar.set_length(total_bytes.unwrap_or(0));
        let _ = self.begun.set(Instant::now());
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        let waited = self.begun.get().is_some_and(|begun| begun.elapsed() > PATIENCE);
        if waited && self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
    }
}

/// Says what is read, and how many things were, until it is let go.
pub struct Spinner(ProgressBar);

impl Spinner {
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        if let Ok(style) =
            ProgressStyle::with_template("{spinner} {elapsed} {pos} read, now {wide_msg}")
        {
            bar.set_style(style);
        }
        Self(bar)
    }
}

impl plimsoll_live::Progress for Spinner {
    fn say(&self, what: &str) {
        self.0.set_message(what.to_string());
        self.0.inc(1);
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
