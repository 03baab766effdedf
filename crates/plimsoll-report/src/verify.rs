//! Whether a cluster is well: what holds in one line each, what does not one by one.

use std::collections::BTreeMap;

use plimsoll_model::verify::{Criterion, Met, Verified};

use crate::text::page::{BAD, CAREFUL, GOOD, Page, STRONG};
use crate::{TextOptions, safe, when, words};

const MOST_LINES: usize = 6;
/// Of one criterion, things that are listed one by one.
const LISTED: usize = 12;

/// What a criterion is called; the order in which they are told.
const NAMES: [(&str, &str); 16] = [
    ("cluster-available", "ClusterVersion Available"),
    ("cluster-not-failing", "ClusterVersion not Failing"),
    ("cluster-settled", "ClusterVersion not Progressing"),
    ("install-complete", "install complete"),
    ("operator-available", "operators Available"),
    ("operator-settled", "operators not Progressing"),
    ("operator-not-degraded", "operators not Degraded"),
    ("node-ready", "nodes Ready"),
    ("pool-updated", "pools Updated"),
    ("pool-not-degraded", "pools not Degraded"),
    ("etcd-members", "etcd members"),
    ("no-pending-requests", "no kubelet waits"),
    ("static-pods-steady", "static pods not restarted"),
    ("no-root-cause", "no root cause"),
    ("state-gone", "failure gone"),
    ("smoke", "smoke workload"),
];

pub fn verify_text(verified: &Verified, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let head = words::cluster(&verified.cluster);
    let time = verified.generated_for.map(|time| format!(", {} UTC", when::full(time)));
    page.paragraph(0, &format!("{}{}", safe::line(&head), time.unwrap_or_default()), 2);
    let (style, word) = match verified.verified {
        true => (GOOD, "VERIFIED:"),
        false => (BAD, "NOT VERIFIED:"),
    };
    page.opening(style, word, &safe::line(&verified.says), MOST_LINES);
    page.blank();
    criteria(&mut page, &verified.criteria);
    if let Some(window) = &verified.window
        && !window.failed_before.is_empty()
    {
        page.blank();
        let failed: Vec<String> = window.failed_before.iter().map(|id| called(id)).collect();
        let failed = format!("Not met at an earlier look: {}.", failed.join(", "));
        page.paragraph(0, &safe::line(&failed), MOST_LINES);
    }
    if !verified.by_hand.is_empty() {
        page.blank();
        let head = page.paint(STRONG, "To be checked by a person:");
        page.line(&head);
        for check in &verified.by_hand {
            if let Some(run) = &check.run {
                page.command(3, &format!("$ {}", safe::command(run)));
            }
            page.paragraph(5, &safe::line(&check.expect), MOST_LINES);
        }
    }
    for note in &verified.notes {
        page.blank();
        page.paragraph(0, &safe::line(note), MOST_LINES);
    }
    page.finish()
}

fn called(id: &str) -> String {
    NAMES.iter().find(|(known, _)| *known == id).map_or(id, |(_, name)| *name).into()
}

fn criteria(page: &mut Page, all: &[Criterion]) {
    let mut by_id: BTreeMap<&str, Vec<&Criterion>> = BTreeMap::new();
    for one in all {
        by_id.entry(&one.id).or_default().push(one);
    }
    let known = NAMES.iter().map(|(id, _)| *id);
    let others = by_id.keys().copied().filter(|id| !NAMES.iter().any(|(known, _)| known == id));
    let ids: Vec<&str> = known.chain(others).collect();
    for id in ids {
        let Some(of_id) = by_id.get(id) else { continue };
        let met = of_id.iter().filter(|one| one.ok == Met::Yes).count();
        let worst = of_id.iter().map(|one| one.ok).max_by_key(|ok| match ok {
            Met::Yes => 0,
            Met::Unknown => 1,
            Met::No => 2,
        });
        let (style, word) = match worst {
            Some(Met::Yes) | None => (GOOD, "yes"),
            Some(Met::Unknown) => (CAREFUL, "?  "),
            Some(Met::No) => (BAD, "no "),
        };
        let count = match of_id.as_slice() {
            [one] if one.ok == Met::Yes => format!(": {}", safe::line(&one.says)),
            [_] => String::new(),
            _ => format!(" {met} of {}", of_id.len()),
        };
        let word = page.paint(style, word);
        let text = crate::wrap::cut_end(&format!("{}{count}", called(id)), page.width - 5);
        page.line(&format!("{word}  {text}"));
        let left: Vec<_> = of_id.iter().filter(|one| one.ok != Met::Yes).collect();
        for one in left.iter().take(LISTED) {
            let unknown = if one.ok == Met::Unknown { "(not known) " } else { "" };
            let text = format!("{}: {unknown}{}", one.entity, one.says);
            page.paragraph(5, &safe::line(&text), MOST_LINES);
        }
        if left.len() > LISTED {
            page.line(&format!("     and {} more", left.len() - LISTED));
        }
    }
}
