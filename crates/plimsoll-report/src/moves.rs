//! What moved between two diagnoses, shortest first: the verdict, the roots, the states.

use plimsoll_model::diagnosis::{Confidence, StateRef, Status};
use plimsoll_model::moves::{Moves, RootMove, StateMove};

use crate::text::page::{Page, STRONG};
use crate::{TextOptions, safe, when, words};

/// States that are listed one by one.
const LISTED: usize = 12;

pub fn moves_text(moves: &Moves, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let (before, now) = moves.verdict;
    let time = moves.to.map(when::full).unwrap_or_default();
    let verdict = match before == now {
        true => format!("still {}", words::verdict(now)),
        false => format!("{} is now {}", words::verdict(before), words::verdict(now)),
    };
    let head = page.paint(STRONG, &format!("{time}  {verdict}"));
    page.line(&head);
    if let Some(why) = &moves.blind {
        let known = moves.from.map(when::full).unwrap_or_default();
        let said =
            format!("nothing new was seen: {}. What was known at {known} stands.", safe::line(why));
        page.paragraph(2, &said, 2);
    }
    if let Some(first) = moves.unread.first() {
        let more = match moves.unread.len() {
            1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        let said =
            format!("less was seen: {}{more}. What is out of sight is kept.", safe::line(first));
        page.paragraph(2, &said, 2);
    }
    if moves.seen_again {
        page.line("  everything can be read again");
    }
    for RootMove { id, entity, before, now } in &moves.roots {
        let sure = |confidence: Confidence| words::confidence(confidence);
        let moved = match (before, now) {
            (None, Some(now)) => format!("new root, {}", sure(*now)),
            (Some(_), None) => "no longer a root".into(),
            (Some(before), Some(now)) => format!("root: {} to {}", sure(*before), sure(*now)),
            (None, None) => continue,
        };
        let at = format!("{} {}", safe::line(id), safe::line(&entity.to_string()));
        page.paragraph(2, &format!("{at}: {moved}"), 2);
    }
    for StateRef { id, entity } in moves.unexplained.iter().take(LISTED) {
        let at = format!("{} {}", safe::line(id), safe::line(&entity.to_string()));
        page.paragraph(2, &format!("{at}: has no cause that is known now"), 2);
    }
    for StateMove { id, entity, before, now } in moves.states.iter().take(LISTED) {
        let word = |status: &Option<Status>| status.map_or("not seen", status_word);
        let at = format!("{} {}", safe::line(id), safe::line(&entity.to_string()));
        page.paragraph(2, &format!("{at}: {} to {}", word(before), word(now)), 2);
    }
    if moves.states.len() > LISTED {
        page.line(&format!("  and {} more states", moves.states.len() - LISTED));
    }
    page.finish()
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Active => "active",
        Status::Recovered => "recovered",
        Status::Expected => "expected",
        Status::Unknown => "unknown",
    }
}
