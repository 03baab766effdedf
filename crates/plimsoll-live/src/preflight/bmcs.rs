//! The BMCs that a config names, with its own credentials.

use std::collections::BTreeSet;

use plimsoll_bmc::{Secret, Target};
use plimsoll_install::{Config, Host};
use plimsoll_yaml::Node;

/// BMCs that are not asked, because the driver of their address speaks no Redfish, are left out.
pub fn targets(config: &Config, text: &str) -> Vec<Target> {
    let root = plimsoll_install::tree(text);
    let bundle = config.install.as_ref().map(|install| install.trust_bundle.value.clone());
    let bundle = bundle.filter(|pem| !pem.trim().is_empty());
    hosts(config)
        .iter()
        .filter(|host| !host.bmc.address.is_empty() && speaks_redfish(host.bmc.address.as_str()))
        .map(|host| {
            let password = root.as_ref().and_then(|root| password(root, host.index_in_file));
            Target {
                name: host.name.value.clone(),
                address: host.bmc.address.value.clone(),
                username: Some(host.bmc.username.value.clone()).filter(|name| !name.is_empty()),
                password: password.map(Secret::new),
                verify: !host.bmc.disable_certificate_verification.value,
                ca_pem: None,
                more_ca_pem: bundle.clone(),
            }
        })
        .collect()
}

fn password(root: &Node, host: usize) -> Option<String> {
    let hosts = at(root, &["platform", "baremetal", "hosts"])?;
    let written = at(hosts.items().get(host)?, &["bmc", "password"])?;
    plimsoll_install::text_of(written)
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

#[cfg(test)]
mod tests {
    use super::password;

    #[test]
    fn a_password_is_the_text_that_the_installer_would_send() {
        for (written, meant) in [
            ("123456", "123456"),
            ("'0777'", "0777"),
            ("0777", "511"),
            ("yes", "true"),
            ("hunter2", "hunter2"),
        ] {
            let text = format!(
                "platform:\n  baremetal:\n    hosts:\n    - name: m0\n      bmc:\n        \
                 Password: {written}\n"
            );
            let root = plimsoll_install::tree(&text).unwrap();
            assert_eq!(password(&root, 0).as_deref(), Some(meant), "{written}");
        }
    }
}
