//! What many hosts have in common and one sentence says: MTUs, lengths of prefixes, hints for disks.

use std::collections::BTreeMap;

use plimsoll_install::{File, InstallConfig};

use super::addresses::Nets;
use super::hosts::Machine;
use super::{Facts, Found, bmc};

/// The least that a disk of a node must hold, in GB.
const LEAST_DISK: i64 = 100;
const USUAL_MTU: i64 = 1500;

pub fn extract(
    config: Option<&InstallConfig>,
    hosts: &[Machine<'_>],
    nets: &Nets,
    facts: &mut Facts,
) {
    let id = facts.config();
    facts.found(&id, "mtusOdd", odd_mtus(hosts, nets));
    facts.found(&id, "prefixesDiffer", prefixes(hosts, nets));
    facts.found(&id, "disksByLetter", disks_by_letter(hosts));
    facts.found(&id, "disksSmall", small_disks(hosts));
    facts.found(&id, "wwnsOdd", odd_wwns(hosts));
    facts.found(&id, "hctlsOdd", odd_hctls(hosts));
    facts.found(&id, "mastersBeyond", masters_beyond(config, hosts));
    let open = bmc::in_the_open(hosts).map(|(host, at, path)| Found {
        said: host.id.name.clone(),
        file: File::Install,
        path,
        at,
        value: None,
    });
    let open: Vec<Found> = open.collect();
    facts.found(&id, "bmcsInTheOpen", open);
    facts.found(&id, "bmcPasswordsInAddress", passwords_in_addresses(hosts));
    let unverified = hosts.iter().filter_map(|host| {
        let (install, path) = host.install.as_ref()?;
        let off = &install.bmc.disable_certificate_verification;
        off.value.then(|| Found {
            said: host.id.name.clone(),
            file: File::Install,
            path: format!("{path}.bmc.disableCertificateVerification"),
            at: off.place,
            value: Some("true".into()),
        })
    });
    let unverified: Vec<Found> = unverified.collect();
    facts.found(&id, "bmcsUnverified", unverified);
}

fn passwords_in_addresses(hosts: &[Machine<'_>]) -> Vec<Found> {
    let of = |host: &Machine<'_>| {
        let (install, path) = host.install.as_ref()?;
        let address = &install.bmc.address;
        let (_, rest) = address.value.split_once("://")?;
        let authority = rest.split('/').next().unwrap_or(rest);
        let (user, _) = authority.rsplit_once('@')?;
        user.contains(':').then(|| Found {
            said: host.id.name.clone(),
            file: File::Install,
            path: format!("{path}.bmc.address"),
            at: address.place,
            value: None,
        })
    };
    hosts.iter().filter_map(of).collect()
}

/// Masters behind the last one that there is a replica for.
fn masters_beyond(config: Option<&InstallConfig>, hosts: &[Machine<'_>]) -> Vec<Found> {
    let Some(replicas) = config.map(|config| config.control_plane.replicas.value) else {
        return Vec::new();
    };
    let masters = hosts.iter().filter(|host| host.agent.is_none() && host.role == "master");
    let beyond = masters.skip(usize::try_from(replicas).unwrap_or(usize::MAX));
    beyond.map(|host| host.here(host.id.name.clone())).collect()
}

/// Hosts whose MTU on the machine network is not that of most.
fn odd_mtus(hosts: &[Machine<'_>], nets: &Nets) -> Vec<Found> {
    let mut of_hosts = Vec::new();
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    for host in hosts {
        let Some(net) = host.net() else { continue };
        let link = net
            .links
            .iter()
            .find(|link| link.addresses.iter().any(|own| nets.in_machine(own.ip) == Some(true)));
        if let Some(link) = link {
            let mtu = link.mtu.as_ref().map_or(USUAL_MTU, |(mtu, _)| *mtu);
            let text = link.mtu.as_ref().map_or(&link.name, |(_, text)| text);
            *counts.entry(mtu).or_default() += 1;
            of_hosts.push((host, mtu, text));
        }
    }
    // Of as many, the one that nobody has to write is the usual one.
    let most = counts.iter().max_by_key(|(mtu, count)| (**count, **mtu == USUAL_MTU));
    let Some(usual) = most.map(|(mtu, _)| *mtu) else { return Vec::new() };
    let odd = of_hosts.into_iter().filter(|(_, mtu, _)| *mtu != usual);
    odd.map(|(host, mtu, text)| {
        host.at(format!("{} has {mtu}, others have {usual}", host.id.name), text)
    })
    .collect()
}

/// Addresses of a machine network whose prefix is of another length than the network's.
fn prefixes(hosts: &[Machine<'_>], nets: &Nets) -> Vec<Found> {
    let mut found = Vec::new();
    for host in hosts {
        for own in host.net().into_iter().flat_map(|net| net.addresses()) {
            if let (Some(network), Some(prefix)) = (nets.machine_of(own.ip), own.prefix)
                && prefix != network.prefix()
            {
                let said =
                    format!("{} has {}/{prefix}, the network is {network}", host.id.name, own.ip);
                found.push(host.at(said, &own.at));
            }
        }
    }
    found
}

/// `/dev/sda` is the disk that answered first.
fn disks_by_letter(hosts: &[Machine<'_>]) -> Vec<Found> {
    let is_letter = |name: &str| {
        let disk = name.strip_prefix("/dev/").unwrap_or_default();
        ["sd", "vd", "hd", "nvme"].iter().any(|kind| disk.starts_with(kind))
    };
    let hinted = hosts.iter().filter_map(|host| Some((host, host.hints()?)));
    let named = hinted.filter(|(_, (hints, ..))| is_letter(hints.device_name.as_str()));
    named
        .map(|(host, (hints, file, path))| Found {
            said: format!("{} ({})", host.id.name, hints.device_name.value),
            file,
            path: format!("{path}.rootDeviceHints.deviceName"),
            at: hints.device_name.place,
            value: Some(hints.device_name.value.clone()),
        })
        .collect()
}

fn small_disks(hosts: &[Machine<'_>]) -> Vec<Found> {
    let hinted = hosts.iter().filter_map(|host| Some((host, host.hints()?)));
    hinted
        .filter_map(|(host, (hints, file, path))| {
            let least = hints.min_size_gigabytes.as_ref().filter(|size| size.value < LEAST_DISK)?;
            Some(Found {
                said: format!("{} ({} GB)", host.id.name, least.value),
                file,
                path: format!("{path}.rootDeviceHints.minSizeGigabytes"),
                at: least.place,
                value: Some(least.value.to_string()),
            })
        })
        .collect()
}

/// Host, channel, target and LUN.
fn odd_hctls(hosts: &[Machine<'_>]) -> Vec<Found> {
    let is_odd = |text: &str| {
        let parts: Vec<&str> = text.split(':').collect();
        !text.is_empty()
            && (parts.len() != 4 || parts.iter().any(|part| part.parse::<u64>().is_err()))
    };
    let hinted = hosts.iter().filter_map(|host| Some((host, host.hints()?)));
    hinted
        .filter(|(_, (hints, ..))| is_odd(hints.hctl.as_str()))
        .map(|(host, (hints, file, path))| Found {
            said: format!("{} ({})", host.id.name, hints.hctl.value),
            file,
            path: format!("{path}.rootDeviceHints.hctl"),
            at: hints.hctl.place,
            value: Some(hints.hctl.value.clone()),
        })
        .collect()
}

/// The kernel writes a WWN as `0x5000c500a0b1c2d3`; labels on disks have pairs.
fn odd_wwns(hosts: &[Machine<'_>]) -> Vec<Found> {
    let is_odd = |text: &str| {
        let pairs = text.split([':', '-']).collect::<Vec<_>>();
        let hex = |part: &&str| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit());
        let bare = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        text.contains(' ') || bare || (pairs.len() >= 8 && pairs.iter().all(hex))
    };
    let hinted = hosts.iter().filter_map(|host| Some((host, host.hints()?)));
    hinted
        .filter(|(_, (hints, ..))| is_odd(hints.wwn.as_str()))
        .map(|(host, (hints, file, path))| Found {
            said: format!("{} ({})", host.id.name, hints.wwn.value),
            file,
            path: format!("{path}.rootDeviceHints.wwn"),
            at: hints.wwn.place,
            value: Some(hints.wwn.value.clone()),
        })
        .collect()
}
