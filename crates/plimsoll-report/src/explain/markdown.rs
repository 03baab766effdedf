//! The page as Markdown: the reference in `docs/failure-modes` is made of it.

use plimsoll_model::knowledge::{EdgeInfo, Explained, FailureMode, KnownLine};

use super::{
    FOLKLORE, applies, captures, facts, folklore, origin, other_states, sections, strength,
    unknown_lines,
};
use crate::markdown::escape::{code, fenced, prose};
use crate::markdown::section;
use crate::{safe, words};

pub fn explain_markdown(answer: &Explained) -> String {
    let mut out = Vec::new();
    for mode in &answer.failure_modes {
        if !out.is_empty() {
            out.push(String::new());
        }
        failure_mode(&mut out, mode);
    }
    for line in &answer.lines {
        known_line(&mut out, line);
    }
    out.extend(unknown_lines(answer));
    out.join("\n") + "\n"
}

fn failure_mode(out: &mut Vec<String>, mode: &FailureMode) {
    out.extend([format!("# {}", prose(&mode.id)), String::new()]);
    out.extend([format!("{} ({}).", prose(&mode.title), facts(mode))]);
    if let Some(page) = mode.page.as_ref().filter(|page| !page.intro.is_empty()) {
        out.extend([String::new(), safe::document(&page.intro)]);
    }
    let (before, (sources, text)) = sections(mode);
    for (title, text) in before.into_iter().filter(|(_, text)| !text.is_empty()) {
        section(out, title);
        out.push(safe::document(text));
    }
    if folklore(mode).next().is_some() {
        section(out, FOLKLORE);
        out.extend(folklore(mode).map(|truth| format!("- {}", prose(truth))));
    }
    super::repairs::markdown(out, mode);
    if other_states(mode).next().is_some() {
        section(out, "Also told apart here");
        out.extend(
            other_states(mode)
                .map(|state| format!("- {}: {}", code(&state.id), prose(&state.summary))),
        );
    }
    edges(out, "Caused by", &mode.caused_by, |edge| &edge.from);
    edges(out, "Causes", &mode.causes, |edge| &edge.to);
    if !mode.checks.is_empty() {
        section(out, "Checks");
        let checks = mode.checks.iter();
        out.extend(
            checks.map(|check| format!("- {} ({})", prose(&check.how), words::cost(check.cost))),
        );
    }
    section(out, "Applies to");
    out.extend(applies(mode).iter().map(|line| format!("- {}", prose(line))));
    if !mode.symptoms.is_empty() {
        section(out, "Texts that speak for it");
        let texts: std::collections::BTreeSet<&str> =
            mode.symptoms.iter().map(|symptom| symptom.text.as_str()).collect();
        out.extend(texts.into_iter().map(|text| format!("- {}", code(text))));
    }
    if !text.is_empty() {
        section(out, sources);
        out.push(safe::document(text));
    }
}

fn edges(out: &mut Vec<String>, title: &str, edges: &[EdgeInfo], other: fn(&EdgeInfo) -> &String) {
    if edges.is_empty() {
        return;
    }
    section(out, title);
    out.extend(edges.iter().map(|edge| {
        let because = prose(&words::sentence(&edge.because));
        format!(
            "- {} ({}): {because} Source: {}.",
            code(other(edge)),
            strength(edge),
            prose(&edge.source)
        )
    }));
}

fn known_line(out: &mut Vec<String>, line: &KnownLine) {
    out.extend([format!("# Line {}", line.number), String::new(), fenced(&line.text)]);
    if line.count > 1 {
        out.extend([String::new(), format!("and {} like it.", line.count - 1)]);
    }
    for found in &line.matches {
        section(out, &code(&found.id));
        out.extend([words::sentence(&prose(&found.title)), String::new()]);
        out.push(format!("- Seen by {}.", prose(&origin(found))));
        out.extend(captures(found).map(|text| format!("- It names {}.", prose(&text))));
        out.push(format!("- Weight: {}", prose(&words::sentence(&found.because))));
        if !found.caused_by.is_empty() {
            let causes: Vec<String> = found.caused_by.iter().map(|id| code(id)).collect();
            out.push(format!("- Known causes: {}.", causes.join(", ")));
        }
        let checks = found.checks.iter();
        out.extend(
            checks.map(|check| {
                format!("- Check: {} ({})", prose(&check.how), words::cost(check.cost))
            }),
        );
    }
    out.push(String::new());
}
