//! What nmstate is asked to make of a host's interfaces, as far as addresses go.

use std::collections::BTreeSet;
use std::net::IpAddr;

use plimsoll_install::{Network, Place, parse_ip};
use plimsoll_yaml::{Kind, Node};

use super::addresses::subnet;

/// All that nmstate takes, in small letters only.
pub const STATES: [&str; 5] = ["up", "down", "absent", "unknown", "ignore"];

#[derive(Default)]
pub struct Net {
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    pub dns: Vec<Text>,
    /// Interfaces with an address that are not up, at the word that says so.
    pub down: Vec<Text>,
}

/// A text, where it stands, and its path below `networkConfig`.
#[derive(Clone)]
pub struct Text {
    pub value: String,
    pub at: Place,
    pub path: String,
}

pub struct Link {
    pub name: Text,
    pub kind: String,
    pub mac: Option<Text>,
    pub mtu: Option<(i64, Text)>,
    pub addresses: Vec<Address>,
    /// Addresses of a family that is switched off.
    pub switched_off: Vec<Text>,
    /// Where a family is switched on.
    pub switched_on: Option<Text>,
    /// It gets addresses from elsewhere, or may.
    pub is_dynamic: bool,
    /// Nothing at all is said of its addresses.
    pub is_silent: bool,
    /// The port is found by its MAC address, and its name is a label.
    pub is_found_by_mac: bool,
    pub bond: Option<Bond>,
    pub vlan: Option<Vlan>,
    /// Ports of a bridge.
    pub ports: Vec<String>,
}

pub struct Address {
    pub ip: IpAddr,
    pub prefix: Option<u8>,
    pub at: Text,
}

impl Address {
    pub fn subnet(&self) -> Option<Network> {
        subnet(self.ip, self.prefix?)
    }

    /// One address alone: a loopback, an anycast or a point-to-point address.
    pub fn is_single(&self) -> bool {
        self.prefix == Some(if self.ip.is_ipv4() { 32 } else { 128 })
    }
}

pub struct Bond {
    pub at: Text,
    pub mode: Option<Text>,
    pub primary: Option<Text>,
    pub ports: Vec<Text>,
}

pub struct Vlan {
    pub id: Option<(i64, Text)>,
    pub base: Option<Text>,
}

pub struct Route {
    pub is_default: bool,
    pub destination: Option<Text>,
    pub via: Option<Text>,
    pub interface: Option<Text>,
}

impl Net {
    pub fn read(node: &Node) -> Self {
        let interfaces = node.get("interfaces").map(Node::items).unwrap_or_default();
        let mut links: Vec<Link> =
            interfaces.iter().enumerate().filter_map(|(i, node)| link(node, i)).collect();
        settle(&mut links);
        let down = interfaces.iter().enumerate().filter_map(|(i, node)| down(node, i)).collect();
        let routes = node.at(&["routes", "config"]).map(Node::items).unwrap_or_default();
        let servers = node.at(&["dns-resolver", "config", "server"]);
        Self {
            links,
            routes: routes.iter().enumerate().filter_map(|(i, node)| route(node, i)).collect(),
            dns: texts(servers, "dns-resolver.config.server"),
            down,
        }
    }

    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.links.iter().flat_map(|link| &link.addresses)
    }

    pub fn is_dynamic(&self) -> bool {
        self.links.iter().any(|link| link.is_dynamic)
    }

    pub fn has_default_route(&self) -> bool {
        self.routes.iter().any(|route| route.is_default)
    }

    /// All that a name stands for: an OVS bridge and its interface share one.
    pub fn named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n Link> {
        self.links.iter().filter(move |link| link.name.value == name)
    }
}

/// Where nothing is said of addresses of a link that is no part of another, it may ask for some.
fn settle(links: &mut [Link]) {
    let mut parts: BTreeSet<String> = BTreeSet::new();
    for link in links.iter() {
        parts.extend(link.ports.iter().cloned());
        parts.extend(link.bond.iter().flat_map(|bond| &bond.ports).map(|port| port.value.clone()));
        parts.extend(link.vlan.iter().flat_map(|vlan| &vlan.base).map(|base| base.value.clone()));
    }
    for link in links.iter_mut().filter(|link| parts.contains(&link.name.value)) {
        link.is_dynamic &= !link.addresses.is_empty();
    }
}

fn place(node: &Node) -> Place {
    Place { line: node.line, column: node.column }
}

fn shown(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Int(number) => Some(number.to_string()),
        _ => None,
    }
}

fn text(node: Option<&Node>, path: String) -> Option<Text> {
    let node = node?;
    Some(Text { value: shown(node)?, at: place(node), path })
}

fn number(node: Option<&Node>, path: String) -> Option<(i64, Text)> {
    let text = text(node, path)?;
    Some((text.value.trim().parse().ok()?, text))
}

fn texts(node: Option<&Node>, path: &str) -> Vec<Text> {
    let items = node.map(Node::items).unwrap_or_default().iter().enumerate();
    items.filter_map(|(i, node)| text(Some(node), format!("{path}[{i}]"))).collect()
}

fn says(node: Option<&Node>, word: bool) -> bool {
    match node.map(|node| &node.kind) {
        Some(Kind::Bool(value)) => *value == word,
        Some(Kind::Text(value)) => value.eq_ignore_ascii_case(if word { "true" } else { "false" }),
        _ => false,
    }
}

fn down(node: &Node, index: usize) -> Option<Text> {
    let name = node.get("name").and_then(shown)?;
    let state = node.get("state")?;
    let word = shown(state).filter(|word| matches!(word.as_str(), "down" | "absent"))?;
    let has_address = |family: &&str| {
        let ip = node.get(family);
        let on = ip.filter(|ip| !says(ip.get("enabled"), false));
        on.and_then(|ip| ip.get("address")).is_some_and(|all| !all.items().is_empty())
    };
    ["ipv4", "ipv6"].into_iter().find(has_address)?;
    let path = format!("interfaces[{index}].state");
    Some(Text { value: format!("{name} is {word}"), at: place(state), path })
}

fn link(node: &Node, index: usize) -> Option<Link> {
    let path = format!("interfaces[{index}]");
    let name = text(node.get("name"), format!("{path}.name"))?;
    // A word that is no state is told, and nothing else of the interface because of it.
    let state = node.text_at(&["state"]).filter(|state| STATES.contains(state)).unwrap_or("up");
    let kind = node.text_at(&["type"]).unwrap_or_default().to_string();
    if state == "absent" {
        return None;
    }
    let mut addresses = Vec::new();
    let mut switched_off = Vec::new();
    let mut switched_on = None;
    let mut is_dynamic = false;
    for family in ["ipv4", "ipv6"] {
        let Some(ip) = node.get(family) else { continue };
        let off = says(ip.get("enabled"), false);
        let is_on = state == "up" && says(ip.get("enabled"), true);
        if let Some(on) = ip.get("enabled").filter(|_| is_on && switched_on.is_none()) {
            let path = format!("{path}.{family}.enabled");
            switched_on = Some(Text { value: "true".into(), at: place(on), path });
        }
        is_dynamic |= !off && (says(ip.get("dhcp"), true) || says(ip.get("autoconf"), true));
        let items = ip.get("address").map(Node::items).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let path = format!("{path}.{family}.address[{at}].ip");
            let Some(text) = text(item.get("ip"), path) else { continue };
            if off {
                switched_off.push(text);
            } else if let Some(ip) = parse_ip(&text.value) {
                let prefix = number(item.get("prefix-length"), String::new());
                let prefix = prefix.and_then(|(prefix, _)| u8::try_from(prefix).ok());
                // One that no address has is told as unreadable, and not once more as different.
                let most = if ip.is_ipv4() { 32 } else { 128 };
                let prefix = prefix.filter(|prefix| *prefix <= most);
                addresses.push(Address { ip, prefix, at: text });
            }
        }
    }
    let says_nothing = node.get("ipv4").is_none() && node.get("ipv6").is_none();
    let wired = matches!(kind.as_str(), "ethernet" | "bond" | "vlan" | "linux-bridge" | "");
    let is_silent = says_nothing && wired && state == "up";
    Some(Link {
        is_dynamic: is_dynamic || is_silent,
        is_silent,
        is_found_by_mac: node.text_at(&["identifier"]) == Some("mac-address"),
        mac: text(node.get("mac-address"), format!("{path}.mac-address")),
        mtu: number(node.get("mtu"), format!("{path}.mtu")),
        addresses: if state == "up" { addresses } else { Vec::new() },
        switched_off,
        switched_on,
        bond: node.get("link-aggregation").map(|bond| Bond {
            at: Text {
                value: String::new(),
                at: place(bond),
                path: format!("{path}.link-aggregation"),
            },
            mode: text(bond.get("mode"), format!("{path}.link-aggregation.mode")),
            primary: text(
                bond.at(&["options", "primary"]),
                format!("{path}.link-aggregation.options.primary"),
            ),
            ports: bond_ports(bond, &format!("{path}.link-aggregation")),
        }),
        vlan: node.get("vlan").map(|vlan| Vlan {
            id: number(vlan.get("id"), format!("{path}.vlan.id")),
            base: text(vlan.get("base-iface"), format!("{path}.vlan.base-iface")),
        }),
        ports: bridge_ports(node),
        name,
        kind,
    })
}

/// By their names, or with settings of each. The old word for ports is still taken.
fn bond_ports(bond: &Node, path: &str) -> Vec<Text> {
    let by_name = ["port", "ports", "slaves"].into_iter().find_map(|key| bond.get(key));
    let with_settings = bond.get("ports-config").map(Node::items).unwrap_or_default();
    let with_settings = with_settings
        .iter()
        .enumerate()
        .filter_map(|(i, port)| text(port.get("name"), format!("{path}.ports-config[{i}].name")));
    let mut ports = texts(by_name, &format!("{path}.port"));
    for port in with_settings {
        if !ports.iter().any(|known| known.value == port.value) {
            ports.push(port);
        }
    }
    ports
}

fn bridge_ports(node: &Node) -> Vec<String> {
    let bridge = node.get("bridge");
    let ports = bridge
        .and_then(|bridge| ["port", "ports", "slaves"].into_iter().find_map(|key| bridge.get(key)));
    let ports = ports.map(Node::items).unwrap_or_default();
    ports.iter().filter_map(|port| port.get("name").and_then(shown)).collect()
}

fn route(node: &Node, index: usize) -> Option<Route> {
    if node.text_at(&["state"]) == Some("absent") {
        return None;
    }
    let path = format!("routes.config[{index}]");
    let destination = text(node.get("destination"), format!("{path}.destination"));
    let network = destination.as_ref().and_then(|text| Network::parse(&text.value));
    Some(Route {
        destination,
        is_default: network.is_some_and(|network| network.prefix() == 0),
        via: text(node.get("next-hop-address"), format!("{path}.next-hop-address")),
        interface: text(node.get("next-hop-interface"), format!("{path}.next-hop-interface")),
    })
}
