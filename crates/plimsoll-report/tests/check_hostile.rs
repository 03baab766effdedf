//! Whatever stands in a file or comes from a BMC, every form of a check stays what it is: a page
//! without control characters, HTML without foreign markup, well-formed XML, valid SARIF.
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]

mod support;

use std::collections::BTreeSet;

use plimsoll_model::check::{Check, Finding, NotChecked, Severity};
use plimsoll_report::{
    CheckShown, TextOptions, check_html, check_junit, check_markdown, check_sarif, check_text, json,
};
use proptest::prelude::*;
use serde_json::{Value, json as value};
use support::check::{ATTACK, blocked, finding, hostile, ready};
use unicode_width::UnicodeWidthChar;

fn assert_calm(shown: &str) {
    let bad = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
    };
    assert!(!shown.contains(bad), "raw control character");
}

fn assert_fits(shown: &str, width: usize) {
    for line in shown.lines() {
        let columns: usize = line.chars().map(|c| c.width().unwrap_or(0)).sum();
        assert!(columns <= width, "{columns} columns, not {width}: {line}");
    }
}

/// No markup, no `]]>`, and only references that every reader of XML knows.
fn assert_character_data(text: &str) {
    assert!(!text.contains(['<', '>']), "markup in {text}");
    for rest in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
        assert!(known.iter().any(|name| rest.starts_with(name)), "&{rest}");
    }
}

/// As much of XML 1.0 as is written here: a declaration, elements, attributes, character data.
fn assert_well_formed(xml: &str) {
    let allowed = |c: char| match u32::from(c) {
        0x9 | 0xa | 0xd => true,
        c => (0x20..0xfffe).contains(&c) || c > 0xffff,
    };
    assert!(xml.chars().all(allowed), "a character that XML does not know");
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    let mut open: Vec<&str> = Vec::new();
    let mut roots = 0;
    while let Some((text, after)) = rest.split_once('<') {
        assert_character_data(text);
        assert!(!open.is_empty() || text.trim().is_empty(), "text outside: {text}");
        let (tag, after) = after.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "<{tag}>");
        let mut known = BTreeSet::new();
        while let Some((key, after)) = attributes.split_once("=\"") {
            let (text, after) = after.split_once('"').unwrap();
            assert_character_data(text);
            let key = key.trim();
            assert!(!key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase()), "<{tag}>");
            assert!(known.insert(key), "{key} twice in <{tag}>");
            attributes = after;
        }
        assert_eq!(attributes, "", "<{tag}>");
        roots += usize::from(open.is_empty());
        if !empty {
            open.push(name);
        }
    }
    assert_eq!((rest, open, roots), ("\n", vec![], 1));
}

/// The part of the published schema that is written here, with nothing else allowed.
fn sarif_schema() -> Value {
    let object = |required: &[&str], properties: Value| {
        value!({
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": false,
        })
    };
    let list = |items: &Value| value!({ "type": "array", "items": items });
    let text = value!({ "type": "string", "minLength": 1 });
    let message = object(&["text"], value!({ "text": { "type": "string" } }));
    let level = value!({ "enum": ["none", "note", "warning", "error"] });
    let from_one = value!({ "type": "integer", "minimum": 1 });
    // A relative reference, or a file.
    let uri = value!({
        "type": "string",
        "pattern": "^(file://)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$",
    });
    let rule = object(
        &["id"],
        value!({
            "id": { "type": "string" },
            "shortDescription": message, "fullDescription": message, "help": message,
            "defaultConfiguration": object(&[], value!({ "level": level })),
        }),
    );
    let physical = object(
        &["artifactLocation"],
        value!({
            "artifactLocation": object(&["uri"], value!({ "uri": uri })),
            "region": object(
                &["startLine"],
                value!({ "startLine": from_one, "startColumn": from_one }),
            ),
        }),
    );
    let logical = object(&[], value!({ "fullyQualifiedName": text }));
    let location = object(
        &["physicalLocation"],
        value!({ "physicalLocation": physical, "logicalLocations": list(&logical) }),
    );
    let result = object(
        &["message", "ruleId", "ruleIndex", "level"],
        value!({
            "message": message, "ruleId": { "type": "string" }, "level": level,
            "ruleIndex": { "type": "integer", "minimum": 0 },
            "locations": list(&location),
        }),
    );
    let notification = object(
        &["message"],
        value!({
            "message": message, "level": level,
            "associatedRule": object(&["id"], value!({ "id": { "type": "string" } })),
        }),
    );
    let invocation = object(
        &["executionSuccessful"],
        value!({
            "executionSuccessful": { "type": "boolean" },
            "toolExecutionNotifications": list(&notification),
        }),
    );
    let driver = object(&["name"], value!({ "name": text, "version": text, "rules": list(&rule) }));
    let run = object(
        &["tool", "results"],
        value!({
            "tool": object(&["driver"], value!({ "driver": driver })),
            "results": list(&result), "invocations": list(&invocation),
            "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
        }),
    );
    object(
        &["version", "runs"],
        value!({ "$schema": text, "version": { "const": "2.1.0" }, "runs": list(&run) }),
    )
}

fn assert_sarif(check: &Check, validator: &jsonschema::Validator) {
    let shown = check_sarif(check, "0.1.0");
    assert_calm(&shown);
    let log: Value = serde_json::from_str(&shown).unwrap();
    let faults: Vec<String> = validator.iter_errors(&log).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), check.findings.len());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().unwrap().contains("]("), "a link");
    }
}

fn assert_all(check: &Check, width: usize, explain: bool, validator: &jsonschema::Validator) {
    let options = TextOptions { width, ..TextOptions::default() };
    let text = check_text(check, &options, CheckShown { explain });
    assert_calm(&text);
    assert_fits(&text, width.max(40));
    assert_calm(&check_markdown(check));
    assert_calm(&check_html(check));
    let junit = check_junit(check);
    assert_calm(&junit);
    assert_well_formed(&junit);
    assert_sarif(check, validator);
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&sarif_schema()).unwrap()
}

#[test]
fn every_form_of_plain_checks_is_valid() {
    for check in [ready(), blocked()] {
        assert_all(&check, 80, true, &validator());
    }
}

#[test]
fn the_terminal_survives() {
    let shown = check_text(&hostile(), &TextOptions::default(), CheckShown { explain: true });
    assert_calm(&shown);
    assert_fits(&shown, 80);
    assert!(shown.lines().count() < 500, "{} lines", shown.lines().count());
    insta::assert_snapshot!(short(&hostile()));
}

/// One hostile finding without the length, so that a person can look at it.
fn short(check: &Check) -> String {
    let mut check = check.clone();
    let cut = |text: &mut String| *text = text.chars().filter(|c| *c != 'x').collect();
    check.findings.truncate(1);
    check.suppressed.clear();
    check.not_checked.clear();
    check.files.truncate(1);
    cut(&mut check.release);
    check.files.iter_mut().for_each(cut);
    let Finding { id, file, path, message, installer_message, hint, .. } = &mut check.findings[0];
    [id, file, path, message].into_iter().chain(installer_message).chain(hint).for_each(cut);
    check_text(&check, &TextOptions::default(), CheckShown::default())
}

#[test]
fn the_browser_survives() {
    let shown = check_html(&hostile());
    assert_calm(&shown);
    assert_eq!(shown.matches("<script").count(), 1);
    assert!(!shown.contains("evil.example\""));
}

/// A line of Markdown without what is escaped and without code spans, which end only at a run of
/// as many backticks as they began with.
fn outside_code(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['`', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            let mut characters = escaped.chars();
            characters.next();
            rest = characters.as_str();
            continue;
        }
        let run = |text: &str| text.len() - text.trim_start_matches('`').len();
        let opening = run(rest);
        rest = &rest[opening..];
        loop {
            let at = rest.find('`').unwrap();
            rest = &rest[at..];
            let closing = run(rest);
            rest = &rest[closing..];
            if closing == opening {
                break;
            }
        }
    }
    out + rest
}

#[test]
fn the_ticket_survives() {
    let shown = check_markdown(&hostile());
    assert_calm(&shown);
    let mut in_fence = None;
    for line in shown.lines() {
        match in_fence {
            Some(fence) if line == fence => in_fence = None,
            Some(_) => {}
            None if line.starts_with("```") && line.ends_with("text") => {
                in_fence = Some(line.trim_end_matches("text"));
            }
            None => {
                assert!(!line.starts_with("# heading") && !line.starts_with("- item"));
                let markup = outside_code(line);
                assert!(!markup.contains("<script") && !markup.contains("]("), "{markup}");
            }
        }
    }
    assert_eq!(in_fence, None);
}

#[test]
fn the_pipeline_survives() {
    let check = hostile();
    assert_well_formed(&check_junit(&check));
    assert_sarif(&check, &validator());
    assert_calm(&json(&check));
    assert_eq!(serde_json::from_str::<Check>(&json(&check)).unwrap(), check);
}

#[test]
#[should_panic(expected = "markup in")]
fn what_is_not_well_formed_is_seen() {
    assert_well_formed(&check_junit(&ready()).replace("0 errors in", "]]>"));
}

fn some_text() -> impl Strategy<Value = String> {
    let attack = any::<prop::sample::Index>().prop_map(|at| {
        let from = at.index(ATTACK.chars().count());
        ATTACK.chars().skip(from).collect()
    });
    prop_oneof![any::<String>(), "([a-z/]{1,90} ?){0,20}", attack, Just(String::new())]
}

prop_compose! {
    fn some_finding()(
        texts in prop::collection::vec(some_text(), 6), line in any::<u32>(), column in 0..90_u32,
        error in any::<bool>(), why in prop::option::of(some_text()),
    ) -> Finding {
        let severity = if error { Severity::Error } else { Severity::Warning };
        Finding {
            file: texts[0].clone(), path: texts[1].clone(), column, why, follows: None,
            installer_message: Some(texts[2].clone()), hint: Some(texts[3].clone()),
            ..finding(&texts[4], severity, line, &texts[5])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_check_can_be_read(
        findings in prop::collection::vec(some_finding(), 0..9),
        left in prop::collection::vec((some_text(), some_text()), 0..9),
        files in prop::collection::vec(some_text(), 0..4),
        width in 0..160_usize, explain in any::<bool>(),
    ) {
        let not_checked = left.into_iter().map(|(id, why)| NotChecked { id, why }).collect();
        let check = Check { findings, not_checked, files, ..blocked() };
        assert_all(&check, width, explain, &validator());
    }
}
