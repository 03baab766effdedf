//! The end of a session, as it is told.

use std::collections::BTreeSet;

use plimsoll_act::{Ended, Log};
use plimsoll_model::plan::{Plan, Step, Undo};
use plimsoll_model::session::{Entry, Event, Outcome as Became, SESSION_SCHEMA, Session};

use super::state::{Begun, is_touched};
use crate::args::{Fix, PlanOutput};
use crate::exit::{self, Failure, Outcome};
use crate::output::{print, text_options};

/// Whether what was left on the way back is what nothing takes back.
fn is_all_that_can_go(plan: &Plan, entries: &[Entry]) -> bool {
    let is_final = |number: usize| {
        let step = plan.steps.iter().find(|step| step.number == number);
        step.is_some_and(|step| matches!(step.undo, Undo::Impossible { .. }))
    };
    let mut left = entries.iter().filter_map(|entry| match &entry.event {
        Event::CannotUndo { step, .. } => Some(*step),
        _ => None,
    });
    left.all(is_final)
}

/// What a session that stopped leaves changed until somebody goes on with it or takes it back.
fn standing(plan: &Plan, entries: &[Entry]) -> Vec<String> {
    let mut done = BTreeSet::new();
    for entry in entries {
        match entry.event {
            Event::Did { step, .. } | Event::Found { step, .. } => _ = done.insert(step),
            Event::Undid { step, .. } => _ = done.remove(&step),
            _ => {}
        }
    }
    let stays = |step: &&Step| {
        let is_left = !matches!(step.undo, Undo::Nothing { .. } | Undo::Impossible { .. });
        done.contains(&step.number) && is_left
    };
    let told = |step: &Step| format!("still so: step {}: {}", step.number, step.title);
    plan.steps.iter().filter(stays).map(told).collect()
}

/// Who it is, for the record.
pub fn user() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(std::env::var_os);
    let by_number = || {
        let of_us = fs_err::metadata("/proc/self").ok()?;
        Some(format!("uid {}", std::os::unix::fs::MetadataExt::uid(&of_us)))
    };
    let named = named.and_then(|name| name.into_string().ok());
    named.or_else(by_number).unwrap_or_else(|| "unknown".into())
}

/// What became of a session, shown with what is left to be done.
pub fn record(args: &Fix, begun: &Begun, ended: &Ended) -> Result<Outcome, Failure> {
    let entries = begun.journal.entries().to_vec();
    let touched = is_touched(&entries);
    let stopped = if touched { Became::Stopped } else { Became::Untouched };
    let (outcome, says, code) = match ended {
        Ended::With(Became::Fixed, says) => (Became::Fixed, says.clone(), Outcome::Fine),
        Ended::With(Became::Stopped, says) if exit::is_asked_to_stop() => {
            (Became::Stopped, says.clone(), Outcome::Interrupted)
        }
        Ended::With(outcome, says) => (*outcome, says.clone(), Outcome::Found),
        Ended::Stale(why) => (stopped, format!("the plan is stale: {why}"), Outcome::Stale),
        Ended::Refused(why) => (stopped, format!("refused: {}", why.join("; ")), Outcome::Refused),
    };
    let short = plimsoll_report::short(&begun.plan);
    let standing = standing(&begun.plan, &entries);
    let can_go_back = !standing.is_empty();
    let next = match outcome {
        Became::Stopped => standing
            .into_iter()
            .chain([match ended {
                Ended::Stale(_) => "plimsoll fix makes a new plan of how things are now".into(),
                _ => format!("plimsoll fix --resume --session {short} goes on"),
            }])
            .chain(
                can_go_back
                    .then(|| format!("plimsoll fix --rollback --session {short} takes it back")),
            )
            .collect(),
        Became::PartlyRolledBack if is_all_that_can_go(&begun.plan, &entries) => {
            vec!["what is left no program takes back; each step above says why".into()]
        }
        Became::Improved | Became::Unchanged => vec!["plimsoll diagnose tells what is left".into()],
        Became::PartlyRolledBack | Became::Worse => vec![
            format!("plimsoll fix --rollback --session {short} tries again to take it back"),
            format!("plimsoll fix --resume --again --session {short} goes forward again"),
        ],
        _ => Vec::new(),
    };
    let session = Session {
        schema: SESSION_SCHEMA.into(),
        plan: begun.plan.digest.clone(),
        title: begun.plan.title.clone(),
        root: begun.plan.root.clone(),
        outcome,
        says,
        entries,
        next,
    };
    print(&match args.output {
        PlanOutput::Json => plimsoll_report::json(&session),
        PlanOutput::Markdown => plimsoll_report::session_markdown(&session, &begun.plan),
        PlanOutput::Text => {
            let options = text_options(&args.talk);
            plimsoll_report::session_text(&session, &begun.plan, &options)
        }
    })?;
    Ok(code)
}
