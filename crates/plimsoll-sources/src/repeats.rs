//! Logs that say what another log of the same source says, and hits that a log's pod was not asked for.

use std::collections::BTreeMap;

use plimsoll_model::snapshot::{LogFile, LogHits, LogOrigin, Signature};

use crate::store::SourceNotes;

/// Two cuts of one journal need not begin and end at the same line.
const SLACK_SECONDS: i64 = 120;
/// Logs of one unit on one machine that are compared; nobody cuts a journal into as many.
const MAX_CUTS: usize = 500;

/// Gives containers the namespace and pod that their runtime knows, and drops the hits of signatures
/// that are not meant for that namespace.
pub fn without_other_pods(
    logs: &mut [LogFile],
    hits: Vec<LogHits>,
    sources: &[SourceNotes],
    signatures: &[Signature],
) -> Vec<LogHits> {
    for log in logs.iter_mut() {
        let labels = sources.get(log.source).and_then(|notes| notes.labels.get(&*log.path));
        if let Some((known_namespace, known_pod)) = labels
            && let LogOrigin::Container { namespace, pod, .. } = &mut log.origin
        {
            namespace.clone_from(known_namespace);
            pod.clone_from(known_pod);
        }
    }
    let meant = |hit: &LogHits| {
        let selectors =
            signatures.get(hit.signature).map(|s| s.logs.as_slice()).unwrap_or_default();
        let origin = &logs[hit.log].origin;
        selectors.is_empty() || selectors.iter().any(|selector| origin.matches(selector))
    };
    hits.into_iter().filter(meant).collect()
}

/// Without the logs whose unit, machine and time another log covers.
pub fn without_repeats(logs: Vec<LogFile>, hits: Vec<LogHits>) -> (Vec<LogFile>, Vec<LogHits>) {
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, log) in logs.iter().enumerate() {
        if let LogOrigin::Unit { unit, .. } = &log.origin {
            alike.entry((log.source, unit, &log.hosts, &log.machine)).or_default().push(at);
        }
    }
    let mut repeats = vec![false; logs.len()];
    for group in alike.into_values() {
        for &one in group.iter().take(MAX_CUTS) {
            repeats[one] = is_repeat(&logs, &group[..group.len().min(MAX_CUTS)], one);
        }
    }
    let mut new_place = Vec::with_capacity(logs.len());
    let mut kept = 0;
    for repeat in &repeats {
        new_place.push(kept);
        kept += usize::from(!repeat);
    }
    let hits = hits.into_iter().filter(|hit| !repeats[hit.log]);
    let hits = hits.map(|hit| LogHits { log: new_place[hit.log], ..hit }).collect();
    let mut place = 0..;
    let logs =
        logs.into_iter().filter(|_| place.next().is_some_and(|at: usize| !repeats[at])).collect();
    (logs, hits)
}

/// Whether another of these logs of one unit and machine says the same.
fn is_repeat(logs: &[LogFile], alike: &[usize], one: usize) -> bool {
    let log = &logs[one];
    alike.iter().any(|&at| {
        let other = &logs[at];
        if at == one || !(log.of_journal || other.of_journal) {
            return false;
        }
        // Of two that cover each other, the log of the unit alone stays, else the first.
        let stays = !covers(log, other) || (other.of_journal, at) < (log.of_journal, one);
        covers(other, log) && stays
    })
}

/// Whether `a` has all that `b` has.
fn covers(a: &LogFile, b: &LogFile) -> bool {
    let span = |log: &LogFile| log.start.zip(log.end).map(|(s, e)| (s.as_second(), e.as_second()));
    let Some((a_span, b_span)) = span(a).zip(span(b)) else { return false };
    a.complete >= b.complete
        && a_span.0 <= b_span.0 + SLACK_SECONDS
        && a_span.1 >= b_span.1 - SLACK_SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(path: &str, of_journal: bool, start: i64, end: i64) -> LogFile {
        LogFile {
            source: 0,
            path: path.into(),
            origin: LogOrigin::Unit { unit: "kubelet".into(), node: None },
            machine: None,
            of_journal,
            start: plimsoll_model::Time::from_second(start).ok(),
            end: plimsoll_model::Time::from_second(end).ok(),
            hosts: vec!["m-0".into()],
            host_ends: vec![None],
            complete: true,
        }
    }

    fn kept(logs: Vec<LogFile>) -> Vec<String> {
        without_repeats(logs, Vec::new()).0.iter().map(|log| log.path.to_string()).collect()
    }

    #[test]
    fn a_journal_that_another_covers_is_left_out() {
        let all = || log("journal.log", true, 0, 5000);
        assert_eq!(kept(vec![all(), log("kubelet.log", false, 10, 5000)]), ["kubelet.log"]);
        assert_eq!(kept(vec![all(), log("kubelet.log", false, 900, 5000)]), ["journal.log"]);
        let last_boot = log("journal-1.log", true, 0, 900);
        assert_eq!(kept(vec![log("journal.log", true, 800, 5000), last_boot]).len(), 2);
        let other = LogFile { hosts: vec!["m-1".into()], ..log("b", true, 0, 5000) };
        assert_eq!(kept(vec![all(), other]).len(), 2);
    }
}
