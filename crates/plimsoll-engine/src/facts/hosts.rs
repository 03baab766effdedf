//! What hosts say together with events, secrets, nodes and each other. What one object says of
//! itself is in `baremetal`.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::absence::Lists;

const NAMESPACE: &str = "openshift-machine-api";
/// What must be alike between hosts of one role for one BMC driver to serve them all.
const COMPARED: [&str; 4] = ["bmcScheme", "bmcPath", "disableCertificateVerification", "bootMode"];

/// Provisioning states that a host stays in until somebody wants something of it.
const AT_REST: [&str; 4] = ["available", "ready", "provisioned", "externally provisioned"];

/// Name, value, and where it follows from.
type Fact = (&'static str, Value, Vec<Evidence>);

pub fn derive(lists: &Lists, base: &mut FactBase) {
    let hosts: Vec<EntityId> =
        base.entities.keys().filter(|id| id.kind == "BareMetalHost").cloned().collect();
    for id in &hosts {
        let mut found: Vec<Fact> = Vec::new();
        let host = &base.entities[id];
        let event = last_error_event(host);
        found.extend(error_text(host, event.as_ref()));
        found.extend(event);
        found.extend(settled(host));
        found.extend(credentials(lists, base, host));
        found.extend(node_ready(base, host));
        found.extend(differences(base, &hosts, id));
        let host = base.entities.entry(id.clone()).or_default();
        for (fact, value, from) in found {
            host.derive(fact, value, from);
        }
    }
    spare(base, &hosts);
    joining(base);
    shared_addresses(base);
}

fn text<'e>(entity: &'e Entity, fact: &str) -> &'e str {
    entity.facts.get(fact).and_then(Value::text).unwrap_or_default()
}

/// The newest event that tells of an error: the controller clears `status.errorMessage` while it
/// tries again, and the event stays.
fn last_error_event(host: &Entity) -> Option<Fact> {
    let Some(Value::Map(events)) = host.facts.get("events") else { return None };
    let time = |event: &Value| match event.get("last") {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    };
    let newest = events
        .iter()
        .filter(|(reason, _)| reason.ends_with("Error"))
        .max_by_key(|(_, event)| time(event));
    let Some((reason, event)) = newest else {
        let none = BTreeMap::from([("message".into(), "".into()), ("reason".into(), "".into())]);
        return Some(("lastErrorEvent", Value::Map(none), Vec::new()));
    };
    let mut map = match event {
        Value::Map(map) => map.clone(),
        _ => BTreeMap::new(),
    };
    map.insert("reason".into(), reason.as_str().into());
    let from = host.provenance.get(&format!("events.{reason}")).cloned().unwrap_or_default();
    Some(("lastErrorEvent", Value::Map(map), from))
}

/// What the host complains of: its status, or while that is empty its newest event of an error.
fn error_text(host: &Entity, event: Option<&Fact>) -> Option<Fact> {
    let message = text(host, "errorMessage");
    if !message.is_empty() {
        let from = host.provenance.get("errorMessage").cloned().unwrap_or_default();
        return Some(("errorText", message.into(), from));
    }
    let (_, event, from) = event?;
    Some(("errorText", event.get("message")?.clone(), from.clone()))
}

/// Whether its provisioning state is one that a host rests in.
fn settled(host: &Entity) -> Option<Fact> {
    let state = host.facts.get("state")?.text()?;
    let from = host.provenance.get("state").cloned().unwrap_or_default();
    Some(("settled", AT_REST.contains(&state).into(), from))
}

/// Whether the secret that the host names is there, and which keys it has. Only a list proves that
/// there is none; most gathers have no secrets of this namespace.
fn credentials(lists: &Lists, base: &FactBase, host: &Entity) -> Option<Fact> {
    let name = text(host, "credentialsName");
    let from = host.provenance.get("credentialsName").cloned().unwrap_or_default();
    if name.is_empty() {
        return None;
    }
    let secret = base.entities.get(&EntityId::namespaced("Secret", NAMESPACE, name));
    match secret.and_then(|secret| secret.facts.get("keys")) {
        Some(keys) => Some(("credentialKeys", keys.clone(), from)),
        None if lists.prove("core", "secrets", Some(NAMESPACE)) => {
            Some(("credentialKeys", Value::List(Vec::new()), from))
        }
        None => None,
    }
}

fn node_ready(base: &FactBase, host: &Entity) -> Option<Fact> {
    let node = base.entities.get(&EntityId::cluster_scoped("Node", text(host, "node")))?;
    let status = node.facts.get("ready")?.get("status")?.text()?;
    let from = node.provenance.get("ready").cloned().unwrap_or_default();
    Some(("nodeReady", Value::from(status == "True"), from))
}

/// In what this host differs from the hosts of its role that are well, where those agree.
fn differences(base: &FactBase, hosts: &[EntityId], id: &EntityId) -> Option<Fact> {
    let own = &base.entities[id];
    own.facts.get("state")?;
    let well = |host: &&Entity| {
        text(host, "errorType").is_empty() && AT_REST.contains(&text(host, "state"))
    };
    let others: Vec<&Entity> = hosts
        .iter()
        .filter(|other| *other != id)
        .map(|other| &base.entities[other])
        .filter(well)
        .filter(|other| other.facts.get("controlPlane") == own.facts.get("controlPlane"))
        .collect();
    let mut differs = Vec::new();
    let mut from = Vec::new();
    for fact in COMPARED {
        let (Some(first), Some(mine)) =
            (others.first().and_then(|other| other.facts.get(fact)), own.facts.get(fact))
        else {
            continue;
        };
        if mine != first && others.iter().all(|other| other.facts.get(fact) == Some(first)) {
            differs.push(fact);
            from.extend(own.provenance.get(fact).into_iter().flatten().cloned());
            from.extend(others[0].provenance.get(fact).into_iter().flatten().cloned());
        }
    }
    Some(("siblingsDiffer", differs.into(), from))
}

/// Hosts that no Machine uses: what a MachineSet can still grow into.
fn spare(base: &mut FactBase, hosts: &[EntityId]) {
    let known: Vec<&Entity> = hosts
        .iter()
        .map(|id| &base.entities[id])
        .filter(|host| host.facts.contains_key("consumer"))
        .collect();
    if known.is_empty() {
        return;
    }
    let spare = known.iter().filter(|host| text(host, "consumer").is_empty()).count();
    base.entities.entry(EntityId::cluster()).or_default().derive("spareHosts", spare, Vec::new());
}

/// Machines that are written and have no node yet, beside what lets them in.
fn joining(base: &mut FactBase) {
    let id = EntityId::namespaced("Secret", NAMESPACE, "worker-user-data");
    let known: Vec<(&EntityId, &Entity)> = base
        .entities
        .iter()
        .filter(|(id, one)| match id.kind.as_str() {
            "BareMetalHost" => one.facts.contains_key("state"),
            "Machine" => one.facts.contains_key("phase"),
            _ => false,
        })
        .collect();
    if known.is_empty() || !base.entities.contains_key(&id) {
        return;
    }
    let waits = |(id, one): &&(&EntityId, &Entity)| match id.kind.as_str() {
        "BareMetalHost" => {
            text(one, "state") == "provisioned"
                && one.facts.get("joined") == Some(&Value::Bool(false))
        }
        _ => text(one, "phase") == "Provisioned" && text(one, "node").is_empty(),
    };
    let names: BTreeSet<String> =
        known.iter().filter(waits).map(|(id, _)| id.name.clone()).collect();
    let names: Vec<String> = names.into_iter().collect();
    base.entities.entry(id).or_default().derive("joining", names, Vec::new());
}

/// Nodes that report an address which another node reports too.
fn shared_addresses(base: &mut FactBase) {
    let mut users: BTreeMap<String, BTreeSet<EntityId>> = BTreeMap::new();
    for (id, entity) in base.entities.iter().filter(|(id, _)| id.kind == "Node") {
        for address in entity.facts.get("addresses").into_iter().flat_map(Value::texts) {
            users.entry(address.to_string()).or_default().insert(id.clone());
        }
    }
    let nodes: BTreeSet<EntityId> = users.values().flatten().cloned().collect();
    for id in nodes {
        let others: BTreeSet<&str> = users
            .values()
            .filter(|users| users.contains(&id))
            .flatten()
            .filter(|other| **other != id)
            .map(|other| other.name.as_str())
            .collect();
        let others: Vec<&str> = others.into_iter().collect();
        let entity = base.entities.entry(id).or_default();
        let from = entity.provenance.get("addresses").cloned().unwrap_or_default();
        entity.derive("sharesAddressWith", others, from);
    }
}
