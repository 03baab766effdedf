//! The answer to be pasted into a ticket or a merge request: complete.

use plimsoll_model::check::{Check, Finding};

use super::{files, made, ordered, place, proofs, reason, severity, suppressed, verdict, why};
use crate::markdown::escape::{cell, code, prose};
use crate::markdown::{evidence, section, table};
use crate::words;

pub fn check_markdown(check: &Check) -> String {
    let title = match files(check) {
        files if files.is_empty() => verdict(check).to_lowercase(),
        files => format!("{} is {}", prose(&files), verdict(check).to_lowercase()),
    };
    let mut out = vec![format!("# Check before the install: {title}"), String::new()];
    let (verdict, reason) = (verdict(check), prose(&words::sentence(&reason(check))));
    out.push(format!("**{verdict}.** {reason} {}", made(check)));
    let findings = ordered(check);
    if !findings.is_empty() {
        section(&mut out, "Findings");
        let rows = findings.iter().map(|each| {
            let (place, id) = (cell(&code(&place(each))), cell(&code(&each.id)));
            vec![place, severity(each).into(), id, cell(&prose(&each.message))]
        });
        table(&mut out, &["Where", "Severity", "Finding", "What"], rows);
    }
    findings.iter().for_each(|each| finding(&mut out, each));
    if !check.not_checked.is_empty() {
        section(&mut out, "Not checked");
        let all = check.not_checked.iter();
        out.extend(all.map(|each| format!("- {}: {}", code(&each.id), prose(&each.why))));
    }
    if !check.suppressed.is_empty() {
        section(&mut out, "Suppressed");
        let all = check.suppressed.iter();
        out.extend(all.map(|each| format!("- {}", prose(&suppressed(each)))));
    }
    out.join("\n") + "\n"
}

fn finding(out: &mut Vec<String>, finding: &Finding) {
    let Finding { id, entity, file, path, message, installer_message, hint, .. } = finding;
    let severity = severity(finding);
    out.push(String::new());
    out.push(format!("### {severity} {} at {}", code(id), code(&place(finding))));
    out.extend([String::new(), prose(message), String::new()]);
    out.extend((!file.is_empty()).then(|| format!("- On {}", code(&entity.to_string()))));
    out.extend((!path.is_empty()).then(|| format!("- Field {}", code(path))));
    out.extend(installer_message.as_deref().map(|text| format!("- Installer: {}", code(text))));
    out.extend(hint.as_deref().map(|text| format!("- What to do: {}", prose(text))));
    for text in why(finding) {
        out.extend([String::new(), prose(&text)]);
    }
    let proofs = proofs(finding);
    if !proofs.is_empty() {
        out.extend([String::new(), "Evidence:".into()]);
        proofs.into_iter().for_each(|proof| evidence(out, proof));
    }
}
