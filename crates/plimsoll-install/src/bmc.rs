//! Addresses of BMCs as the bare-metal operator reads them: the scheme names the driver.

use crate::go::address::parse_ip;
use crate::go::url::{Url, split_host_port};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    pub name: &'static str,
    pub secure_boot: bool,
    pub needs_provisioning_network: bool,
}

const fn driver_of(name: &'static str, secure_boot: bool, network: bool) -> Driver {
    Driver { name, secure_boot, needs_provisioning_network: network }
}

/// Scheme, what may follow it behind a plus, and the driver.
const SCHEMES: &[(&str, &[&str], Driver)] = &[
    ("ipmi", &[], driver_of("ipmi", false, true)),
    ("libvirt", &[], driver_of("ipmi", false, true)),
    ("ibmc", &["http", "https"], driver_of("ibmc", false, true)),
    ("idrac", &["http", "https"], driver_of("idrac", false, true)),
    ("idrac-redfish", &["http", "https"], driver_of("idrac", true, true)),
    ("idrac-virtualmedia", &["http", "https"], driver_of("idrac", true, false)),
    ("ilo4", &["https"], driver_of("ilo", true, true)),
    ("ilo4-virtualmedia", &["https"], driver_of("ilo", true, false)),
    ("ilo5", &["https"], driver_of("ilo5", true, true)),
    ("ilo5-redfish", &["http", "https"], driver_of("redfish", true, true)),
    ("ilo5-virtualmedia", &["http", "https"], driver_of("redfish", true, false)),
    ("irmc", &[], driver_of("irmc", true, true)),
    ("redfish", &["http", "https"], driver_of("redfish", true, true)),
    ("redfish-virtualmedia", &["http", "https"], driver_of("redfish", true, false)),
];

/// The parts of a BMC's address, as far as they can be told of any text.
#[derive(Clone, Copy, Debug)]
pub struct BmcAddress<'a> {
    /// Without the transport behind a plus.
    pub driver: &'a str,
    pub transport: &'a str,
    /// With a port, if one is written.
    pub host: &'a str,
    pub path: &'a str,
}

impl<'a> BmcAddress<'a> {
    pub fn read(text: &'a str) -> Self {
        let (scheme, rest) = text
            .split_once("://")
            .or_else(|| text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)))
            .unwrap_or(("ipmi", text));
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
    pub fn key(&self) -> String {
        let port = match (self.port(), self.transport) {
            ("443", "" | "https") | ("80", "http") | ("623", _) => "",
            (port, _) => port,
        };
        let path = self.path.trim_end_matches('/');
        format!("{}:{port}{path}", self.bare_host().to_lowercase())
    }

    pub fn speaks_redfish(&self) -> bool {
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
    /// `host:port` where it is spoken to over TCP; IPMI is UDP, which nobody can try without a password.
    pub fn tcp(&self) -> Option<String> {
        if self.host.is_empty() || matches!(self.driver, "ipmi" | "libvirt") {
            return None;
        }
        let usual = if self.transport == "http" { 80 } else { 443 };
        Some(match self.port() {
            "" => format!("{}:{usual}", self.host.trim_end_matches(':')),
            _ => self.host.to_string(),
        })
    }
}

/// `ipmi:192.0.2.1` is one, `192.0.2.1:623` has none.
fn is_scheme(text: &str) -> bool {
    let name = text.split_once('+').map_or(text, |(name, _)| name);
    SCHEMES.iter().any(|(scheme, ..)| *scheme == name)
}

/// The driver for an address, or the operator's complaint.
pub(crate) fn driver(address: &str) -> Result<Driver, String> {
    if address.is_empty() {
        return Err("missing BMC address".into());
    }
    let url = parse(address)?;
    let (name, transport) = match url.scheme.split_once('+') {
        Some((name, transport)) => (name, Some(transport)),
        None => (url.scheme.as_str(), None),
    };
    SCHEMES
        .iter()
        .find(|(scheme, transports, _)| {
            *scheme == name && transport.is_none_or(|transport| transports.contains(&transport))
        })
        .map(|(.., driver)| *driver)
        .ok_or_else(|| format!("Unknown BMC type '{}' for address {address}", url.scheme))
}

fn parse(address: &str) -> Result<Url, String> {
    let wrapped = |fault: String| format!("failed to parse BMC address information: {fault}");
    let url = match Url::parse(address) {
        Err(fault) => {
            if address.contains(':') && split_host_port(address).is_none() {
                return Err(wrapped(fault));
            }
            Url { scheme: "ipmi".into(), host: address.into(), ..Url::default() }
        }
        Ok(mut url) => {
            if !url.opaque.is_empty() {
                url = Url::parse(&address.replacen(':', "://", 1)).map_err(wrapped)?;
            }
            if url.scheme.is_empty() && url.hostname().is_empty() {
                url = Url::parse(&format!("ipmi://{address}")).map_err(wrapped)?;
            }
            url
        }
    };
    let host = url.hostname();
    if !host.is_empty() && parse_ip(host).is_none() && !host.split('.').all(is_host_label) {
        return Err(wrapped(format!("BMC address hostname/IP : [{host}] is invalid")));
    }
    Ok(url)
}

fn is_host_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_scheme_names_the_driver() {
        let of = |address: &str| driver(address).unwrap();
        assert_eq!(of("192.168.111.1").name, "ipmi");
        assert_eq!(of("192.168.111.1:6233").name, "ipmi");
        assert_eq!(of("bmc.example.com").name, "ipmi");
        assert_eq!(of("ipmi:192.168.111.1").name, "ipmi");
        assert!(of("redfish://1.2.3.4/redfish/v1/Systems/1").needs_provisioning_network);
        assert!(!of("redfish-virtualmedia+http://[fd00::1]:8000/x").needs_provisioning_network);
        assert!(of("idrac-virtualmedia://1.2.3.4/x").secure_boot);
        assert_eq!(of("ilo4-virtualmedia+https://h/").name, "ilo");
    }

    #[test]
    fn addresses_that_no_driver_takes() {
        let fault = |address: &str| driver(address).unwrap_err();
        assert_eq!(fault(""), "missing BMC address");
        assert_eq!(
            fault("https://1.2.3.4"),
            "Unknown BMC type 'https' for address https://1.2.3.4"
        );
        assert_eq!(
            fault("ipmi+http://h"),
            "Unknown BMC type 'ipmi+http' for address ipmi+http://h"
        );
        assert_eq!(
            fault("redfish://my_host/"),
            "failed to parse BMC address information: BMC address hostname/IP : [my_host] is invalid"
        );
    }

    #[test]
    fn an_address_has_parts() {
        let of = BmcAddress::read;
        let address = of("redfish-virtualmedia+http://[fd00::1]:8000/redfish/v1/Systems/1");
        assert_eq!((address.driver, address.transport), ("redfish-virtualmedia", "http"));
        assert_eq!((address.bare_host(), address.port()), ("fd00::1", "8000"));
        assert_eq!(address.path, "/redfish/v1/Systems/1");
        assert_eq!(of("10.0.0.1").bare_host(), "10.0.0.1");
        assert_eq!(of("10.0.0.1:6230").port(), "6230");
        assert_eq!(of("ipmi://host?privilegelevel=OPERATOR").host, "host");
        assert_eq!(of("ipmi://fd00::1").bare_host(), "fd00::1");
        assert_eq!(of("ipmi:10.0.0.1").bare_host(), "10.0.0.1");
    }

    #[test]
    fn ways_to_write_one_bmc_are_the_same() {
        let key = |text| BmcAddress::read(text).key();
        let one = key("redfish://BMC.lab/redfish/v1/Systems/1");
        assert_eq!(one, key("redfish-virtualmedia+https://bmc.lab:443/redfish/v1/Systems/1/"));
        assert_ne!(one, key("redfish://bmc.lab/redfish/v1/Systems/2"));
        assert_ne!(key("ipmi://10.0.0.1:6230"), key("ipmi://10.0.0.1:6231"));
        assert_eq!(key("ipmi://10.0.0.1:623"), key("10.0.0.1"));
        assert_eq!(key("ipmi:10.0.0.1"), key("10.0.0.1"));
    }

    #[test]
    fn what_speaks_over_tcp_has_a_port() {
        let tcp = |text| BmcAddress::read(text).tcp();
        assert_eq!(tcp("redfish://bmc.lab/x").as_deref(), Some("bmc.lab:443"));
        assert_eq!(tcp("redfish+http://a:b@bmc.lab/x").as_deref(), Some("bmc.lab:80"));
        assert_eq!(tcp("redfish://[fd00::1]/x").as_deref(), Some("[fd00::1]:443"));
        assert_eq!(tcp("redfish://[fd00::1]:8000/x").as_deref(), Some("[fd00::1]:8000"));
        assert_eq!(tcp("ipmi://10.0.0.1"), None);
    }

    proptest! {
        #[test]
        fn no_text_crashes_it(text in "\\PC{0,60}") {
            let address = BmcAddress::read(&text);
            let _ = (address.key(), address.bare_host().len());
        }
    }
}
