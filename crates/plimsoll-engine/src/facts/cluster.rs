//! ClusterVersion and Infrastructure: what this cluster is, and whether it is being changed.

use std::net::IpAddr;

use ipnet::IpNet;
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::Facts;
use super::nodes::control_plane;
use super::object::{Object, show, texts, time};

pub fn cluster_version(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        let fact = match kind.as_str() {
            "Available" => "available",
            "Progressing" => "progressing",
            "Failing" => "failing",
            "ReleaseAccepted" => "releaseAccepted",
            "Upgradeable" => "upgradeable",
            _ => continue,
        };
        entity.set(fact, value, evidence);
    }
    let history = object.node(&["status", "history"]);
    let desired = object.text(&["status", "desired", "version"]);
    if let Some(history) = history {
        let completed =
            history.items().iter().find(|item| item.text_at(&["state"]) == Some("Completed"));
        let at = object.cite_node(history, "/status/history", show_history(history));
        entity.set("installed", completed.is_some(), at.clone());
        let version = completed.and_then(|item| item.text_at(&["version"])).or(desired);
        if let Some(version) = version {
            entity.set("version", version, at.clone());
            if let Some(minor) = minor_of(version) {
                entity.set("minor", minor, at.clone());
            }
        }
        let newest = history.items().first();
        let partial = newest.and_then(|item| item.text_at(&["state"])) == Some("Partial");
        entity.set("updating", partial && completed.is_some(), at.clone());
        if let Some(started) = newest.and_then(|item| item.text_at(&["startedTime"])).and_then(time)
        {
            entity.set("changeStarted", started, at.clone());
        }
        let first = history.items().last();
        let installed = first.filter(|item| item.text_at(&["state"]) == Some("Completed"));
        if let Some(ended) =
            installed.and_then(|item| item.text_at(&["completionTime"])).and_then(time)
        {
            entity.set("installEnded", ended, at.clone());
        }
        if let Some(started) = first.and_then(|item| item.text_at(&["startedTime"])).and_then(time)
        {
            entity.set("installStarted", started, at);
        }
    }
    if let Some(desired) = desired {
        entity.set("desired", desired, object.cite_field(&["status", "desired", "version"]));
    }
    if object.node(&["spec"]).is_some() {
        let wanted = ["version", "image"].iter().find_map(|field| {
            object.text(&["spec", "desiredUpdate", field]).filter(|t| !t.is_empty())
        });
        let at = object.cite_field(&["spec", "desiredUpdate"]);
        entity.set("desiredUpdate", wanted.unwrap_or_default(), at);
    }
    if let Some(id) = object.text(&["spec", "clusterID"]) {
        entity.set("id", id, object.cite_field(&["spec", "clusterID"]));
    }
    vec![(EntityId::cluster(), entity)]
}

fn show_history(history: &plimsoll_yaml::Node) -> String {
    let entries: Vec<String> = history
        .items()
        .iter()
        .map(|item| {
            let field = |key| item.get(key).map(show).unwrap_or_default();
            format!("{} {}", field("version"), field("state"))
        })
        .collect();
    format!("history: {}", entries.join(", "))
}

pub(super) fn minor_of(version: &str) -> Option<i64> {
    version.strip_prefix("4.")?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

pub fn infrastructure(object: &Object<'_>) -> Facts {
    let mut infra = Entity::default();
    let mut cluster = Entity::default();
    let platform = object
        .text(&["status", "platformStatus", "type"])
        .or(object.text(&["status", "platform"]))
        .or(object.text(&["spec", "platformSpec", "type"]));
    if let Some(platform) = platform {
        let at =
            object.cite(&["status", "platformStatus", "type"], format!("platform: {platform}"));
        infra.set("platform", platform, at.clone());
        cluster.set("platform", platform, at);
    }
    if object.node(&["status"]).is_some() {
        for (field, fact) in [
            ("controlPlaneTopology", "topology"),
            ("infrastructureTopology", "infrastructureTopology"),
        ] {
            let topology = object.text(&["status", field]).unwrap_or_default();
            let at = object.cite_field(&["status", field]);
            infra.set(fact, topology, at.clone());
            if fact == "topology" && !topology.is_empty() {
                cluster.set(fact, topology, at);
            }
        }
    }
    for (field, fact) in [("apiServerInternalURI", "apiInternal"), ("apiServerURL", "api")] {
        if let Some(text) = object.text(&["status", field]) {
            infra.set(fact, text, object.cite_field(&["status", field]));
        }
    }
    bare_metal_network(object, &mut infra);
    vec![(object.id("Infrastructure"), infra), (EntityId::cluster(), cluster)]
}

/// VIPs and machine networks, spec before status: the spec is what the operator compares.
fn bare_metal_network(object: &Object<'_>, infra: &mut Entity) {
    let spec = ["spec", "platformSpec", "baremetal"];
    let status = ["status", "platformStatus", "baremetal"];
    let list = |field: &str| -> Option<(Vec<String>, Evidence)> {
        [spec, status].iter().find_map(|base| {
            let path = [base[0], base[1], base[2], field];
            let values = texts(object.node(&path));
            (!values.is_empty()).then(|| {
                let evidence = object.cite(&path, format!("{field}: {}", values.join(", ")));
                (values, evidence)
            })
        })
    };
    for (field, fact) in [("apiServerInternalIPs", "apiVips"), ("ingressIPs", "ingressVips")] {
        if let Some((values, at)) = list(field) {
            infra.set(fact, values, at);
        }
    }
    if object.node(&spec).is_some() || object.node(&status).is_some() {
        let (networks, at) = list("machineNetworks").unwrap_or_else(|| {
            (
                Vec::new(),
                object.cite(
                    &[spec[0], spec[1], spec[2], "machineNetworks"],
                    "machineNetworks: (none)",
                ),
            )
        });
        infra.set("machineNetworks", networks, at);
        let path = ["status", "platformStatus", "baremetal", "loadBalancer", "type"];
        let balancer = object.text(&path).unwrap_or("OpenShiftManagedDefault");
        infra.set("loadBalancer", balancer, object.cite_field(&path));
    }
}

/// Membership of the VIPs in machine networks and in the nodes' own subnets.
pub fn derive(base: &mut FactBase) {
    // Control-plane nodes only: they hold the API VIP. One whose subnet is not known leaves it open.
    let masters = control_plane(base);
    let all_known =
        !masters.is_empty() && masters.iter().all(|node| node.facts.contains_key("subnets"));
    let node_subnets: Vec<(IpNet, Evidence)> = masters
        .iter()
        .flat_map(|node| {
            let at = node.provenance.get("subnets").and_then(|at| at.first()).cloned();
            nets(node.facts.get("subnets"))
                .into_iter()
                .filter_map(move |net| Some((net, at.clone()?)))
        })
        .collect();
    let id = EntityId::cluster_scoped("Infrastructure", "cluster");
    let Some(infra) = base.entities.get_mut(&id) else { return };
    let vips: Vec<IpAddr> = ["apiVips", "ingressVips"]
        .iter()
        .filter_map(|fact| infra.facts.get(*fact))
        .flat_map(addresses)
        .collect();
    if vips.is_empty() || !infra.facts.contains_key("machineNetworks") {
        return;
    }
    let networks = nets(infra.facts.get("machineNetworks"));
    let mut from: Vec<Evidence> = ["apiVips", "ingressVips", "machineNetworks"]
        .iter()
        .filter_map(|fact| infra.provenance.get(*fact))
        .flatten()
        .cloned()
        .collect();
    from.dedup();
    // The operator skips its check while the list is empty (clusters older than 4.16).
    let outside: Vec<IpAddr> = if networks.is_empty() {
        Vec::new()
    } else {
        vips.iter().filter(|vip| !networks.iter().any(|net| net.contains(*vip))).copied().collect()
    };
    let shown: Vec<String> = outside.iter().map(ToString::to_string).collect();
    infra.derive("vipsOutside", shown, from.clone());
    let on_nodes = |vip: &IpAddr| node_subnets.iter().find(|(net, _)| net.contains(vip));
    // The first VIP of each kind is fixed for good; a second one can be changed.
    let firsts = ["apiVips", "ingressVips"].iter().filter_map(|fact| {
        infra.facts.get(*fact).and_then(|vips| addresses(vips).first().copied())
    });
    let first_outside = firsts.collect::<Vec<_>>().iter().any(|vip| outside.contains(vip));
    infra.derive("firstVipOutside", first_outside, from.clone());
    let found_all = !outside.is_empty() && outside.iter().all(|vip| on_nodes(vip).is_some());
    if all_known || found_all {
        let homes: Vec<_> = outside.iter().filter_map(on_nodes).collect();
        let mut subnets: Vec<String> = homes.iter().map(|(net, _)| net.to_string()).collect();
        subnets.sort();
        subnets.dedup();
        from.extend(homes.iter().map(|(_, at)| at.clone()));
        infra.derive(
            "vipsOutsideOnNodeSubnet",
            homes.len() == outside.len() && !outside.is_empty(),
            from.clone(),
        );
        infra.derive("nodeSubnetsOfVips", subnets, from.clone());
        // What holds each of them at least: the subnet of a node, or nothing but the address itself.
        let home = |vip: &IpAddr| on_nodes(vip).map_or_else(|| IpNet::from(*vip), |(net, _)| *net);
        let mut networks: Vec<String> =
            outside.iter().map(home).map(|net| net.to_string()).collect();
        networks.sort();
        networks.dedup();
        infra.derive("networksOfVips", networks, from);
    }
}

fn addresses(value: &Value) -> Vec<IpAddr> {
    value.texts().filter_map(|text| text.parse().ok()).collect()
}

fn nets(value: Option<&Value>) -> Vec<IpNet> {
    value.into_iter().flat_map(Value::texts).filter_map(|text| text.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_version_is_read_from_any_build() {
        assert_eq!(minor_of("4.18.14"), Some(18));
        assert_eq!(minor_of("4.9.0-0.ci-2021"), Some(9));
        assert_eq!(minor_of("unknown"), None);
    }
}
