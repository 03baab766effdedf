//! IPv4, IPv6 and dual stack: which the lists of networks hold, and what the platform allows.

use crate::check::Context;
use crate::config::Networking;
use crate::go::address::{Network, joined};
use crate::place::Place;
use crate::refusal::Bad;
use crate::release::Release;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    V4,
    V6,
}

/// Which families the lists hold. The service networks decide what the user wants.
pub(crate) struct Families {
    pub v4: bool,
    pub v6: bool,
    /// Per list: name, networks, place, first family.
    pub lists: Vec<(&'static str, Vec<Network>, Place, Family)>,
}

impl Families {
    pub fn of(networking: &Networking) -> Self {
        let lists = [
            (
                "clusterNetwork",
                networking.cluster.iter().map(|network| network.cidr.value).collect::<Vec<_>>(),
                networking.cluster_place,
            ),
            (
                "machineNetwork",
                networking.machine_networks().copied().collect(),
                networking.machine_place,
            ),
            (
                "serviceNetwork",
                networking.service.iter().map(|network| network.value).collect(),
                networking.service_place,
            ),
        ];
        let family = |network: &Network| if network.is_ipv4() { Family::V4 } else { Family::V6 };
        let lists: Vec<_> = lists
            .into_iter()
            .filter_map(|(name, networks, place)| {
                let first = family(networks.first()?);
                Some((name, networks, place, first))
            })
            .collect();
        let has = |wanted: Family| {
            lists.iter().any(|(name, networks, ..)| {
                *name == "serviceNetwork" && networks.iter().any(|n| family(n) == wanted)
            })
        };
        Self { v4: has(Family::V4), v6: has(Family::V6), lists }
    }

    pub fn dual(&self) -> bool {
        self.v4 && self.v6
    }

    pub fn machine_primary(&self) -> Option<Family> {
        self.lists.iter().find(|(name, ..)| *name == "machineNetwork").map(|list| list.3)
    }
}

pub(crate) fn check(context: &mut Context<'_>) {
    let networking = &context.config.networking;
    let families = Families::of(networking);
    if families.dual() {
        check_dual_stack(&families, context);
    } else if families.v6 {
        let platform = context.config.platform.name();
        let sdn = networking.network_type.value == "OpenShiftSDN";
        if sdn && context.release <= Release::V4_14 {
            let kind = &networking.network_type;
            let text = "IPv6 is not supported for this networking plugin";
            let bad = Bad::text(kind.as_str());
            context.out.invalid("ipv6-with-sdn", "networking.networkType", kind.place, bad, text);
        }
        let on_premises =
            ["baremetal", "none", "external", "vsphere", "openstack", "ovirt", "nutanix"];
        if !on_premises.contains(&platform) {
            let text = "single-stack IPv6 is not supported for this platform";
            let place = networking.place;
            context.out.invalid(
                "ipv6-not-on-platform",
                "networking",
                place,
                Bad::text("IPv6"),
                text,
            );
        }
    } else if families.v4 && networking.service.len() > 1 {
        let text = "only one service network can be specified";
        let bad = Bad::text(&joined(networking.service.iter().map(|n| &n.value), ", "));
        let place = networking.service_place;
        context.out.invalid(
            "service-networks-too-many",
            "networking.serviceNetwork",
            place,
            bad,
            text,
        );
    }
}

fn check_dual_stack(families: &Families, context: &mut Context<'_>) {
    let networking = &context.config.networking;
    let platform = &context.config.platform;
    if networking.network_type.value == "OpenShiftSDN" && context.release <= Release::V4_14 {
        let kind = &networking.network_type;
        let text = "dual-stack IPv4/IPv6 is not supported for this networking plugin";
        let bad = Bad::text(kind.as_str());
        context.out.invalid("ipv6-with-sdn", "networking.networkType", kind.place, bad, text);
    }
    if networking.service.len() != 2 {
        let text = "when installing dual-stack IPv4/IPv6 you must provide two service networks, \
                    one for each IP address type";
        let bad = Bad::text(&joined(networking.service.iter().map(|n| &n.value), ", "));
        let place = networking.service_place;
        context.out.invalid(
            "dual-stack-service-networks",
            "networking.serviceNetwork",
            place,
            bad,
            text,
        );
    }
    let v6_first_allowed = match () {
        () if platform.has("baremetal") || platform.has("vsphere") => true,
        () if platform.has("openstack") => context.release >= Release::V4_15,
        () if platform.has("none") || platform.has("external") => context.release >= Release::V4_19,
        () => false,
    };
    if !["baremetal", "vsphere", "openstack", "ovirt", "nutanix", "none", "external"]
        .iter()
        .any(|name| platform.has(name))
    {
        let text = "dual-stack IPv4/IPv6 is not supported for this platform, specify only one type \
                    of address";
        let bad = Bad::text("DualStack");
        context.out.invalid(
            "dual-stack-not-on-platform",
            "networking",
            networking.place,
            bad,
            text,
        );
    }
    for (name, networks, place, first) in &families.lists {
        let path = format!("networking.{name}");
        let v4 = networks.iter().any(Network::is_ipv4);
        let v6 = networks.iter().any(|network| !network.is_ipv4());
        let bad = || Bad::text(&joined(networks.iter(), ", "));
        if !(v4 && v6) {
            let missing = if v4 { "IPv6" } else { "IPv4" };
            let text = format!("dual-stack IPv4/IPv6 requires an {missing} network in this list");
            context.out.invalid("dual-stack-family-missing", path, *place, bad(), text);
        } else if !v6_first_allowed && *first != Family::V4 {
            let text = "IPv4 addresses must be listed before IPv6 addresses";
            context.out.invalid("dual-stack-ipv6-first", path, *place, bad(), text);
        }
    }
}
