//! Facts that a pack names, in expressions and as `{fact}` in sentences: each must exist, or it would
//! be unknown for ever and nobody would see why. A signature may stand in a later file, so log facts
//! are checked when all are read.

use super::fields::Fields;
use super::load::Loader;
use super::{LoadError, Place, SignatureRule};
use crate::facts::{logs, schema};
use crate::summary;

/// A path below `logs`, and where it is named.
pub(super) struct LogFact {
    at: Place,
    path: String,
}

impl<'n> Loader<'n> {
    /// A fact of `kind` that the value of `key` names.
    pub(super) fn fact(&mut self, fields: &Fields<'n>, key: &str, kind: &str, path: &str) {
        if schema::has_kind(kind) && !schema::has_fact(kind, path) {
            self.errors.push(fields.at(key, format!("{kind} has no fact '{path}'")));
        }
        if let (Some(path), Some(node)) = (path.strip_prefix("logs."), fields.get(key)) {
            self.log_facts.push(LogFact { at: fields.place_of(node), path: path.into() });
        }
    }

    /// What the sentence at `key` has in braces must be known of each of `kinds`; of none where it
    /// is said as it stands.
    pub(super) fn sentence(&mut self, fields: &Fields<'n>, key: &str, kinds: &[&str]) {
        let Some(text) = fields.get(key).and_then(|node| node.as_text()) else { return };
        let named = summary::placeholders(text);
        if let (Some(path), true) = (named.first(), kinds.is_empty()) {
            self.errors.push(fields.at(key, format!("nothing is filled in for '{{{path}}}' here")));
        }
        for path in named.iter().flat_map(|path| path.split('|')) {
            for kind in kinds {
                self.fact(fields, key, kind, path);
            }
        }
    }

    /// A sentence about the entities that these states are said of.
    pub(super) fn sentence_about(&mut self, fields: &Fields<'n>, key: &str, states: &[usize]) {
        let kinds: Vec<String> =
            states.iter().map(|state| self.pack.states[*state].on.clone()).collect();
        if !kinds.is_empty() {
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            self.sentence(fields, key, &kinds);
        }
    }

    pub(super) fn check_log_facts(&mut self) {
        for LogFact { at, path } in std::mem::take(&mut self.log_facts) {
            let (id, field) = path.split_once('.').unwrap_or((&path, ""));
            let wrong = match self.pack.signatures.iter().find(|rule| rule.spec.id == id) {
                None => Some(format!("no signature '{id}'")),
                Some(rule) => unknown_field(rule, field),
            };
            self.errors.extend(wrong.map(|message| LoadError::at(&at, message)));
        }
    }
}

fn unknown_field(rule: &SignatureRule, field: &str) -> Option<String> {
    // Most ask for what every hit has, and a pattern takes long to compile.
    if field.is_empty() || logs::FIELDS.contains(&field) {
        return None;
    }
    let captures = captures(rule);
    let known: Vec<&str> =
        logs::FIELDS.iter().copied().chain(captures.iter().map(String::as_str)).collect();
    (!known.contains(&field)).then(|| {
        format!("a hit of '{}' has no '{field}'; it has {}", rule.spec.id, known.join(", "))
    })
}

/// The named groups of its pattern; one that does not compile has been told of.
fn captures(rule: &SignatureRule) -> Vec<String> {
    let pattern = rule.spec.pattern.as_ref().and_then(|pattern| regex::Regex::new(pattern).ok());
    pattern
        .map(|built| built.capture_names().flatten().map(str::to_string).collect())
        .unwrap_or_default()
}
