//! A bar on stderr for reads that take longer than a second.

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
