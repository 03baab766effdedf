//! What was captured, and what was not.

use plimsoll_model::capture::Captured;

use crate::text::page::{Page, STRONG};
use crate::{TextOptions, safe, when, words};

/// Gaps that are listed one by one.
const LISTED: usize = 20;
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
    let refused: Vec<_> = captured.gaps.iter().filter(|gap| gap.refused).collect();
    let absent = captured.gaps.len() - refused.len();
    if refused.is_empty() {
        let but = match absent {
            0 => String::new(),
            _ => format!("; of {} there is none: --output json", words::counted(absent, "thing")),
        };
        page.paragraph(2, &format!("complete: everything that was asked for was given{but}"), 2);
    } else {
        page.line(&format!("{} could not be read:", words::counted(refused.len(), "thing")));
    }
    for gap in refused.iter().take(LISTED) {
        let text = format!("{}: {}", safe::line(&gap.what), safe::line(&gap.why));
        page.paragraph(2, &text, MOST_LINES);
    }
    if refused.len() > LISTED {
        page.line(&format!("  and {} more: --output json", refused.len() - LISTED));
    }
    page.finish()
}
