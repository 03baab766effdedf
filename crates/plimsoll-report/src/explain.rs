//! What a pack knows of a failure mode, or of a line from a log, as a page. The order is the same in
//! every form: what it is, what you see, why, how to confirm and fix it, then what the rules say.

mod markdown;
mod prose;
mod repairs;
mod text;

use plimsoll_model::knowledge::{
    EdgeInfo, Explained, FailureMode, LineMatch, Scope, StateRole, SymptomKind,
};

pub use markdown::explain_markdown;
pub use text::explain_text;

use crate::{safe, words};

/// Packs write down how it is, and not what is believed: the title must not deny it.
const FOLKLORE: &str = "Contrary to what is often said";

/// The sections of the page before and after what the rules say, with their headings.
fn sections(mode: &FailureMode) -> ([(&'static str, &str); 5], (&'static str, &str)) {
    let text = |of: fn(&plimsoll_model::knowledge::Page) -> &str| mode.page.as_ref().map_or("", of);
    let before = [
        ("What you see", text(|page| &page.what_you_see)),
        ("Why", text(|page| &page.why)),
        ("How to confirm", text(|page| &page.how_to_confirm)),
        ("How to fix", text(|page| &page.how_to_fix)),
        ("Is the fix safe", text(|page| &page.is_the_fix_safe)),
    ];
    (before, ("Sources", text(|page| &page.sources)))
}

/// `catalogue D05, area kubelet, can be a root cause (uncommon)`
fn facts(mode: &FailureMode) -> String {
    let catalogue =
        mode.catalogue.as_ref().map(|number| format!("catalogue {}", safe::line(number)));
    let area = (!mode.area.is_empty()).then(|| format!("area {}", safe::line(&mode.area)));
    let priors: Vec<&str> = mode.states.iter().filter_map(|state| state.root.as_deref()).collect();
    let root = match priors.first() {
        Some(prior) => format!("can be a root cause ({})", safe::line(prior)),
        None if mode.area == "check" => "told of a config by plimsoll check".into(),
        None if mode.states.iter().all(|state| state.role == StateRole::Expected) => {
            "planned work, never a fault".into()
        }
        None if mode.states.iter().all(|state| state.role == StateRole::Note) => {
            "noted, never blamed".into()
        }
        None => "never a root cause: something else causes it".into(),
    };
    catalogue.into_iter().chain(area).chain([root]).collect::<Vec<_>>().join(", ")
}

/// `4.12..4.18, bare metal`; `every cluster` where nothing narrows it.
pub(crate) fn scope(scope: &Scope) -> String {
    let list = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| safe::line(name)).collect();
        (!names.is_empty()).then(|| names.join(" or "))
    };
    let versions = scope.versions.as_ref().map(|range| safe::line(range));
    let parts: Vec<String> =
        versions.into_iter().chain(list(&scope.platforms)).chain(list(&scope.topologies)).collect();
    if parts.is_empty() { "every cluster".into() } else { parts.join(", ") }
}

/// What each state applies to; one sentence where they agree.
fn applies(mode: &FailureMode) -> Vec<String> {
    let mut scopes: Vec<&Scope> = mode.states.iter().map(|state| &state.applies).collect();
    scopes.sort();
    scopes.dedup();
    match scopes.as_slice() {
        [] => Vec::new(),
        [only] => vec![scope(only)],
        _ => {
            let all = mode.states.iter();
            all.map(|state| format!("{}: {}", safe::line(&state.id), scope(&state.applies)))
                .collect()
        }
    }
}

/// `usually, after 5m to 1h`
fn strength(edge: &EdgeInfo) -> String {
    let keeps = if edge.keeps { "keeps it going, " } else { "" };
    let delay = edge.delay.as_deref().map(delay).unwrap_or_default();
    format!("{keeps}{}{delay}", safe::line(&edge.likelihood))
}

/// A window that opens before the cause only allows for clocks and late detectors.
fn delay(window: &str) -> String {
    let (from, to) = window.split_once("..").unwrap_or((window, ""));
    let from = if from.starts_with('-') || from == "0s" { "" } else { from };
    match (safe::line(from).as_str(), safe::line(to).as_str()) {
        ("", "") => String::new(),
        ("", to) => format!(", within {to}"),
        (from, "") => format!(", after {from}"),
        (from, to) => format!(", after {from} to {to}"),
    }
}

fn folklore(mode: &FailureMode) -> impl Iterator<Item = &String> {
    mode.states.iter().flat_map(|state| &state.folklore)
}

/// States beside the one that the folder is named for, with what each means.
fn other_states(mode: &FailureMode) -> impl Iterator<Item = &plimsoll_model::knowledge::StateInfo> {
    mode.states.iter().filter(|state| state.id != mode.id)
}

/// Where the words of a match come from.
fn origin(found: &LineMatch) -> String {
    let words: Vec<String> = found.words.iter().map(|word| safe::line(word)).collect();
    match found.kind {
        SymptomKind::Log => {
            let logs: Vec<String> = found.logs.iter().map(|log| safe::line(log)).collect();
            let place = if logs.is_empty() { "any log".into() } else { logs.join(" or ") };
            format!("signature {} (in {place})", words.join(", "))
        }
        SymptomKind::Message => format!("a message with \"{}\"", words.join("\" and \"")),
        SymptomKind::Reason => format!("the reason {}", words.join(", ")),
    }
}

fn captures(found: &LineMatch) -> Option<String> {
    let all = found.captures.iter();
    let all: Vec<String> =
        all.map(|(name, value)| format!("{} = {}", safe::line(name), safe::line(value))).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// What is said of lines that nobody knows, if there are any.
fn unknown_lines(answer: &Explained) -> Option<String> {
    let count = usize::try_from(answer.unknown_lines).unwrap_or(usize::MAX);
    let lines = words::counted(count, "line");
    match (answer.lines.is_empty(), count) {
        (_, 0) => None,
        (true, 1) => Some("No failure mode knows this line.".into()),
        (true, _) => Some(format!("No failure mode knows any of these {lines}.")),
        (false, 1) => Some("No failure mode knows the other line.".into()),
        (false, _) => Some(format!("No failure mode knows the other {lines}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_read_as_words() {
        for (window, words) in [
            ("5m..1h", ", after 5m to 1h"),
            ("0s..15m", ", within 15m"),
            ("-2h..", ""),
            ("10m..", ", after 10m"),
        ] {
            assert_eq!(delay(window), words);
        }
    }
}
