//! Healthy clusters in must-gather layout, made from parameters.
//!
//! Shapes, reasons and messages follow a real 4.18 gather and the sources of the operators. A base
//! holds the noise that a real cluster holds: probes that failed during a rollout, conflicts, a
//! kubelet that did not know its node at boot. All of it is over, or never mattered. What is not
//! here: a fault. Those are put in by edits.

mod aggregation;
mod archive;
mod config;
mod control_plane;
mod csrs;
mod etcd;
mod events;
mod gather;
mod journals;
mod logs;
mod machine_config;
mod metal3;
mod network;
mod nodes;
mod operators;
mod pods;
mod request;
mod rotation;
mod secrets;
mod services;
mod static_pods;
mod variants;
mod workloads;
mod writer;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};

pub(crate) use control_plane::revision;
pub(crate) use metal3::machine_name;
pub use network::Stack;
pub(crate) use network::bracketed;
pub(crate) use request::{client_request, serving_request};
pub(crate) use secrets::client_certificate;

use crate::sources_of;
use crate::tree::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    BareMetal,
    None,
    /// A platform that OpenShift knows nothing of, with its own cloud controller.
    External,
}

/// How far the cluster has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Installed,
    /// Control plane up, workers not yet joined.
    Installing,
}

/// A host with a Machine and without a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    pub host: String,
    pub master: bool,
    /// When its disk had been written and it was started.
    pub provisioned: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseParams {
    pub version: String,
    pub cluster: String,
    pub domain: String,
    pub masters: Vec<String>,
    pub workers: Vec<String>,
    pub machine_network: String,
    pub stack: Stack,
    pub node_ips: BTreeMap<String, String>,
    pub api_vip: String,
    pub ingress_vip: String,
    pub platform: Platform,
    pub phase: Phase,
    /// Hosts that were written and never became nodes; they are in neither list of nodes.
    pub absent: Vec<Absent>,
    /// End of the gather.
    pub now: Timestamp,
    /// Start of the installation.
    pub installed: Timestamp,
}

impl Default for BaseParams {
    /// Three masters and two workers on bare metal, a day old.
    fn default() -> Self {
        let masters = numbered("master-", "", 3);
        let workers = numbered("worker-", "", 2);
        Self {
            version: "4.18.14".into(),
            cluster: "ostest".into(),
            domain: "lab.example".into(),
            node_ips: network::addresses(masters.iter().chain(&workers), Stack::V4),
            masters,
            workers,
            machine_network: "192.168.111.0/24".into(),
            stack: Stack::V4,
            api_vip: "192.168.111.5".into(),
            ingress_vip: "192.168.111.4".into(),
            platform: Platform::BareMetal,
            phase: Phase::Installed,
            absent: Vec::new(),
            now: time(1_764_787_320),
            installed: time(1_764_702_000),
        }
    }
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn numbered(head: &str, tail: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{head}{n}{tail}")).collect()
}

impl BaseParams {
    pub fn fqdn(&self) -> String {
        format!("{}.{}", self.cluster, self.domain)
    }

    /// Nodes that have joined, masters first.
    pub fn nodes(&self) -> Vec<&str> {
        let workers = match self.phase {
            Phase::Installed => self.workers.as_slice(),
            Phase::Installing => &[],
        };
        self.masters.iter().chain(workers).map(String::as_str).collect()
    }

    /// Every host there is to be, masters first, those that never joined last.
    pub fn hosts(&self) -> Vec<&str> {
        let joined = self.masters.iter().chain(&self.workers);
        joined.chain(self.absent.iter().map(|absent| &absent.host)).map(String::as_str).collect()
    }

    pub fn absent(&self, host: &str) -> Option<&Absent> {
        self.absent.iter().find(|absent| absent.host == host)
    }

    pub fn is_master(&self, node: &str) -> bool {
        self.masters.iter().any(|master| master == node)
            || self.absent(node).is_some_and(|absent| absent.master)
    }

    /// Masters and workers that the installation asks for.
    fn wanted(&self) -> (usize, usize) {
        let masters = self.absent.iter().filter(|absent| absent.master).count();
        (self.masters.len() + masters, self.workers.len() + self.absent.len() - masters)
    }

    pub fn ip(&self, node: &str) -> &str {
        self.node_ips.get(node).map_or("192.168.111.250", String::as_str)
    }

    fn single_node(&self) -> bool {
        self.wanted().0 == 1
    }

    fn topology(&self) -> &'static str {
        if self.single_node() { "SingleReplica" } else { "HighlyAvailable" }
    }

    /// `4.18`
    fn minor(&self) -> String {
        self.version.split('.').take(2).collect::<Vec<_>>().join(".")
    }

    /// OpenShift 4.N ships Kubernetes 1.(N+13).
    fn kubernetes_minor(&self) -> u32 {
        self.version.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or(18) + 13
    }

    fn kubernetes(&self) -> String {
        format!("1.{}.8", self.kubernetes_minor())
    }

    /// Version of CRI-O.
    fn runtime(&self) -> String {
        format!("1.{}.7-3.rhaos{}.el9", self.kubernetes_minor(), self.minor())
    }

    /// Where the store stands at the time of the gather.
    fn etcd_revision(&self) -> i64 {
        1_000 + self.now.duration_since(self.installed).as_secs() * 9
    }

    /// Seconds after the start of the installation, and never after the gather.
    fn at(&self, seconds: i64) -> Timestamp {
        let at = self.installed.checked_add(SignedDuration::from_secs(seconds));
        at.unwrap_or(self.now).min(self.now)
    }

    /// Seconds before the gather, and never before the installation.
    fn ago(&self, seconds: i64) -> Timestamp {
        let ago = self.now.checked_sub(SignedDuration::from_secs(seconds));
        ago.unwrap_or(self.installed).max(self.installed)
    }

    fn stamp(&self, seconds: i64) -> String {
        self.at(seconds).to_string()
    }

    fn image(&self, component: &str) -> String {
        format!(
            "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}",
            digest(&format!("{} {component}", self.version))
        )
    }

    fn release_image(&self) -> String {
        format!("quay.io/openshift-release-dev/ocp-release@sha256:{}", digest(&self.version))
    }
}

/// FNV-1a with a final mix: names and ids that are the same in every run.
pub(crate) fn hash(text: &str) -> u64 {
    let mut state: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    state ^= state >> 33;
    state = state.wrapping_mul(0xff51_afd7_ed55_8ccd);
    state ^ (state >> 33)
}

fn digest(text: &str) -> String {
    (0..4).map(|part| format!("{:016x}", hash(&format!("{part} {text}")))).collect()
}

pub(crate) fn uid(kind: &str, namespace: &str, name: &str) -> String {
    let hex = digest(&format!("{kind}/{namespace}/{name}"));
    format!("{}-{}-4{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// The end of a generated name, in the letters that Kubernetes uses.
pub(crate) fn suffix(text: &str, length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut rest = hash(text);
    (0..length)
        .map(|_| {
            let letter = LETTERS[(rest % LETTERS.len() as u64) as usize];
            rest /= LETTERS.len() as u64;
            char::from(letter)
        })
        .collect()
}

/// Name of the pod that a daemon set runs on a node.
pub fn daemon_pod(daemon_set: &str, node: &str) -> String {
    format!("{daemon_set}-{}", suffix(&format!("{daemon_set} {node}"), 5))
}

pub fn metal(params: &BaseParams) -> Tree {
    let mut writer = writer::Writer::new(params);
    gather::write(&mut writer);
    config::write(&mut writer);
    operators::write(&mut writer);
    nodes::write(&mut writer);
    machine_config::write(&mut writer);
    control_plane::write(&mut writer);
    static_pods::write(&mut writer);
    workloads::write(&mut writer);
    if params.platform == Platform::BareMetal {
        metal3::write(&mut writer);
    }
    secrets::write(&mut writer);
    rotation::write(&mut writer);
    aggregation::write(&mut writer);
    services::write(&mut writer);
    csrs::write(&mut writer);
    etcd::write(&mut writer);
    events::write(&mut writer);
    journals::write(&mut writer);
    writer.finish()
}

/// Every name that [`base`] knows.
pub const NAMES: [&str; 8] = [
    "metal-3-2",
    "metal-3-0",
    "sno",
    "metal-4.19",
    "none-3-3",
    "gcp-4.18",
    "metal-installing",
    "metal-upgrading",
];

/// Clusters of [`NAMES`] told by one other source. They have no time of their own, so edits that are
/// relative to the gather do not fit them; `file` does.
pub const SOURCE_NAMES: [&str; 5] =
    ["bootstrap-bundle", "agent-gather", "sosreport", "node-root", "insights"];

/// A base by name. `None` for an unknown name, or when the recorded archive cannot be read.
pub fn base(name: &str) -> Option<Tree> {
    if SOURCE_NAMES.contains(&name) {
        return other_source(name);
    }
    static MADE: [OnceLock<Option<Tree>>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];
    let at = NAMES.iter().position(|known| *known == name)?;
    MADE[at].get_or_init(|| make(name)).clone()
}

fn other_source(name: &str) -> Option<Tree> {
    Some(match name {
        "bootstrap-bundle" => sources_of::log_bundle(&base("metal-installing")?),
        "agent-gather" => sources_of::agent_gather(&base("metal-installing")?, "master-0"),
        "sosreport" => sources_of::sosreport(&base("metal-3-2")?, "master-0"),
        "node-root" => sources_of::node_root(&base("metal-3-2")?, "master-0"),
        "insights" => sources_of::insights(&base("metal-3-2")?),
        _ => return None,
    })
}

fn make(name: &str) -> Option<Tree> {
    match name {
        "metal-installing" => {
            let default = BaseParams::default();
            let installed = default.now.checked_sub(SignedDuration::from_mins(20)).ok()?;
            variants::installing(&BaseParams { installed, ..default })
        }
        "metal-upgrading" => variants::upgrading(&BaseParams::default()),
        "gcp-4.18" => archive::recorded("gcp-4.18"),
        _ => params(name).as_ref().map(metal),
    }
}

/// The parameters of a healthy generated base.
pub fn params(name: &str) -> Option<BaseParams> {
    let default = BaseParams::default();
    Some(match name {
        "metal-3-2" => default,
        "metal-3-0" => BaseParams {
            node_ips: network::addresses(default.masters.iter(), Stack::V4),
            workers: Vec::new(),
            ..default
        },
        "metal-4.19" => BaseParams { version: "4.19.3".into(), ..default },
        "sno" => {
            let masters = vec!["sno".to_string()];
            BaseParams {
                cluster: "sno".into(),
                node_ips: network::addresses(masters.iter(), Stack::V4),
                masters,
                workers: Vec::new(),
                platform: Platform::None,
                ..default
            }
        }
        "none-3-3" => {
            let masters = numbered("control", ".gw.lo", 3);
            let workers = numbered("compute", ".gw.lo", 3);
            BaseParams {
                cluster: "gw".into(),
                domain: "lo".into(),
                node_ips: network::addresses(masters.iter().chain(&workers), Stack::V4),
                masters,
                workers,
                platform: Platform::None,
                ..default
            }
        }
        _ => return None,
    })
}

/// As far into an installation as `params.installed` says.
pub fn installing(params: &BaseParams) -> Option<Tree> {
    variants::installing(params)
}

/// In the middle of an upgrade: the control plane done, the first worker rebooting.
pub fn upgrading(params: &BaseParams) -> Option<Tree> {
    variants::upgrading(params)
}
