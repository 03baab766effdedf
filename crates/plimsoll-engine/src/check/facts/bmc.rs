//! How each host's BMC is spoken to.

use std::collections::BTreeMap;

use plimsoll_install::{BmcAddress, File, Place};

use super::hosts::Machine;
use super::{Facts, Found};

pub fn extract(hosts: &[Machine<'_>], facts: &mut Facts) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for host in hosts {
        let Some((install, path)) = &host.install else {
            bare(host, facts);
            continue;
        };
        let id = &host.id;
        let written = &install.bmc.address;
        let address = BmcAddress::read(&written.value);
        let path = format!("{path}.bmc.address");
        facts.text(id, "bmcAddress", written, File::Install, &path);
        facts.known(id, "bmcDriver", if written.is_empty() { "" } else { address.driver });
        facts.known(id, "bmcPath", address.path);
        facts.known(id, "bmcSpeaksRedfish", !written.is_empty() && address.speaks_redfish());
        let key = address.key();
        let mut taken = Vec::new();
        match seen.get(&key) {
            _ if written.is_empty() => {}
            Some(owner) if *owner != id.name => taken.push(Found {
                said: (*owner).to_string(),
                file: File::Install,
                path,
                at: written.place,
                value: Some(written.value.clone()),
            }),
            Some(_) => {}
            None => {
                seen.insert(key, &id.name);
            }
        }
        facts.found(id, "bmcTaken", taken);
    }
}

fn bare(host: &Machine<'_>, facts: &mut Facts) {
    facts.known(&host.id, "bmcDriver", "");
    facts.known(&host.id, "bmcPath", "");
    facts.known(&host.id, "bmcSpeaksRedfish", false);
    facts.found(&host.id, "bmcTaken", Vec::new());
}

/// Hosts whose BMC is spoken to in a way that somebody could listen to.
pub fn in_the_open<'m>(
    hosts: &'m [Machine<'_>],
) -> impl Iterator<Item = (&'m Machine<'m>, Place, String)> {
    hosts.iter().filter_map(|host| {
        let (install, path) = host.install.as_ref()?;
        let written = &install.bmc.address;
        let address = BmcAddress::read(&written.value);
        (address.transport == "http").then(|| (host, written.place, format!("{path}.bmc.address")))
    })
}
