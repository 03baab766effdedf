//! The page of an id that no folder of a pack has: a rule of the installer, one on the text of a file, or a
//! mending that no rule asks for.

use plimsoll_install::Rule;
use plimsoll_model::knowledge::{FailureMode, Page, Scope, StateInfo, StateRole};

use super::{Words, readings};

const OUTSIDE: &str = "outside";

/// Of what `--fix` mends although the installer takes it: id, title, why.
const TIDY: &[(&str, &str, &str)] = &[
    (
        "api-version-old",
        "apiVersion is one that the installer converts",
        "v1beta3 and v1beta4 are converted to v1 as they are read; other readers of the file know v1 alone.",
    ),
    (
        "key-in-other-case",
        "A key is written in another case than its field",
        "The installer matches keys in any case; yq, Ansible and most other readers do not.",
    ),
    (
        "mac-in-other-form",
        "A MAC address is written in another form than aa:bb:cc:dd:ee:ff",
        "Some of those who compare MAC addresses compare the text and not the address.",
    ),
    (
        "vip-field-deprecated",
        "apiVIP or ingressVIP in place of the list that replaced it",
        "The installer turns apiVIP into apiVIPs and ingressVIP into ingressVIPs; the old names will go.",
    ),
];

/// `None` for an id that neither the installer's rules nor the mendings have.
pub fn page(words: &Words, id: &str) -> Option<FailureMode> {
    let rule = plimsoll_install::rules().iter().find(|rule| rule.id == id);
    rule.map(|rule| of_rule(words, rule)).or_else(|| of_reading(words, id)).or_else(|| {
        let (id, title, why) = TIDY.iter().find(|(tidy, ..)| *tidy == id)?;
        let page = Page {
            what_you_see: "Nothing: the installer takes it. `plimsoll check --fix` mends it."
                .into(),
            why: (*why).into(),
            how_to_fix: "Take what `plimsoll check --fix` writes beside your file.".into(),
            ..Page::default()
        };
        Some(mode(id, title, Scope::default(), page))
    })
}

fn of_reading(words: &Words, id: &str) -> Option<FailureMode> {
    let (id, title) = readings::RULES.iter().find(|(ours, _)| *ours == id)?;
    let told = words.of(id);
    let page = Page {
        what_you_see: "Nothing: the installer takes the file, and reads another value.".into(),
        why: told.and_then(|told| told.why.clone()).unwrap_or_default(),
        how_to_fix: told.map(|told| told.hint.clone()).unwrap_or_default(),
        ..Page::default()
    };
    Some(mode(id, title, Scope::default(), page))
}

fn of_rule(words: &Words, rule: &Rule) -> FailureMode {
    let told = words.of(rule.id);
    let outside = rule.source == OUTSIDE;
    let what_you_see = match outside {
        true => {
            "`openshift-install` asks the machine or the network for it. A check of the files alone \
                 lists it as not made."
        }
        false => {
            "`openshift-install` says it itself. `plimsoll check` quotes its words beside line and \
                  column."
        }
    };
    let sources = match outside {
        true => String::new(),
        false => format!("- openshift/installer, `{}`", rule.source),
    };
    let page = Page {
        what_you_see: what_you_see.into(),
        why: told.and_then(|told| told.why.clone()).unwrap_or_default(),
        how_to_fix: told.map(|told| told.hint.clone()).unwrap_or_default(),
        sources,
        ..Page::default()
    };
    let (first, last) = (rule.releases.start(), rule.releases.end());
    let versions = Some(format!("{first}..{last}"));
    mode(rule.id, rule.title, Scope { versions, ..Scope::default() }, page)
}

fn mode(id: &str, title: &str, applies: Scope, page: Page) -> FailureMode {
    FailureMode {
        id: id.into(),
        title: title.into(),
        area: "check".into(),
        catalogue: None,
        page: Some(page),
        repairs: Vec::new(),
        states: vec![StateInfo {
            id: id.into(),
            on: "InstallConfig".into(),
            summary: title.into(),
            root: None,
            role: StateRole::Fault,
            weak: false,
            refines: None,
            applies,
            recovery: Vec::new(),
            folklore: Vec::new(),
        }],
        caused_by: Vec::new(),
        causes: Vec::new(),
        checks: Vec::new(),
        symptoms: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fix;

    #[test]
    fn every_mending_has_a_page() {
        let words = Words::default();
        let with_page: Vec<&str> = TIDY.iter().map(|(id, ..)| *id).collect();
        let mut wanted = fix::TIDY.to_vec();
        wanted.sort_unstable();
        assert_eq!(with_page, wanted);
        assert!(page(&words, "mac-in-other-form").is_some());
        assert!(page(&words, "unquoted-value").is_some());
        assert!(page(&words, "no-such-id").is_none());
    }
}
