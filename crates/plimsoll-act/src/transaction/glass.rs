//! A rule that is broken on purpose stays so for a time that is known beforehand, whatever happens to the
//! process that broke it: the time runs from the first line that says what was going to be done.

use std::time::{Duration, Instant};

use plimsoll_model::Time;
use plimsoll_model::session::{Event, Outcome};

use super::history::Progress;
use super::{Ended, Transaction};
use crate::journal::Unwritable;

impl Transaction<'_> {
    /// When it has to be taken back; `None` while nothing is broken.
    fn broken_until(&self) -> Option<Time> {
        let minutes = self.plan.break_glass_minutes?;
        let entries = self.log.entries();
        if !Progress::of(entries).touched() {
            return None;
        }
        let first = entries.iter().find(|entry| matches!(entry.event, Event::Intends { .. }))?;
        let seconds = i64::try_from(minutes.saturating_mul(60)).unwrap_or(i64::MAX);
        let until = first.time.as_second().saturating_add(seconds);
        Some(Time::from_second(until).unwrap_or(first.time))
    }

    pub(super) fn is_over_time(&self) -> bool {
        self.broken_until().is_some_and(|until| self.log.now() >= until)
    }

    /// Waits to the end of its time and takes it back, or says by when somebody else has to.
    pub(super) fn hold_for_its_time(&mut self) -> Result<Ended, Unwritable> {
        let Some(until) = self.broken_until() else { return self.roll_back() };
        let left = until.as_second().saturating_sub(self.log.now().as_second());
        let left = Duration::from_secs(u64::try_from(left).unwrap_or(0));
        // A clock that is set back makes the time no longer.
        let end = Instant::now() + left;
        let told = format!("the rule is broken until {until}; it is taken back then");
        self.consent.hears(&format!("{told}. Ctrl-C leaves it to 'plimsoll fix --rollback'"));
        while Instant::now() < end && !self.is_over_time() {
            if self.consent.wants_to_stop() {
                let says = format!("left as it is: take it back before {until}");
                return self.ended(Outcome::Stopped, says);
            }
            // Whoever takes over, this is taken back at its time.
            std::thread::sleep(self.pace.poll.min(left));
        }
        self.consent.hears("its time is over; taking it back");
        self.roll_back()
    }
}
