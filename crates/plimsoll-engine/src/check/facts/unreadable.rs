//! What of a network config nmstate cannot read, or reads and drops.

use std::net::IpAddr;

use plimsoll_install::{File, Network, Place, parse_ip, text_of};
use plimsoll_yaml::{Key, Kind, Node};

use super::hosts::Machine;
use super::keys::{self, has_unknown};
use super::nmstate::{STATES, Text};
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

/// Of a network config, what nmstate wants as mappings and as lists.
const MAPPINGS: [&[&str]; 3] = [&["routes"], &["dns-resolver"], &["dns-resolver", "config"]];
const LISTS: [&[&str]; 4] = [
    &["interfaces"],
    &["routes", "config"],
    &["dns-resolver", "config", "server"],
    &["dns-resolver", "config", "search"],
];
/// The same of one of its interfaces.
const MAPPINGS_OF_ONE: [&[&str]; 4] = [&["ipv4"], &["ipv6"], &["link-aggregation"], &["vlan"]];
const LISTS_OF_ONE: [&[&str]; 4] = [
    &["ipv4", "address"],
    &["ipv6", "address"],
    &["link-aggregation", "port"],
    &["link-aggregation", "ports-config"],
];

pub fn extract(hosts: &[Machine<'_>], facts: &mut Facts) {
    for host in hosts {
        let faults = network_config(host).map(|node| Faults::of(node, host.network_place()));
        let faults = faults.unwrap_or_default();
        if let Some((_, file, _)) = &host.net {
            faults.hidden.iter().for_each(|(line, key)| facts.hide(*file, *line, key));
        }
        let found = |list: Vec<(String, Text)>| -> Vec<Found> {
            list.into_iter().map(|(said, text)| host.at(said, &text)).collect()
        };
        facts.found(&host.id, "networkUnreadable", found(faults.unreadable));
        facts.found(&host.id, "interfaceTypesUnknown", found(faults.kinds));
        facts.found(&host.id, "interfaceStatesUnknown", found(faults.states));
        facts.found(&host.id, "networkKeysUnknown", found(faults.keys));
    }
}

pub fn network_config<'m>(host: &'m Machine<'_>) -> Option<&'m Node> {
    match host.net.as_ref()? {
        (_, File::Agent, _) => host.agent.as_ref()?.0.network_config.as_deref(),
        (_, File::Install, _) => host.install.as_ref()?.0.network_config.as_deref(),
    }
}

#[derive(Default)]
struct Faults {
    unreadable: Vec<(String, Text)>,
    kinds: Vec<(String, Text)>,
    states: Vec<(String, Text)>,
    keys: Vec<(String, Text)>,
    /// Lines of which nothing behind a key is shown.
    hidden: Vec<(u32, String)>,
}

impl Faults {
    /// `at` is where the config begins: a block of text has its own place a line below.
    fn of(node: &Node, at: Place) -> Self {
        let mut faults = Self::default();
        if !is_mapping(node) {
            let text = Text { value: String::new(), at, path: String::new() };
            let said = format!("networkConfig is {} and no mapping", node.kind_name());
            faults.unreadable.push((said, text));
            return faults;
        }
        faults.shapes(node, &MAPPINGS, &LISTS, "");
        for (key, value) in node.entries().iter().filter(|(key, _)| !KEYS.contains(&&*key.name)) {
            let at = place_of_key(key, value);
            let text = Text { value: key.name.clone(), at, path: key.name.clone() };
            faults.keys.push((key.name.clone(), text));
        }
        for (index, interface) in items(node.get("interfaces")) {
            let path = format!("interfaces[{index}]");
            // Of one that is to go only its name is read.
            if !is_mapping(interface) {
                let text = Text { value: String::new(), at: place(interface), path: path.clone() };
                let said = format!("{path} is {} and no mapping", interface.kind_name());
                faults.unreadable.push((said, text));
            } else if interface.text_at(&["state"]) != Some("absent") {
                faults.interface(interface, &path);
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
        if name.is_empty() {
            let text = Text { value: String::new(), at: place(node), path: path.into() };
            self.unreadable.push((format!("{path} without name"), text));
        }
        self.shapes(node, &MAPPINGS_OF_ONE, &LISTS_OF_ONE, path);
        for (key, value) in node.entries() {
            if let Some(family) = meant_family(&key.name) {
                let said = format!("{} of {name} (is {family} meant?)", key.name);
                self.unreadable.push((said, at_key(key, value, path)));
            }
        }
        self.bond(node, &name, path);
        self.vlan(node, &name, path);
        if let Some(kind) = node.get("type").and_then(|it| text(it, format!("{path}.type")))
            && !KINDS.contains(&kind.value.as_str())
        {
            self.kinds.push((format!("{} of {name}", kind.value), kind));
        }
        if let Some(state) = node.get("state").and_then(|it| text(it, format!("{path}.state")))
            && !STATES.contains(&state.value.as_str())
        {
            self.states.push((format!("{} of {name}", state.value), state));
        }
        let is_read = keys::is_read(node);
        for family in ["ipv4", "ipv6"] {
            for (index, item) in items(node.at(&[family, "address"])) {
                let path = format!("{path}.{family}.address[{index}]");
                self.address(item, family, &path, has_unknown(item, keys::ADDRESS) && is_read);
            }
        }
    }

    /// Lists and mappings that are something else.
    fn shapes(&mut self, node: &Node, mappings: &[&[&str]], lists: &[&[&str]], path: &str) {
        let is_list = |node: &Node| matches!(node.kind, Kind::List(_));
        let mappings = mappings.iter().map(|keys| (*keys, "mapping"));
        for (keys, wanted) in mappings.chain(lists.iter().map(|keys| (*keys, "list"))) {
            let Some((key, value)) = entry(node, keys) else { continue };
            let fits = if wanted == "list" { is_list(value) } else { is_mapping(value) };
            if !fits && !matches!(value.kind, Kind::Null) {
                let below = keys.join(".");
                let said = format!("{below} is {} and no {wanted}", value.kind_name());
                let path = if path.is_empty() { below } else { format!("{path}.{below}") };
                let at = place_of_key(key, value);
                // Nobody knows what stands in place of a list.
                self.hidden.push((at.line, (*key.name).to_string()));
                self.unreadable.push((said, Text { value: String::new(), at, path }));
            }
        }
    }

    /// A new bond has no mode that it could keep.
    fn bond(&mut self, node: &Node, name: &str, path: &str) {
        let is_up = node.text_at(&["state"]).is_none_or(|state| state == "up");
        let mode = node.at(&["link-aggregation", "mode"]).filter(|mode| !is_null(mode));
        if node.text_at(&["type"]) != Some("bond") || !is_up || mode.is_some() {
            return;
        }
        // The key that is meant for it is told.
        if node.get("link-aggregation").is_some_and(|bond| has_unknown(bond, keys::BOND)) {
            return;
        }
        let text = match entry(node, &["link-aggregation"]) {
            Some((key, value)) => at_key(key, value, path),
            None => at_name(node, path),
        };
        self.unreadable.push((format!("{name} without link-aggregation.mode"), text));
    }

    fn vlan(&mut self, node: &Node, name: &str, path: &str) {
        if node.text_at(&["type"]) != Some("vlan") {
            return;
        }
        let Some((key, vlan)) = entry(node, &["vlan"]).filter(|(_, vlan)| !is_null(vlan)) else {
            let said = format!("{name} is of type vlan without vlan.id and vlan.base-iface");
            return self.unreadable.push((said, at_name(node, path)));
        };
        if !is_mapping(vlan) {
            return;
        }
        for field in ["id", "base-iface"] {
            if vlan.get(field).is_none_or(is_null) && !has_unknown(vlan, keys::VLAN) {
                let said = format!("{name} without vlan.{field}");
                self.unreadable.push((said, at_key(key, vlan, path)));
            }
        }
        let id = vlan.get("id").and_then(|id| text(id, format!("{path}.vlan.id")));
        if let Some(id) = id.filter(|id| id.value.trim().parse::<i64>().is_err()) {
            self.unreadable.push((format!("the vlan.id {} of {name}", id.value), id));
        }
    }

    /// `is_told`: it has a key that is told, and that may be meant for what it lacks.
    fn address(&mut self, item: &Node, family: &str, path: &str, is_told: bool) {
        let Some(ip) = item.get("ip").and_then(|ip| text(ip, format!("{path}.ip"))) else {
            if !is_told {
                let text = Text { value: String::new(), at: place(item), path: path.into() };
                self.unreadable.push(("an address without ip".into(), text));
            }
            return;
        };
        let fits = |address: IpAddr| address.is_ipv4() == (family == "ipv4");
        if !parse_ip(&ip.value).is_some_and(fits) {
            return push(&mut self.unreadable, &format!("the {family} address"), ip);
        }
        let most = if family == "ipv4" { 32 } else { 128 };
        let written = item.get("prefix-length").filter(|it| !matches!(it.kind, Kind::Null));
        match written.and_then(|it| text(it, format!("{path}.prefix-length"))) {
            None if is_told => {}
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
        // A route that leads nowhere needs none, and a key that is meant for it is told.
        let leads_nowhere = field("route-type").is_some() || has_unknown(route, keys::ROUTE);
        if is_mapping(route) && field("next-hop-interface").is_none() && !leads_nowhere {
            let text = Text { value: String::new(), at: place(route), path: path.into() };
            self.unreadable.push((format!("{path} without next-hop-interface"), text));
        }
    }
}

fn push(list: &mut Vec<(String, Text)>, what: &str, text: Text) {
    list.push((format!("{what} {}", text.value), text));
}

pub fn items(node: Option<&Node>) -> impl Iterator<Item = (usize, &Node)> {
    node.map(Node::items).unwrap_or_default().iter().enumerate()
}

/// The key at a path of keys, and its value.
fn entry<'n>(node: &'n Node, keys: &[&str]) -> Option<(&'n Key, &'n Node)> {
    let (last, above) = keys.split_last()?;
    let entries = node.at(above)?.entries();
    entries.iter().find(|(key, _)| key.name == *last).map(|(key, value)| (key, value))
}

/// The family that a key is a slip away from. nmstate drops what it does not know of an interface.
fn meant_family(key: &str) -> Option<&'static str> {
    if matches!(key, "ipv4" | "ipv6") {
        return None;
    }
    match key.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "ip4" | "ipv4" | "inet" | "inet4" => Some("ipv4"),
        "ip6" | "ipv6" | "inet6" => Some("ipv6"),
        _ => None,
    }
}

fn is_mapping(node: &Node) -> bool {
    matches!(node.kind, Kind::Map(_))
}

fn is_null(node: &Node) -> bool {
    matches!(node.kind, Kind::Null)
}

fn at_key(key: &Key, value: &Node, above: &str) -> Text {
    let path = format!("{above}.{}", key.name);
    Text { value: String::new(), at: place_of_key(key, value), path }
}

/// The name of an interface, else the interface.
fn at_name(node: &Node, path: &str) -> Text {
    let name = node.get("name").and_then(|name| text(name, format!("{path}.name")));
    name.unwrap_or_else(|| Text { value: String::new(), at: place(node), path: path.into() })
}

/// A key that a merge brought has no place of its own.
pub fn place_of_key(key: &Key, value: &Node) -> Place {
    if key.line == 0 { place(value) } else { Place { line: key.line, column: key.column } }
}

fn place(node: &Node) -> Place {
    Place { line: node.line.max(1), column: node.column.max(1) }
}

fn text(node: &Node, path: String) -> Option<Text> {
    Some(Text { value: text_of(node)?, at: place(node), path })
}
