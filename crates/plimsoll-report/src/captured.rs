//! What was captured, and what was not.

use plimsoll_model::capture::{Captured, Missing};

use crate::text::page::{Page, STRONG};
use crate::{TextOptions, safe, when, words};

/// Gaps that are listed one by one.
const LISTED: usize = 20;
/// Of what there is none of.
const LISTED_ABSENT: usize = 5;
const MOST_LINES: usize = 4;

pub fn captured_text(captured: &Captured, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let file = page.paint(STRONG, &safe::line(&captured.file));
    page.line(&file);
    let Captured { name, files, bytes, packed, requests, .. } = captured;
    let size = format!("{} packed into {}", words::bytes(*bytes), words::bytes(*packed));
    let files = words::counted(usize::try_from(*files).unwrap_or(usize::MAX), "file");
    let taken = format!("{}, {}", safe::line(name), when::full(captured.now));
    page.paragraph(
        2,
        &format!("{taken}: {files}, {size}, {} requests", words::count(*requests)),
        2,
    );
    for attempt in &captured.attempts {
        if let Some(why) = &attempt.why {
            let at = format!("{} ({})", safe::line(&attempt.vantage), safe::line(&attempt.server));
            page.paragraph(2, &format!("not by {at}: {}", safe::line(why)), MOST_LINES);
        }
    }
    let (refused, absent): (Vec<&Missing>, Vec<&Missing>) =
        captured.gaps.iter().partition(|gap| gap.refused);
    if refused.is_empty() {
        page.paragraph(2, "complete: everything that was asked for was given", 2);
    } else {
        page.line(&format!("{} could not be read:", words::counted(refused.len(), "thing")));
        list(&mut page, &refused, LISTED);
    }
    if !absent.is_empty() {
        let what = words::counted(absent.len(), "thing");
        page.line(&format!("of {what} there is nothing, or not all:"));
        list(&mut page, &absent, LISTED_ABSENT);
    }
    page.finish()
}

/// In their order: what hides most comes first.
fn list(page: &mut Page, gaps: &[&Missing], most: usize) {
    for gap in gaps.iter().take(most) {
        let text = format!("{}: {}", safe::line(&gap.what), safe::line(&gap.why));
        page.paragraph(2, &text, MOST_LINES);
    }
    if let Some(more) = gaps.len().checked_sub(most).filter(|more| *more > 0) {
        page.line(&format!("  and {more} more: --output json"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_none_of_is_named_and_does_not_make_it_incomplete() {
        let gap = |refused: bool, what: &str| Missing {
            refused,
            what: what.into(),
            why: "the API has no such thing (404)".into(),
        };
        let mut captured = Captured {
            schema: plimsoll_model::capture::CAPTURED_SCHEMA.into(),
            name: "kube:lab".into(),
            now: "2025-12-03T18:42:00Z".parse().unwrap(),
            file: "c.tar.gz".into(),
            files: 1,
            bytes: 1,
            packed: 1,
            requests: 1,
            attempts: Vec::new(),
            complete: true,
            gaps: vec![gap(false, "91 logs of pods on master-2")],
        };
        let shown = captured_text(&captured, &TextOptions::default());
        assert!(shown.contains("complete: ") && shown.contains("91 logs of pods"), "{shown}");
        captured.gaps.extend((0..LISTED + 7).map(|at| gap(true, &format!("node {at}"))));
        let shown = captured_text(&captured, &TextOptions::default());
        assert!(!shown.contains("complete: ") && shown.contains("and 7 more"), "{shown}");
        assert!(shown.contains("node 0: ") && shown.contains("91 logs of pods"), "{shown}");
    }
}
