//! Rules of our own on the text of a file: it says one thing, and the installer reads another without a
//! word. Every place is a finding of its own, so these are no states of an entity. What to do about them
//! stands with the words of the installer's rules.

use std::collections::BTreeSet;

use plimsoll_install::{Judgement, Misread, Misreading};
use plimsoll_model::check::{Finding, Origin, Severity};
use plimsoll_model::{Evidence, clip, redact};

use super::facts::Facts;
use super::{Asked, Words};

pub const ONE_FIELD: &str = "key-in-two-cases";
pub const UNQUOTED: &str = "unquoted-value";
const REST: &str = "second-document";
const CUT: &str = "password-not-quoted";

/// Id and title.
pub const RULES: &[(&str, &str)] = &[
    (ONE_FIELD, "A key stands twice, in two cases"),
    (CUT, "A password of which YAML takes a part for something else"),
    (REST, "A second document that nobody reads"),
    (UNQUOTED, "A value without quotes is read as another"),
];

pub fn findings(
    words: &Words,
    asked: &Asked<'_>,
    judgement: &Judgement,
    facts: &Facts,
) -> Vec<Finding> {
    // An alias shows one place twice.
    let mut places = BTreeSet::new();
    let fresh = judgement.misreadings.iter().filter(|it| places.insert((it.file.name(), it.place)));
    fresh.map(|misreading| finding(misreading, words, asked, facts)).collect()
}

fn finding(it: &Misreading, words: &Words, asked: &Asked<'_>, facts: &Facts) -> Finding {
    let file = asked.file_name(it.file).to_string();
    let (id, message, value, text) = match &it.what {
        Misread::Scalar { shown: Some((written, read)), .. } => {
            let message = format!("Without quotes {written} is read as {read}.");
            let line = facts.line_of(it.file, it.place.line);
            (UNQUOTED, message, Some(written.clone()), line)
        }
        Misread::Scalar { shown: None, .. } => {
            let key = last_key(&it.path);
            let message = format!("Without quotes the value of {key} is read as another.");
            (UNQUOTED, message, None, key.to_string())
        }
        Misread::Key { wins, loses, other } => {
            let line = other.line;
            let message = format!(
                "{wins} and {loses} (line {line}) are one field to the installer, which takes {wins}."
            );
            // What stands there may be a secret.
            (ONE_FIELD, message, None, wins.clone())
        }
        Misread::Cut => {
            let message = "Without quotes YAML takes a part of this password for something else.";
            (CUT, message.into(), None, last_key(&it.path).to_string())
        }
        Misread::Rest => {
            let message = "The file ends here for the installer: what follows is not read.";
            (REST, message.into(), None, facts.line_of(it.file, it.place.line))
        }
    };
    let words = words.of(id);
    Finding {
        id: id.into(),
        severity: Severity::Warning,
        origin: Origin::Plimsoll,
        stage: None,
        entity: facts.entity_at(it.file, &it.path),
        path: it.path.clone(),
        line: it.place.line,
        column: it.place.column,
        value: value.map(|value| clip(&redact(&value))),
        message,
        installer_message: None,
        hint: words.map(|words| words.hint.clone()),
        why: words.and_then(|words| words.why.clone()),
        follows: None,
        evidence: vec![Evidence {
            source: file.clone(),
            path: file.clone(),
            line: Some(it.place.line.into()),
            pointer: None,
            time: None,
            text,
        }],
        file,
    }
}

/// The key of a path, without the index of an item.
pub fn last_key(path: &str) -> &str {
    let last = path.rsplit('.').next().unwrap_or(path);
    last.split('[').next().unwrap_or(last)
}
