//! Which probes a cluster calls for: by the names and addresses that its API told, or, where that is
//! silent, by the name that the kubeconfig calls it.

mod plan;
mod time;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use futures::StreamExt;
use plimsoll_probe::{NtpProbe, Patience, Plan, Probe, Record, Target, Way, run, way};

use crate::archive::Out;
use crate::{Clock, Progress};

pub use time::{is_host, servers as time_servers};

const NTP: u16 = 123;
const AT_ONCE: usize = 64;
const ROUTES_AT_ONCE: usize = 8;
const PATIENCE: Patience =
    Patience { probe: Duration::from_secs(5), budget: Duration::from_secs(45) };
/// Nodes that are probed; of a large cluster, those of the control plane come first.
const MOST_NODES: usize = 50;
const MOST_TIME_SERVERS: usize = 16;

/// What is known of a cluster from outside.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// `lab.example.com`
    pub domain: Option<String>,
    /// Host and port of the server in the kubeconfig.
    pub server: Option<(String, u16)>,
    pub api_vips: Vec<String>,
    pub ingress_vips: Vec<String>,
    pub nodes: Vec<NodeAt>,
    /// The node that this runs on.
    pub here: Option<String>,
    /// Certificates of authorities, by who trusts them.
    pub bundles: Vec<(String, String)>,
    /// Hosts that somebody named.
    pub time_servers: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct NodeAt {
    pub name: String,
    pub address: String,
    /// In full, where it has such a name: `master-0.lab.example.com`.
    pub full_name: Option<String>,
    pub control_plane: bool,
}

/// The domain of the cluster behind `api.lab.example.com`.
pub fn domain_of(host: &str) -> Option<String> {
    let domain = host.strip_prefix("api.").or_else(|| host.strip_prefix("api-int."))?;
    domain.contains('.').then(|| domain.to_string())
}

impl Outside {
    fn vantage(&self) -> String {
        self.here.as_ref().map_or("workstation".into(), |name| format!("node/{name}"))
    }

    /// Of the control plane first, and no more than are probed.
    fn chosen(&self) -> Vec<&NodeAt> {
        let mut nodes: Vec<&NodeAt> = self.nodes.iter().collect();
        nodes.sort_by(|a, b| (!a.control_plane, &a.name).cmp(&(!b.control_plane, &b.name)));
        nodes.truncate(MOST_NODES);
        nodes
    }
}

pub async fn read(outside: &Outside, clock: Clock, out: &Out, progress: &dyn Progress) {
    let links = on_link(outside).await;
    let plan = outside.plan(clock(), &links);
    carry_out(plan, &outside.vantage(), clock, ("probes/probes.json", out), progress).await;
}

/// Of servers that became known only when nodes were read.
pub async fn read_clocks(
    outside: &Outside,
    servers: BTreeSet<String>,
    clock: Clock,
    out: &Out,
    progress: &dyn Progress,
) {
    let fresh = servers.into_iter().filter(|server| !outside.time_servers.contains(server));
    let probes = fresh.take(MOST_TIME_SERVERS).map(|server| ntp(&server)).collect();
    let plan = Plan { probes, at_once: AT_ONCE };
    carry_out(plan, &outside.vantage(), clock, ("probes/clocks.json", out), progress).await;
}

async fn carry_out(
    plan: Plan,
    vantage: &str,
    clock: Clock,
    (file, out): (&str, &Out),
    progress: &dyn Progress,
) {
    if plan.probes.is_empty() {
        return;
    }
    progress.say(&format!("{} probes", plan.probes.len()));
    let answers = run(&plan, PATIENCE, vantage, clock).await;
    if let Ok(text) = serde_json::to_string_pretty(&Record::new(answers)) {
        let _ = out.add(file, text + "\n").await;
    }
}

/// Addresses of nodes that are reached without a router. Only those have an entry in the table of
/// neighbours.
async fn on_link(outside: &Outside) -> BTreeSet<IpAddr> {
    let addresses = outside.chosen().into_iter().filter_map(|node| node.address.parse().ok());
    let ways = addresses.map(|address: IpAddr| async move { (address, way(address).await) });
    let ways = futures::stream::iter(ways).buffer_unordered(ROUTES_AT_ONCE);
    let near =
        ways.filter_map(async |(address, way)| matches!(way, Way::Link(_)).then_some(address));
    near.collect().await
}

fn ntp(server: &str) -> Probe {
    Probe::Ntp(NtpProbe { target: Target::new(server, NTP) })
}
