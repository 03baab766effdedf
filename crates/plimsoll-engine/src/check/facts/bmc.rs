//! How each host's BMC is spoken to.

use std::collections::BTreeMap;

use plimsoll_install::{File, Place};

use super::hosts::Machine;
use super::{Facts, Found};

/// The parts of a BMC's address.
pub struct Address<'a> {
    /// Without the transport behind a plus.
    pub driver: &'a str,
    pub transport: &'a str,
    /// With a port, if one is written.
    pub host: &'a str,
    pub path: &'a str,
}

impl<'a> Address<'a> {
    pub fn read(text: &'a str) -> Self {
        let (scheme, rest) = text.split_once("://").unwrap_or(("ipmi", text));
        let rest = rest.split(['?', '#']).next().unwrap_or(rest);
        let (host, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
        let (driver, transport) = scheme.split_once('+').unwrap_or((scheme, ""));
        Self { driver, transport, host, path }
    }

    /// Without port and brackets.
    pub fn bare_host(&self) -> &'a str {
        if let Some((v6, _)) = self.host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return v6;
        }
        match self.host.split_once(':') {
            Some((host, port)) if !port.contains(':') => host,
            _ => self.host,
        }
    }

    fn port(&self) -> &'a str {
        let behind = self.host.rsplit_once(']').map_or(self.host, |(_, behind)| behind);
        behind.rsplit_once(':').map_or("", |(_, port)| port)
    }

    /// The same for every way to write one BMC.
    fn key(&self) -> String {
        let port = match (self.port(), self.transport) {
            ("443", "" | "https") | ("80", "http") | ("623", _) => "",
            (port, _) => port,
        };
        let path = self.path.trim_end_matches('/');
        format!("{}:{port}{path}", self.bare_host().to_lowercase())
    }

    fn speaks_redfish(&self) -> bool {
        matches!(
            self.driver,
            "redfish"
                | "redfish-virtualmedia"
                | "ilo5-redfish"
                | "ilo5-virtualmedia"
                | "idrac-redfish"
                | "idrac-virtualmedia"
        )
    }
}

pub fn extract(hosts: &[Machine<'_>], facts: &mut Facts) {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for host in hosts {
        let Some((install, path)) = &host.install else {
            bare(host, facts);
            continue;
        };
        let id = &host.id;
        let written = &install.bmc.address;
        let address = Address::read(&written.value);
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
        let address = Address::read(&written.value);
        (address.transport == "http").then(|| (host, written.place, format!("{path}.bmc.address")))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_address_has_parts() {
        let of = Address::read;
        let address = of("redfish-virtualmedia+http://[fd00::1]:8000/redfish/v1/Systems/1");
        assert_eq!((address.driver, address.transport), ("redfish-virtualmedia", "http"));
        assert_eq!((address.bare_host(), address.port()), ("fd00::1", "8000"));
        assert_eq!(address.path, "/redfish/v1/Systems/1");
        assert_eq!(of("10.0.0.1").bare_host(), "10.0.0.1");
        assert_eq!(of("10.0.0.1:6230").port(), "6230");
        assert_eq!(of("ipmi://host?privilegelevel=OPERATOR").host, "host");
        assert_eq!(of("ipmi://fd00::1").bare_host(), "fd00::1");
    }

    #[test]
    fn ways_to_write_one_bmc_are_the_same() {
        let key = |text| Address::read(text).key();
        let one = key("redfish://BMC.lab/redfish/v1/Systems/1");
        assert_eq!(one, key("redfish-virtualmedia+https://bmc.lab:443/redfish/v1/Systems/1/"));
        assert_ne!(one, key("redfish://bmc.lab/redfish/v1/Systems/2"));
        assert_ne!(key("ipmi://10.0.0.1:6230"), key("ipmi://10.0.0.1:6231"));
        assert_eq!(key("ipmi://10.0.0.1:623"), key("10.0.0.1"));
    }

    proptest! {
        #[test]
        fn no_text_crashes_it(text in "\\PC{0,60}") {
            let address = Address::read(&text);
            let _ = (address.key(), address.bare_host().len());
        }
    }
}
