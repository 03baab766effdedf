//! What a host is made of, and in what it differs from its siblings. A difference is no fault; that
//! only one of several like hosts has it is worth to know when that one fails.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::object::{Object, show};

/// Settings that decide what a machine shows of its devices; most others are its own. The boot mode
/// is a fact of its own.
const SETTINGS: &[&str] = &["SecureBoot", "SriovGlobalEnable", "ProcVirtualization", "SysProfile"];

/// HardwareData, or what a BareMetalHost keeps of it in its status.
pub fn inspected(object: &Object<'_>) -> Facts {
    let base: &[&str] = if object.plural() == "hardwaredata" {
        &["spec", "hardware"]
    } else {
        &["status", "hardware"]
    };
    let Some(hardware) = object.node(base) else { return Vec::new() };
    let text = |path: &[&str]| hardware.at(path).map(show).filter(|text| !text.is_empty());
    let items = |key: &str| hardware.get(key).map(Node::items).unwrap_or_default();
    let field = |item: &Node, key: &str| item.get(key).map(show).unwrap_or_default();
    let nics = counted(
        items("nics")
            .iter()
            .map(|nic| format!("{} {} Gb/s", field(nic, "model"), field(nic, "speedGbps"))),
    );
    let disks = counted(items("storage").iter().map(|disk| {
        let bytes = disk.get("sizeBytes").and_then(Node::as_int).unwrap_or(0);
        format!("{} {} GB", field(disk, "type"), bytes / 1_000_000_000)
    }));
    let parts = [
        ("maker", text(&["systemVendor", "manufacturer"])),
        ("model", text(&["systemVendor", "productName"])),
        ("BIOS", text(&["firmware", "bios", "version"])),
        ("processor", text(&["cpu", "model"])),
        ("cores", text(&["cpu", "count"])),
        ("memory", text(&["ramMebibytes"])),
        ("network cards", (!nics.is_empty()).then_some(nics)),
        ("disks", (!disks.is_empty()).then_some(disks)),
    ];
    facts(
        object,
        base,
        parts.into_iter().filter_map(|(part, value)| Some((part.to_string(), value?))),
    )
}

/// HostFirmwareComponents: versions of the BIOS, the BMC and the network cards.
pub fn components(object: &Object<'_>) -> Facts {
    let path = ["status", "components"];
    let Some(list) = object.node(&path) else { return Vec::new() };
    let versions = list.items().iter().filter_map(|item| {
        let name = item.text_at(&["component"])?;
        let version = item.text_at(&["currentVersion"]).or(item.text_at(&["initialVersion"]))?;
        Some((format!("firmware of {name}"), version.to_string()))
    });
    facts(object, &path, versions)
}

pub fn settings(object: &Object<'_>) -> Facts {
    let path = ["status", "settings"];
    let Some(all) = object.node(&path) else { return Vec::new() };
    let known = SETTINGS
        .iter()
        .filter_map(|name| Some((format!("setting {name}"), all.get(name).map(show)?)));
    facts(object, &path, known)
}

fn facts(
    object: &Object<'_>,
    path: &[&str],
    parts: impl Iterator<Item = (String, String)>,
) -> Facts {
    let mut entity = Entity::default();
    let mut map = BTreeMap::new();
    for (part, value) in parts {
        entity.provenance.insert(
            format!("hardware.{part}"),
            vec![object.cite(path, format!("{part}: {value}"))],
        );
        map.insert(part, Value::Text(value));
    }
    if map.is_empty() {
        return Vec::new();
    }
    entity.facts.insert("hardware".into(), Value::Map(map));
    vec![(object.id("BareMetalHost"), entity)]
}

/// `2 x SSD 480 GB, 1 x NVME 960 GB`
pub fn counted(items: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    items.for_each(|item| *counts.entry(item).or_default() += 1);
    let texts: Vec<String> =
        counts.iter().map(|(item, count)| format!("{count} x {item}")).collect();
    texts.join(", ")
}

/// In what a host differs from siblings of its role that are at least two and agree.
pub fn derive(base: &mut FactBase) {
    let hosts: Vec<(EntityId, bool, BTreeMap<String, Value>)> = base
        .entities
        .iter()
        .filter(|(id, _)| id.kind == "BareMetalHost")
        .filter_map(|(id, host)| {
            let Some(Value::Map(parts)) = host.facts.get("hardware") else { return None };
            let master = host.facts.get("controlPlane") == Some(&Value::Bool(true));
            Some((id.clone(), master, parts.clone()))
        })
        .collect();
    for (id, master, parts) in &hosts {
        let siblings: Vec<_> =
            hosts.iter().filter(|(other, role, _)| other != id && role == master).collect();
        let mut differs = Vec::new();
        let mut from: Vec<Evidence> = Vec::new();
        for (part, own) in parts {
            let theirs: Vec<&Value> =
                siblings.iter().filter_map(|(_, _, of)| of.get(part)).collect();
            let told: BTreeSet<&str> = theirs.iter().filter_map(|value| value.text()).collect();
            let (Some(own), Some(usual)) = (own.text(), told.first()) else { continue };
            if theirs.len() < 2 || told.len() != 1 || own == *usual {
                continue;
            }
            differs.push(format!("{part}: {own}, its siblings have {usual}"));
            let at = base.entities[id].provenance.get(&format!("hardware.{part}"));
            from.extend(at.into_iter().flatten().cloned());
        }
        let Some(host) = base.entities.get_mut(id) else { continue };
        host.derive("differs", differs, from);
    }
}
