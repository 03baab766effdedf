//! What a path in a source stands for, and whether anybody asked for it.
//!
//! Only names are judged here. What a file really holds is found out when it is read. This file
//! knows must-gathers and inspects; the other layouts have a file each.

mod bundle;
mod console;
mod insights;
mod machine;
mod sos;

pub use console::is_console;

use std::collections::BTreeMap;

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::{Era, Needs, ResourceNeed};

use crate::capture;
use crate::private::Safe;

/// Folders that stand directly in the root of a gather. Whatever comes before is arbitrary.
const ROOT_FOLDERS: [&str; 17] = [
    "cluster-scoped-resources",
    "namespaces",
    "host_service_logs",
    "etcd_info",
    "nodes",
    "static-pods",
    "machine_config_ondisk",
    "machine_config_termination_logs",
    "network_logs",
    "pod_network_connectivity_check",
    "insights-data",
    "ingress_controllers",
    "monitoring",
    "audit_logs",
    "web_hooks",
    "bmc",
    "probes",
];

const ARCHIVE_ENDINGS: [&str; 7] =
    [".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Object(ObjectPlace),
    Log(LogOrigin),
    /// Lines picked out of a log: what is not in them may still have been in the log.
    Excerpt(LogOrigin),
    /// A journal of all units.
    Journal,
    /// The same, as `journalctl -o export` writes it.
    Export,
    /// As journald keeps it. Only `journalctl` can read it.
    BinaryJournal,
    /// The name of the machine whose files stand around this one.
    HostName,
    /// What the runtime knows of a container whose log stands beside it.
    Labels,
    /// An archive inside the archive.
    Archive,
    Timestamp,
    /// What a capture says of itself, at its start and at its end.
    CaptureHead,
    CaptureEnd,
    /// What the gather itself, or `oc` on its behalf, had to say.
    GatherLog,
    /// A text whose first lines tell whether it is a log of the installer, or a journal.
    Text,
    Other,
}

/// A file of one object, or of a list when `name` is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlace {
    pub group: String,
    pub plural: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
}

/// How a source is laid out, in the order in which it names a source that has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layout {
    Capture,
    Gather,
    AgentGather,
    LogBundle,
    Sosreport,
    Node,
    Insights,
    Installer,
    Journal,
    Console,
}

impl Layout {
    /// As in `SourceInfo::kind`. `None`: a must-gather or an inspect.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Layout::Capture => Some("capture"),
            Layout::Gather => None,
            Layout::AgentGather => Some("agent-gather"),
            Layout::LogBundle => Some("log-bundle"),
            Layout::Sosreport => Some("sosreport"),
            Layout::Node => Some("node"),
            Layout::Insights => Some("insights"),
            Layout::Installer => Some("installer"),
            Layout::Journal => Some("journal"),
            Layout::Console => Some("console"),
        }
    }
}

/// A file among those of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Parts of the path below the machine's folder.
    pub below: usize,
    /// Host name or address, where the folder's name is one.
    pub name: Option<String>,
    /// A folder of the machine that is there as a whole, if this file stands in one.
    pub whole: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kind: Kind,
    /// Asked for by `Needs::files`.
    pub keep: bool,
    /// The only form in which a file with secrets is kept.
    pub safe: Option<Safe>,
    pub machine: Option<Inside>,
    pub layout: Option<Layout>,
}

impl Place {
    pub fn is_wanted(&self) -> bool {
        self.keep || self.kind != Kind::Other
    }
}

/// What one of the layouts makes of a path.
struct Found {
    kind: Kind,
    layout: Layout,
    machine: Option<Inside>,
}

/// `Needs`, ready to be asked about one path after the other.
pub struct Wants<'n> {
    resources: BTreeMap<(&'n str, &'n str), Vec<&'n ResourceNeed>>,
    globs: Vec<Vec<&'n str>>,
}

impl<'n> Wants<'n> {
    pub fn new(needs: &'n Needs) -> Self {
        let mut resources: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for need in &needs.resources {
            resources.entry((need.group.as_str(), need.plural.as_str())).or_default().push(need);
        }
        Self { resources, globs: needs.files.iter().map(|g| g.split('/').collect()).collect() }
    }

    pub fn place(&self, path: &str) -> Place {
        let parts: Vec<&str> = path.split('/').collect();
        let gather_root = root_index(&parts);
        let found = (gather_root..parts.len())
            .filter(|at| ROOT_FOLDERS.contains(&parts[*at]))
            .find_map(|at| self.layout(&parts[at..]))
            .map(|kind| Found { kind, layout: Layout::Gather, machine: ondisk(&parts) })
            .or_else(|| self.other_layout(&parts));
        let (kind, layout, machine) = match found {
            Some(found) => (found.kind, Some(found.layout), found.machine),
            None => (Kind::Other, None, None),
        };
        let root = match &machine {
            Some(machine) => gather_root.max(parts.len().saturating_sub(machine.below)),
            None => gather_root,
        };
        let keep = self.globs.iter().any(|glob| matches_below_root(glob, &parts, root));
        let kind = match kind {
            Kind::Other => root_file(&parts[gather_root..])
                .or_else(|| is_archive(path).then_some(Kind::Archive))
                .or_else(|| (layout.is_none() && is_text(&parts)).then_some(Kind::Text))
                .unwrap_or(Kind::Other),
            kind => kind,
        };
        Place { kind, keep, safe: Safe::of(&parts), machine, layout }
    }

    fn other_layout(&self, parts: &[&str]) -> Option<Found> {
        let found = bundle::find(parts)
            .or_else(|| sos::find(parts))
            .or_else(|| machine::find(parts))
            .or_else(|| insights::find(parts))
            .or_else(|| console::find(parts))?;
        Some(match found.kind {
            Kind::Object(place) => Found { kind: self.if_needed(place), ..found },
            _ => found,
        })
    }

    /// The needs that an object of this place and name answers; none when nobody asked.
    pub fn needs_for(
        &self,
        place: &ObjectPlace,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Vec<&'n ResourceNeed> {
        let asked = |list: &[String], value: Option<&str>| {
            list.is_empty() || value.is_some_and(|value| list.iter().any(|item| item == value))
        };
        self.resources
            .get(&(place.group.as_str(), place.plural.as_str()))
            .into_iter()
            .flatten()
            .filter(|need| asked(&need.namespaces, namespace) && asked(&need.names, name))
            .copied()
            .collect()
    }

    fn layout(&self, parts: &[&str]) -> Option<Kind> {
        match parts {
            ["cluster-scoped-resources", group, file] => self.list(group, None, file),
            ["cluster-scoped-resources", group, plural, file] => {
                self.object(group, plural, None, file.strip_suffix(".yaml")?)
            }
            ["namespaces", _, "pods", pod, container, _, "logs", rest @ ..] => {
                let era = era_of(rest)?;
                Some(Kind::Log(LogOrigin::Container {
                    namespace: parts[1].into(),
                    pod: (*pod).into(),
                    container: (*container).into(),
                    era,
                }))
            }
            ["namespaces", namespace, "pods", pod, file] => {
                (file.strip_suffix(".yaml")? == *pod)
                    .then(|| self.object("core", "pods", Some(namespace), pod))?
            }
            ["namespaces", namespace, file] => (file.strip_suffix(".yaml")? == *namespace)
                .then(|| self.object("core", "namespaces", None, namespace))?,
            ["namespaces", namespace, group, file] => self.list(group, Some(namespace), file),
            ["namespaces", namespace, group, plural, file] => {
                self.object(group, plural, Some(namespace), file.strip_suffix(".yaml")?)
            }
            ["pod_network_connectivity_check", file @ "podnetworkconnectivitychecks.yaml"] => {
                self.list("controlplane.operator.openshift.io", None, file)
            }
            ["host_service_logs", _, file] => {
                let unit = file.strip_suffix("_service.log")?;
                Some(Kind::Log(LogOrigin::Unit { unit: unit.into(), node: None }))
            }
            ["nodes", node, "dmesg"] => Some(console(node)),
            ["nodes", node, "journal", file] => unit_of_node(file.strip_suffix(".log")?, node),
            ["nodes", node, file] => {
                let rest = file.strip_prefix(node)?.strip_prefix("_logs_")?;
                unit_of_node(rest.strip_suffix(".gz").unwrap_or(rest), node)
            }
            ["static-pods", component, file] => {
                let stem =
                    ["-startup.log", "-termination.log"].iter().find_map(|end| file.find(end))?;
                let node = file[..stem].to_string();
                Some(Kind::Log(LogOrigin::StaticPod { component: (*component).into(), node }))
            }
            ["machine_config_termination_logs", node, _] => Some(console(node)),
            ["machine_config_ondisk", _, _] => Some(Kind::Other),
            _ => None,
        }
    }

    fn list(&self, group: &str, namespace: Option<&str>, file: &str) -> Option<Kind> {
        let plural = file.strip_suffix(".yaml")?;
        Some(self.if_needed(ObjectPlace {
            group: group.into(),
            plural: plural.into(),
            namespace: namespace.map(Into::into),
            name: None,
        }))
    }

    fn object(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Option<Kind> {
        Some(self.if_needed(ObjectPlace {
            group: group.into(),
            plural: plural.into(),
            namespace: namespace.map(Into::into),
            name: Some(name.into()),
        }))
    }

    /// A list is needed when any of its items may be.
    fn if_needed(&self, place: ObjectPlace) -> Kind {
        let key = (place.group.as_str(), place.plural.as_str());
        let asked = |list: &[String], value: &Option<String>| {
            list.is_empty() || value.as_ref().is_none_or(|value| list.contains(value))
        };
        let needed = self.resources.get(&key).into_iter().flatten().any(|need| {
            asked(&need.names, &place.name) && asked(&need.namespaces, &place.namespace)
        });
        if needed { Kind::Object(place) } else { Kind::Other }
    }
}

/// Files that a must-gather brings from the disk of a node.
fn ondisk(parts: &[&str]) -> Option<Inside> {
    let [.., "machine_config_ondisk", node, _] = parts else { return None };
    Some(Inside { below: 1, name: Some((*node).into()), whole: None })
}

/// A file whose first lines are worth a look. Nothing below `auth` ever is.
fn is_text(parts: &[&str]) -> bool {
    let [folders @ .., file] = parts else { return false };
    let looked_at = [".log", ".txt", ".out"].iter().any(|end| file.ends_with(end));
    looked_at && !folders.contains(&"auth") && !folders.iter().any(|f| ROOT_FOLDERS.contains(f))
}

fn root_file(below_root: &[&str]) -> Option<Kind> {
    match below_root {
        ["timestamp"] => Some(Kind::Timestamp),
        [capture::HEAD] => Some(Kind::CaptureHead),
        [capture::END] => Some(Kind::CaptureEnd),
        ["gather.logs" | "must-gather.logs"] => Some(Kind::GatherLog),
        _ => None,
    }
}

fn console(node: &str) -> Kind {
    Kind::Log(LogOrigin::Console { name: node.into() })
}

fn unit_of_node(unit: &str, node: &str) -> Option<Kind> {
    Some(Kind::Log(LogOrigin::Unit { unit: unit.into(), node: Some(node.into()) }))
}

fn era_of(below_logs: &[&str]) -> Option<Era> {
    match below_logs {
        ["current.log" | "current.insecure.log"] => Some(Era::Current),
        ["previous.log" | "previous.insecure.log"] => Some(Era::Previous),
        ["rotated", file] if file.contains(".log") => Some(Era::Rotated),
        _ => None,
    }
}

pub fn is_archive(path: &str) -> bool {
    ARCHIVE_ENDINGS.iter().any(|ending| path.ends_with(ending))
}

/// Index of the first folder that only a gather has; of the file itself when there is none.
pub fn root_index(parts: &[&str]) -> usize {
    let folders = &parts[..parts.len().saturating_sub(1)];
    folders.iter().position(|part| ROOT_FOLDERS.contains(part)).unwrap_or(folders.len())
}

fn matches_below_root(glob: &[&str], parts: &[&str], root: usize) -> bool {
    let Some(start) = parts.len().checked_sub(glob.len()) else { return false };
    start <= root && glob.iter().zip(&parts[start..]).all(|(glob, part)| segment(glob, part))
}

/// `*` stands for any run of characters within one segment.
fn segment(glob: &str, part: &str) -> bool {
    let mut pieces = glob.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = part.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(group: &str, plural: &str) -> ResourceNeed {
        ResourceNeed {
            group: group.into(),
            plural: plural.into(),
            namespaces: vec![],
            names: vec![],
            drop: vec![],
        }
    }

    fn place(path: &str) -> Place {
        let needs = Needs {
            now: None,
            resources: vec![
                need("core", "pods"),
                need("core", "namespaces"),
                need("core", "nodes"),
                need("controlplane.operator.openshift.io", "podnetworkconnectivitychecks"),
                ResourceNeed {
                    names: vec!["etcd".into()],
                    ..need("config.openshift.io", "clusteroperators")
                },
                ResourceNeed { namespaces: vec!["a".into()], ..need("core", "configmaps") },
            ],
            files: ["etcd_info/*.json", "version", "nodes/*/lscpu", "bmc/*.json", "probes/*.json"]
                .map(Into::into)
                .to_vec(),
            signatures: vec![],
        };
        Wants::new(&needs).place(path)
    }

    fn object(path: &str) -> Option<String> {
        match place(path).kind {
            Kind::Object(o) => Some(format!(
                "{}/{} {} {}",
                o.group,
                o.plural,
                o.namespace.as_deref().unwrap_or("-"),
                o.name.as_deref().unwrap_or("-")
            )),
            _ => None,
        }
    }

    #[test]
    fn objects_are_found_below_any_leading_folders() {
        for (path, found) in [
            ("x/y/z/cluster-scoped-resources/core/nodes/n1.yaml", Some("core/nodes - n1")),
            ("cluster-scoped-resources/core/nodes.yaml", Some("core/nodes - -")),
            ("cluster-scoped-resources/config.openshift.io/nodes.yaml", None),
            ("namespaces/a/core/pods.yaml", Some("core/pods a -")),
            ("nodes/namespaces/a/pods/p/p.yaml", Some("core/pods a p")),
            ("namespaces/a/pods/p/q.yaml", None),
            ("namespaces/a/a.yaml", Some("core/namespaces - a")),
            ("cluster-scoped-resources/core/namespaces/a.yaml", Some("core/namespaces - a")),
            ("namespaces/b/core/configmaps.yaml", None),
            ("namespaces/a/core/configmaps/c.yaml", Some("core/configmaps a c")),
            ("cluster-scoped-resources/config.openshift.io/clusteroperators/dns.yaml", None),
            (
                "cluster-scoped-resources/config.openshift.io/clusteroperators/etcd.yaml",
                Some("config.openshift.io/clusteroperators - etcd"),
            ),
            (
                "m/pod_network_connectivity_check/podnetworkconnectivitychecks.yaml",
                Some("controlplane.operator.openshift.io/podnetworkconnectivitychecks - -"),
            ),
        ] {
            assert_eq!(object(path).as_deref(), found, "{path}");
        }
    }

    #[test]
    fn logs_know_where_they_come_from() {
        let container = |era| LogOrigin::Container {
            namespace: "n".into(),
            pod: "p".into(),
            container: "c".into(),
            era,
        };
        let unit = |unit: &str, node: Option<&str>| LogOrigin::Unit {
            unit: unit.into(),
            node: node.map(Into::into),
        };
        let fixed = |node: &str| LogOrigin::StaticPod {
            component: "kube-apiserver".into(),
            node: node.into(),
        };
        for (path, origin) in [
            ("x/namespaces/n/pods/p/c/c/logs/current.log", container(Era::Current)),
            ("namespaces/n/pods/p/c/c/logs/previous.insecure.log", container(Era::Previous)),
            ("namespaces/n/pods/p/c/c/logs/rotated/0.log.20241024-1.gz", container(Era::Rotated)),
            ("host_service_logs/masters/kubelet_service.log", unit("kubelet", None)),
            ("nodes/m-0/m-0_logs_kubelet.gz", unit("kubelet", Some("m-0"))),
            ("nodes/m-0/journal/crio.log", unit("crio", Some("m-0"))),
            ("nodes/m-0/dmesg", LogOrigin::Console { name: "m-0".into() }),
            ("static-pods/kube-apiserver/m-0-termination.log.gz", fixed("m-0")),
            ("static-pods/kube-apiserver/m-0-startup.log.2.gz", fixed("m-0")),
            (
                "machine_config_termination_logs/m-0/x.log",
                LogOrigin::Console { name: "m-0".into() },
            ),
        ] {
            assert_eq!(place(path).kind, Kind::Log(origin), "{path}");
        }
        assert_eq!(place("nodes/m-0/lspci").kind, Kind::Other);
    }

    #[test]
    fn root_files_count_only_in_a_root() {
        assert_eq!(place("a/b/timestamp").kind, Kind::Timestamp);
        assert_eq!(place("a/namespaces/n/timestamp").kind, Kind::Other);
        assert_eq!(place("must-gather.logs").kind, Kind::GatherLog);
        assert!(place("a/version").keep);
        assert!(!place("a/nodes/version").keep);
        assert!(place("a/etcd_info/member_list.json").keep);
        assert!(!place("a/etcd_info/deep/member_list.json").keep);
        assert!(place("nodes/m-0/lscpu").keep);
        assert!(place("capture/bmc/master-0.json").keep);
        assert!(place("probes/probes.json").keep && place("x/probes/api.json").keep);
        assert!(!place("x/probes/deep/api.json").keep);
        assert_eq!(place("insights-data/x/insights-1.tar.gz").kind, Kind::Archive);
    }

    #[test]
    fn what_was_asked_from_outside_stands_in_a_root_of_its_own() {
        for folder in ["bmc", "probes"] {
            assert!(place(&format!("{folder}/worker-1.json")).keep);
            assert!(place(&format!("a/capture/{folder}/worker-1.json")).keep);
            assert!(!place(&format!("a/{folder}/deep/worker-1.json")).keep);
        }
    }

    #[test]
    fn a_star_stays_in_its_segment() {
        assert!(segment("*.json", "a.json"));
        assert!(segment("*", ""));
        assert!(segment("a*b*c", "aXbYc"));
        assert!(!segment("a*b", "acb.d"));
        assert!(!segment("ab*ba", "aba"));
    }
}
