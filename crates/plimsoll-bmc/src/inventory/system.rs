//! The server itself: what it is, how it boots, and the settings of its BIOS.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::documents::Documents;
use crate::reading::{Boot, Processors, System};
use crate::value::{at, first, flag, number, plain, text, texts, whole};
use crate::words::shown_path;

/// Parts of the names of attributes whose values are nobody's business.
const SECRETS: &[&str] =
    &["password", "passwd", "passphrase", "pwd", "secret", "token", "privatekey"];

/// Attributes that tell the boot mode, by vendor: Dell and HPE, Supermicro, Lenovo.
const BOOT_MODES: &[&str] = &["BootMode", "BootModeSelect", "BootModes_SystemBootMode"];

pub fn of(documents: &Documents) -> Option<System> {
    let system = &documents.system;
    if !system.is_object() {
        return None;
    }
    let mut paths_offered: Vec<_> = documents.systems.iter().map(|path| shown_path(path)).collect();
    paths_offered.sort();
    Some(System {
        path: documents.system_path.as_deref().map(shown_path),
        paths_offered,
        manufacturer: text(system, "/Manufacturer"),
        model: text(system, "/Model"),
        sku: text(system, "/SKU"),
        serial: text(system, "/SerialNumber"),
        uuid: text(system, "/UUID").map(|uuid| uuid.to_ascii_lowercase()),
        bios_version: text(system, "/BiosVersion"),
        power: text(system, "/PowerState"),
        health: first(system, &["/Status/HealthRollup", "/Status/Health"]),
        memory_gib: number(system, "/MemorySummary/TotalSystemMemoryGiB"),
        processors: processors(documents),
        boot: boot(documents),
        secure_boot: secure_boot(&documents.secure_boot),
        post_state: first(
            system,
            &["/Oem/Hpe/PostState", "/Oem/Hp/PostState", "/BootProgress/LastState"],
        ),
    })
}

fn processors(documents: &Documents) -> Option<Processors> {
    let summary = at(&documents.system, "/ProcessorSummary");
    let installed: Vec<&Value> = documents
        .processors
        .iter()
        .filter(|one| text(one, "/Status/State").as_deref() != Some("Absent"))
        .collect();
    // A sum over some that do not tell their part would be wrong.
    let sum = |place: &str| installed.iter().map(|one| whole(one, place)).sum::<Option<u64>>();
    let counted = (!installed.is_empty()).then_some(installed.len() as u64);
    let sum = |place: &str| counted.and_then(|_| sum(place));
    let found = Processors {
        count: whole(summary, "/Count").or(counted),
        cores: whole(summary, "/CoreCount").or_else(|| sum("/TotalCores")),
        threads: whole(summary, "/LogicalProcessorCount").or_else(|| sum("/TotalThreads")),
        model: text(summary, "/Model")
            .or_else(|| installed.first().and_then(|one| text(one, "/Model"))),
    };
    (found != Processors::default()).then_some(found)
}

fn boot(documents: &Documents) -> Option<Boot> {
    let boot = at(&documents.system, "/Boot");
    let override_mode = text(boot, "/BootSourceOverrideMode");
    let found = Boot {
        mode: set_mode(&documents.bios).or_else(|| override_mode.as_deref().and_then(mode)),
        override_enabled: text(boot, "/BootSourceOverrideEnabled"),
        override_target: text(boot, "/BootSourceOverrideTarget"),
        override_mode,
        allowed_targets: texts(boot, "/BootSourceOverrideTarget@Redfish.AllowableValues"),
    };
    (found != Boot::default()).then_some(found)
}

fn set_mode(bios: &Value) -> Option<String> {
    let attributes = at(bios, "/Attributes").as_object()?;
    BOOT_MODES.iter().find_map(|name| mode(attributes.get(*name)?.as_str()?))
}

fn mode(told: &str) -> Option<String> {
    let told = told.to_ascii_lowercase();
    let word = match () {
        () if told.contains("dual") => "dual",
        () if told.contains("uefi") => "uefi",
        () if told.contains("legacy") || told == "bios" => "legacy",
        () => return None,
    };
    Some(word.into())
}

/// What the last boot did, and only without it what the next one will do.
fn secure_boot(document: &Value) -> Option<bool> {
    match text(document, "/SecureBootCurrentBoot").as_deref() {
        Some("Enabled") => Some(true),
        Some("Disabled") => Some(false),
        _ => flag(document, "/SecureBootEnable"),
    }
}

pub fn attributes(bios: &Value) -> BTreeMap<String, String> {
    let Some(attributes) = at(bios, "/Attributes").as_object() else { return BTreeMap::new() };
    attributes
        .iter()
        .filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !SECRETS.iter().any(|secret| name.contains(secret))
        })
        .filter_map(|(name, value)| Some((crate::value::clean(name)?, plain(value)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_of_the_bios_are_left_out() {
        let bios = json!({"Attributes": {
            "BootMode": "Uefi", "SetupPassword": "x", "OldSysPwd": "y", "NumCores": 4, "List": []}});
        let kept: Vec<_> = attributes(&bios).into_keys().collect();
        assert_eq!(kept, ["BootMode", "NumCores"]);
    }

    #[test]
    fn processors_are_summed_only_if_all_tell() {
        let one = json!({"TotalCores": 8, "TotalThreads": 16, "Model": "Xeon"});
        let documents = Documents {
            system: json!({"ProcessorSummary": {}}),
            processors: vec![one.clone(), one, json!({"Status": {"State": "Absent"}})],
            ..Documents::default()
        };
        let found = processors(&documents).unwrap();
        assert_eq!((found.count, found.cores, found.threads), (Some(2), Some(16), Some(32)));
        let silent = Documents { processors: vec![json!({"Id": "1"})], ..documents };
        assert_eq!(processors(&silent).unwrap().cores, None);
    }

    #[test]
    fn a_boot_mode_has_one_name() {
        for (told, expected) in [
            ("Uefi", Some("uefi")),
            ("LegacyBios", Some("legacy")),
            ("Bios", Some("legacy")),
            ("DUAL", Some("dual")),
            ("UEFIMode", Some("uefi")),
            ("x", None),
        ] {
            assert_eq!(mode(told).as_deref(), expected);
        }
    }
}
