//! What is wrong with an install before anything boots, one file a format. Here is what the formats
//! share: the order of the findings and the words for them.

mod html;
mod junit;
mod markdown;
mod sarif;
mod text;

use plimsoll_model::Evidence;
use plimsoll_model::check::{
    Check, CheckVerdict, Finding, InstallerVerdict, Severity, SuppressedFinding,
};

pub use html::check_html;
pub use junit::check_junit;
pub use markdown::check_markdown;
pub use sarif::check_sarif;
pub use text::{CheckShown, check_text};

use crate::{safe, words};

/// Paragraphs of a `why` that are shown; each passes [`safe`], which bounds its length.
const PARAGRAPHS: usize = 8;

/// Errors first; then by file as they were given and by line. What no file holds comes last.
fn ordered(check: &Check) -> Vec<&Finding> {
    let rank = |file: &str| match check.files.iter().position(|given| given == file) {
        _ if file.is_empty() => usize::MAX,
        Some(at) => at,
        None => check.files.len(),
    };
    let mut findings: Vec<&Finding> = check.findings.iter().collect();
    findings.sort_by_cached_key(|each| {
        let Finding { file, line, severity, column, .. } = *each;
        (*severity, rank(file), file.as_str(), *line, *column)
    });
    findings
}

fn verdict(check: &Check) -> &'static str {
    match check.verdict {
        CheckVerdict::Ready => "Ready",
        CheckVerdict::Blocked => "Blocked",
    }
}

/// `2 errors, 1 warning in install-config.yaml (OpenShift 4.18). The installer would accept it.`
fn reason(check: &Check) -> String {
    let count = |of: Severity| check.findings.iter().filter(|each| each.severity == of).count();
    let errors = words::counted(count(Severity::Error), "error");
    let warnings = match count(Severity::Warning) {
        0 => String::new(),
        warnings => format!(", {}", words::counted(warnings, "warning")),
    };
    // What was seen on the network is no fault in a file.
    let outside = check.findings.iter().any(|each| each.file.is_empty());
    let place = match files(check) {
        files if files.is_empty() => files,
        files => format!(" {} {files}", if outside { "for" } else { "in" }),
    };
    let release = match safe::line(&check.release) {
        release if release.is_empty() => release,
        release => format!(" (OpenShift {release})"),
    };
    format!("{errors}{warnings}{place}{release}. {}", installer(check))
}

/// `The installer would accept it.` Where its commands differ, each is named.
fn installer(check: &Check) -> String {
    let verb = |verdict: InstallerVerdict| match verdict {
        InstallerVerdict::Accept => "accept",
        InstallerVerdict::Reject => "reject",
    };
    let object = if check.files.len() > 1 { "them" } else { "it" };
    if check.files.is_empty() {
        return "There is no config that the installer could judge.".into();
    }
    let commands = &check.installer_commands;
    if commands.iter().all(|each| each.verdict == check.installer_verdict) {
        let unless = commands.iter().find_map(|each| each.unless.as_deref());
        let unless = unless.map_or(String::new(), |why| format!(", unless {}", safe::line(why)));
        return format!("The installer would {} {object}{unless}.", verb(check.installer_verdict));
    }
    let each = commands.iter().map(|each| {
        format!("'{}' would {} {object}", safe::line(&each.command), verb(each.verdict))
    });
    format!("The installer's {}.", each.collect::<Vec<_>>().join(", "))
}

fn files(check: &Check) -> String {
    match check.files.as_slice() {
        [] => String::new(),
        [one] => safe::line(one),
        [one, other] => format!("{} and {}", safe::line(one), safe::line(other)),
        many => words::counted(many.len(), "file"),
    }
}

/// `Made 214 checks; 3 more could not be made.`
fn made(check: &Check) -> String {
    let made = words::counted(usize::try_from(check.checked).unwrap_or(usize::MAX), "check");
    match check.not_checked.len() {
        0 => format!("Made {made}."),
        left => format!("Made {made}; {left} more could not be made."),
    }
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// `install-config.yaml:27:7`; the entity where no file is at fault.
fn place(finding: &Finding) -> String {
    let Finding { file, line, column, entity, .. } = finding;
    let file = safe::line(file);
    match (line, column) {
        _ if file.is_empty() => safe::line(&entity.to_string()),
        (0, _) => file,
        (line, 0) => format!("{file}:{line}"),
        (line, column) => format!("{file}:{line}:{column}"),
    }
}

/// The installer's words, and what to do: each with its label, where it is known.
fn remarks(finding: &Finding) -> impl Iterator<Item = (&'static str, String)> {
    let Finding { installer_message, hint, .. } = finding;
    let all = [("installer", installer_message), ("hint", hint)];
    all.into_iter().filter_map(|(label, text)| Some((label, safe::line(text.as_deref()?))))
}

/// Evidence that says more than where the finding stands.
fn proofs(finding: &Finding) -> Vec<&Evidence> {
    let here =
        |proof: &Evidence| proof.path == finding.file && proof.line == Some(finding.line.into());
    finding.evidence.iter().filter(|proof| !here(proof)).collect()
}

fn why(finding: &Finding) -> Vec<String> {
    let paragraphs = finding.why.as_deref().unwrap_or_default().split("\n\n");
    let paragraphs = paragraphs.map(safe::line).filter(|text| !text.is_empty());
    paragraphs.take(PARAGRAPHS).collect()
}

/// Reasons why something was not checked, each with what it kept from being checked.
fn not_checked(check: &Check) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for each in &check.not_checked {
        let id = safe::line(&each.id);
        match reasons.iter_mut().find(|(why, _)| *why == each.why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((&each.why, vec![id])),
        }
    }
    reasons.into_iter().map(|(why, ids)| (words::sentence(why), ids)).collect()
}

/// `bmc-insecure at install-config.yaml:41:9 (lab BMCs have no CA)`
fn suppressed(each: &SuppressedFinding) -> String {
    let SuppressedFinding { finding, by } = each;
    format!("{} at {} ({})", safe::line(&finding.id), place(finding), safe::line(by))
}
