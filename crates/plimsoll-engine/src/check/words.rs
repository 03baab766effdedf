//! What is said beside the installer's own sentence: what to do, and why it matters. Data, in
//! `check/installer.yaml` of the pack.

use std::collections::BTreeMap;

use plimsoll_install::Refusal;
use plimsoll_model::{clip, redact};
use plimsoll_yaml::{Limits, Node};

use super::meant::Meant;
use super::readings;
use crate::pack::{LoadError, PackFile};

const FILE: &str = "check/installer.yaml";

#[derive(Debug, Default)]
pub struct Words(BTreeMap<String, RuleWords>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleWords {
    pub hint: String,
    pub why: Option<String>,
    /// What is said instead in some cases: the first that fits.
    instead: Vec<Instead>,
}

/// Other words for the same rule, where all of these hold.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Instead {
    /// The fault is in this file.
    file: Option<String>,
    /// The installer's sentence has these words.
    says: Option<String>,
    /// It is known what stands there.
    value: bool,
    title: Option<String>,
    hint: String,
    why: Option<String>,
}

/// What is said of one refusal.
pub struct Told<'w> {
    /// In place of the title of its rule.
    pub title: Option<&'w str>,
    pub hint: &'w str,
    pub why: Option<&'w str>,
}

impl Instead {
    fn fits(&self, refusal: &Refusal) -> bool {
        self.file.as_ref().is_none_or(|file| file == refusal.file.name())
            && self.says.as_ref().is_none_or(|says| refusal.message.contains(says.as_str()))
            && (!self.value || refusal.value.is_some())
    }

    /// `None` where a key is odd, or nothing tells when it fits.
    fn read(node: &Node) -> Option<Self> {
        let value = node.get("value").and_then(Node::as_bool).unwrap_or(false);
        let text = |key: &str| node.text_at(&[key]).map(tidy);
        let (file, says) = (text("in"), text("says"));
        let keys = ["in", "says", "value", "title", "hint", "why"];
        let has_condition = value || file.is_some() || says.is_some();
        let is_whole = has_condition && has_only(node, &keys);
        is_whole.then_some(())?;
        let hint = text("hint")?;
        Some(Self { file, says, value, title: text("title"), hint, why: text("why") })
    }
}

impl RuleWords {
    fn read(node: &Node) -> Option<Self> {
        has_only(node, &["hint", "why", "instead"]).then_some(())?;
        let hint = node.text_at(&["hint"]).map(tidy)?;
        let why = node.text_at(&["why"]).map(tidy);
        let instead = node.get("instead").map(Node::items).unwrap_or_default();
        let instead: Option<Vec<Instead>> = instead.iter().map(Instead::read).collect();
        Some(Self { hint, why, instead: instead? })
    }
}

fn tidy(text: &str) -> String {
    text.trim().to_string()
}

fn has_only(node: &Node, keys: &[&str]) -> bool {
    node.entries().iter().all(|(key, _)| keys.contains(&key.name.as_str()))
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
                match RuleWords::read(value).filter(|_| is_rule(&id.name)) {
                    Some(told) => {
                        words.insert(id.name.clone(), told);
                    }
                    None => {
                        let message = format!(
                            "'{}' must be a rule of the installer or of the text of a file, with \
                             'hint', 'why' and 'instead'",
                            id.name
                        );
                        errors.push(error(id.line, id.column, message));
                    }
                }
            }
        }
        if errors.is_empty() { Ok(Self(words)) } else { Err(errors) }
    }

    /// What is said of a rule in general.
    pub fn of(&self, rule: &str) -> Option<&RuleWords> {
        self.0.get(rule)
    }

    /// What is said of one refusal by it.
    pub fn about(&self, refusal: &Refusal) -> Option<Told<'_>> {
        let words = self.of(refusal.rule)?;
        Some(match words.instead.iter().find(|instead| instead.fits(refusal)) {
            Some(instead) => Told {
                title: instead.title.as_deref(),
                hint: &instead.hint,
                why: instead.why.as_deref().or(words.why.as_deref()),
            },
            None => Told { title: None, hint: &words.hint, why: words.why.as_deref() },
        })
    }
}

fn is_rule(id: &str) -> bool {
    let by_installer = plimsoll_install::rules().iter().any(|rule| rule.id == id);
    by_installer || readings::RULES.iter().any(|(ours, _)| *ours == id)
}

/// The bad condition in our words, with what stands there, or where something should.
pub fn message(refusal: &Refusal, title: Option<&str>) -> String {
    let rule = plimsoll_install::rules().iter().find(|rule| rule.id == refusal.rule);
    let general = rule.map_or(refusal.rule, |rule| rule.title);
    let says_all = title.is_some();
    let title = title.unwrap_or(general);
    let value = refusal.value.as_deref().filter(|value| !is_of_go(value));
    match value {
        None if refusal.rule == "unknown-key" => {
            let meant = Meant::of(refusal.file, &refusal.path);
            let meant = meant.map_or(String::new(), |meant| format!(" ({})", meant.words()));
            format!("{title}: {}{meant}", refusal.path)
        }
        Some(value) => format!("{title}: {}", clip(&redact(value))),
        None if says_all || says_where(title, &refusal.path) => format!("{title}."),
        None => format!("{title}: {}", refusal.path),
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

    fn refusal(rule: &'static str, path: &str, value: Option<&str>) -> Refusal {
        Refusal {
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
        }
    }

    #[test]
    fn every_rule_that_can_refuse_has_words_and_nothing_but_a_rule_has() {
        let words = words();
        let asked = plimsoll_install::rules().iter().filter(|rule| rule.source != "outside");
        let ids: Vec<&str> = asked.map(|rule| rule.id).collect();
        let missing: Vec<_> = ids.iter().filter(|id| words.of(id).is_none()).collect();
        assert!(missing.is_empty(), "no words for {missing:?}");
        let missing: Vec<_> =
            readings::RULES.iter().filter(|(id, _)| words.of(id).is_none()).collect();
        assert!(missing.is_empty(), "no words for {missing:?}");
        // What only the outside can refuse has words for those who ask what it is.
        let extra: Vec<_> = words.0.keys().filter(|id| !is_rule(id)).collect();
        assert!(extra.is_empty(), "words for {extra:?}, which are no rules");
    }

    #[test]
    fn words_are_sentences_with_a_reason() {
        for (id, told) in &words().0 {
            assert!(told.why.is_some(), "{id} has no reason");
            let others = told.instead.iter().flat_map(|it| [Some(&it.hint), it.why.as_ref()]);
            let own = [Some(&told.hint), told.why.as_ref()];
            for text in own.into_iter().chain(others).flatten() {
                assert!(text.ends_with(['.', ')']), "{id}: {text}");
                assert!(!text.contains("  ") && text.len() < 320, "{id}: {text}");
            }
        }
    }

    #[test]
    fn some_cases_have_words_of_their_own() {
        let words = words();
        let hint = |refusal: &Refusal| {
            words.about(refusal).map(|told| told.hint.to_string()).unwrap_or_default()
        };
        let mut missing = refusal("api-version-missing", "apiVersion", None);
        assert!(hint(&missing).contains("install-config.yaml"), "{}", hint(&missing));
        missing.file = plimsoll_install::File::Agent;
        assert!(hint(&missing).contains("v1beta1"), "{}", hint(&missing));
        let role = refusal("host-without-role", "platform.baremetal.Hosts", Some("\"maste\""));
        let title = words.about(&role).and_then(|told| told.title);
        assert_eq!(message(&role, title), "The role of a host is unknown: \"maste\"");
        let mut bmc = refusal("bmc-address-unreadable", "platform.baremetal.hosts[0].bmc", None);
        bmc.message = "BMC address hostname/IP : [2001:db8:] is invalid".into();
        assert!(hint(&bmc).contains("brackets"), "{}", hint(&bmc));
    }

    #[test]
    fn words_that_nobody_can_meet_are_refused() {
        for text in [
            "no-such-rule: {hint: x., why: y.}",
            "hosts-missing: {hint: x., reason: y.}",
            "hosts-missing: {hint: x., instead: [{hint: y.}]}",
            "hosts-missing: {hint: x., instead: [{says: z, hnit: y.}]}",
        ] {
            let file = PackFile { path: FILE.into(), text: text.into() };
            assert!(Words::load(&[file]).is_err(), "{text}");
        }
    }

    #[test]
    fn a_message_says_what_stands_there_or_where_something_should() {
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
            assert_eq!(message(&refusal(rule, path, value), None), said);
        }
    }
}
