//! Names, MAC addresses and disks: what must be one machine's own.

use std::collections::BTreeMap;

use plimsoll_install::{File, Method, Place};

use super::hosts::{Machine, mac_of};
use super::{Facts, Found};

/// Names that mean "this machine", which no host may have.
const LOCAL: [&str; 8] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
    "localhost-live",
    "localhost.local",
];

pub fn extract(hosts: &[Machine<'_>], method: Method, facts: &mut Facts) {
    let mut by_name: BTreeMap<String, &str> = BTreeMap::new();
    let mut by_mac: BTreeMap<[u8; 6], &str> = BTreeMap::new();
    let mut by_disk: BTreeMap<String, &str> = BTreeMap::new();
    let mut short = Vec::new();
    let mut long = Vec::new();
    for host in hosts {
        let id = &host.id;
        let name = host.name.value.as_str();
        let own = host.id.name.as_str();
        let fault = if host.agent.is_some() { name_fault(name) } else { None };
        facts.found(id, "nameFault", fault.map(|why| host.here(why.into())).into_iter().collect());
        let mut taken = Vec::new();
        if !name.is_empty() {
            match by_name.get(&name.to_lowercase()) {
                Some(_) => taken.push(host.here(name.to_string())),
                None => {
                    by_name.insert(name.to_lowercase(), own);
                }
            }
            if name.contains('.') { long.push(host) } else { short.push(host) }
        }
        facts.found(id, "nameTaken", taken);
        macs(host, method, &mut by_mac, facts);
        disks(host, &mut by_disk, facts);
    }
    let mixed = if short.len() < long.len() { &short } else { &long };
    let is_mixed = !short.is_empty() && !long.is_empty();
    let odd = mixed.iter().filter(|_| is_mixed).map(|host| host.here(host.name.value.clone()));
    let odd: Vec<Found> = odd.collect();
    let id = facts.config();
    facts.found(&id, "namesMixed", odd);
}

/// Why a text is no name of a host.
fn name_fault(name: &str) -> Option<&'static str> {
    let label = |label: &str| {
        let bytes = label.as_bytes();
        !bytes.is_empty()
            && bytes.first() != Some(&b'-')
            && bytes.last() != Some(&b'-')
            && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
    };
    if name.is_empty() {
        None
    } else if LOCAL.contains(&name) {
        Some("it means this machine")
    } else if name.len() > 63 {
        Some("it has more than 63 characters")
    } else if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Some("it has capital letters")
    } else if !name.split('.').all(label) {
        Some("only small letters, digits, hyphens and dots may be in it, and no hyphen at an end")
    } else {
        None
    }
}

fn macs<'h>(
    host: &'h Machine<'_>,
    method: Method,
    seen: &mut BTreeMap<[u8; 6], &'h str>,
    facts: &mut Facts,
) {
    let mut own: Vec<(&str, File, String, Place)> = Vec::new();
    let mut faults = Vec::new();
    if let Some((install, path)) = &host.install {
        let mac = &install.boot_mac;
        let path = format!("{path}.bootMACAddress");
        if !mac.is_empty() {
            faults.extend(boot_mac_fault(&mac.value, method).map(|why| Found {
                said: why.into(),
                file: File::Install,
                path: path.clone(),
                at: mac.place,
                value: Some(mac.value.clone()),
            }));
            own.push((mac.as_str(), File::Install, path, mac.place));
        }
    }
    if let Some((agent, path)) = &host.agent {
        for (index, interface) in agent.interfaces.iter().enumerate() {
            let path = format!("{path}.interfaces[{index}].macAddress");
            own.push((interface.mac.as_str(), File::Agent, path, interface.mac.place));
        }
    }
    let mut taken = Vec::new();
    for (text, file, path, at) in own {
        let Some(mac) = mac_of(text) else { continue };
        match seen.get(&mac) {
            Some(owner) if *owner != host.id.name => {
                let said = format!("{text} is of {owner}");
                taken.push(Found { said, file, path, at, value: Some(text.into()) });
            }
            Some(_) => {}
            None => {
                seen.insert(mac, &host.id.name);
            }
        }
    }
    facts.found(&host.id, "bootMacFault", faults);
    facts.found(&host.id, "macsTaken", taken);
}

/// Why a text is no bootMACAddress.
fn boot_mac_fault(text: &str, method: Method) -> Option<&'static str> {
    let has_colons = text.split(':').count() == 6;
    match mac_of(text) {
        None => Some("it is no MAC address"),
        Some([0, 0, 0, 0, 0, 0]) => Some("it is all zeros"),
        Some([first, ..]) if first & 1 == 1 => Some("it is of a group, not of one card"),
        // The agent makes no BareMetalHost of it, and its installer says so itself.
        Some(_) if !has_colons && method == Method::Ipi => {
            Some("six pairs of digits are wanted with colons between them")
        }
        Some(_) => None,
    }
}

/// A serial number or a WWN is of one disk, and a disk is in one host.
fn disks<'h>(host: &'h Machine<'_>, seen: &mut BTreeMap<String, &'h str>, facts: &mut Facts) {
    let mut taken = Vec::new();
    if let Some((hints, file, path)) = host.hints() {
        for (field, hint) in [
            ("serialNumber", &hints.serial_number),
            ("wwn", &hints.wwn),
            ("wwnWithExtension", &hints.wwn_with_extension),
        ] {
            if hint.is_empty() {
                continue;
            }
            let key = format!("{field} {}", hint.value.to_lowercase());
            match seen.get(&key) {
                Some(owner) if *owner != host.id.name => taken.push(Found {
                    said: format!("{field} {} is of {owner}", hint.value),
                    file,
                    path: format!("{path}.rootDeviceHints.{field}"),
                    at: hint.place,
                    value: Some(hint.value.clone()),
                }),
                Some(_) => {}
                None => {
                    seen.insert(key, &host.id.name);
                }
            }
        }
    }
    facts.found(&host.id, "disksTaken", taken);
}
