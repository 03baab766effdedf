//! Where a step on a node stands, by what is there, what was kept and what was written.

use plimsoll_model::plan::UnitVerb;

use super::answer::{Answer, Seen};
use crate::target::Standing;

/// `wanted` is the sum of what would be written, where that is known.
pub fn of_file(answer: &Answer, path: &str, mode: u32, wanted: Option<&str>) -> Standing {
    let elsewhere = |why: &str| Standing::Elsewhere(format!("{path} {why}"));
    let Some(present) = answer.present.first() else { return elsewhere("was not looked at") };
    if present.kind == "link" {
        return elsewhere("is a link, and belongs to whoever made it");
    }
    let mode = format!("{:o}", mode & 0o7777);
    let is = |sum: &str| present.kind == "file" && present.sum == sum && present.mode == mode;
    let written = answer.wrote.as_ref().is_some_and(|wrote| same(present, wrote));
    let copied = answer.source.as_ref().is_some_and(|source| is(&source.sum));
    if written || copied || wanted.is_some_and(is) {
        return Standing::Done;
    }
    // Others may be kept beside it.
    let as_it_was = answer.kept.contains(present);
    match !answer.keeps || as_it_was {
        true => Standing::Ahead,
        false => elsewhere("was changed by somebody else"),
    }
}

/// Files that are to go away.
pub fn of_files(answer: &Answer) -> Standing {
    let is_kept = |present: &&Seen| answer.kept.contains(present);
    let other = answer.present.iter().find(|present| !is_kept(present));
    match (answer.present.first(), other) {
        // Nothing was there to begin with, and nobody has said yet that this is so.
        (None, _) if answer.kept.is_empty() && !answer.did => Standing::Ahead,
        (None, _) => Standing::Done,
        (Some(first), _) if answer.did => {
            Standing::Elsewhere(format!("{} is there again", first.path))
        }
        (Some(_), Some(other)) if answer.keeps => {
            Standing::Elsewhere(format!("{} was changed by somebody else", other.path))
        }
        (Some(_), _) => Standing::Ahead,
    }
}

/// To start what runs or to stop what does not is no fault, so only what this plan changed is done.
pub fn of_unit(answer: &Answer, verb: UnitVerb) -> Standing {
    let active = answer.unit.as_ref().map_or("", |unit| unit.active.as_str());
    let runs = |state: &str| matches!(state, "active" | "activating" | "reloading");
    let changed = answer.did || answer.was.as_deref().is_some_and(|was| runs(was) != runs(active));
    match verb {
        UnitVerb::Restart => Standing::Ahead,
        UnitVerb::Start if active == "active" && changed => Standing::Done,
        UnitVerb::Stop if !runs(active) && changed => Standing::Done,
        UnitVerb::Start | UnitVerb::Stop => Standing::Ahead,
    }
}

fn same(one: &Seen, other: &Seen) -> bool {
    (&one.kind, &one.sum, &one.mode) == (&other.kind, &other.sum, &other.mode)
}
