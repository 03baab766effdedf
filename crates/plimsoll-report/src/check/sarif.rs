//! SARIF 2.1.0, for editors and code hosts that show findings at their line.

use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll_model::check::{Check, Finding, Severity};
use serde_json::{Value, json};

use super::{ordered, place, remarks, severity, why};
use crate::{safe, words};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// `version` is that of Plimsoll.
pub fn check_sarif(check: &Check, version: &str) -> String {
    let findings = ordered(check);
    let mut by_id: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        by_id.entry(&finding.id).or_default().push(finding);
    }
    let rules: Vec<Value> = by_id.iter().map(|(id, findings)| rule(id, findings)).collect();
    let index: BTreeMap<&str, usize> = by_id.into_keys().zip(0..).collect();
    let results: Vec<Value> = findings.iter().map(|each| result(each, &index)).collect();
    let notifications: Vec<Value> = check
        .not_checked
        .iter()
        .map(|each| {
            let id = safe::line(&each.id);
            let text = format!("{id} was not checked: {}", words::sentence(&each.why));
            json!({ "associatedRule": { "id": id }, "level": "note", "message": message(&text) })
        })
        .collect();
    let driver = json!({ "name": "plimsoll", "rules": rules, "version": safe::line(version) });
    let run = json!({
        "columnKind": "unicodeCodePoints",
        "invocations": [{
            "executionSuccessful": true,
            "toolExecutionNotifications": notifications,
        }],
        "results": results,
        "tool": { "driver": driver },
    });
    crate::json(&json!({ "$schema": SCHEMA, "runs": [run], "version": "2.1.0" }))
}

/// An id says in words what is bad. The rest is what the first finding knows.
fn rule(id: &str, findings: &[&Finding]) -> Value {
    let id = safe::line(id);
    let short = id.replace('-', " ");
    let error = findings.iter().any(|each| each.severity == Severity::Error);
    let help = findings.iter().find_map(|each| each.hint.as_deref()).map(safe::line);
    let why = findings.iter().map(|each| why(each)).find(|why| !why.is_empty());
    let mut rule = json!({
        "defaultConfiguration": { "level": if error { "error" } else { "warning" } },
        "help": message(help.as_ref().unwrap_or(&short)),
        "id": id,
        "shortDescription": message(&short),
    });
    if let Some(why) = why {
        rule["fullDescription"] = message(&why.join("\n\n"));
    }
    rule
}

fn result(finding: &Finding, index: &BTreeMap<&str, usize>) -> Value {
    let remarks = remarks(finding).map(|(label, text)| format!("\n{label}: {text}"));
    let mut text = safe::line(&finding.message);
    if finding.file.is_empty() {
        text = format!("{}: {text}", place(finding));
    }
    text.extend(remarks);
    let mut result = json!({
        "level": severity(finding),
        "message": message(&text),
        "ruleId": safe::line(&finding.id),
        "ruleIndex": index.get(finding.id.as_str()),
    });
    if !finding.file.is_empty() {
        result["locations"] = json!([location(finding)]);
    }
    result
}

fn location(finding: &Finding) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(&finding.file) } });
    if finding.line > 0 {
        let mut region = json!({ "startLine": finding.line });
        if finding.column > 0 {
            region["startColumn"] = finding.column.into();
        }
        physical["region"] = region;
    }
    let mut location = json!({ "physicalLocation": physical });
    let name = safe::line(&finding.path);
    if !name.is_empty() {
        location["logicalLocations"] = json!([{ "fullyQualifiedName": name }]);
    }
    location
}

/// A link of the format is `[text](target)`: nobody outside gets to set one.
fn message(text: &str) -> Value {
    json!({ "text": text.replace("](", "] (") })
}

/// Relative stays relative, for what is checked out elsewhere.
fn uri(file: &str) -> String {
    let mut out = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.strip_prefix("./").unwrap_or(file).bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_file_is_no_uri_yet() {
        assert_eq!(uri("./site a/install-config.yaml"), "site%20a/install-config.yaml");
        assert_eq!(uri("/srv/ü#1.yaml"), "file:///srv/%C3%BC%231.yaml");
        assert_eq!(uri("c:x?.yaml"), "c%3Ax%3F.yaml");
        assert_eq!(uri("../x\n.yaml"), "../x%0A.yaml");
    }
}
