//! Log hits become facts of the entity they speak of: `logs['kubelet-anonymous'].count`.
//!
//! A hit is over when a signature that ends it hit later in the same log. The order of the lines says
//! so, since consoles often have no clock.
//!
//! A signature that did not hit is a fact only where a log was there to look into: count 0 for an
//! entity whose logs were collected, nothing at all for one whose logs were not. The first log that
//! a signature names is where its line must stand; the others are where it may be found as well, and
//! their silence proves nothing. Nor does that of an optional one, which only a measurement brings.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::snapshot::{Era, Gap, GapStatus, HitLine, RECENT_SECONDS};
use plimsoll_model::{
    Entity, EntityId, Evidence, FactBase, LogFile, LogHits, LogOrigin, Snapshot, Time, Value,
};

use super::pods::PLACE;
use crate::pack::{Pack, SignatureRule};

/// A hit in the log of a pod that is older than this says nothing about now.
const OLD_SECONDS: i64 = 3 * 3600;

/// Entities that only the lines of one signature name; a line can name anything.
const MAX_STRANGERS: usize = 500;

/// What is known of every hit; a pattern's named groups come on top. `since`, `first`, `last` and
/// `until` only where the log tells times.
pub const FIELDS: &[&str] = &["count", "open", "since", "first", "last", "until", "recent", "text"];

/// What one signature found for one entity.
#[derive(Default)]
struct Found {
    count: u64,
    /// A log that would hold the line was read to its end.
    looked: bool,
    /// Of each log: its end, its recent hits, and when its last run of hits began.
    runs: Vec<(Option<Time>, u64, Option<Time>)>,
    lines: Vec<(Evidence, Option<Time>)>,
    captures: BTreeMap<String, String>,
    until: Option<Time>,
    /// Hits that no later line ends.
    open: u64,
}

/// Gives what was left out.
pub fn attach(pack: &Pack, snapshot: &Snapshot, base: &mut FactBase) -> Vec<(usize, Gap)> {
    let selected = Selected::new(pack, snapshot);
    let ends = Ends::new(pack, snapshot);
    let mut left_out = Vec::new();
    let journals = journal_ends(snapshot, base);
    for (index, rule) in pack.signatures.iter().enumerate() {
        let logs = selected.logs(rule);
        let mut found: BTreeMap<EntityId, Found> = BTreeMap::new();
        for log in logs.iter().filter(|_| !rule.optional) {
            let log = &snapshot.logs[*log];
            // What is not in a log that was cut off may have been in the rest of it, and what a
            // container did not write before its restart it may write now.
            let first = rule.spec.logs.first();
            let is_first = first.is_none_or(|first| log.origin.matches(first));
            let of_now =
                !matches!(log.origin, LogOrigin::Container { era, .. } if era != Era::Current);
            for (id, host) in covered(rule, log, base) {
                let only_by_logs = known_by_logs_alone(base, &id);
                let entry = found.entry(id).or_default();
                entry.looked |= log.complete && of_now && (is_first || only_by_logs);
                entry.until = entry.until.max(log.end_of(host.as_deref()));
            }
        }
        let mut strangers: BTreeSet<EntityId> = BTreeSet::new();
        let mut nameless = None;
        for hits in snapshot.hits.iter().filter(|hits| hits.signature == index) {
            let log = &snapshot.logs[hits.log];
            let Some(id) = target(rule, log, hits, base) else { continue };
            if !base.entities.contains_key(&id) && !strangers.contains(&id) {
                if strangers.len() >= MAX_STRANGERS {
                    nameless = nameless.or(Some(log));
                    continue;
                }
                strangers.insert(id.clone());
            }
            let over = ends.are_after(rule, hits);
            let silence = silence_after(log, hits, snapshot.now, &journals, base);
            let past = hits.last.time.zip(silence).is_some_and(|(last, s)| s.makes_past(last));
            let recent = if over || past { 0 } else { hits.recent };
            let end = log.end_of(hits.host.as_deref());
            let entry = found.entry(id).or_default();
            entry.until = entry.until.max(end);
            entry.open += if over { 0 } else { hits.count };
            entry.count += hits.count;
            entry.runs.push((end, recent, hits.run.time));
            entry.captures.extend(hits.captures.iter().cloned());
            for line in [&hits.run, &hits.last] {
                entry.lines.push((evidence(snapshot, log, line), line.time));
            }
        }
        left_out.extend(nameless.map(|log| (log.source, too_many(log, rule))));
        found.retain(|id, found| {
            let everywhere = || id.kind != "Cluster" || whole(rule, &logs, snapshot, base);
            found.count > 0 || (found.looked && everywhere())
        });
        for (id, found) in found {
            store(base, id, &rule.spec.id, found);
        }
    }
    left_out
}

fn too_many(log: &LogFile, rule: &SignatureRule) -> Gap {
    Gap {
        status: GapStatus::Cut,
        what: log.path.to_string(),
        why: format!(
            "lines of {} name more than {MAX_STRANGERS} things that nothing else knows of",
            rule.spec.id
        ),
    }
}

/// The hits of signatures that end others, by log and signature.
struct Ends<'s>(BTreeMap<(usize, &'s str), Vec<&'s LogHits>>);

impl<'s> Ends<'s> {
    fn new(pack: &'s Pack, snapshot: &'s Snapshot) -> Self {
        let enders: BTreeSet<&str> =
            pack.signatures.iter().flat_map(|rule| &rule.over).map(String::as_str).collect();
        let mut by_log: BTreeMap<(usize, &str), Vec<&LogHits>> = BTreeMap::new();
        for hits in &snapshot.hits {
            let id = pack.signatures.get(hits.signature).map_or("", |rule| rule.spec.id.as_str());
            if enders.contains(id) {
                by_log.entry((hits.log, id)).or_default().push(hits);
            }
        }
        Self(by_log)
    }

    /// Whether the same host said later in the same log that it is over.
    fn are_after(&self, rule: &SignatureRule, hits: &LogHits) -> bool {
        let same_host =
            |end: &LogHits| hits.host.is_none() || end.host.is_none() || end.host == hits.host;
        let ids = rule.over.iter().map(String::as_str);
        ids.filter_map(|id| self.0.get(&(hits.log, id)))
            .flatten()
            .any(|end| end.last.line > hits.last.line && same_host(end))
    }
}

/// The logs of each selector, found once: signatures share them.
struct Selected<'s> {
    by_selector: BTreeMap<&'s str, Vec<usize>>,
    count: usize,
}

impl<'s> Selected<'s> {
    fn new(pack: &'s Pack, snapshot: &Snapshot) -> Self {
        let mut by_selector: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for selector in pack.signatures.iter().flat_map(|rule| &rule.spec.logs) {
            by_selector.entry(selector).or_insert_with(|| {
                let logs = snapshot.logs.iter().enumerate();
                logs.filter(|(_, log)| log.origin.matches(selector)).map(|(at, _)| at).collect()
            });
        }
        Self { by_selector, count: snapshot.logs.len() }
    }

    fn logs(&self, rule: &SignatureRule) -> Vec<usize> {
        if rule.spec.logs.is_empty() {
            return (0..self.count).collect();
        }
        let named = rule.spec.logs.iter().filter_map(|s| self.by_selector.get(s.as_str()));
        named.flatten().copied().collect::<BTreeSet<usize>>().into_iter().collect()
    }
}

/// Units that speak only when something happens. Others talk all the time, and are silent because
/// they do not run.
const QUIET_UNITS: &[&str] = &["kernel", "dmesg", "NetworkManager", "chronyd"];

/// When the journal of each machine ends, whatever unit wrote last.
fn journal_ends(snapshot: &Snapshot, base: &FactBase) -> BTreeMap<String, Time> {
    let mut ends: BTreeMap<String, Time> = BTreeMap::new();
    for log in &snapshot.logs {
        let LogOrigin::Unit { node, .. } = &log.origin else { continue };
        let names = node.iter().chain(log.machine.iter().filter(|_| node.is_none()));
        let hosts = log.hosts.iter().filter(|_| node.is_none());
        for name in names.chain(hosts) {
            if let Some(end) = log.end_of(Some(name)) {
                let known = ends.entry(machine(base, "Node", name).name).or_insert(end);
                *known = end.max(*known);
            }
        }
    }
    ends
}

/// Until when a log would have shown its line again, and how long that line may take to return.
struct Silence {
    until: Time,
    patience: i64,
}

impl Silence {
    fn makes_past(&self, last: Time) -> bool {
        self.until.as_second() - last.as_second() > self.patience
    }
}

/// Where a log is silent although it would speak, its last line tells the past. Of most logs nobody
/// knows: the log of a unit ends when the unit or its machine does.
fn silence_after(
    log: &LogFile,
    hits: &LogHits,
    now: Option<Time>,
    journals: &BTreeMap<String, Time>,
    base: &FactBase,
) -> Option<Silence> {
    match &log.origin {
        // Goes up to the gather; an earlier container of the pod was followed by one that runs.
        LogOrigin::Container { pod, .. } if !pod.is_empty() => {
            Some(Silence { until: now?, patience: OLD_SECONDS })
        }
        LogOrigin::Unit { unit, node } => {
            let name = node.as_ref().or(hits.host.as_ref()).or(log.machine.as_ref())?;
            let id = machine(base, "Node", name);
            if QUIET_UNITS.contains(&unit.as_str()) {
                Some(Silence { until: *journals.get(&id.name)?, patience: RECENT_SECONDS })
            } else if unit.starts_with("ignition") && is_ready(base, &id) {
                // It runs before anything else does.
                Some(Silence { until: now?, patience: 0 })
            } else {
                None
            }
        }
        _ => None,
    }
}

fn is_ready(base: &FactBase, node: &EntityId) -> bool {
    let facts = base.entities.get(node).map(|node| &node.facts);
    let ready = facts.and_then(|facts| facts.get("ready")?.get("status")?.text());
    ready == Some("True")
}

/// A machine that the API does not know has the logs that somebody saved, and no others.
fn known_by_logs_alone(base: &FactBase, id: &EntityId) -> bool {
    base.entities.get(id).is_none_or(|entity| entity.facts.keys().all(|fact| fact == "logs"))
}

/// Entities that this log speaks of, each with its host in the log.
fn covered(
    rule: &SignatureRule,
    log: &LogFile,
    base: &FactBase,
) -> Vec<(EntityId, Option<String>)> {
    let plain = |id: EntityId| (id, None);
    if let Some(template) = &rule.entity {
        if !template.contains('{') {
            return template.parse().ok().map(plain).into_iter().collect();
        }
        // The names come from hits; without one, every known entity of the kind was looked at.
        return base.entities.keys().filter(|id| id.kind == rule.on).cloned().map(plain).collect();
    }
    match (rule.on.as_str(), &log.origin) {
        ("Cluster", _) => vec![plain(EntityId::cluster())],
        ("Pod", LogOrigin::Container { namespace, pod, .. }) if !pod.is_empty() => {
            let id = EntityId::namespaced("Pod", namespace, pod);
            base.entities.contains_key(&id).then_some(plain(id)).into_iter().collect()
        }
        ("Node" | "BareMetalHost", origin) => {
            let hosts = || log.hosts.iter().filter(|host| is_name(host)).cloned();
            let by_place = || log.machine.iter().cloned();
            let names: BTreeSet<String> = match origin {
                LogOrigin::Unit { node: Some(node), .. } => BTreeSet::from([node.clone()]),
                LogOrigin::Unit { node: None, .. } => {
                    let hosts: BTreeSet<String> = hosts().collect();
                    if hosts.is_empty() { by_place().collect() } else { hosts }
                }
                LogOrigin::StaticPod { node, .. } => BTreeSet::from([node.clone()]),
                LogOrigin::Container { namespace, pod, .. } => {
                    place_of(base, namespace, pod).into_iter().chain(by_place()).take(1).collect()
                }
                LogOrigin::Console { name } => by_place().chain([name.clone()]).take(1).collect(),
                LogOrigin::Installer => BTreeSet::new(),
            };
            names.into_iter().map(|name| (machine(base, &rule.on, &name), Some(name))).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether every running container that the first selector means left a log. A line about the whole
/// cluster may stand in the log of any of them.
fn whole(rule: &SignatureRule, logs: &[usize], snapshot: &Snapshot, base: &FactBase) -> bool {
    let Some(first) = rule.spec.logs.first() else { return true };
    let complete = logs.iter().map(|log| &snapshot.logs[*log]).filter(|log| log.complete);
    let read: BTreeSet<(&str, &str, &str)> = complete
        .filter_map(|log| match &log.origin {
            LogOrigin::Container { namespace, pod, container, era: Era::Current } => {
                Some((namespace.as_str(), pod.as_str(), container.as_str()))
            }
            _ => None,
        })
        .collect();
    base.entities.iter().filter(|(id, _)| id.kind == PLACE).all(|(id, place)| {
        let mut writes = place.facts.get("writes").into_iter().flat_map(Value::texts);
        let namespace = id.namespace.as_deref().unwrap_or_default();
        writes.all(|container| {
            let meant = LogOrigin::Container {
                namespace: namespace.into(),
                pod: id.name.clone(),
                container: container.into(),
                era: Era::Current,
            };
            !meant.matches(first) || read.contains(&(namespace, id.name.as_str(), container))
        })
    })
}

/// The entity that a hit speaks of.
fn target(
    rule: &SignatureRule,
    log: &LogFile,
    hits: &LogHits,
    base: &FactBase,
) -> Option<EntityId> {
    if let Some(template) = &rule.entity {
        let mut text = template.clone();
        for (name, value) in &hits.captures {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        let id: EntityId = (!text.contains('{')).then(|| text.parse().ok()).flatten()?;
        return Some(if id.kind == "BareMetalHost" { host_of(base, id) } else { id });
    }
    if let (Some(host), "Node" | "BareMetalHost") =
        (hits.host.as_deref().filter(|host| is_name(host)), rule.on.as_str())
    {
        return Some(machine(base, &rule.on, host));
    }
    if let ("Pod", LogOrigin::Container { namespace, pod, .. }) = (rule.on.as_str(), &log.origin) {
        return (!pod.is_empty()).then(|| EntityId::namespaced("Pod", namespace, pod));
    }
    covered(rule, log, base).into_iter().next().map(|(id, _)| id)
}

/// The host that Ironic calls by its own id, or by `namespace~name`.
fn host_of(base: &FactBase, id: EntityId) -> EntityId {
    let short = id.name.rsplit('~').next().unwrap_or(&id.name);
    let registered =
        |entity: &Entity| entity.facts.get("provisioningId").and_then(Value::text) == Some(short);
    let known = base
        .entities
        .iter()
        .find(|(other, entity)| other.kind == id.kind && registered(entity))
        .map(|(other, _)| other.clone());
    known.unwrap_or_else(|| EntityId::cluster_scoped(&id.kind, short))
}

fn place_of(base: &FactBase, namespace: &str, pod: &str) -> Option<String> {
    let place = base.entities.get(&EntityId::namespaced(PLACE, namespace, pod))?;
    place.facts.get("node").and_then(Value::text).map(str::to_string)
}

/// A machine that was given no name yet calls itself localhost, as all others do.
fn is_name(host: &str) -> bool {
    !host.starts_with("localhost")
}

/// The machine of that host name or address: the API may know it by its full name, or not at all.
pub fn machine(base: &FactBase, kind: &str, host: &str) -> EntityId {
    let short = |name: &str| name.split('.').next().unwrap_or(name).to_string();
    let exact = EntityId::cluster_scoped(kind, host);
    if base.entities.contains_key(&exact) {
        return exact;
    }
    if let Some(id) = host.parse().ok().and_then(|address| by_address(base, kind, address)) {
        return id;
    }
    let same = |id: &&EntityId| id.kind == kind && short(&id.name) == short(host);
    let mentioned = |id: &&EntityId| id.kind == kind && names(host, &id.name);
    base.entities
        .keys()
        .find(same)
        .or_else(|| base.entities.keys().find(mentioned))
        .cloned()
        .unwrap_or(exact)
}

fn by_address(base: &FactBase, kind: &str, address: IpAddr) -> Option<EntityId> {
    let has = |entity: &Entity| {
        let addresses = entity.facts.get("addresses");
        addresses.is_some_and(|all| all.texts().any(|text| text.parse() == Ok(address)))
    };
    let mut all = base.entities.iter().filter(|(id, _)| id.kind == kind);
    all.find(|(_, entity)| has(entity)).map(|(id, _)| id.clone())
}

/// What people add to the name of a machine when they save its console.
const OF_CONSOLES: [&str; 6] = ["boot", "console", "log", "output", "serial", "sol"];

/// Whether `text` is `name` with nothing but such words around it: `worker-1-console` and `serial-worker-1` name
/// worker-1, `worker-10` and `old-worker-1-console` do not.
fn names(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_apart =
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        let mut words = [before, after].into_iter().flat_map(|rest| {
            rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
        });
        is_apart && words.all(|word| OF_CONSOLES.contains(&word.to_ascii_lowercase().as_str()))
    })
}

fn evidence(snapshot: &Snapshot, log: &LogFile, line: &HitLine) -> Evidence {
    Evidence {
        source: snapshot.sources.get(log.source).map(|s| s.name.clone()).unwrap_or_default(),
        path: log.path.to_string(),
        line: Some(line.line),
        pointer: None,
        time: line.time,
        text: line.text.clone(),
    }
}

fn store(base: &mut FactBase, id: EntityId, signature: &str, mut found: Found) {
    found.lines.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    found.lines.dedup();
    let mut map: BTreeMap<String, Value> =
        found.captures.into_iter().map(|(name, value)| (name, Value::Text(value))).collect();
    map.insert("count".into(), Value::Int(i64::try_from(found.count).unwrap_or(i64::MAX)));
    map.insert("open".into(), Value::Int(i64::try_from(found.open).unwrap_or(i64::MAX)));
    if found.open == 0 {
        map.insert("recent".into(), Value::Int(0));
    }
    let times: Vec<Time> = found.lines.iter().filter_map(|(_, time)| *time).collect();
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        map.insert("first".into(), (*first).into());
        map.insert("last".into(), (*last).into());
        // A log that ended long before the others says nothing about now.
        let until = found.until.unwrap_or(*last).max(*last);
        let current = |end: &Option<Time>| {
            end.is_some_and(|end| until.as_second() - end.as_second() <= RECENT_SECONDS)
        };
        let going_on: Vec<_> =
            found.runs.iter().filter(|(end, recent, _)| *recent > 0 && current(end)).collect();
        let recent: u64 = going_on.iter().map(|(_, recent, _)| recent).sum();
        let began = going_on.iter().filter_map(|(_, _, run)| *run).min().unwrap_or(*first);
        map.insert("since".into(), began.into());
        map.insert("recent".into(), Value::Int(i64::try_from(recent).unwrap_or(i64::MAX)));
        map.insert("until".into(), until.into());
    }
    if let Some((last, _)) = found.lines.last() {
        map.insert("text".into(), last.text.as_str().into());
    }
    let mut cited: Vec<Evidence> = Vec::new();
    // The latest line first: it is the one that is still true.
    cited.extend(found.lines.last().map(|(at, _)| at.clone()));
    cited.extend(
        found.lines.first().map(|(at, _)| at.clone()).filter(|at| Some(at) != cited.first()),
    );
    let entity = base.entities.entry(id).or_default();
    let logs = entity.facts.entry("logs".into()).or_insert_with(|| Value::Map(BTreeMap::new()));
    if let Value::Map(logs) = logs {
        logs.insert(signature.into(), Value::Map(map));
    }
    if !cited.is_empty() {
        entity.provenance.insert(format!("logs.{signature}"), cited);
    }
}
