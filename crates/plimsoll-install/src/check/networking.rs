//! Machine, service and cluster networks, and dual stack.

use crate::check::{Context, families, ovn};
use crate::config::{ClusterNetwork, Networking};
use crate::go::address::Network;
use crate::place::Placed;
use crate::refusal::{Bad, Collector};
use crate::release::Release;

const DOCKER_BRIDGE: Network = Network::v4(172, 17, 0, 0, 16);

pub(crate) fn check(context: &mut Context<'_>) {
    let networking = &context.config.networking;
    let release = context.release;
    check_type(networking, context);
    if release >= Release::V4_19 {
        check_networks_since_4_19(networking, context.out);
    } else {
        check_networks_until_4_18(networking, release, context.out);
    }
    families::check(context);
    check_mtu(context);
}

fn check_type(networking: &Networking, context: &mut Context<'_>) {
    let kind = &networking.network_type;
    let any_case = context.release >= Release::V4_19;
    let is = |name: &str| kind.value == name || (any_case && kind.value.eq_ignore_ascii_case(name));
    let path = "networking.networkType";
    if is("Kuryr") && context.release >= Release::V4_15 {
        let text = "networkType Kuryr is not supported on OpenShift later than 4.14";
        context.out.invalid("network-type-gone", path, kind.place, Bad::text(&kind.value), text);
    }
    if !is("OpenShiftSDN") {
        return;
    }
    if context.release >= Release::V4_15 {
        let text = "networkType OpenShiftSDN is not supported, please use OVNKubernetes";
        context.out.invalid("network-type-gone", path, kind.place, Bad::text(&kind.value), text);
    } else if context.config.bootstrap_in_place_disk.is_some() {
        let text = "networkType OpenShiftSDN is currently not supported on Single Node OpenShift";
        context.out.invalid("network-type-gone", path, kind.place, Bad::text(&kind.value), text);
    } else {
        let text = "networkType OpenShiftSDN is deprecated, please consider using OVNKubernetes";
        context.out.warn("network-type-deprecated", path, kind.place, text);
    }
}

fn check_networks_until_4_18(networking: &Networking, release: Release, out: &mut Collector) {
    for (i, network) in networking.machine.iter().enumerate() {
        let path = format!("networking.machineNetwork[{i}]");
        check_address("machine-network-not-aligned", &path, network, out);
        overlaps_earlier("machine", &path, network, &networking.machine[..i], out);
    }
    for (i, network) in networking.service.iter().enumerate() {
        let path = format!("networking.serviceNetwork[{i}]");
        check_service_size(&path, network, out);
        overlaps_machine("service", &path, network, networking, out);
        overlaps_earlier("service", &path, network, &networking.service[..i], out);
    }
    for (i, network) in networking.cluster.iter().enumerate() {
        let path = format!("networking.clusterNetwork[{i}]");
        let cidr_path = format!("{path}.cidr");
        check_address("cluster-network-not-aligned", &cidr_path, &network.cidr, out);
        check_cluster_overlaps(&cidr_path, network, i, networking, out);
        let prefix = &network.host_prefix;
        if prefix.value < 0 {
            let path = format!("{path}.hostPrefix");
            let bad = Bad::plain(prefix.value);
            out.invalid(
                "host-prefix-negative",
                path,
                prefix.place,
                bad,
                "hostPrefix must be positive",
            );
        }
        check_host_prefix(&path, network, networking, release, out);
    }
    warn_docker(networking, out);
}

fn warn_docker(networking: &Networking, out: &mut Collector) {
    let cluster = networking.cluster.iter().map(|network| &network.cidr);
    for (name, networks) in [
        ("machineNetwork", networking.machine.iter().collect::<Vec<_>>()),
        ("serviceNetwork", networking.service.iter().collect()),
        ("clusterNetwork", cluster.collect()),
    ] {
        for (i, network) in networks.into_iter().enumerate() {
            docker(&format!("networking.{name}[{i}]"), network, out);
        }
    }
}

fn docker(path: &str, network: &Placed<Network>, out: &mut Collector) {
    if network.value.overlaps(&DOCKER_BRIDGE) {
        let text = format!("{path}: {} overlaps with default Docker Bridge subnet", network.value);
        out.warn("network-overlaps-docker", path, network.place, text);
    }
}

/// Since 4.19 a network with a wrong address is not looked at any further.
fn check_networks_since_4_19(networking: &Networking, out: &mut Collector) {
    for (i, network) in networking.machine.iter().enumerate() {
        let path = format!("networking.machineNetwork[{i}]");
        if check_address("machine-network-not-aligned", &path, network, out) {
            docker(&path, network, out);
            ovn::check_defaults(networking, network, &path, out);
            overlaps_earlier("machine", &path, network, &networking.machine[..i], out);
        }
    }
    for (i, network) in networking.service.iter().enumerate() {
        let path = format!("networking.serviceNetwork[{i}]");
        if check_service_size(&path, network, out) {
            docker(&path, network, out);
            ovn::check_defaults(networking, network, &path, out);
            overlaps_machine("service", &path, network, networking, out);
            overlaps_earlier("service", &path, network, &networking.service[..i], out);
        }
    }
    for (i, network) in networking.cluster.iter().enumerate() {
        let path = format!("networking.clusterNetwork[{i}]");
        let cidr_path = format!("{path}.cidr");
        if check_address("cluster-network-not-aligned", &cidr_path, &network.cidr, out) {
            // The installer adds the number twice here.
            docker(&format!("{path}[{i}]"), &network.cidr, out);
            ovn::check_defaults(networking, &network.cidr, &cidr_path, out);
            check_cluster_overlaps(&cidr_path, network, i, networking, out);
            check_host_prefix(&path, network, networking, Release::V4_19, out);
            check_same_prefix(&path, network, i, networking, out);
        }
    }
}

/// The address of a network has no bits below its mask.
fn check_address(
    rule: &'static str,
    path: &str,
    network: &Placed<Network>,
    out: &mut Collector,
) -> bool {
    match address_fault(&network.value) {
        None => true,
        Some(fault) => {
            let bad = Bad::text(&network.value.to_string());
            out.invalid(rule, path, network.place, bad, fault);
            false
        }
    }
}

pub(crate) fn address_fault(network: &Network) -> Option<String> {
    let address = network.address()?;
    if address.is_unspecified() {
        return Some("address must be specified".into());
    }
    let masked = network.masked();
    (masked != *network)
        .then(|| format!("invalid network address. got {network}, expecting {masked}"))
}

fn check_service_size(path: &str, network: &Placed<Network>, out: &mut Collector) -> bool {
    if !check_address("service-network-not-aligned", path, network, out) {
        return false;
    }
    let fault = match network.value.mask() {
        (size, 32) if size < 12 => {
            "subnet size for IPv4 service network must be /12 or greater (/16 is recommended)"
        }
        (size, 128) if size < 108 => "subnet size for IPv6 service network should be /112",
        _ => return true,
    };
    let bad = Bad::text(&network.value.to_string());
    out.invalid("service-network-too-large", path, network.place, bad, fault);
    false
}

/// Networks that each other one is compared with: nobody has so many, and a hostile file has no end of them.
const MOST_COMPARED: usize = 500;

fn overlaps_machine(
    name: &str,
    path: &str,
    network: &Placed<Network>,
    networking: &Networking,
    out: &mut Collector,
) {
    // The same sentence once more would not be printed.
    if networking.machine.iter().take(MOST_COMPARED).any(|it| network.value.overlaps(&it.value)) {
        let text = format!("{name} network must not overlap with any of the machine networks");
        let bad = Bad::text(&network.value.to_string());
        out.invalid("networks-overlap", path, network.place, bad, text);
    }
}

fn overlaps_earlier(
    name: &str,
    path: &str,
    network: &Placed<Network>,
    earlier: &[Placed<Network>],
    out: &mut Collector,
) {
    for (j, other) in earlier.iter().take(MOST_COMPARED).enumerate() {
        if network.value.overlaps(&other.value) {
            let text = format!("{name} network must not overlap with {name} network {j}");
            let bad = Bad::text(&network.value.to_string());
            out.invalid("networks-overlap", path, network.place, bad, text);
        }
    }
}

fn check_cluster_overlaps(
    path: &str,
    network: &ClusterNetwork,
    i: usize,
    networking: &Networking,
    out: &mut Collector,
) {
    let cidr = &network.cidr;
    overlaps_machine("cluster", path, cidr, networking, out);
    for (j, service) in networking.service.iter().take(MOST_COMPARED).enumerate() {
        if cidr.value.overlaps(&service.value) {
            let text = format!("cluster network must not overlap with service network {j}");
            let bad = Bad::text(&cidr.value.to_string());
            out.invalid("networks-overlap", path, cidr.place, bad, text);
        }
    }
    for (j, other) in networking.cluster[..i].iter().take(MOST_COMPARED).enumerate() {
        if cidr.value.overlaps(&other.cidr.value) {
            let text = format!("cluster network must not overlap with cluster network {j}");
            let bad = Bad::text(&cidr.value.to_string());
            out.invalid("networks-overlap", path, cidr.place, bad, text);
        }
    }
}

/// Whether the plugin uses the prefix at all: without one, only those that need it complain.
fn prefix_counts(network: &ClusterNetwork, networking: &Networking, release: Release) -> bool {
    let kind = networking.network_type.as_str();
    let uses = kind == "OVNKubernetes" || (kind == "OpenShiftSDN" && release <= Release::V4_14);
    uses || network.host_prefix.value != 0
}

fn check_host_prefix(
    path: &str,
    network: &ClusterNetwork,
    networking: &Networking,
    release: Release,
    out: &mut Collector,
) {
    if !prefix_counts(network, networking, release) {
        return;
    }
    let prefix = &network.host_prefix;
    let (size, bits) = network.cidr.value.mask();
    let fault = if prefix.value < 0 && release >= Release::V4_19 {
        ("host-prefix-negative", "hostPrefix must be positive".to_string())
    } else if prefix.value < i64::from(size) {
        let cidr = &network.cidr.value;
        let text = format!(
            "cluster network host subnetwork prefix must not be larger size than CIDR {cidr}"
        );
        ("host-prefix-too-small", text)
    } else if bits == 128 && prefix.value != 64 {
        let text = "cluster network host subnetwork prefix must be 64 for IPv6 networks";
        ("host-prefix-not-64", text.to_string())
    } else {
        return;
    };
    let path = format!("{path}.hostPrefix");
    out.invalid(fault.0, path, prefix.place, Bad::plain(prefix.value), fault.1);
}

fn check_same_prefix(
    path: &str,
    network: &ClusterNetwork,
    i: usize,
    networking: &Networking,
    out: &mut Collector,
) {
    let prefix = &network.host_prefix;
    let (size, bits) = network.cidr.value.mask();
    let judged = prefix_counts(network, networking, Release::V4_19) && bits == 32;
    if !judged || prefix.value < i64::from(size) {
        return;
    }
    let differs = networking.cluster[..i]
        .iter()
        .take(MOST_COMPARED)
        .any(|other| other.cidr.value.is_ipv4() && other.host_prefix.value != prefix.value);
    if differs {
        let path = format!("{path}.hostPrefix");
        let text =
            "cluster network host subnetwork prefix must be the same value for IPv4 networks";
        out.invalid("host-prefixes-differ", path, prefix.place, Bad::plain(prefix.value), text);
    }
}

fn check_mtu(context: &mut Context<'_>) {
    let networking = &context.config.networking;
    let Some(mtu) = networking.mtu.as_ref().filter(|mtu| mtu.value != 0) else { return };
    if context.config.platform.name() == "aws" {
        return;
    }
    let text = "cluster network MTU is allowed only in AWS deployments";
    let path = "networking.clusterNetworkMTU";
    context.out.invalid("cluster-mtu-only-on-aws", path, mtu.place, Bad::plain(mtu.value), text);
}
