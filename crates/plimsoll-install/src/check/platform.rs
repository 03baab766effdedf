//! Which platform it is, and what bare metal asks of every target.

use crate::check::{Context, Crash, capabilities, hosts};
use crate::config::Baremetal;
use crate::go::address::parse_ip;
use crate::go::text::quote;
use crate::place::Placed;
use crate::refusal::Bad;
use crate::release::{Method, Release};

pub(crate) fn check(context: &mut Context<'_>) {
    let platform = &context.config.platform;
    let active = platform.name();
    let known = known_platforms(context.release);
    if !known.contains(&active) {
        let text = format!("must specify one of the platforms ({})", known.join(", "));
        let rule = if active.is_empty() { "platform-missing" } else { "platform-not-offered" };
        context.out.invalid(rule, "platform", platform.place, Bad::text(active), text);
    }
    for (name, place) in &platform.present {
        // Nothing is validated for these two, so nobody notices that they stand beside another.
        if *name != active && !matches!(*name, "none" | "external") {
            let text = format!(
                "must only specify a single type of platform; cannot use both {} and {}",
                quote(active),
                quote(name)
            );
            context.out.invalid("platforms-too-many", "platform", *place, Bad::text(active), text);
        }
        if !matches!(*name, "none" | "external" | "baremetal") {
            let why = format!("the settings of platform {name} are not followed here");
            context.not_checked.push(("platform-not-followed", why));
        }
    }
    if let Some(baremetal) = &platform.baremetal {
        check_baremetal(baremetal, context);
    }
}

/// A host without content is met when defaults are set.
pub(crate) fn crash_of_empty_host(context: &Context<'_>) -> Result<(), Crash> {
    let platform = &context.config.platform;
    let hosts = platform.baremetal.iter().flat_map(|baremetal| &baremetal.hosts);
    match hosts.into_iter().find(|host| host.is_null) {
        Some(host) if platform.name() == "baremetal" => {
            Err(Crash::at("host-empty", "platform.baremetal.hosts", host.place))
        }
        _ => Ok(()),
    }
}

/// In the order of the alphabet.
fn known_platforms(release: Release) -> &'static [&'static str] {
    let all = &[
        "alibabacloud",
        "aws",
        "azure",
        "baremetal",
        "external",
        "gcp",
        "ibmcloud",
        "none",
        "nutanix",
        "openstack",
        "powervs",
        "vsphere",
    ];
    if release <= Release::V4_15 { all } else { &all[1..] }
}

fn check_baremetal(baremetal: &Baremetal, context: &mut Context<'_>) {
    let network = &baremetal.provisioning_network;
    if !matches!(network.as_str(), "Managed" | "Unmanaged" | "Disabled") {
        context.out.not_supported(
            "provisioning-network-unknown",
            "platform.baremetal.provisioningNetwork",
            network.place,
            Bad::text(network.as_str()),
            &["Disabled", "Managed", "Unmanaged"],
        );
    }
    check_address("bootstrapProvisioningIP", &baremetal.bootstrap_provisioning_ip, context);
    check_address("clusterProvisioningIP", &baremetal.cluster_provisioning_ip, context);
    let manages_machines = context.release <= Release::V4_16
        || capabilities::is_enabled(context.config, context.release, "MachineAPI");
    if context.method == Method::Ipi && manages_machines {
        if !baremetal.hosts_written {
            let path = "platform.baremetal.hosts";
            let bad = Bad::plain("[]*baremetal.Host(nil)");
            let place = baremetal.hosts_place;
            context.out.invalid("hosts-missing", path, place, bad, "bare metal hosts are missing");
        }
        hosts::check(baremetal, "platform.baremetal", context);
    }
    check_load_balancer(baremetal, context);
}

fn check_address(name: &str, ip: &Placed<String>, context: &mut Context<'_>) {
    if !ip.is_empty() && parse_ip(ip.as_str()).is_none() {
        let path = format!("platform.baremetal.{name}");
        let text = format!("{} is not a valid IP", quote(ip.as_str()));
        let bad = Bad::text(ip.as_str());
        context.out.invalid("provisioning-ip-not-an-address", path, ip.place, bad, text);
    }
}

fn check_load_balancer(baremetal: &Baremetal, context: &mut Context<'_>) {
    let Some(kind) = &baremetal.load_balancer_type else { return };
    let gated = context.release <= Release::V4_15;
    if gated && context.config.feature_set.value != "TechPreviewNoUpgrade" {
        let text = "load balancer is not supported in this feature set";
        let path = "platform.baremetal.loadBalancer";
        context.out.forbidden("load-balancer-gated", path, baremetal.load_balancer_place, text);
    }
    if !matches!(kind.as_str(), "OpenShiftManagedDefault" | "UserManaged") {
        let path = "platform.baremetal.loadBalancer.type";
        let bad = Bad::text(kind.as_str());
        let text = "invalid load balancer type";
        context.out.invalid("load-balancer-type-unknown", path, kind.place, bad, text);
    }
}
