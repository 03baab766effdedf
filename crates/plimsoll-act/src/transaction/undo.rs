//! Back to where it was, last step first. What somebody else changed since is left as it is, and told.

use plimsoll_model::plan::{Action, Undo};
use plimsoll_model::session::{Event, Outcome};

use super::history::Progress;
use super::{Ended, Transaction};
use crate::journal::Unwritable;
use crate::target::Standing;

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
                Ok((target, _)) => {
                    self.log.append(Event::IntendsUndo { step: number })?;
                    target.undo(step)
                }
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
}
