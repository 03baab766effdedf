//! The address of a BMC, in the forms that a BareMetalHost and an install-config know.

use serde::{Deserialize, Serialize};
use url::Url;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// An IPv6 address stands in its brackets.
    pub host: String,
    pub port: u16,
    pub transport: Transport,
    /// The system that the address asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_path: Option<String>,
}

impl std::str::FromStr for Endpoint {
    type Err = String;

    fn from_str(address: &str) -> Result<Self, String> {
        parse(address)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    Http,
    Https,
}

impl Transport {
    pub fn scheme(self) -> &'static str {
        match self {
            Transport::Http => "http",
            Transport::Https => "https",
        }
    }
}

/// What stands before `+http`, `+https` or `://`, where Redfish is what answers.
const REDFISH: &[&str] = &[
    "redfish",
    "redfish-virtualmedia",
    "redfish-uefihttp",
    "ilo5-redfish",
    "ilo5-virtualmedia",
    "idrac-redfish",
    "idrac-virtualmedia",
];

/// Drivers that speak something else to the BMC.
const OTHERS: &[&str] =
    &["ipmi", "libvirt", "idrac", "ilo4", "ilo4-virtualmedia", "ilo5", "irmc", "ibmc"];

const LONGEST: usize = 2048;

/// The error says why no Redfish can be read there.
pub fn parse(address: &str) -> Result<Endpoint, String> {
    let address = address.trim();
    if address.is_empty() {
        return Err("there is no address".into());
    }
    if address.len() > LONGEST {
        return Err("the address is too long".into());
    }
    let (scheme, rest) = address.split_once("://").unwrap_or(("https", address));
    let transport = transport(&scheme.to_ascii_lowercase())?;
    // The schemes of the drivers are not special to a URL parser, and would get other rules.
    let url = Url::parse(&format!("{}://{rest}", transport.scheme()))
        .map_err(|error| format!("the address cannot be read: {error}"))?;
    let host = url.host_str().filter(|host| !host.is_empty()).ok_or("the address has no host")?;
    let port = url.port_or_known_default().ok_or("the address has no port")?;
    Ok(Endpoint { host: host.into(), port, transport, system_path: system_path(url.path()) })
}

fn transport(scheme: &str) -> Result<Transport, String> {
    let (driver, transport) = match scheme {
        "http" | "https" => ("redfish", scheme),
        _ => scheme.split_once('+').unwrap_or((scheme, "https")),
    };
    if OTHERS.contains(&driver) {
        return Err(format!("the driver {driver} does not speak Redfish"));
    }
    match transport {
        "https" if REDFISH.contains(&driver) => Ok(Transport::Https),
        "http" if REDFISH.contains(&driver) => Ok(Transport::Http),
        _ => Err("the driver of the address is not known".into()),
    }
}

fn system_path(path: &str) -> Option<String> {
    let bare = path.trim_end_matches('/');
    (!matches!(bare, "" | "/redfish" | "/redfish/v1")).then(|| bare.to_string())
}

/// The address as it may be shown: no user information, no query.
pub fn shown(address: &str) -> String {
    let (scheme, rest) = match address.trim().split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address.trim()),
    };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // A password may hold a slash, so whatever stands before the last @ goes.
    format!("{scheme}{}", rest.rsplit('@').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_hosts_are_understood() {
        use Transport::{Http, Https};
        let system = Some("/redfish/v1/Systems/1");
        for (address, host, port, transport, path) in [
            (
                "redfish-virtualmedia://10.0.0.5/redfish/v1/Systems/1",
                "10.0.0.5",
                443,
                Https,
                system,
            ),
            ("redfish-virtualmedia+https://bmc/redfish/v1/Systems/1/", "bmc", 443, Https, system),
            ("idrac-virtualmedia+http://bmc:8000/redfish/v1/Systems/1", "bmc", 8000, Http, system),
            ("ilo5-virtualmedia://[fd00::5]/redfish/v1/Systems/1", "[fd00::5]", 443, Https, system),
            ("redfish://bmc.example.com:8443", "bmc.example.com", 8443, Https, None),
            ("REDFISH+HTTP://bmc/redfish/v1/", "bmc", 80, Http, None),
            ("https://bmc", "bmc", 443, Https, None),
            ("http://[::1]:5000/redfish/v1", "[::1]", 5000, Http, None),
            ("10.0.0.5", "10.0.0.5", 443, Https, None),
            ("bmc:8443", "bmc", 8443, Https, None),
            ("https://root:calvin@bmc/redfish/v1/Systems/1?x=y#z", "bmc", 443, Https, system),
        ] {
            let expected = Endpoint {
                host: host.into(),
                port,
                transport,
                system_path: path.map(str::to_string),
            };
            assert_eq!(parse(address), Ok(expected), "{address}");
        }
    }

    #[test]
    fn what_is_not_redfish_is_told() {
        for (address, told) in [
            ("ipmi://10.0.0.5:623", "ipmi does not speak"),
            ("libvirt://10.0.0.5", "libvirt"),
            ("idrac://10.0.0.5", "idrac does not speak"),
            ("ilo4-virtualmedia://10.0.0.5", "ilo4"),
            ("telnet://10.0.0.5", "not known"),
            ("redfish+ftp://10.0.0.5", "not known"),
            ("", "no address"),
            ("redfish://", "cannot be read"),
            ("redfish://[::1", "cannot be read"),
            ("redfish://host:99999", "cannot be read"),
        ] {
            let why = parse(address).unwrap_err();
            assert!(why.contains(told), "{address}: {why}");
        }
        assert!(parse(&"a".repeat(5000)).is_err());
    }

    #[test]
    fn no_user_information_is_shown() {
        for (address, told) in [
            ("redfish://10.0.0.5/redfish/v1/Systems/1", "redfish://10.0.0.5/redfish/v1/Systems/1"),
            ("https://root:pa@ss@bmc:8443/a?token=x#y", "https://bmc:8443/a"),
            ("root:secret@bmc", "bmc"),
            ("https://root:pa/ss@bmc/x", "https://bmc/x"),
            ("https://[fd00::5]/redfish/v1", "https://[fd00::5]/redfish/v1"),
        ] {
            assert_eq!(shown(address), told);
        }
    }
}
