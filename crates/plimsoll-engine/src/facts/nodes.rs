//! Nodes as the API sees them.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};
use plimsoll_yaml::{Limits, Node};

use super::Facts;
use super::object::Object;

const MCO: &str = "machineconfiguration.openshift.io/";

pub fn node(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        let fact = match kind.as_str() {
            "Ready" => "ready",
            "MemoryPressure" => "memoryPressure",
            "DiskPressure" => "diskPressure",
            "PIDPressure" => "pidPressure",
            _ => continue,
        };
        entity.set(fact, value, evidence);
    }
    let labels = object.node(&["metadata", "labels"]);
    let control_plane = labels.is_some_and(|labels| {
        ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"]
            .iter()
            .any(|label| labels.get(label).is_some())
    });
    entity.set("controlPlane", control_plane, object.cite(&["metadata", "labels"], "labels"));
    let cordoned = object.node(&["spec", "unschedulable"]).and_then(Node::as_bool).unwrap_or(false);
    entity.set("unschedulable", cordoned, object.cite_field(&["spec", "unschedulable"]));
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    machine_config_annotations(object, &mut entity);
    addresses(object, &mut entity);
    vec![(object.id("Node"), entity)]
}

/// What the machine-config daemon last said of this node.
fn machine_config_annotations(object: &Object<'_>, entity: &mut Entity) {
    let Some(annotations) = object.node(&["metadata", "annotations"]) else { return };
    let mut map = BTreeMap::new();
    for (key, fact) in [
        ("currentConfig", "current"),
        ("desiredConfig", "desired"),
        ("state", "state"),
        ("reason", "reason"),
        ("desiredDrain", "desiredDrain"),
        ("lastAppliedDrain", "lastDrain"),
    ] {
        let name = format!("{MCO}{key}");
        if let Some(node) = annotations.get(&name)
            && let Some(text) = node.as_text()
        {
            let at = object.cite(&["metadata", "annotations", &name], format!("{key}: {text}"));
            entity.provenance.insert(format!("mco.{fact}"), vec![at]);
            map.insert(fact.to_string(), Value::from(text));
        }
    }
    if map.contains_key("state") {
        map.entry("reason".into()).or_insert_with(|| Value::from(""));
        entity.facts.insert("mco".into(), Value::Map(map));
    }
}

/// Addresses, and the subnets of the node's primary interface where OVN wrote them down.
fn addresses(object: &Object<'_>, entity: &mut Entity) {
    if let Some(node) = object.node(&["status", "addresses"]) {
        let internal: Vec<String> = node
            .items()
            .iter()
            .filter(|item| item.text_at(&["type"]) == Some("InternalIP"))
            .filter_map(|item| item.text_at(&["address"]).map(str::to_string))
            .collect();
        let at = object.cite_node(node, "/status/addresses", internal.join(", "));
        entity.set("addresses", internal, at.clone());
        let all = node.items().iter().filter_map(|item| item.text_at(&["address"]));
        entity.set("allAddresses", all.map(str::to_string).collect::<Vec<_>>(), at);
    }
    let key = "k8s.ovn.org/node-primary-ifaddr";
    let annotations = object.node(&["metadata", "annotations"]);
    if let Some(text) = annotations.and_then(|a| a.get(key)).and_then(Node::as_text)
        && let Ok(parsed) = plimsoll_yaml::parse(text, &Limits::USER_FILE)
    {
        let subnets: Vec<String> = ["ipv4", "ipv6"]
            .iter()
            .filter_map(|family| parsed.text_at(&[family]))
            .filter_map(|address| address.parse::<ipnet::IpNet>().ok())
            .map(|net| net.trunc().to_string())
            .collect();
        if !subnets.is_empty() {
            entity.set("subnets", subnets, object.cite(&["metadata", "annotations", key], text));
        }
    }
}

/// The control-plane nodes whose objects were read.
pub fn control_plane(base: &FactBase) -> Vec<&Entity> {
    let is_master = |(id, node): &(&EntityId, &Entity)| {
        id.kind == "Node" && node.facts.get("controlPlane") == Some(&Value::Bool(true))
    };
    base.entities.iter().filter(is_master).map(|(_, node)| node).collect()
}

/// How many nodes have a condition Ready whose `field` is as asked; `None` when none has one.
fn count_ready(
    base: &FactBase,
    field: &str,
    asked: impl Fn(&str) -> bool,
) -> Option<(usize, Vec<Evidence>)> {
    let nodes = base.entities.iter().filter(|(id, _)| id.kind == "Node");
    let ready: Vec<(&Entity, &str)> = nodes
        .filter_map(|(_, node)| Some((node, node.facts.get("ready")?.get(field)?.text()?)))
        .collect();
    let found = ready.iter().filter(|(_, value)| asked(value));
    let cited: Vec<Evidence> =
        found.filter_map(|(node, _)| node.provenance.get("ready")?.first().cloned()).collect();
    (!ready.is_empty()).then_some((cited.len(), cited))
}

/// How many nodes of each role joined.
pub fn derive(base: &mut FactBase) {
    let lacks_cni = |message: &str| message.contains("o CNI configuration file");
    let counts = [
        ("nodesWithoutCni", count_ready(base, "message", lacks_cni)),
        ("nodesNotReady", count_ready(base, "status", |status| status != "True")),
    ];
    for (fact, found) in counts {
        let Some((count, cited)) = found else { continue };
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive(fact, count, cited);
    }
    let mut counts = [0i64, 0];
    let mut evidence = Vec::new();
    for (id, entity) in base.entities.iter().filter(|(id, _)| id.kind == "Node") {
        let Some(Value::Bool(control_plane)) = entity.facts.get("controlPlane") else { continue };
        counts[usize::from(*control_plane)] += 1;
        if *control_plane
            && let Some(at) = entity.provenance.get("controlPlane").and_then(|at| at.first())
        {
            let mut at = at.clone();
            at.text = format!("{id} is a control-plane node");
            evidence.push(at);
        }
    }
    if counts == [0, 0] {
        return;
    }
    let listed = ["etcd", "kube-apiserver"].iter().filter_map(|operator| {
        let id = EntityId::cluster_scoped("ClusterOperator", operator);
        let operator = base.entities.get(&id)?;
        match operator.facts.get("nodeStatuses")? {
            Value::List(statuses) => {
                Some((statuses.len(), operator.provenance.get("nodeStatuses")?.clone()))
            }
            _ => None,
        }
    });
    let listed = listed.max_by_key(|(count, _)| *count);
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.derive("workers", counts[0], Vec::new());
    cluster.derive("controlPlaneNodes", counts[1], evidence);
    if let Some((count, at)) = listed {
        cluster.derive("staticPodNodes", count, at);
    }
}
