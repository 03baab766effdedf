//! What a repair would do, before anybody needs it.

use plimsoll_model::diagnosis::DoneBy;
use plimsoll_model::knowledge::{FailureMode, RepairInfo, StepInfo};

use crate::markdown::escape::{code, prose};
use crate::markdown::section;
use crate::text::page::{Page, STRONG};
use crate::{safe, words};

const WHOLE: usize = usize::MAX;

/// `done by plimsoll fix --apply, one node; asks for --set address=…`
fn facts(repair: &RepairInfo) -> String {
    let mut parts = vec![match repair.by {
        DoneBy::Plimsoll => "done by plimsoll fix --apply".to_string(),
        DoneBy::Hand => "by hand".into(),
        DoneBy::Nobody => "there is none".into(),
    }];
    if repair.blast > 0 {
        parts.push(words::blast(repair.blast).into());
    }
    if repair.informing {
        parts.push("informs only: no case has it carried out".into());
    }
    if repair.during_rollout {
        parts.push("also during a rollout".into());
    }
    if let Some(minutes) = repair.break_glass_minutes {
        let time = words::duration(minutes);
        parts.push(format!("only with --break-glass, taken back after {time}"));
    }
    parts.extend(repair.asks.iter().map(|key| format!("asks for --set {}=…", safe::line(key))));
    parts.join(", ")
}

fn level(step: &StepInfo) -> String {
    words::level(step.by_hand, step.blast, step.minutes)
}

/// Label and text of what is to be known of a step.
fn about(step: &StepInfo) -> Vec<(&'static str, &str)> {
    let mut rows: Vec<(&'static str, &str)> = Vec::new();
    rows.extend(step.when.as_deref().map(|when| ("where", when)));
    rows.extend(step.only_if.iter().map(|text| ("only if", text.as_str())));
    rows.extend(step.not_if.iter().map(|text| ("not if", text.as_str())));
    rows.extend(step.then.iter().map(|text| ("then", text.as_str())));
    rows.extend(step.undo.as_deref().map(|undo| ("undo", undo)));
    rows
}

pub fn text(page: &mut Page, mode: &FailureMode) {
    for repair in &mode.repairs {
        page.blank();
        let title = page.paint(STRONG, &format!("Repair {}", safe::line(&repair.id)));
        page.line(&title);
        page.paragraph(3, &format!("{} ({})", safe::line(&repair.title), facts(repair)), WHOLE);
        if let Some(none) = &repair.none {
            page.paragraph(3, &safe::line(none), WHOLE);
        }
        for (number, step) in (1..).zip(&repair.steps) {
            let number: usize = number;
            let title = format!("{number}. {} ({})", safe::line(&step.title), level(step));
            page.item(&title, WHOLE);
            for command in &step.commands {
                page.command(6, &format!("$ {}", safe::command(command)));
            }
            for (label, text) in about(step) {
                page.paragraph(6, &format!("{label}: {}", safe::line(text)), WHOLE);
            }
        }
        if !repair.guards.is_empty() {
            page.paragraph(3, &format!("Guards: {}", repair.guards.join(", ")), WHOLE);
        }
        for never in &repair.never {
            page.paragraph(3, &format!("Never: {}", safe::line(never)), WHOLE);
        }
        page.paragraph(3, &format!("Escalate: {}", safe::line(&repair.escalate)), WHOLE);
    }
}

pub fn markdown(out: &mut Vec<String>, mode: &FailureMode) {
    for repair in &mode.repairs {
        section(out, &format!("Repair {}", code(&repair.id)));
        out.push(format!("{} ({}).", prose(&safe::line(&repair.title)), prose(&facts(repair))));
        out.push(String::new());
        if let Some(none) = &repair.none {
            out.extend([prose(&safe::line(none)), String::new()]);
        }
        for (number, step) in (1..).zip(&repair.steps) {
            let number: usize = number;
            out.push(format!("{number}. {} ({})", prose(&safe::line(&step.title)), level(step)));
            if !step.commands.is_empty() {
                out.push(console(&step.commands));
            }
            for (label, text) in about(step) {
                out.push(format!("   - {label}: {}", prose(&safe::line(text))));
            }
        }
        out.push(String::new());
        if !repair.guards.is_empty() {
            out.extend([format!("Guards: {}.", repair.guards.join(", ")), String::new()]);
        }
        for never in &repair.never {
            out.extend([format!("**Never.** {}", prose(&safe::line(never))), String::new()]);
        }
        out.push(format!("**Escalate.** {}", prose(&safe::line(&repair.escalate))));
    }
}

/// Commands below an item of a list.
fn console(commands: &[String]) -> String {
    let lines = commands.iter().map(|line| safe::command(line).replace("```", "'''"));
    let lines: String = lines.map(|line| format!("   {line}\n")).collect();
    format!("\n   ```console\n{lines}   ```\n")
}
