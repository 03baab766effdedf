//! Hosts of the bare metal platform.

use std::collections::HashSet;

use plimsoll_yaml::{Kind, Node};

use crate::bmc;
use crate::check::Context;
use crate::config::{Baremetal, Host, InstallConfig, RootDeviceHints};
use crate::decode::{place_of, word};
use crate::names::subdomain_faults;
use crate::place::Placed;
use crate::refusal::{Bad, Collector};
use crate::release::Release;

/// How a release spells the paths: the installer mixed its own names with those of the file.
struct Spelling {
    /// Of the list, in most errors.
    hosts: &'static str,
    name: &'static str,
    boot_mac: &'static str,
    bmc: &'static str,
    username: &'static str,
    password: &'static str,
    address: &'static str,
}

fn spelling(release: Release) -> Spelling {
    if release >= Release::V4_19 {
        return Spelling {
            hosts: "hosts",
            name: "name",
            boot_mac: "bootMACAddress",
            bmc: "bmc",
            username: "bmc.username",
            password: "bmc.password",
            address: "bmc.address",
        };
    }
    Spelling {
        hosts: "Hosts",
        name: "Name",
        boot_mac: "BootMACAddress",
        bmc: "BMC",
        username: "BMC.Username",
        password: "BMC.Password",
        address: "BMC.Address",
    }
}

/// `ValidateHosts`, under the path that the caller has for the platform.
pub(crate) fn check(baremetal: &Baremetal, path: &str, context: &mut Context<'_>) {
    let names = spelling(context.release);
    let list = format!("{path}.{}", names.hosts);
    check_count(baremetal, &list, context);
    let out = &mut *context.out;
    let fields_list = format!("{path}.hosts");
    let mut seen_names = HashSet::new();
    let mut seen_macs = HashSet::new();
    for (i, host) in baremetal.hosts.iter().enumerate() {
        let of = |name: &'static str| (i, fields_list.as_str(), name);
        unique(out, (NAME_RULES, of(names.name), "Name"), &host.name, &mut seen_names);
        let mac = (BOOT_MAC_RULES, of(names.boot_mac), "BootMACAddress");
        unique(out, mac, &host.boot_mac, &mut seen_macs);
    }
    for (i, host) in baremetal.hosts.iter().enumerate() {
        if host.boot_mode.value != "UEFI" {
            check_boot_mode(&format!("{list}[{i}].bootMode"), host, out);
        }
    }
    for (i, host) in baremetal.hosts.iter().enumerate() {
        if let Some(hints) = &host.root_device_hints {
            device_name_faults(&format!("{list}[{i}].rootDeviceHints"), hints, out);
        }
    }
    for (i, host) in baremetal.hosts.iter().enumerate() {
        if let Some(config) = &host.network_config {
            let path = format!("{list}[{i}].networkConfig");
            check_network_config(&path, config, context.release, out);
        }
    }
    for (i, host) in baremetal.hosts.iter().enumerate() {
        let faults = subdomain_faults(host.name.as_str());
        if !faults.is_empty() {
            let path = format!("{list}[{i}].name");
            let bad = Bad::text(host.name.as_str());
            out.invalid("host-name-invalid", path, host.name.place, bad, faults.join("\n"));
        }
    }
}

const NAME_RULES: [&str; 2] = ["host-name-missing", "host-name-doubled"];
const BOOT_MAC_RULES: [&str; 2] = ["host-boot-mac-missing", "host-boot-mac-doubled"];
const BMC_ADDRESS_RULES: [&str; 2] = ["bmc-address-missing", "bmc-address-doubled"];

/// A field that must be there and must be unlike the same field of other hosts.
fn unique<'h>(
    out: &mut Collector,
    ([missing, doubled], (i, list, name), go_name): ([&'static str; 2], (usize, &str, &str), &str),
    value: &'h Placed<String>,
    seen: &mut HashSet<&'h str>,
) {
    let path = || format!("{list}[{i}].{name}");
    if value.is_empty() {
        out.required(missing, path(), value.place, format!("missing {go_name}"));
    } else if !seen.insert(value.as_str()) {
        out.duplicate(doubled, path(), value.place, Bad::text(value.as_str()));
    }
}

fn check_count(baremetal: &Baremetal, path: &str, context: &mut Context<'_>) {
    let needed = Needed::of(context.config);
    let (mut masters, mut arbiters, mut workers) = (0, 0, 0);
    for host in &baremetal.hosts {
        match host.role.as_str() {
            "master" => masters += 1,
            "arbiter" if context.release >= Release::V4_19 => arbiters += 1,
            "worker" => workers += 1,
            _ => {
                let text = format!("Host {} hasn't any role configured", host.name.value);
                if host.role.is_empty() {
                    context.out.warn("host-without-role", path, host.place, text);
                } else {
                    context.out.warn_of("host-without-role", path, &host.role, text);
                }
                if masters < needed.masters {
                    masters += 1;
                } else if arbiters < needed.arbiters {
                    arbiters += 1;
                } else if workers < needed.workers {
                    workers += 1;
                }
            }
        }
    }
    let found = [
        (masters, needed.masters, "ControlPlane"),
        (arbiters, needed.arbiters, "Arbiter"),
        (workers, needed.workers, "Compute"),
    ];
    if let Some((found, needed, pool)) = found.into_iter().find(|(found, needed, _)| found < needed)
    {
        let text = format!(
            "not enough hosts found ({found}) to support all the configured {pool} replicas ({needed})"
        );
        context.out.required("hosts-too-few", path, baremetal.hosts_place, text);
    }
}

struct Needed {
    masters: i64,
    arbiters: i64,
    workers: i64,
}

impl Needed {
    fn of(config: &InstallConfig) -> Self {
        Self {
            masters: config.control_plane.replicas.value,
            arbiters: config.arbiter.as_ref().map_or(0, |pool| pool.replicas.value),
            workers: config.compute_replicas(),
        }
    }
}

fn check_boot_mode(path: &str, host: &Host, out: &mut Collector) {
    let mode = &host.boot_mode;
    match mode.as_str() {
        "" | "UEFI" | "legacy" => {}
        "UEFISecureBoot" => {
            // An address that cannot be read is somebody else's complaint.
            if let Ok(driver) = bmc::driver(host.bmc.address.as_str())
                && !driver.secure_boot
            {
                let text = format!("driver {} does not support UEFI secure boot", driver.name);
                let bad = Bad::text(mode.as_str());
                out.invalid("secure-boot-not-by-driver", path, mode.place, bad, text);
            }
        }
        other => out.not_supported(
            "boot-mode-unknown",
            path,
            mode.place,
            Bad::text(other),
            &["UEFI", "UEFISecureBoot", "legacy"],
        ),
    }
}

pub(crate) fn device_name_faults(path: &str, hints: &RootDeviceHints, out: &mut Collector) {
    let name = &hints.device_name;
    if name.is_empty() {
        return;
    }
    let path = format!("{path}.deviceName");
    let below = name.value.strip_prefix("/dev/");
    if below.is_none() {
        let text = "Device Name of root device hint must be a /dev/ path";
        let bad = Bad::text(name.as_str());
        out.invalid("root-device-not-in-dev", path.as_str(), name.place, bad, text);
    }
    let below = below.unwrap_or(name.as_str());
    if below.strip_prefix("disk/by-path/").unwrap_or(below).contains('/') {
        let text = "Device Name of root device hint must be path in /dev/ or /dev/disk/by-path/";
        let bad = Bad::text(name.as_str());
        out.invalid("root-device-by-other-path", path, name.place, bad, text);
    }
}

fn check_network_config(path: &str, config: &Node, release: Release, out: &mut Collector) {
    let place = place_of(config);
    if !matches!(config.kind, Kind::Map(_)) {
        let fault = format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value \
             of type map[string]interface {{}}",
            word(config)
        );
        let bad = Bad::plain("v1.JSON{Raw:[]uint8{…}}");
        let text = format!("Not a valid yaml: {fault}");
        out.invalid("network-config-not-a-mapping", path, place, bad, text);
        if release >= Release::V4_20 {
            let bad = Bad::Text(network_config_json(config));
            let text = format!("failed to unmarshal NMState config: {fault}");
            out.invalid("network-config-not-a-mapping", path, place, bad, text);
        }
        return;
    }
    if release >= Release::V4_20 {
        check_mtu(path, config, out);
    }
}

/// Since 4.20: an MTU in quotes would be refused by nmstate on the host.
fn check_mtu(path: &str, config: &Node, out: &mut Collector) {
    let Some(Kind::List(interfaces)) = config.get("interfaces").map(|node| &node.kind) else {
        return;
    };
    for (i, interface) in interfaces.iter().enumerate() {
        let Some(mtu) = interface.get("mtu") else { continue };
        let (bad, text) = match &mtu.kind {
            Kind::Int(_) | Kind::UInt(_) | Kind::Float(_) => continue,
            Kind::Text(text) => {
                let integer = text.parse::<i64>().is_ok();
                let hint = if integer { " (not quoted string)" } else { "" };
                (Bad::text(text), format!("mtu must be an integer{hint}"))
            }
            Kind::Bool(value) => (Bad::plain(value), "mtu must be an integer, got bool".into()),
            Kind::Null => (Bad::text("null"), "mtu must be an integer, got <nil>".into()),
            Kind::List(_) => (
                Bad::plain("[]interface {}{…}"),
                "mtu must be an integer, got []interface {}".into(),
            ),
            Kind::Map(_) => (
                Bad::plain("map[string]interface {}{…}"),
                "mtu must be an integer, got map[string]interface {}".into(),
            ),
        };
        let path = format!("{path}.interfaces[{i}].mtu");
        out.invalid("interface-mtu-not-a-number", path, place_of(mtu), bad, text);
    }
}

/// A scalar as JSON, for messages.
fn network_config_json(node: &Node) -> String {
    match &node.kind {
        Kind::Text(text) => crate::go::text::quote(text),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::UInt(value) => value.to_string(),
        Kind::Float(value) => crate::go::scalar::json_number(*value),
        Kind::Null => "null".into(),
        Kind::List(_) => "[…]".into(),
        Kind::Map(_) => "{…}".into(),
    }
}

/// What every BMC needs; asked when machines are provisioned.
pub(crate) fn check_bmc(hosts: &[Host], path: &str, release: Release, out: &mut Collector) {
    let names = spelling(release);
    let list = format!("{path}.hosts");
    let mut seen = HashSet::new();
    for (i, host) in hosts.iter().enumerate() {
        let of = |name: &str| format!("{list}[{i}].{name}");
        let bmc = &host.bmc;
        if bmc.username.is_empty() {
            let place = bmc.username.place;
            out.required("bmc-username-missing", of(names.username), place, "missing Username");
        }
        if !bmc.has_password.value {
            let place = bmc.has_password.place;
            out.required("bmc-password-missing", of(names.password), place, "missing Password");
        }
        let address = (BMC_ADDRESS_RULES, (i, list.as_str(), names.address), "Address");
        unique(out, address, &bmc.address, &mut seen);
    }
}

/// Without a provisioning network a machine must boot from virtual media.
pub(crate) fn check_without_provisioning_network(
    hosts: &[Host],
    path: &str,
    release: Release,
    out: &mut Collector,
) {
    let names = spelling(release);
    for (i, host) in hosts.iter().enumerate() {
        let address = &host.bmc.address;
        let (rule, text): (_, String) = match bmc::driver(address.as_str()) {
            Err(fault) => ("bmc-address-unreadable", fault),
            Ok(driver) if driver.needs_provisioning_network => (
                "bmc-needs-provisioning-network",
                format!("driver {} requires provisioning network", driver.name),
            ),
            Ok(_) => continue,
        };
        let path = format!("{path}.{}[{i}].{}", names.hosts, names.bmc);
        out.invalid(rule, path, address.place, Bad::text(address.as_str()), text);
    }
}
