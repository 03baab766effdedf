//! What the installer fills in where the user wrote nothing.

use crate::config::{Baremetal, ClusterNetwork, InstallConfig, Networking, Pool};
use crate::go::address::{Network, offset, parse_ip};
use crate::place::{Place, Placed};

const MACHINE_NETWORK: Network = Network::v4(10, 0, 0, 0, 16);
const SERVICE_NETWORK: Network = Network::v4(172, 30, 0, 0, 16);
const CLUSTER_NETWORK: Network = Network::v4(10, 128, 0, 0, 14);
const PROVISIONING_NETWORK: Network = Network::v4(172, 22, 0, 0, 24);

pub(crate) fn set_defaults(config: &mut InstallConfig) {
    config.api_version.value = "v1".into();
    set_networking_defaults(&mut config.networking);
    config.publish.or_default("External");
    config.control_plane.name.value = "master".into();
    set_pool_defaults(&mut config.control_plane);
    if let Some(arbiter) = &mut config.arbiter {
        arbiter.name.value = "arbiter".into();
        set_pool_defaults(arbiter);
    }
    if !config.compute.iter().any(|pool| pool.name.value == "worker") {
        let place = config.compute.first().map_or(config.place, |pool| pool.place);
        config.compute.push(Pool::worker(place));
    }
    config.compute.iter_mut().for_each(set_pool_defaults);
    // Where two platforms stand, only the one that comes first gets its defaults.
    let baremetal_is_set = matches!(config.platform.name(), "baremetal");
    if let Some(baremetal) = config.platform.baremetal.as_mut().filter(|_| baremetal_is_set) {
        set_baremetal_defaults(baremetal, &config.networking);
    }
    config.trust_bundle_policy.or_default("Proxyonly");
}

fn set_networking_defaults(networking: &mut Networking) {
    let place = networking.place;
    if networking.machine.is_empty() {
        networking.machine.push(Placed::default_at(MACHINE_NETWORK, place));
    }
    networking.network_type.or_default("OVNKubernetes");
    if networking.service.is_empty() {
        networking.service.push(Placed::default_at(SERVICE_NETWORK, place));
    }
    if networking.cluster.is_empty() {
        networking.cluster.push(ClusterNetwork {
            cidr: Placed::default_at(CLUSTER_NETWORK, place),
            host_prefix: Placed::default_at(23, place),
            host_subnet_length: 0,
        });
    }
}

impl Pool {
    fn worker(place: Place) -> Pool {
        let empty = || Placed::default_at(String::new(), place);
        Pool {
            place,
            name: Placed::default_at("worker".into(), place),
            replicas: Placed::default_at(0, place),
            replicas_missing: true,
            architecture: empty(),
            hyperthreading: empty(),
            platforms: Vec::new(),
            fencing: None,
            disks: Vec::new(),
            disks_place: place,
        }
    }
}

fn set_pool_defaults(pool: &mut Pool) {
    if pool.replicas_missing {
        let none = matches!(pool.name.as_str(), "edge" | "arbiter");
        pool.replicas.value = if none { 0 } else { 3 };
        pool.replicas_missing = false;
    }
    pool.hyperthreading.or_default("Enabled");
    pool.architecture.or_default("amd64");
}

fn set_baremetal_defaults(baremetal: &mut Baremetal, networking: &Networking) {
    baremetal.libvirt_uri.or_default("qemu:///system");
    baremetal.provisioning_network.or_default("Managed");
    if baremetal.provisioning_network.value == "Disabled" {
        let ip = parse_ip(baremetal.cluster_provisioning_ip.as_str());
        if let Some(network) = networking
            .machine
            .iter()
            .rfind(|network| ip.is_some_and(|ip| network.value.contains(ip)))
        {
            baremetal.provisioning_cidr = Some(Placed::default_at(network.value, network.place));
        }
    } else {
        let place = baremetal.place;
        let network = baremetal
            .provisioning_cidr
            .get_or_insert(Placed::default_at(PROVISIONING_NETWORK, place))
            .value;
        for (ip, n) in [
            (&mut baremetal.bootstrap_provisioning_ip, 2),
            (&mut baremetal.cluster_provisioning_ip, 3),
        ] {
            if let Some(host) = network.host(n).filter(|_| ip.is_empty()) {
                ip.or_default(&host.to_string());
            }
        }
        baremetal.provisioning_bridge.or_default("provisioning");
        if baremetal.provisioning_network.value == "Managed"
            && baremetal.provisioning_dhcp_range.is_empty()
        {
            baremetal.provisioning_dhcp_range.or_default(&dhcp_range(&network));
        }
    }
    baremetal.external_bridge.or_default("baremetal");
    for host in &mut baremetal.hosts {
        host.boot_mode.or_default("UEFI");
        host.hardware_profile.or_default("default");
    }
}

/// From the tenth address to the last but one; a start that is not there is printed as Go does.
fn dhcp_range(network: &Network) -> String {
    let shown = |address: Option<std::net::IpAddr>| {
        address.map_or("<nil>".to_string(), |address| address.to_string())
    };
    let end = network.last_address().and_then(|last| offset(last, -1));
    format!("{},{}", shown(network.host(10)), shown(end))
}
