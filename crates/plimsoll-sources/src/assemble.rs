//! Everything that was read, put in order: duplicates resolved, times settled, indices given.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::Time;
use plimsoll_model::snapshot::{
    Collected, Form, Gap, GapStatus, HitLine, LogFile, LogHits, Machine, Needs, RECENT_SECONDS,
    Snapshot, SourceInfo,
};

use crate::gather;
use crate::hits::Hit;
use crate::machines::is_name;
use crate::repeats::{without_other_pods, without_repeats};
use crate::scan::ScannedLog;
use crate::store::{Item, MachineNotes, Slot, SourceNotes, Store};
use crate::times::{LineTime, resolve};
use crate::versions::{Span, without_duplicates, without_the_gone};

/// `names` are those of the sources, with `None` in place of a kind that has to be found out.
pub fn assemble(
    mut store: Store,
    names: Vec<(String, Option<&'static str>)>,
    request_gaps: Vec<Gap>,
    needs: &Needs,
) -> Snapshot {
    let Needs { now, signatures, .. } = needs;
    let now = *now;
    let mut documents = Vec::new();
    let mut logs = Vec::new();
    let mut files = BTreeMap::new();
    for (slot, item) in std::mem::take(&mut store.items) {
        match item {
            Item::Document(found) => documents.push(found),
            // As in tar, the later of two files of one path is the file.
            Item::File(path, bytes) => drop(files.insert((slot.source, path), bytes)),
            Item::Log(log) => logs.push((slot, log)),
        }
    }
    logs.sort_by(|(a, a_log), (b, b_log)| {
        (a.source, &a_log.path, a.member).cmp(&(b.source, &b_log.path, b.member))
    });
    let named = named_time(&names, &logs, gather::time_in_name);
    let near = now
        .or(store.now)
        .or_else(|| newest_end(&logs))
        .or(named)
        .or_else(|| named_time(&names, &logs, gather::day_in_name));
    let (mut logs, hits) = settle_logs(logs, near, &store.sources);
    let hits = without_other_pods(&mut logs, hits, &store.sources, signatures);
    let (logs, hits) = without_repeats(logs, hits);
    // Without a time of the gather, the newest line of all is the nearest to it; the end of a day
    // that stands in a name is nearer than nothing.
    let newest = || logs.iter().filter_map(|log| log.end).max().max(named).or(near);
    let now = now.or(store.now).or_else(newest);
    let machines = machines_of(&store.sources, &logs);
    let spans: Vec<Span> =
        store.sources.iter().map(|notes| Span { began: notes.began, ended: notes.taken }).collect();
    let collected = honest(store.collected, &store.not_all);
    let documents = without_duplicates(without_the_gone(documents, &collected, &spans), &spans);
    let mut sources: Vec<SourceInfo> = names
        .into_iter()
        .zip(std::mem::take(&mut store.sources))
        .map(|((name, kind), notes)| source_info(name, kind, notes))
        .collect();
    if let Some(first) = sources.first_mut() {
        first.gaps.extend(request_gaps);
        first.gaps.sort();
    }
    Snapshot { now, sources, documents, logs, hits, files, collected, machines }
}

/// The time in the name of a source or of a folder in it: better than nothing to settle the year of
/// its lines.
fn named_time(
    names: &[(String, Option<&'static str>)],
    logs: &[(Slot, ScannedLog)],
    read: fn(&str) -> Option<Time>,
) -> Option<Time> {
    let folders = logs.iter().flat_map(|(_, log)| log.path.split('/').rev().skip(1));
    let names = names.iter().map(|(name, _)| name.as_str());
    names.chain(folders).filter_map(read).max()
}

fn machines_of(sources: &[SourceNotes], logs: &[LogFile]) -> BTreeMap<(usize, String), Machine> {
    // By each folder that a log stands in: the hosts that it names.
    let mut named: BTreeMap<(usize, &str), BTreeSet<&String>> = BTreeMap::new();
    for log in logs {
        let hosts: Vec<&String> = log.hosts.iter().filter(|host| is_name(host)).collect();
        let ends = log.path.match_indices('/').map(|(at, _)| at).chain([0]);
        for end in ends.filter(|_| !hosts.is_empty()) {
            let folder = (log.source, &log.path[..end]);
            if sources.get(log.source).is_some_and(|notes| notes.machines.contains_key(folder.1)) {
                named.entry(folder).or_default().extend(&hosts);
            }
        }
    }
    let all = sources.iter().enumerate();
    all.flat_map(|(source, notes)| notes.machines.iter().map(move |found| (source, found)))
        .map(|(source, (folder, notes))| {
            let hosts = named.remove(&(source, folder.as_str())).unwrap_or_default();
            let only = || hosts.first().filter(|_| hosts.len() == 1).map(|host| (*host).clone());
            let name = notes.name().or_else(only);
            let seen = notes.whole.iter().map(|folder| (*folder).into()).collect();
            ((source, folder.clone()), Machine { name, seen })
        })
        .collect()
}

fn newest_end(logs: &[(Slot, ScannedLog)]) -> Option<Time> {
    logs.iter()
        .filter_map(|(_, log)| match log.end {
            Some(LineTime::Full(end)) => Some(end),
            _ => None,
        })
        .max()
}

fn settle_logs(
    scanned: Vec<(Slot, ScannedLog)>,
    now: Option<Time>,
    sources: &[SourceNotes],
) -> (Vec<LogFile>, Vec<LogHits>) {
    let settled = |time: Option<LineTime>| time.and_then(|time| resolve(time, now));
    let line = |hit: Hit| HitLine { line: hit.line, time: settled(hit.time), text: hit.text };
    let mut logs = Vec::with_capacity(scanned.len());
    let mut hits = Vec::new();
    for (slot, log) in scanned {
        let end = settled(log.end);
        let (hosts, host_ends): (Vec<String>, Vec<Option<Time>>) =
            log.hosts.into_iter().map(|(host, end)| (host, settled(end))).unzip();
        let machine = log.machine.and_then(|folder| {
            sources.get(slot.source)?.machines.get(&folder).and_then(MachineNotes::name)
        });
        let file = LogFile {
            source: slot.source,
            path: log.path,
            origin: log.origin,
            of_journal: log.of_journal,
            machine,
            start: settled(log.start),
            end,
            hosts,
            host_ends,
            complete: log.complete,
        };
        let recent = |host: Option<&str>, tail: &[LineTime]| {
            let end = file.end_of(host);
            let times = tail.iter().filter_map(|time| resolve(*time, now));
            times
                .filter(|time| {
                    end.is_some_and(|end| end.as_second() - time.as_second() <= RECENT_SECONDS)
                })
                .count()
        };
        hits.extend(log.hits.into_iter().map(|found| LogHits {
            recent: recent(found.host.as_deref(), &found.tail) as u64,
            signature: found.signature,
            log: logs.len(),
            host: found.host,
            captures: found.captures,
            count: found.count,
            first: line(found.first),
            run: line(found.run),
            last: line(found.last),
        }));
        logs.push(file);
    }
    hits.sort_by(|a, b| {
        (a.signature, a.log, &a.host, &a.captures).cmp(&(b.signature, b.log, &b.host, &b.captures))
    });
    (logs, hits)
}

fn source_info(name: String, kind: Option<&'static str>, mut notes: SourceNotes) -> SourceInfo {
    let file = name;
    let name = match notes.capture.take() {
        Some(capture) if !capture.has_end => {
            notes.gap(GapStatus::Cut, &file, "the capture did not come to its end");
            capture.name
        }
        Some(capture) if !capture.name.is_empty() => capture.name,
        _ => file.clone(),
    };
    if gather::fell_back(&file, &notes.roots, &notes.marked) {
        let why = "the gather pod failed and oc fell back to a partial inspect";
        notes.gap(GapStatus::Cut, "the gather", why);
    }
    if notes.left_out > 0 {
        let why = format!("{} objects, files or logs are left out: above 160 MiB", notes.left_out);
        notes.gap(GapStatus::Unreadable, &name, why);
    }
    let more = notes.more_gaps();
    // A capture and the live reading that it was made of are called the same.
    let called = |gap: Gap| if gap.what == file { Gap { what: name.clone(), ..gap } } else { gap };
    let mut gaps: Vec<Gap> = notes.gaps.into_iter().map(called).collect();
    gaps.sort();
    if more > 0 {
        let why = format!("{more} more gaps of this kind are not listed");
        gaps.push(Gap { status: GapStatus::Unreadable, what: name.clone(), why });
        gaps.sort();
    }
    SourceInfo {
        kind: kind
            .or_else(|| notes.layouts.first().and_then(|layout| layout.kind()))
            .unwrap_or_else(|| gather::kind(&file, &notes.roots))
            .into(),
        complete: gaps.iter().all(|gap| gap.status == GapStatus::NotCollected),
        name,
        gaps,
        taken: notes.taken,
        files: notes.files,
        bytes: notes.bytes,
    }
}

/// A list of which not everything is kept proves no absence.
fn honest(
    collected: BTreeSet<Collected>,
    not_all: &BTreeSet<(String, String)>,
) -> BTreeSet<Collected> {
    let weaken = |mut one: Collected| {
        if not_all.contains(&(one.group.clone(), one.plural.clone())) {
            one.form = Form::Objects;
        }
        one
    };
    collected.into_iter().map(weaken).collect()
}
