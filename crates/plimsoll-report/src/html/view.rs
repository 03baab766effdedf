//! What the template shows, as strings that have passed [`crate::safe`]. No markup.

use askama::Template;
use plimsoll_model::diagnosis::{Check, Deadlock, Diagnosis, Root, Suppressed, Verdict};
use plimsoll_model::{Evidence, Time};

use crate::cascade::{Key, cascade_of, key};
use crate::digest::{
    Digest, Role, checks_for, digest, entities, mentions, numbers, terms, ties_of,
};
use crate::graph::{BOX_HEIGHT, BOX_WIDTH, Drawing, drawing};
use crate::ring::ring;
use crate::{safe, when, words};

/// Steps of indentation that still leave room for words.
const DEEPEST: usize = 12;

#[derive(Template)]
#[template(path = "report.html")]
pub struct Report {
    pub title: String,
    pub cluster: String,
    pub cluster_id: Option<String>,
    pub gathered: String,
    pub verdict: String,
    pub tone: &'static str,
    pub reason: String,
    pub costs: String,
    pub explained: String,
    pub sources: Vec<SourceRow>,
    pub gaps: Vec<String>,
    pub incomplete: Vec<String>,
    pub roots: Vec<RootView>,
    pub drawing: Option<Drawing>,
    pub box_width: usize,
    pub box_height: usize,
    pub timeline: Vec<TimeRow>,
    pub symptoms: Vec<[String; 3]>,
    pub nodes: Vec<[String; 2]>,
    pub deadlocks: Vec<DeadlockView>,
    pub ruled_out: Vec<Claim>,
    pub accepted: Vec<Claim>,
    pub notes: Vec<String>,
    pub alternatives: Vec<[String; 3]>,
    pub checks: Vec<CheckView>,
    pub states: Vec<StateRow>,
}

pub struct SourceRow {
    pub name: String,
    pub kind: String,
    pub files: String,
    pub bytes: String,
    pub complete: bool,
}

pub struct RootView {
    pub number: usize,
    pub id: String,
    pub entity: String,
    pub confidence: &'static str,
    pub since: Option<String>,
    pub summary: String,
    pub cascade: Vec<CascadeRow>,
    pub evidence: Vec<Proof>,
    pub folklore: Vec<String>,
    pub repairs: Vec<RepairView>,
    pub ties: Vec<String>,
    pub checks: Vec<CheckView>,
}

pub struct CascadeRow {
    pub depth: usize,
    pub id: String,
    pub entity: String,
    pub time: String,
    pub because: String,
}

pub struct RepairView {
    pub summary: String,
    pub limits: String,
}

pub struct CheckView {
    pub how: String,
    pub cost: &'static str,
    pub state: String,
    pub separates: String,
}

pub struct Proof {
    pub source: String,
    pub place: String,
    pub pointer: Option<String>,
    pub time: Option<String>,
    pub text: String,
}

pub struct TimeRow {
    pub time: String,
    pub id: String,
    pub entity: String,
    pub role: String,
    pub class: &'static str,
    /// Of the width of the chart, in percent.
    pub left: String,
    pub width: String,
}

pub struct DeadlockView {
    pub members: Vec<[String; 2]>,
    pub beside: Vec<String>,
    pub entry: Option<String>,
    pub breakers: Vec<[String; 2]>,
}

pub struct Claim {
    pub state: String,
    pub text: String,
    pub evidence: Vec<Proof>,
}

pub struct StateRow {
    pub id: String,
    pub entity: String,
    pub role: String,
    pub class: &'static str,
    pub since: String,
    pub summary: String,
    pub evidence: Vec<Proof>,
}

pub fn report(d: &Diagnosis) -> Report {
    let digest = digest(d);
    let verdict = words::verdict(d.verdict);
    Report {
        title: format!("Cluster diagnosis: {verdict}"),
        cluster: words::cluster(&d.cluster),
        cluster_id: d.cluster.id.as_deref().map(safe::line),
        gathered: d
            .generated_for
            .map_or("at an unknown time".into(), |time| format!("{} UTC", when::full(time))),
        verdict: verdict.into(),
        tone: tone(d.verdict),
        reason: words::sentence(&d.reason),
        costs: words::costs(d.costs.as_ref(), d.roots.len()),
        explained: digest.explained().unwrap_or_default(),
        sources: d.sources.iter().map(source).collect(),
        gaps: d
            .sources
            .iter()
            .filter(|source| source.complete)
            .flat_map(|source| &source.gaps)
            .map(|gap| safe::line(gap))
            .collect(),
        incomplete: incomplete(d),
        roots: (1..).zip(&d.roots).map(|(number, each)| root(d, &digest, number, each)).collect(),
        drawing: drawing(d, &digest),
        box_width: BOX_WIDTH,
        box_height: BOX_HEIGHT,
        timeline: timeline(d, &digest),
        symptoms: symptoms(&digest),
        nodes: nodes(&digest),
        deadlocks: d.deadlocks.iter().map(|each| deadlock(&digest, each)).collect(),
        ruled_out: ruled_out(d),
        accepted: d.suppressed.iter().map(accepted).collect(),
        notes: d.notes.iter().map(|note| safe::line(note)).collect(),
        alternatives: alternatives(d),
        checks: d.next_checks.iter().map(check).collect(),
        states: states(&digest),
    }
}

fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Healthy => "good",
        Verdict::Recoverable | Verdict::NotProvable => "careful",
        Verdict::DataAtRisk | Verdict::Reinstall | Verdict::Escalate => "bad",
    }
}

fn source(source: &plimsoll_model::diagnosis::Source) -> SourceRow {
    SourceRow {
        name: safe::line(&source.name),
        kind: safe::line(&source.kind),
        files: words::count(source.files),
        bytes: words::bytes(source.bytes),
        complete: source.complete,
    }
}

fn incomplete(d: &Diagnosis) -> Vec<String> {
    let incomplete = d.sources.iter().filter(|source| !source.complete);
    incomplete
        .map(|source| {
            let gaps: Vec<String> = source.gaps.iter().map(|gap| safe::line(gap)).collect();
            let what = if gaps.is_empty() {
                "what is missing is not known".into()
            } else {
                gaps.join("; ")
            };
            format!("{}: {}", safe::line(&source.name), words::sentence(&what))
        })
        .collect()
}

fn one(state: Key) -> String {
    mentions([state]).concat()
}

fn root(d: &Diagnosis, digest: &Digest, number: usize, root: &Root) -> RootView {
    let tree = cascade_of(&digest.graph, d, root);
    let rows = tree.preorder(|_| true).into_iter().filter_map(|at| {
        let node = tree.nodes.get(at)?;
        Some(CascadeRow {
            depth: node.depth.min(DEEPEST),
            id: safe::line(node.members.first()?.0),
            entity: entities(&node.members),
            time: node.since.map(|since| when::moment(since, d.generated_for)).unwrap_or_default(),
            because: tree.because(&digest.graph, at).map(safe::line).unwrap_or_default(),
        })
    });
    RootView {
        number,
        id: safe::line(&root.id),
        entity: safe::line(&root.entity.to_string()),
        confidence: words::confidence(root.confidence),
        since: root.since.map(|since| format!("{} UTC", when::full(since))),
        summary: words::root(root),
        cascade: if tree.nodes.len() > 1 { rows.collect() } else { Vec::new() },
        evidence: root.evidence.iter().map(proof).collect(),
        folklore: root.folklore.iter().map(|belief| safe::line(belief)).collect(),
        repairs: root.repairs.iter().map(repair).collect(),
        ties: ties_of(d, root).into_iter().map(|(tie, _)| one(tie)).collect(),
        checks: checks_for(d, root).into_iter().map(check).collect(),
    }
}

fn repair(repair: &plimsoll_model::diagnosis::Repair) -> RepairView {
    let minutes = repair.minutes.map(|minutes| format!("about {}", words::duration(minutes)));
    let blast = repair.blast.map(|level| words::blast(level).to_string());
    let limits: Vec<String> = minutes.into_iter().chain(blast).collect();
    RepairView { summary: safe::line(&repair.summary), limits: limits.join(", ") }
}

fn check(check: &Check) -> CheckView {
    CheckView {
        how: safe::line(&check.how),
        cost: words::cost(check.cost),
        state: one((&check.id, &check.entity)),
        separates: mentions(check.separates.iter().map(key)).join(", "),
    }
}

pub fn proof(proof: &Evidence) -> Proof {
    let path = safe::line(&proof.path);
    Proof {
        source: safe::line(&proof.source),
        place: proof.line.map_or(path.clone(), |line| format!("{path}:{line}")),
        pointer: proof.pointer.as_deref().map(safe::line),
        time: proof.time.map(|time| format!("{} UTC", when::exact(time))),
        text: safe::lines(&proof.text),
    }
}

fn class(role: &Role) -> &'static str {
    match role {
        Role::Root(_) => "root",
        Role::SymptomOf(_) => "symptom",
        Role::Unexplained => "left",
        Role::Held => "held",
        Role::Accepted | Role::Note | Role::Recovered | Role::Expected | Role::Unknown => "quiet",
    }
}

fn timeline(d: &Diagnosis, digest: &Digest) -> Vec<TimeRow> {
    let rows = digest.timeline();
    let times = || rows.iter().map(|(since, _, _)| since.as_second());
    let start = times().min().unwrap_or(0);
    let end = times().chain(d.generated_for.map(Time::as_second)).max().unwrap_or(0);
    let span = end.saturating_sub(start).max(1);
    rows.iter()
        .map(|(since, role, members)| {
            let left = since.as_second().saturating_sub(start).saturating_mul(100) / span;
            // What is over has a mark and no length: its end is not part of a diagnosis.
            let width = if *role == Role::Recovered { 1 } else { (100 - left).max(1) };
            TimeRow {
                time: when::full(*since),
                id: members.first().map(|member| safe::line(member.0)).unwrap_or_default(),
                entity: entities(members),
                role: role.to_string(),
                class: class(role),
                left: left.min(99).to_string(),
                width: width.to_string(),
            }
        })
        .collect()
}

fn symptoms(digest: &Digest) -> Vec<[String; 3]> {
    let rows = digest.symptoms_by_root().into_iter().map(|(roots, members)| {
        let id = members.first().map(|member| safe::line(member.0)).unwrap_or_default();
        [if roots.is_empty() { "none".into() } else { numbers(&roots) }, id, entities(&members)]
    });
    rows.collect()
}

fn nodes(digest: &Digest) -> Vec<[String; 2]> {
    let rows = digest.nodes().into_iter().map(|(node, active)| {
        let active: Vec<String> = active.into_iter().map(safe::line).collect();
        let active = if active.is_empty() { "nothing active".into() } else { active.join(", ") };
        [safe::line(&node.name), active]
    });
    rows.collect()
}

fn deadlock(digest: &Digest, deadlock: &Deadlock) -> DeadlockView {
    let ring = ring(&digest.graph, deadlock);
    let entry = deadlock.entry.as_ref().map(key);
    DeadlockView {
        members: ring
            .turn
            .iter()
            .map(|(id, entity)| [safe::line(id), safe::line(&entity.to_string())])
            .collect(),
        beside: mentions(ring.beside.iter().copied()),
        entry: entry.map(one),
        breakers: deadlock
            .breakers
            .iter()
            .map(|breaker| [safe::line(&breaker.action), one(key(&breaker.state))])
            .collect(),
    }
}

fn accepted(known: &Suppressed) -> Claim {
    Claim {
        state: one((&known.id, &known.entity)),
        text: terms(known),
        evidence: known.evidence.iter().map(proof).collect(),
    }
}

fn ruled_out(d: &Diagnosis) -> Vec<Claim> {
    let claims = d.ruled_out.iter().map(|ruled| Claim {
        state: one((&ruled.id, &ruled.entity)),
        text: safe::line(&ruled.by),
        evidence: ruled.evidence.iter().map(proof).collect(),
    });
    claims.collect()
}

fn alternatives(d: &Diagnosis) -> Vec<[String; 3]> {
    let rows = d.alternatives.iter().map(|other| {
        let strength = if other.tie { " (tie)" } else { "" };
        let apart = mentions(other.separated_by.iter().map(key)).join(", ");
        [
            format!("{}{strength}", one((&other.id, &other.entity))),
            one(key(&other.instead_of)),
            apart,
        ]
    });
    rows.collect()
}

fn states(digest: &Digest) -> Vec<StateRow> {
    let rows = digest.graph.states.iter().map(|(key, state)| {
        let role = digest.role(*key);
        StateRow {
            id: safe::line(key.0),
            entity: safe::line(&key.1.to_string()),
            class: class(&role),
            role: role.to_string(),
            since: state.since.map(when::full).unwrap_or_default(),
            summary: safe::line(&state.summary),
            evidence: state.evidence.iter().map(proof).collect(),
        }
    });
    rows.collect()
}
