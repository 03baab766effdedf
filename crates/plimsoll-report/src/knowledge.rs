//! All failure modes at once: as a list on a terminal, and as the index of the reference.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::knowledge::{Listed, Symptom};

use crate::explain::scope;
use crate::markdown::escape::{cell, code, prose};
use crate::markdown::{section, table};
use crate::text::page::{Page, STRONG};
use crate::wrap::{columns, pad};
use crate::{TextOptions, safe, words};

fn by_area(modes: &[Listed]) -> BTreeMap<&str, Vec<&Listed>> {
    let mut areas: BTreeMap<&str, Vec<&Listed>> = BTreeMap::new();
    for mode in modes {
        areas.entry(&mode.area).or_default().push(mode);
    }
    areas
}

fn applies(mode: &Listed) -> Option<String> {
    let scopes: Vec<String> = mode.applies.iter().map(scope).collect();
    (!scopes.is_empty()).then(|| scopes.join("; "))
}

pub fn list_text(modes: &[Listed], options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let widest = modes.iter().map(|mode| columns(&safe::line(&mode.id))).max().unwrap_or(0);
    for (area, modes) in by_area(modes) {
        let painted = page.paint(STRONG, &safe::line(area));
        page.line(&painted);
        for mode in modes {
            let root = if mode.root { "root" } else { "    " };
            let number = safe::line(mode.catalogue.as_deref().unwrap_or(""));
            let id = pad(&safe::line(&mode.id), widest);
            page.line(
                &format!("  {id}  {root}  {number}").chars().take(page.width).collect::<String>(),
            );
            page.paragraph(6, &safe::line(&mode.title), 2);
            if let Some(applies) = applies(mode) {
                page.paragraph(6, &format!("applies to {applies}"), 2);
            }
        }
    }
    page.paragraph(0, &words::counted(modes.len(), "failure mode"), 1);
    page.finish()
}

/// The index of the reference: by area, and by what is seen.
pub fn index_markdown(modes: &[Listed], symptoms: &[Symptom]) -> String {
    let mut out = vec![
        "# Failure modes".to_string(),
        String::new(),
        "What Plimsoll knows, one page a failure mode. Made by `cargo xtask gen` from `knowledge/`;".into(),
        "`plimsoll explain ID` shows the same page. A **root** can be a root cause, everything else has one;"
            .into(),
        "what `plimsoll check` tells of a config has a section of its own.".into(),
    ];
    let link = |id: &str| format!("[{}]({id}.md)", prose(id));
    for (area, modes) in by_area(modes) {
        let heading = if area == "check" { "Checks before an install" } else { area };
        section(&mut out, &prose(heading));
        let rows = modes.into_iter().map(|mode| {
            vec![
                link(&mode.id),
                cell(&prose(&mode.title)),
                if mode.root { "root".into() } else { String::new() },
                cell(&prose(mode.catalogue.as_deref().unwrap_or(""))),
                cell(&prose(&applies(mode).unwrap_or_default())),
            ]
        });
        table(&mut out, &["Failure mode", "What it is", "Root", "Catalogue", "Only on"], rows);
    }
    section(&mut out, "By what you see");
    out.extend([
        "Texts in logs, conditions and events, and what they speak for.".into(),
        String::new(),
    ]);
    let mut texts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for symptom in symptoms {
        texts.entry(&symptom.text).or_default().insert(&symptom.failure_mode);
    }
    let rows = texts.into_iter().map(|(text, ids)| {
        let ids: Vec<String> = ids.into_iter().map(link).collect();
        vec![cell(&code(text)), ids.join(", ")]
    });
    table(&mut out, &["Text", "Failure mode"], rows);
    out.join("\n") + "\n"
}
