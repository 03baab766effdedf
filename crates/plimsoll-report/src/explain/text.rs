//! The page on a terminal.

use plimsoll_model::knowledge::{
    CheckInfo, EdgeInfo, Explained, FailureMode, KnownLine, LineMatch,
};

use super::{
    FOLKLORE, applies, captures, facts, folklore, origin, other_states, prose, sections, strength,
    unknown_lines,
};
use crate::text::page::{CAREFUL, GOOD, Page, STRONG};
use crate::{TextOptions, safe, words};

const WHOLE: usize = usize::MAX;

pub fn explain_text(answer: &Explained, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    for (at, mode) in answer.failure_modes.iter().enumerate() {
        if at > 0 {
            page.blank();
        }
        failure_mode(&mut page, mode);
    }
    for (at, line) in answer.lines.iter().enumerate() {
        if at > 0 {
            page.blank();
        }
        known_line(&mut page, line);
    }
    if let Some(text) = unknown_lines(answer) {
        if !answer.lines.is_empty() {
            page.blank();
        }
        page.paragraph(0, &text, 2);
    }
    page.finish()
}

fn heading(page: &mut Page, title: &str) {
    page.blank();
    let painted = page.paint(STRONG, title);
    page.line(&painted);
}

fn failure_mode(page: &mut Page, mode: &FailureMode) {
    page.opening(STRONG, &format!("{}:", safe::line(&mode.id)), &safe::line(&mode.title), WHOLE);
    page.paragraph(0, &format!("({})", facts(mode)), WHOLE);
    if let Some(written) = mode.page.as_ref().filter(|page| !page.intro.is_empty()) {
        page.blank();
        prose::draw(page, &written.intro);
    }
    let (before, (sources, text)) = sections(mode);
    for (title, text) in before {
        if !text.is_empty() {
            heading(page, title);
            prose::draw(page, text);
        }
    }
    if folklore(mode).next().is_some() {
        heading(page, FOLKLORE);
        folklore(mode).for_each(|truth| page.item(&safe::line(truth), WHOLE));
    }
    if mode.page.is_none() {
        heading(page, "What it means");
        for state in mode.states.iter().filter(|state| state.id == mode.id) {
            page.paragraph(3, &safe::line(&state.summary), WHOLE);
        }
        recoveries(page, mode);
    }
    super::repairs::text(page, mode);
    if other_states(mode).next().is_some() {
        heading(page, "Also told apart here");
        for state in other_states(mode) {
            page.item(&format!("{}: {}", safe::line(&state.id), safe::line(&state.summary)), WHOLE);
        }
    }
    edges(page, "Caused by", &mode.caused_by, |edge| &edge.from);
    edges(page, "Causes", &mode.causes, |edge| &edge.to);
    if !mode.checks.is_empty() {
        heading(page, "Checks");
        mode.checks.iter().for_each(|check| page.item(&how(check), WHOLE));
    }
    heading(page, "Applies to");
    applies(mode).iter().for_each(|line| page.item(line, WHOLE));
    if !text.is_empty() {
        heading(page, sources);
        prose::draw(page, text);
    }
}

/// Only where there is no page that says it better.
fn recoveries(page: &mut Page, mode: &FailureMode) {
    for recovery in mode.states.iter().flat_map(|state| &state.recovery) {
        page.labelled("fix", &safe::line(&recovery.summary), WHOLE);
    }
}

fn edges(page: &mut Page, title: &str, edges: &[EdgeInfo], other: fn(&EdgeInfo) -> &String) {
    if edges.is_empty() {
        return;
    }
    heading(page, title);
    for edge in edges {
        let because = words::sentence(&edge.because);
        page.item(&format!("{} ({}): {because}", safe::line(other(edge)), strength(edge)), WHOLE);
    }
}

fn how(check: &CheckInfo) -> String {
    format!("{} ({})", safe::line(&check.how), words::cost(check.cost))
}

fn known_line(page: &mut Page, line: &KnownLine) {
    let times =
        if line.count > 1 { format!(" (and {} like it)", line.count - 1) } else { String::new() };
    page.paragraph(0, &format!("line {}: {}{times}", line.number, safe::line(&line.text)), 4);
    for found in &line.matches {
        one_match(page, found);
    }
}

fn one_match(page: &mut Page, found: &LineMatch) {
    page.blank();
    let style = if found.proof { GOOD } else { CAREFUL };
    page.opening(style, &format!("{}:", safe::line(&found.id)), &safe::line(&found.title), WHOLE);
    page.labelled("by", &origin(found), WHOLE);
    if let Some(captures) = captures(found) {
        page.labelled("names", &captures, WHOLE);
    }
    page.labelled("weight", &words::sentence(&found.because), WHOLE);
    if !found.caused_by.is_empty() {
        let lead = if found.root { "may come from" } else { "a consequence; look for" };
        page.labelled("cause", &format!("{lead} {}", found.caused_by.join(", ")), WHOLE);
    }
    for check in &found.checks {
        page.labelled("next", &how(check), WHOLE);
    }
    page.labelled("page", &format!("plimsoll explain {}", safe::line(&found.failure_mode)), 1);
}
