//! A plan to be read before it is carried out: what, why, in which order, and how it is taken back.

use plimsoll_model::Evidence;
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{
    Action, Condition, Hindrance, Permission, Plan, Rehearsal, Step, Target,
};

use crate::text::page::{CAREFUL, Page, STRONG};
use crate::{TextOptions, safe, text, words};

/// Lines of one text; a plan is read to its end.
const LINES: usize = 12;
pub const DIFF: usize = 40;
const EFFECTS: usize = 6;
/// Lines of one proof.
const QUOTED: usize = 4;

pub fn plan_text(plan: &Plan, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    page.heading(STRONG, &safe::line(&plan.title), LINES);
    page.paragraph(0, &head(plan), 3);
    if let Some(minutes) = plan.break_glass_minutes {
        page.opening(CAREFUL, "BREAK-GLASS:", &broken(minutes), LINES);
    }
    page.blank();
    page.paragraph(0, &format!("Why: {}", safe::line(&plan.reason.summary)), LINES);
    if !plan.reason.explains.is_empty() {
        page.paragraph(0, &effects(plan), 4);
    }
    for proof in &plan.reason.evidence {
        page.item(&format!("{}: {}", text::place(proof), text::quote(proof)), QUOTED);
    }
    if let Some(none) = &plan.none {
        page.blank();
        page.paragraph(0, &format!("There is no repair: {}", safe::line(none)), LINES);
    }
    for step in &plan.steps {
        page.blank();
        of_step(&mut page, plan, step);
    }
    if !plan.verify.is_empty() {
        page.blank();
        page.line("It is mended when:");
        for one in &plan.verify {
            if let Some(run) = &one.run {
                page.command(3, &format!("$ {}", safe::command(run)));
            }
            page.paragraph(5, &safe::line(&one.expect), LINES);
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
        page.heading(CAREFUL, "It cannot be carried out as it is:", 1);
        for why in &plan.hindrances {
            page.item(&safe::line(&briefly(plan, why)), LINES);
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
    let confidence = words::confidence(plan.confidence);
    let mut parts = vec![counted(plan)];
    if !plan.steps.is_empty() {
        parts.push(takes(plan));
    }
    // Hands that change nothing here may change a name server or a switch.
    if plan.blast > 0 || plan.acts() {
        parts.push(words::blast(plan.blast).into());
    }
    format!("For {root}, {confidence}. {}.", parts.join(", "))
}

fn counted(plan: &Plan) -> String {
    let all = plan.steps.len();
    let by_hand = plan.steps.iter().filter(|step| is_by_hand(step)).count();
    let steps = words::counted(all, "step");
    match by_hand {
        0 => steps,
        some if some == all => format!("{steps} by hand"),
        some => format!("{steps}, {some} of them by hand"),
    }
}

/// The sum of the steps, or more where a step does not say what it takes.
fn takes(plan: &Plan) -> String {
    let all_say = plan.steps.iter().all(|step| step.minutes.is_some());
    match plan.minutes {
        Some(minutes) if all_say => format!("about {}", words::duration(minutes)),
        Some(minutes) => format!("about {} in all", words::duration(minutes)),
        None => "nobody knows how long it takes".into(),
    }
}

fn shown(state: &StateRef) -> String {
    format!("{} ({})", safe::line(&state.id), safe::line(&state.entity.to_string()))
}

fn effects(plan: &Plan) -> String {
    let all = &plan.reason.explains;
    let mut names: Vec<String> = all.iter().take(EFFECTS).map(shown).collect();
    if all.len() > EFFECTS {
        names.push(format!("{} more", all.len() - EFFECTS));
    }
    format!("It caused {}.", names.join(", "))
}

fn is_by_hand(step: &Step) -> bool {
    matches!(step.action, Action::Hand { .. })
}

fn level(step: &Step) -> String {
    words::level(is_by_hand(step), step.blast, step.minutes)
}

/// What speaks against this step today, but for what its own lines say.
fn against<'p>(plan: &'p Plan, step: &Step) -> Vec<&'p str> {
    let of_it = plan.hindrances.iter().filter(|one| one.step == Some(step.number));
    of_it.map(|one| one.why.as_str()).filter(|why| !is_told(step, why)).collect()
}

/// Whether a line of the step ends with the reason, which stands behind a colon.
fn is_told(step: &Step, why: &str) -> bool {
    let reason = why.split_once(": ").map(|(_, reason)| reason).filter(|text| !text.is_empty());
    reason.is_some_and(|reason| step.diff.iter().any(|line| line.ends_with(reason)))
}

/// At the end of the plan: without the reason, where the step told it.
fn briefly(plan: &Plan, one: &Hindrance) -> String {
    let step = plan.steps.iter().find(|step| one.step == Some(step.number));
    match (step, one.why.split_once(": ")) {
        (Some(step), Some((what, _))) if is_told(step, &one.why) => {
            format!("step {}: {what}", step.number)
        }
        _ => one.to_string(),
    }
}

/// What is typed before it is done.
fn typed(plan: &Plan, step: &Step) -> Option<&'static str> {
    step.is_typed().then_some(match plan.break_glass_minutes {
        Some(_) => "for 'break-glass' and the name of what is touched, typed",
        None => "for the name of what is touched, typed",
    })
}

fn of_step(page: &mut Page, plan: &Plan, step: &Step) {
    let title = format!("{} ({})", safe::line(&step.title), level(step));
    page.hanging(&format!("{}. ", step.number), &title, LINES);
    for why in against(plan, step) {
        page.paragraph(3, &safe::line(why), LINES);
    }
    for line in step.diff.iter().take(DIFF) {
        page.paragraph(3, &safe::line(line), LINES);
    }
    if step.diff.len() > DIFF {
        page.line(&format!("   and {} lines more: --output json", step.diff.len() - DIFF));
    }
    if let Action::Hand { run, expect } = &step.action {
        for line in run {
            page.command(3, &format!("$ {}", safe::command(line)));
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
    if let Some(asks) = typed(plan, step) {
        labelled(page, "asks", asks);
    }
    if !step.permissions.is_empty() {
        labelled(page, "rights", &rights(step).join(", "));
    }
    if !step.commands.is_empty() {
        page.line("   by hand:");
    }
    for command in &step.commands {
        page.command(5, &format!("$ {}", safe::command(command)));
    }
}

/// `patch machineconfigpools.machineconfiguration.openshift.io/worker -n NAMESPACE`, as `oc auth can-i` takes it.
fn rights(step: &Step) -> Vec<String> {
    let one = |right: &Permission| {
        let Permission { verb, group, resource, namespace, name } = right;
        let group = if group.is_empty() { String::new() } else { format!(".{group}") };
        let name = name.as_ref().map(|name| format!("/{name}")).unwrap_or_default();
        let place = namespace.as_ref().map(|space| format!(" -n {space}")).unwrap_or_default();
        safe::line(&format!("{verb} {resource}{group}{name}{place}"))
    };
    step.permissions.iter().map(one).collect()
}

/// Of what is touched, as it was seen: another one, or one that was decided otherwise, is left alone.
fn identity(step: &Step) -> String {
    let Target::Api(object) = &step.target else { return String::new() };
    let entity = object.entity().to_string();
    let parts = [
        ("Object", Some(&entity)),
        ("UID", object.uid.as_ref()),
        ("resourceVersion", object.resource_version.as_ref()),
        ("Decision", object.decision.as_ref()),
    ];
    let told = parts.iter().filter_map(|(label, text)| Some((label, (*text)?)));
    told.map(|(label, text)| format!("- {label}: {}\n", code(text))).collect()
}

fn conditions(page: &mut Page, label: &str, conditions: &[Condition]) {
    for one in conditions {
        let on = safe::line(&one.on.to_string());
        labelled(page, label, &format!("{} ({on}){}", safe::line(&one.says), within(one)));
    }
}

fn within(one: &Condition) -> String {
    match one.within {
        0 => String::new(),
        minutes => format!(", within {}", words::duration(minutes)),
    }
}

fn labelled(page: &mut Page, label: &str, text: &str) {
    page.paragraph(3, &format!("{label}: {text}"), LINES);
}

fn undo(step: &Step) -> Option<String> {
    step.undo_told().map(|text| safe::line(&text))
}

pub fn plan_markdown(plan: &Plan) -> String {
    let mut out = format!("# {}\n\n{}\n\n", md(&plan.title), md(&head(plan)));
    out += &format!("**Why.** {}\n\n", md(&plan.reason.summary));
    if !plan.reason.explains.is_empty() {
        out += &format!("{}\n\n", md(&effects(plan)));
    }
    out += &proofs(&plan.reason.evidence);
    if let Some(minutes) = plan.break_glass_minutes {
        out += &format!("**Break-glass.** {}\n\n", md(&broken(minutes)));
    }
    if let Some(none) = &plan.none {
        out += &format!("**There is no repair.** {}\n\n", md(none));
    }
    for step in &plan.steps {
        out += &step_markdown(plan, step);
    }
    if !plan.verify.is_empty() {
        out += "## It is mended when\n\n";
        for one in &plan.verify {
            let run = one.run.as_ref().map(|run| format!("{}: ", code(run)));
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
        out += &format!("**Hindrance.** {}\n\n", md(&briefly(plan, why)));
    }
    out + &format!("Plan `{}`\n", plan.digest)
}

fn proofs(evidence: &[Evidence]) -> String {
    if evidence.is_empty() {
        return String::new();
    }
    let one = |proof: &Evidence| {
        format!("- {}: {}\n", code(&text::place(proof)), md(&text::quote(proof)))
    };
    format!("**Proof.**\n\n{}\n", evidence.iter().map(one).collect::<String>())
}

fn step_markdown(plan: &Plan, step: &Step) -> String {
    let mut out = format!("## {}. {} ({})\n\n", step.number, md(&step.title), md(&level(step)));
    for why in against(plan, step) {
        out += &format!("**{}**\n\n", md(why));
    }
    if !step.diff.is_empty() {
        out += &format!("```diff\n{}\n```\n\n", fenced(&step.diff));
    }
    if let Action::Hand { run, expect } = &step.action {
        if !run.is_empty() {
            out += &format!("```console\n{}\n```\n\n", fenced(run));
        }
        return out + &format!("Then: {}\n\n", md(expect));
    }
    for (label, all) in
        [("Only if", &step.require), ("Not if", &step.unless), ("Then", &step.expect)]
    {
        for one in all {
            let (on, that) = (code(&one.on.to_string()), code(&one.that));
            out += &format!("- {label}: {} ({on}: {that}){}\n", md(&one.says), within(one));
        }
    }
    if let Some(undo) = undo(step) {
        out += &format!("- Undo: {}\n", md(&undo));
    }
    if let (Rehearsal::Impossible { because }, true) = (&step.rehearsal, step.blast > 0) {
        out += &format!("- Rehearsal: none: {}\n", md(because));
    }
    if let Some(asks) = typed(plan, step) {
        out += &format!("- Asks: {}\n", md(asks));
    }
    out += &format!("- Reach: {}\n", words::blast(step.reach()));
    out += &identity(step);
    for right in rights(step) {
        out += &format!("- Right: {}\n", code(&right));
    }
    if !step.commands.is_empty() {
        out += &format!("\nThe same by hand:\n\n```console\n{}\n```\n", fenced(&step.commands));
    }
    out + "\n"
}

pub fn md(text: &str) -> String {
    crate::markdown::escape::prose(&safe::line(text))
}

/// As it is typed, in one span.
fn code(text: &str) -> String {
    format!("`{}`", safe::command(text).replace('`', "'"))
}

pub fn fenced(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| safe::command(line).replace("```", "'''"))
        .collect::<Vec<_>>()
        .join("\n")
}
