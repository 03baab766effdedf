//! BareMetalHosts, Machines and what they come from. All live in openshift-machine-api and are
//! written without it. What only several of them say together is in `hosts`.

use plimsoll_model::{Entity, EntityId, FactBase, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::object::Object;

pub fn host(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    let has_status = object.node(&["status"]).is_some();
    for (path, fact) in [
        (&["status", "provisioning", "state"][..], "state"),
        (&["status", "provisioning", "ID"], "provisioningId"),
        (&["status", "operationalStatus"], "operationalStatus"),
        (&["status", "errorType"], "errorType"),
        (&["status", "errorMessage"], "errorMessage"),
        (&["status", "provisioning", "bootMode"], "bootMode"),
        (&["status", "hardware", "systemVendor", "serialNumber"], "serial"),
    ] {
        match object.text(path) {
            Some(text) => entity.set(fact, text, object.cite_field(path)),
            // A host that has a status and no error field has no error.
            None if has_status && fact.starts_with("error") => {
                entity.set(fact, "", object.cite_field(path));
            }
            None => {}
        }
    }
    for (path, fact) in [(["status", "poweredOn"], "poweredOn"), (["spec", "online"], "online")] {
        if let Some(value) = object.node(&path).and_then(Node::as_bool) {
            entity.set(fact, value, object.cite_field(&path));
        }
    }
    if let Some(count) = object.int(&["status", "errorCount"]) {
        entity.set("errorCount", count, object.cite_field(&["status", "errorCount"]));
    }
    controller(object, &mut entity);
    history(object, &mut entity);
    hardware(object, &mut entity);
    for (annotation, fact) in [("paused", "paused"), ("detached", "detached")] {
        let path = ["metadata", "annotations", &format!("baremetalhost.metal3.io/{annotation}")];
        entity.set(fact, object.node(&path).is_some(), object.cite_field(&path));
    }
    let label = object.text(&["metadata", "labels", "installer.openshift.io/role"]);
    let consumer = object.text(&["spec", "consumerRef", "name"]).unwrap_or_default();
    entity.set("consumer", consumer, object.cite_field(&["spec", "consumerRef", "name"]));
    let control_plane = label == Some("control-plane") || consumer.contains("-master-");
    entity.set("controlPlane", control_plane, object.cite(&["metadata", "labels"], "role"));
    vec![(object.id("BareMetalHost"), entity)]
}

/// How the management controller is reached, and as whom.
fn controller(object: &Object<'_>, entity: &mut Entity) {
    if object.node(&["spec", "bmc"]).is_none() {
        return;
    }
    let name = ["spec", "bmc", "credentialsName"];
    let credentials = object.text(&name).unwrap_or_default();
    entity.set("credentialsName", credentials, object.cite_field(&name));
    let unverified = ["spec", "bmc", "disableCertificateVerification"];
    let value = object.node(&unverified).and_then(Node::as_bool).unwrap_or(false);
    entity.set("disableCertificateVerification", value, object.cite_field(&unverified));
    let path = ["spec", "bmc", "address"];
    let address = object.text(&path).unwrap_or_default();
    let at = object.cite_field(&path);
    entity.set("bmcAddress", address, at.clone());
    // A bare host or host:port is IPMI.
    let (scheme, rest) = address.split_once("://").unwrap_or(("ipmi", address));
    let (host, system) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    entity.set("bmcScheme", scheme, at.clone());
    entity.set("bmcHost", host, at.clone());
    entity.set("bmcPath", system, at);
}

/// When the host entered and left each step of its life.
fn history(object: &Object<'_>, entity: &mut Entity) {
    for (step, started, ended) in [
        ("register", "registerStarted", "registerEnded"),
        ("inspect", "inspectStarted", "inspectEnded"),
        ("provision", "provisionStarted", "provisionEnded"),
        ("deprovision", "deprovisionStarted", "deprovisionEnded"),
    ] {
        for (edge, fact) in [("start", started), ("end", ended)] {
            set_time(object, entity, &["status", "operationHistory", step, edge], fact);
        }
    }
    set_time(object, entity, &["status", "lastUpdated"], "lastUpdated");
    set_time(object, entity, &["metadata", "creationTimestamp"], "created");
    set_time(object, entity, &["metadata", "deletionTimestamp"], "deleted");
}

/// What the inspection found that matters when the host is looked for or cannot be written.
fn hardware(object: &Object<'_>, entity: &mut Entity) {
    let path = ["status", "hardware"];
    let Some(found) = object.node(&path) else { return };
    let ports = found.get("nics").map(Node::items).unwrap_or_default();
    let addresses: Vec<String> =
        ports.iter().filter_map(|port| port.text_at(&["ip"]).map(str::to_string)).collect();
    let shown = format!("addresses: {}", addresses.join(", "));
    entity.set("addresses", addresses, object.cite(&["status", "hardware", "nics"], shown));
    let disks = found.get("storage").map(Node::items).unwrap_or_default().len();
    let at = object.cite(&["status", "hardware", "storage"], format!("disks: {disks}"));
    entity.set("disks", disks, at);
}

fn set_time(object: &Object<'_>, entity: &mut Entity, path: &[&str], fact: &str) {
    if let Some(time) = object.time(path) {
        entity.set(fact, time, object.cite_field(path));
    }
}

/// The image that a host boots for inspection; it carries the host's name.
pub fn preprovisioning_image(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        match kind.as_str() {
            "Ready" => entity.set("imageReady", value, evidence),
            "Error" => entity.set("imageError", value, evidence),
            _ => {}
        }
    }
    vec![(object.id("BareMetalHost"), entity)]
}

/// The boot mode as the firmware itself reports it; each vendor has its own word.
pub fn firmware_settings(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for setting in ["BootMode", "BootModeSelect", "BootModeConfig"] {
        let path = ["status", "settings", setting];
        let Some(text) = object.text(&path) else { continue };
        let lower = text.to_ascii_lowercase();
        let mode = match (lower.contains("uefi"), lower.contains("legacy") || lower == "bios") {
            (true, false) => "UEFI",
            (false, true) => "legacy",
            _ => continue,
        };
        entity.set("firmwareBootMode", mode, object.cite_field(&path));
    }
    vec![(object.id("BareMetalHost"), entity)]
}

/// How the cluster wants to reach hosts that it provisions.
pub fn provisioning(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (field, fact) in [
        ("provisioningNetwork", "network"),
        ("provisioningIP", "address"),
        ("provisioningInterface", "interface"),
        ("provisioningDHCPRange", "dhcpRange"),
    ] {
        let path = ["spec", field];
        entity.set(fact, object.text(&path).unwrap_or_default(), object.cite_field(&path));
    }
    vec![(object.id("Provisioning"), entity)]
}

pub fn machine(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (path, fact) in
        [(&["status", "phase"][..], "phase"), (&["status", "nodeRef", "name"], "node")]
    {
        if let Some(text) = object.text(path) {
            entity.set(fact, text, object.cite_field(path));
        }
    }
    let path = ["status", "errorMessage"];
    if object.node(&["status"]).is_some() {
        entity.set(
            "errorMessage",
            object.text(&path).unwrap_or_default(),
            object.cite_field(&path),
        );
    }
    set_time(object, &mut entity, &["metadata", "creationTimestamp"], "created");
    set_time(object, &mut entity, &["metadata", "deletionTimestamp"], "deleted");
    set_time(object, &mut entity, &["status", "lastUpdated"], "lastUpdated");
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        match kind.as_str() {
            "Drainable" => entity.set("drainable", value, evidence),
            "Drained" => entity.set("drained", value, evidence),
            _ => {}
        }
    }
    // `namespace/name` of the BareMetalHost behind the Machine.
    let annotation = ["metadata", "annotations", "metal3.io/BareMetalHost"];
    if let Some(host) = object.text(&annotation) {
        let host = host.rsplit('/').next().unwrap_or(host).to_string();
        entity.set("host", host, object.cite_field(&annotation));
    }
    let owners = object.node(&["metadata", "ownerReferences"]).map(Node::items);
    let set = owners
        .unwrap_or_default()
        .iter()
        .find(|owner| owner.text_at(&["kind"]) == Some("MachineSet"))
        .and_then(|owner| owner.text_at(&["name"]));
    if let Some(set) = set {
        entity.set("set", set, object.cite(&["metadata", "ownerReferences"], set));
    }
    vec![(object.id("Machine"), entity)]
}

pub fn machine_set(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    let desired = object.int(&["spec", "replicas"]).unwrap_or(1);
    entity.set("desired", desired, object.cite_field(&["spec", "replicas"]));
    if object.node(&["status"]).is_some() {
        for (field, fact) in [("replicas", "machines"), ("readyReplicas", "ready")] {
            let count = object.int(&["status", field]).unwrap_or(0);
            entity.set(fact, count, object.cite(&["status", field], format!("{field}: {count}")));
        }
    }
    // The same by two names: of bare metal, and of all other platforms.
    for field in ["userData", "userDataSecret"] {
        let path = ["spec", "template", "spec", "providerSpec", "value", field, "name"];
        if let Some(secret) = object.text(&path) {
            entity.set("userDataSecret", secret, object.cite_field(&path));
        }
    }
    set_time(object, &mut entity, &["metadata", "creationTimestamp"], "created");
    vec![(object.id("MachineSet"), entity)]
}

pub fn health_check(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (field, fact) in [("expectedMachines", "expected"), ("currentHealthy", "healthy")] {
        let path = ["status", field];
        if let Some(count) = object.int(&path) {
            entity.set(fact, count, object.cite_field(&path));
        }
    }
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        if kind == "RemediationAllowed" {
            entity.set("remediationAllowed", value, evidence);
        }
    }
    vec![(object.id("MachineHealthCheck"), entity)]
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
