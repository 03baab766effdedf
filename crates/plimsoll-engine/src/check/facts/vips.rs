//! The virtual addresses, and who else has them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_install::{Baremetal, File, InstallConfig, Judgement, Placed, parse_ip};
use plimsoll_model::EntityId;

use super::addresses::{self, Nets};
use super::hosts::Machine;
use super::nmstate::Text;
use super::{Facts, shortened};
use plimsoll_install::BmcAddress;

pub fn extract(
    config: &InstallConfig,
    judgement: &Judgement,
    nets: &Nets,
    hosts: &[Machine<'_>],
    facts: &mut Facts,
) {
    let id = facts.config();
    let Some(baremetal) = &config.platform.baremetal else {
        facts.known(&id, "apiVIPs", 0_usize);
        facts.known(&id, "ingressVIPs", 0_usize);
        return;
    };
    let (place, path) = (baremetal.ingress_vips_place, "platform.baremetal.ingressVIPs");
    facts.known(&id, "apiVIPs", baremetal.api_vips.len());
    let ingress = baremetal.ingress_vips.len();
    facts.set(&id, "ingressVIPs", ingress, File::Install, path, place, None);
    let owners = owners(baremetal, judgement, hosts);
    let gateways = gateways(baremetal, hosts);
    let usual = usual_gateways(hosts);
    let range = addresses::range(baremetal.provisioning_dhcp_range.as_str());
    let mut uses: BTreeMap<IpAddr, Vec<&str>> = BTreeMap::new();
    for (vip, usage, path) in written(baremetal) {
        let Some(address) = parse_ip(vip.as_str()) else { continue };
        let id = EntityId::cluster_scoped("VIP", &address.to_string());
        let uses = uses.entry(address).or_default();
        uses.push(usage);
        let uses = uses.join(" and ");
        facts.known(&id, "use", uses);
        // An address of both stands where it stands first.
        if facts.spot(&id, Some("address")).is_some() {
            continue;
        }
        facts.text(&id, "address", vip, File::Install, &path);
        facts.known(&id, "userManaged", baremetal.is_user_managed());
        facts.known(&id, "machineNetworks", nets.machine_shown());
        if let Some(inside) = nets.in_machine(address) {
            facts.known(&id, "inMachineNetwork", inside);
        }
        let at = |line| line == vip.place.line;
        let refused = judgement.refusals.iter().chain(&judgement.later);
        let refused = refused.filter(|it| it.file == File::Install && at(it.line));
        facts.known(&id, "refused", refused.map(|it| it.rule).collect::<Vec<_>>());
        let taken = owners.get(&address).cloned().unwrap_or_default();
        facts.known(&id, "takenBy", shortened(taken));
        facts.known(
            &id,
            "gatewayOf",
            shortened(gateways.get(&address).cloned().unwrap_or_default()),
        );
        blame(&id, vip, address, &path, hosts, &usual, facts);
        let network = nets.machine_of(address);
        let edge = network.and_then(|network| addresses::edge(network, address));
        facts.known(&id, "edge", edge.unwrap_or_default());
        let in_range = range.is_some_and(|range| addresses::in_range(range, address));
        let range = baremetal.provisioning_dhcp_range.value.as_str();
        facts.known(&id, "inDhcpRange", if in_range { range } else { "" });
        facts.known(&id, "hiddenBy", nets.hidden_by(address).unwrap_or_default());
    }
}

fn written(baremetal: &Baremetal) -> impl Iterator<Item = (&Placed<String>, &'static str, String)> {
    let api = baremetal.api_vips.iter().enumerate();
    let api = api.map(|(i, vip)| (vip, "API", format!("platform.baremetal.apiVIPs[{i}]")));
    let ingress = baremetal.ingress_vips.iter().enumerate();
    let ingress =
        ingress.map(|(i, vip)| (vip, "ingress", format!("platform.baremetal.ingressVIPs[{i}]")));
    api.chain(ingress)
}

/// Whose address is it? Machines, not routers.
fn owners(
    baremetal: &Baremetal,
    judgement: &Judgement,
    hosts: &[Machine<'_>],
) -> BTreeMap<IpAddr, Vec<String>> {
    let mut owners: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
    let mut own = |text: &str, who: String| {
        if let Some(address) = parse_ip(text) {
            let all = owners.entry(address).or_default();
            if !all.contains(&who) {
                all.push(who);
            }
        }
    };
    for host in hosts {
        for address in host.net().into_iter().flat_map(|net| net.addresses()) {
            own(&address.at.value, format!("host {}", host.id.name));
        }
    }
    if let Some(agent) = &judgement.config.agent {
        own(agent.rendezvous_ip.as_str(), "rendezvousIP".into());
    }
    let fixed = [
        (&baremetal.bootstrap_provisioning_ip, "bootstrapProvisioningIP"),
        (&baremetal.cluster_provisioning_ip, "clusterProvisioningIP"),
        (&baremetal.bootstrap_static_ip, "bootstrapExternalStaticIP"),
        (&baremetal.bootstrap_static_dns, "bootstrapExternalStaticDNS"),
    ];
    for (address, name) in fixed {
        own(address.as_str(), name.into());
    }
    for host in hosts {
        if let Some((install, _)) = &host.install {
            let address = BmcAddress::read(&install.bmc.address.value);
            own(address.bare_host(), format!("the BMC of {}", host.id.name));
        }
        for server in host.net().into_iter().flat_map(|net| &net.dns) {
            own(&server.value, "a DNS server".into());
        }
    }
    owners
}

fn gateways(baremetal: &Baremetal, hosts: &[Machine<'_>]) -> BTreeMap<IpAddr, Vec<String>> {
    let mut gateways: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
    for host in hosts {
        for via in
            host.net().into_iter().flat_map(|net| &net.routes).filter_map(|it| it.via.as_ref())
        {
            if let Some(address) = parse_ip(&via.value) {
                let all = gateways.entry(address).or_default();
                if all.last() != Some(&host.id.name) {
                    all.push(host.id.name.clone());
                }
            }
        }
    }
    if let Some(address) = parse_ip(baremetal.bootstrap_static_gateway.as_str()) {
        gateways.entry(address).or_default().push("the bootstrap machine".into());
    }
    gateways
}

/// By family, the gateway of more than half of the hosts that have one.
fn usual_gateways(hosts: &[Machine<'_>]) -> BTreeMap<bool, IpAddr> {
    let mut hosts_of: BTreeMap<(bool, IpAddr), usize> = BTreeMap::new();
    let mut all: BTreeMap<bool, usize> = BTreeMap::new();
    for net in hosts.iter().filter_map(|host| host.net()) {
        let vias = net.routes.iter().filter(|route| route.is_default);
        let vias = vias.filter_map(|route| parse_ip(&route.via.as_ref()?.value));
        for address in vias.collect::<BTreeSet<IpAddr>>() {
            *hosts_of.entry((address.is_ipv4(), address)).or_default() += 1;
            *all.entry(address.is_ipv4()).or_default() += 1;
        }
    }
    let most = hosts_of.into_iter().filter(|((v4, _), count)| count * 2 > all[v4]);
    most.map(|(key, _)| key).collect()
}

/// Whether the VIP or a gateway is the odd one: most hosts leave over another address.
fn blame(
    id: &EntityId,
    vip: &Placed<String>,
    address: IpAddr,
    path: &str,
    hosts: &[Machine<'_>],
    usual: &BTreeMap<bool, IpAddr>,
    facts: &mut Facts,
) {
    let usual = usual.get(&address.is_ipv4()).filter(|usual| **usual != address);
    let is_it = |via: &&Text| parse_ip(&via.value) == Some(address);
    let odd = usual.and_then(|_| {
        hosts.iter().find_map(|host| {
            let mut vias = host.net()?.routes.iter().filter_map(|route| route.via.as_ref());
            Some(host.at(String::new(), vias.find(is_it)?))
        })
    });
    let usual = usual.filter(|_| odd.is_some()).map(IpAddr::to_string).unwrap_or_default();
    let (file, path, at) = match odd {
        Some(found) => (found.file, found.path, found.at),
        None => (File::Install, path.to_string(), vip.place),
    };
    facts.set(id, "gatewayUsual", usual, file, &path, at, Some(vip.value.clone()));
}
