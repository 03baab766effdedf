//! What sources deliver: text with provenance, and an honest account of what is missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Time;

/// What the engine asks of a source. Nothing outside it is kept.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The time of the gather, where the user knows better than the data.
    pub now: Option<Time>,
    pub resources: Vec<ResourceNeed>,
    pub signatures: Vec<Signature>,
    /// Small files kept whole, by path below the gather's root; `*` stands for one path segment.
    pub files: Vec<String>,
}

/// One API resource, as its folder is called in a must-gather.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceNeed {
    /// API group, `core` for the legacy group.
    pub group: String,
    pub plural: String,
    /// Only objects of these namespaces; empty means all.
    pub namespaces: Vec<String>,
    /// Only objects of these names; empty means all.
    pub names: Vec<String>,
    /// Subtrees that no fact reads, as paths from the object's root (`spec.template`,
    /// `status.relatedObjects`). They are blanked before the text is kept, lines stay in place.
    pub drop: Vec<String>,
}

/// A line that some state wants to know of.
#[derive(Clone, Debug)]
pub struct Signature {
    pub id: String,
    /// Every literal must stand in the line. The first is what the automaton looks for.
    pub contains: Vec<String>,
    /// Checked on lines that hold every literal; its named groups become captures.
    pub pattern: Option<String>,
    /// Which logs are meant, see [`LogOrigin::matches`]. Empty means every log.
    pub logs: Vec<String>,
}

/// Everything that was read, before anything is understood.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Time of the gather. Never the wall clock, never a file's mtime.
    pub now: Option<Time>,
    pub sources: Vec<SourceInfo>,
    /// Sorted by (source, path, first_line).
    pub documents: Vec<Document>,
    /// Sorted by (source, path).
    pub logs: Vec<LogFile>,
    /// Sorted by (signature, log, host, captures). `log` and `signature` are indices.
    pub hits: Vec<LogHits>,
    /// Files asked for by `Needs::files`, by (source index, path).
    pub files: BTreeMap<(usize, String), Vec<u8>>,
    /// Which kinds of things were collected, and in which form.
    pub collected: BTreeSet<Collected>,
    /// Folders that hold what one machine has on its disks, by (source index, folder).
    pub machines: BTreeMap<(usize, String), Machine>,
}

/// A machine that a source describes from the inside: a node's root, a sosreport, a part of a log
/// bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Host name or address, as far as the source tells.
    pub name: Option<String>,
    /// Folders below it of which everything was seen: what is not in them is not on the machine.
    pub seen: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// `must-gather`, `inspect`, `log-bundle`, `sosreport`, `node`, …
    pub kind: String,
    /// File or folder name, never the path on this machine.
    pub name: String,
    /// False when the gather failed, timed out or was cut, or anything in it could not be read.
    pub complete: bool,
    pub gaps: Vec<Gap>,
    /// When it was gathered, where it tells.
    pub taken: Option<Time>,
    pub files: u64,
    pub bytes: u64,
}

impl Snapshot {
    /// Indices of sources: what was seen later says how it is now.
    pub fn newest_first(&self) -> Vec<usize> {
        let mut all: Vec<usize> = (0..self.sources.len()).collect();
        all.sort_by_key(|source| std::cmp::Reverse((self.sources[*source].taken, *source)));
        all
    }
}

/// One thing that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    pub status: GapStatus,
    /// What is missing, in a user's words or as a path in the source.
    pub what: String,
    pub why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GapStatus {
    /// The gather itself failed, timed out, or is cut off.
    Cut,
    Unreadable,
    NotCollected,
}

/// A list file proves absence (what is not in it does not exist). A folder of objects does not:
/// a file that is not there may have been lost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Collected {
    pub group: String,
    pub plural: String,
    /// `None` for cluster-scoped resources and for lists of all namespaces.
    pub namespace: Option<String>,
    pub form: Form,
    /// Index into `Snapshot::sources`, and the list file; empty where it is a folder of objects.
    pub source: usize,
    pub path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    List,
    Objects,
}

/// The text of one object, not parsed yet.
#[derive(Clone, Debug)]
pub struct Document {
    /// Index into `Snapshot::sources`.
    pub source: usize,
    pub path: Arc<str>,
    /// Line of the file at which `text` starts, from 1.
    pub first_line: u64,
    pub group: Arc<str>,
    pub plural: Arc<str>,
    /// From the path; `None` for cluster-scoped resources.
    pub namespace: Option<Arc<str>>,
    /// Valid UTF-8 YAML of one object (items of a list are already dedented).
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    pub source: usize,
    pub path: Arc<str>,
    pub origin: LogOrigin,
    /// Host name or address of the machine it was taken from, where its place tells.
    pub machine: Option<String>,
    /// The lines of one unit out of a journal of all.
    pub of_journal: bool,
    /// Time of the first and the last line that carries one.
    pub start: Option<Time>,
    pub end: Option<Time>,
    /// Host names seen in a journal, sorted. Empty for container logs.
    pub hosts: Vec<String>,
    /// Time of each host's last line, in the order of `hosts`: a journal of several nodes goes on
    /// when one of them has stopped writing.
    pub host_ends: Vec<Option<Time>>,
    /// False: cut off, so what was not found in it may still have been there.
    pub complete: bool,
}

impl LogFile {
    /// When this log ends, or the part of it that `host` wrote.
    pub fn end_of(&self, host: Option<&str>) -> Option<Time> {
        let place = host.and_then(|host| self.hosts.iter().position(|known| known == host));
        place.and_then(|place| self.host_ends.get(place).copied().flatten()).or(self.end)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogOrigin {
    /// A journal of one unit: of one node, or of all nodes of a role in one file.
    Unit { unit: String, node: Option<String> },
    /// Namespace and pod are empty where only the container's name is known, and the container
    /// where only its pod is.
    Container { namespace: String, pod: String, container: String, era: Era },
    /// `static-pods/<component>/<node>-{startup,termination}.log`
    StaticPod { component: String, node: String },
    /// dmesg, console captures and other text of one machine.
    Console { name: String },
    /// `.openshift_install.log`
    Installer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    Current,
    Previous,
    Rotated,
}

impl LogOrigin {
    /// Selectors: `unit/<unit>`, `pod/<namespace>/<container>`, `static/<component>`, `console`,
    /// `installer`. `*` at the end of a part matches any rest.
    pub fn matches(&self, selector: &str) -> bool {
        let mut parts = selector.split('/');
        let kind = parts.next().unwrap_or_default();
        let mut part = |value: &str| parts.next().is_none_or(|pattern| glob(pattern, value));
        match self {
            // A console shows what the kernel and Ignition write into the journal, too.
            LogOrigin::Unit { unit, .. } if kind == "console" => {
                unit == "kernel" || unit.starts_with("ignition")
            }
            LogOrigin::Unit { unit, .. } => kind == "unit" && part(unit),
            LogOrigin::Container { namespace, container, .. } if namespace.is_empty() => {
                kind == "pod" && parts.nth(1).is_some_and(|pattern| glob(pattern, container))
            }
            LogOrigin::Container { namespace, container, .. } => {
                kind == "pod" && part(namespace) && (container.is_empty() || part(container))
            }
            LogOrigin::StaticPod { component, .. } => kind == "static" && part(component),
            LogOrigin::Console { .. } => kind == "console",
            LogOrigin::Installer => kind == "installer",
        }
    }
}

fn glob(pattern: &str, value: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => value.starts_with(prefix),
        None => pattern == value,
    }
}

/// All hits of one signature in one log, from one host, with the same captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHits {
    /// Index into `Needs::signatures`.
    pub signature: usize,
    /// Index into `Snapshot::logs`.
    pub log: usize,
    pub host: Option<String>,
    /// Named groups of the signature's pattern, sorted by name.
    pub captures: Vec<(String, String)>,
    pub count: u64,
    /// Hits in the last quarter of an hour before the log's end, counted up to `MAX_RECENT`. A fault
    /// that is still there goes on to the end of its log; a straggler does not.
    pub recent: u64,
    pub first: HitLine,
    /// First hit of the run that ends with `last`: no pause in it is longer than `PAUSE_SECONDS`.
    pub run: HitLine,
    pub last: HitLine,
}

/// How far `LogHits::recent` counts, and how far back it looks.
pub const MAX_RECENT: usize = 32;
pub const RECENT_SECONDS: i64 = 900;
pub const PAUSE_SECONDS: i64 = 1800;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HitLine {
    pub line: u64,
    pub time: Option<Time>,
    /// Cut to 400 characters.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_name_logs_by_where_they_come_from() {
        let kubelet = LogOrigin::Unit { unit: "kubelet".into(), node: None };
        assert!(kubelet.matches("unit/kubelet"));
        assert!(kubelet.matches("unit"));
        assert!(!kubelet.matches("unit/crio"));
        let server = LogOrigin::Container {
            namespace: "openshift-machine-config-operator".into(),
            pod: "machine-config-server-x".into(),
            container: "machine-config-server".into(),
            era: Era::Current,
        };
        assert!(server.matches("pod/openshift-machine-config-operator/machine-config-*"));
        assert!(server.matches("pod/openshift-machine-config-operator"));
        assert!(!server.matches("pod/openshift-etcd/etcd"));
        let etcd = LogOrigin::Container {
            namespace: String::new(),
            pod: String::new(),
            container: "etcd".into(),
            era: Era::Current,
        };
        assert!(etcd.matches("pod/openshift-etcd/etcd") && etcd.matches("pod/*/etcd"));
        assert!(!etcd.matches("pod/openshift-etcd") && !etcd.matches("pod/openshift-etcd/x"));
        assert!(LogOrigin::Installer.matches("installer"));
    }
}
