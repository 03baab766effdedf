//! What of a network config nmstate cannot read, or reads and drops.

use std::net::IpAddr;

use plimsoll_install::{File, Network, Place, parse_ip, text_of};
use plimsoll_yaml::{Kind, Node};

use super::hosts::Machine;
use super::nmstate::Text;
use super::{Facts, Found};

/// Of a `NetworkState`, which takes no other. The last three are those of a policy.
const KEYS: [&str; 11] = [
    "hostname",
    "dns-resolver",
    "route-rules",
    "routes",
    "interfaces",
    "ovs-db",
    "ovn",
    "description",
    "capture",
    "desired",
    "desiredState",
];
const KINDS: [&str; 22] = [
    "bond",
    "dummy",
    "ethernet",
    "hsr",
    "infiniband",
    "ipsec",
    "ipvlan",
    "linux-bridge",
    "loopback",
    "mac-vlan",
    "mac-vtap",
    "macsec",
    "ovs-bridge",
    "ovs-interface",
    "team",
    "tun",
    "unknown",
    "veth",
    "vlan",
    "vrf",
    "vxlan",
    "xfrm",
];

pub fn extract(hosts: &[Machine<'_>], facts: &mut Facts) {
    for host in hosts {
        let faults = network_config(host).map(Faults::of).unwrap_or_default();
        let found = |list: Vec<(String, Text)>| -> Vec<Found> {
            list.into_iter().map(|(said, text)| host.at(said, &text)).collect()
        };
        facts.found(&host.id, "networkUnreadable", found(faults.unreadable));
        facts.found(&host.id, "interfaceTypesUnknown", found(faults.kinds));
        facts.found(&host.id, "networkKeysUnknown", found(faults.keys));
    }
}

fn network_config<'m>(host: &'m Machine<'_>) -> Option<&'m Node> {
    match host.net.as_ref()? {
        (_, File::Agent, _) => host.agent.as_ref()?.0.network_config.as_deref(),
        (_, File::Install, _) => host.install.as_ref()?.0.network_config.as_deref(),
    }
}

#[derive(Default)]
struct Faults {
    unreadable: Vec<(String, Text)>,
    kinds: Vec<(String, Text)>,
    keys: Vec<(String, Text)>,
}

impl Faults {
    fn of(node: &Node) -> Self {
        let mut faults = Self::default();
        for (key, _) in node.entries().iter().filter(|(key, _)| !KEYS.contains(&&*key.name)) {
            let at = Place { line: key.line.max(1), column: key.column.max(1) };
            let text = Text { value: key.name.clone(), at, path: key.name.clone() };
            faults.keys.push((key.name.clone(), text));
        }
        for (index, interface) in items(node.get("interfaces")) {
            // Of one that is to go only its name is read.
            if interface.text_at(&["state"]) != Some("absent") {
                faults.interface(interface, &format!("interfaces[{index}]"));
            }
        }
        for (index, route) in items(node.at(&["routes", "config"])) {
            if route.text_at(&["state"]) != Some("absent") {
                faults.route(route, &format!("routes.config[{index}]"));
            }
        }
        let path = "dns-resolver.config.server";
        for (index, server) in items(node.at(&["dns-resolver", "config", "server"])) {
            // A link-local server has the interface behind it, an encrypted one a scheme before it.
            let is_readable = |text: &str| {
                let bare = text.split('%').next().unwrap_or_default();
                parse_ip(bare).is_some() || text.contains("://")
            };
            if let Some(text) = text(server, format!("{path}[{index}]"))
                && !is_readable(&text.value)
            {
                self::push(&mut faults.unreadable, "the DNS server", text);
            }
        }
        faults
    }

    fn interface(&mut self, node: &Node, path: &str) {
        let name = node.get("name").and_then(text_of).unwrap_or_default();
        if let Some(kind) = node.get("type").and_then(|it| text(it, format!("{path}.type")))
            && !KINDS.contains(&kind.value.as_str())
        {
            self.kinds.push((format!("{} of {name}", kind.value), kind));
        }
        for family in ["ipv4", "ipv6"] {
            for (index, item) in items(node.at(&[family, "address"])) {
                let path = format!("{path}.{family}.address[{index}]");
                self.address(item, family, &path);
            }
        }
    }

    fn address(&mut self, item: &Node, family: &str, path: &str) {
        let Some(ip) = item.get("ip").and_then(|ip| text(ip, format!("{path}.ip"))) else {
            let text = Text { value: String::new(), at: place(item), path: path.into() };
            return self.unreadable.push(("an address without ip".into(), text));
        };
        let fits = |address: IpAddr| address.is_ipv4() == (family == "ipv4");
        if !parse_ip(&ip.value).is_some_and(fits) {
            return push(&mut self.unreadable, &format!("the {family} address"), ip);
        }
        let most = if family == "ipv4" { 32 } else { 128 };
        let written = item.get("prefix-length").filter(|it| !matches!(it.kind, Kind::Null));
        match written.and_then(|it| text(it, format!("{path}.prefix-length"))) {
            None => self.unreadable.push((format!("{} without prefix-length", ip.value), ip)),
            Some(length) => {
                if !length.value.parse::<u8>().is_ok_and(|length| length <= most) {
                    let said = format!("the prefix-length {} of {}", length.value, ip.value);
                    self.unreadable.push((said, length));
                }
            }
        }
    }

    fn route(&mut self, route: &Node, path: &str) {
        let field = |key: &str| {
            let found = route.get(key).and_then(|it| text(it, format!("{path}.{key}")));
            found.filter(|text| !text.value.is_empty())
        };
        if let Some(via) = field("next-hop-address").filter(|it| parse_ip(&it.value).is_none()) {
            push(&mut self.unreadable, "the gateway", via);
        }
        let is_network = |text: &str| parse_ip(text).is_some() || Network::parse(text).is_some();
        if let Some(to) = field("destination").filter(|it| !is_network(&it.value)) {
            push(&mut self.unreadable, "the destination", to);
        }
    }
}

fn push(list: &mut Vec<(String, Text)>, what: &str, text: Text) {
    list.push((format!("{what} {}", text.value), text));
}

fn items(node: Option<&Node>) -> impl Iterator<Item = (usize, &Node)> {
    node.map(Node::items).unwrap_or_default().iter().enumerate()
}

fn place(node: &Node) -> Place {
    Place { line: node.line.max(1), column: node.column.max(1) }
}

fn text(node: &Node, path: String) -> Option<Text> {
    Some(Text { value: text_of(node)?, at: place(node), path })
}
