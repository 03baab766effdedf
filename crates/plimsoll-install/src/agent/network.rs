//! Host counts, static networks and the rendezvous address: what the manifests of the agent need.

use std::collections::HashSet;

use plimsoll_yaml::{Key, Kind, Node};

use crate::agent::hosts::AnyHost;
use crate::agent::nmstate;
use crate::check::NotChecked;
use crate::config::{AgentConfig, InstallConfig};
use crate::go::address::parse_ip;
use crate::go::text::quote;
use crate::place::Place;
use crate::refusal::{Bad, Collector, File};
use crate::release::Release;

pub(super) fn check(
    install: &InstallConfig,
    agent: Option<&AgentConfig>,
    hosts: &[AnyHost<'_>],
    release: Release,
    out: &mut Collector,
    not_checked: &mut NotChecked,
) {
    if !hosts.is_empty() {
        check_count(install, hosts, release, out);
        if !out.refusals.is_empty() {
            return;
        }
        check_interfaces(hosts, release, out);
        if hosts.iter().any(|host| host.is_configured) {
            let why = "nmstatectl judges every networkConfig";
            not_checked.push(("network-config-refused-by-nmstate", why.into()));
        }
    }
    if out.refusals.is_empty() && release >= Release::V4_20 {
        out.file = File::Install;
        check_room_for_hosts(install, out);
    }
    if out.refusals.is_empty() {
        out.file = if agent.is_some() { File::Agent } else { File::Install };
        let place = agent.map_or(install.place, |agent| agent.rendezvous_ip.place);
        check_rendezvous(agent, hosts, place, release, out);
    }
}

fn check_count(
    install: &InstallConfig,
    hosts: &[AnyHost<'_>],
    release: Release,
    out: &mut Collector,
) {
    let with_arbiters = release >= Release::V4_20;
    let arbiter = install.arbiter.as_ref().filter(|_| with_arbiters);
    let mut pools = [
        Pool::of("master", "ControlPlane", install.control_plane.replicas.value, hosts),
        Pool::of("arbiter", "Arbiter", arbiter.map_or(0, |pool| pool.replicas.value), hosts),
        Pool::of("worker", "Compute", install.compute_replicas(), hosts),
    ];
    if !with_arbiters {
        pools[1].places.clear();
    }
    for host in hosts.iter().filter(|host| host.role.is_empty()) {
        let open = pools.iter().position(Pool::has_room).unwrap_or(pools.len() - 1);
        pools[open].places.push(host.place);
    }
    let first = hosts.first().map_or(Place::START, |host| host.place);
    for Pool { role, name, needed, places } in pools {
        let found = places.len();
        if found != 0 && (found as i64) < needed {
            let text = format!(
                "not enough {role} hosts defined ({found}) to support all the configured {name} \
                 replicas ({needed})"
            );
            out.warn("agent-hosts-too-few", "hosts", first, text);
        }
        if found as i64 > needed {
            let text = format!(
                "the number of {role} hosts defined ({found}) exceeds the configured {name} \
                 replicas ({needed})"
            );
            let wanted = usize::try_from(needed).unwrap_or_default();
            let over = places.get(wanted).copied().unwrap_or(first);
            return out.plain("agent-hosts-too-many", "hosts", over, text);
        }
    }
}

/// The hosts of a role, and how many of them are wanted.
struct Pool {
    role: &'static str,
    name: &'static str,
    needed: i64,
    places: Vec<Place>,
}

impl Pool {
    fn of(role: &'static str, name: &'static str, needed: i64, hosts: &[AnyHost<'_>]) -> Self {
        let own = hosts.iter().filter(|host| host.role.value == role);
        Self { role, name, needed, places: own.map(|host| host.place).collect() }
    }

    fn has_room(&self) -> bool {
        (self.places.len() as i64) < self.needed
    }
}

/// Only hosts with a network config are looked at, and they are counted among themselves.
fn check_interfaces(hosts: &[AnyHost<'_>], release: Release, out: &mut Collector) {
    let mut faults = Vec::new();
    let mut first = None;
    let configured = hosts.iter().enumerate().filter(|(_, host)| host.is_configured);
    for (i, (index, host)) in configured.enumerate() {
        let own =
            [interfaces_fault(host, i, release), empty_config_fault(host, index, i, out.file)];
        for fault in own.into_iter().flatten() {
            faults.push(format!("\t* {}\n", fault.text));
            first.get_or_insert(fault);
        }
    }
    if let Some(InterfacesFault { rule, path, place, mac, .. }) = first {
        let count = match faults.len() {
            1 => "1 error".to_string(),
            count => format!("{count} errors"),
        };
        let text = format!(
            "staticNetwork configuration is not valid: {count} occurred:\n{}\n",
            faults.concat()
        );
        out.plain(rule, path, place, text);
        if let Some(refusal) = out.refusals.last_mut() {
            refusal.value = mac.map(|mac| quote(&mac));
        }
    }
}

struct InterfacesFault {
    rule: &'static str,
    text: String,
    path: String,
    place: Place,
    /// The MAC address that is written in another form.
    mac: Option<String>,
}

fn interfaces_fault(host: &AnyHost<'_>, i: usize, release: Release) -> Option<InterfacesFault> {
    let fault = |text: String, place: Place, mac: Option<String>| InterfacesFault {
        rule: "interfaces-not-usable",
        text,
        path: "hosts".into(),
        place,
        mac,
    };
    let mut names = HashSet::new();
    let mut macs = HashSet::new();
    let mut doubled = None;
    for interface in &host.interfaces {
        let fresh = names.insert(&interface.name) & macs.insert(&interface.mac);
        if !fresh {
            doubled.get_or_insert(interface.place);
        }
        if release >= Release::V4_18 && !is_colon_mac(&interface.mac) {
            let text = format!(
                "MAC address {} for host {i} is incorrectly formatted, use XX:XX:XX:XX:XX:XX format",
                interface.mac
            );
            let mac = Some(interface.mac.clone());
            return Some(fault(text, interface.place, mac));
        }
    }
    let text = format!("MACs and Interfaces for host {i} must be unique");
    doubled.map(|place| fault(text, place, None))
}

/// From a config that asks for no interface nmstate makes no file of NetworkManager, and without one the installer
/// stops. What else nmstate says of a config is not known here.
fn empty_config_fault(
    host: &AnyHost<'_>,
    index: usize,
    i: usize,
    file: File,
) -> Option<InterfacesFault> {
    let Kind::Map(entries) = &host.network_config?.kind else { return None };
    let asks_nothing = |(key, value): &(Key, Node)| {
        key.name == "interfaces" && matches!(&value.kind, Kind::List(items) if items.is_empty())
    };
    let list = if file == File::Agent { "hosts" } else { "platform.baremetal.hosts" };
    entries.iter().all(asks_nothing).then(|| InterfacesFault {
        rule: "network-config-empty",
        text: format!(
            "failed to validate network yaml for host {i}, nmstate generated an empty \
             NetworkManager config file content"
        ),
        path: format!("{list}[{index}].networkConfig"),
        place: host.network_config_place,
        mac: None,
    })
}

fn is_colon_mac(text: &str) -> bool {
    let groups: Vec<_> = text.split(':').collect();
    groups.len() == 6
        && groups.iter().all(|g| g.len() == 2 && g.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Since 4.20: every node needs a subnet of its own, and that subnet room for its pods.
fn check_room_for_hosts(install: &InstallConfig, out: &mut Collector) {
    let networking = &install.networking;
    // Any other type is OVNKubernetes to the manifests that are looked at here.
    if networking.network_type.value == "OpenShiftSDN" {
        return;
    }
    let hosts = install.control_plane.replicas.value.saturating_add(install.compute_replicas());
    let needed_bits = (0..63).find(|bits| (1i64 << bits) >= hosts).unwrap_or(63);
    for (i, network) in networking.cluster.iter().enumerate() {
        let path = format!("spec.networking.clusterNetwork[{i}]");
        if network.cidr.value.address().is_none() {
            let path = format!("{path}.cidr");
            let text = "error parsing the clusterNetwork CIDR";
            out.required("cluster-network-unreadable", path, network.cidr.place, text);
            continue;
        }
        let (size, bits) = network.cidr.value.mask();
        let prefix = &network.host_prefix;
        let largest = i64::from(bits) - 7;
        if prefix.value > largest {
            let path = format!("{path}.hostPrefix");
            let text = format!("must be at most {largest}");
            out.invalid(
                "host-prefix-too-large",
                path,
                prefix.place,
                Bad::plain(prefix.value),
                text,
            );
        }
        if prefix.value.saturating_sub(i64::from(size)) < needed_bits {
            let text = format!(
                "prefix length {size} not large enough to accommodate {hosts} hosts with hostPrefix \
                 length {}",
                prefix.value
            );
            let bad = Bad::text(&network.cidr.value.to_string());
            out.invalid("cluster-network-too-small", path, network.cidr.place, bad, text);
        }
    }
}

fn check_rendezvous(
    agent: Option<&AgentConfig>,
    hosts: &[AnyHost<'_>],
    place: Place,
    release: Release,
    out: &mut Collector,
) {
    if agent.is_some_and(|agent| !agent.rendezvous_ip.is_empty()) {
        return;
    }
    let mut refuse = |text: String| out.plain("rendezvous-ip-missing", "rendezvousIP", place, text);
    let found = first_address(hosts, release);
    if release >= Release::V4_15 {
        if let Err(fault) = found {
            refuse(format!(
                "missing rendezvousIP in agent-config, at least one host networkConfig, or at least \
                 one NMStateConfig manifest: {fault}"
            ));
        }
    } else if hosts.iter().all(|host| host.network_config.is_none()) {
        refuse(
            "missing rendezvousIP in agent-config or at least one NMStateConfig manifest".into(),
        );
    } else if found.is_err() {
        // 4.14 lost the reason on the way.
        refuse("invalid rendezvous IP: ".into());
    }
}

/// Masters first, then hosts without a role, then whoever has a network config.
fn first_address(hosts: &[AnyHost<'_>], release: Release) -> Result<String, String> {
    let masters = hosts.iter().filter(|host| host.role.value == "master");
    let without_role = hosts.iter().filter(|host| host.role.is_empty());
    let order: Vec<_> = if release >= Release::V4_15 {
        masters.chain(without_role).chain(hosts).collect()
    } else {
        hosts.iter().collect()
    };
    for config in order.into_iter().filter_map(|host| host.network_config) {
        let addresses = nmstate::addresses(config, release)
            .map_err(|fault| format!("error unmarshalling NMStateConfig: {fault}"))?;
        if let Some(address) = addresses.into_iter().next() {
            return match parse_ip(&address) {
                Some(_) => Ok(address),
                None => Err(format!("could not parse static IP: {address}")),
            };
        }
    }
    Err("invalid NMState configurations provided, no interface IPs set".into())
}
