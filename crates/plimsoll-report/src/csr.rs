//! Requests of kubelets, each with its verdict and what decided it.

use plimsoll_model::csr::{Judged, Requests, Verdict};
use plimsoll_model::plan::Signer;

use crate::text::page::{BAD, CAREFUL, GOOD, Page, STRONG};
use crate::{TextOptions, safe, when, words};

const MOST_LINES: usize = 6;
/// Requests that are shown one by one: a flood is told by its number.
const LISTED: usize = 50;

pub fn csr_text(requests: &Requests, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    if requests.requests.is_empty() {
        page.line("No kubelet waits for a certificate.");
    } else {
        let all = words::counted(requests.requests.len(), "request");
        page.opening(STRONG, &format!("{all} of kubelets:"), &counts(requests), 2);
    }
    for one in requests.requests.iter().take(LISTED) {
        page.blank();
        request(&mut page, one, requests);
    }
    if requests.requests.len() > LISTED {
        page.blank();
        page.line(&format!("… and {} more: --output json", requests.requests.len() - LISTED));
    }
    for gap in &requests.gaps {
        page.blank();
        page.paragraph(0, &format!("Not read: {}", safe::line(gap)), MOST_LINES);
    }
    page.finish()
}

fn counts(requests: &Requests) -> String {
    let all = &requests.requests;
    let approved = all.iter().filter(|one| is_approved(one)).count();
    let left = all.iter().filter(|one| !is_approved(one));
    let of = |verdict: Verdict| left.clone().filter(|one| one.verdict == verdict).count();
    let parts = [
        (approved, "approved"),
        (of(Verdict::Approve), "may be approved"),
        (of(Verdict::Hold), "held"),
        (of(Verdict::Deny), "should be denied"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("{}.", parts.join(", "))
}

fn is_approved(one: &Judged) -> bool {
    one.done.as_ref().is_some_and(|done| done.approved)
}

fn request(page: &mut Page, one: &Judged, requests: &Requests) {
    let node = one.node.as_deref().map_or("(no node)".into(), safe::line);
    let wave = match one.wave {
        Some(Signer::Client) => "client certificate",
        Some(Signer::Serving) => "serving certificate",
        None => "certificate",
    };
    let since = one.created.map(|time| when::moment(time, requests.generated_for));
    let since = since.map(|since| format!(", {since}")).unwrap_or_default();
    page.sides(STRONG, &format!("{node}: {wave}"), &format!("{}{since}", safe::line(&one.name)));
    let (style, word) = match (is_approved(one), one.verdict) {
        (true, _) => (GOOD, "approved"),
        (_, Verdict::Approve) => (GOOD, "approve"),
        (_, Verdict::Hold) => (CAREFUL, "hold"),
        (_, Verdict::Deny) => (BAD, "deny"),
    };
    let word = page.paint(style, word);
    page.line(&format!("   {word}"));
    // Of what may be approved, the reasons say who asks.
    if one.verdict != Verdict::Approve {
        page.item(&format!("- asked by {}", safe::line(&one.requestor)), MOST_LINES);
    }
    for reason in &one.reasons {
        page.item(&format!("- {}", safe::line(reason)), MOST_LINES);
    }
    if let Some(done) = &one.done {
        page.item(&format!("> {}", safe::line(&done.says)), MOST_LINES);
    }
}
