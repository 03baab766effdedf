//! What answers from outside: the API itself (`probes/api.json`), and names, ports, certificates and
//! clocks (`probes/probes.json`).
//!
//! What a probe did not reach tells only of the way from its vantage. So every fact says from where
//! it was seen, and a machine is called silent only where the same vantage reaches another.

mod endpoints;
mod machines;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::snapshot::Gap;
use plimsoll_model::{EntityId, Evidence, FactBase, Snapshot, Value};

use read::{Attempt, Found, Probe};

/// What is asked of sources.
pub const FILES: &str = "probes/*.json";

type Map = BTreeMap<String, Value>;

pub fn derive(snapshot: &Snapshot, base: &mut FactBase, problems: &mut Vec<(usize, Gap)>) {
    let read = read::files(snapshot, problems);
    api(&read.attempts, base);
    if read.probes.is_empty() {
        return;
    }
    let known = Known::of(base, &read.probes);
    endpoints::derive(&read.probes, &known, base);
    machines::derive(&read.probes, &known, base);
    conflicts(&read.probes, &known, base);
}

/// What the cluster is, as far as it takes to tell probes apart.
struct Known {
    /// `lab.example.com`
    domain: Option<String>,
    api_vips: Vec<IpAddr>,
    /// Addresses of one node only.
    nodes: BTreeMap<IpAddr, String>,
}

impl Known {
    fn of(base: &FactBase, probes: &[Probe]) -> Self {
        let infra = base.entities.get(&infrastructure());
        let list = |fact: &str| -> Vec<IpAddr> {
            let listed = infra.and_then(|infra| infra.facts.get(fact));
            let texts = listed.into_iter().flat_map(Value::texts);
            texts.filter_map(|text| text.parse().ok()).collect()
        };
        let below = |prefix: &str| {
            let hosts = probes.iter().map(|probe| probe.host.as_str());
            hosts.filter_map(|host| host.strip_prefix(prefix)).next().map(str::to_string)
        };
        let mut nodes: BTreeMap<IpAddr, Option<String>> = BTreeMap::new();
        for (id, node) in base.entities.iter().filter(|(id, _)| id.kind == "Node") {
            let own = node.facts.get("addresses").into_iter().flat_map(Value::texts);
            for address in own.filter_map(|text| text.parse().ok()) {
                let owner = Some(id.name.clone());
                nodes.entry(address).and_modify(|known| *known = None).or_insert(owner);
            }
        }
        let api_vips = list("apiVips");
        let (all, vips) = ([list("ingressVips"), api_vips.clone()].concat(), api_vips);
        let only = |(address, name): (IpAddr, Option<String>)| Some((address, name?));
        Self {
            domain: below("api-int.").or_else(|| below("api.")),
            nodes: nodes.into_iter().filter_map(only).filter(|(a, _)| !all.contains(a)).collect(),
            api_vips: vips,
        }
    }

    fn node(&self, probe: &Probe) -> Option<&str> {
        let of = |address: IpAddr| self.nodes.get(&address).map(String::as_str);
        probe.address.and_then(of)
    }
}

fn infrastructure() -> EntityId {
    EntityId::cluster_scoped("Infrastructure", "cluster")
}

/// Whether the API answers, and by which way. The first that was tried is the usual one; of each way
/// the last word counts.
fn api(attempts: &[Attempt], base: &mut FactBase) {
    let Some(first) = attempts.first() else { return };
    let way = |attempt: &Attempt| (attempt.vantage.clone(), attempt.server.clone());
    let last_words: BTreeMap<_, bool> =
        attempts.iter().map(|attempt| (way(attempt), attempt.why.is_none())).collect();
    let usual = last_words[&way(first)];
    let works = attempts.iter().find(|attempt| last_words[&way(attempt)]);
    let told = works.unwrap_or(first);
    let why = attempts.iter().rfind(|one| way(one) == way(first) && one.why.is_some());
    let why = why.and_then(|one| one.why.clone()).unwrap_or_default();
    let map: Map = [
        ("answers", works.is_some().into()),
        ("usual", usual.into()),
        ("why", why.into()),
        ("usualServer", first.server.as_str().into()),
        ("server", told.server.as_str().into()),
        ("vantage", told.vantage.as_str().into()),
    ]
    .map(|(key, value): (&str, Value)| (key.to_string(), value))
    .into();
    let from = attempts.iter().map(|attempt| attempt.at.clone()).collect();
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.derive("api", Value::Map(map), from);
}

/// Addresses that more than one machine answers for.
fn conflicts(probes: &[Probe], known: &Known, base: &mut FactBase) {
    let mut issuers: BTreeMap<String, (BTreeMap<String, bool>, Vec<Evidence>)> = BTreeMap::new();
    let mut machines: BTreeMap<IpAddr, (Vec<String>, Vec<Evidence>)> = BTreeMap::new();
    for probe in probes {
        match &probe.found {
            Found::Issuers(seen) if !seen.is_empty() && probe.port == Some(6443) => {
                let at = probe.address.map_or(probe.host.clone(), |address| address.to_string());
                let (all, from) = issuers.entry(at).or_default();
                for (issuer, known) in seen {
                    *all.entry(issuer.clone()).or_default() |= known;
                }
                from.push(probe.at.clone());
            }
            Found::Neighbours(seen) => {
                let Some(address) = probe.address else { continue };
                // Two links of ours see one machine each; two on one link are a conflict.
                let on = |device: &str| seen.iter().filter(|(of, _)| of == device).count();
                let (macs, from) = machines.entry(address).or_default();
                for (_, mac) in seen.iter().filter(|(device, _)| on(device) > 1) {
                    if !macs.contains(mac) {
                        macs.push(mac.clone());
                    }
                }
                from.push(probe.at.clone());
            }
            _ => {}
        }
    }
    let mut said = Vec::new();
    let mut cited = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for (address, (all, from)) in &issuers {
        // An authority that is renewed has two for a while, and clients know both.
        let strangers = all.values().filter(|known| !**known).count();
        let own = usize::from(strangers < all.len());
        if strangers + own > 1 {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            said.push(format!("{address}: certificates of {}", names.join(" and of ")));
            cited.extend(from.iter().cloned());
        }
        seen.extend(all.keys().cloned());
    }
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    let from = issuers.values().flat_map(|(_, from)| from.clone()).collect();
    if !issuers.is_empty() {
        seen.sort();
        seen.dedup();
        cluster.derive("issuersSeen", seen, from);
    }
    let strangers = said.len();
    // A load balancer of somebody's own may be a pair of machines.
    let infra = base.entities.get(&infrastructure());
    let balancer = infra.and_then(|infra| infra.facts.get("loadBalancer")?.text());
    let is_ours = balancer != Some("UserManaged");
    let mut twice = Vec::new();
    let mut from_links = Vec::new();
    let asked = !machines.is_empty();
    for (address, (macs, from)) in machines {
        let node = known.nodes.get(&address);
        if macs.len() > 1 {
            let text = format!("{address}: {}", macs.join(" and "));
            twice.push(text.clone());
            if node.is_none() && is_ours {
                said.push(text);
                cited.extend(from.iter().cloned());
            }
        }
        if let Some(node) = node {
            let id = EntityId::cluster_scoped("Node", node);
            let node = base.entities.entry(id).or_default();
            node.derive("machinesAtAddress", macs, from.clone());
        }
        from_links.extend(from);
    }
    if asked {
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("neighbourConflicts", twice, from_links);
    }
    if !said.is_empty() {
        let infra = base.entities.entry(infrastructure()).or_default();
        infra.derive("vipConflicts", said, cited.clone());
        infra.derive("vipStrangers", strangers, cited);
    }
}
