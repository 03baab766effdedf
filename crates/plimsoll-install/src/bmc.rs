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
}
