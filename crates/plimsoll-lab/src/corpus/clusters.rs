//! Clusters that differ as those in the field do: names, addresses, versions, sizes, platforms.

use crate::base::{BaseParams, Phase, Platform, Stack};
use crate::fault::{Fault, Pick, Topology};

#[derive(Debug, PartialEq, Eq)]
pub struct Cluster {
    pub name: &'static str,
    minor: u32,
    patch: u32,
    platform: Platform,
    stack: Stack,
    /// Name of a machine: `{n}` stands for its number.
    master: &'static str,
    worker: &'static str,
    masters: usize,
    workers: usize,
    cluster: &'static str,
    domain: &'static str,
    /// Days since the installation.
    days: i64,
}

const ALL: [Cluster; 10] = [
    Cluster {
        name: "metal-3-2",
        minor: 18,
        patch: 14,
        platform: Platform::BareMetal,
        stack: Stack::V4,
        master: "master-{n}",
        worker: "worker-{n}",
        masters: 3,
        workers: 2,
        cluster: "ostest",
        domain: "lab.example",
        days: 1,
    },
    Cluster {
        name: "metal-v6-4.14",
        minor: 14,
        patch: 38,
        platform: Platform::BareMetal,
        stack: Stack::V6,
        master: "cp{n}.edge6.corp.example.net",
        worker: "wk{n}.edge6.corp.example.net",
        masters: 3,
        workers: 2,
        cluster: "edge6",
        domain: "corp.example.net",
        days: 40,
    },
    Cluster {
        name: "metal-dual-4.20",
        minor: 20,
        patch: 2,
        platform: Platform::BareMetal,
        stack: Stack::Dual,
        master: "r7-u{n}-ctl",
        worker: "r7-u{n}-cmp",
        masters: 3,
        workers: 5,
        cluster: "telco",
        domain: "site-b.example.org",
        days: 9,
    },
    Cluster {
        name: "metal-compact-4.12",
        minor: 12,
        patch: 70,
        platform: Platform::BareMetal,
        stack: Stack::V4,
        master: "node-{n}",
        worker: "",
        masters: 3,
        workers: 0,
        cluster: "hub",
        domain: "acm.example",
        days: 200,
    },
    Cluster {
        name: "none-sno-4.16",
        minor: 16,
        patch: 21,
        platform: Platform::None,
        stack: Stack::V4,
        master: "du{n}.ran.example.com",
        worker: "",
        masters: 1,
        workers: 0,
        cluster: "du",
        domain: "ran.example.com",
        days: 12,
    },
    Cluster {
        name: "none-3-3-4.17",
        minor: 17,
        patch: 9,
        platform: Platform::None,
        stack: Stack::V4,
        master: "control{n}.gw.lo",
        worker: "compute{n}.gw.lo",
        masters: 3,
        workers: 3,
        cluster: "gw",
        domain: "lo",
        days: 3,
    },
    Cluster {
        name: "external-3-2-4.19",
        minor: 19,
        patch: 3,
        platform: Platform::External,
        stack: Stack::V4,
        master: "m{n}",
        worker: "w{n}",
        masters: 3,
        workers: 2,
        cluster: "ext",
        domain: "cloud.example",
        days: 5,
    },
    Cluster {
        name: "metal-5-2-4.18",
        minor: 18,
        patch: 20,
        platform: Platform::BareMetal,
        stack: Stack::V4,
        master: "ctrl-{n}.prod.dc1.example",
        worker: "app-{n}.prod.dc1.example",
        masters: 5,
        workers: 2,
        cluster: "prod",
        domain: "dc1.example",
        days: 60,
    },
    Cluster {
        name: "metal-3-5-4.16",
        minor: 16,
        patch: 40,
        platform: Platform::BareMetal,
        stack: Stack::V4,
        master: "openshift-master-{n}",
        worker: "openshift-worker-{n}",
        masters: 3,
        workers: 5,
        cluster: "bm",
        domain: "kni.example",
        days: 30,
    },
    Cluster {
        name: "metal-v6-4.19",
        minor: 19,
        patch: 8,
        platform: Platform::BareMetal,
        stack: Stack::V6,
        master: "zt-master-{n}",
        worker: "zt-worker-{n}",
        masters: 3,
        workers: 3,
        cluster: "zt",
        domain: "six.example",
        days: 2,
    },
];

pub fn all() -> &'static [Cluster] {
    &ALL
}

impl Cluster {
    /// `installing`: minutes since the installation began, if it is still on.
    pub(super) fn params(&self, installing: Option<i64>) -> BaseParams {
        let named = |pattern: &str, count: usize| -> Vec<String> {
            (0..count).map(|n| pattern.replace("{n}", &n.to_string())).collect()
        };
        let default = BaseParams::default();
        let minutes = installing.unwrap_or(self.days * 1_440 + 37);
        let age = jiff::SignedDuration::from_mins(minutes);
        let mut params = BaseParams {
            version: format!("4.{}.{}", self.minor, self.patch),
            cluster: self.cluster.into(),
            domain: self.domain.into(),
            masters: named(self.master, self.masters),
            workers: named(self.worker, self.workers),
            platform: self.platform,
            phase: if installing.is_some() { Phase::Installing } else { Phase::Installed },
            installed: default.now.checked_sub(age).unwrap_or(default.installed),
            ..default
        };
        params.address(self.stack);
        params
    }

    fn topology(&self) -> Topology {
        match (self.masters, self.workers) {
            (1, _) => Topology::Sno,
            (_, 0) => Topology::Compact,
            _ => Topology::Ha,
        }
    }

    /// An installation or an upgrade is shown on clusters with workers of their own.
    pub(super) fn can_be_installing(&self) -> bool {
        self.workers > 1
    }

    /// Whether the fault can happen here.
    pub fn fits(&self, fault: &Fault) -> bool {
        let platform = match self.platform {
            Platform::BareMetal => "baremetal",
            Platform::None => "none",
            Platform::External => "external",
        };
        let of_platform =
            fault.platforms.is_empty() || fault.platforms.iter().any(|name| name == platform);
        let of_version = fault.minors.is_none_or(|(from, to)| (from..=to).contains(&self.minor));
        let of_topology =
            fault.topologies.is_empty() || fault.topologies.contains(&self.topology());
        let has_machine = match fault.pick {
            Pick::Worker => self.workers > 0,
            Pick::Host => self.workers > 1 && self.platform == Platform::BareMetal,
            _ => true,
        };
        // An installation without workers is over when the masters are up.
        let has_phase = !fault.installing || self.workers > 0;
        of_platform && of_version && of_topology && has_machine && has_phase
    }
}
