//! Back to where it was, last step first. What somebody else changed since is left as it is, and told.

use plimsoll_model::plan::{Action, Step, Undo};
use plimsoll_model::session::{Event, Outcome};

use super::history::Progress;
use super::{Ended, Transaction};
use crate::journal::Unwritable;
use crate::target::{Kept, Standing, Target, Trouble};

impl Transaction<'_> {
    pub fn roll_back(&mut self) -> Result<Ended, Unwritable> {
        let progress = Progress::of(self.log.entries());
        let mut left: Vec<String> = Vec::new();
        for number in progress.to_undo() {
            let Some(step) = self.plan.steps.iter().find(|step| step.number == number) else {
                continue;
            };
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
            let undone = self.targets.of(step).and_then(|target| {
                let standing = target.look(step)?.standing;
                Ok((target, standing))
            });
            let result = match undone {
                // It was only going to be done.
                Ok((_, Standing::Ahead)) => Ok("it was not done".to_string()),
                Ok((target, _)) => match self.changed_copy(target, step) {
                    Ok(None) => {
                        self.log.append(Event::IntendsUndo { step: number })?;
                        target.undo(step)
                    }
                    Ok(Some(place)) => Err(Trouble::Failed(format!(
                        "the copy {place} is not what was written down, and is not brought back"
                    ))),
                    Err(trouble) => Err(trouble),
                },
                Err(trouble) => Err(trouble),
            };
            match result {
                Ok(says) => self.log.append(Event::Undid { step: number, says })?,
                Err(trouble) => {
                    let why = trouble.to_string();
                    left.push(format!("step {number}: {why}"));
                    self.log.append(Event::CannotUndo { step: number, why })?;
                }
            }
        }
        let (outcome, says) = match left.is_empty() {
            true => (Outcome::RolledBack, "every step is taken back".to_string()),
            false => (Outcome::PartlyRolledBack, format!("left: {}", left.join("; "))),
        };
        self.ended(outcome, says)
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
