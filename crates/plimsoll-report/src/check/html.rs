//! The whole answer in one file that needs nothing else, laid out as a diagnosis is.

use askama::Template;
use plimsoll_model::check::{Check, CheckVerdict, Finding, Severity};

use super::{made, ordered, place, proofs, reason, severity, suppressed, verdict, why};
use crate::html::view::{Proof, proof};
use crate::{safe, words};

/// Strings that have passed [`safe`]; the template escapes every one of them.
#[derive(Template)]
#[template(path = "check.html")]
struct View {
    title: String,
    verdict: &'static str,
    tone: &'static str,
    reason: String,
    made: String,
    groups: Vec<Group>,
    not_checked: Vec<[String; 2]>,
    suppressed: Vec<String>,
}

/// What one file holds, or what none does.
struct Group {
    title: String,
    findings: Vec<FindingView>,
}

struct FindingView {
    id: String,
    severity: &'static str,
    class: &'static str,
    place: String,
    message: String,
    /// Field and entity; the place says it where no file is at fault.
    about: Option<String>,
    installer: Option<String>,
    hint: Option<String>,
    why: Vec<String>,
    evidence: Vec<Proof>,
}

pub fn check_html(check: &Check) -> String {
    let groups = ordered(check);
    let groups = groups.chunk_by(|one, other| one.file == other.file);
    let not_checked = check.not_checked.iter();
    let view = View {
        title: format!("Check before the install: {}", verdict(check)),
        verdict: verdict(check),
        tone: if check.verdict == CheckVerdict::Ready { "good" } else { "bad" },
        reason: reason(check),
        made: made(check),
        groups: groups.map(group).collect(),
        not_checked: not_checked
            .map(|each| [safe::line(&each.id), words::sentence(&each.why)])
            .collect(),
        suppressed: check.suppressed.iter().map(suppressed).collect(),
    };
    #[expect(clippy::expect_used, reason = "writing strings into a string has no way to fail")]
    view.render().expect("the check is always rendered")
}

fn group(findings: &[&Finding]) -> Group {
    let file = findings.first().map(|first| safe::line(&first.file)).unwrap_or_default();
    let title = if file.is_empty() { "Outside the files".into() } else { file };
    Group { title, findings: findings.iter().map(|each| finding(each)).collect() }
}

fn finding(finding: &Finding) -> FindingView {
    FindingView {
        id: safe::line(&finding.id),
        severity: severity(finding),
        class: match finding.severity {
            Severity::Error => "root",
            Severity::Warning => "left",
        },
        place: place(finding),
        message: safe::line(&finding.message),
        about: (!finding.file.is_empty()).then(|| about(finding)),
        installer: finding.installer_message.as_deref().map(safe::line),
        hint: finding.hint.as_deref().map(safe::line),
        why: why(finding),
        evidence: proofs(finding).into_iter().map(proof).collect(),
    }
}

/// `platform.baremetal.apiVIPs[0] of InstallConfig/prod`
fn about(finding: &Finding) -> String {
    let entity = safe::line(&finding.entity.to_string());
    match safe::line(&finding.path) {
        path if path.is_empty() => entity,
        path => format!("{path} of {entity}"),
    }
}
