//! The incident report that a person sends on: complete, in the order in which it is read.
//! Escapes are in `markdown/escape.rs`; nothing untrusted gets here without one of them.

pub(crate) mod escape;

use plimsoll_model::diagnosis::{Diagnosis, Root, Verdict};
use plimsoll_model::{Evidence, Time};

use crate::cascade::{Key, cascade_of, groups, key, root_key};
use crate::digest::{Digest, Role, checks_for, digest, entities, numbers, terms, ties_of};
use crate::ring::ring;
use crate::{safe, when, words};
use escape::{cell, code, fenced, prose};

const ACCEPTED: &str = "Accepted in plimsoll.toml, not blamed";

/// Lists nested deeper than this are unreadable, and unbounded in size.
const DEEPEST: usize = 12;

pub fn markdown(d: &Diagnosis) -> String {
    let digest = digest(d);
    let mut out = Vec::new();
    summary(&mut out, d, &digest);
    sources(&mut out, d);
    roots(&mut out, d, &digest);
    timeline(&mut out, &digest);
    symptoms(&mut out, &digest);
    nodes(&mut out, &digest);
    deadlocks(&mut out, d, &digest);
    ruled_out(&mut out, d);
    rest(&mut out, &digest);
    accepted(&mut out, d);
    checks(&mut out, d);
    recommendation(&mut out, d);
    out.join("\n") + "\n"
}

pub(crate) fn section(out: &mut Vec<String>, title: &str) {
    out.extend([String::new(), format!("## {title}"), String::new()]);
}

pub(crate) fn table(
    out: &mut Vec<String>,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    out.push(format!("| {} |", columns.join(" | ")));
    out.push(format!("|{}", "---|".repeat(columns.len())));
    out.extend(rows.into_iter().map(|row| format!("| {} |", row.join(" | "))));
}

fn stamp(time: Option<Time>) -> String {
    time.map(when::full).unwrap_or_else(|| "unknown".into())
}

fn state(state: Key) -> String {
    format!("{} on {}", code(state.0), code(&state.1.to_string()))
}

fn id(members: &[Key]) -> String {
    members.first().map(|member| code(member.0)).unwrap_or_default()
}

fn place(members: &[Key]) -> String {
    let place = entities(members);
    if members.len() == 1 { code(&place) } else { prose(&place) }
}

fn summary(out: &mut Vec<String>, d: &Diagnosis, digest: &Digest) {
    let title = match d.roots.as_slice() {
        [] => words::verdict(d.verdict).into(),
        roots => {
            format!("{}, {}", words::verdict(d.verdict), words::counted(roots.len(), "root cause"))
        }
    };
    out.extend([format!("# Cluster diagnosis: {title}"), String::new()]);
    out.push(format!(
        "{}, state of {} UTC.",
        prose(&words::cluster(&d.cluster)),
        stamp(d.generated_for)
    ));
    if let Some(id) = &d.cluster.id {
        out.push(format!("Cluster id {}.", code(id)));
    }
    section(out, "Summary");
    out.push(format!("**{}.** {}", words::verdict(d.verdict), prose(&words::sentence(&d.reason))));
    let costs = words::costs(d.costs.as_ref(), d.roots.len());
    out.extend((!costs.is_empty()).then_some(costs));
    out.extend(digest.explained());
    let (left, more) = digest.left_in_words();
    if !left.is_empty() {
        out.extend([String::new(), "Without a cause so far:".into(), String::new()]);
        out.extend(left.iter().map(|said| format!("- {}", prose(said))));
        out.extend((more > 0).then(|| format!("- … and {more} more")));
    }
}

fn sources(out: &mut Vec<String>, d: &Diagnosis) {
    section(out, "Sources and gaps");
    if d.sources.is_empty() {
        out.push("No source was read.".into());
        return;
    }
    let rows = d.sources.iter().map(|source| {
        let complete = if source.complete { "yes" } else { "**INCOMPLETE**" };
        let (files, bytes) = (words::count(source.files), words::bytes(source.bytes));
        vec![cell(&code(&source.name)), cell(&prose(&source.kind)), files, bytes, complete.into()]
    });
    table(out, &["Source", "Kind", "Files", "Bytes", "Complete"], rows);
    let gaps: Vec<String> =
        d.sources.iter().flat_map(|source| &source.gaps).map(|gap| prose(gap)).collect();
    out.push(String::new());
    if gaps.is_empty() {
        out.push("No gaps.".into());
    } else {
        out.extend(["Gaps:".into(), String::new()]);
        out.extend(gaps.iter().map(|gap| format!("- {gap}")));
    }
}

fn roots(out: &mut Vec<String>, d: &Diagnosis, digest: &Digest) {
    section(out, "Root causes");
    if d.roots.is_empty() {
        out.push("None found.".into());
        return;
    }
    let rows = (1..).zip(&d.roots).map(|(number, root): (usize, _)| {
        vec![
            number.to_string(),
            cell(&code(&root.id)),
            cell(&code(&root.entity.to_string())),
            words::confidence(root.confidence).into(),
            stamp(root.since),
            words::counted(root.explains.len(), "symptom"),
        ]
    });
    table(out, &["#", "Root cause", "Where", "Confidence", "Since (UTC)", "Explains"], rows);
    for (number, root) in (1..).zip(&d.roots) {
        one_root(out, d, digest, number, root);
    }
}

fn one_root(out: &mut Vec<String>, d: &Diagnosis, digest: &Digest, number: usize, root: &Root) {
    out.push(String::new());
    out.push(format!("### {number}. {}", state(root_key(root))));
    out.extend([String::new(), prose(&words::root(root))]);
    let tree = cascade_of(&digest.graph, d, root);
    if tree.nodes.len() > 1 {
        out.extend([String::new(), "Cascade:".into(), String::new()]);
        for at in tree.preorder(|_| true) {
            let Some(node) = tree.nodes.get(at) else { continue };
            let indent = "  ".repeat(node.depth.min(DEEPEST));
            let since =
                node.since.map(|time| format!(", {}", when::full(time))).unwrap_or_default();
            let because =
                tree.because(&digest.graph, at).map(prose).filter(|text| !text.is_empty());
            let because = because.map(|text| format!(": {text}")).unwrap_or_default();
            out.push(format!(
                "{indent}- {} on {}{since}{because}",
                id(&node.members),
                place(&node.members)
            ));
        }
    }
    out.push(String::new());
    if root.evidence.is_empty() {
        out.push("Evidence: not seen itself; it explains best what is seen.".into());
    } else {
        out.push("Evidence:".into());
        root.evidence.iter().for_each(|proof| evidence(out, proof));
    }
    paragraph_list(out, "What it is not:", root.folklore.iter().map(|belief| prose(belief)));
    paragraph_list(
        out,
        "Repair:",
        root.repairs.iter().map(|repair| {
            let minutes =
                repair.minutes.map(|minutes| format!(", about {}", words::duration(minutes)));
            let blast = repair.blast.map(|level| format!(", touches {}", touched(level)));
            format!(
                "{} ({}{}{})",
                prose(&repair.summary),
                code(&repair.id),
                minutes.unwrap_or_default(),
                blast.unwrap_or_default()
            )
        }),
    );
    if let Some(next) = words::next_command(d, number, root) {
        let shows = next.shows.map(|shows| format!(" {shows}")).unwrap_or_default();
        out.extend([String::new(), format!("Next: {}{shows}.", code(&next.command))]);
    }
    paragraph_list(
        out,
        "Fits nearly as well:",
        ties_of(d, root).into_iter().map(|(tie, other)| {
            let apart: Vec<String> = other
                .into_iter()
                .flat_map(|other| &other.separated_by)
                .map(|by| state(key(by)))
                .collect();
            let apart = if apart.is_empty() {
                String::new()
            } else {
                format!("; told apart by {}", apart.join(", "))
            };
            format!("{}{apart}", state(tie))
        }),
    );
    paragraph_list(
        out,
        "Check next:",
        checks_for(d, root)
            .into_iter()
            .map(|check| format!("{} ({})", prose(&check.how), words::cost(check.cost))),
    );
}

fn touched(level: u8) -> &'static str {
    if level == 0 { "nothing" } else { words::blast(level) }
}

fn paragraph_list(out: &mut Vec<String>, title: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    if !items.is_empty() {
        out.extend([String::new(), title.into(), String::new()]);
        out.extend(items);
    }
}

pub(crate) fn evidence(out: &mut Vec<String>, proof: &Evidence) {
    let place = match proof.line {
        Some(line) => format!("{}:{line}", safe::line(&proof.path)),
        None => safe::line(&proof.path),
    };
    let pointer = proof.pointer.as_deref().map(|pointer| format!(" field {}", code(pointer)));
    let time = proof.time.map(|time| format!(", {} UTC", when::exact(time)));
    out.push(String::new());
    out.push(format!(
        "{}{}{}",
        code(&place),
        pointer.unwrap_or_default(),
        time.unwrap_or_default()
    ));
    out.push(String::new());
    out.push(fenced(&proof.text));
}

fn timeline(out: &mut Vec<String>, digest: &Digest) {
    let rows = digest.timeline();
    if rows.is_empty() {
        return;
    }
    section(out, "Timeline");
    let rows = rows.into_iter().map(|(since, role, members)| {
        let role = match role {
            Role::Root(_) => format!("**{role}**"),
            _ => role.to_string(),
        };
        vec![when::full(since), cell(&id(&members)), cell(&place(&members)), role]
    });
    table(out, &["Since (UTC)", "State", "Where", "What"], rows);
}

fn symptoms(out: &mut Vec<String>, digest: &Digest) {
    if digest.symptoms.is_empty() {
        return;
    }
    section(out, "Roots against symptoms");
    let rows = digest.symptoms_by_root().into_iter().map(|(roots, members)| {
        let roots = if roots.is_empty() { "none".into() } else { numbers(&roots) };
        vec![roots, cell(&id(&members)), cell(&place(&members))]
    });
    table(out, &["Root", "Symptom", "Where"], rows);
}

fn nodes(out: &mut Vec<String>, digest: &Digest) {
    let nodes = digest.nodes();
    if nodes.is_empty() {
        return;
    }
    section(out, "State of the nodes");
    let rows = nodes.into_iter().map(|(node, active)| {
        let active: Vec<String> = active.into_iter().map(code).collect();
        let active = if active.is_empty() { "nothing active".into() } else { active.join(", ") };
        vec![cell(&code(&node.name)), cell(&active)]
    });
    table(out, &["Node", "Active states"], rows);
}

fn deadlocks(out: &mut Vec<String>, d: &Diagnosis, digest: &Digest) {
    if d.deadlocks.is_empty() {
        return;
    }
    section(out, "Deadlocks");
    for deadlock in &d.deadlocks {
        let ring = ring(&digest.graph, deadlock);
        out.extend(["These hold each other; none can clear by itself:".into(), String::new()]);
        out.extend(
            (1..)
                .zip(&ring.turn)
                .map(|(number, member): (usize, _)| format!("{number}. {}", state(*member))),
        );
        out.extend(
            ring.turn
                .first()
                .map(|first| format!("{}. back to {}", ring.turn.len() + 1, code(first.0))),
        );
        out.extend(ring.beside.iter().map(|member| format!("- {}", state(*member))));
        let entry = deadlock.entry.as_ref().map(|entry| state(key(entry)));
        paragraph_list(out, "Entered at:", entry.into_iter());
        paragraph_list(
            out,
            "Broken by:",
            deadlock.breakers.iter().map(|breaker| {
                format!("{} (ends {})", prose(&breaker.action), code(&breaker.state.id))
            }),
        );
        out.push(String::new());
    }
    out.pop();
}

fn ruled_out(out: &mut Vec<String>, d: &Diagnosis) {
    if d.ruled_out.is_empty() {
        return;
    }
    section(out, "Ruled out");
    for ruled in &d.ruled_out {
        let places: Vec<String> = ruled.evidence.iter().map(cited).collect();
        let places =
            if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
        out.push(format!("- {}: {}{places}", state((&ruled.id, &ruled.entity)), prose(&ruled.by)));
    }
}

fn cited(proof: &Evidence) -> String {
    code(&proof.line.map_or(proof.path.clone(), |line| format!("{}:{line}", proof.path)))
}

/// What is left, and what is there without being to blame.
fn rest(out: &mut Vec<String>, digest: &Digest) {
    let left: Vec<Key> = digest.left.iter().copied().collect();
    states(out, "Not explained", &left, digest);
    for (title, blameless) in digest.blameless() {
        states(out, title, blameless, digest);
    }
    states(out, "Cannot be told from this data", &digest.unknown, digest);
}

fn accepted(out: &mut Vec<String>, d: &Diagnosis) {
    if d.suppressed.is_empty() && d.notes.is_empty() {
        return;
    }
    section(out, ACCEPTED);
    out.extend(d.suppressed.iter().map(|known| {
        let places: Vec<String> = known.evidence.iter().map(cited).collect();
        let places =
            if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
        format!("- {} {}{places}", state((&known.id, &known.entity)), prose(&terms(known)))
    }));
    out.extend(d.notes.iter().map(|note| format!("- Note: {}", prose(note))));
}

fn states(out: &mut Vec<String>, title: &str, states: &[Key], digest: &Digest) {
    if states.is_empty() {
        return;
    }
    section(out, title);
    for members in groups(states.iter().copied()) {
        let state = members.first().and_then(|first| digest.graph.states.get(first));
        let summary = state.map(|state| prose(&state.summary)).filter(|text| !text.is_empty());
        let summary = summary.map(|text| format!(": {text}")).unwrap_or_default();
        out.push(format!("- {} on {}{summary}", id(&members), place(&members)));
    }
}

fn checks(out: &mut Vec<String>, d: &Diagnosis) {
    if d.next_checks.is_empty() {
        return;
    }
    section(out, "Next checks, best first");
    for (number, check) in (1..).zip(&d.next_checks) {
        let number: usize = number;
        let separates: Vec<String> = check.separates.iter().map(|state| code(&state.id)).collect();
        let separates = if separates.is_empty() {
            String::new()
        } else {
            format!(", separates {}", separates.join(", "))
        };
        out.push(format!(
            "{number}. {} ({}; shows {}{separates})",
            prose(&check.how),
            words::cost(check.cost),
            state((&check.id, &check.entity)),
        ));
    }
}

fn recommendation(out: &mut Vec<String>, d: &Diagnosis) {
    section(out, "Recommendation");
    out.push(match d.verdict {
        Verdict::Healthy => "Nothing to repair.".into(),
        Verdict::Recoverable => "Repair in place, in this order:".to_string(),
        Verdict::DataAtRisk => {
            "Save etcd and the data of workloads first, then repair in this order:".into()
        }
        Verdict::Reinstall => {
            "Reinstall; it takes less time than the repair. To repair all the same:".into()
        }
        Verdict::Escalate => {
            "Do not repair alone: open a support case and attach this report.".into()
        }
        Verdict::NotProvable => {
            "Do not repair yet: collect what is missing and run the checks above.".into()
        }
    });
    if matches!(d.verdict, Verdict::Healthy | Verdict::Escalate | Verdict::NotProvable) {
        return;
    }
    out.push(String::new());
    for (number, root) in (1..).zip(&d.roots) {
        let number: usize = number;
        let step = match (root.repairs.first(), checks_for(d, root).first()) {
            (Some(repair), _) => prose(&repair.summary),
            (None, Some(check)) => format!("check first: {}", prose(&check.how)),
            (None, None) => "no known repair; see the evidence above".into(),
        };
        out.push(format!("{number}. {}: {step}", state(root_key(root))));
    }
}
