//! The networks that OVN-Kubernetes keeps for itself.

use crate::check::networking::address_fault;
use crate::check::{Context, Crash};
use crate::config::Networking;
use crate::go::address::Network;
use crate::place::Placed;
use crate::refusal::{Bad, Collector, ErrorType, Finding};

struct Reserved {
    name: &'static str,
    network: Network,
}

const V4: [Reserved; 3] = [
    Reserved { name: "internal", network: Network::v4(100, 64, 0, 0, 16) },
    Reserved { name: "transit", network: Network::v4(100, 88, 0, 0, 16) },
    Reserved { name: "masquerade", network: Network::v4(169, 254, 0, 0, 17) },
];
const V6: [Reserved; 3] = [
    Reserved { name: "internal", network: Network::v6([0xfd98, 0, 0, 0, 0, 0, 0, 0], 64) },
    Reserved { name: "transit", network: Network::v6([0xfd97, 0, 0, 0, 0, 0, 0, 0], 64) },
    Reserved { name: "masquerade", network: Network::v6([0xfd69, 0, 0, 0, 0, 0, 0, 0], 112) },
];

/// Since 4.19: no network may overlap what OVN-Kubernetes uses unless told otherwise.
pub(crate) fn check_defaults(
    networking: &Networking,
    network: &Placed<Network>,
    path: &str,
    out: &mut Collector,
) {
    if !networking.network_type.value.eq_ignore_ascii_case("OVNKubernetes") {
        return;
    }
    let own_join = networking.ovn.as_ref().is_some_and(|ovn| ovn.join_subnet.is_some());
    let reserved = if network.value.is_ipv4() { &V4 } else { &V6 };
    for Reserved { name, network: taken } in reserved {
        let replaced = own_join && *name == "internal" && network.value.is_ipv4();
        if !replaced && network.value.overlaps(taken) {
            let text = format!("must not overlap with OVNKubernetes default {name} subnet {taken}");
            let bad = Bad::text(&network.value.to_string());
            out.invalid("network-overlaps-ovn", path, network.place, bad, text);
        }
    }
}

/// `networking.ovnKubernetesConfig`, which the schema knows since 4.18.
pub(crate) fn check_config(context: &mut Context<'_>) -> Result<(), Crash> {
    let networking = &context.config.networking;
    let Some(ovn) = &networking.ovn else { return Ok(()) };
    let kind = &networking.network_type;
    if !kind.value.eq_ignore_ascii_case("OVNKubernetes") {
        let text = "ovnKubernetesConfig may only be specified with the OVNKubernetes networkType";
        let bad = Bad::text(kind.as_str());
        context.out.invalid(
            "ovn-config-without-ovn",
            "networking.networkType",
            kind.place,
            bad,
            text,
        );
    }
    match &ovn.join_subnet {
        Some(join) => check_join_subnet(networking, join, context.out),
        None => Ok(()),
    }
}

const JOIN_SUBNET: &str = "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet";

fn check_join_subnet(
    networking: &Networking,
    join: &Placed<Network>,
    out: &mut Collector,
) -> Result<(), Crash> {
    let path = JOIN_SUBNET;
    let shown = join.value.to_string();
    let mut refuse = |rule: &'static str, text: String| {
        out.invalid(rule, path, join.place, Bad::text(&shown), text);
    };
    if let Some(fault) = address_fault(&join.value) {
        refuse("join-subnet-not-aligned", fault);
        return Ok(());
    }
    let cluster = networking.cluster.iter().map(|network| ("clusterNetwork", network.cidr.value));
    let machine = networking.machine_networks().map(|network| ("machineNetwork", *network));
    let service = networking.service.iter().map(|network| ("serviceNetwork", network.value));
    for (name, network) in cluster.chain(machine).chain(service) {
        if join.value.overlaps(&network) {
            refuse("join-subnet-overlaps", format!("must not overlap with {name} {network}"));
        }
    }
    match nodes_of(networking) {
        Ok(nodes) => {
            let (size, _) = join.value.mask();
            // The installer shifts by the bits that are left of 32, be they less than none.
            let Some(host_bits) = 32u32.checked_sub(u32::from(size)) else {
                let text = "runtime error: negative shift amount";
                let rule = "join-subnet-not-ipv4";
                return Err(Crash { rule, path: JOIN_SUBNET, place: join.place, text });
            };
            // One address a node, and three that no node gets.
            if nodes >= (1i128 << host_bits) - 3 {
                let text = "ipv4InternalJoinSubnet is not large enough for the maximum number of \
                            nodes which can be supported by ClusterNetwork";
                refuse("join-subnet-too-small", text.into());
            }
        }
        Err(i) => out.refuse(Finding {
            rule: "join-subnet-not-judged",
            path: path.into(),
            place: join.place,
            kind: ErrorType::Internal,
            bad: Bad::Nothing,
            detail: format!(
                "cannot determine the number of nodes supported by cluster network {i} due to \
                 invalid hostPrefix"
            ),
        }),
    }
    Ok(())
}

/// How many nodes the cluster networks have room for, or which of them has no usable prefix.
fn nodes_of(networking: &Networking) -> Result<i128, usize> {
    let mut nodes = 0i128;
    for (i, network) in networking.cluster.iter().enumerate() {
        let is_v6 = network.cidr.value.address().is_some() && !network.cidr.value.is_ipv4();
        if is_v6 {
            continue;
        }
        let (size, _) = network.cidr.value.mask();
        let bits = network.host_prefix.value - i64::from(size);
        if bits < 0 {
            return Err(i);
        }
        // Go shifts a 64-bit number; what is shifted out is gone.
        let shifted = u32::try_from(bits).ok().and_then(|bits| 1u64.checked_shl(bits)).unwrap_or(0);
        nodes += i128::from(shifted as i64);
    }
    Ok(nodes)
}
