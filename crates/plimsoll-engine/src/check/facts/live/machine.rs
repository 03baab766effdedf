//! The machine that the installer runs on.

use plimsoll_install::{File, Judgement};
use serde_json::Value as Json;

use super::seen::Seen;
use super::{Facts, Spot, Told, baremetal};

const LOCAL: &str = "qemu:///";

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let Some(install) = &judgement.config.install else { return };
    let id = facts.config();
    let by_agent = judgement.config.agent.is_some()
        || facts.entity(&id).facts.get("method").and_then(|method| method.text()) == Some("agent");
    let at = (File::Install, "metadata.name", install.name.place);
    facts.looks_at(&id, "machine", at, install.name.as_str());
    // No file is at fault, but for the name of a bridge.
    facts.stand(&id, "machine", Spot::default());
    if let Some(baremetal) = baremetal(judgement) {
        let bridge = &baremetal.external_bridge;
        let at = (File::Install, "platform.baremetal.externalBridge", bridge.place);
        facts.stands_at(&id, "machine.bridgesMissing", at, bridge.as_str());
    }
    let Some(machine) = seen.machine.as_ref().filter(|_| seen.has("host")) else { return };
    let mut told = Told::new("machine");
    let cite = |key: &str, text: &str| vec![machine.at(&format!("/{key}"), text)];
    let mut number = |fact: &str, key: &str| {
        if let Some(value) = machine.json[key].as_i64() {
            told.set(fact, value, cite(key, &format!("{key}: {value}")));
        }
    };
    number("cpus", "cpus");
    number("memoryMib", "memory_mib");
    number("freeMib", "free_mib");
    number("imagesFreeMib", "images_free_mib");
    let fips = install.fips.value;
    told.set("wantsFips", fips, Vec::new());
    if let Some(has) = machine.json["fips"].as_bool() {
        told.set("fips", has, cite("fips", &format!("FIPS mode of this machine: {has}")));
    }
    if let Some(tools) = machine.json["tools"].as_object() {
        let lacks = |tool: &&str| tools.get(*tool).and_then(Json::as_bool) == Some(false);
        let configured = network_configured(judgement);
        let required: &[&str] = if by_agent && configured { &["nmstatectl"] } else { &[] };
        let useful: &[&str] = if by_agent { &["oc"] } else { &[] };
        let of = |wanted: &[&'static str]| -> Vec<&'static str> {
            wanted.iter().copied().filter(|tool| lacks(tool)).collect()
        };
        let text = |all: &[&str]| format!("not in PATH: {}", all.join(", "));
        let (missing, wished) = (of(required), of(useful));
        told.set("toolsMissing", missing.clone(), cite("tools", &text(&missing)));
        told.set("toolsWished", wished.clone(), cite("tools", &text(&wished)));
    }
    // The bootstrap machine is a virtual one, here, and stands on these bridges.
    if let Some(baremetal) = baremetal(judgement).filter(|_| !by_agent) {
        let local = baremetal.libvirt_uri.as_str().starts_with(LOCAL);
        if let (true, Some(libvirt)) = (local, machine.json["libvirt"].as_bool()) {
            let text = format!("libvirt takes connections: {libvirt}");
            told.set("libvirt", libvirt, cite("libvirt", &text));
        }
        let mut bridges = vec![baremetal.external_bridge.as_str()];
        if baremetal.provisioning_network.as_str() != "Disabled" {
            bridges.push(baremetal.provisioning_bridge.as_str());
        }
        if let (true, Some(interfaces)) = (local, machine.json["interfaces"].as_object()) {
            let is_there = |name: &&&str| !name.is_empty() && !interfaces.contains_key(**name);
            let missing: Vec<&str> = bridges.iter().filter(is_there).copied().collect();
            let all: Vec<&str> = interfaces.keys().map(String::as_str).collect();
            let text = format!("interfaces: {}", all.join(", "));
            told.set("bridgesMissing", missing, cite("interfaces", &text));
        }
    }
    told.put(&id, facts);
}

/// The installer checks each by `nmstatectl`.
fn network_configured(judgement: &Judgement) -> bool {
    let agent = judgement.config.agent.iter().flat_map(|agent| &agent.hosts);
    let hosts = super::hosts(judgement);
    agent.into_iter().any(|host| host.network_config.is_some())
        || hosts.iter().any(|(host, _)| host.network_config.is_some())
}
