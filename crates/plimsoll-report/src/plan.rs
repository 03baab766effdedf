//! A plan to be read before it is carried out: what, why, in which order, and how it is taken back.

use plimsoll_model::plan::{Action, Condition, Plan, Rehearsal, Step, TYPED_FROM, Target, Undo};

use crate::text::page::{CAREFUL, FAINT, Page, STRONG};
use crate::{TextOptions, safe, words};

/// Lines of one text; a plan is read to its end.
const LINES: usize = 12;
const DIFF: usize = 40;
const EFFECTS: usize = 6;

pub fn plan_text(plan: &Plan, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let title = page.paint(STRONG, &safe::line(&plan.title));
    page.line(&title);
    page.paragraph(0, &head(plan), 3);
    if let Some(minutes) = plan.break_glass_minutes {
        page.opening(CAREFUL, "BREAK-GLASS:", &broken(minutes), LINES);
    }
    page.blank();
    page.paragraph(0, &format!("Why: {}", safe::line(&plan.reason.summary)), LINES);
    if !plan.reason.explains.is_empty() {
        page.paragraph(0, &effects(plan), 4);
    }
    if let Some(none) = &plan.none {
        page.blank();
        page.paragraph(0, &format!("There is no repair: {}", safe::line(none)), LINES);
    }
    let asks = match plan.break_glass_minutes {
        Some(_) => "for 'break-glass' and the name of what is touched, typed",
        None => "for the name of what is touched, typed",
    };
    for step in &plan.steps {
        page.blank();
        of_step(&mut page, step, asks);
    }
    if !plan.verify.is_empty() {
        page.blank();
        page.line("It is mended when:");
        for one in &plan.verify {
            if let Some(run) = &one.run {
                page.paragraph(3, &safe::line(run), LINES);
            }
            page.paragraph(3, &safe::line(&one.expect), LINES);
        }
    }
    for never in &plan.never {
        page.blank();
        page.paragraph(0, &format!("Never: {}", safe::line(never)), LINES);
    }
    if let Some(escalate) = &plan.escalate {
        page.blank();
        page.paragraph(0, &format!("Escalate: {}", safe::line(escalate)), LINES);
    }
    if !plan.hindrances.is_empty() {
        page.blank();
        let head = page.paint(CAREFUL, "It cannot be carried out as it is:");
        page.line(&head);
        for why in &plan.hindrances {
            page.paragraph(3, &safe::line(why), LINES);
        }
    }
    page.blank();
    page.line(&format!("Plan {}", short(plan)));
    page.finish()
}

fn broken(minutes: u64) -> String {
    let time = words::duration(minutes);
    format!("it breaks a rule on purpose, for {time} from its first step, and is taken back then.")
}

/// Enough of the digest to name it.
pub fn short(plan: &Plan) -> String {
    plan.digest.chars().take(12).collect()
}

fn head(plan: &Plan) -> String {
    let root =
        format!("{} ({})", safe::line(&plan.root.id), safe::line(&plan.root.entity.to_string()));
    let steps = words::counted(plan.steps.len(), "step");
    let minutes = plan.minutes.map(|minutes| format!(", about {}", words::duration(minutes)));
    let minutes = minutes.unwrap_or_default();
    let confidence = words::confidence(plan.confidence);
    format!("For {root}, {confidence}. {steps}{minutes}, {}.", words::blast(plan.blast))
}

fn effects(plan: &Plan) -> String {
    let shown = |state: &plimsoll_model::diagnosis::StateRef| {
        format!("{} ({})", safe::line(&state.id), safe::line(&state.entity.to_string()))
    };
    let all = &plan.reason.explains;
    let mut names: Vec<String> = all.iter().take(EFFECTS).map(shown).collect();
    if all.len() > EFFECTS {
        names.push(format!("{} more", all.len() - EFFECTS));
    }
    format!("It caused {}.", names.join(", "))
}

fn of_step(page: &mut Page, step: &Step, asks: &str) {
    let by_hand = matches!(step.action, Action::Hand { .. });
    let level = match (by_hand, step.blast) {
        (true, _) => "by hand".to_string(),
        (false, 0) => "waits".to_string(),
        (false, blast) => words::blast(blast).to_string(),
    };
    let title = format!("{}. {}", step.number, safe::line(&step.title));
    page.paragraph(0, &format!("{title} ({level})"), LINES);
    for line in step.diff.iter().take(DIFF) {
        page.paragraph(3, &safe::line(line), LINES);
    }
    if step.diff.len() > DIFF {
        page.line(&format!("   and {} lines more: --output json", step.diff.len() - DIFF));
    }
    if let Action::Hand { run, expect } = &step.action {
        for line in run {
            page.paragraph(3, &format!("$ {}", safe::line(line)), LINES);
        }
        return labelled(page, "then", &safe::line(expect));
    }
    conditions(page, "only if", &step.require);
    conditions(page, "not if", &step.unless);
    conditions(page, "then", &step.expect);
    if let Some(undo) = undo(step) {
        labelled(page, "undo", &undo);
    }
    if let (Rehearsal::Impossible { because }, true) = (&step.rehearsal, step.blast > 0) {
        labelled(page, "rehearsal", &format!("none: {}", safe::line(because)));
    }
    if step.blast >= TYPED_FROM && !matches!(step.target, Target::Nothing) {
        labelled(page, "asks", asks);
    }
    for command in &step.commands {
        let text = page.paint(FAINT, &format!("by hand: {}", safe::line(command)));
        page.paragraph(3, &text, LINES);
    }
}

fn conditions(page: &mut Page, label: &str, conditions: &[Condition]) {
    for one in conditions {
        let within = match one.within {
            0 => String::new(),
            minutes => format!(", within {}", words::duration(minutes)),
        };
        let on = safe::line(&one.on.to_string());
        labelled(page, label, &format!("{} ({on}){within}", safe::line(&one.says)));
    }
}

fn labelled(page: &mut Page, label: &str, text: &str) {
    page.paragraph(3, &format!("{label}: {text}"), LINES);
}

fn undo(step: &Step) -> Option<String> {
    Some(match &step.undo {
        Undo::Patch { .. } => "the reverse change, if nobody changed it since".into(),
        Undo::Delete => "deleted again, if it is still as it was made".into(),
        Undo::Restore => "what was there is put back".into(),
        Undo::Reverse => "the opposite".into(),
        Undo::Impossible { because } => format!("none: {}", safe::line(because)),
        Undo::Nothing { .. } => return None,
    })
}

pub fn plan_markdown(plan: &Plan) -> String {
    let mut out = format!("# {}\n\n{}\n\n", md(&plan.title), md(&head(plan)));
    out += &format!("**Why.** {}\n\n", md(&plan.reason.summary));
    if let Some(minutes) = plan.break_glass_minutes {
        out += &format!("**Break-glass.** {}\n\n", md(&broken(minutes)));
    }
    if let Some(none) = &plan.none {
        out += &format!("**There is no repair.** {}\n\n", md(none));
    }
    for step in &plan.steps {
        out += &format!("## {}. {}\n\n", step.number, md(&step.title));
        if !step.diff.is_empty() {
            out += &format!("```diff\n{}\n```\n\n", fenced(&step.diff));
        }
        if let Action::Hand { run, expect } = &step.action {
            if !run.is_empty() {
                out += &format!("```console\n{}\n```\n\n", fenced(run));
            }
            out += &format!("Then: {}\n\n", md(expect));
            continue;
        }
        for (label, all) in
            [("Only if", &step.require), ("Not if", &step.unless), ("Then", &step.expect)]
        {
            for one in all {
                out += &format!(
                    "- {label}: {} (`{}`: `{}`)\n",
                    md(&one.says),
                    md(&one.on.to_string()),
                    one.that.replace('`', "'")
                );
            }
        }
        if let Some(undo) = undo(step) {
            out += &format!("- Undo: {}\n", md(&undo));
        }
        out += &format!("- Reach: {}\n", words::blast(step.blast));
        if !step.commands.is_empty() {
            out += &format!("\nThe same by hand:\n\n```console\n{}\n```\n", fenced(&step.commands));
        }
        out += "\n";
    }
    if !plan.verify.is_empty() {
        out += "## It is mended when\n\n";
        for one in &plan.verify {
            let run =
                one.run.as_ref().map(|run| format!("`{}`: ", safe::line(run).replace('`', "'")));
            out += &format!("- {}{}\n", run.unwrap_or_default(), md(&one.expect));
        }
        out += "\n";
    }
    for never in &plan.never {
        out += &format!("**Never.** {}\n\n", md(never));
    }
    if let Some(escalate) = &plan.escalate {
        out += &format!("**Escalate.** {}\n\n", md(escalate));
    }
    for why in &plan.hindrances {
        out += &format!("**Hindrance.** {}\n\n", md(why));
    }
    out + &format!("Plan `{}`\n", plan.digest)
}

fn md(text: &str) -> String {
    crate::markdown::escape::prose(&safe::line(text))
}

fn fenced(lines: &[String]) -> String {
    lines.iter().map(|line| safe::line(line).replace("```", "'''")).collect::<Vec<_>>().join("\n")
}
