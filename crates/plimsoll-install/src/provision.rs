//! What only `create cluster` asks: the provisioning network, the bootstrap machine and the BMCs.

use std::net::IpAddr;

use crate::check::{
    NotChecked, check_bmc, check_without_provisioning_network, not_in_machine_networks,
};
use crate::config::{Baremetal, InstallConfig, Networking};
use crate::go::address::{Network, mac_fault, order, parse_ip};
use crate::go::text::quote;
use crate::go::url::{Url, uri_fault};
use crate::names::domain_fault;
use crate::place::Placed;
use crate::refusal::{Bad, Collector};
use crate::release::Release;

const PATH: &str = "platform.baremetal";

pub(crate) fn check(
    config: &InstallConfig,
    release: Release,
    out: &mut Collector,
    not_checked: &mut NotChecked,
) {
    // Nobody runs `create cluster` for machines of which the installer knows nothing.
    let Some(baremetal) =
        config.platform.baremetal.as_ref().filter(|_| config.platform.name() == "baremetal")
    else {
        return;
    };
    if !crate::check::is_enabled(config, release, "MachineAPI") {
        let place = config.capabilities.as_ref().map_or(config.place, |c| c.place);
        let text = "IPI requires MachineAPI capability";
        return out.plain("machine-api-off", "capabilities", place, text);
    }
    bootstrap_and_images(baremetal, &config.networking, release, out, not_checked);
    check_networking(baremetal, &config.networking, PATH, release, out);
    macs(baremetal, out);
    let why = "libvirt on this machine must know the bridges externalBridge and provisioningBridge";
    not_checked.push(("bridge-unknown-to-libvirt", why.into()));
    if out.refusals.is_empty() {
        static_bootstrap(baremetal, out);
    }
}

fn bootstrap_and_images(
    baremetal: &Baremetal,
    networking: &Networking,
    release: Release,
    out: &mut Collector,
    not_checked: &mut NotChecked,
) {
    let ip = &baremetal.bootstrap_provisioning_ip;
    let address = parse_ip(ip.as_str());
    let path = "platform.baremetal.bootstrapProvisioningIP";
    if baremetal.provisioning_network.value == "Disabled" {
        outside_machine_networks(path, ip, networking, out);
    } else {
        not_in_provisioning_network(path, ip, baremetal, out);
        if address.is_some_and(|address| networking.machine_networks().any(|n| n.contains(address)))
        {
            let text = "the IP must not be in one of the machine networks";
            let bad = Bad::text(ip.as_str());
            out.invalid("provisioning-ip-in-machine-network", path, ip.place, bad, text);
        }
        macs(baremetal, out);
    }
    let uri = &baremetal.libvirt_uri;
    if let Some(fault) = uri_fault(uri.as_str()) {
        let path = "platform.baremetal.libvirtURI";
        out.invalid("libvirt-uri-unreadable", path, uri.place, Bad::text(uri.as_str()), fault);
    }
    for (new_name, old_name, image) in [
        ("bootstrapOSImage", "BootstrapOSImage", &baremetal.bootstrap_os_image),
        ("clusterOSImage", "ClusterOSImage", &baremetal.cluster_os_image),
    ] {
        if image.is_empty() {
            continue;
        }
        let name = if release >= Release::V4_19 { new_name } else { old_name };
        match image_fault(image.as_str()) {
            Some(fault) => {
                let path = format!("platform.baremetal.{name}");
                let bad = Bad::text(image.as_str());
                out.invalid("os-image-uri-invalid", path, image.place, bad, fault);
            }
            None => {
                let why = format!("whether {new_name} answers a request");
                not_checked.push(("os-image-not-found", why));
            }
        }
    }
}

fn image_fault(uri: &str) -> Option<String> {
    let Ok(url) = Url::parse_request(uri) else {
        return Some(format!("the URI provided: {uri} is invalid"));
    };
    if !matches!(url.scheme.as_str(), "http" | "https") {
        return Some(format!("the URI provided: {uri} must begin with http/https"));
    }
    match url.query_value("sha256").unwrap_or_default().len() {
        0 => Some(format!("the sha256 parameter in the {uri} URI is missing")),
        64 => None,
        _ => Some(format!("the sha256 parameter in the {uri} URI is invalid")),
    }
}

fn macs(baremetal: &Baremetal, out: &mut Collector) {
    let (external, provisioning) = (&baremetal.external_mac, &baremetal.provisioning_mac);
    for (name, mac) in [("externalMACAddress", external), ("provisioningMACAddress", provisioning)]
    {
        if mac.is_empty() {
            continue;
        }
        if let Some(fault) = mac_fault(mac.as_str()) {
            let path = format!("platform.baremetal.{name}");
            out.invalid("bootstrap-mac-invalid", path, mac.place, Bad::text(mac.as_str()), fault);
        }
    }
    if !provisioning.is_empty() && provisioning.value.eq_ignore_ascii_case(&external.value) {
        let bad = Bad::text("provisioning and external MAC addresses may not be identical");
        let path = "platform.baremetal.provisioningMACAddress";
        out.duplicate("bootstrap-macs-are-the-same", path, provisioning.place, bad);
    }
}

/// `ValidateProvisioningNetworking`; the agent asks it, too, once a BMC is named.
pub(crate) fn check_networking(
    baremetal: &Baremetal,
    networking: &Networking,
    path: &str,
    release: Release,
    out: &mut Collector,
) {
    let of = |name: &str| format!("{path}.{name}");
    let cluster_ip = &baremetal.cluster_provisioning_ip;
    if baremetal.provisioning_network.value == "Disabled" {
        check_without_provisioning_network(&baremetal.hosts, path, release, out);
        outside_machine_networks(&of("clusterProvisioningIP"), cluster_ip, networking, out);
    } else if let Some(cidr) = &baremetal.provisioning_cidr {
        check_cidr(&of("provisioningNetworkCIDR"), cidr, baremetal, networking, out);
        not_in_provisioning_network(&of("clusterProvisioningIP"), cluster_ip, baremetal, out);
        check_host_bits(&of("provisioningNetworkCIDR"), cidr, out);
        check_ntp(path, &baremetal.ntp_servers, out);
        if !baremetal.provisioning_dhcp_range.is_empty() {
            check_dhcp_range(path, &cidr.value, baremetal, out);
        }
    }
    check_bmc(&baremetal.hosts, path, release, out);
}

fn outside_machine_networks(
    path: &str,
    ip: &Placed<String>,
    networking: &Networking,
    out: &mut Collector,
) {
    let address = parse_ip(ip.as_str());
    let inside = networking.machine_networks().any(|network| network.contains_as_go(address));
    if !ip.is_empty() && !inside {
        let text =
            format!("provisioning network is disabled, {}", not_in_machine_networks(networking));
        let bad = Bad::text(ip.as_str());
        out.invalid("provisioning-ip-outside-machine-network", path, ip.place, bad, text);
    }
}

fn not_in_provisioning_network(
    path: &str,
    ip: &Placed<String>,
    baremetal: &Baremetal,
    out: &mut Collector,
) {
    let Some(cidr) = &baremetal.provisioning_cidr else { return };
    if !parse_ip(ip.as_str()).is_some_and(|address| cidr.value.contains(address)) {
        let text = format!("{} is not in the provisioning network", quote(ip.as_str()));
        let bad = Bad::text(ip.as_str());
        out.invalid("provisioning-ip-outside-network", path, ip.place, bad, text);
    }
}

fn check_cidr(
    path: &str,
    cidr: &Placed<Network>,
    baremetal: &Baremetal,
    networking: &Networking,
    out: &mut Collector,
) {
    let shown = || Bad::text(&cidr.value.to_string());
    let managed = baremetal.provisioning_network.value == "Managed";
    let is_v6 = cidr.value.address().is_some_and(|address| address.is_ipv6());
    if managed && is_v6 && cidr.value.mask().0 < 64 {
        let text =
            "provisioningNetworkCIDR mask must be greater than or equal to 64 for IPv6 networks";
        out.invalid("provisioning-network-too-large", path, cidr.place, shown(), text);
    }
    for machine in networking.machine_networks() {
        if let Some(fault) = overlap_fault(&cidr.value, machine) {
            let text = format!("cannot overlap with machine network: {fault}");
            out.invalid("provisioning-network-overlaps", path, cidr.place, shown(), text);
            break;
        }
    }
}

/// `cidr.VerifyNoOverlap`: the first of the two that begins or ends inside the other.
fn overlap_fault(provisioning: &Network, machine: &Network) -> Option<String> {
    if provisioning.is_ipv4() != machine.is_ipv4() {
        return None;
    }
    let holds_edge = |net: &Network, of: &Network| {
        let first = of.address();
        let last = of.last_address();
        first.is_some_and(|a| net.contains(a)) || last.is_some_and(|a| net.contains(a))
    };
    if holds_edge(provisioning, machine) {
        return Some(format!("{machine} overlaps with {provisioning}"));
    }
    holds_edge(machine, provisioning).then(|| format!("{provisioning} overlaps with {machine}"))
}

fn check_host_bits(path: &str, cidr: &Placed<Network>, out: &mut Collector) {
    let expected = cidr.value.masked();
    if expected != cidr.value
        && let Some(address) = expected.address()
    {
        let text = format!(
            "provisioningNetworkCIDR has host bits set, expected {address}/{}",
            cidr.value.mask().0
        );
        let stands = Some(cidr.value.to_string());
        let bad = Bad::Misprinted { printed: network_as_go(&cidr.value), stands };
        out.invalid("provisioning-network-host-bits", path, cidr.place, bad, text);
    }
}

/// The installer shows Go's own structure here.
fn network_as_go(network: &Network) -> String {
    let (ip, mask): (Vec<u8>, Vec<u8>) = match network.address() {
        Some(IpAddr::V4(v4)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(network.prefix())).unwrap_or(0);
            (v4.octets().into(), mask.to_be_bytes().into())
        }
        Some(IpAddr::V6(v6)) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(network.prefix())).unwrap_or(0);
            (v6.octets().into(), mask.to_be_bytes().into())
        }
        None => (Vec::new(), Vec::new()),
    };
    let list =
        |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:#x}")).collect::<Vec<_>>().join(", ");
    format!(
        "ipnet.IPNet{{IPNet:net.IPNet{{IP:net.IP{{{}}}, Mask:net.IPMask{{{}}}}}}}",
        list(&ip),
        list(&mask)
    )
}

/// All servers share the path of the list's owner.
pub(crate) fn check_ntp(path: &str, servers: &[Placed<String>], out: &mut Collector) {
    for server in servers {
        if parse_ip(server.as_str()).is_none() && domain_fault(server.as_str()).is_some() {
            let text = "NTP server is not a valid IP or domain name";
            let bad = Bad::text(server.as_str());
            out.invalid("ntp-server-invalid", path, server.place, bad, text);
        }
    }
}

fn check_dhcp_range(path: &str, cidr: &Network, baremetal: &Baremetal, out: &mut Collector) {
    let range = &baremetal.provisioning_dhcp_range;
    let range_path = format!("{path}.provisioningDHCPRange");
    let mut refuse = |rule: &'static str, text: String| {
        out.invalid(rule, range_path.as_str(), range.place, Bad::text(range.as_str()), text);
    };
    let parts: Vec<_> = range.value.split(',').collect();
    let [start, end] = parts[..] else {
        let text = "provisioning DHCP range should be in format: start_ip,end_ip";
        return refuse("dhcp-range-unreadable", text.into());
    };
    let mut ends = Vec::new();
    for ip in [start, end] {
        let Some(address) = parse_ip(ip) else {
            let text = format!("{ip}: {} is not a valid IP", quote(ip));
            return refuse("dhcp-range-unreadable", text);
        };
        if !cidr.contains(address) {
            let text = format!("{} is not in the provisioning network", quote(ip));
            return refuse("dhcp-range-outside-network", text);
        }
        ends.push(order(address));
    }
    for (name, ip) in [
        ("clusterProvisioningIP", &baremetal.cluster_provisioning_ip),
        ("bootstrapProvisioningIP", &baremetal.bootstrap_provisioning_ip),
    ] {
        let inside = |address: IpAddr| (ends[0]..=ends[1]).contains(&order(address));
        if parse_ip(ip.as_str()).is_some_and(inside) {
            let text = format!("{} overlaps with the allocated DHCP range", quote(ip.as_str()));
            let bad = Bad::text(ip.as_str());
            // An address that nobody wrote is mended by moving the range.
            let place = if ip.written { ip.place } else { range.place };
            out.invalid(
                "provisioning-ip-in-dhcp-range",
                format!("{path}.{name}"),
                place,
                bad,
                text,
            );
        }
    }
}

/// Address, gateway and DNS of the bootstrap machine: all or none. The first that lacks is named.
fn static_bootstrap(baremetal: &Baremetal, out: &mut Collector) {
    let ip = ("BootstrapExternalStaticIP", &baremetal.bootstrap_static_ip);
    let gateway = ("BootstrapExternalStaticGateway", &baremetal.bootstrap_static_gateway);
    let dns = ("BootstrapExternalStaticDNS", &baremetal.bootstrap_static_dns);
    let pairs =
        [(ip, gateway), (ip, dns), (gateway, ip), (gateway, dns), (dns, ip), (dns, gateway)];
    let incomplete = pairs.iter().find(|(set, other)| !set.1.is_empty() && other.1.is_empty());
    if let Some((set, missing)) = incomplete {
        let text = format!("You must specify a value for {} when {} is set.", missing.0, set.0);
        out.required("bootstrap-static-network-incomplete", PATH, set.1.place, text);
    }
}
