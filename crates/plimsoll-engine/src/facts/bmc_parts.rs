//! What a host is made of by its BMC's word, for hosts that the cluster never inspected.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, FactBase, Value};
use serde_json::Value as Json;

use super::bmc::File;
use super::hardware::counted;

/// What a BMC and an inspection write alike. Models, cards and sizes each writes in its own way, so
/// between the two they would differ where the machines do not.
const WRITTEN_ALIKE: [&str; 2] = ["maker", "BIOS"];

pub fn fill<'f>(readings: impl Iterator<Item = (&'f EntityId, &'f File<'f>)>, base: &mut FactBase) {
    let inspected = |entity: &Entity| entity.facts.contains_key("hardware");
    let some_inspected =
        base.entities.iter().any(|(id, entity)| id.kind == "BareMetalHost" && inspected(entity));
    let lacking: Vec<(&EntityId, &File<'_>)> =
        readings.filter(|(id, _)| !base.entities.get(id).is_some_and(inspected)).collect();
    for (id, file) in lacking {
        let mut entity = Entity::default();
        let mut map = BTreeMap::new();
        for (part, pointer, value) in parts(file) {
            if some_inspected && !WRITTEN_ALIKE.contains(&part) {
                continue;
            }
            let at = file.at(pointer, format!("{part}: {value}"));
            entity.provenance.insert(format!("hardware.{part}"), vec![at]);
            map.insert(part.to_string(), Value::Text(value));
        }
        if !map.is_empty() {
            entity.facts.insert("hardware".into(), Value::Map(map));
            super::merge(base, id.clone(), entity);
        }
    }
}

/// Part, where it stands, and what it is.
fn parts(file: &File<'_>) -> Vec<(&'static str, &'static str, String)> {
    let mut parts = Vec::new();
    for (part, pointer) in [
        ("maker", "/system/manufacturer"),
        ("model", "/system/model"),
        ("BIOS", "/system/bios_version"),
        ("processor", "/system/processors/model"),
    ] {
        parts.extend(file.text(pointer).map(|text| (part, pointer, text.to_string())));
    }
    for (part, pointer) in [("cores", "/system/processors/cores"), ("memory", "/system/memory_gib")]
    {
        let number = file.json.pointer(pointer).filter(|value| value.is_number());
        parts.extend(number.map(|value| (part, pointer, value.to_string())));
    }
    // Who could not be read to the end may have more than it shows.
    if file.json.pointer("/complete").and_then(Json::as_bool) != Some(true) {
        return parts;
    }
    let text = |item: &Json, key: &str| {
        item.get(key).and_then(Json::as_str).unwrap_or("unnamed").to_string()
    };
    let cards =
        counted(file.list("/nics").unwrap_or_default().iter().map(|nic| text(nic, "model")));
    let disks = file.list("/storage").unwrap_or_default().iter().flat_map(|unit| {
        unit.get("drives").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
    });
    let disks = counted(disks.map(|disk| {
        let bytes = disk.get("capacity_bytes").and_then(Json::as_u64).unwrap_or(0);
        format!("{} {} GB", text(disk, "media"), bytes / 1_000_000_000)
    }));
    let lists = [("network cards", "/nics", cards), ("disks", "/storage", disks)];
    parts.extend(lists.into_iter().filter(|(_, _, text)| !text.is_empty()));
    parts
}
