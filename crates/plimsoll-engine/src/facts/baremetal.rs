//! BareMetalHosts and Machines. Both live in openshift-machine-api and are written without it.

use plimsoll_model::{Entity, EntityId, FactBase, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::object::Object;

pub fn host(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (path, fact) in [
        (&["status", "provisioning", "state"][..], "state"),
        (&["status", "operationalStatus"], "operationalStatus"),
        (&["status", "errorType"], "errorType"),
        (&["status", "errorMessage"], "errorMessage"),
        (&["spec", "bmc", "address"], "bmcAddress"),
        (&["status", "provisioning", "bootMode"], "bootMode"),
    ] {
        // A host that has a status and no error field has no error.
        let has_status = object.node(&["status"]).is_some();
        match object.text(path) {
            Some(text) => entity.set(fact, text, object.cite_field(path)),
            None if has_status && fact.starts_with("error") => {
                entity.set(fact, "", object.cite_field(path));
            }
            None => {}
        }
    }
    if let Some(powered) = object.node(&["status", "poweredOn"]).and_then(Node::as_bool) {
        entity.set("poweredOn", powered, object.cite_field(&["status", "poweredOn"]));
    }
    if let Some(online) = object.node(&["spec", "online"]).and_then(Node::as_bool) {
        entity.set("online", online, object.cite_field(&["spec", "online"]));
    }
    if let Some(count) = object.int(&["status", "errorCount"]) {
        entity.set("errorCount", count, object.cite_field(&["status", "errorCount"]));
    }
    for (step, started, ended) in [
        ("register", "registerStarted", "registerEnded"),
        ("inspect", "inspectStarted", "inspectEnded"),
        ("provision", "provisionStarted", "provisionEnded"),
    ] {
        for (edge, fact) in [("start", started), ("end", ended)] {
            let path = ["status", "operationHistory", step, edge];
            if let Some(time) = object.time(&path) {
                entity.set(fact, time, object.cite_field(&path));
            }
        }
    }
    if let Some(updated) = object.time(&["status", "lastUpdated"]) {
        entity.set("lastUpdated", updated, object.cite_field(&["status", "lastUpdated"]));
    }
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    let label = object.text(&["metadata", "labels", "installer.openshift.io/role"]);
    let consumer = object.text(&["spec", "consumerRef", "name"]).unwrap_or_default();
    entity.set("consumer", consumer, object.cite_field(&["spec", "consumerRef", "name"]));
    let control_plane = label == Some("control-plane") || consumer.contains("-master-");
    entity.set("controlPlane", control_plane, object.cite(&["metadata", "labels"], "role"));
    vec![(object.id("BareMetalHost"), entity)]
}

pub fn machine(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (path, fact) in [
        (&["status", "phase"][..], "phase"),
        (&["status", "errorMessage"], "errorMessage"),
        (&["status", "nodeRef", "name"], "node"),
    ] {
        if let Some(text) = object.text(path) {
            entity.set(fact, text, object.cite_field(path));
        }
    }
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    // `namespace/name` of the BareMetalHost behind the Machine.
    let annotation = ["metadata", "annotations", "metal3.io/BareMetalHost"];
    if let Some(host) = object.text(&annotation) {
        let host = host.rsplit('/').next().unwrap_or(host).to_string();
        entity.set("host", host, object.cite_field(&annotation));
    }
    vec![(object.id("Machine"), entity)]
}

/// Whether a host's machine became a node: by the Machine's nodeRef, else by name.
pub fn derive(base: &mut FactBase) {
    // Events and logs name nodes too; only the objects say which of them joined.
    let is_object = |(id, entity): &(&EntityId, &Entity)| {
        id.kind == "Node" && entity.facts.contains_key("controlPlane")
    };
    let node_names: Vec<String> =
        base.entities.iter().filter(is_object).map(|(id, _)| id.name.clone()).collect();
    if node_names.is_empty() {
        return;
    }
    let machines: Vec<(String, Option<String>, Option<String>)> = base
        .entities
        .iter()
        .filter(|(id, _)| id.kind == "Machine")
        .map(|(id, entity)| {
            let fact =
                |name: &str| entity.facts.get(name).and_then(Value::text).map(str::to_string);
            (id.name.clone(), fact("host"), fact("node"))
        })
        .collect();
    let hosts: Vec<EntityId> =
        base.entities.keys().filter(|id| id.kind == "BareMetalHost").cloned().collect();
    for id in hosts {
        let consumer =
            base.entities[&id].facts.get("consumer").and_then(Value::text).unwrap_or_default();
        let machine = machines
            .iter()
            .find(|(name, host, _)| host.as_deref() == Some(&id.name) || name == consumer);
        let by_machine = machine.and_then(|(_, _, node)| node.clone());
        let by_name = node_names
            .iter()
            .find(|node| **node == id.name || node.split('.').next() == Some(id.name.as_str()))
            .cloned();
        // A nodeRef outweighs a Node whose file was lost, and only a Machine without one proves that
        // its host never joined: nodes are gathered a file each.
        let node = by_machine.or(by_name);
        if node.is_none() && machine.is_none() {
            continue;
        }
        let entity = base.entities.entry(id).or_default();
        let from = entity.provenance.get("state").cloned().unwrap_or_default();
        entity.derive("joined", node.is_some(), from);
        if let Some(node) = node {
            entity.derive("node", node, Vec::new());
        }
    }
}
