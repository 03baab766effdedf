//! Back to where it was, last step first. What somebody else changed since is left as it is, and told.

use plimsoll_model::FactBase;
use plimsoll_model::plan::{Action, Step, Undo};
use plimsoll_model::session::{Event, Outcome};
use plimsoll_repair::guard::{self, Scene};
use plimsoll_repair::{begun_by, reversed};

use super::history::{OfStep, Progress, left_by};
use super::step::called;
use super::{Ended, Transaction};
use crate::journal::Unwritable;
use crate::target::{Kept, Sight, Standing, Target, Trouble};

impl Transaction<'_> {
    pub fn roll_back(&mut self) -> Result<Ended, Unwritable> {
        let progress = Progress::of(self.log.entries());
        let mut left: Vec<String> = Vec::new();
        let (mut is_lost, mut is_held) = (false, false);
        for number in progress.to_undo() {
            let Some(step) = self.plan.steps.iter().find(|step| step.number == number) else {
                continue;
            };
            // Last first: what an earlier step did may still be needed by what is not taken back.
            if is_lost || (is_held && step.undo == Undo::Delete) {
                left.push(format!("step {number}: left until what came after it is taken back"));
                continue;
            }
            self.consent.hears(&format!("taking back step {number}: {}", step.title));
            match &step.undo {
                Undo::Nothing { because } => {
                    self.log.append(Event::Undid { step: number, says: because.clone() })?;
                    continue;
                }
                Undo::Impossible { because } if progress.step(number).did => {
                    let why = because.clone();
                    left.push(format!("step {number}: {why}"));
                    self.log.append(Event::CannotUndo { step: number, why })?;
                    continue;
                }
                _ => {}
            }
            if matches!(step.action, Action::Hand { .. } | Action::Wait) {
                self.log.append(Event::Undid { step: number, says: "nothing was done".into() })?;
                continue;
            }
            let targets = self.targets;
            let found = targets.of(step).and_then(|target| Ok((target, target.look(step)?)));
            let result = match found {
                // It was only going to be done.
                Ok((_, Sight { standing: Standing::Ahead, .. })) => {
                    Ok(match progress.step(number).did {
                        true => "somebody else took it back already".to_string(),
                        false => "it was not done".to_string(),
                    })
                }
                Ok((target, sight)) => match self.against_undo(target, step, &sight) {
                    Ok(()) => {
                        let after = left_by(self.log.entries(), number).map(str::to_string);
                        self.log.append(Event::IntendsUndo { step: number })?;
                        target.undo(step, after.as_deref())
                    }
                    Err(trouble) => Err(trouble),
                },
                Err(trouble) => Err(trouble),
            };
            match result {
                Ok(says) => self.log.append(Event::Undid { step: number, says })?,
                Err(trouble) => {
                    (is_lost, is_held) = (matches!(trouble, Trouble::Lost(_)), true);
                    let why = trouble.to_string();
                    left.push(format!("step {number}: {why}"));
                    self.log.append(Event::CannotUndo { step: number, why })?;
                }
            }
        }
        left.extend(self.done_by_whom(&progress));
        let is_nothing = progress.to_undo().is_empty();
        let (outcome, says) = match left.is_empty() {
            true if is_nothing => (Outcome::RolledBack, "nothing was done".to_string()),
            true => (Outcome::RolledBack, "every step is taken back".to_string()),
            false => (Outcome::PartlyRolledBack, format!("left: {}", left.join("; "))),
        };
        self.ended(outcome, says)
    }

    /// Steps that look done, and of which the journal says nothing: its end may be gone.
    fn done_by_whom(&self, progress: &Progress) -> Vec<String> {
        let is_known = |step: &&Step| progress.step(step.number) != OfStep::default();
        let is_ours = |step: &&Step| {
            // What ends what another step began is so before that, too.
            !matches!(step.action, Action::Hand { .. } | Action::Wait)
                && begun_by(self.plan, step).is_none()
        };
        let looks_done = |step: &&Step| {
            let sight = self.targets.of(step).and_then(|target| target.look(step));
            matches!(sight, Ok(Sight { standing: Standing::Done, .. }))
        };
        let unknown = self.plan.steps.iter().filter(|step| !is_known(step));
        unknown
            .filter(is_ours)
            .filter(looks_done)
            .map(|step| {
                format!("step {}: it looks done, and nobody wrote down by whom", step.number)
            })
            .collect()
    }

    /// What speaks against taking it back now.
    fn against_undo(&self, target: &dyn Target, step: &Step, sight: &Sight) -> Result<(), Trouble> {
        // What was broken on purpose is taken back at its time, whoever is at work.
        if let (Some(why), None) = (self.turn.lost_by_now(), self.plan.break_glass_minutes) {
            return Err(Trouble::Refused(why));
        }
        if let Some(place) = self.changed_copy(target, step)? {
            return Err(Trouble::Failed(format!(
                "the copy {place} is not what was written down, and is not brought back"
            )));
        }
        self.guarded(step, sight)?;
        if step.reboots() {
            let name = format!("take back {}", called(step, self.plan));
            if !self.consent.names(step, &name) {
                return Err(Trouble::Refused(format!(
                    "machines reboot again for it, and nobody typed '{name}'"
                )));
            }
        }
        Ok(())
    }

    /// To take it back may take machines down as well, and etcd may have lost a member since.
    fn guarded(&self, step: &Step, sight: &Sight) -> Result<(), Trouble> {
        let Some(reverse) = reversed(step) else { return Ok(()) };
        let refusals = |base: &FactBase| {
            let (plan, step, object) = (self.plan, &reverse, sight.object.as_ref());
            let break_glass = self.break_glass;
            guard::refusals_of_undo(&Scene {
                plan,
                step,
                base,
                diagnosis: None,
                object,
                break_glass,
            })
        };
        // What is let through where nothing is known needs no look, and there may be no API to look with.
        if refusals(&FactBase::default()).is_empty() {
            return Ok(());
        }
        let base = self.glance().map_err(Trouble::Lost)?;
        let why: Vec<String> = refusals(&base)
            .into_iter()
            .map(|refusal| format!("{} ({})", refusal.why, refusal.guard))
            .collect();
        match why.is_empty() {
            true => Ok(()),
            false => Err(Trouble::Refused(why.join("; "))),
        }
    }

    /// Where the copy lies that a step would be taken back by, if somebody changed it since.
    fn changed_copy(&self, target: &dyn Target, step: &Step) -> Result<Option<String>, Trouble> {
        if step.undo != Undo::Restore {
            return Ok(None);
        }
        let kept = self.log.entries().iter().rev().find_map(|entry| match &entry.event {
            Event::Kept { step: of, place, sha256 } if *of == step.number => {
                Some(Kept { place: place.clone(), sha256: sha256.clone() })
            }
            _ => None,
        });
        match kept {
            Some(kept) if !target.is_still_kept(step, &kept)? => Ok(Some(kept.place)),
            _ => Ok(None),
        }
    }
}
