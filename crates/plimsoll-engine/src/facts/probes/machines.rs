//! Machines seen from outside: which of them answer, and whose clock is off.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_model::{EntityId, Evidence, FactBase, Value};

use super::read::{Found, Probe};
use super::{Known, Map};

/// A kubelet's port and ssh: every node listens on both.
const PORTS: [u16; 2] = [10250, 22];
/// What masters need of each other's etcd.
const ETCD: [u16; 2] = [2379, 2380];
/// A clock that is told less exactly is no clock.
const ROUGHEST: f64 = 30.0;
/// Clocks that agree.
const SAME: f64 = 60.0;

pub fn derive(probes: &[Probe], known: &Known, base: &mut FactBase) {
    answers(probes, known, base);
    etcd_ports(probes, known, base);
    clocks(probes, known, base);
}

/// What one vantage heard of one node.
#[derive(Default)]
struct Heard<'p> {
    answered: Vec<&'p Probe>,
    silent: Vec<&'p Probe>,
}

fn answers(probes: &[Probe], known: &Known, base: &mut FactBase) {
    let mut by_vantage: BTreeMap<&str, BTreeMap<&str, Heard<'_>>> = BTreeMap::new();
    for probe in probes {
        let Some(node) = known.node(probe) else { continue };
        let heard = by_vantage.entry(&probe.vantage).or_default().entry(node).or_default();
        match probe.reach() {
            // Who refuses is there.
            Some("open" | "refused" | "lost") => heard.answered.push(probe),
            Some("timed-out" | "no-route") => heard.silent.push(probe),
            _ => {}
        }
    }
    let mut found: BTreeMap<&str, (bool, Vec<Evidence>)> = BTreeMap::new();
    for (vantage, nodes) in &by_vantage {
        for (node, heard) in nodes {
            let verdict = if !heard.answered.is_empty() {
                (true, &heard.answered)
            } else if is_silent(vantage, node, nodes, known, base) {
                (false, &heard.silent)
            } else {
                continue;
            };
            let from = verdict.1.iter().map(|probe| probe.at.clone()).collect();
            let entry = found.entry(node).or_insert_with(|| (verdict.0, Vec::new()));
            // One vantage that reaches it outweighs those that do not.
            if verdict.0 >= entry.0 {
                *entry = (verdict.0, from);
            }
        }
    }
    for (node, (answers, from)) in found {
        let id = EntityId::cluster_scoped("Node", node);
        base.entities.entry(id).or_default().derive("answers", answers, from);
    }
}

/// Ports of a master's etcd that another node gets nothing from, though the master answers it on others: who
/// refuses has no etcd, and who says nothing at all is away.
fn etcd_ports(probes: &[Probe], known: &Known, base: &mut FactBase) {
    let is_of_etcd = |probe: &Probe| probe.port.is_some_and(|port| ETCD.contains(&port));
    let answered = |probe: &Probe| matches!(probe.reach(), Some("open" | "refused" | "lost"));
    let mut heard: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    let inside = probes.iter().filter(|probe| probe.is_inside());
    let inside = inside.filter_map(|probe| Some((known.node(probe)?, probe)));
    let inside: Vec<(&str, &Probe)> = inside.collect();
    for (node, probe) in inside.iter().filter(|(_, probe)| !is_of_etcd(probe)) {
        *heard.entry((node, &probe.vantage)).or_default() |= answered(probe);
    }
    let mut found: BTreeMap<&str, (Vec<String>, Vec<Evidence>)> = BTreeMap::new();
    for (node, probe) in inside.iter().filter(|(_, probe)| is_of_etcd(probe)) {
        let blocked = match probe.reach() {
            _ if answered(probe) => None,
            Some(why @ ("timed-out" | "no-route")) => Some(why),
            _ => continue,
        };
        if blocked.is_some() && heard.get(&(node, probe.vantage.as_str())) != Some(&true) {
            continue;
        }
        let (texts, from) = found.entry(node).or_default();
        let vantage = probe.vantage.trim_start_matches("node/");
        let port = probe.port.unwrap_or_default();
        texts.extend(blocked.map(|why| format!("{port} from {vantage}: {why}")));
        from.push(probe.at.clone());
    }
    for (node, (texts, from)) in found {
        let id = EntityId::cluster_scoped("Node", node);
        base.entities.entry(id).or_default().derive("etcdPortsBlocked", texts, from);
    }
}

/// Nothing came from the node, where another one is heard: from a node of the cluster any other, from
/// elsewhere one of the same subnet, and then both ports must have been tried.
fn is_silent(
    vantage: &str,
    node: &str,
    nodes: &BTreeMap<&str, Heard<'_>>,
    known: &Known,
    base: &FactBase,
) -> bool {
    let own = vantage.strip_prefix("node/");
    let Some(heard) = nodes.get(node).filter(|heard| !heard.silent.is_empty()) else {
        return false;
    };
    let tried = |port: &u16| heard.silent.iter().any(|probe| probe.port == Some(*port));
    let mut others = nodes.iter().filter(|(name, heard)| {
        **name != node && Some(**name) != own && !heard.answered.is_empty()
    });
    match own {
        Some(own) => own != node && others.next().is_some(),
        None => {
            let subnets = subnets(node, base);
            let near = |name: &str| {
                known.nodes.iter().any(|(address, of)| {
                    of == name && subnets.iter().any(|subnet| subnet.contains(address))
                })
            };
            PORTS.iter().all(tried) && others.any(|(name, _)| near(name))
        }
    }
}

/// Of the node's own interface, else those machine networks that hold its address.
fn subnets(node: &str, base: &FactBase) -> Vec<IpNet> {
    let nets = |id: &EntityId, fact: &str| -> Vec<IpNet> {
        let listed = base.entities.get(id).and_then(|entity| entity.facts.get(fact));
        let texts = listed.into_iter().flat_map(Value::texts);
        texts.filter_map(|text| text.parse().ok()).collect()
    };
    let id = EntityId::cluster_scoped("Node", node);
    let own = nets(&id, "subnets");
    if !own.is_empty() {
        return own;
    }
    let listed = base.entities.get(&id).and_then(|entity| entity.facts.get("addresses"));
    let addresses: Vec<IpAddr> =
        listed.into_iter().flat_map(Value::texts).filter_map(|text| text.parse().ok()).collect();
    let holds = |net: &IpNet| addresses.iter().any(|address| net.contains(address));
    nets(&super::infrastructure(), "machineNetworks").into_iter().filter(holds).collect()
}

/// One clock against the others. Which of two is wrong nobody knows; most of three do.
fn clocks(probes: &[Probe], known: &Known, base: &mut FactBase) {
    let mut by_vantage: BTreeMap<&str, Vec<(&Probe, f64)>> = BTreeMap::new();
    for probe in probes {
        if let Found::Clock { seconds, within } = probe.found
            && within <= ROUGHEST
        {
            by_vantage.entry(&probe.vantage).or_default().push((probe, seconds));
        }
    }
    for (vantage, heard) in by_vantage {
        let all: Vec<f64> = heard.iter().map(|(_, seconds)| *seconds).collect();
        if let Some(ahead) = most_say(&all) {
            let map = Map::from([
                ("seconds".into(), whole(ahead)),
                ("vantage".into(), vantage.into()),
                ("servers".into(), all.len().into()),
            ]);
            let from = heard.iter().map(|(probe, _)| probe.at.clone()).collect();
            let cluster = base.entities.entry(EntityId::cluster()).or_default();
            cluster.derive("clockOffset", Value::Map(map), from);
        }
        for (probe, seconds) in &heard {
            let Some(node) = known.node(probe) else { continue };
            // We have a clock as well.
            let others = heard.iter().filter(|(other, _)| known.node(other) != Some(node));
            let mut others: Vec<f64> = others.map(|(_, seconds)| *seconds).collect();
            others.push(0.0);
            let Some(right) = most_say(&others).filter(|_| others.len() > 1) else { continue };
            let map = Map::from([
                ("seconds".into(), whole(seconds - right)),
                ("vantage".into(), vantage.into()),
                ("others".into(), others.len().into()),
            ]);
            let id = EntityId::cluster_scoped("Node", node);
            let node = base.entities.entry(id).or_default();
            node.derive("clockOffset", Value::Map(map), vec![probe.at.clone()]);
        }
    }
}

/// What more than half agree on.
fn most_say(clocks: &[f64]) -> Option<f64> {
    let agree = |one: &&f64| {
        let same = clocks.iter().filter(|other| (*other - **one).abs() <= SAME).count();
        same * 2 > clocks.len()
    };
    clocks.iter().find(agree).copied()
}

fn whole(seconds: f64) -> Value {
    // Saturates, and no clock is off by 2^53 seconds.
    #[allow(clippy::cast_possible_truncation)]
    Value::Int(seconds.round() as i64)
}
