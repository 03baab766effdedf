//! The BMCs that a config names, with its own credentials.

use std::collections::BTreeSet;

use plimsoll_bmc::{Secret, Target};
use plimsoll_install::{Config, Host};
use plimsoll_yaml::{Limits, Node, parse};

/// BMCs that are not asked, because the driver of their address speaks no Redfish, are left out.
pub fn targets(config: &Config, text: &str) -> Vec<Target> {
    let root = parse(text, &Limits::USER_FILE).ok();
    let written = root.as_ref().and_then(|root| at(root, &["platform", "baremetal", "hosts"]));
    let written = written.map(Node::items).unwrap_or_default();
    hosts(config)
        .iter()
        .filter(|host| !host.bmc.address.is_empty() && speaks_redfish(host.bmc.address.as_str()))
        .map(|host| {
            let password = written
                .get(host.index_in_file)
                .and_then(|host| at(host, &["bmc", "password"]))
                .and_then(Node::as_text);
            Target {
                name: host.name.value.clone(),
                address: host.bmc.address.value.clone(),
                username: Some(host.bmc.username.value.clone()).filter(|name| !name.is_empty()),
                password: password.map(Secret::new),
                verify: !host.bmc.disable_certificate_verification.value,
                ca_pem: None,
            }
        })
        .collect()
}

pub fn hosts(config: &Config) -> &[Host] {
    let baremetal = config.install.as_ref().and_then(|install| install.platform.baremetal.as_ref());
    baremetal.map(|baremetal| baremetal.hosts.as_slice()).unwrap_or_default()
}

fn speaks_redfish(address: &str) -> bool {
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    ["redfish", "virtualmedia"].iter().any(|part| scheme.contains(part))
        && !scheme.starts_with("ilo4")
}

/// Those that are masters, or become such for want of a role.
pub fn control_plane(config: &Config) -> BTreeSet<String> {
    let Some(install) = &config.install else { return BTreeSet::new() };
    let wanted = usize::try_from(install.control_plane.replicas.value).unwrap_or(0);
    let hosts = hosts(config);
    let masters = hosts.iter().filter(|host| host.role.as_str() == "master");
    let free = hosts.iter().filter(|host| host.role.is_empty());
    masters.chain(free).take(wanted).map(|host| host.name.value.clone()).collect()
}

/// Keys as Go reads them: case does not matter.
pub fn at<'n>(node: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(node, |node, key| {
        let exact = node.get(key);
        let folded = || {
            let mut all = node.entries().iter();
            all.find(|(name, _)| name.name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
        };
        exact.or_else(folded)
    })
}
