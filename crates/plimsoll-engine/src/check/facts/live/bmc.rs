//! The way to each BMC, and what it lets do.

use plimsoll_install::{File, Host, Judgement, bmc_driver};
use plimsoll_model::EntityId;
use serde_json::Value as Json;

use super::seen::{Document, Seen};
use super::{Facts, Told, hosts};

/// Texts of a reading that become facts as they stand.
const TEXTS: [(&str, &str); 9] = [
    ("/reach/status", "reach"),
    ("/reach/detail", "reachDetail"),
    ("/tls/why", "tlsWhy"),
    ("/privilege/virtual_media", "mediaPrivilege"),
    ("/privilege/boot_override", "bootPrivilege"),
    ("/privilege/role", "role"),
    ("/system/power", "power"),
    ("/system/health", "health"),
    ("/service/generation", "generation"),
];

pub fn extract(judgement: &Judgement, seen: &Seen, facts: &mut Facts) {
    for (host, path) in hosts(judgement) {
        if host.bmc.address.is_empty() {
            continue;
        }
        let id = facts.host(&host.name.value);
        let address = shown(host.bmc.address.as_str());
        let path = format!("{path}.bmc.address");
        let at = (File::Install, path.as_str(), host.bmc.address.place);
        facts.looks_at(&id, "bmc", at, &address);
        facts.looks_at(&id, "inventory", at, &address);
        match seen.readings.get(&host.name.value) {
            Some(reading) => read(host, reading, &id, facts),
            None if !seen.has("bmc") && !seen.has("hardware") => {}
            None => {
                let driver = bmc_driver(host.bmc.address.as_str());
                let name = driver.map_or("this", |driver| driver.name);
                let why = format!("only Redfish is read, and {name} is none");
                facts.unseen(&id, "bmc", why.clone());
                facts.unseen(&id, "inventory", why);
            }
        }
    }
}

/// Without user information and query.
fn shown(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let rest = rest.rsplit('@').next().unwrap_or_default();
    if scheme.is_empty() { rest.into() } else { format!("{scheme}://{rest}") }
}

fn read(host: &Host, reading: &Document, id: &EntityId, facts: &mut Facts) {
    let mut told = Told::new("bmc");
    let cite = |pointer: &str, text: &str| {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        vec![reading.at(pointer, &format!("{name}: {text}"))]
    };
    for (pointer, fact) in TEXTS {
        if let Some(text) = reading.text(pointer) {
            told.set(fact, text, cite(pointer, text));
        }
    }
    told.set("address", shown(host.bmc.address.as_str()), Vec::new());
    let answered = reading.text("/reach/status") == Some("answered");
    if let (true, Some(auth)) = (answered, reading.text("/auth/status")) {
        let detail = reading.text("/auth/detail").unwrap_or_default();
        told.set("auth", auth, cite("/auth/status", &format!("{auth} {detail}")));
        told.set("authDetail", detail, Vec::new());
    }
    let verify = !host.bmc.disable_certificate_verification.value;
    told.set("verify", verify, Vec::new());
    if let Some(trusted) = reading.json.pointer("/tls/trusted").and_then(Json::as_bool) {
        told.set("trusted", trusted, cite("/tls/trusted", &trusted.to_string()));
    }
    if let Some(offset) = reading.json.pointer("/manager/offset_seconds").and_then(Json::as_i64) {
        let text = format!("its clock is {offset} s off ours");
        told.set("clockOffset", offset, vec![reading.at("/manager/offset_seconds", &text)]);
    }
    // Where both are possible, either is right.
    if let Some(mode @ ("uefi" | "legacy")) = reading.text("/system/boot/mode") {
        told.set("bootMode", mode, cite("/system/boot/mode", mode));
    }
    let wanted = if host.boot_mode.as_str() == "legacy" { "legacy" } else { "uefi" };
    told.set("wantsBootMode", wanted, Vec::new());
    if reading.text("/auth/status") == Some("accepted") || reading.text("/system/path").is_some() {
        system(reading, &mut told);
        media(host, reading, &mut told);
    }
    told.put(id, facts);
}

/// A path that the BMC does not list, and did not answer for, is not there.
fn system(reading: &Document, told: &mut Told) {
    let offered: Vec<&str> =
        reading.list("/system/paths_offered").iter().filter_map(Json::as_str).collect();
    let Some(asked) = reading.text("/endpoint/system_path") else { return };
    if offered.is_empty() {
        return;
    }
    let same = |path: &str| path.trim_end_matches('/') == asked.trim_end_matches('/');
    let found = offered.iter().copied().chain(reading.text("/system/path")).any(same);
    let text = format!("asked for {asked}, offered: {}", offered.join(", "));
    told.set("systemFound", found, vec![reading.at("/system/paths_offered", &text)]);
    told.set("systemsOffered", offered, Vec::new());
}

/// Of drivers that boot from virtual media: whether there is a drive, and whether it takes an image.
fn media(host: &Host, reading: &Document, told: &mut Told) {
    let needs = host.bmc.address.as_str().split("://").next().is_some_and(|scheme| {
        scheme.split('+').next().is_some_and(|driver| driver.ends_with("virtualmedia"))
    });
    let drives = reading.list("/virtual_media");
    let gap = |gap: &Json| gap["what"].as_str().is_some_and(|what| what.contains("VirtualMedia"));
    if drives.is_empty() && reading.list("/gaps").iter().any(gap) {
        return;
    }
    let takes_discs = |drive: &&Json| {
        let types = drive["media_types"].as_array().map(Vec::as_slice).unwrap_or_default();
        let disc = |kind: &Json| matches!(kind.as_str(), Some("CD" | "DVD"));
        types.is_empty() || types.iter().any(disc)
    };
    let discs: Vec<&Json> = drives.iter().filter(takes_discs).collect();
    let fits = discs.iter().any(|drive| drive["can_insert"].as_bool() != Some(false));
    let text = format!("{} virtual drives for discs", discs.len());
    told.set("media", !needs || fits, vec![reading.at("/virtual_media", &text)]);
    let holder = drives.iter().position(|drive| drive["inserted"].as_bool() == Some(true));
    let image = holder.and_then(|at| drives[at]["image"].as_str()).unwrap_or("an image");
    let inserted = if holder.is_some() { image } else { "" };
    let pointer = holder.map_or("/virtual_media".into(), |at| format!("/virtual_media/{at}"));
    told.set("inserted", inserted, vec![reading.at(&pointer, &format!("inserted: {inserted}"))]);
}
