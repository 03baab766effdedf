//! What is said beside the installer's own sentence: what to do, and why it matters. Data, in
//! `check/installer.yaml` of the pack.

use std::collections::BTreeMap;

use plimsoll_install::{Expected, Refusal, Release};
use plimsoll_model::{clip, redact};
use plimsoll_yaml::{Limits, Node};

use super::fix::meant_key;
use crate::pack::{LoadError, PackFile};

const FILE: &str = "check/installer.yaml";

#[derive(Debug, Default)]
pub struct Words(BTreeMap<String, RuleWords>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWords {
    pub hint: String,
    pub why: Option<String>,
}

impl Words {
    pub fn load(files: &[PackFile]) -> Result<Self, Vec<LoadError>> {
        let mut words = BTreeMap::new();
        let mut errors = Vec::new();
        for file in files.iter().filter(|file| file.path == FILE) {
            let error = |line, column, message: String| LoadError {
                path: file.path.clone(),
                line,
                column,
                message,
            };
            let root = match plimsoll_yaml::parse(&file.text, &Limits::USER_FILE) {
                Ok(root) => root,
                Err(wrong) => {
                    errors.push(error(wrong.line, wrong.column, wrong.message));
                    continue;
                }
            };
            for (id, value) in root.entries() {
                let known = plimsoll_install::rules().iter().any(|rule| rule.id == id.name);
                let hint = value.text_at(&["hint"]);
                let odd =
                    value.entries().iter().any(|(key, _)| !["hint", "why"].contains(&&*key.name));
                match hint {
                    Some(hint) if known && !odd => {
                        let why = value.get("why").and_then(Node::as_text);
                        let tidy = |text: &str| text.trim().to_string();
                        let told = RuleWords { hint: tidy(hint), why: why.map(tidy) };
                        words.insert(id.name.clone(), told);
                    }
                    _ => {
                        let message = format!(
                            "'{}' must be a rule of the installer, with 'hint' and 'why'",
                            id.name
                        );
                        errors.push(error(id.line, id.column, message));
                    }
                }
            }
        }
        if errors.is_empty() { Ok(Self(words)) } else { Err(errors) }
    }

    pub fn of(&self, rule: &str) -> Option<&RuleWords> {
        self.0.get(rule)
    }
}

/// The bad condition in our words, with what stands there, or where something should.
pub fn message(refusal: &Refusal) -> String {
    let rule = plimsoll_install::rules().iter().find(|rule| rule.id == refusal.rule);
    let title = rule.map_or(refusal.rule, |rule| rule.title);
    let value = refusal.value.as_deref().filter(|value| !is_of_go(value));
    match value {
        None if refusal.rule == "unknown-key" => {
            let meant = meant(refusal).map_or(String::new(), |meant| format!(" ({meant})"));
            format!("{title}: {}{meant}", refusal.path)
        }
        Some(value) => format!("{title}: {}", clip(&redact(value))),
        None if says_where(title, &refusal.path) => format!("{title}."),
        None => format!("{title}: {}", refusal.path),
    }
}

/// What an unknown key may have been meant for.
fn meant(refusal: &Refusal) -> Option<String> {
    let path: Vec<&str> =
        refusal.path.split('.').map(|part| part.split('[').next().unwrap_or_default()).collect();
    let (key, above) = path.split_last()?;
    let newest = Release::ALL.last()?;
    let mut expected = Expected::of(refusal.file);
    for name in above {
        let below = expected.field(name, *newest)?.1;
        expected = below.item().unwrap_or(below);
    }
    let known = |release: &&Release| expected.field(key, **release).is_some();
    match (Release::ALL.iter().find(known), Release::ALL.iter().rfind(known)) {
        (Some(first), Some(last)) if last == newest => Some(format!("there is one since {first}")),
        (_, Some(last)) => Some(format!("there was one until {last}")),
        _ => meant_key(key, &expected.keys(*newest)).map(|key| format!("is {key} meant?")),
    }
}

/// A value that the installer prints as its own source has it says nothing to its users.
fn is_of_go(value: &str) -> bool {
    value.ends_with("(nil)")
        || value.contains("[]string{")
        || (value.contains("v1.") && value.ends_with('}'))
        || value.contains("{…}")
}

/// A path with an index says more than any title.
fn says_where(title: &str, path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    path.is_empty() || (!path.contains('[') && title.contains(last))
}

#[cfg(test)]
mod tests {
    use plimsoll_install::ErrorType;

    use super::*;

    const WORDS: &str = include_str!("../../../../knowledge/check/installer.yaml");

    fn words() -> Words {
        let file = PackFile { path: FILE.into(), text: WORDS.into() };
        Words::load(&[file]).unwrap()
    }

    #[test]
    fn every_rule_that_can_refuse_has_words_and_nothing_but_a_rule_has() {
        let words = words();
        let asked = plimsoll_install::rules().iter().filter(|rule| rule.source != "outside");
        let ids: Vec<&str> = asked.map(|rule| rule.id).collect();
        let missing: Vec<_> = ids.iter().filter(|id| words.of(id).is_none()).collect();
        assert!(missing.is_empty(), "no words for {missing:?}");
        // What only the outside can refuse has words for those who ask what it is.
        let known = |id: &&String| plimsoll_install::rules().iter().any(|rule| rule.id == *id);
        let extra: Vec<_> = words.0.keys().filter(|id| !known(id)).collect();
        assert!(extra.is_empty(), "words for {extra:?}, which are no rules");
    }

    #[test]
    fn words_are_sentences_with_a_reason() {
        for (id, told) in &words().0 {
            let why = told.why.as_deref().unwrap_or_default();
            for text in [told.hint.as_str(), why] {
                assert!(text.ends_with(['.', ')']), "{id}: {text}");
                assert!(!text.contains("  ") && text.len() < 320, "{id}: {text}");
            }
        }
    }

    #[test]
    fn a_message_says_what_stands_there_or_where_something_should() {
        let refusal = |rule, path: &str, value: Option<&str>| Refusal {
            rule,
            file: plimsoll_install::File::Install,
            path: path.into(),
            line: 1,
            column: 1,
            kind: ErrorType::Invalid,
            value: value.map(str::to_string),
            detail: String::new(),
            message: String::new(),
            stage: plimsoll_install::Stage::Validate,
        };
        for (rule, path, value, said) in [
            (
                "hosts-missing",
                "platform.baremetal.hosts",
                Some("[]*baremetal.Host(nil)"),
                "There is no list of hosts.",
            ),
            ("publish-unknown", "publish", Some("\"x\""), "publish is unknown: \"x\""),
            (
                "host-name-missing",
                "platform.baremetal.hosts[1].name",
                None,
                "A host without a name: platform.baremetal.hosts[1].name",
            ),
            ("api-version-missing", "apiVersion", None, "apiVersion is missing."),
            (
                "unknown-key",
                "platform.baremetal.apiAddresses",
                None,
                "A key that no field has: platform.baremetal.apiAddresses",
            ),
            (
                "unknown-key",
                "platform.baremetal.hosts[0].bootMACAdress",
                None,
                "A key that no field has: platform.baremetal.hosts[0].bootMACAdress (is \
                 bootMACAddress meant?)",
            ),
            (
                "unknown-key",
                "platform.baremetal.additionalNTPServers",
                None,
                "A key that no field has: platform.baremetal.additionalNTPServers (there is one \
                 since 4.18)",
            ),
            (
                "pull-secret-unreadable",
                "pullSecret",
                None,
                "pullSecret is not the JSON it should be.",
            ),
        ] {
            assert_eq!(message(&refusal(rule, path, value)), said);
        }
    }
}
