//! The networks of the cluster, and the network that provisions it.

use plimsoll_install::{Baremetal, File, InstallConfig, Network, Placed, parse_ip};
use plimsoll_model::EntityId;

use super::addresses::{self, Nets};
use super::hosts::Machine;
use super::{Facts, Found};

/// What OVN-Kubernetes keeps for itself: name, network, and the releases that use it.
const RESERVED: [(&str, Network, std::ops::Range<i64>); 8] = [
    ("join", Network::v4(100, 64, 0, 0, 16), 0..99),
    ("join", Network::v6([0xfd98, 0, 0, 0, 0, 0, 0, 0], 64), 0..99),
    ("transit", Network::v4(100, 88, 0, 0, 16), 14..99),
    ("transit", Network::v6([0xfd97, 0, 0, 0, 0, 0, 0, 0], 64), 14..99),
    ("masquerade", Network::v4(169, 254, 169, 0, 29), 0..17),
    ("masquerade", Network::v4(169, 254, 0, 0, 17), 17..99),
    ("masquerade", Network::v6([0xfd69, 0, 0, 0, 0, 0, 0, 0], 125), 0..17),
    ("masquerade", Network::v6([0xfd69, 0, 0, 0, 0, 0, 0, 0], 112), 17..99),
];

pub fn extract(config: &InstallConfig, nets: &Nets, hosts: &[Machine<'_>], facts: &mut Facts) {
    let id = facts.config();
    let networking = &config.networking;
    facts.known(&id, "machineNetworks", nets.machine_shown());
    let at = networking.place;
    let written = nets.machine_written;
    let path = "networking.machineNetwork";
    facts.set(&id, "machineNetworkWritten", written, File::Install, path, at, None);
    foreign(config, &id, facts);
    strangers(config, nets, hosts, &id, facts);
    overlaps(config, &id, facts);
    primaries(config, &id, facts);
    families(config, &id, facts);
    pods(config, hosts, &id, facts);
    if let Some(baremetal) = &config.platform.baremetal {
        provisioning(baremetal, hosts, &id, facts);
        provisioning_addresses(baremetal, nets, &id, facts);
    }
    let baremetal = config.platform.baremetal.as_ref();
    let unusable = baremetal.map_or(Vec::new(), |baremetal| bootstrap(baremetal, nets));
    facts.found(&id, "bootstrapUnusable", unusable);
}

/// A network type that the network operator does not bring. It reads them in any case.
fn foreign(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let written = &config.networking.network_type;
    let is_known = ["", "ovnkubernetes", "openshiftsdn", "kuryr"]
        .contains(&written.value.to_ascii_lowercase().as_str());
    let found = (!is_known).then(|| Found {
        said: written.value.clone(),
        file: File::Install,
        path: "networking.networkType".into(),
        at: written.place,
        value: Some(written.value.clone()),
    });
    facts.found(id, "networkTypeForeign", found.into_iter().collect());
}

/// What the bootstrap machine could not be reached by; the installer only asks that all three are there.
fn bootstrap(baremetal: &Baremetal, nets: &Nets) -> Vec<Found> {
    let (ip, gateway) = (&baremetal.bootstrap_static_ip, &baremetal.bootstrap_static_gateway);
    let own = parse_ip(ip.as_str());
    let network = own.and_then(|own| nets.machine_of(own));
    // Where no network is known, that is what is told.
    let is_outside =
        |address| !nets.machine_shown().is_empty() && nets.in_machine(address) == Some(false);
    let wrong = |name: &str, written: &Placed<String>| {
        let address = parse_ip(written.as_str());
        match (name, address) {
            _ if written.is_empty() => None,
            (_, None) => Some("is no IP address".to_string()),
            ("bootstrapExternalStaticDNS", _) => None,
            ("bootstrapExternalStaticGateway", Some(address))
                if addresses::is_link_local(address) =>
            {
                None
            }
            (_, Some(address)) if is_outside(address) => {
                Some(format!("is outside of {}", nets.machine_shown().join(", ")))
            }
            (_, Some(address)) => {
                let edge = network.and_then(|network| addresses::edge(network, address));
                let is_own = name == "bootstrapExternalStaticGateway" && own == Some(address);
                match edge {
                    Some(edge) => Some(format!("is {edge}")),
                    None => is_own.then(|| "is the machine's own address".to_string()),
                }
            }
        }
    };
    let dns = &baremetal.bootstrap_static_dns;
    let all = [
        ("bootstrapExternalStaticIP", ip),
        ("bootstrapExternalStaticGateway", gateway),
        ("bootstrapExternalStaticDNS", dns),
    ];
    let found = all.into_iter().filter_map(|(name, written)| {
        Some(Found {
            said: format!("{name} {} {}", written.value, wrong(name, written)?),
            file: File::Install,
            path: format!("platform.baremetal.{name}"),
            at: written.place,
            value: Some(written.value.clone()),
        })
    });
    found.collect()
}

/// How many families pods and services have.
fn families(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let networking = &config.networking;
    let count = |all: &mut dyn Iterator<Item = &Network>| {
        all.map(Network::is_ipv4).collect::<std::collections::BTreeSet<bool>>().len()
    };
    let pods = count(&mut networking.cluster.iter().map(|it| &it.cidr.value));
    let services = count(&mut networking.service.iter().map(|it| &it.value));
    let (at, path) = (networking.service_place, "networking.serviceNetwork");
    facts.known(id, "clusterFamilies", pods);
    facts.set(id, "serviceFamilies", services, File::Install, path, at, None);
}

/// Addresses of this cluster that no machine network holds.
fn strangers(
    config: &InstallConfig,
    nets: &Nets,
    hosts: &[Machine<'_>],
    id: &EntityId,
    facts: &mut Facts,
) {
    let mut found: Vec<String> = Vec::new();
    let is_outside =
        |text: &str| parse_ip(text).is_some_and(|address| nets.in_machine(address) == Some(false));
    if let Some(baremetal) = &config.platform.baremetal {
        let vips = baremetal.api_vips.iter().chain(&baremetal.ingress_vips);
        let outside = vips.filter(|vip| is_outside(vip.as_str()));
        found.extend(outside.map(|vip| format!("VIP {}", vip.value)));
    }
    for host in hosts {
        let Some(net) = host.net() else { continue };
        let mut own = net.addresses().filter(|own| !addresses::is_link_local(own.ip));
        let Some(first) = own.next() else { continue };
        let mut all = net.addresses();
        if !net.is_dynamic() && all.all(|own| nets.in_machine(own.ip) == Some(false)) {
            found.push(format!("{} ({})", host.id.name, first.at.value));
        }
    }
    found.dedup();
    facts.known(id, "addressesOutside", super::shortened(found));
}

fn overlaps(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let networking = &config.networking;
    let minor = facts.minor();
    let own_join = networking.ovn.as_ref().is_some_and(|ovn| ovn.join_subnet.is_some());
    let is_ovn = networking.network_type.value.eq_ignore_ascii_case("OVNKubernetes");
    let machine = networking.machine.iter().enumerate();
    let machine = machine.map(|(i, it)| (it, format!("networking.machineNetwork[{i}]")));
    let service = networking.service.iter().enumerate();
    let service = service.map(|(i, it)| (it, format!("networking.serviceNetwork[{i}]")));
    let cluster = networking.cluster.iter().enumerate();
    let cluster = cluster.map(|(i, it)| (&it.cidr, format!("networking.clusterNetwork[{i}]")));
    let mut found = Vec::new();
    let all: Vec<(&Placed<Network>, String)> = machine.chain(service).chain(cluster).collect();
    for (network, path) in all.iter().filter(|_| is_ovn) {
        for (name, taken, releases) in &RESERVED {
            let replaced = own_join && *name == "join" && taken.is_ipv4();
            let real = network.value.address().is_some();
            if real && !replaced && releases.contains(&minor) && network.value.overlaps(taken) {
                found.push(Found {
                    said: format!("{} and the {name} subnet {taken}", network.value),
                    file: File::Install,
                    path: path.clone(),
                    at: network.place,
                    value: Some(network.value.to_string()),
                });
            }
        }
    }
    facts.found(id, "ovnOverlaps", found);
}

/// Lists that begin with another family than that of the machines.
fn primaries(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let networking = &config.networking;
    let is_of = |v4: bool| networking.service.iter().any(|it| it.value.is_ipv4() == v4);
    let machine = networking.machine.first().filter(|_| is_of(true) && is_of(false));
    let service = networking.service.first().map(|it| (it, "serviceNetwork"));
    let cluster = networking.cluster.first().map(|it| (&it.cidr, "clusterNetwork"));
    let is_real = |network: &Placed<Network>| network.value.address().is_some();
    let mut found = Vec::new();
    for (first, list) in [service, cluster].into_iter().flatten() {
        let Some(machine) = machine.filter(|machine| is_real(machine) && is_real(first)) else {
            continue;
        };
        if machine.value.is_ipv4() != first.value.is_ipv4() {
            found.push(Found {
                said: format!("{list} with {}", first.value),
                file: File::Install,
                path: format!("networking.{list}[0]"),
                at: first.place,
                value: Some(first.value.to_string()),
            });
        }
    }
    if let Some(machine) = machine.filter(|_| !found.is_empty()) {
        facts.known(id, "primaryMachineNetwork", machine.value.to_string());
    }
    facts.found(id, "primariesDiffer", found);
}

/// Room for nodes and for pods on them.
fn pods(config: &InstallConfig, hosts: &[Machine<'_>], id: &EntityId, facts: &mut Facts) {
    let replicas = |n: i64| n.max(0);
    let compute = config.compute.iter().map(|pool| replicas(pool.replicas.value));
    let arbiters = config.arbiter.as_ref().map_or(0, |pool| replicas(pool.replicas.value));
    let nodes = compute.fold(replicas(config.control_plane.replicas.value), i64::saturating_add);
    let nodes = nodes.saturating_add(arbiters);
    let named = i64::try_from(hosts.len()).unwrap_or(i64::MAX);
    let networking = &config.networking;
    let mut room: Option<(i64, &Placed<i64>, usize)> = None;
    for v4 in [true, false] {
        let of_family = networking.cluster.iter().enumerate();
        let of_family = of_family.filter(|(_, it)| it.cidr.value.is_ipv4() == v4);
        let of_family: Vec<_> =
            of_family.filter(|(_, it)| it.cidr.value.address().is_some()).collect();
        let Some((index, first)) = of_family.first() else { continue };
        let sum = of_family
            .iter()
            .map(|(_, it)| addresses::subnets(&it.cidr.value, it.host_prefix.value))
            .fold(0, i64::saturating_add);
        if room.as_ref().is_none_or(|(least, ..)| sum < *least) {
            room = Some((sum, &first.host_prefix, *index));
        }
    }
    if let Some((sum, prefix, index)) = room {
        let path = format!("networking.clusterNetwork[{index}].hostPrefix");
        let shown = Some(prefix.value.to_string());
        facts.set(id, "podSubnets", sum, File::Install, &path, prefix.place, shown);
    }
    facts.known(id, "nodesWanted", nodes);
    facts.known(id, "hostsNamed", named);
    let longest = networking.cluster.iter().enumerate();
    let longest = longest.filter(|(_, it)| it.cidr.value.is_ipv4());
    if let Some((index, network)) = longest.max_by_key(|(_, it)| it.host_prefix.value) {
        let prefix = &network.host_prefix;
        let path = format!("networking.clusterNetwork[{index}].hostPrefix");
        let shown = Some(prefix.value.to_string());
        facts.set(id, "hostPrefix", prefix.value, File::Install, &path, prefix.place, shown);
    }
}

fn provisioning(baremetal: &Baremetal, hosts: &[Machine<'_>], id: &EntityId, facts: &mut Facts) {
    let path = "platform.baremetal.provisioningNetwork";
    facts.text(id, "provisioningNetwork", &baremetal.provisioning_network, File::Install, path);
    let balancer =
        if baremetal.is_user_managed() { "UserManaged" } else { "OpenShiftManagedDefault" };
    facts.known(id, "loadBalancer", balancer);
    let range = &baremetal.provisioning_dhcp_range;
    if let Some(ends) = addresses::range(range.as_str()) {
        let path = "platform.baremetal.provisioningDHCPRange";
        let shown = Some(range.value.clone());
        let size = addresses::size(ends);
        facts.set(id, "dhcpAddresses", size, File::Install, path, range.place, shown);
        facts.known(id, "dhcpRange", range.value.as_str());
    }
    for host in hosts {
        facts.known(&host.id, "provisioningNetwork", baremetal.provisioning_network.as_str());
    }
    // The bootstrap machine serves the control plane, the cluster the others.
    let masters = hosts.iter().filter(|host| host.role == "master").count();
    facts.known(id, "hostsAtOnce", masters.max(hosts.len() - masters));
}

/// What the installer does not compare of the network that hosts boot from.
fn provisioning_addresses(baremetal: &Baremetal, nets: &Nets, id: &EntityId, facts: &mut Facts) {
    let found = |key: &str, said: String, written: &Placed<String>| Found {
        said,
        file: File::Install,
        path: format!("platform.baremetal.{key}"),
        at: written.place,
        value: Some(written.value.clone()),
    };
    let cidr = baremetal.provisioning_cidr.as_ref();
    let hidden = cidr.and_then(|cidr| {
        let overlaps = |network: &&Network| network.overlaps(&cidr.value);
        let pods = nets.cluster.iter().find(overlaps).map(|it| format!("cluster network {it}"));
        let services =
            || nets.service.iter().find(overlaps).map(|it| format!("service network {it}"));
        Some((cidr, pods.or_else(services)?))
    });
    let hidden = hidden.map(|(cidr, by)| Found {
        said: format!("{} and the {by}", cidr.value),
        file: File::Install,
        path: "platform.baremetal.provisioningNetworkCIDR".into(),
        at: cidr.place,
        value: Some(cidr.value.to_string()),
    });
    facts.found(id, "provisioningHidden", hidden.into_iter().collect());
    let (cluster, bootstrap) =
        (&baremetal.cluster_provisioning_ip, &baremetal.bootstrap_provisioning_ip);
    let address = parse_ip(bootstrap.as_str());
    let same = address.filter(|address| parse_ip(cluster.as_str()) == Some(*address));
    // One of the two may be the default.
    let (key, written) = match bootstrap.written {
        true => ("bootstrapProvisioningIP", bootstrap),
        false => ("clusterProvisioningIP", cluster),
    };
    let same = same.map(|_| found(key, written.value.clone(), written));
    facts.found(id, "provisioningIpsSame", same.into_iter().collect());
    let range = &baremetal.provisioning_dhcp_range;
    let ends = addresses::range(range.as_str());
    let edge = cidr.zip(ends).and_then(|(cidr, ends)| {
        let all = [cidr.value.masked_address(), cidr.value.last_address()];
        let mut inside = all.into_iter().flatten().filter(|it| addresses::in_range(ends, *it));
        inside.find_map(|it| Some(format!("{} {it}", addresses::edge(&cidr.value, it)?)))
    });
    let edge = edge.map(|said| found("provisioningDHCPRange", said, range));
    facts.found(id, "dhcpRangeEdge", edge.into_iter().collect());
}
