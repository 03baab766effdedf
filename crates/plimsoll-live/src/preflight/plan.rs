//! Which probes a config calls for.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use plimsoll_install::{BmcAddress, Config, InstallConfig, Placed, bmc_driver};
use plimsoll_probe::{DnsProbe, NtpProbe, Probe, Question, Resolver, SilentProbe, Target};
use plimsoll_yaml::Node;

use super::bmcs::{at, hosts};
use super::{Part, Preflight, registries};

const DNS: u16 = 53;
const NTP: u16 = 123;
/// Of all hosts together; of one, the C library takes the first three.
const MOST_RESOLVERS: usize = 6;
const RESOLVERS_OF_A_HOST: usize = 3;
const MOST_HOSTS: usize = 200;
const MOST_SERVERS: usize = 16;

pub fn probes(wish: &Preflight<'_>, label: &str, within: Duration) -> Vec<Probe> {
    let config = wish.config;
    let mut probes = Vec::new();
    if wish.has(Part::Dns) {
        probes.extend(names(config, label));
    }
    if wish.has(Part::Vip) {
        let silent = |address| Probe::Silent(SilentProbe { address });
        probes.extend(vips(config).into_iter().map(silent));
    }
    if wish.has(Part::Clock) {
        let server = |host: String| Probe::Ntp(NtpProbe { target: Target::new(host, NTP) });
        probes.extend(ntp_servers(config).into_iter().map(server));
    }
    let registries = registries::asked(wish, within);
    if wish.has(Part::Ports) {
        let mut targets: BTreeSet<Target> = bmc_targets(config);
        targets.extend(registries.iter().map(|registry| registry.image.registry.clone()));
        probes.extend(targets.into_iter().map(Probe::Tcp));
    }
    if wish.has(Part::Mirror) {
        let registry = |registry| Probe::Registry(Box::new(registry));
        probes.extend(registries.into_iter().map(registry));
    }
    probes
}

fn names(config: &Config, label: &str) -> Vec<Probe> {
    let Some(install) = &config.install else { return Vec::new() };
    let domain = install.cluster_domain();
    let mut resolvers: Vec<Resolver> = resolvers(config)
        .into_iter()
        .map(|address| Resolver::At(SocketAddr::new(address, DNS)))
        .collect();
    if resolvers.is_empty() {
        resolvers.push(Resolver::System);
    }
    let mut questions = Vec::new();
    let mut names = vec![
        format!("api.{domain}"),
        format!("{label}.apps.{domain}"),
        format!("{label}.{domain}"),
    ];
    if needs_internal_name(install) {
        names.push(format!("api-int.{domain}"));
    }
    let nodes = nodes(config);
    names.extend(nodes.iter().map(|(name, _)| full_name(name, &domain)));
    for name in names {
        questions.extend([Question::A(name.clone()), Question::Aaaa(name)]);
    }
    let addresses: BTreeSet<IpAddr> =
        nodes.iter().flat_map(|(_, addresses)| addresses).copied().collect();
    questions.extend(addresses.into_iter().map(Question::Ptr));
    let ask = |resolver: &Resolver, question: &Question| {
        Probe::Dns(DnsProbe { question: question.clone(), resolver: resolver.clone() })
    };
    let all = |resolver: &Resolver| -> Vec<Probe> {
        questions.iter().map(|question| ask(resolver, question)).collect()
    };
    resolvers.iter().flat_map(all).collect()
}

/// Where nobody in the cluster answers for it.
fn needs_internal_name(install: &InstallConfig) -> bool {
    let managed = install.platform.baremetal.as_ref().map(|baremetal| !baremetal.is_user_managed());
    !managed.unwrap_or(false)
}

fn full_name(name: &str, domain: &str) -> String {
    if name.contains('.') { name.into() } else { format!("{name}.{domain}") }
}

/// Names of machines, and the addresses that the config gives them.
fn nodes(config: &Config) -> Vec<(String, Vec<IpAddr>)> {
    let of_install = hosts(config).iter().map(|host| (&host.name, host.network_config.as_deref()));
    let agent = config.agent.iter().flat_map(|agent| &agent.hosts);
    let of_agent = agent.map(|host| (&host.hostname, host.network_config.as_deref()));
    let named = of_install.chain(of_agent).filter(|(name, _)| !name.is_empty());
    named
        .take(MOST_HOSTS)
        .map(|(name, network)| (name.value.clone(), network.map(addresses).unwrap_or_default()))
        .collect()
}

fn addresses(network: &Node) -> Vec<IpAddr> {
    let interfaces = at(network, &["interfaces"]).map(Node::items).unwrap_or_default();
    let of_interface = |interface: &Node| -> Vec<IpAddr> {
        ["ipv4", "ipv6"]
            .iter()
            .filter_map(|family| at(interface, &[family, "address"]))
            .flat_map(Node::items)
            .filter_map(|address| at(address, &["ip"])?.as_text()?.parse().ok())
            .collect()
    };
    interfaces.iter().flat_map(of_interface).collect()
}

/// Those that the nodes will ask, in the order of the hosts.
fn resolvers(config: &Config) -> Vec<IpAddr> {
    let of_install = hosts(config).iter().filter_map(|host| host.network_config.as_deref());
    let agent = config.agent.iter().flat_map(|agent| &agent.hosts);
    let networks = of_install.chain(agent.filter_map(|host| host.network_config.as_deref()));
    let mut found: Vec<IpAddr> = Vec::new();
    for network in networks {
        let servers = at(network, &["dns-resolver", "config", "server"]);
        let servers = servers.map(Node::items).unwrap_or_default().iter();
        let addresses = servers.filter_map(|server| server.as_text()?.parse().ok());
        for address in addresses.take(RESOLVERS_OF_A_HOST) {
            if !found.contains(&address) {
                found.push(address);
            }
        }
    }
    found.truncate(MOST_RESOLVERS);
    found
}

/// With a load balancer of the user's own they are taken already, as they should be.
fn vips(config: &Config) -> BTreeSet<IpAddr> {
    let baremetal = config.install.as_ref().and_then(|install| install.platform.baremetal.as_ref());
    let Some(baremetal) = baremetal.filter(|baremetal| !baremetal.is_user_managed()) else {
        return BTreeSet::new();
    };
    let all = baremetal.api_vips.iter().chain(&baremetal.ingress_vips);
    all.filter_map(|vip| plimsoll_install::parse_ip(vip.as_str())).collect()
}

pub fn ntp_servers(config: &Config) -> BTreeSet<String> {
    let of_agent = config.agent.iter().flat_map(|agent| &agent.ntp_sources);
    let baremetal = config.install.as_ref().and_then(|install| install.platform.baremetal.as_ref());
    let of_install = baremetal.into_iter().flat_map(|baremetal| &baremetal.ntp_servers);
    let is_host = |server: &&Placed<String>| {
        Target::new(server.as_str(), NTP).to_string().parse::<Target>().is_ok()
    };
    of_agent
        .chain(of_install)
        .filter(is_host)
        .map(|server| server.value.clone())
        .take(MOST_SERVERS)
        .collect()
}

/// Where Redfish is spoken, which is TCP.
fn bmc_targets(config: &Config) -> BTreeSet<Target> {
    let target = |address: &str| {
        bmc_driver(address).ok()?;
        BmcAddress::read(address).tcp()?.parse().ok()
    };
    hosts(config).iter().filter_map(|host| target(host.bmc.address.as_str())).collect()
}
