use std::sync::Arc;

use plimsoll_yaml::Node;

use crate::config::install::there;
use crate::go::address::Network;
use crate::place::{Place, Placed};
use crate::reader::At;
use crate::release::Release;

#[derive(Clone, Debug)]
pub struct Baremetal {
    pub place: Place,
    pub api_vips: Vec<Placed<String>>,
    pub api_vips_place: Place,
    pub ingress_vips: Vec<Placed<String>>,
    pub ingress_vips_place: Place,
    /// `None` where there is no `loadBalancer` at all.
    pub load_balancer_type: Option<Placed<String>>,
    pub load_balancer_place: Place,
    pub libvirt_uri: Placed<String>,
    pub external_bridge: Placed<String>,
    pub external_mac: Placed<String>,
    pub provisioning_network: Placed<String>,
    pub provisioning_bridge: Placed<String>,
    pub provisioning_mac: Placed<String>,
    pub provisioning_interface: Placed<String>,
    pub provisioning_cidr: Option<Placed<Network>>,
    pub provisioning_dhcp_range: Placed<String>,
    pub bootstrap_provisioning_ip: Placed<String>,
    pub cluster_provisioning_ip: Placed<String>,
    pub bootstrap_os_image: Placed<String>,
    pub cluster_os_image: Placed<String>,
    pub bootstrap_static_ip: Placed<String>,
    pub bootstrap_static_gateway: Placed<String>,
    pub bootstrap_static_dns: Placed<String>,
    pub ntp_servers: Vec<Placed<String>>,
    pub default_machine_platform: Option<Place>,
    /// In the order of the installer: masters, then workers, then those without a role.
    pub hosts: Vec<Host>,
    /// Whether the key `hosts` has a list, be it empty.
    pub hosts_written: bool,
    pub hosts_place: Place,
    pub(crate) deprecated: DeprecatedBaremetal,
}

#[derive(Clone, Debug)]
pub(crate) struct DeprecatedBaremetal {
    pub provisioning_dhcp_external: Placed<bool>,
    pub provisioning_host_ip: Placed<String>,
    pub api_vip: Placed<String>,
    pub ingress_vip: Placed<String>,
}

#[derive(Clone, Debug)]
pub struct Host {
    pub place: Place,
    /// Its number in the file; the installer counts in its own order.
    pub index_in_file: usize,
    /// An item without content, at which the installer crashes.
    pub is_null: bool,
    pub name: Placed<String>,
    pub role: Placed<String>,
    pub boot_mac: Placed<String>,
    pub boot_mode: Placed<String>,
    pub hardware_profile: Placed<String>,
    pub bmc: Bmc,
    pub root_device_hints: Option<RootDeviceHints>,
    pub network_config: Option<Arc<Node>>,
    pub network_config_place: Place,
}

#[derive(Clone, Debug)]
pub struct Bmc {
    pub place: Place,
    pub address: Placed<String>,
    pub username: Placed<String>,
    pub has_password: Placed<bool>,
    pub disable_certificate_verification: Placed<bool>,
}

#[derive(Clone, Debug)]
pub struct RootDeviceHints {
    pub place: Place,
    pub device_name: Placed<String>,
    pub hctl: Placed<String>,
    pub model: Placed<String>,
    pub vendor: Placed<String>,
    pub serial_number: Placed<String>,
    pub min_size_gigabytes: Option<Placed<i64>>,
    pub wwn: Placed<String>,
    pub wwn_with_extension: Placed<String>,
    pub wwn_vendor_extension: Placed<String>,
    pub rotational: Option<bool>,
}

impl Baremetal {
    pub(crate) fn read(at: At<'_>, release: Release) -> Self {
        let hosts = at.field("hosts");
        let balancer = at.field("loadBalancer");
        let mut read: Vec<Host> = hosts
            .items()
            .unwrap_or_default()
            .into_iter()
            .enumerate()
            .map(|(index, at)| Host::read(at, index))
            .collect();
        read.sort_by_key(|host| role_order(host.role.as_str(), release));
        Self {
            place: at.key_place(),
            api_vips: at.field("apiVIPs").texts(),
            api_vips_place: at.field("apiVIPs").place(),
            ingress_vips: at.field("ingressVIPs").texts(),
            ingress_vips_place: at.field("ingressVIPs").place(),
            load_balancer_type: there(balancer).map(|at| at.field("type").text()),
            load_balancer_place: balancer.key_place(),
            libvirt_uri: at.field("libvirtURI").text(),
            external_bridge: at.field("externalBridge").text(),
            external_mac: at.field("externalMACAddress").text(),
            provisioning_network: at.field("provisioningNetwork").text(),
            provisioning_bridge: at.field("provisioningBridge").text(),
            provisioning_mac: at.field("provisioningMACAddress").text(),
            provisioning_interface: at.field("provisioningNetworkInterface").text(),
            provisioning_cidr: at.field("provisioningNetworkCIDR").network(),
            provisioning_dhcp_range: at.field("provisioningDHCPRange").text(),
            bootstrap_provisioning_ip: at.field("bootstrapProvisioningIP").text(),
            cluster_provisioning_ip: at.field("clusterProvisioningIP").text(),
            bootstrap_os_image: at.field("bootstrapOSImage").text(),
            cluster_os_image: at.field("clusterOSImage").text(),
            bootstrap_static_ip: at.field("bootstrapExternalStaticIP").text(),
            bootstrap_static_gateway: at.field("bootstrapExternalStaticGateway").text(),
            bootstrap_static_dns: at.field("bootstrapExternalStaticDNS").text(),
            ntp_servers: at.field("additionalNTPServers").texts(),
            default_machine_platform: there(at.field("defaultMachinePlatform"))
                .map(|at| at.key_place()),
            hosts: read,
            hosts_written: hosts.is_there(),
            hosts_place: hosts.key_place(),
            deprecated: DeprecatedBaremetal {
                provisioning_dhcp_external: at.field("provisioningDHCPExternal").bool(),
                provisioning_host_ip: at.field("provisioningHostIP").text(),
                api_vip: at.field("apiVIP").text(),
                ingress_vip: at.field("ingressVIP").text(),
            },
        }
    }

    pub fn is_user_managed(&self) -> bool {
        self.load_balancer_type.as_ref().is_some_and(|kind| kind.value == "UserManaged")
    }
}

/// How the installer sorts: an unknown role counts as the role in the middle.
fn role_order(role: &str, release: Release) -> i32 {
    let arbiters = release >= Release::V4_19;
    match role {
        "master" => -1,
        "worker" if arbiters => 1,
        "" if arbiters => 2,
        "" => 1,
        _ => 0,
    }
}

impl Host {
    fn read(at: At<'_>, index_in_file: usize) -> Self {
        let network_config = at.field("networkConfig");
        Self {
            place: at.place(),
            index_in_file,
            is_null: !at.is_there(),
            name: at.field("name").text(),
            role: at.field("role").text(),
            boot_mac: at.field("bootMACAddress").text(),
            boot_mode: at.field("bootMode").text(),
            hardware_profile: at.field("hardwareProfile").text(),
            bmc: Bmc::read(at.field("bmc")),
            root_device_hints: there(at.field("rootDeviceHints")).map(RootDeviceHints::read),
            network_config: network_config.raw(),
            network_config_place: network_config.key_place(),
        }
    }
}

impl Bmc {
    pub(crate) fn read(at: At<'_>) -> Self {
        let password = at.field("password").text();
        Self {
            place: at.key_place(),
            address: at.field("address").text(),
            username: at.field("username").text(),
            has_password: Placed {
                value: !password.is_empty(),
                place: password.place,
                written: password.written,
            },
            disable_certificate_verification: at.field("disableCertificateVerification").bool(),
        }
    }
}

impl RootDeviceHints {
    pub(crate) fn read(at: At<'_>) -> Self {
        Self {
            place: at.key_place(),
            device_name: at.field("deviceName").text(),
            hctl: at.field("hctl").text(),
            model: at.field("model").text(),
            vendor: at.field("vendor").text(),
            serial_number: at.field("serialNumber").text(),
            min_size_gigabytes: at.field("minSizeGigabytes").int(),
            wwn: at.field("wwn").text(),
            wwn_with_extension: at.field("wwnWithExtension").text(),
            wwn_vendor_extension: at.field("wwnVendorExtension").text(),
            rotational: at.field("rotational").maybe_bool(),
        }
    }
}
