//! Which BMCs are meant by `bmc:FILE`: a list of hosts, or the hosts of an install-config. Passwords
//! may stand elsewhere and be named only.
//!
//! ```yaml
//! hosts:
//! - name: worker-1
//!   address: redfish-virtualmedia://192.0.2.21/redfish/v1/Systems/1
//!   username: admin
//!   passwordFile: secrets/worker-1     # or passwordEnv: NAME, or password:
//!   disableCertificateVerification: true
//! ```
//!
//! What is written there and not meant so is an error: nothing is ignored, and nothing is merged.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_bmc::{Endpoint, Secret, Target};
use plimsoll_sources::plain;
use plimsoll_yaml::{Kind, Limits, Node, parse};

use crate::exit::Failure;
use crate::files::read_text;

/// What is read of a file with a password.
const LONGEST_SECRET: usize = 4096;

const VERIFY_OFF: &str = "disableCertificateVerification";
/// Of a BMC. Its host has a name beside.
const KEYS: [&str; 7] =
    ["address", "username", "password", "passwordFile", "passwordEnv", VERIFY_OFF, "caFile"];

/// A line, and what is wrong there.
type Wrong = (u32, String);

pub fn targets(file: &Path) -> Result<Vec<Target>, Failure> {
    let shown = file.display();
    let refused = |line: u32, why: &str| Failure::Unreadable(format!("{shown}:{line}: {why}"));
    let text = read_text(file)
        .map_err(|error| Failure::Unreadable(format!("cannot read {shown}: {}", plain(&error))))?;
    let node = parse(&text, &Limits::OBJECT)
        .map_err(|error| Failure::Unreadable(format!("cannot read {shown}: {error}")))?;
    let of_install_config = node.at(&["platform", "baremetal", "hosts"]);
    let own = node.get("hosts").or_else(|| matches!(node.kind, Kind::List(_)).then_some(&node));
    let Some(hosts) = own.or(of_install_config) else {
        return Err(refused(1, "it has no hosts: give a list 'hosts', or an install-config"));
    };
    let mut targets = Vec::new();
    let mut known = Known::default();
    for host in hosts.items() {
        let target = target(file, host, own.is_some())
            .and_then(|target| known.add(&target, host.line).map(|()| target))
            .map_err(|(line, why)| refused(line, &why))?;
        targets.push(target);
    }
    if targets.is_empty() {
        return Err(refused(1, "its list of hosts is empty"));
    }
    Ok(targets)
}

fn target(file: &Path, host: &Node, is_own: bool) -> Result<Target, Wrong> {
    let here = |why: String| (host.line, why);
    let text = |node: &Node, key: &str| node.text_at(&[key]).map(str::to_string);
    // An install-config has it one level deeper.
    let bmc = host.get("bmc").unwrap_or(host);
    check_keys(host, is_own)?;
    let Some(address) = text(bmc, "address") else {
        return Err(here("this host has no BMC address".into()));
    };
    Ok(Target {
        name: text(host, "name").unwrap_or_else(|| address.clone()),
        address,
        username: text(bmc, "username"),
        password: password(file, bmc).map_err(here)?,
        verify: !is_off(bmc)?,
        ca_pem: match text(bmc, "caFile") {
            Some(named) => Some(beside(file, &named).map_err(here)?),
            None => None,
        },
        more_ca_pem: None,
    })
}

/// A key that nobody reads may be one that somebody relies on.
fn check_keys(host: &Node, is_own: bool) -> Result<(), Wrong> {
    let allowed = KEYS.join(", ");
    if let Some(bmc) = host.get("bmc") {
        let stray = host.entries().iter().find(|(key, _)| KEYS.contains(&key.name.as_str()));
        if let Some((key, _)) = stray {
            return Err((key.line, format!("'{}' belongs under 'bmc' of this host", key.name)));
        }
        let unknown = bmc.entries().iter().find(|(key, _)| !KEYS.contains(&key.name.as_str()));
        return unknown.map_or(Ok(()), |(key, _)| {
            Err((key.line, format!("'{}' is no key of a BMC: it has {allowed}", key.name)))
        });
    }
    // What else an install-config says of its hosts is not for us.
    let is_known = |name: &str| name == "name" || KEYS.contains(&name);
    let unknown = host.entries().iter().find(|(key, _)| is_own && !is_known(&key.name));
    unknown.map_or(Ok(()), |(key, _)| {
        Err((key.line, format!("'{}' is no key of a host: it has name, {allowed}", key.name)))
    })
}

fn is_off(bmc: &Node) -> Result<bool, Wrong> {
    let Some(value) = bmc.get(VERIFY_OFF) else { return Ok(false) };
    let written = value.as_text().unwrap_or_default().to_ascii_lowercase();
    let meant = match written.as_str() {
        "true" | "yes" | "on" | "y" => "write true",
        "false" | "no" | "off" | "n" => "write false",
        _ => "write true or false",
    };
    let wrong = || (value.line, format!("{VERIFY_OFF}: {meant}, without quotes"));
    value.as_bool().ok_or_else(wrong)
}

/// Hosts so far, by name and by what of which BMC they are.
#[derive(Default)]
struct Known {
    names: BTreeMap<String, u32>,
    bmcs: BTreeMap<String, u32>,
}

impl Known {
    /// Of two that are one, each would be told what the other is.
    fn add(&mut self, target: &Target, line: u32) -> Result<(), Wrong> {
        // Where no Redfish is spoken, what is written is all there is.
        let bmc = match target.address.parse::<Endpoint>() {
            Ok(Endpoint { host, port, system_path, .. }) => {
                format!("{host}:{port}{}", system_path.unwrap_or_default())
            }
            Err(_) => target.address.trim().to_string(),
        };
        if let Some(before) = self.names.insert(target.name.clone(), line) {
            return Err((line, format!("the host in line {before} has the same name")));
        }
        if let Some(before) = self.bmcs.insert(bmc, line) {
            return Err((line, format!("the host in line {before} has the same BMC")));
        }
        Ok(())
    }
}

fn password(file: &Path, bmc: &Node) -> Result<Option<Secret>, String> {
    let text = |key: &str| bmc.text_at(&[key]);
    let found = match (text("passwordFile"), text("passwordEnv")) {
        (Some(named), _) => Some(beside(file, named)?),
        (None, Some(variable)) => {
            Some(environment(variable).ok_or_else(|| format!("${variable} is not set"))?)
        }
        (None, None) => text("password").map(str::to_string),
    };
    let found = found.map(|text| text.trim_end_matches(['\n', '\r']).to_string());
    match found {
        Some(text) if text.len() > LONGEST_SECRET => Err("its password is no password".into()),
        found => Ok(found.map(Secret::new)),
    }
}

#[expect(clippy::disallowed_methods, reason = "the user names the variable")]
fn environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// A file that is named from another one.
fn beside(file: &Path, named: &str) -> Result<String, String> {
    let path = file.parent().unwrap_or(Path::new("")).join(named);
    read_text(&path).map_err(|error| format!("cannot read {}: {}", path.display(), plain(&error)))
}
