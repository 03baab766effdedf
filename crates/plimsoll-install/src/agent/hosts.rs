//! The hosts that the agent will install, from either file.

use std::collections::HashSet;

use plimsoll_yaml::Node;

use crate::agent::nmstate;
use crate::check::{Crash, device_name_faults};
use crate::config::{AgentConfig, AgentHost, Host, InstallConfig, RootDeviceHints};
use crate::go::address::mac_fault;
use crate::place::{Place, Placed};
use crate::refusal::{Bad, Collector, File};
use crate::release::Release;

/// A host as the agent sees it, wherever it was written.
pub(super) struct AnyHost<'c> {
    pub place: Place,
    pub hostname: &'c str,
    pub role: &'c Placed<String>,
    pub interfaces: Vec<AnyInterface>,
    pub interfaces_place: Place,
    pub hints: Option<&'c RootDeviceHints>,
    pub network_config: Option<&'c Node>,
    pub network_config_place: Place,
    /// Also by a key without a value.
    pub is_configured: bool,
}

pub(super) struct AnyInterface {
    pub name: String,
    pub mac: String,
    pub place: Place,
    pub is_null: bool,
}

/// agent-config.yaml wins; without hosts there, those of install-config.yaml are taken (since 4.15).
pub(super) fn gather<'c>(
    install: &'c InstallConfig,
    agent: Option<&'c AgentConfig>,
    release: Release,
    out: &mut Collector,
) -> Vec<AnyHost<'c>> {
    let from_agent: Vec<_> = agent.iter().flat_map(|agent| &agent.hosts).map(of_agent).collect();
    let baremetal =
        install.platform.baremetal.as_ref().filter(|_| install.platform.name() == "baremetal");
    let Some(baremetal) = baremetal.filter(|b| b.hosts_written && release >= Release::V4_15) else {
        return from_agent;
    };
    if !from_agent.is_empty() {
        let text = "hosts from install-config.yaml are ignored";
        out.file = File::Install;
        out.warn("install-hosts-ignored", "hosts", baremetal.hosts_place, text);
        out.file = File::Agent;
        return from_agent;
    }
    let mut hosts = Vec::new();
    for host in &baremetal.hosts {
        match of_install(host, out) {
            Ok(host) => hosts.push(host),
            Err((rule, place, fault)) => {
                let text = format!("invalid host definition in install-config.yaml: {fault}");
                out.plain(rule, "platform.baremetal.hosts", place, text);
                break;
            }
        }
    }
    hosts
}

fn of_agent(host: &AgentHost) -> AnyHost<'_> {
    let interfaces = host.interfaces.iter().map(|interface| AnyInterface {
        name: interface.name.value.clone(),
        mac: interface.mac.value.clone(),
        place: interface.mac.place,
        is_null: interface.is_null,
    });
    AnyHost {
        place: host.place,
        hostname: host.hostname.as_str(),
        role: &host.role,
        interfaces: interfaces.collect(),
        interfaces_place: host.interfaces_place,
        hints: Some(&host.root_device_hints),
        network_config: host.network_config.as_deref(),
        network_config_place: host.network_config_place,
        is_configured: host.network_config.is_some() || host.network_config_is_null,
    }
}

type BadDefinition = (&'static str, Place, String);

fn of_install<'c>(host: &'c Host, out: &mut Collector) -> Result<AnyHost<'c>, BadDefinition> {
    let mac = &host.boot_mac;
    if mac.is_empty() {
        let fault = "host bootMACAddress is required".to_string();
        return Err(("host-boot-mac-missing", mac.place, fault));
    }
    let mut interfaces = Vec::new();
    if let Some(config) = &host.network_config {
        let place = host.network_config_place;
        let named = nmstate::named_interfaces(config)
            .map_err(|fault| ("network-config-unreadable", place, fault))?;
        if !named.iter().any(|(_, found)| *found == mac.value) {
            let text = format!(
                "For host {}, BootMACAddress {} is not in NetworkConfig",
                host.name.value, mac.value
            );
            out.warn("boot-mac-not-in-network-config", "networkConfig", place, text);
        }
        interfaces.extend(named.into_iter().map(|(name, mac)| AnyInterface {
            name,
            mac,
            place,
            is_null: false,
        }));
    }
    if interfaces.is_empty() {
        let (name, mac_text) = ("boot".to_string(), mac.value.clone());
        interfaces.push(AnyInterface { name, mac: mac_text, place: mac.place, is_null: false });
    }
    Ok(AnyHost {
        place: host.place,
        hostname: host.name.as_str(),
        role: &host.role,
        interfaces,
        interfaces_place: host.place,
        hints: host.root_device_hints.as_ref(),
        network_config: host.network_config.as_deref(),
        network_config_place: host.network_config_place,
        is_configured: host.network_config.is_some(),
    })
}

pub(super) fn check(
    hosts: &[AnyHost<'_>],
    rendezvous: Option<&Placed<String>>,
    release: Release,
    out: &mut Collector,
) -> Result<(), Crash> {
    let list = if release >= Release::V4_19 { "hosts" } else { "Hosts" };
    check_each(hosts, list, release, out)?;
    let Some(rendezvous) = rendezvous.filter(|ip| !ip.is_empty()) else { return Ok(()) };
    for (i, host) in hosts.iter().enumerate().filter(|(_, host)| host.role.value == "worker") {
        let path = format!("{list}[{i}]");
        let has_it = match host.network_config {
            None => false,
            Some(config) if release <= Release::V4_15 => {
                nmstate::mentions(config, &rendezvous.value)
            }
            Some(config) => match nmstate::addresses(config, release) {
                Ok(addresses) => addresses.contains(&rendezvous.value),
                Err(fault) => {
                    let bad = Bad::plain("…");
                    let place = crate::decode::place_of(config);
                    out.invalid("network-config-unreadable", path, place, bad, fault);
                    continue;
                }
            },
        };
        if has_it {
            let field = if release >= Release::V4_19 { "role" } else { "Host" };
            let text = format!(
                "Host {} has role 'worker' and has the rendezvousIP assigned to it. The \
                 rendezvousIP must be assigned to a control plane host.",
                host.hostname
            );
            let path = format!("{path}.{field}");
            out.forbidden("rendezvous-ip-on-worker", path, host.role.place, text);
        }
    }
    Ok(())
}

/// In 4.14 this was part of reading agent-config.yaml, in other words.
pub(super) fn check_4_14(agent: &AgentConfig, out: &mut Collector) {
    let hosts: Vec<_> = agent.hosts.iter().map(of_agent).collect();
    if let Err(Crash { rule, path, place, text }) = check_each(&hosts, "Hosts", Release::V4_14, out)
    {
        out.refusals.clear();
        return out.plain(rule, path, place, text);
    }
    let rendezvous = agent.rendezvous_ip.as_str();
    if rendezvous.is_empty() {
        return;
    }
    for (i, host) in hosts.iter().enumerate() {
        let other_role = !matches!(host.role.as_str(), "master" | "");
        let mentioned =
            host.network_config.is_some_and(|config| nmstate::mentions(config, rendezvous));
        if other_role && mentioned {
            let text = format!(
                "Host {} is not of role 'master' and has the rendevousIP assigned to it. The \
                 rendevousIP must be assigned to a host of role 'master'",
                host.hostname
            );
            let path = format!("Hosts[{i}].Host");
            out.forbidden("rendezvous-ip-on-worker", path, host.role.place, text);
        }
    }
}

fn check_each(
    hosts: &[AnyHost<'_>],
    list: &str,
    release: Release,
    out: &mut Collector,
) -> Result<(), Crash> {
    let mut seen = HashSet::new();
    for (i, host) in hosts.iter().enumerate() {
        let path = format!("{list}[{i}]");
        check_interfaces(host, &path, release, &mut seen, out)?;
        if let Some(hints) = host.hints {
            check_hints(hints, &format!("{path}.rootDeviceHints"), out);
        }
        check_role(host, &path, release, out);
    }
    Ok(())
}

fn check_interfaces<'h>(
    host: &'h AnyHost<'_>,
    path: &str,
    release: Release,
    seen: &mut HashSet<&'h str>,
    out: &mut Collector,
) -> Result<(), Crash> {
    let name = if release >= Release::V4_19 { "interfaces" } else { "Interfaces" };
    let path = format!("{path}.{name}");
    if host.interfaces.is_empty() {
        let text = "at least one interface must be defined for each node";
        out.required("host-interfaces-missing", path.as_str(), host.interfaces_place, text);
    }
    for (j, interface) in host.interfaces.iter().enumerate() {
        if interface.is_null {
            let place = interface.place;
            return Err(Crash::at("interface-empty", "hosts.interfaces", place));
        }
        let path = format!("{path}[{j}].macAddress");
        let mac = interface.mac.as_str();
        if mac.is_empty() {
            let text = "each interface must have a MAC address defined";
            out.required("interface-mac-missing", path, interface.place, text);
            continue;
        }
        if let Some(fault) = mac_fault(mac) {
            out.invalid(
                "interface-mac-invalid",
                path.as_str(),
                interface.place,
                Bad::text(mac),
                fault,
            );
        }
        if !seen.insert(mac) {
            let text = "duplicate MAC address found";
            out.invalid("interface-mac-doubled", path, interface.place, Bad::text(mac), text);
        }
    }
    Ok(())
}

fn check_hints(hints: &RootDeviceHints, path: &str, out: &mut Collector) {
    device_name_faults(path, hints, out);
    for (name, hint, text) in [
        (
            "wwnWithExtension",
            &hints.wwn_with_extension,
            "WWN extensions are not supported in root device hints",
        ),
        (
            "wwnVendorExtension",
            &hints.wwn_vendor_extension,
            "WWN vendor extensions are not supported in root device hints",
        ),
    ] {
        if !hint.is_empty() {
            out.forbidden("root-device-wwn-extension", format!("{path}.{name}"), hint.place, text);
        }
    }
}

fn check_role(host: &AnyHost<'_>, path: &str, release: Release, out: &mut Collector) {
    let role = host.role;
    let known: &[&str] = if release >= Release::V4_20 {
        &["master", "worker", "arbiter"]
    } else {
        &["master", "worker"]
    };
    if role.is_empty() || known.contains(&role.as_str()) {
        return;
    }
    if release >= Release::V4_19 {
        let bad = Bad::text(role.as_str());
        out.not_supported("host-role-unknown", format!("{path}.role"), role.place, bad, known);
    } else {
        let text = "host role has incorrect value. Role must either be 'master' or 'worker'";
        out.forbidden("host-role-unknown", format!("{path}.Host"), role.place, text);
    }
}
