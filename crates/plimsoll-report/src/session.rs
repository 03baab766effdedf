//! What was done, when, why, and what became of it: the record of a session.

use plimsoll_model::session::{Event, Outcome, Session};

use crate::text::page::{BAD, CAREFUL, GOOD, Page};
use crate::{TextOptions, safe, when};

const LINES: usize = 8;

pub fn session_text(session: &Session, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let style = match session.outcome {
        Outcome::Fixed => GOOD,
        Outcome::Worse | Outcome::PartlyRolledBack => BAD,
        _ => CAREFUL,
    };
    let outcome = page.paint(style, outcome(session.outcome));
    page.paragraph(0, &format!("{outcome}: {}", safe::line(&session.says)), LINES);
    page.blank();
    for entry in &session.entries {
        let text = format!("{}  {}", when::full(entry.time), event(&entry.event));
        page.paragraph(0, &text, LINES);
    }
    for next in &session.next {
        page.line(&format!("hint: {}", safe::line(next)));
    }
    page.finish()
}

pub fn session_markdown(session: &Session) -> String {
    let md = |text: &str| crate::markdown::escape::prose(&safe::line(text));
    let mut out = format!("# {}\n\n", md(&session.title));
    out += &format!("**{}.** {}\n\n", outcome(session.outcome), md(&session.says));
    let root = format!("{} ({})", session.root.id, session.root.entity);
    out += &format!("For {}. Plan `{}`.\n\n", md(&root), session.plan);
    out += "| Time | What |\n|---|---|\n";
    for entry in &session.entries {
        out += &format!("| {} | {} |\n", when::full(entry.time), md(&event(&entry.event)));
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

fn event(event: &Event) -> String {
    let line = |text: &str| safe::line(text);
    let short = |hash: &str| hash.chars().take(12).collect::<String>();
    match event {
        Event::Began { plan, by, .. } => format!("began plan {} by {}", short(plan), line(by)),
        Event::Confirmed { step, name } => format!("step {step}: {} was typed", line(name)),
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
        Event::Undid { step, says } => format!("step {step}: taken back: {}", line(says)),
        Event::CannotUndo { step, why } => format!("step {step}: not taken back: {}", line(why)),
        Event::Ended { outcome: how, says } => format!("{}: {}", outcome(*how), line(says)),
    }
}
