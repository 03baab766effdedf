//! Hosts that should be alike, compared: what all but one agree on names the odd one.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::reading::{Boot, Firmware, Link, Permission, Reading};

/// A BMC's clock that is further off is not right.
const CLOCK_SECONDS: u64 = 60;
/// Two clocks that are less apart may be one, read sooner and later.
const CLOCKS_APART: u64 = 30;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Difference {
    /// `boot mode`, or `bios attribute ProcCStates`.
    pub aspect: String,
    /// The host that differs. None where there is no majority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<String>,
    /// Of the odd one; without one, of the first group.
    pub value: String,
    pub others_value: String,
    pub others: Vec<String>,
    /// Without a majority: each value, and who has it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub split: BTreeMap<String, Vec<String>>,
}

/// Sorted by aspect. A host that does not tell an aspect takes no part in it.
pub fn differences(readings: &[Reading]) -> Vec<Difference> {
    let mut told: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let clocks = clocks(readings);
    for reading in readings {
        let clock = offset(reading).and_then(|offset| clocks.get(&offset).cloned());
        let clock = clock.map(|value| ("clock".to_string(), value));
        for (aspect, value) in aspects(reading).into_iter().chain(clock) {
            let groups = told.entry(aspect).or_default();
            groups.entry(value).or_default().insert(reading.name.clone());
        }
    }
    told.into_iter().filter_map(|(aspect, groups)| difference(aspect, groups)).collect()
}

fn difference(aspect: String, groups: BTreeMap<String, BTreeSet<String>>) -> Option<Difference> {
    if groups.len() < 2 {
        return None;
    }
    let named: Vec<(String, Vec<String>)> =
        groups.into_iter().map(|(value, names)| (value, names.into_iter().collect())).collect();
    if let [one, other] = named.as_slice() {
        let pair = match (one.1.len(), other.1.len()) {
            (1, 2..) => Some((one, other)),
            (2.., 1) => Some((other, one)),
            _ => None,
        };
        if let Some((odd, rest)) = pair {
            return Some(Difference {
                aspect,
                odd: odd.1.first().cloned(),
                value: odd.0.clone(),
                others_value: rest.0.clone(),
                others: rest.1.clone(),
                split: BTreeMap::new(),
            });
        }
    }
    let (first, second) = (named.first()?, named.get(1)?);
    Some(Difference {
        aspect,
        odd: None,
        value: first.0.clone(),
        others_value: second.0.clone(),
        others: second.1.clone(),
        split: named.iter().cloned().collect(),
    })
}

fn offset(reading: &Reading) -> Option<i64> {
    reading.manager.as_ref()?.offset_seconds
}

/// What is told of each offset: the same of those that are near each other.
fn clocks(readings: &[Reading]) -> BTreeMap<i64, String> {
    let offsets: BTreeSet<i64> = readings.iter().filter_map(offset).collect();
    let is_right = |offset: i64| offset.unsigned_abs() <= CLOCK_SECONDS;
    let mut groups: Vec<Vec<i64>> = Vec::new();
    let mut before: Option<i64> = None;
    for offset in offsets {
        let is_near = before.is_some_and(|before| {
            before.abs_diff(offset) < CLOCKS_APART || (is_right(before) && is_right(offset))
        });
        match groups.last_mut().filter(|_| is_near) {
            Some(group) => group.push(offset),
            None => groups.push(vec![offset]),
        }
        before = Some(offset);
    }
    let mut told = BTreeMap::new();
    for group in groups {
        let best = group.iter().copied().min_by_key(|offset| offset.unsigned_abs());
        let word = match best {
            Some(best) if !is_right(best) => format!("off by {best} s"),
            _ => "right".into(),
        };
        told.extend(group.into_iter().map(|offset| (offset, word.clone())));
    }
    told
}

/// What a reading tells of each aspect but its clock. The unknown is not in it.
fn aspects(reading: &Reading) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    let mut tell = |aspect: &str, value: Option<String>| {
        if let Some(value) = value {
            told.insert(aspect.to_string(), value);
        }
    };
    tell("reach", word(&reading.reach.status));
    let trusted = reading.tls.as_ref().and_then(|tls| tls.trusted);
    tell(
        "tls trust",
        trusted.map(|trusted| if trusted { "trusted" } else { "not trusted" }.into()),
    );
    if reading.service.is_some() {
        tell("auth", word(&reading.auth.status));
    }
    tell("virtual media privilege", known_word(&reading.privilege.virtual_media));
    tell("boot override privilege", known_word(&reading.privilege.boot_override));
    if let Some(system) = &reading.system {
        tell("power", system.power.clone());
        tell("boot override", system.boot.as_ref().and_then(boot_override));
        tell("boot mode", system.boot.as_ref().and_then(|boot| boot.mode.clone()));
        tell("bios version", system.bios_version.clone());
        tell("secure boot", system.secure_boot.map(|on| if on { "on" } else { "off" }.into()));
        tell("memory", system.memory_gib.map(|size| format!("{size} GiB")));
        let processors = system.processors.as_ref();
        tell("processor count", processors.and_then(|all| all.count).map(|n| n.to_string()));
        tell("processor cores", processors.and_then(|all| all.cores).map(|n| n.to_string()));
        tell("processor model", processors.and_then(|all| all.model.clone()));
    }
    if let Some(manager) = &reading.manager {
        tell("bmc firmware", manager.firmware.clone());
    }
    // Who could not be read to the end may have more than it shows.
    if reading.complete {
        parts(reading, &mut tell);
    }
    for (name, value) in &reading.bios {
        tell(&format!("bios attribute {name}"), Some(value.clone()));
    }
    told
}

fn parts(reading: &Reading, tell: &mut impl FnMut(&str, Option<String>)) {
    let nics = &reading.nics;
    if !nics.is_empty() {
        tell("nic models", list(nics.iter().map(|nic| nic.model.clone())));
        tell("nic firmware", list(nics.iter().map(|nic| nic.firmware.clone())));
        let links = nics.iter().filter(|nic| nic.link == Some(Link::Up)).count();
        let known = nics.iter().all(|nic| nic.link.is_some());
        tell("nic links up", known.then(|| links.to_string()));
        tell(
            "transceivers",
            list(nics.iter().map(|nic| {
                let transceiver = nic.transceiver.as_ref()?;
                match transceiver.present {
                    Some(false) => Some("none".into()),
                    _ => transceiver.part.clone(),
                }
            })),
        );
    }
    let storage = &reading.storage;
    if !storage.is_empty() {
        tell("storage controllers", list(storage.iter().map(|unit| unit.controller.clone())));
        tell("raid mode", list(storage.iter().map(|unit| unit.raid_mode.clone())));
        let drives: Vec<_> = storage.iter().flat_map(|unit| &unit.drives).collect();
        tell("drive count", Some(drives.len().to_string()));
        let sizes = drives.iter().map(|drive| drive.capacity_bytes);
        tell("drive sizes", list(sizes.map(|size| size.map(|size| size.to_string()))));
    }
    let media = reading.virtual_media.iter().map(|media| Some(media.id.clone()));
    tell("virtual media", Some(list(media).unwrap_or_else(|| "none".into())));
    let told = reading.virtual_media.iter().all(|media| media.inserted.is_some());
    let inserted = reading.virtual_media.iter().filter(|media| media.inserted == Some(true));
    let inserted = inserted.map(|media| media.image.clone().or(Some("unnamed".into())));
    let inserted = list(inserted).unwrap_or_else(|| "none".into());
    tell("inserted media", Some(inserted).filter(|_| told && !reading.virtual_media.is_empty()));
    firmware(&reading.firmware, tell);
}

/// Each part by its name. What it had before, or could have, it does not run.
fn firmware(parts: &[Firmware], tell: &mut impl FnMut(&str, Option<String>)) {
    let mut versions: BTreeMap<&str, Vec<Option<String>>> = BTreeMap::new();
    let runs =
        |part: &&Firmware| !["Previous", "Available"].iter().any(|of| part.id.starts_with(of));
    for part in parts.iter().filter(runs) {
        let name = part.name.as_deref().unwrap_or(&part.id);
        versions.entry(name).or_default().push(part.version.clone());
    }
    for (name, versions) in versions {
        tell(&format!("firmware {name}"), list(versions.into_iter()));
    }
}

fn boot_override(boot: &Boot) -> Option<String> {
    match (boot.override_enabled.as_deref()?, &boot.override_target) {
        ("Disabled", _) => Some("Disabled".into()),
        (enabled, Some(target)) => Some(format!("{enabled} {target}")),
        (enabled, None) => Some(enabled.into()),
    }
}

fn known_word(permission: &Permission) -> Option<String> {
    word(permission).filter(|_| *permission != Permission::Unknown)
}

/// Sorted, so that another order of slots is no difference. Equal ones are counted.
fn list(items: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for item in items.flatten() {
        *counts.entry(item).or_default() += 1;
    }
    let words: Vec<String> = counts
        .into_iter()
        .map(|(item, count)| if count == 1 { item } else { format!("{count} x {item}") })
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn word(value: &impl Serialize) -> Option<String> {
    serde_json::to_value(value).ok()?.as_str().map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Boot, Manager, Nic, Privilege, System, VirtualMedia};

    fn host(name: &str, mode: &str) -> Reading {
        Reading {
            name: name.into(),
            complete: true,
            system: Some(System {
                boot: Some(Boot { mode: Some(mode.into()), ..Boot::default() }),
                ..System::default()
            }),
            ..Reading::default()
        }
    }

    #[test]
    fn the_odd_one_is_named() {
        let mut hosts = [host("c", "uefi"), host("a", "uefi"), host("b", "legacy")];
        let found = differences(&hosts);
        let expected = Difference {
            aspect: "boot mode".into(),
            odd: Some("b".into()),
            value: "legacy".into(),
            others_value: "uefi".into(),
            others: vec!["a".into(), "c".into()],
            split: BTreeMap::new(),
        };
        assert_eq!(found, [expected]);
        hosts.reverse();
        assert_eq!(differences(&hosts), found);
    }

    #[test]
    fn without_a_majority_it_is_a_split() {
        for modes in
            [vec!["uefi", "legacy"], vec!["uefi", "uefi", "legacy", "legacy"], vec!["a", "b", "c"]]
        {
            let hosts: Vec<_> =
                modes.iter().enumerate().map(|(at, mode)| host(&at.to_string(), mode)).collect();
            let found = differences(&hosts);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].odd, None);
            let groups: BTreeSet<&str> = modes.iter().copied().collect();
            assert_eq!(found[0].split.len(), groups.len());
        }
        assert!(differences(&[]).is_empty());
        assert!(differences(&[host("a", "uefi")]).is_empty());
    }

    #[test]
    fn small_offsets_unknown_values_and_unfinished_readings_are_no_difference() {
        let mut hosts = vec![host("a", "uefi"), host("b", "uefi"), host("c", "uefi")];
        for (host, offset) in hosts.iter_mut().zip([Some(0), Some(-59), None]) {
            host.manager = Some(Manager { offset_seconds: offset, ..Manager::default() });
        }
        hosts[0].nics = vec![Nic { model: Some("x".into()), ..Nic::default() }];
        hosts[1].nics = vec![Nic { model: Some("x".into()), ..Nic::default() }; 2];
        hosts[1].complete = false;
        assert_eq!(differences(&hosts), []);
        hosts[2].manager.as_mut().unwrap().offset_seconds = Some(3600);
        assert_eq!(differences(&hosts)[0].value, "off by 3600 s");
    }

    #[test]
    fn clocks_that_were_read_one_after_another_are_one_clock() {
        let clocks = |offsets: [i64; 3]| -> Vec<Difference> {
            let host = |(name, offset): (&str, i64)| Reading {
                manager: Some(Manager { offset_seconds: Some(offset), ..Manager::default() }),
                ..host(name, "uefi")
            };
            differences(&["a", "b", "c"].into_iter().zip(offsets).map(host).collect::<Vec<_>>())
        };
        for offsets in [[-134, -133, -133], [-162, -134, -133], [-65, -59, 2], [60, 61, 60]] {
            assert_eq!(clocks(offsets), [], "{offsets:?}");
        }
        let found = clocks([-170, -133, -134]);
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.odd.as_deref(), one.value.as_str(), one.others_value.as_str()))
            .collect();
        assert_eq!(told, [(Some("a"), "off by -170 s", "off by -133 s")]);
        assert_eq!(clocks([i64::MIN, i64::MAX, i64::MAX]).len(), 1);
    }

    #[test]
    fn what_a_host_may_runs_and_holds_is_compared() {
        let part = |id: &str, version: &str| Firmware {
            id: id.into(),
            name: Some("NIC".into()),
            version: Some(version.into()),
        };
        let mut hosts = vec![host("a", "uefi"), host("b", "uefi"), host("c", "uefi")];
        for (at, host) in hosts.iter_mut().enumerate() {
            let is_odd = at == 2;
            let permission = if is_odd { Permission::Denied } else { Permission::Allowed };
            host.privilege = Privilege { virtual_media: permission, ..Privilege::default() };
            let system = host.system.as_mut().unwrap();
            system.power = Some(if is_odd { "Off" } else { "On" }.into());
            let boot = system.boot.as_mut().unwrap();
            boot.override_enabled = Some(if is_odd { "Once" } else { "Disabled" }.into());
            boot.override_target = Some(if is_odd { "Cd" } else { "None" }.into());
            host.virtual_media = vec![VirtualMedia {
                id: "1".into(),
                inserted: Some(is_odd),
                image: is_odd.then(|| "http://x/a.iso".into()),
                ..VirtualMedia::default()
            }];
            let before = format!("0.{at}");
            let runs = if is_odd { "1.0" } else { "1.1" };
            host.firmware = vec![part("Installed-1", runs), part("Previous-1", &before)];
        }
        let found = differences(&hosts);
        let told: Vec<String> = found
            .iter()
            .map(|one| format!("{}: {} ({})", one.aspect, one.value, one.others_value))
            .collect();
        let expected = [
            "boot override: Once Cd (Disabled)",
            "firmware NIC: 1.0 (1.1)",
            "inserted media: http://x/a.iso (none)",
            "power: Off (On)",
            "virtual media privilege: denied (allowed)",
        ];
        assert_eq!(told, expected);
        assert!(found.iter().all(|one| one.odd.as_deref() == Some("c")));
    }

    #[test]
    fn each_bios_attribute_counts() {
        let mut hosts = vec![host("a", "uefi"), host("b", "uefi"), host("c", "uefi")];
        for (host, value) in hosts.iter_mut().zip(["On", "On", "Off"]) {
            host.bios.insert("Sriov".into(), value.into());
        }
        let found = differences(&hosts);
        assert_eq!(found[0].aspect, "bios attribute Sriov");
        assert_eq!(found[0].odd.as_deref(), Some("c"));
    }
}
