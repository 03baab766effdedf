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

use std::path::Path;

use plimsoll_bmc::{Secret, Target};
use plimsoll_sources::plain;
use plimsoll_yaml::{Kind, Limits, Node, parse};

use crate::exit::Failure;
use crate::files::read_text;

/// What is read of a file with a password.
const LONGEST_SECRET: usize = 4096;

pub fn targets(file: &Path) -> Result<Vec<Target>, Failure> {
    let shown = file.display();
    let refused = |line: u32, why: &str| Failure::Unreadable(format!("{shown}:{line}: {why}"));
    let text = read_text(file)
        .map_err(|error| Failure::Unreadable(format!("cannot read {shown}: {}", plain(&error))))?;
    let node = parse(&text, &Limits::OBJECT)
        .map_err(|error| Failure::Unreadable(format!("cannot read {shown}: {error}")))?;
    let hosts = node
        .get("hosts")
        .or_else(|| node.at(&["platform", "baremetal", "hosts"]))
        .or_else(|| matches!(node.kind, Kind::List(_)).then_some(&node));
    let Some(hosts) = hosts else {
        return Err(refused(1, "it has no hosts: give a list 'hosts', or an install-config"));
    };
    let mut targets = Vec::new();
    for host in hosts.items() {
        let line = host.line;
        // An install-config has it one level deeper.
        let bmc = host.get("bmc").unwrap_or(host);
        let text = |node: &Node, key: &str| node.text_at(&[key]).map(str::to_string);
        let Some(address) = text(bmc, "address") else {
            return Err(refused(line, "this host has no BMC address"));
        };
        let name = text(host, "name").unwrap_or_else(|| address.clone());
        targets.push(Target {
            name,
            address,
            username: text(bmc, "username"),
            password: password(file, bmc).map_err(|why| refused(line, &why))?,
            verify: !bmc.get("disableCertificateVerification").is_some_and(is_true),
            ca_pem: match text(bmc, "caFile") {
                Some(named) => Some(beside(file, &named).map_err(|why| refused(line, &why))?),
                None => None,
            },
            more_ca_pem: None,
        });
    }
    if targets.is_empty() {
        return Err(refused(1, "its list of hosts is empty"));
    }
    Ok(targets)
}

fn is_true(node: &Node) -> bool {
    matches!(node.kind, Kind::Bool(true))
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
