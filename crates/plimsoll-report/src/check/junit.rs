//! For the test page of a CI system. Those know a test by its name and show one message of it, so
//! every id is one test, however often it was found: red with an error, green with a warning and its
//! words in the output, skipped where it could not be judged.

use std::collections::BTreeMap;

use plimsoll_model::check::{Check, Finding, Severity};

use super::{made, ordered, place, reason, remarks, severity, verdict};
use crate::{safe, words};

const NAME: &str = "plimsoll check";

#[derive(Default)]
struct Case<'a> {
    errors: Vec<&'a Finding>,
    warnings: Vec<&'a Finding>,
    not_checked: Vec<String>,
}

pub fn check_junit(check: &Check) -> String {
    let mut cases: BTreeMap<&str, Case> = BTreeMap::new();
    for finding in ordered(check) {
        let case = cases.entry(&finding.id).or_default();
        match finding.severity {
            Severity::Error => case.errors.push(finding),
            Severity::Warning => case.warnings.push(finding),
        }
    }
    for each in &check.not_checked {
        let why = format!("not checked: {}", words::sentence(&each.why));
        cases.entry(&each.id).or_default().not_checked.push(why);
    }
    let failures = cases.values().filter(|case| !case.errors.is_empty()).count();
    let skipped = cases.values().filter(|case| case.is_skipped()).count();
    // A file without any test counts as broken in some systems.
    let tests = cases.len().max(1);
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    let mut out = vec![
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>".to_string(),
        format!("<testsuites name=\"{NAME}\" {counts}>"),
        format!("  <testsuite name=\"{NAME}\" {counts} skipped=\"{skipped}\">"),
    ];
    for (id, case) in &cases {
        case.write(&mut out, id);
    }
    if cases.is_empty() {
        out.push(format!("    <testcase classname=\"{NAME}\" name=\"ready\"/>"));
    }
    let mut summary = format!("{}: {} {}", verdict(check), reason(check), made(check));
    if !check.suppressed.is_empty() {
        let count = words::counted(check.suppressed.len(), "finding");
        summary.push_str(&format!(" Suppressed {count}."));
    }
    out.push(format!("    <system-out>{}</system-out>", escaped(&summary)));
    out.extend(["  </testsuite>".into(), "</testsuites>".into()]);
    out.join("\n") + "\n"
}

impl Case<'_> {
    fn is_skipped(&self) -> bool {
        self.errors.is_empty() && self.warnings.is_empty()
    }

    fn write(&self, out: &mut Vec<String>, id: &str) {
        let id = attribute(id);
        let first = self.errors.iter().chain(&self.warnings).find(|each| !each.file.is_empty());
        let place = first.map(|Finding { file, line, .. }| {
            format!(" file=\"{}\" line=\"{line}\"", attribute(file))
        });
        let place = place.unwrap_or_default();
        out.push(format!("    <testcase classname=\"{NAME}\" name=\"{id}\"{place}>"));
        if let Some(first) = self.errors.first() {
            let more = match self.errors.len() {
                1 => String::new(),
                errors => format!(" (and {} more)", errors - 1),
            };
            let message = format!("{}{more}", attribute(&first.message));
            let body = lines(&self.errors).join("\n");
            let body = escaped(&body);
            out.push(format!(
                "      <failure type=\"{id}\" message=\"{message}\">{body}</failure>"
            ));
        }
        if self.is_skipped() {
            let why = attribute(&self.not_checked.join(" "));
            out.push(format!("      <skipped message=\"{why}\"/>"));
        } else {
            let mut body = lines(&self.warnings);
            body.extend(self.not_checked.iter().cloned());
            if !body.is_empty() {
                let body = escaped(&body.join("\n"));
                out.push(format!("      <system-out>{body}</system-out>"));
            }
        }
        out.push("    </testcase>".into());
    }
}

/// As a compiler says it, which many a log viewer turns into a link.
fn lines(findings: &[&Finding]) -> Vec<String> {
    let mut out = Vec::new();
    for finding in findings {
        let (place, severity) = (place(finding), severity(finding));
        out.push(format!("{place}: {severity}: {}", safe::line(&finding.message)));
        out.extend(remarks(finding).map(|(label, text)| format!("  {label}: {text}")));
    }
    out
}

fn attribute(text: &str) -> String {
    escaped(&safe::line(text))
}

/// What is markup is written as a reference, and what XML 1.0 cannot hold at all is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{FFFE}' | '\u{FFFF}' => out.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_xml_forbids() {
        assert_eq!(escaped("a]]>&<\"'"), "a]]&gt;&amp;&lt;&quot;'");
        assert_eq!(
            escaped("\u{0}\u{1b}\u{fffe}\u{ffff}\n\tz"),
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\n\tz"
        );
    }
}
