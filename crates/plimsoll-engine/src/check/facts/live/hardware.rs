//! What the hosts are made of, by the word of their BMCs.

use std::collections::BTreeMap;

use plimsoll_install::{Host, Judgement, RootDeviceHints};
use plimsoll_model::{EntityId, Evidence, clip};
use serde_json::Value as Json;

use super::seen::{Document, Seen};
use super::{Facts, Sentences, Told, hosts};

const GIGABYTE: f64 = 1e9;
/// Of one host; those beyond are counted.
const MOST_DIFFERENCES: usize = 12;
/// What is no hardware, and has rules of its own.
const OTHER_ASPECTS: [&str; 10] = [
    "reach",
    "tls trust",
    "auth",
    "clock",
    "virtual media",
    "virtual media privilege",
    "boot override privilege",
    "power",
    "boot override",
    "inserted media",
];
/// Each machine may have its own.
const SETTINGS: [&str; 2] = ["bios attribute ", "firmware "];

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    let config = facts.config();
    let mut differ = differences(seen);
    if seen.has("hardware") {
        let roles = roles(judgement);
        for (host, _) in hosts(judgement) {
            let Some(reading) = seen.readings.get(&host.name.value) else { continue };
            let id = facts.host(&host.name.value);
            let odd = differ.remove(&Some(host.name.value.clone())).unwrap_or_default();
            let role = roles.get(&host.name.value).map_or("worker", String::as_str);
            inventory(host, role, reading, odd, &id, facts);
        }
    }
    split(judgement, seen, differ.remove(&None).unwrap_or_default(), &config, facts);
}

/// As the installer deals them out: those without a role become masters, then workers.
fn roles(judgement: &Judgement) -> BTreeMap<String, String> {
    let Some(install) = &judgement.config.install else { return BTreeMap::new() };
    let replicas = install.control_plane.replicas.value;
    let alone = replicas == 1 && install.compute_replicas() == 0;
    let all = hosts(judgement);
    let named = |role: &str| all.iter().filter(|(host, _)| host.role.as_str() == role).count();
    let mut lacking = usize::try_from(replicas).unwrap_or(0).saturating_sub(named("master"));
    let mut roles = BTreeMap::new();
    for (host, _) in all {
        let role = match host.role.as_str() {
            "" if lacking > 0 => {
                lacking -= 1;
                "master"
            }
            "" => "worker",
            role => role,
        };
        let role = if role == "master" && alone { "single" } else { role };
        roles.insert(host.name.value.clone(), role.to_string());
    }
    roles
}

/// Sentences by the odd host; by none where there is no majority.
fn differences(seen: &Seen) -> BTreeMap<Option<String>, Sentences> {
    let mut found: BTreeMap<Option<String>, Sentences> = BTreeMap::new();
    let Some(document) = &seen.differences else { return found };
    for (index, item) in document.list("").iter().enumerate() {
        let field = |key: &str| item[key].as_str().unwrap_or_default();
        let (aspect, odd) = (field("aspect"), item["odd"].as_str());
        // Without a majority a setting may be one that each machine has of its own.
        let is_setting = SETTINGS.iter().any(|setting| aspect.starts_with(setting));
        if OTHER_ASPECTS.contains(&aspect) || (odd.is_none() && is_setting) {
            continue;
        }
        let text = match odd {
            Some(_) => format!("{aspect}: {} (others: {})", field("value"), field("others_value")),
            None => {
                let split = item["split"].as_object().into_iter().flatten();
                let groups: Vec<String> = split
                    .map(|(value, names)| {
                        let names = names.as_array().into_iter().flatten();
                        let names: Vec<&str> = names.filter_map(Json::as_str).collect();
                        format!("{value} ({})", names.join(", "))
                    })
                    .collect();
                format!("{aspect}: {}", groups.join("; "))
            }
        };
        let at = document.at(&format!("/{index}"), &text);
        found.entry(odd.map(str::to_string)).or_default().add(text, at);
    }
    found
}

fn split(judgement: &Judgement, seen: &Seen, differ: Sentences, id: &EntityId, facts: &mut Facts) {
    let any = hosts(judgement).iter().any(|(host, _)| !host.bmc.address.is_empty());
    let Some(install) = judgement.config.install.as_ref().filter(|_| any) else { return };
    let at = (plimsoll_install::File::Install, "controlPlane", install.control_plane.place);
    facts.looks_at(id, "inventory", at, "");
    if seen.has("hardware") && seen.differences.is_some() {
        let mut told = Told::new("inventory");
        told.set("differs", cut(&differ.texts), differ.from);
        told.put(id, facts);
    }
}

fn cut(texts: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = texts.iter().take(MOST_DIFFERENCES).cloned().collect();
    if texts.len() > MOST_DIFFERENCES {
        shown.push(format!("and {} more", texts.len() - MOST_DIFFERENCES));
    }
    shown
}

fn inventory(
    host: &Host,
    role: &str,
    reading: &Document,
    differ: Sentences,
    id: &EntityId,
    facts: &mut Facts,
) {
    let Some(system) = reading.json.get("system").filter(|system| system.is_object()) else {
        facts.unseen(id, "inventory", format!("the BMC of {} was not read", host.name.value));
        return;
    };
    let mut told = Told::new("inventory");
    let mut set = |key: &str, value: Option<i64>, pointer: &str, unit: &str| {
        if let Some(value) = value {
            told.set(key, value, vec![reading.at(pointer, &format!("{key}: {value}{unit}"))]);
        }
    };
    let processors = &system["processors"];
    let cpus = processors["threads"].as_i64().or_else(|| processors["cores"].as_i64());
    set("cpus", cpus, "/system/processors", "");
    let memory = system["memory_gib"].as_f64().map(|gib| (gib * 1024.0) as i64);
    set("memoryMib", memory, "/system/memory_gib", " MiB");
    let disks = disks(reading);
    set("largestDiskGb", disks.largest.map(|size| (size / GIGABYTE) as i64), "/storage", " GB");
    told.set("role", role, Vec::new());
    told.set("differs", cut(&differ.texts), differ.from);
    let hints = host.root_device_hints.as_ref();
    told.set("hint", hints.map(words).unwrap_or_default(), Vec::new());
    if let Some((fits, from)) = hints.and_then(|hints| hinted(hints, reading, &disks)) {
        told.set("hintFits", fits, vec![from]);
    }
    boot_mac(host, reading, &mut told);
    told.put(id, facts);
}

struct Disks<'r> {
    drives: Vec<&'r Json>,
    /// What a controller makes of them is what the system sees.
    volumes: Vec<&'r Json>,
    largest: Option<f64>,
}

fn disks(reading: &Document) -> Disks<'_> {
    let of = |key: &str| -> Vec<&Json> {
        let units = reading.list("/storage").iter();
        units.flat_map(|unit| unit[key].as_array().into_iter().flatten()).collect()
    };
    let (drives, volumes) = (of("drives"), of("volumes"));
    let sizes = |all: &[&Json]| -> Vec<Option<f64>> {
        all.iter().map(|each| each["capacity_bytes"].as_f64()).collect()
    };
    // Drives beside a volume may be in it or not, so the largest of all is what there is at most.
    let all: Vec<Option<f64>> = sizes(&drives).into_iter().chain(sizes(&volumes)).collect();
    let known = !all.is_empty() && all.iter().all(Option::is_some);
    let largest = known.then(|| all.iter().flatten().copied().fold(0.0, f64::max));
    Disks { drives, volumes, largest }
}

/// Whether any drive has what is hinted at; nothing where that cannot be told.
fn hinted(
    hints: &RootDeviceHints,
    reading: &Document,
    disks: &Disks<'_>,
) -> Option<(bool, Evidence)> {
    // Volumes of a controller have other serial numbers than the drives behind them.
    let complete = reading.json["complete"].as_bool() == Some(true);
    if !complete || disks.drives.is_empty() || !disks.volumes.is_empty() {
        return None;
    }
    let judged: Vec<Option<bool>> = disks.drives.iter().map(|drive| fits(hints, drive)).collect();
    let fits = if judged.contains(&Some(true)) {
        true
    } else if judged.iter().all(|one| *one == Some(false)) {
        false
    } else {
        return None;
    };
    let text = |drive: &&Json, key: &str| drive[key].as_str().unwrap_or("?").to_string();
    let named = disks.drives.iter().map(|drive| {
        format!("{} {} {}", text(drive, "id"), text(drive, "model"), text(drive, "serial"))
    });
    let named: Vec<String> = named.collect();
    Some((fits, reading.at("/storage", &format!("drives: {}", named.join(", ")))))
}

/// One thing that is not so is enough; all must be known to be so.
fn fits(hints: &RootDeviceHints, drive: &Json) -> Option<bool> {
    let text = |key: &str| drive[key].as_str().map(str::to_ascii_lowercase);
    let wanted = |hint: &str| Some(hint.to_ascii_lowercase()).filter(|hint| !hint.is_empty());
    let mut judged: Vec<Option<bool>> = Vec::new();
    if let Some(serial) = wanted(hints.serial_number.as_str()) {
        judged.push(text("serial").map(|is| is == serial));
    }
    if let Some(wwn) = wanted(hints.wwn.as_str()) {
        let told = text("hint_name").and_then(|name| Some(name.strip_prefix("wwn=")?.to_string()));
        judged.push(told.map(|is| is == wwn));
    }
    if let Some(model) = wanted(hints.model.as_str()) {
        judged.push(text("model").map(|is| is.contains(&model)));
    }
    if let Some(size) = &hints.min_size_gigabytes {
        judged.push(drive["capacity_bytes"].as_f64().map(|is| is >= size.value as f64 * GIGABYTE));
    }
    if let Some(rotational) = hints.rotational {
        let spins = text("media").and_then(|media| match media.as_str() {
            "hdd" => Some(true),
            "ssd" => Some(false),
            _ => None,
        });
        judged.push(spins.map(|spins| spins == rotational));
    }
    // How the kernel will call a drive, no BMC knows.
    let unjudged = [
        &hints.device_name,
        &hints.hctl,
        &hints.vendor,
        &hints.wwn_with_extension,
        &hints.wwn_vendor_extension,
    ];
    if unjudged.iter().any(|hint| !hint.is_empty()) {
        judged.push(None);
    }
    match judged.as_slice() {
        all if all.contains(&Some(false)) => Some(false),
        [] => None,
        all if all.iter().all(|one| *one == Some(true)) => Some(true),
        _ => None,
    }
}

fn words(hints: &RootDeviceHints) -> String {
    let texts = [
        ("serialNumber", &hints.serial_number),
        ("wwn", &hints.wwn),
        ("model", &hints.model),
        ("deviceName", &hints.device_name),
    ];
    let mut words: Vec<String> = texts
        .iter()
        .filter(|(_, hint)| !hint.is_empty())
        .map(|(name, hint)| format!("{name} {}", hint.as_str()))
        .collect();
    words.extend(hints.min_size_gigabytes.iter().map(|size| format!("at least {} GB", size.value)));
    words.extend(hints.rotational.map(|spins| format!("rotational {spins}")));
    clip(&words.join(", "))
}

/// Whether the host has the card that the config knows it by.
fn boot_mac(host: &Host, reading: &Document, told: &mut Told) {
    let complete = reading.json["complete"].as_bool() == Some(true);
    let macs: Vec<String> = reading
        .list("/nics")
        .iter()
        .filter_map(|nic| Some(nic["mac"].as_str()?.to_ascii_lowercase()))
        .collect();
    let wanted = host.boot_mac.as_str().to_ascii_lowercase().replace('-', ":");
    if !complete || wanted.is_empty() || macs.is_empty() || macs.len() < reading.list("/nics").len()
    {
        return;
    }
    let text = format!("MACs: {}", macs.join(", "));
    told.set("bootMacFound", macs.contains(&wanted), vec![reading.at("/nics", &text)]);
    told.set("bootMac", wanted, Vec::new());
    told.set("macs", macs, Vec::new());
}
