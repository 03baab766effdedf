//! Interfaces, addresses and routes of each host, and what they have to do with those of others.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_install::{File, Method, Network, parse_ip};

use super::addresses::{self, Nets};
use super::hosts::{Machine, mac_of};
use super::nmstate::{Address, Link, Net, Text};
use super::{Facts, Found};

/// By name and by number.
const BOND_MODES: [&str; 7] = [
    "balance-rr",
    "active-backup",
    "balance-xor",
    "broadcast",
    "802.3ad",
    "balance-tlb",
    "balance-alb",
];
/// The least that IPv6 needs, and the most that switches of a data centre carry.
const LEAST_MTU: i64 = 1280;
const MOST_MTU: i64 = 9216;
/// Of one host, each compared with each.
const MOST_ADDRESSES: usize = 64;

/// `port` is provisioningNetworkInterface.
pub fn extract(
    hosts: &[Machine<'_>],
    nets: &Nets,
    method: Method,
    port: Option<&str>,
    facts: &mut Facts,
) {
    let across = Across::of(hosts);
    let mut first_owner: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for host in hosts {
        let none = Net::default();
        let net = host.net().unwrap_or(&none);
        let id = &host.id;
        facts.known(id, "agent", method == Method::Agent);
        addressing(host, net, nets, facts);
        facts.found(id, "interfacesDoubled", doubled(host, net));
        let down = net.down.iter().map(|text| host.at(text.value.clone(), text)).collect();
        facts.found(id, "interfacesDown", down);
        facts.found(id, "macContradicts", mac_contradicts(host, net));
        facts.found(id, "macsUnreadable", macs_unreadable(host, net));
        facts.found(id, "destinationsBare", destinations_bare(host, net));
        facts.found(id, "provisioningPortShared", provisioning_port_shared(host, net, nets, port));
        facts.found(id, "dnsLoopback", dns_on_loopback(host, net));
        facts.found(id, "bootMacUnconfigured", boot_mac_unconfigured(host, net));
        facts.found(id, "gatewaysOffLink", off_link(host, net));
        facts.found(id, "nextHopsUnknown", next_hops_unknown(host, net));
        facts.found(id, "switchedOff", switched_off(host, net));
        facts.found(id, "portsWithIp", ports_with_ip(host, net));
        facts.found(id, "subnetsShared", subnets_shared(host, net));
        facts.found(id, "addressesUnusable", unusable(host, net, &across));
        facts.found(id, "dnsOtherFamily", dns_of_other_family(host, net));
        links(host, net, facts);
        let mut taken = Vec::new();
        for address in net.addresses().filter(|own| is_of_one_machine(own)) {
            match first_owner.get(&address.ip) {
                Some(owner) if *owner != id.name => {
                    taken.push(host.at(format!("{} is of {owner}", address.ip), &address.at));
                }
                Some(_) => {}
                None => {
                    first_owner.insert(address.ip, &id.name);
                }
            }
        }
        facts.found(id, "addressesTaken", taken);
        let hidden = hidden(host, net, nets);
        facts.found(id, "addressesHidden", hidden);
    }
}

/// What is known of all hosts together.
struct Across {
    gateways: BTreeSet<IpAddr>,
}

impl Across {
    fn of(hosts: &[Machine<'_>]) -> Self {
        let routes = hosts.iter().filter_map(|host| host.net()).flat_map(|net| &net.routes);
        let vias = routes.filter_map(|route| parse_ip(&route.via.as_ref()?.value));
        Self { gateways: vias.collect() }
    }
}

/// Anycast and link-local addresses may be on many.
fn is_of_one_machine(address: &Address) -> bool {
    !address.is_single() && !addresses::is_link_local(address.ip) && !address.ip.is_loopback()
}

fn addressing(host: &Machine<'_>, net: &Net, nets: &Nets, facts: &mut Facts) {
    let id = &host.id;
    let shown: Vec<Found> =
        net.addresses().map(|own| host.at(own.at.value.clone(), &own.at)).collect();
    facts.found(id, "addresses", shown);
    facts.known(id, "dynamic", net.is_dynamic());
    facts.known(id, "defaultRoute", net.has_default_route());
    if nets.machine.is_some() {
        let inside = net.addresses().filter(|own| nets.in_machine(own.ip) == Some(true)).count();
        facts.known(id, "addressesInside", inside);
        facts.known(id, "machineNetworks", nets.machine_shown());
    }
    // All ports that agent-config.yaml names are in the network config, so nothing else asks DHCP.
    let covered = host.agent.as_ref().is_some_and(|(agent, _)| {
        let named = |name: &str, mac: &str| {
            net.links.iter().any(|link| {
                link.name.value == name
                    || link.mac.as_ref().is_some_and(|own| mac_of(&own.value) == mac_of(mac))
            })
        };
        !agent.interfaces.is_empty()
            && agent.interfaces.iter().all(|it| named(it.name.as_str(), it.mac.as_str()))
    });
    facts.known(id, "portsCovered", covered);
    let dns: Vec<&str> = net.dns.iter().map(|server| server.value.as_str()).collect();
    let at = host.network_place();
    let file = host.net.as_ref().map_or(host.file, |(_, file, _)| *file);
    let path = host.net.as_ref().map_or("", |(.., path)| path.as_str()).to_string();
    facts.set(id, "dnsServers", dns, file, &path, at, None);
}

/// Interfaces with an address in the network of another one.
fn subnets_shared(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let of = |link: &'_ Link| -> Vec<(String, Network, Text)> {
        let own = link.addresses.iter().filter(|own| is_of_one_machine(own));
        own.filter_map(|own| Some((link.name.value.clone(), own.subnet()?, own.at.clone())))
            .collect()
    };
    let all: Vec<_> = net.links.iter().flat_map(of).take(MOST_ADDRESSES).collect();
    let mut found = Vec::new();
    for (at, (name, network, text)) in all.iter().enumerate() {
        let shares =
            |(other, its, _): &&(String, Network, Text)| other != name && network.overlaps(its);
        if let Some((other, its, _)) = all[..at].iter().find(shares) {
            found.push(host.at(format!("{name} in {network} and {other} in {its}"), text));
        }
    }
    found
}

/// An OVS bridge and its interface may share a name, nothing else.
fn doubled(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
    let again = net.links.iter().filter(|link| {
        let key = (link.name.value.as_str(), link.kind == "ovs-bridge");
        !seen.insert(key)
    });
    again.map(|link| host.at(link.name.value.clone(), &link.name)).collect()
}

/// Ports that the list of interfaces and the network config do not name alike.
fn mac_contradicts(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let Some((agent, _)) = &host.agent else { return Vec::new() };
    let mut found = Vec::new();
    for link in net.links.iter().filter(|link| matches!(link.kind.as_str(), "ethernet" | "")) {
        let Some((mac, own)) = link.mac.as_ref().and_then(|mac| Some((mac, mac_of(&mac.value)?)))
        else {
            continue;
        };
        let name = link.name.value.as_str();
        let of_name = agent.interfaces.iter().find(|it| it.name.value == name);
        let of_mac = agent.interfaces.iter().find(|it| mac_of(it.mac.as_str()) == Some(own));
        match (of_name, of_mac) {
            (Some(listed), _) if mac_of(listed.mac.as_str()).is_some_and(|other| other != own) => {
                let said = format!("{name} is {} here and {} there", mac.value, listed.mac.value);
                found.push(host.at(said, mac));
            }
            (None, Some(listed)) if !link.is_found_by_mac && !listed.name.is_empty() => {
                let said = format!("{} is {name} here and {} there", mac.value, listed.name.value);
                found.push(host.at(said, &link.name));
            }
            _ => {}
        }
    }
    found
}

/// Words that NetworkManager takes in place of a MAC address.
const MAC_WORDS: [&str; 5] = ["permanent", "preserve", "random", "stable", "stable-ssid"];

/// What is no MAC address of an Ethernet. nmstate hands on any text.
fn macs_unreadable(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let is_ethernet = |link: &&Link| {
        matches!(link.kind.as_str(), "ethernet" | "bond" | "linux-bridge" | "vlan" | "")
    };
    let macs =
        net.links.iter().filter(is_ethernet).filter_map(|link| Some((link, link.mac.as_ref()?)));
    let is_word = |mac: &str| MAC_WORDS.iter().any(|word| word.eq_ignore_ascii_case(mac));
    let wrong = macs.filter(|(_, mac)| mac_of(&mac.value).is_none() && !is_word(&mac.value));
    wrong.map(|(link, mac)| host.at(format!("{} of {}", mac.value, link.name.value), mac)).collect()
}

/// `0.0.0.0` alone is one address, and `0.0.0.0/0` is everything.
fn destinations_bare(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let all = net.routes.iter().filter_map(|route| route.destination.as_ref());
    let bare = all.filter(|to| parse_ip(&to.value).is_some_and(|address| address.is_unspecified()));
    bare.map(|to| host.at(to.value.clone(), to)).collect()
}

/// The port that hosts boot from, where it has an address of the machine network.
fn provisioning_port_shared(
    host: &Machine<'_>,
    net: &Net,
    nets: &Nets,
    port: Option<&str>,
) -> Vec<Found> {
    let links = net.links.iter().filter(|link| Some(link.name.value.as_str()) == port);
    let own = links.flat_map(|link| &link.addresses);
    let shared = own.filter(|own| nets.in_machine(own.ip) == Some(true));
    shared.map(|own| host.at(own.at.value.clone(), &own.at)).collect()
}

/// Nothing answers there for a node.
fn dns_on_loopback(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let is_loopback = |text: &&Text| parse_ip(&text.value).is_some_and(|ip| ip.is_loopback());
    net.dns.iter().filter(is_loopback).map(|text| host.at(text.value.clone(), text)).collect()
}

/// The MAC address that the machine is known by, where its network config names those of other ports only.
fn boot_mac_unconfigured(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let Some((install, path)) = host.install.as_ref().filter(|_| host.agent.is_none()) else {
        return Vec::new();
    };
    let Some(boot) = mac_of(install.boot_mac.as_str()) else { return Vec::new() };
    let ports = net.links.iter().filter(|link| matches!(link.kind.as_str(), "ethernet" | ""));
    let macs: Option<Vec<&Text>> = ports.map(|link| link.mac.as_ref()).collect();
    // A port without a MAC address in the config may be the one.
    let macs = macs.unwrap_or_default();
    if macs.is_empty() || macs.iter().any(|mac| mac_of(&mac.value).is_none_or(|mac| mac == boot)) {
        return Vec::new();
    }
    let named: Vec<&str> = macs.iter().map(|mac| mac.value.as_str()).collect();
    vec![Found {
        said: format!("{}, and networkConfig has {}", install.boot_mac.value, named.join(", ")),
        file: File::Install,
        path: format!("{path}.bootMACAddress"),
        at: install.boot_mac.place,
        value: Some(install.boot_mac.value.clone()),
    }]
}

fn off_link(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let mut found = Vec::new();
    for route in &net.routes {
        let (Some(via), Some(interface)) = (&route.via, &route.interface) else { continue };
        let Some(address) = parse_ip(&via.value) else { continue };
        let links: Vec<&Link> = net.named(&interface.value).collect();
        let own = || links.iter().flat_map(|link| &link.addresses);
        // Who says nothing of addresses has none, and no route may go over it.
        let asks = |link: &&Link| link.is_dynamic && !link.is_silent;
        let is_told = !links.is_empty() && !links.iter().any(asks);
        let reaches = |own: &Address| {
            own.is_single() || own.subnet().is_none_or(|subnet| subnet.contains(address))
        };
        if is_told && !addresses::is_link_local(address) && !own().any(reaches) {
            let subnets: Vec<String> =
                own().filter_map(Address::subnet).map(|it| it.to_string()).collect();
            let has = if subnets.is_empty() { "no address".into() } else { subnets.join(", ") };
            found.push(host.at(format!("{} on {} ({has})", via.value, interface.value), via));
        }
    }
    found
}

fn next_hops_unknown(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let names: BTreeSet<&str> = net.links.iter().map(|link| link.name.value.as_str()).collect();
    let hops = net.routes.iter().filter_map(|route| route.interface.as_ref());
    let unknown = hops.filter(|hop| !names.contains(hop.value.as_str()));
    unknown.map(|hop| host.at(hop.value.clone(), hop)).collect()
}

/// agent-config.yaml names the ports of a host beside its network config.
fn is_listed(host: &Machine<'_>, name: &str) -> bool {
    let agent = host.agent.as_ref();
    agent.is_some_and(|(agent, _)| agent.interfaces.iter().any(|it| it.name.value == name))
}

fn switched_off(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let off = net.links.iter().flat_map(|link| &link.switched_off);
    off.map(|text| host.at(text.value.clone(), text)).collect()
}

/// Ports of bonds and bridges; the interface of an OVS bridge has the addresses, though it is a port of it.
fn ports_with_ip(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    let mut parts: BTreeMap<&str, &str> = BTreeMap::new();
    for link in &net.links {
        let name = link.name.value.as_str();
        let bond = link.bond.iter().filter(|_| link.kind == "bond").flat_map(|bond| &bond.ports);
        parts.extend(bond.map(|port| (port.value.as_str(), name)));
        if matches!(link.kind.as_str(), "linux-bridge" | "ovs-bridge") {
            parts.extend(link.ports.iter().map(|port| (port.as_str(), name)));
        }
    }
    let mut found = Vec::new();
    for link in net.links.iter().filter(|link| !link.kind.starts_with("ovs-")) {
        let name = link.name.value.as_str();
        if let Some(of) = parts.get(name).filter(|of| **of != name)
            && let Some(on) = &link.switched_on
        {
            found.push(host.at(format!("{name} of {of}"), on));
        }
    }
    found
}

fn unusable(host: &Machine<'_>, net: &Net, across: &Across) -> Vec<Found> {
    let mut found = Vec::new();
    for own in net.addresses() {
        let edge = own.subnet().and_then(|subnet| {
            let edge = addresses::edge(&subnet, own.ip)?;
            Some(format!("{edge} of {subnet}"))
        });
        let gateway = across.gateways.contains(&own.ip).then(|| "a gateway".to_string());
        if let Some(what) = edge.or(gateway) {
            found.push(host.at(format!("{} is {what}", own.at.value), &own.at));
        }
    }
    found
}

/// Servers of a family in which the host has no address at all.
fn dns_of_other_family(host: &Machine<'_>, net: &Net) -> Vec<Found> {
    if net.is_dynamic() || net.addresses().next().is_none() {
        return Vec::new();
    }
    let reaches = |server: IpAddr| net.addresses().any(|own| own.ip.is_ipv4() == server.is_ipv4());
    let servers = net.dns.iter().filter_map(|text| Some((text, parse_ip(&text.value)?)));
    let out = servers.filter(|(_, server)| !reaches(*server) && !server.is_loopback());
    out.map(|(text, _)| host.at(text.value.clone(), text)).collect()
}

fn hidden(host: &Machine<'_>, net: &Net, nets: &Nets) -> Vec<Found> {
    let mut found = Vec::new();
    let own = net.addresses().map(|own| ("its address", &own.at));
    let dns = net.dns.iter().map(|text| ("its DNS server", text));
    let vias =
        net.routes.iter().filter_map(|route| route.via.as_ref()).map(|it| ("its gateway", it));
    for (what, text) in own.chain(dns).chain(vias) {
        let network = parse_ip(&text.value).and_then(|address| nets.hidden_by(address));
        found
            .extend(network.map(|network| {
                host.at(format!("{what} {} is in the {network}", text.value), text)
            }));
    }
    if let Some((install, path)) = &host.install {
        let written = &install.bmc.address;
        let address = plimsoll_install::BmcAddress::read(&written.value);
        let network = parse_ip(address.bare_host()).and_then(|address| nets.hidden_by(address));
        found.extend(network.map(|network| Found {
            said: format!("its BMC {} is in the {network}", address.bare_host()),
            file: plimsoll_install::File::Install,
            path: format!("{path}.bmc.address"),
            at: written.place,
            value: Some(written.value.clone()),
        }));
    }
    found
}

/// Ports that are described, and then have no address, are no part of another and no way out.
fn idle(net: &Net) -> Vec<&str> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for link in &net.links {
        used.extend(link.ports.iter().map(String::as_str));
        used.extend(link.bond.iter().flat_map(|bond| &bond.ports).map(|it| it.value.as_str()));
        used.extend(link.vlan.iter().filter_map(|vlan| Some(vlan.base.as_ref()?.value.as_str())));
    }
    used.extend(
        net.routes.iter().filter_map(|route| Some(route.interface.as_ref()?.value.as_str())),
    );
    let has_nothing = |link: &&Link| {
        matches!(link.kind.as_str(), "ethernet" | "")
            && link.addresses.is_empty()
            && (!link.is_dynamic || link.is_silent)
            && !used.contains(link.name.value.as_str())
    };
    net.links.iter().filter(has_nothing).map(|link| link.name.value.as_str()).collect()
}

/// One letter too many, too few or wrong. Another digit is another port.
fn is_slip(written: &str, meant: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    match (&a[same..], &b[same..]) {
        ([x, a @ ..], [y, b @ ..]) if a == b => !(x.is_ascii_digit() && y.is_ascii_digit()),
        ([_, a @ ..], b) | (b, [_, a @ ..]) => a == b,
        _ => false,
    }
}

/// Bonds, VLANs and their MTUs.
fn links(host: &Machine<'_>, net: &Net, facts: &mut Facts) {
    let id = &host.id;
    let by_name: BTreeMap<&str, &Link> =
        net.links.iter().map(|link| (link.name.value.as_str(), link)).collect();
    let idle = idle(net);
    let known = |name: &str| by_name.contains_key(name) || is_listed(host, name);
    let mut small = Vec::new();
    let mut large = Vec::new();
    let mut above_base = Vec::new();
    let mut portless = Vec::new();
    let mut ports_unknown = Vec::new();
    let mut primaries = Vec::new();
    let mut modes = Vec::new();
    let mut bases_unknown = Vec::new();
    let mut vlan_ids = Vec::new();
    for link in &net.links {
        let name = &link.name.value;
        if let Some((mtu, text)) = &link.mtu {
            let said = || host.at(format!("{name} has {mtu}"), text);
            // Nothing comes to a loopback from outside.
            if *mtu < LEAST_MTU && link.kind != "loopback" {
                small.push(said());
            } else if *mtu > MOST_MTU && link.kind != "loopback" {
                large.push(said());
            }
            let base = link.vlan.as_ref().and_then(|vlan| vlan.base.as_ref());
            let base = base.and_then(|base| by_name.get(base.value.as_str()));
            if let Some((base, (below, _))) = base.and_then(|base| Some((base, base.mtu.as_ref()?)))
                && mtu > below
            {
                let said = format!("{name} has {mtu}, {} below it {below}", base.name.value);
                above_base.push(host.at(said, text));
            }
        }
        if let Some(bond) = &link.bond {
            if bond.ports.is_empty() {
                portless.push(host.at(name.clone(), &bond.at));
            }
            // nmstate takes a port that is not described for one of the machine. Where a port beside it is described,
            // and an interface of nearly its name is there for nothing, that one is meant.
            let (there, lacking): (Vec<_>, Vec<_>) =
                bond.ports.iter().partition(|port| known(&port.value));
            for port in lacking.into_iter().filter(|_| !there.is_empty()) {
                let meant = idle.iter().find(|other| is_slip(&port.value, other));
                let said = |meant| format!("{} of {name} (is {meant} meant?)", port.value);
                ports_unknown.extend(meant.map(|meant| host.at(said(meant), port)));
            }
            if let Some(primary) = &bond.primary
                && !bond.ports.is_empty()
                && !bond.ports.iter().any(|port| port.value == primary.value)
            {
                primaries.push(host.at(format!("{} of {name}", primary.value), primary));
            }
            if let Some(mode) = &bond.mode
                && !BOND_MODES.contains(&mode.value.as_str())
                && !mode.value.parse::<usize>().is_ok_and(|number| number < BOND_MODES.len())
            {
                modes.push(host.at(format!("{} of {name}", mode.value), mode));
            }
        }
        if let Some(vlan) = &link.vlan {
            if let Some(base) = vlan.base.as_ref().filter(|base| !known(&base.value)) {
                bases_unknown.push(host.at(format!("{} of {name}", base.value), base));
            }
            if let Some((number, text)) =
                vlan.id.as_ref().filter(|(id, _)| !(1..=4094).contains(id))
            {
                vlan_ids.push(host.at(format!("{number} of {name}"), text));
            }
        }
    }
    for (fact, found) in [
        ("mtusSmall", small),
        ("mtusLarge", large),
        ("mtusAboveBase", above_base),
        ("bondsWithoutPorts", portless),
        ("bondPortsUnknown", ports_unknown),
        ("bondPrimariesUnknown", primaries),
        ("bondModesUnknown", modes),
        ("vlanBasesUnknown", bases_unknown),
        ("vlanIdsOutside", vlan_ids),
    ] {
        facts.found(id, fact, found);
    }
}
