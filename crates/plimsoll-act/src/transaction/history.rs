//! What the journal says of each step.

use std::collections::BTreeMap;

use plimsoll_model::plan::Plan;
use plimsoll_model::session::{Entry, Event, Outcome};

/// Of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OfStep {
    /// It was going to be done: it may have been.
    pub intends: bool,
    pub did: bool,
    pub holds: bool,
    pub skipped: bool,
    /// Taken back.
    pub undone: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The last thing that was done or tried was to take something back.
    pub goes_back: bool,
    steps: BTreeMap<usize, OfStep>,
}

impl Progress {
    pub fn of(entries: &[Entry]) -> Self {
        let mut progress = Self::default();
        for entry in entries {
            match &entry.event {
                Event::Intends { .. } => progress.goes_back = false,
                Event::IntendsUndo { .. }
                | Event::Undid { .. }
                | Event::CannotUndo { .. }
                | Event::Ended { outcome: Outcome::Worse, .. } => progress.goes_back = true,
                _ => {}
            }
            match &entry.event {
                Event::Intends { step, .. } => {
                    // It is done again after it was taken back.
                    let of = progress.steps.entry(*step).or_default();
                    *of = OfStep { intends: true, ..OfStep::default() };
                }
                Event::Did { step, .. } | Event::Found { step, .. } => {
                    progress.steps.entry(*step).or_default().did = true;
                }
                Event::Holds { step } => progress.steps.entry(*step).or_default().holds = true,
                Event::Skipped { step, .. } => {
                    progress.steps.entry(*step).or_default().skipped = true;
                }
                Event::Undid { step, .. } => {
                    progress.steps.insert(*step, OfStep { undone: true, ..OfStep::default() });
                }
                _ => {}
            }
        }
        progress
    }

    pub fn step(&self, number: usize) -> OfStep {
        self.steps.get(&number).copied().unwrap_or_default()
    }

    /// Whether anything may have been changed that is not taken back.
    pub fn touched(&self) -> bool {
        self.steps.values().any(|step| step.intends || step.did)
    }

    /// The same of what comes behind a step.
    pub fn touched_behind(&self, number: usize) -> bool {
        self.steps.range(number + 1..).any(|(_, step)| step.intends || step.did)
    }

    /// The first step that is not over.
    pub fn next(&self, plan: &Plan) -> usize {
        let is_over = |number: usize| self.step(number).holds || self.step(number).skipped;
        plan.steps.iter().map(|step| step.number).find(|number| !is_over(*number)).unwrap_or(0)
    }

    /// Steps that were done or may have been, last first.
    pub fn to_undo(&self) -> Vec<usize> {
        let done = self.steps.iter().filter(|(_, step)| step.intends || step.did);
        done.map(|(number, _)| *number).rev().collect()
    }
}

/// What the step left behind, by its hash; `None` where nobody wrote it down any more.
pub fn left_by(entries: &[Entry], number: usize) -> Option<&str> {
    let mut after = None;
    for entry in entries {
        match &entry.event {
            Event::Intends { step, .. } if *step == number => after = None,
            Event::Did { step, after: hash, .. } | Event::Found { step, after: hash }
                if *step == number =>
            {
                after = Some(hash.as_str()).filter(|hash| !hash.is_empty());
            }
            _ => {}
        }
    }
    after
}
