//! What was done, when, why, and what became of it: the record of a session.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::plan::{Action, Plan, Step, Undo};
use plimsoll_model::session::{Entry, Event, Outcome, Session};

use crate::plan::{DIFF, fenced, md};
use crate::text::page::{BAD, CAREFUL, GOOD, Page};
use crate::{TextOptions, safe, when, words};

const LINES: usize = 8;
const DONE: &str = "done";
/// Of a step that the way back had nothing to do with.
const PASSED: &str = "on the way back: ";

/// With what the plan says of it: why it was done, and what each step changed.
pub fn session_text(session: &Session, plan: &Plan, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let style = match session.outcome {
        Outcome::Fixed => GOOD,
        Outcome::Worse | Outcome::PartlyRolledBack => BAD,
        _ => CAREFUL,
    };
    let opening = format!("{}:", headline(session));
    page.opening(style, &opening, &safe::line(&session.says), LINES);
    of_plan(&mut page, session, plan);
    page.blank();
    for (at, entry) in session.entries.iter().enumerate() {
        let event = event(&entry.event, until(session, at));
        page.paragraph(0, &format!("{}  {event}", when::full(entry.time)), LINES);
    }
    for next in &session.next {
        page.line(&format!("hint: {}", safe::line(next)));
    }
    page.finish()
}

fn of_plan(page: &mut Page, session: &Session, plan: &Plan) {
    page.blank();
    for (label, told) in facts(session, plan) {
        page.paragraph(0, &format!("{label}: {told}"), LINES);
    }
    for (step, became) in done(session, plan) {
        page.blank();
        let title = format!("{} ({became})", safe::line(&step.title));
        page.hanging(&format!("{}. ", step.number), &title, LINES);
        for line in step.diff.iter().take(DIFF) {
            page.paragraph(3, &safe::line(line), LINES);
        }
        if step.diff.len() > DIFF {
            page.line(&format!("   and {} lines more, in the plan", step.diff.len() - DIFF));
        }
    }
}

pub fn session_markdown(session: &Session, plan: &Plan) -> String {
    let mut out = format!("# {}\n\n", md(&session.title));
    out += &format!("**{}.** {}\n\n", headline(session), md(&session.says));
    let root = format!("{} ({})", session.root.id, session.root.entity);
    out += &format!("For {}. Plan `{}`.\n\n", md(&root), session.plan);
    for (label, told) in facts(session, plan) {
        out += &format!("**{label}.** {}\n\n", md(&told));
    }
    for (step, became) in done(session, plan) {
        out += &format!("## {}. {} ({})\n\n", step.number, md(&step.title), md(&became));
        if !step.diff.is_empty() {
            out += &format!("```diff\n{}\n```\n\n", fenced(&step.diff));
        }
    }
    out += "| Time | What |\n|---|---|\n";
    for (at, entry) in session.entries.iter().enumerate() {
        let event = event(&entry.event, until(session, at));
        out += &format!("| {} | {} |\n", when::full(entry.time), md(&event));
    }
    out
}

pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Fixed => "FIXED",
        Outcome::Improved => "IMPROVED, not fixed",
        Outcome::Unchanged => "UNCHANGED",
        Outcome::Worse => "WORSE",
        Outcome::RolledBack => "ROLLED BACK",
        Outcome::PartlyRolledBack => "ROLLED BACK IN PART",
        Outcome::Stopped => "STOPPED",
        Outcome::Untouched => "NOTHING DONE",
    }
}

/// The journal up to this line and with it.
fn until(session: &Session, at: usize) -> &[Entry] {
    session.entries.get(..=at).unwrap_or_default()
}

/// Since anything was last done: what came after it is the way back.
fn on_the_way_back(entries: &[Entry]) -> impl Iterator<Item = &Event> {
    let forward = |entry: &Entry| matches!(entry.event, Event::Intends { .. });
    let since = entries.iter().rposition(forward).map_or(0, |at| at + 1);
    entries.iter().skip(since).map(|entry| &entry.event)
}

/// An outcome in the words of what the journal says of it.
fn named(how: Outcome, entries: &[Entry]) -> &'static str {
    let mut tried = BTreeSet::new();
    let is_taken_back = on_the_way_back(entries).any(|event| match event {
        Event::IntendsUndo { step } => {
            tried.insert(*step);
            false
        }
        Event::Undid { step, .. } => tried.contains(step),
        _ => false,
    });
    match how {
        Outcome::PartlyRolledBack if !is_taken_back => "NOT ROLLED BACK",
        how => outcome(how),
    }
}

/// Why it was taken back, if something became worse.
fn worse(entries: &[Entry]) -> Option<&str> {
    on_the_way_back(entries).find_map(|event| match event {
        Event::Ended { outcome: Outcome::Worse, says } => Some(says.as_str()),
        _ => None,
    })
}

fn headline(session: &Session) -> String {
    let name = named(session.outcome, &session.entries);
    let is_back = matches!(session.outcome, Outcome::RolledBack | Outcome::PartlyRolledBack);
    match is_back && worse(&session.entries).is_some() {
        true => format!("WORSE, {name}"),
        false => name.to_string(),
    }
}

/// What was done, why and when: a label and a text each.
fn facts(session: &Session, plan: &Plan) -> Vec<(&'static str, String)> {
    let entries = &session.entries;
    let root = format!("{} ({})", plan.root.id, plan.root.entity);
    let sure = words::confidence(plan.confidence);
    let why = format!("{} {root}, {sure}.", words::sentence(&plan.reason.summary));
    let mut all = vec![("What", safe::line(&plan.title)), ("Why", safe::line(&why))];
    if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
        let by = entries.iter().find_map(|entry| match &entry.event {
            Event::Began { by, .. } => Some(format!(", by {}", safe::line(by))),
            _ => None,
        });
        let by = by.unwrap_or_default();
        all.push(("When", format!("{} to {}{by}", when::full(first.time), when::full(last.time))));
    }
    if let Some(says) = worse(entries) {
        all.push(("It got worse", safe::line(says)));
    }
    all
}

/// Steps that were done or may have been, each with what became of it. Who only waits changes nothing.
fn done<'p>(session: &Session, plan: &'p Plan) -> Vec<(&'p Step, String)> {
    let became = became(&session.entries);
    let told = |step: &Step| {
        let text = became.get(&step.number)?;
        Some(match &step.undo {
            Undo::Nothing { because } if text.starts_with(PASSED) => {
                format!("done; nothing to take back: {}", safe::line(because))
            }
            _ => text.clone(),
        })
    };
    let steps = plan.steps.iter().filter(|step| !matches!(step.action, Action::Wait));
    steps.filter_map(|step| Some((step, told(step)?))).collect()
}

fn became(entries: &[Entry]) -> BTreeMap<usize, String> {
    let mut all: BTreeMap<usize, String> = BTreeMap::new();
    let mut going_back = BTreeSet::new();
    for entry in entries {
        let (step, told) = match &entry.event {
            Event::Intends { step, .. } => {
                going_back.remove(step);
                (*step, "begun, and not known to be done".to_string())
            }
            Event::Did { step, .. } => (*step, DONE.to_string()),
            Event::Found { step, .. } => (*step, "found to be done".to_string()),
            Event::Failed { step, .. } => match all.get(step).map(String::as_str) {
                None => continue,
                Some(DONE) => (*step, "done, and what it is for did not come".to_string()),
                Some(_) => (*step, "tried, and failed".to_string()),
            },
            Event::IntendsUndo { step } => {
                going_back.insert(*step);
                (*step, "being taken back".to_string())
            }
            Event::Undid { step, .. } if going_back.contains(step) => {
                (*step, "taken back".to_string())
            }
            Event::Undid { step, says } => (*step, format!("{PASSED}{}", safe::line(says))),
            Event::CannotUndo { step, why } => {
                (*step, format!("not taken back: {}", safe::line(why)))
            }
            _ => continue,
        };
        all.insert(step, told);
    }
    all
}

/// One line of the journal; `entries` are those up to it.
fn event(event: &Event, entries: &[Entry]) -> String {
    let line = |text: &str| safe::line(text);
    let short = |hash: &str| hash.chars().take(12).collect::<String>();
    match event {
        Event::Began { plan, by, .. } => format!("began plan {} by {}", short(plan), line(by)),
        // By hand or with the command: the journal does not tell them apart.
        Event::Confirmed { step, name } => format!("step {step}: named: {}", line(name)),
        Event::Kept { step, place, sha256 } => {
            format!("step {step}: kept {} (sha256 {})", line(place), short(sha256))
        }
        Event::Intends { step, .. } => format!("step {step}: begins"),
        Event::Did { step, says, .. } => format!("step {step}: {}", line(says)),
        Event::Found { step, .. } => format!("step {step}: found to be done"),
        Event::Skipped { step, says } => format!("step {step}: left out, {}", line(says)),
        Event::Failed { step, why } => format!("step {step}: failed: {}", line(why)),
        Event::Holds { step } => format!("step {step}: holds"),
        Event::Refused { step, why } => format!("step {step}: refused: {}", line(&why.join("; "))),
        Event::IntendsUndo { step } => format!("step {step}: is being taken back"),
        Event::Undid { step, says } => {
            let tried =
                |event: &Event| matches!(event, Event::IntendsUndo { step: of } if of == step);
            let what = match on_the_way_back(entries).any(tried) {
                true => "taken back",
                false => "nothing to take back",
            };
            format!("step {step}: {what}: {}", line(says))
        }
        Event::CannotUndo { step, why } => format!("step {step}: not taken back: {}", line(why)),
        Event::Ended { outcome: how, says } => {
            format!("{}: {}", named(*how, entries), line(says))
        }
    }
}
