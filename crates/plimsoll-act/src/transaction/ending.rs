//! How it comes to an end: well and well for a while, stopped, or worse than before and taken back.

use std::time::Instant;

use plimsoll_model::session::{Baseline, Event, Outcome};
use plimsoll_repair::{Judged, judge};

use super::history::Progress;
use super::{Ended, Halt, Look, Transaction};
use crate::journal::Unwritable;

impl Transaction<'_> {
    /// After the last step: well, and well for a while.
    pub(super) fn verify(&mut self, before: &Baseline) -> Result<Ended, Unwritable> {
        let end = Instant::now() + self.pace.settle;
        // One that is well and ill by turns comes to an end as well.
        let last = end + self.pace.dwell.saturating_mul(2);
        let mut well_since: Option<Instant> = None;
        let mut bad_in_a_row = 0;
        loop {
            let judged = self.judged(before);
            match judged.outcome {
                Outcome::Fixed => {
                    let since = *well_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.pace.dwell {
                        return self.ended(Outcome::Fixed, judged.says);
                    }
                    self.consent.hears("well; waiting to see that it stays so");
                }
                _ => well_since = None,
            }
            bad_in_a_row = if judged.outcome == Outcome::Worse { bad_in_a_row + 1 } else { 0 };
            let now = Instant::now();
            let over = now >= last || (now >= end && well_since.is_none());
            match judged.outcome {
                // Rollouts pass through states that look bad; what stays so is.
                Outcome::Worse if over && bad_in_a_row > 1 => {
                    return self.roll_back_from(&judged.says);
                }
                Outcome::Improved | Outcome::Unchanged if over => {
                    return self.ended(judged.outcome, judged.says);
                }
                Outcome::Stopped if over => return self.ended(Outcome::Stopped, judged.says),
                Outcome::Fixed if over => {
                    let says = "it is well, and does not stay so".to_string();
                    return self.ended(Outcome::Improved, says);
                }
                Outcome::Fixed => {}
                _ => self.consent.hears(&format!("not yet: {}", judged.says)),
            }
            if let Some(why) = self.told_to_end() {
                return self.ended(Outcome::Stopped, format!("{why}; {}", judged.says));
            }
            std::thread::sleep(self.pace.poll);
        }
    }

    /// A look after the last step. What cannot be seen is neither well nor worse.
    fn judged(&self, before: &Baseline) -> Judged {
        let unknown = |says: String| Judged { outcome: Outcome::Stopped, says };
        let root = &self.plan.root;
        let look = match self.look() {
            Ok(look) => look,
            Err(why) => return unknown(format!("the cluster cannot be read: {why}")),
        };
        let judged = judge(before, &look.diagnosis, self.plan);
        match judged.outcome == Outcome::Fixed && !self.world.would_show(&look.base, root) {
            true => unknown(format!("{} ({}) cannot be told any more", root.id, root.entity)),
            false => judged,
        }
    }

    pub(super) fn ended(&mut self, outcome: Outcome, says: String) -> Result<Ended, Unwritable> {
        self.log.append(Event::Ended { outcome, says: says.clone() })?;
        Ok(Ended::With(outcome, says))
    }

    /// A step did not go. Is anything worse than before?
    pub(super) fn stopped(&mut self, halt: Halt, before: &Baseline) -> Result<Ended, Unwritable> {
        let touched = Progress::of(self.log.entries()).touched();
        let told_to_end = matches!(halt, Halt::Ended(..)) || self.consent.wants_to_stop();
        let (number, ended, why) = match halt {
            Halt::Stale(number, why) => (number, Some(Ended::Stale(why.clone())), vec![why]),
            Halt::Refused(number, why) => (number, Some(Ended::Refused(why.clone())), why),
            Halt::Failed(number, why) | Halt::Ended(number, why) => (number, None, vec![why]),
            Halt::Unwritable(error) => return Err(error),
        };
        let says = format!("step {number}: {}", why.join("; "));
        if ended.is_some() {
            self.log.append(Event::Refused { step: number, why })?;
        }
        if !touched {
            self.log.append(Event::Ended { outcome: Outcome::Untouched, says: says.clone() })?;
            return Ok(ended.unwrap_or(Ended::With(Outcome::Untouched, says)));
        }
        // A rule that is broken does not stay so because a step went wrong.
        if self.plan.break_glass_minutes.is_some() && !told_to_end {
            self.consent.hears(&format!("{says}; taking it back"));
            return self.roll_back();
        }
        let worse = |look: Result<Look, String>| match look {
            Ok(look) => {
                let judged = judge(before, &look.diagnosis, self.plan);
                (judged.outcome == Outcome::Worse).then_some(judged.says)
            }
            Err(_) => None,
        };
        // Who stops it wants nothing more to be changed. And once may be chance.
        if !told_to_end && worse(self.look()).is_some() {
            std::thread::sleep(self.pace.poll);
            if let Some(why) = worse(self.look()) {
                return self.roll_back_from(&format!("{says}; {why}"));
            }
        }
        self.log.append(Event::Ended { outcome: Outcome::Stopped, says: says.clone() })?;
        Ok(ended.unwrap_or(Ended::With(Outcome::Stopped, says)))
    }

    fn roll_back_from(&mut self, why: &str) -> Result<Ended, Unwritable> {
        self.log.append(Event::Ended { outcome: Outcome::Worse, says: why.into() })?;
        self.consent.hears(&format!("it got worse ({why}); taking it back"));
        self.roll_back()
    }
}
