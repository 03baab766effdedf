//! The answer on a terminal, as compilers give it: the verdict, each finding where it stands.

use std::collections::BTreeMap;

use plimsoll_model::check::{Check, CheckVerdict, Finding, InstallerVerdict, Severity};

use super::{
    made, not_checked, ordered, place, proofs, reason, remarks, severity, suppressed, verdict, why,
};
use crate::digest::shortlist;
use crate::text::page::{BAD, CAREFUL, FAINT, GOOD, LABEL, Page, STRONG};
use crate::text::{place as cited, quote};
use crate::wrap::{columns, cut_middle, cut_path, wrap, wrap_at_most};
use crate::{TextOptions, safe, words};

/// Of what belongs to a finding.
const INDENT: usize = 4;
/// Lines of one remark.
const MOST: usize = 8;
/// Of one id this many are shown one by one; of more than that only `SHOWN`.
const MANY: usize = 5;
const SHOWN: usize = 3;
/// Reasons, and ids of each, that are told of what was not checked or not wanted.
const LISTED: usize = 4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckShown {
    /// Why each finding matters, and all of its evidence.
    pub explain: bool,
}

pub fn check_text(check: &Check, options: &TextOptions, shown: CheckShown) -> String {
    let mut page = Page::new(options.width, options.color);
    let style = if check.verdict == CheckVerdict::Ready { GOOD } else { BAD };
    let opening = format!("{}:", verdict(check).to_uppercase());
    page.opening(style, &opening, &reason(check), MOST);
    findings(&mut page, check, shown);
    page.blank();
    closing(&mut page, check);
    if let Some(hint) = hint(check, shown) {
        for line in wrap(&format!("hint: {hint}"), page.width) {
            let painted = page.paint(FAINT, &line);
            page.line(&painted);
        }
    }
    page.finish()
}

/// A thousand equal mistakes are one, and hide what else is wrong.
fn findings(page: &mut Page, check: &Check, shown: CheckShown) {
    let mut all: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for each in &check.findings {
        *all.entry((&each.id, each.severity)).or_default() += 1;
    }
    let mut seen: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for each in ordered(check) {
        let key = (each.id.as_str(), each.severity);
        let total = all.get(&key).copied().unwrap_or_default();
        let number = seen.entry(key).or_default();
        *number += 1;
        if total > MANY && *number > SHOWN {
            continue;
        }
        page.blank();
        finding(page, each, shown);
        if total > MANY && *number == SHOWN {
            let more = words::count(u64::try_from(total - SHOWN).unwrap_or(u64::MAX));
            let id = cut_middle(&safe::line(&each.id), page.width / 2);
            page.blank();
            page.paragraph(0, &format!("… and {more} more of {id} (--output html shows all)"), 2);
        }
    }
}

fn finding(page: &mut Page, finding: &Finding, shown: CheckShown) {
    let style = match finding.severity {
        Severity::Error => BAD,
        Severity::Warning => CAREFUL,
    };
    let severity = severity(finding);
    let room = page.width - INDENT - columns(severity) - 2;
    let id = cut_middle(&safe::line(&finding.id), room);
    let place = cut_path(&place(finding), page.width);
    let fits = columns(&place) + columns(severity) + columns(&id) + 4 <= page.width;
    let (place, severity) = (page.paint(STRONG, &place), page.paint(style, severity));
    if fits {
        page.line(&format!("{place}  {severity}  {id}"));
    } else {
        page.line(&place);
        page.line(&format!("{}{severity}  {id}", " ".repeat(INDENT)));
    }
    page.paragraph(INDENT, &safe::line(&finding.message), MOST);
    for (label, text) in remarks(finding) {
        remark(page, label, &text);
    }
    // Where a file is at fault, that is the proof.
    let proofs = proofs(finding);
    let first = usize::from(finding.file.is_empty());
    let most = if shown.explain { proofs.len() } else { first };
    for proof in proofs.iter().take(most) {
        remark(page, "proof", &format!("{} {}", cited(proof), quote(proof)));
    }
    if shown.explain {
        for (at, text) in why(finding).iter().enumerate() {
            let label = if at == 0 { "why" } else { "" };
            remark(page, label, text);
        }
    }
}

/// `label: text`, and further lines a little deeper.
fn remark(page: &mut Page, label: &str, text: &str) {
    let full = if label.is_empty() { text.into() } else { format!("{label}: {text}") };
    for (at, line) in wrap_at_most(&full, page.width - INDENT - 2, MOST).iter().enumerate() {
        let first = at == 0 && !label.is_empty();
        let indent = " ".repeat(if first { INDENT } else { INDENT + 2 });
        match line.strip_prefix(label) {
            Some(rest) if first => {
                let painted = page.paint(LABEL, label);
                page.line(&format!("{indent}{painted}{rest}"));
            }
            _ => page.line(&format!("{indent}{line}")),
        }
    }
}

/// What stands behind the verdict, and what does not.
fn closing(page: &mut Page, check: &Check) {
    page.paragraph(0, &made(check), 2);
    let reasons = not_checked(check);
    for (why, ids) in reasons.iter().take(LISTED) {
        page.item(&format!("{}: {why}", shortlist(ids, LISTED)), LISTED);
    }
    if reasons.len() > LISTED {
        let left: usize = reasons.iter().skip(LISTED).map(|(_, ids)| ids.len()).sum();
        page.item(&format!("… and {left} more (--output json has all)"), 1);
    }
    if !check.suppressed.is_empty() {
        let count = words::counted(check.suppressed.len(), "finding");
        let all: Vec<String> = check.suppressed.iter().map(suppressed).collect();
        page.paragraph(0, &format!("Suppressed {count}: {}.", shortlist(&all, LISTED)), MOST);
    }
}

fn hint(check: &Check, shown: CheckShown) -> Option<&'static str> {
    match (check.verdict, check.installer_verdict) {
        (CheckVerdict::Ready, InstallerVerdict::Reject) => {
            Some("what was suppressed still stops the installer")
        }
        _ if !shown.explain && check.findings.iter().any(|each| each.why.is_some()) => {
            Some("--explain says why each of them matters and where that is known from")
        }
        (CheckVerdict::Blocked, _) => {
            Some("mend these and check again; --skip <id> leaves out what you accept")
        }
        (CheckVerdict::Ready, _) => None,
    }
}
