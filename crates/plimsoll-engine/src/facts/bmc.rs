//! What the management controllers themselves told: `bmc/<host>.json`, one reading a host, and
//! `bmc/differences.json`, in what one host is unlike its siblings.
//!
//! A reading is made from where the user sits, not from the cluster. Whether it says anything about
//! the cluster's own way to the BMC is for the packs to weigh.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Snapshot, Value, clip};
use serde_json::Value as Json;

use super::{bmc_parts, logs};

/// What is asked of sources.
pub const FILES: &str = "bmc/*.json";

const SCHEMA: &str = "plimsoll.bmc/v1";
const DIFFERENCES: &str = "differences.json";
/// More than any server has of anything; what is beyond is not looked at.
const MOST: usize = 256;

/// In these a host that is on its way differs from those that have arrived, and nothing is wrong with it.
const OF_THE_MOMENT: [&str; 3] = ["power", "boot override", "inserted media"];

/// Hosts of the cluster that are named where one is missed.
const NAMED: usize = 8;
/// What is not written behind a host.
const USUAL_PORT: u64 = 443;

/// Texts of a reading that become facts as they stand.
const TEXTS: [(&str, &str); 15] = [
    ("/reach/status", "reach"),
    ("/reach/detail", "reachDetail"),
    ("/tls/why", "tlsWhy"),
    ("/auth/status", "auth"),
    ("/privilege/virtual_media", "virtualMedia"),
    ("/privilege/boot_override", "bootOverride"),
    ("/service/vendor", "vendor"),
    ("/service/product", "product"),
    ("/service/generation", "generation"),
    ("/manager/firmware", "firmware"),
    ("/system/power", "power"),
    ("/system/health", "health"),
    ("/system/boot/mode", "bootMode"),
    ("/system/boot/override_enabled", "overrideEnabled"),
    ("/system/boot/override_target", "overrideTarget"),
];

/// One file of the folder, and how to cite it.
pub struct File<'s> {
    pub json: Json,
    source_name: &'s str,
    path: &'s str,
}

impl File<'_> {
    pub fn at(&self, pointer: &str, text: impl AsRef<str>) -> Evidence {
        Evidence {
            source: self.source_name.into(),
            path: self.path.into(),
            line: None,
            pointer: Some(pointer.into()),
            time: self.text("/time").and_then(super::object::time),
            text: clip(text.as_ref()),
        }
    }

    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.json.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn list(&self, pointer: &str) -> Option<&[Json]> {
        let all = self.json.pointer(pointer)?.as_array()?;
        Some(&all[..all.len().min(MOST)])
    }
}

pub fn extract(snapshot: &Snapshot, base: &mut FactBase, problems: &mut Vec<(usize, Gap)>) {
    let mut readings: Vec<(EntityId, usize, File<'_>)> = Vec::new();
    let mut differences: Vec<(usize, File<'_>)> = Vec::new();
    let hosts = hosts_of_cluster(base);
    for ((source, path), bytes) in &snapshot.files {
        let Some(name) = in_folder(path) else { continue };
        let bad = GapStatus::Unreadable;
        let mut gap = |status: GapStatus, why: String| {
            problems.push((*source, Gap { status, what: path.clone(), why }));
        };
        let json: Json = match serde_json::from_slice(bytes) {
            Ok(json) => json,
            Err(error) => {
                gap(bad, error.to_string());
                continue;
            }
        };
        let source_name = snapshot.sources.get(*source).map_or("", |source| &source.name);
        let file = File { json, source_name, path };
        if name == DIFFERENCES {
            match file.json.is_array() {
                true => differences.push((*source, file)),
                false => gap(bad, "this is no list of differences between hosts".into()),
            }
            continue;
        }
        match (file.text("/schema"), file.text("/name")) {
            (Some(SCHEMA), Some(host)) => {
                let id = host_of(base, host);
                match hosts.is_empty() || hosts.contains(&id) {
                    true => readings.push((id, *source, file)),
                    // It says nothing of this cluster, and so nothing of the cluster lacks.
                    false => gap(GapStatus::NotCollected, is_of_nobody(host, &hosts)),
                }
            }
            (Some(SCHEMA), None) => gap(bad, "this reading of a BMC names no host".into()),
            _ => gap(bad, format!("this is no reading of a BMC ({SCHEMA})")),
        }
    }
    let (readings, others): (Vec<_>, Vec<_>) = newest(snapshot, readings)
        .into_iter()
        .partition(|(id, _, file)| matches(file, base.entities.get(id)) != Some(false));
    for (id, source, file) in &others {
        let known = base.entities.get(id);
        let why = is_of_another(file, &id.name, known);
        let entity = other_reading(file, known);
        let gap = Gap { status: GapStatus::Unreadable, what: file.path.into(), why };
        problems.push((*source, gap));
        super::merge(base, id.clone(), entity);
    }
    for (id, _, file) in &readings {
        let entity = reading(file, base.entities.get(id));
        super::merge(base, id.clone(), entity);
    }
    bmc_parts::fill(readings.iter().map(|(id, _, file)| (id, file)), base);
    for (source, file) in &differences {
        let read = readings.iter().filter(|(_, of, _)| of == source).map(|(id, _, _)| id.clone());
        odd_ones(file, read.collect(), base);
    }
}

/// Of each host what was read last, and nothing else of it: what a BMC said before it fell silent is how
/// its machine was then.
fn newest<'s>(
    snapshot: &Snapshot,
    readings: Vec<(EntityId, usize, File<'s>)>,
) -> Vec<(EntityId, usize, File<'s>)> {
    let age: BTreeMap<usize, usize> = snapshot
        .newest_first()
        .into_iter()
        .enumerate()
        .map(|(age, source)| (source, age))
        .collect();
    let age = |source: usize| age.get(&source).copied().unwrap_or(usize::MAX);
    let mut youngest: BTreeMap<EntityId, usize> = BTreeMap::new();
    for (id, source, _) in &readings {
        let known = youngest.entry(id.clone()).or_insert(usize::MAX);
        *known = (*known).min(age(*source));
    }
    let is_newest = |(id, source, _): &(EntityId, usize, File<'_>)| {
        youngest.get(id).is_some_and(|youngest| *youngest == age(*source))
    };
    readings.into_iter().filter(is_newest).collect()
}

/// The file's own name, if it stands directly in a folder `bmc`.
fn in_folder(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once('/')?;
    let is_bmc = folder == "bmc" || folder.ends_with("/bmc");
    (is_bmc && name.ends_with(".json")).then_some(name)
}

fn host_of(base: &FactBase, name: &str) -> EntityId {
    logs::machine(base, "BareMetalHost", name)
}

/// Those that the cluster itself knows. Without any, a reading is all that is known of its host.
fn hosts_of_cluster(base: &FactBase) -> BTreeSet<EntityId> {
    // Told of every BareMetalHost, whatever it lacks.
    let is_host = |(id, entity): &(&EntityId, &Entity)| {
        id.kind == "BareMetalHost" && entity.facts.contains_key("consumer")
    };
    base.entities.iter().filter(is_host).map(|(id, _)| id.clone()).collect()
}

fn is_of_nobody(name: &str, hosts: &BTreeSet<EntityId>) -> String {
    let named: Vec<&str> = hosts.iter().take(NAMED).map(|id| id.name.as_str()).collect();
    let more = if hosts.len() > NAMED { ", …" } else { "" };
    let named = named.join(", ");
    clip(&format!("no BareMetalHost {name} was read, only {named}{more}: this is left out"))
}

fn is_of_another(file: &File<'_>, name: &str, known: Option<&Entity>) -> String {
    let read = authority(file).unwrap_or_default();
    let asked = fact(known, "bmcHost").unwrap_or_default();
    let told =
        format!("this is the BMC at {read}, and BareMetalHost {name} has its BMC at {asked}");
    clip(&format!("{told}: nothing it says is taken for that host"))
}

/// Whether the BMC that was read is the one that the cluster asks.
fn matches(file: &File<'_>, known: Option<&Entity>) -> Option<bool> {
    let asked = fact(known, "bmcHost").map(bare_host).filter(|asked| !asked.is_empty())?;
    Some(asked.eq_ignore_ascii_case(bare_host(file.text("/endpoint/host")?)))
}

/// Host and port, as it is written in a URL.
fn authority(file: &File<'_>) -> Option<String> {
    let bare = bare_host(file.text("/endpoint/host")?);
    let host = if bare.contains(':') { format!("[{bare}]") } else { bare.to_string() };
    let port = file.json.pointer("/endpoint/port").and_then(Json::as_u64);
    Some(match port.filter(|port| *port != USUAL_PORT) {
        Some(port) => format!("{host}:{port}"),
        None => host,
    })
}

/// Of a BMC that the cluster does not ask: where it is, and that it is another.
fn other_reading(file: &File<'_>, known: Option<&Entity>) -> Entity {
    let mut told = Told { file, map: BTreeMap::new(), entity: Entity::default() };
    told.address(known);
    told.entity.facts.insert("bmc".into(), Value::Map(told.map));
    told.entity
}

fn reading(file: &File<'_>, known: Option<&Entity>) -> Entity {
    let mut told = Told { file, map: BTreeMap::new(), entity: Entity::default() };
    for (pointer, fact) in TEXTS {
        if let Some(text) = file.text(pointer) {
            told.set(fact, text, pointer);
        }
    }
    for (pointer, fact) in [("/tls/trusted", "tlsTrusted"), ("/system/secure_boot", "secureBoot")] {
        if let Some(value) = file.json.pointer(pointer).and_then(Json::as_bool) {
            told.set(fact, value, pointer);
        }
    }
    if let Some(verify) = file.json.pointer("/verify").and_then(Json::as_bool) {
        told.set("disableCertificateVerification", !verify, "/verify");
    }
    if let Some(ends) = file.text("/tls/not_after").and_then(super::object::time) {
        told.set("tlsEnds", ends, "/tls/not_after");
    }
    if let Some(state) = file.text("/system/post_state") {
        told.set("postState", state, "/system/post_state");
    }
    if let Some(offset) = file.json.pointer("/manager/offset_seconds").and_then(Json::as_i64) {
        told.set("clockOffset", offset, "/manager/offset_seconds");
    }
    told.address(known);
    told.system(known);
    told.media();
    told.ports();
    told.events();
    told.finish(known)
}

/// The facts of one reading, as they are found.
struct Told<'f> {
    file: &'f File<'f>,
    map: BTreeMap<String, Value>,
    entity: Entity,
}

impl Told<'_> {
    fn set(&mut self, fact: &str, value: impl Into<Value>, pointer: &str) {
        let shown = self.file.json.pointer(pointer).map(shown).unwrap_or_default();
        let text = format!("{}: {shown}", pointer.trim_start_matches('/').replace('/', "."));
        self.set_as(fact, value, pointer, text);
    }

    fn set_as(&mut self, fact: &str, value: impl Into<Value>, pointer: &str, text: String) {
        self.map.insert(fact.into(), value.into());
        self.entity.provenance.insert(format!("bmc.{fact}"), vec![self.file.at(pointer, text)]);
    }

    fn address(&mut self, known: Option<&Entity>) {
        if let Some(address) = self.file.text("/address") {
            self.set("address", address, "/address");
        }
        if let Some(authority) = authority(self.file) {
            let text = format!("endpoint: {authority}");
            self.set_as("host", authority, "/endpoint", text);
        }
        if let Some(matches) = matches(self.file, known) {
            self.set("addressMatches", matches, "/address");
        }
    }

    /// A path that the BMC does not list, and did not answer for, is not there.
    fn system(&mut self, known: Option<&Entity>) {
        let pointer = "/system/paths_offered";
        let offered: Vec<&str> =
            self.file.list(pointer).unwrap_or_default().iter().filter_map(Json::as_str).collect();
        if offered.is_empty() {
            return;
        }
        self.set("pathsOffered", offered.clone(), pointer);
        let by_cluster = fact(known, "bmcPath").filter(|path| path.contains("/Systems/"));
        let Some(asked) = by_cluster.or(self.file.text("/endpoint/system_path")) else { return };
        let answered = self.file.text("/system/path");
        let found = offered.into_iter().chain(answered).any(|path| same_path(path, asked));
        let text = format!("asked for {asked}, offered: {}", shown_at(self.file, pointer));
        self.set_as("systemFound", found, pointer, text);
    }

    /// The image that is inserted, by host and path; empty where every device says that it has none.
    fn media(&mut self) {
        let pointer = "/virtual_media";
        let devices = self.file.list(pointer).unwrap_or_default();
        let inserted = |device: &Json| device.get("inserted").and_then(Json::as_bool);
        let holder = devices.iter().position(|device| inserted(device) == Some(true));
        match holder {
            Some(at) => {
                let image = devices[at].get("image").and_then(Json::as_str).unwrap_or("unnamed");
                let image = image.split_once("://").map_or(image, |(_, rest)| rest);
                let text = format!("inserted: {image}");
                self.set_as("mediaInserted", image, &format!("{pointer}/{at}"), text);
            }
            None if !devices.is_empty() && devices.iter().all(|d| inserted(d).is_some()) => {
                let text = format!("{} virtual media devices, none inserted", devices.len());
                self.set_as("mediaInserted", "", pointer, text);
            }
            None => {}
        }
    }

    fn ports(&mut self) {
        let nics = self.file.list("/nics").unwrap_or_default();
        if nics.is_empty() {
            return;
        }
        let count = nics.len();
        self.set_as("nics", count, "/nics", format!("network ports: {count}"));
        let link = |nic: &Json| nic.get("link").and_then(Json::as_str).map(str::to_string);
        if nics.iter().all(|nic| link(nic).is_some()) {
            let up = nics.iter().filter(|nic| link(nic).as_deref() == Some("up")).count();
            self.set_as("linksUp", up, "/nics", format!("links up: {up} of {count}"));
        }
        let told: Vec<(&Json, bool)> = nics
            .iter()
            .filter_map(|nic| Some((nic, nic.pointer("/transceiver/present")?.as_bool()?)))
            .collect();
        if told.is_empty() {
            return;
        }
        let enabled = |nic: &Json| nic.get("enabled").and_then(Json::as_bool) != Some(false);
        let empty: Vec<&str> = told
            .iter()
            .filter(|(nic, present)| !present && enabled(nic))
            .filter_map(|(nic, _)| nic.get("id")?.as_str())
            .collect();
        let text = format!("ports without a transceiver: {}", empty.join(", "));
        self.set_as("noTransceiver", empty, "/nics", text);
    }

    /// The newest comes first. A log that is not there tells nothing of its content.
    fn events(&mut self) {
        let Some(events) = self.file.list("/events") else { return };
        let critical: Vec<(usize, &Json)> = events
            .iter()
            .enumerate()
            .filter(|(_, event)| event.get("severity").and_then(Json::as_str) == Some("Critical"))
            .collect();
        let said = |event: &Json| {
            let field = |key: &str| event.get(key).and_then(Json::as_str).unwrap_or_default();
            clip(&format!("{} {}", field("time"), field("message")))
        };
        let newest = critical.first().map(|(at, event)| (*at, said(event)));
        let (pointer, text) = match &newest {
            Some((at, text)) => (format!("/events/{at}"), text.clone()),
            None => ("/events".into(), format!("{} events, none critical", events.len())),
        };
        let mut map = BTreeMap::from([("critical".to_string(), critical.len().into())]);
        let newest = newest.map(|(_, text)| text).unwrap_or_default();
        map.insert("newestCritical".into(), newest.into());
        self.set_as("events", Value::Map(map), &pointer, text);
    }

    fn finish(mut self, known: Option<&Entity>) -> Entity {
        // Where the cluster has no firmware settings of the host, the BMC's word is all there is.
        let mode = match self.file.text("/system/boot/mode") {
            Some("uefi") => Some("UEFI"),
            Some("legacy") => Some("legacy"),
            _ => None,
        };
        let has_mode = known.is_some_and(|host| host.facts.contains_key("firmwareBootMode"));
        if let Some(mode) = mode.filter(|_| !has_mode) {
            let at = self.file.at("/system/boot/mode", format!("system.boot.mode: {mode}"));
            self.entity.set("firmwareBootMode", mode, at);
        }
        self.entity.facts.insert("bmc".into(), Value::Map(self.map));
        self.entity
    }
}

fn fact<'e>(entity: Option<&'e Entity>, name: &str) -> Option<&'e str> {
    entity?.facts.get(name)?.text()
}

/// Without port and brackets.
fn bare_host(host: &str) -> &str {
    if let Some(inside) = host.strip_prefix('[') {
        return inside.split(']').next().unwrap_or(inside);
    }
    match host.split_once(':') {
        // More than one colon is an address of IPv6.
        Some((name, port)) if !port.contains(':') => name,
        _ => host,
    }
}

fn same_path(a: &str, b: &str) -> bool {
    a.trim_end_matches('/') == b.trim_end_matches('/')
}

fn shown(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Array(items) => items.iter().take(MOST).map(shown).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

fn shown_at(file: &File<'_>, pointer: &str) -> String {
    file.json.pointer(pointer).map(shown).unwrap_or_default()
}

/// What the odd host has, and what all others of the reading have. `read` are the hosts that were read
/// together with it, and not again later.
fn odd_ones(file: &File<'_>, read: BTreeSet<EntityId>, base: &mut FactBase) {
    let mut found: BTreeMap<EntityId, (Vec<String>, Vec<Evidence>)> = BTreeMap::new();
    for (index, item) in file.list("").unwrap_or_default().iter().enumerate() {
        let field = |key: &str| item.get(key).and_then(Json::as_str);
        let (Some(odd), Some(aspect), Some(value), Some(others)) =
            (field("odd"), field("aspect"), field("value"), field("others_value"))
        else {
            continue;
        };
        if OF_THE_MOMENT.contains(&aspect) {
            continue;
        }
        let text = clip(&format!("{aspect}: {value} (others: {others})"));
        let (texts, from) = found.entry(host_of(base, odd)).or_default();
        from.push(file.at(&format!("/{index}"), format!("{odd}: {text}")));
        texts.push(text);
    }
    // A host that was read and is not odd differs in nothing.
    for id in read {
        let (texts, from) = found.remove(&id).unwrap_or_default();
        base.entities.entry(id).or_default().derive("bmcDiffers", texts, from);
    }
}

#[cfg(test)]
#[path = "bmc_tests.rs"]
mod tests;
