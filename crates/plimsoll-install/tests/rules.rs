//! The table of rules and the code name the same rules.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_install::rules;

/// Words of the same form that are no rules.
const OTHER_WORDS: &[&str] = &[
    "ecdsa-sha2-nistp",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "idrac-redfish",
    "idrac-virtualmedia",
    "ilo4-virtualmedia",
    "ilo5-redfish",
    "ilo5-virtualmedia",
    "mac-address",
    "openshift-samples",
    "redfish-virtualmedia",
    "ssh-dss",
    "ssh-ed25519",
    "ssh-rsa",
    "user-defined",
];

fn sources(folder: &Path, into: &mut Vec<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, into)?;
        } else if !path.ends_with("src/rules.rs") {
            let text = std::fs::read_to_string(&path)?;
            into.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_string());
        }
    }
    Ok(())
}

/// Text in double quotes that looks like `two-words`.
fn kebab_words(source: &str) -> BTreeSet<String> {
    let fits = |text: &&str| {
        text.contains('-')
            && text.split('-').all(|part| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
            })
            && text.starts_with(|c: char| c.is_ascii_lowercase())
    };
    source.split('"').filter(fits).map(str::to_string).collect()
}

#[test]
fn every_rule_of_the_code_is_in_the_table_and_the_other_way_round() {
    let mut texts = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut texts).unwrap();
    let mut used: BTreeSet<_> = texts.iter().flat_map(|text| kebab_words(text)).collect();
    for word in OTHER_WORDS {
        assert!(used.remove(*word), "{word} is no longer in the code");
    }
    let listed: BTreeSet<_> = rules().iter().map(|rule| rule.id.to_string()).collect();
    assert_eq!(listed.len(), rules().len(), "a rule is listed twice");
    assert_eq!(used.difference(&listed).collect::<Vec<_>>(), Vec::<&String>::new(), "not listed");
    assert_eq!(listed.difference(&used).collect::<Vec<_>>(), Vec::<&String>::new(), "not used");
}

#[test]
fn every_rule_has_a_title_and_a_source() {
    for rule in rules() {
        assert!(!rule.title.is_empty() && !rule.title.ends_with('.'), "{}", rule.id);
        assert!(rule.source == "outside" || rule.source.ends_with(".go"), "{}", rule.id);
        assert!(!rule.releases.is_empty(), "{}", rule.id);
    }
}
