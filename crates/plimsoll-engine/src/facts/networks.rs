//! The networks of the cluster side by side: which of them overlap, which VIPs are taken.

use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::Facts;
use super::object::{Object, texts};

/// What OVN-Kubernetes takes for itself unless it is told otherwise, and the field that tells.
const INTERNAL: &[(&str, &str)] =
    &[("internalJoinSubnet", "100.64.0.0/16"), ("internalTransitSwitchSubnet", "100.88.0.0/16")];

fn infrastructure() -> EntityId {
    EntityId::cluster_scoped("Infrastructure", "cluster")
}

/// config.openshift.io Network: the networks of pods and services.
pub fn configured(object: &Object<'_>) -> Facts {
    let mut infra = Entity::default();
    let part = if object.node(&["status", "clusterNetwork"]).is_some() { "status" } else { "spec" };
    let list = object.node(&[part, "clusterNetwork"]);
    let pods: Vec<String> = list
        .map(plimsoll_yaml::Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.text_at(&["cidr"]).map(str::to_string))
        .collect();
    let services = texts(object.node(&[part, "serviceNetwork"]));
    for (fact, field, values) in [
        ("clusterNetworks", "clusterNetwork", pods),
        ("serviceNetworks", "serviceNetwork", services),
    ] {
        let at = object.cite(&[part, field], format!("{field}: {}", values.join(", ")));
        infra.set(fact, values, at);
    }
    vec![(infrastructure(), infra)]
}

/// operator.openshift.io Network: what OVN-Kubernetes uses inside.
pub fn internal(object: &Object<'_>) -> Facts {
    let default = ["spec", "defaultNetwork"];
    if object.text(&[default[0], default[1], "type"]) != Some("OVNKubernetes") {
        return Vec::new();
    }
    let subnets: Vec<String> = INTERNAL
        .iter()
        .map(|(field, usual)| {
            let path = [default[0], default[1], "ovnKubernetesConfig", "ipv4", field];
            object.text(&path).unwrap_or(usual).to_string()
        })
        .collect();
    let mut infra = Entity::default();
    let at = object.cite(&default, format!("internal subnets: {}", subnets.join(", ")));
    infra.set("internalSubnets", subnets, at);
    vec![(infrastructure(), infra)]
}

pub fn derive(base: &mut FactBase) {
    let nodes: Vec<(String, Vec<IpAddr>, Vec<Evidence>)> = base
        .entities
        .iter()
        .filter(|(id, node)| id.kind == "Node" && node.facts.contains_key("controlPlane"))
        .map(|(id, node)| {
            let known = node.facts.get("addresses").into_iter().flat_map(Value::texts);
            let from = node.provenance.get("addresses").cloned().unwrap_or_default();
            (id.name.clone(), known.filter_map(|text| text.parse().ok()).collect(), from)
        })
        .collect();
    let Some(infra) = base.entities.get_mut(&infrastructure()) else { return };
    overlaps(infra);
    if !infra.facts.contains_key("platform") {
        return;
    }
    let vips = |fact: &str| -> Vec<IpAddr> {
        let listed = infra.facts.get(fact).into_iter().flat_map(Value::texts);
        listed.filter_map(|text| text.parse().ok()).collect()
    };
    let (api, ingress) = (vips("apiVips"), vips("ingressVips"));
    let mut from: Vec<Evidence> = ["apiVips", "ingressVips", "platform"]
        .iter()
        .filter_map(|fact| infra.provenance.get(*fact))
        .flatten()
        .cloned()
        .collect();
    let shared: Vec<String> =
        api.iter().filter(|vip| ingress.contains(vip)).map(ToString::to_string).collect();
    infra.derive("vipsShared", shared, from.clone());
    if nodes.is_empty() {
        return;
    }
    let mut taken = Vec::new();
    for (name, addresses, at) in &nodes {
        for vip in api.iter().chain(&ingress).filter(|vip| addresses.contains(vip)) {
            taken.push(format!("{vip} ({name})"));
            from.extend(at.iter().cloned());
        }
    }
    infra.derive("vipsOfNodes", taken, from);
}

/// Every pair of networks that share addresses.
fn overlaps(infra: &mut Entity) {
    if !infra.facts.contains_key("clusterNetworks") {
        return;
    }
    let mut all: Vec<(IpNet, &str)> = Vec::new();
    let mut from: Vec<Evidence> = Vec::new();
    for (fact, whose) in [
        ("machineNetworks", "machines"),
        ("clusterNetworks", "pods"),
        ("serviceNetworks", "services"),
        ("internalSubnets", "OVN itself"),
    ] {
        let listed = infra.facts.get(fact).into_iter().flat_map(Value::texts);
        all.extend(listed.filter_map(|text| text.parse().ok()).map(|net| (net, whose)));
        from.extend(infra.provenance.get(fact).into_iter().flatten().cloned());
    }
    let mut found = Vec::new();
    for (position, (net, whose)) in all.iter().enumerate() {
        for (other, others) in &all[position + 1..] {
            if net.contains(&other.network()) || other.contains(&net.network()) {
                found.push(format!("{net} ({whose}) and {other} ({others})"));
            }
        }
    }
    infra.derive("overlaps", found, from);
}
