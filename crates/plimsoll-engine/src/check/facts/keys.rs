//! Keys inside a network config that nmstate refuses. It drops what it does not know of an interface itself, and
//! of the structures below it refuses the whole config.

use plimsoll_yaml::Node;

use super::hosts::Machine;
use super::nmstate::Text;
use super::unreadable::{items, network_config, place_of_key};
use super::{Facts, Found};
use crate::check::fix::meant_key;

/// Keys of a structure that is read with `deny_unknown_fields`, with those of every version of nmstate and with
/// all that they are also called.
type Keys = &'static [&'static str];

const ROUTES: Keys = &["config", "running"];
pub const ROUTE: Keys = &[
    "state",
    "destination",
    "next-hop-interface",
    "next-hop-address",
    "metric",
    "table-id",
    "weight",
    "route-type",
    "cwnd",
    "source",
    "initcwnd",
    "initrwnd",
    "mtu",
    "quickack",
    "advmss",
    "vrf-name",
];
const DNS: Keys = &["config", "running"];
const DNS_CLIENT: Keys = &["server", "search", "options"];
const IP: Keys = &[
    "enabled",
    "dhcp",
    "autoconf",
    "address",
    "dhcp-client-id",
    "dhcp-duid",
    "auto-dns",
    "auto-gateway",
    "auto-routes",
    "auto-route-table-id",
    "auto-route-metric",
    "addr-gen-mode",
    "allow-extra-address",
    "token",
    "dhcp-send-hostname",
    "dhcp-custom-hostname",
    "forwarding",
];
pub const ADDRESS: Keys = &[
    "ip",
    "prefix-length",
    "mptcp-flags",
    "valid-life-time",
    "valid-left",
    "valid-lft",
    "preferred-life-time",
    "preferred-left",
    "preferred-lft",
];
/// `slaves` is taken by some versions and refused by others.
pub const BOND: Keys = &["mode", "options", "port", "ports", "slaves", "ports-config"];
pub const VLAN: Keys = &[
    "base-iface",
    "id",
    "protocol",
    "registration-protocol",
    "reorder-headers",
    "loose-binding",
    "bridge-binding",
    "ingress-qos-map",
    "egress-qos-map",
];
/// Types of interfaces whose addresses every version reads. Of others it keeps no more than the name.
const KINDS_READ: [&str; 12] = [
    "bond",
    "dummy",
    "ethernet",
    "infiniband",
    "linux-bridge",
    "mac-vlan",
    "ovs-bridge",
    "ovs-interface",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
];
/// Other words for a key, more than a slip away from it.
const WORDS: [(&str, &str); 15] = [
    ("next-hop-iface", "next-hop-interface"),
    ("interface", "next-hop-interface"),
    ("next-hop-addr", "next-hop-address"),
    ("next-hop", "next-hop-address"),
    ("gateway", "next-hop-address"),
    ("via", "next-hop-address"),
    ("table", "table-id"),
    ("addresses", "address"),
    ("prefix", "prefix-length"),
    ("nameservers", "server"),
    ("interfaces", "port"),
    ("members", "port"),
    ("base-interface", "base-iface"),
    ("vlan-id", "id"),
    ("tag", "id"),
];

pub fn extract(hosts: &[Machine<'_>], facts: &mut Facts) {
    for host in hosts {
        let unknown = network_config(host).map(unknown).unwrap_or_default();
        let found: Vec<Found> =
            unknown.into_iter().map(|(said, text)| host.at(said, &text)).collect();
        facts.found(&host.id, "networkKeysBelow", found);
    }
}

/// Whether a mapping has a key that is none of these: what it lacks may be meant by it.
pub fn has_unknown(node: &Node, known: Keys) -> bool {
    node.entries().iter().any(|(key, _)| !known.contains(&key.name.as_str()))
}

/// Of an interface that is to go, and of one without a type, only the name is read.
pub fn is_read(interface: &Node) -> bool {
    let kind = interface.text_at(&["type"]).unwrap_or_default();
    interface.text_at(&["state"]) != Some("absent") && KINDS_READ.contains(&kind)
}

fn unknown(node: &Node) -> Vec<(String, Text)> {
    let mut found = Vec::new();
    for (index, interface) in items(node.get("interfaces")) {
        if !is_read(interface) {
            continue;
        }
        let kind = interface.text_at(&["type"]).unwrap_or_default();
        let path = format!("interfaces[{index}]");
        for family in ["ipv4", "ipv6"] {
            let Some(ip) = interface.get(family) else { continue };
            let path = format!("{path}.{family}");
            look(&mut found, ip, IP, &path, &[]);
            for (index, address) in items(ip.get("address")) {
                look(&mut found, address, ADDRESS, &format!("{path}.address[{index}]"), &[]);
            }
        }
        for (of, key, known) in [("bond", "link-aggregation", BOND), ("vlan", "vlan", VLAN)] {
            if let Some(below) = interface.get(key).filter(|_| kind == of) {
                look(&mut found, below, known, &format!("{path}.{key}"), &[]);
            }
        }
    }
    if let Some(dns) = node.get("dns-resolver") {
        look(&mut found, dns, DNS, "dns-resolver", DNS_CLIENT);
        if let Some(config) = dns.get("config") {
            look(&mut found, config, DNS_CLIENT, "dns-resolver.config", &[]);
        }
    }
    if let Some(routes) = node.get("routes") {
        look(&mut found, routes, ROUTES, "routes", &[]);
        for (index, route) in items(routes.get("config")) {
            look(&mut found, route, ROUTE, &format!("routes.config[{index}]"), &[]);
        }
    }
    found
}

/// `below` are keys that belong below `config`.
fn look(found: &mut Vec<(String, Text)>, node: &Node, known: Keys, path: &str, below: Keys) {
    for (key, value) in node.entries() {
        let name = key.name.as_str();
        if known.contains(&name) {
            continue;
        }
        let full = format!("{path}.{name}");
        let said = if below.contains(&name) {
            format!("{full} (is {path}.config.{name} meant?)")
        } else if let Some(meant) = meant(name, known) {
            format!("{full} (is {meant} meant?)")
        } else {
            full.clone()
        };
        found.push((said, Text { value: name.into(), at: place_of_key(key, value), path: full }));
    }
}

fn meant(key: &str, known: Keys) -> Option<&'static str> {
    let plain = key.to_ascii_lowercase().replace('_', "-");
    let is_it = |(word, right): &&(&str, &str)| *word == plain && known.contains(right);
    let word = WORDS.iter().find(is_it).map(|(_, right)| *right);
    word.or_else(|| meant_key(key, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_and_slips_are_told_and_the_rest_is_not() {
        for (key, known, said) in [
            ("next-hop-iface", ROUTE, Some("next-hop-interface")),
            ("next_hop_address", ROUTE, Some("next-hop-address")),
            ("addresses", IP, Some("address")),
            ("prefix_length", ADDRESS, Some("prefix-length")),
            ("base-interface", VLAN, Some("base-iface")),
            ("addresses", ROUTE, None),
            ("colour", BOND, None),
        ] {
            assert_eq!(meant(key, known), said, "{key}");
        }
    }
}
