//! Which failure modes a text speaks for: the signatures of the packs, and the words that states look
//! for in messages and reasons. A line from a terminal has no object and no time, so it can at best
//! say what would be proof in its place; that is what is said of every match.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::knowledge::{CheckInfo, LineMatch, Symptom, SymptomKind};

use crate::explain;
use crate::pack::{CauseRule, Pack, SignatureRule, StateRule};
use crate::predicate::{self, Words};

/// Causes named beside a match.
const CAUSES: usize = 4;

/// Every text that speaks for some state, sorted.
pub fn index(pack: &Pack) -> Vec<Symptom> {
    let mut all: Vec<Symptom> =
        (0..pack.cases.len()).flat_map(|case| of_case(pack, case)).collect();
    all.sort();
    all
}

/// The texts that speak for the states of one failure mode, sorted.
pub fn of_case(pack: &Pack, case: usize) -> Vec<Symptom> {
    let mut found = Vec::new();
    for state in pack.states.iter().filter(|state| state.case == case) {
        let mut add = |text: String, kind: SymptomKind| {
            let failure_mode = pack.cases[case].id.clone();
            found.push(Symptom { text, kind, state: state.id.clone(), failure_mode });
        };
        for signature in signatures_of(state) {
            let rule = pack.signatures.iter().find(|rule| rule.spec.id == signature);
            if let Some(rule) = rule {
                add(rule.spec.contains.join(" … "), SymptomKind::Log);
            }
        }
        for words in state.when.words() {
            add(words.text().into(), kind(&words));
        }
        state.says.iter().for_each(|says| add(says.clone(), SymptomKind::Message));
    }
    found.sort();
    found.dedup();
    found
}

/// Signatures that a state's rule reads.
pub(crate) fn signatures_of(state: &StateRule) -> BTreeSet<&str> {
    let reads = [Some(&state.when), state.since.as_ref(), state.recovered.as_ref()];
    let reads = reads.into_iter().flatten().flat_map(|predicate| predicate.reads_of("self"));
    reads.filter_map(|path| path.strip_prefix("logs.")?.split('.').next()).collect()
}

fn kind(words: &Words) -> SymptomKind {
    match words {
        Words::Part(_) | Words::Pattern(_) => SymptomKind::Message,
        Words::Whole(_) => SymptomKind::Reason,
    }
}

/// A signature that matched the line, by its place among the pack's, with its captures.
pub type Hit = (usize, Vec<(String, String)>);

/// The states that a line speaks for, given the signatures that a scan finds in it. Sorted.
pub fn spoken_for(pack: &Pack, line: &str, hits: &[Hit]) -> Vec<LineMatch> {
    let mut found = Vec::new();
    for (index, state) in pack.states.iter().enumerate() {
        let read = signatures_of(state);
        let own = hits.iter().filter(|(hit, _)| {
            pack.signatures.get(*hit).is_some_and(|rule| read.contains(rule.spec.id.as_str()))
        });
        let own: Vec<&Hit> = own.collect();
        if let Some((first, _)) = own.first() {
            let ids = own.iter().map(|(hit, _)| pack.signatures[*hit].spec.id.clone()).collect();
            let captures = own.iter().flat_map(|(_, captures)| captures.iter().cloned()).collect();
            let logs = pack.signatures[*first].spec.logs.clone();
            found.push(matched(pack, index, SymptomKind::Log, ids, logs, captures));
            continue;
        }
        let heard = state.when.spoken_for_by(line);
        if let Some(first) = heard.first() {
            let words = heard.iter().map(|words| words.text().to_string()).collect();
            found.push(matched(pack, index, kind(first), words, Vec::new(), BTreeMap::new()));
            continue;
        }
        let says: Vec<String> =
            state.says.iter().filter(|says| predicate::speaks(says, line)).cloned().collect();
        let parts: Vec<(&SignatureRule, &str)> = (pack.signatures.iter())
            .filter(|rule| read.contains(rule.spec.id.as_str()))
            .filter_map(|rule| Some((rule, part_of(rule, line)?)))
            .collect();
        if says.is_empty() && parts.is_empty() {
            continue;
        }
        let (kind, logs) = match parts.first() {
            Some((rule, _)) if says.is_empty() => (SymptomKind::Log, rule.spec.logs.clone()),
            _ => (SymptomKind::Message, Vec::new()),
        };
        let heard: BTreeSet<String> =
            says.into_iter().chain(parts.iter().map(|(_, text)| text.to_string())).collect();
        let heard = heard.into_iter().collect();
        let mut hint = matched(pack, index, kind, heard, logs, BTreeMap::new());
        (hint.proof, hint.because) = (false, "a hint: said here, and elsewhere too".into());
        if kind == SymptomKind::Log {
            hint.because = "a hint: a part of the line that its rule looks for".into();
        }
        found.push(hint);
    }
    // What was looked for comes before what was only heard.
    let hint = |a: &LineMatch| a.because.starts_with("a hint");
    found.sort_by(|a, b| {
        (!a.proof, hint(a), a.kind, !a.root, &a.id).cmp(&(
            !b.proof,
            hint(b),
            b.kind,
            !b.root,
            &b.id,
        ))
    });
    found
}

/// The longest telling text of a signature that stands in a line which is not all of it.
fn part_of<'r>(rule: &'r SignatureRule, line: &str) -> Option<&'r str> {
    let line = line.to_lowercase();
    let texts = rule.spec.contains.iter().map(String::as_str);
    texts
        .filter(|text| text.chars().count() >= predicate::TELLING)
        .filter(|text| line.contains(&text.to_lowercase()))
        .max_by_key(|text| text.len())
}

fn matched(
    pack: &Pack,
    index: usize,
    kind: SymptomKind,
    words: Vec<String>,
    logs: Vec<String>,
    captures: BTreeMap<String, String>,
) -> LineMatch {
    let state = &pack.states[index];
    let case = &pack.cases[state.case];
    let (proof, because) = weight(state, kind, &words);
    let mut behind: Vec<&CauseRule> =
        pack.causes.iter().filter(|rule| rule.to == index && !rule.keeps).collect();
    behind.sort_by_key(|rule| (rule.likelihood, rule.from));
    let mut caused_by: Vec<String> = Vec::new();
    for rule in behind {
        let id = &pack.states[rule.from].id;
        if caused_by.len() < CAUSES && !caused_by.contains(id) {
            caused_by.push(id.clone());
        }
    }
    let checks = pack.checks.iter().filter(|rule| rule.state == index);
    let checks: Vec<CheckInfo> = checks.map(|rule| explain::check(pack, index, rule)).collect();
    LineMatch {
        id: state.id.clone(),
        failure_mode: case.id.clone(),
        title: case.title.clone(),
        kind,
        words,
        logs,
        captures,
        proof,
        because,
        root: state.root.is_some(),
        checks,
        caused_by,
    }
}

/// Whether the text would be proof in its place, and what that depends on.
fn weight(state: &StateRule, kind: SymptomKind, words: &[String]) -> (bool, String) {
    if state.weak {
        return (false, "a hint only: this sign is sometimes there without the fault".into());
    }
    let reads = state.when.reads_of("self");
    // Where a path is read, what it begins with is listed too.
    let facts = reads.iter().filter(|path| !path.is_empty() && **path != "logs");
    let top = |path: &str| path.split('.').next().unwrap_or_default().to_string();
    let others: BTreeSet<String> = match kind {
        SymptomKind::Log => facts
            .filter_map(|path| match path.strip_prefix("logs.").map(top) {
                Some(signature) => {
                    (!words.contains(&signature)).then(|| format!("log {signature}"))
                }
                None => Some(top(path)),
            })
            .collect(),
        _ => facts.map(|path| top(path)).collect(),
    };
    let wanted = words.iter().map(|signature| state.when.lines_wanted(signature)).min();
    let timed = |path: &&str| {
        path.starts_with("logs.")
            && [".since", ".first", ".last"].iter().any(|end| path.ends_with(end))
    };
    match (kind, others.len()) {
        (SymptomKind::Log, 0) if wanted.is_some_and(|lines| lines > 1) => {
            let lines = wanted.unwrap_or_default();
            (false, format!("no proof alone: it takes {lines} such lines or more"))
        }
        (SymptomKind::Log, 0) if reads.iter().any(timed) => {
            (false, "no proof alone: for how long it goes on counts too".into())
        }
        (SymptomKind::Log, 0) if state.recovered.is_some() => {
            (true, "proof by itself, if it still goes on at the end of the log".into())
        }
        (SymptomKind::Log, 0) => (true, "proof by itself, in its log".into()),
        (SymptomKind::Message | SymptomKind::Reason, 1) => {
            let fact: String = others.into_iter().collect();
            (true, format!("proof by itself, as what '{fact}' of a {} says now", state.on))
        }
        _ => {
            let facts: Vec<String> = others.into_iter().collect();
            (false, format!("no proof alone: {} of the {} counts too", facts.join(", "), state.on))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::PackFile;

    const CASE: &str = r#"
id: a
title: A
signatures:
- {id: line, on: Node, logs: [unit/kubelet], contains: [certificate has expired]}
states:
- {id: a, on: Node, root: common, summary: s, when: "self.logs['line'].count > 0", recovered: "self.logs['line'].recent == 0"}
- {id: b, on: ClusterOperator, summary: s, when: "self.degraded.status == 'True' && self.degraded.message.contains('Missing operand')"}
- {id: c, on: Node, summary: s, sign: weak, when: "'NodeNotSchedulable' in self.events", recovered: "false"}
- {id: d, on: Node, summary: s, when: "self.logs['line'].count > 0 && self.ready.status == 'False'", recovered: "false"}
causes:
- {from: a, to: b, via: any, likelihood: usually, because: x, source: y}
checks:
- {for: a, how: look, cost: low}
"#;

    fn pack() -> Pack {
        let file = PackFile { path: "x/a/case.yaml".into(), text: CASE.into() };
        Pack::load(&[file]).unwrap()
    }

    #[test]
    fn a_line_says_what_it_speaks_for_and_whether_it_is_proof() {
        let pack = pack();
        let found = spoken_for(&pack, "certificate has expired", &[(0, Vec::new())]);
        let told: Vec<(&str, bool)> = found.iter().map(|m| (m.id.as_str(), m.proof)).collect();
        assert_eq!(told, [("a", true), ("d", false)]);
        assert!(found[0].because.contains("end of the log"));
        assert_eq!(found[0].checks[0].how, "look");
        assert_eq!(found[1].because, "no proof alone: ready of the Node counts too");
    }

    #[test]
    fn a_message_is_proof_in_its_condition_and_a_weak_sign_never() {
        let pack = pack();
        let message = spoken_for(&pack, "Missing operand on node x", &[]);
        assert_eq!((message[0].id.as_str(), message[0].proof), ("b", true));
        assert_eq!(message[0].caused_by, ["a"]);
        let event = spoken_for(&pack, "Normal NodeNotSchedulable 5m", &[]);
        assert_eq!((event[0].id.as_str(), event[0].proof), ("c", false));
        assert!(spoken_for(&pack, "all is well", &[]).is_empty());
    }

    #[test]
    fn a_part_of_a_line_and_what_people_read_are_hints_below_what_is_looked_for() {
        let text = CASE
            .replace(
                "contains: [certificate has expired]",
                "contains: [certificate has expired, current time]",
            )
            .replace(
                "- {id: c, on: Node, summary: s",
                "- {id: c, says: ['has expired \\(yesterday'], on: Node, summary: s",
            )
            .replace("'Missing operand'", "'certificate has'");
        let file = PackFile { path: "x/a/case.yaml".into(), text };
        let pack = Pack::load(&[file]).unwrap();
        let found = spoken_for(&pack, "CERTIFICATE HAS EXPIRED (yesterday)", &[]);
        let told: Vec<(&str, bool)> = found.iter().map(|m| (m.id.as_str(), m.proof)).collect();
        assert_eq!(told, [("b", true), ("a", false), ("d", false), ("c", false)]);
        assert!(found[1].because.starts_with("a hint: a part of the line"));
        assert!(found[3].because.starts_with("a hint: said here"));
    }

    #[test]
    fn a_rule_that_wants_more_lines_says_how_many() {
        let text = CASE.replace("count > 0\", recovered: \"self", "count > 4\", recovered: \"self");
        let file = PackFile { path: "x/a/case.yaml".into(), text };
        let pack = Pack::load(&[file]).unwrap();
        let found = spoken_for(&pack, "certificate has expired", &[(0, Vec::new())]);
        assert!(!found[0].proof);
        assert_eq!(found[0].because, "no proof alone: it takes 5 such lines or more");
    }

    #[test]
    fn the_index_names_every_text_once() {
        let texts: Vec<String> = index(&pack()).into_iter().map(|s| s.text).collect();
        assert_eq!(
            texts,
            [
                "Missing operand",
                "NodeNotSchedulable",
                "certificate has expired",
                "certificate has expired"
            ]
        );
    }
}
