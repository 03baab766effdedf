//! Virtual addresses of the API and of ingress on bare metal.

use std::net::IpAddr;

use crate::check::Context;
use crate::check::families::{Families, Family};
use crate::config::{Baremetal, Networking};
use crate::go::address::{joined, parse_ip, parse_ip_sloppy};
use crate::go::text::{quote, string_list};
use crate::place::{Place, Placed};
use crate::refusal::{Bad, Collector, ErrorType, Finding};
use crate::release::Release;

struct Side<'c> {
    /// `API` or `Ingress`.
    name: &'static str,
    path: &'static str,
    vips: &'c [Placed<String>],
    place: Place,
    missing: &'static str,
    missing_beside_other: &'static str,
}

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let Some(baremetal) = &config.platform.baremetal else { return };
    let (api, ingress) = sides(baremetal);
    let deprecated = &baremetal.deprecated;
    for (side, host, old) in
        [(&api, "api", &deprecated.api_vip), (&ingress, "test.apps", &deprecated.ingress_vip)]
    {
        if side.vips.is_empty() && old.is_empty() {
            let why = format!(
                "without {} the installer asks the DNS for {host}.{}",
                side.path,
                config.cluster_domain()
            );
            context.not_checked.push(("vip-from-dns", why));
        }
    }
    let families = Families::of(&config.networking);
    // Before 4.15 the installer did not know that a user may balance the load.
    let user_managed = baremetal.is_user_managed() && context.release >= Release::V4_15;
    let judge = Judge {
        networking: &config.networking,
        families: &families,
        user_managed,
        release: context.release,
        both: baremetal,
    };
    judge.side(&api, &ingress, context.out);
    judge.side(&ingress, &api, context.out);
}

fn sides(baremetal: &Baremetal) -> (Side<'_>, Side<'_>) {
    let api = Side {
        name: "API",
        path: "platform.baremetal.apiVIPs",
        vips: &baremetal.api_vips,
        place: baremetal.api_vips_place,
        missing: "must specify at least one VIP for the API",
        missing_beside_other: "must specify VIP for API, when VIP for ingress is set",
    };
    let ingress = Side {
        name: "Ingress",
        path: "platform.baremetal.ingressVIPs",
        vips: &baremetal.ingress_vips,
        place: baremetal.ingress_vips_place,
        missing: "must specify at least one VIP for the Ingress",
        missing_beside_other: "must specify VIP for ingress, when VIP for API is set",
    };
    (api, ingress)
}

struct Judge<'c> {
    networking: &'c Networking,
    families: &'c Families,
    user_managed: bool,
    release: Release,
    both: &'c Baremetal,
}

impl Judge<'_> {
    fn side(&self, side: &Side<'_>, other: &Side<'_>, out: &mut Collector) {
        match side.vips.len() {
            0 => out.required("vip-missing", side.path, side.place, side.missing),
            1 | 2 => {
                for vip in side.vips {
                    self.vip(side, other, vip, out);
                }
                if other.vips.is_empty() {
                    let text = other.missing_beside_other;
                    out.required("vip-missing", other.path, other.place, text);
                }
                self.primary_family(side, out);
                self.both_families(side, out);
            }
            count => out.refuse(Finding {
                rule: "vips-too-many",
                path: side.path.into(),
                place: side.place,
                kind: ErrorType::TooMany,
                bad: Bad::plain(count),
                detail: "must have at most 2 items".into(),
            }),
        }
    }

    fn vip(&self, side: &Side<'_>, other: &Side<'_>, vip: &Placed<String>, out: &mut Collector) {
        let bad = || Bad::text(vip.as_str());
        let address = parse_ip(vip.as_str());
        if address.is_none() {
            let text = format!("{} is not a valid IP", quote(vip.as_str()));
            out.invalid("vip-not-an-address", side.path, vip.place, bad(), text);
        }
        if !self.user_managed {
            if side.name == "API" {
                for ingress in other.vips {
                    if self.same(address, parse_ip(ingress.as_str())) {
                        let text = "VIP for API must not be one of the Ingress VIPs";
                        out.invalid("vips-are-the-same", side.path, vip.place, bad(), text);
                    }
                }
            }
            if !self.networking.machine_networks().any(|network| network.contains_as_go(address)) {
                let text = not_in_machine_networks(self.networking);
                out.invalid("vip-outside-machine-network", side.path, vip.place, bad(), text);
            }
        }
        let sdn = self.networking.network_type.value == "OpenShiftSDN";
        if self.release <= Release::V4_14 && sdn && address.is_some_and(|a| a.is_ipv6()) {
            let text = "IPv6 is not supported on OpenShiftSDN";
            out.invalid("ipv6-with-sdn", side.path, vip.place, bad(), text);
        }
    }

    /// Until 4.18 two texts that are no addresses count as the same address.
    fn same(&self, a: Option<IpAddr>, b: Option<IpAddr>) -> bool {
        a == b && (a.is_some() || self.release <= Release::V4_18)
    }

    fn primary_family(&self, side: &Side<'_>, out: &mut Collector) {
        let Some(first) = side.vips.first().filter(|_| self.families.dual()) else { return };
        let v6 = parse_ip_sloppy(first.as_str()).is_some_and(|address| address.is_ipv6());
        let family = if v6 { Family::V6 } else { Family::V4 };
        let name = side.name;
        if self.release >= Release::V4_20 {
            for (list, _, _, primary) in &self.families.lists {
                if *primary != family {
                    let text = format!(
                        "{list} primary IP Family and primary IP family for the {name} VIP should \
                         match"
                    );
                    let bad = Bad::text(first.as_str());
                    out.invalid("vip-family-not-primary", side.path, first.place, bad, text);
                }
            }
        } else if side.vips.len() == 1 && self.families.machine_primary() != Some(family) {
            let text = format!(
                "VIP for the {name} must be of the same IP family with machine network's primary \
                 IP Family for dual-stack IPv4/IPv6"
            );
            let bad = Bad::text(first.as_str());
            out.invalid("vip-family-not-primary", side.path, first.place, bad, text);
        }
    }

    fn both_families(&self, side: &Side<'_>, out: &mut Collector) {
        let [first, second] = side.vips else { return };
        let addresses = [first, second].map(|vip| parse_ip_sloppy(vip.as_str()));
        let families = addresses.map(|address| address.map(|a| a.is_ipv6()));
        if families == [Some(false), Some(true)] || families == [Some(true), Some(false)] {
            return;
        }
        let wrong = addresses.iter().position(Option::is_none);
        if let Some(wrong) = wrong.filter(|_| self.release >= Release::V4_20) {
            let list = |vips: &[Placed<String>]| {
                if vips.is_empty() {
                    return "[]string(nil)".to_string();
                }
                string_list("string", vips.iter().map(|vip| vip.as_str()))
            };
            let api = list(&self.both.api_vips);
            let ingress = list(&self.both.ingress_vips);
            let bad = Bad::Plain(format!("validation.vips{{API:{api}, Ingress:{ingress}}}"));
            let vip = &side.vips[wrong];
            let text = format!("invalid IP[{wrong}]: {}", vip.value);
            out.invalid("vip-not-an-address", "platform.baremetal", vip.place, bad, text);
        }
        let name = side.name;
        let text =
            format!("If two {name} VIPs are given, one must be an IPv4 address, the other an IPv6");
        let list = string_list("string", side.vips.iter().map(|vip| vip.as_str()));
        out.invalid("vips-of-one-family", side.path, side.place, Bad::Plain(list), text);
    }
}

pub(crate) fn not_in_machine_networks(networking: &Networking) -> String {
    let networks = joined(networking.machine_networks(), ",");
    format!("IP expected to be in one of the machine networks: {networks}")
}
