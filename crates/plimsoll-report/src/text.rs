//! The answer on one screen: verdict, roots with their cascades, what is left. Not here: all of
//! the evidence, unless asked for; the HTML file has it.

pub(crate) mod page;
mod tree;

use plimsoll_model::diagnosis::{
    Check, Diagnosis, Repair, Root, RuledOut, Source, StateRef, Verdict,
};
use plimsoll_model::{Evidence, Time};

use crate::cascade::{Cascade, Key, cascade_of, key, root_key};
use crate::digest::{Digest, checks_for, digest, mentions, shortlist, terms, ties_of};
use crate::ring::ring;
use crate::wrap::{columns, cut_end, cut_entity, cut_middle, cut_path, cut_start, pad, wrap};
use crate::{safe, when, words};
use page::{BAD, CAREFUL, FAINT, GOOD, INDENT, Page, STRONG};

/// Roots shown in full; a screen does not hold more.
const ROOTS: usize = 8;
const DEADLOCKS: usize = 3;
const RING_MEMBERS: usize = 8;
const BREAKERS: usize = 3;
const RULED_OUT: usize = 5;
const CHECKS: usize = 3;
const PER_ROOT: usize = 2;
const GAPS: usize = 4;
const MENTIONS: usize = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvidenceShown {
    /// The first proof of each root.
    #[default]
    None,
    /// All evidence of the root with this number, from 1.
    Root(usize),
    All,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns; 40 at least.
    pub width: usize,
    pub color: bool,
    pub evidence: EvidenceShown,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { width: 80, color: false, evidence: EvidenceShown::None }
    }
}

pub fn text(d: &Diagnosis, options: &TextOptions) -> String {
    let digest = digest(d);
    let mut page = Page::new(options.width, options.color);
    header(&mut page, d);
    verdict(&mut page, d);
    roots(&mut page, d, &digest, options.evidence);
    deadlocks(&mut page, d, &digest);
    ruled_out(&mut page, d);
    accepted(&mut page, d);
    closing(&mut page, d, &digest);
    page.finish()
}

fn header(page: &mut Page, d: &Diagnosis) {
    let gathered = match d.generated_for {
        Some(time) => format!("gathered {} UTC", when::full(time)),
        None => "time of the gather unknown".into(),
    };
    page.paragraph(0, &format!("{}, {gathered}", words::cluster(&d.cluster)), 3);

    for source in d.sources.iter().filter(|source| !source.complete).take(GAPS) {
        let what = match gaps(&[source]) {
            text if text.is_empty() => "what is missing is not known".into(),
            text => text,
        };
        // A gap that concerns the whole source begins with its name already.
        let name = safe::line(&source.name);
        let what = what.strip_prefix(&format!("{name}: ")).unwrap_or(&what);
        let text = format!("{name}: {}", words::sentence(what));
        page.opening(CAREFUL, "INCOMPLETE:", &text, 4);
    }
    let complete: Vec<&Source> = d.sources.iter().filter(|source| source.complete).collect();
    let files = d.sources.iter().fold(0_u64, |sum, source| sum.saturating_add(source.files));
    let bytes = d.sources.iter().fold(0_u64, |sum, source| sum.saturating_add(source.bytes));
    let from = match d.sources.len() {
        0 | 1 => String::new(),
        many => format!(" from {many} sources"),
    };
    let gaps = match gaps(&complete) {
        text if text.is_empty() => String::new(),
        text => format!(" Gaps: {}", words::sentence(&text)),
    };
    let files = if files == 1 { "1 file".into() } else { format!("{} files", words::count(files)) };
    page.paragraph(0, &format!("Read {files}, {}{from}.{gaps}", words::bytes(bytes)), 4);
}

fn gaps(sources: &[&Source]) -> String {
    let all: Vec<&String> = sources.iter().flat_map(|source| &source.gaps).collect();
    let shown: Vec<String> = all.iter().take(GAPS).map(|gap| safe::line(gap)).collect();
    let mut shown = shown.join("; ");
    if all.len() > GAPS {
        // In front: what is long is cut at its end.
        shown = format!("{} parts, such as {shown}", all.len());
    }
    shown
}

fn verdict(page: &mut Page, d: &Diagnosis) {
    let style = match d.verdict {
        Verdict::Healthy => GOOD,
        Verdict::Recoverable | Verdict::NotProvable => CAREFUL,
        Verdict::DataAtRisk | Verdict::Reinstall | Verdict::Escalate => BAD,
    };
    let costs = words::costs(d.costs.as_ref(), d.roots.len());
    let opening = format!("{}:", words::verdict(d.verdict).to_uppercase());
    page.blank();
    page.opening(style, &opening, &format!("{} {costs}", words::sentence(&d.reason)), 5);
}

fn roots(page: &mut Page, d: &Diagnosis, digest: &Digest, evidence: EvidenceShown) {
    let asked = |number: usize| match evidence {
        EvidenceShown::None => false,
        EvidenceShown::Root(wanted) => wanted == number,
        EvidenceShown::All => true,
    };
    let shown: Vec<(usize, &Root, Cascade)> = (1..)
        .zip(&d.roots)
        .filter(|(number, _)| *number <= ROOTS || asked(*number))
        .map(|(number, root)| (number, root, cascade_of(&digest.graph, d, root)))
        .collect();
    let sizes: Vec<usize> = shown.iter().map(|(_, _, cascade)| cascade.nodes.len()).collect();
    let allowed = tree::rows_allowed(&sizes);
    for (number, root, cascade) in &shown {
        heading(page, *number, root, d.generated_for);
        tree::draw(page, cascade, allowed, d.generated_for);
        if asked(*number) {
            all_evidence(page, root);
        } else {
            first_evidence(page, *number, root);
        }
        // The same fault on another machine: what to know and to do stands above.
        match shown.iter().find(|(earlier, other, _)| earlier < number && other.id == root.id) {
            Some((earlier, _, _)) => {
                let entity = safe::line(&root.entity.to_string());
                page.labelled("fix", &format!("as for root {earlier}, on {entity}"), 2);
            }
            None => advice(page, d, root),
        }
        if let Some(next) = words::next_command(d, *number, root) {
            let shows = next.shows.map(|shows| format!("   # {shows}")).unwrap_or_default();
            let whole = format!("{}{shows}", next.command);
            // A command is copied: it stands on one line, or by its number.
            let short = [whole, next.command, format!("plimsoll fix {number}")];
            let fits = |line: &String| columns(line) <= page.room();
            let line = short.into_iter().find(fits);
            page.labelled_lines("run", line.as_slice());
        }
    }
    if d.roots.len() > shown.len() {
        page.blank();
        let more = words::counted(d.roots.len() - shown.len(), "more root");
        page.paragraph(0, &format!("… and {more} (--output html shows all)"), 1);
    }
}

fn heading(page: &mut Page, number: usize, root: &Root, now: Option<Time>) {
    let confidence = words::confidence(root.confidence);
    let right = match root.since {
        Some(since) => format!("{confidence}, since {}", when::moment_in_zone(since, now)),
        None => confidence.into(),
    };
    let id = cut_middle(&safe::line(&root.id), page.width / 2);
    let entity = safe::line(&root.entity.to_string());
    let used = columns(&format!("{number}. : {id}"));
    let beside = page.width.saturating_sub(used + 1 + columns(&right));
    let short = cut_entity(&entity, beside);
    // Without its namespace a name still says what it is; with a hole in it, it does not.
    let whole = short == entity || short.contains("/…/");
    let entity = if whole { short } else { cut_entity(&entity, page.width.saturating_sub(used)) };
    let left = format!("{number}. {entity}: {id}");
    page.blank();
    page.sides(STRONG, &left, &right);
    page.paragraph(INDENT, &words::root(root), 4);
}

fn first_evidence(page: &mut Page, number: usize, root: &Root) {
    let Some(proof) = root.evidence.first() else {
        page.labelled("proof", "not seen itself; it explains best what is seen", 2);
        return;
    };
    let room = page.room();
    let mut lines = vec![cut_path(&place(proof), room)];
    let quote = quote(proof);
    lines.extend(in_three_lines(gist(&quote), room));
    if root.evidence.len() > 1 {
        let more = format!("(+{} more: --evidence {number})", root.evidence.len() - 1);
        match lines.last_mut() {
            Some(last) if columns(last) + 1 + columns(&more) <= room => {
                *last = format!("{last} {more}")
            }
            _ => lines.push(more),
        }
    }
    page.labelled_lines("proof", &lines);
}

/// What is wrong stands at the end of an error, so what is too long loses its middle.
fn in_three_lines(quote: &str, room: usize) -> Vec<String> {
    let lines = wrap(quote, room);
    if lines.len() <= 3 {
        return lines;
    }
    let head = cut_end(&lines[1], room.saturating_sub(2));
    vec![lines[0].clone(), format!("{head} …"), cut_start(quote, room)]
}

fn all_evidence(page: &mut Page, root: &Root) {
    for proof in &root.evidence {
        let mut lines = wrap(&place(proof), page.room());
        lines.extend(proof.time.map(|time| format!("at {} UTC", when::exact(time))));
        lines.extend(wrap(&quote(proof), page.room()));
        page.labelled_lines("proof", &lines);
    }
    if root.evidence.is_empty() {
        page.labelled("proof", "none: not seen itself; it explains best what is seen", 2);
    }
}

pub(crate) fn place(proof: &Evidence) -> String {
    let path = safe::line(&proof.path);
    proof.line.map_or(path.clone(), |line| format!("{path}:{line}"))
}

/// A field is named with its value: the path of its file is long enough alone.
pub(crate) fn quote(proof: &Evidence) -> String {
    let text = safe::line(&proof.text);
    match proof.pointer.as_deref() {
        Some(pointer) => format!("{}: {text}", safe::line(pointer)),
        None => text,
    }
}

/// A log line from where it says something: its time, host and process stand in front of that.
fn gist(line: &str) -> &str {
    let header = line.char_indices().take(160).filter(|(_, c)| *c == ']').map(|(at, _)| at);
    let source = |at: &usize| {
        let before = line[..*at].trim_end_matches(|c: char| c.is_ascii_digit());
        before.ends_with(".go:") && line[*at..].starts_with("] ")
    };
    header.filter(source).last().map_or(line, |at| line[at + 1..].trim_start())
}

/// What it is not, what to do, what competes with it, what to look at next.
fn advice(page: &mut Page, d: &Diagnosis, root: &Root) {
    for belief in root.folklore.iter().take(PER_ROOT) {
        page.labelled("not", &safe::line(belief), 3);
    }
    for repair in root.repairs.iter().take(PER_ROOT) {
        page.labelled("fix", &fix(repair), 8);
    }
    if root.repairs.len() > PER_ROOT {
        page.labelled(
            "",
            &format!("(+{} more in --output html)", root.repairs.len() - PER_ROOT),
            1,
        );
    }
    for (tie, alternative) in ties_of(d, root).into_iter().take(PER_ROOT) {
        let near = |state: Key| {
            if *state.1 == root.entity { safe::line(state.0) } else { mentions([state]).concat() }
        };
        let apart: Option<Vec<String>> =
            alternative.map(|other| other.separated_by.iter().map(key).map(near).collect());
        let apart = match apart {
            Some(states) if !states.is_empty() => {
                format!("; told apart by {}", shortlist(&states, MENTIONS))
            }
            _ => String::new(),
        };
        let rival = near(tie);
        page.labelled("tie", &format!("{rival} fits nearly as well{apart}"), 3);
    }
    let known = |state: &StateRef| key(state) == root_key(root) || root.ties.contains(state);
    for check in checks_for(d, root).into_iter().take(PER_ROOT) {
        let tells_more = !check.separates.iter().all(known);
        page.labelled("next", &next(check, tells_more), 3);
    }
}

fn fix(repair: &Repair) -> String {
    let minutes = repair.minutes.map(|minutes| format!("~{} min", words::count(minutes)));
    let blast = repair.blast.map(|level| words::blast(level).to_string());
    let limits: Vec<String> = minutes.into_iter().chain(blast).collect();
    let summary = safe::line(&repair.summary);
    if limits.is_empty() { summary } else { format!("{summary} ({})", limits.join(", ")) }
}

fn next(check: &Check, with_separates: bool) -> String {
    let mut ids: Vec<String> = check.separates.iter().map(|state| safe::line(&state.id)).collect();
    ids.sort();
    ids.dedup();
    let separates = match ids.len() {
        0 | 1 => String::new(),
        _ if !with_separates => String::new(),
        _ => format!("; separates {}", shortlist(&ids, MENTIONS)),
    };
    format!("{} ({}{separates})", safe::line(&check.how), words::cost(check.cost))
}

fn deadlocks(page: &mut Page, d: &Diagnosis, digest: &Digest) {
    for deadlock in d.deadlocks.iter().take(DEADLOCKS) {
        let ring = ring(&digest.graph, deadlock);
        let members = words::counted(ring.turn.len() + ring.beside.len(), "state");
        page.blank();
        page.opening(
            BAD,
            "DEADLOCK:",
            &format!("{members} hold each other; none can clear by itself."),
            2,
        );
        let label = |id: &str| safe::line(id);
        let widest = ring.turn.iter().map(|(id, _)| columns(id) + 3).max().unwrap_or(0);
        let widest = widest.min(page.width / 2);
        for (at, (id, entity)) in ring.turn.iter().take(RING_MEMBERS).enumerate() {
            let arrow = if at == 0 { "   " } else { "-> " };
            let id = cut_middle(&format!("{arrow}{}", label(id)), page.width / 2);
            let id = pad(&id, widest);
            let room = page.width.saturating_sub(INDENT + columns(&id) + 2);
            let entity = cut_entity(&safe::line(&entity.to_string()), room);
            page.line(&format!("{}{id}  {entity}", " ".repeat(INDENT)));
        }
        if ring.turn.len() > RING_MEMBERS {
            let more = ring.turn.len() - RING_MEMBERS;
            page.paragraph(INDENT, &format!("-> … {more} more (--output html shows all)"), 1);
        }
        if let Some((id, _)) = ring.turn.first() {
            page.paragraph(INDENT, &format!("-> back to {}", label(id)), 2);
        }
        if !ring.beside.is_empty() {
            page.labelled("also", &shortlist(&mentions(ring.beside.iter().copied()), MENTIONS), 2);
        }
        let entry = deadlock.entry.as_ref().map(key);
        if let Some(entry) = entry.filter(|entry| ring.turn.first() != Some(entry)) {
            page.labelled("entry", &mentions([entry]).concat(), 2);
        }
        for breaker in deadlock.breakers.iter().take(BREAKERS) {
            let text =
                format!("{} (ends {})", safe::line(&breaker.action), label(&breaker.state.id));
            page.labelled("break", &text, 3);
        }
    }
    if d.deadlocks.len() > DEADLOCKS {
        let more = words::counted(d.deadlocks.len() - DEADLOCKS, "more deadlock");
        page.paragraph(0, &format!("… and {more} (--output html shows all)"), 1);
    }
}

fn ruled_out(page: &mut Page, d: &Diagnosis) {
    if d.ruled_out.is_empty() {
        return;
    }
    page.blank();
    page.line("Ruled out:");
    // One line a hypothesis, however many machines it was looked for on.
    let mut groups: Vec<((&str, &str), Vec<&RuledOut>)> = Vec::new();
    for out in &d.ruled_out {
        let key = (out.id.as_str(), out.by.as_str());
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, outs)) => outs.push(out),
            None => groups.push((key, vec![out])),
        }
    }
    for ((id, by), outs) in groups.iter().take(RULED_OUT) {
        let state = mentions(outs.iter().map(|out| (*id, &out.entity))).join(", ");
        page.item(&format!("{state}: {}", safe::line(by)), 2);
    }
    if groups.len() > RULED_OUT {
        page.paragraph(INDENT, &format!("… and {} more", groups.len() - RULED_OUT), 1);
    }
}

fn accepted(page: &mut Page, d: &Diagnosis) {
    if !d.suppressed.is_empty() {
        page.blank();
        page.line("Accepted in plimsoll.toml, not blamed:");
    }
    for state in &d.suppressed {
        let name = mentions([(state.id.as_str(), &state.entity)]).concat();
        page.item(&format!("{name} {}", terms(state)), 6);
    }
    if !d.notes.is_empty() {
        page.blank();
    }
    for note in &d.notes {
        page.opening(CAREFUL, "note:", &safe::line(note), 3);
    }
}

fn closing(page: &mut Page, d: &Diagnosis, digest: &Digest) {
    let undecided = d.verdict == Verdict::NotProvable;
    let healthy = d.verdict == Verdict::Healthy && d.roots.is_empty();
    // A line, and what stands below it.
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    if let Some(explained) = digest.explained() {
        let left = if digest.left.is_empty() { "" } else { " Left:" };
        let (mut told, more) = digest.left_in_words();
        told.extend((more > 0).then(|| format!("… and {more} more")));
        lines.push((format!("{explained}{left}"), told));
    }
    let list = |states: &[Key]| shortlist(&mentions(states.iter().copied()), MENTIONS);
    for (title, states) in digest.blameless() {
        lines.push((format!("{title}: {}.", list(states)), Vec::new()));
    }
    // Notes come last of these.
    if let Some((_, told)) = lines.last_mut().filter(|_| !digest.noted.is_empty()) {
        *told = digest.notes_that_bear();
    }
    if (undecided || d.roots.is_empty()) && !digest.unknown.is_empty() {
        lines.push((
            format!("Cannot be told from this data: {}.", list(&digest.unknown)),
            Vec::new(),
        ));
    }
    if !healthy && !lines.is_empty() {
        page.blank();
    }
    for (line, below) in &lines {
        page.paragraph(0, line, 3);
        below.iter().for_each(|said| page.item(said, 3));
    }
    if (undecided || d.roots.is_empty()) && !d.next_checks.is_empty() {
        page.blank();
        page.line("Next checks, best first:");
        for check in d.next_checks.iter().take(CHECKS) {
            let place = mentions([(check.id.as_str(), &check.entity)]).concat();
            page.labelled("next", &next(check, true), 3);
            page.labelled("", &format!("shows {place}"), 2);
        }
    }
    if !healthy {
        let hint = "hint: --output html > report.html has every state and all evidence";
        for line in wrap(hint, page.width) {
            let painted = page.paint(FAINT, &line);
            page.line(&painted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_is_quoted_from_where_it_says_something() {
        let line =
            "Dec 03 18:41:00 m kubenswrapper[2451]: E1203 14:12:01.0 2391 kubelet.go:104] \"No\"";
        assert_eq!(gist(line), "\"No\"");
        assert_eq!(gist("status: [a.go] b"), "status: [a.go] b");
        assert_eq!(gist("é] x"), "é] x");
    }
}
