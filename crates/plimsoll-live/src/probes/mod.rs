//! Which probes a cluster calls for: by the names and addresses that its API told, or, where that is
//! silent, by the name that the kubeconfig calls it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::Time;
use plimsoll_probe::{
    Bundle, DnsProbe, Headers, HttpProbe, IGNITION, NeighbourProbe, Node, Patience, Plan, Probe,
    Record, Resolver, Target, TlsProbe, TlsTriesProbe, cluster_names, run,
};

use crate::archive::Out;
use crate::{Clock, Progress};

const API: u16 = 6443;
const MACHINE_CONFIG: u16 = 22623;
const INGRESS: u16 = 443;
const KUBELET: u16 = 10250;
const SSH: u16 = 22;
const AT_ONCE: usize = 32;
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(300);
const PATIENCE: Patience =
    Patience { probe: Duration::from_secs(5), budget: Duration::from_secs(45) };
/// Nodes that are probed; of a large cluster, those of the control plane come first.
const MOST_NODES: usize = 50;

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
    /// Certificates of authorities, by who trusts them.
    pub bundles: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct NodeAt {
    pub name: String,
    pub address: String,
    pub control_plane: bool,
}

/// The domain of the cluster behind `api.lab.example.com`.
pub fn domain_of(host: &str) -> Option<String> {
    let domain = host.strip_prefix("api.").or_else(|| host.strip_prefix("api-int."))?;
    domain.contains('.').then(|| domain.to_string())
}

impl Outside {
    fn plan(&self, now: Time) -> Plan {
        let internal = self.domain.as_ref().map(|domain| format!("api-int.{domain}"));
        let mut probes = self.of_the_api(internal.as_deref());
        probes.extend(self.of_machine_configs(internal.as_deref()));
        let mut nodes = self.nodes.clone();
        nodes.sort_by(|a, b| (!a.control_plane, &a.name).cmp(&(!b.control_plane, &b.name)));
        nodes.truncate(MOST_NODES);
        for node in &nodes {
            for port in [KUBELET, SSH] {
                probes.push(Probe::Tcp(Target::new(&node.address, port)));
            }
        }
        if let Some(domain) = &self.domain {
            // A name that nobody has asked for before, so that no cache answers.
            let label = format!("plimsoll-{:x}", now.as_second());
            probes.push(self.tls(&format!("{label}.apps.{domain}"), INGRESS, None));
            let known: Vec<Node> = nodes
                .iter()
                .map(|node| Node {
                    name: node.name.clone(),
                    addresses: node.address.parse().into_iter().collect(),
                })
                .collect();
            let names = cluster_names(domain, &known, &label);
            probes.extend(names.into_iter().map(|name| {
                Probe::Dns(DnsProbe { question: name.question, resolver: Resolver::System })
            }));
        }
        Plan { probes, at_once: AT_ONCE }
    }

    fn of_the_api(&self, internal: Option<&str>) -> Vec<Probe> {
        let mut hosts: BTreeSet<(String, u16)> = self.server.iter().cloned().collect();
        hosts.extend(self.domain.iter().map(|domain| (format!("api.{domain}"), API)));
        hosts.extend(internal.map(|name| (name.to_string(), API)));
        let mut probes = Vec::new();
        for (host, port) in hosts {
            let ready = get(&host, port, None, "/readyz", Headers::default());
            probes.push(self.tls(&host, port, None));
            probes.push(Probe::HttpDate(ready.clone()));
            probes.push(Probe::Http(ready));
        }
        for vip in &self.api_vips {
            probes.push(self.tls(vip, API, internal));
            probes.push(Probe::TlsTries(TlsTriesProbe {
                target: Target::new(vip, API),
                name: internal.map(str::to_string),
                tries: TRIES,
                pause: PAUSE,
            }));
        }
        for vip in self.api_vips.iter().chain(&self.ingress_vips) {
            if let Ok(address) = vip.parse::<IpAddr>() {
                let (tries, pause) = (TRIES, PAUSE);
                let forget = false;
                probes.push(Probe::Neighbour(NeighbourProbe {
                    address,
                    touch: API,
                    tries,
                    pause,
                    forget,
                }));
            }
        }
        probes
    }

    fn of_machine_configs(&self, internal: Option<&str>) -> Vec<Probe> {
        let mut servers: BTreeSet<&str> = self.api_vips.iter().map(String::as_str).collect();
        servers.extend(internal);
        let masters = self.nodes.iter().filter(|node| node.control_plane);
        servers.extend(masters.map(|node| node.address.as_str()));
        let mut probes = Vec::new();
        for host in servers {
            let headers = Headers(vec![(IGNITION.0.into(), IGNITION.1.into())]);
            probes.push(self.tls(host, MACHINE_CONFIG, internal));
            probes.push(Probe::Http(get(
                host,
                MACHINE_CONFIG,
                internal,
                "/config/worker",
                headers,
            )));
        }
        probes
    }

    fn tls(&self, host: &str, port: u16, name: Option<&str>) -> Probe {
        let bundles: Arc<[Bundle]> = self
            .bundles
            .iter()
            .map(|(name, pem)| Bundle::from_pem(name.clone(), pem.as_bytes()))
            .collect();
        let target = Target::new(host, port);
        Probe::Tls(TlsProbe { target, name: name.map(str::to_string), bundles })
    }
}

fn get(host: &str, port: u16, name: Option<&str>, path: &str, headers: Headers) -> HttpProbe {
    let name = name.map(str::to_string);
    HttpProbe { target: Target::new(host, port), name, tls: true, path: path.into(), headers }
}

pub async fn read(
    outside: &Outside,
    vantage: &str,
    clock: Clock,
    out: &Out,
    progress: &dyn Progress,
) {
    let plan = outside.plan(clock());
    if plan.probes.is_empty() {
        return;
    }
    progress.say(&format!("{} probes", plan.probes.len()));
    let answers = run(&plan, PATIENCE, vantage, clock).await;
    if let Ok(text) = serde_json::to_string_pretty(&Record::new(answers)) {
        let _ = out.add("probes/probes.json", text + "\n").await;
    }
}
