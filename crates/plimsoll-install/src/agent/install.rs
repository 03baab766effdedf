//! What the agent asks of install-config.yaml.

use crate::agent::unused;
use crate::check::Context;
use crate::place::Place;
use crate::provision;
use crate::refusal::Bad;
use crate::release::Release;

/// Until 4.18 the agent spells its paths as Go names its fields.
pub(super) fn spelt(release: Release, new: &'static str, old: &'static str) -> &'static str {
    if release >= Release::V4_19 { new } else { old }
}

pub(crate) fn check(context: &mut Context<'_>) {
    check_platform(context);
    check_architectures(context);
    let set = &context.config.feature_set;
    let release = context.release;
    if (Release::V4_15..=Release::V4_19).contains(&release) && !set.is_empty() {
        let path = spelt(release, "featureSet", "FeatureSet");
        let bad = Bad::text(set.as_str());
        context.out.not_supported("agent-feature-set", path, set.place, bad, &[""]);
    }
    unused::warn(context);
    check_control_plane(context);
    check_single_node(context);
}

fn check_platform(context: &mut Context<'_>) {
    let config = context.config;
    let release = context.release;
    let name = config.platform.name();
    let place = config.platform.place;
    let path = spelt(release, "platform", "Platform");
    let supported: &[&str] = if release >= Release::V4_19 {
        &["baremetal", "vsphere", "nutanix", "none", "external"]
    } else {
        &["baremetal", "vsphere", "none", "external"]
    };
    if !name.is_empty() && !supported.contains(&name) {
        context.out.not_supported(
            "agent-platform-unknown",
            path,
            place,
            Bad::text(name),
            supported,
        );
    }
    let architecture = &config.control_plane.architecture;
    let only_none = matches!(architecture.as_str(), "ppc64le" | "s390x");
    if release >= Release::V4_15 && only_none && name != "none" {
        let text =
            format!("CPU architecture \"{}\" only supports platform \"none\".", architecture.value);
        context.out.invalid("agent-architecture-needs-none", path, place, Bad::text(name), text);
    }
    if name == "external" {
        check_external(context);
    }
    if name == "baremetal" && release >= Release::V4_15 {
        check_bmcs(context);
    }
}

fn check_external(context: &mut Context<'_>) {
    let release = context.release;
    let Some(external) = &context.config.platform.external else { return };
    let platform = &external.platform_name;
    if release <= Release::V4_14 && platform.value != "oci" {
        let path = "Platform.External.PlatformName";
        let bad = Bad::text(platform.as_str());
        context.out.not_supported("agent-external-platform", path, platform.place, bad, &["oci"]);
    }
    let manager = &external.cloud_controller_manager;
    if platform.value == "oci" && manager.value != "External" {
        let path = spelt(
            release,
            "platform.external.cloudControllerManager",
            "Platform.External.CloudControllerManager",
        );
        let text = format!("When using external oci platform, {path} must be set to External");
        let bad = Bad::text(manager.as_str());
        context.out.invalid("agent-oci-cloud-controller", path, manager.place, bad, text);
    }
}

/// A host with a BMC is provisioned later, so its network must be right.
fn check_bmcs(context: &mut Context<'_>) {
    let config = context.config;
    let Some(baremetal) = &config.platform.baremetal else { return };
    if baremetal.hosts.iter().any(|host| !host.bmc.address.is_empty()) {
        let path = spelt(context.release, "platform.baremetal", "Platform.BareMetal");
        provision::check_networking(
            baremetal,
            &config.networking,
            path,
            context.release,
            context.out,
        );
    }
}

fn check_architectures(context: &mut Context<'_>) {
    let release = context.release;
    let config = context.config;
    let supported: &[&str] = if release >= Release::V4_15 {
        &["amd64", "arm64", "ppc64le", "s390x"]
    } else {
        &["amd64", "arm64"]
    };
    let mut check = |path: String, value: &str, place: Place| {
        if !supported.contains(&value) {
            let bad = Bad::text(value);
            context.out.not_supported("agent-architecture-unknown", path, place, bad, supported);
        }
    };
    let control = &config.control_plane.architecture;
    let path = spelt(release, "controlPlane.architecture", "ControlPlane.Architecture");
    check(path.into(), control.as_str(), control.place);
    for (i, pool) in config.compute.iter().enumerate() {
        let architecture = &pool.architecture;
        let path = match release >= Release::V4_19 {
            true => format!("compute[{i}].architecture"),
            false => format!("Compute[{i}].Architecture"),
        };
        check(path, architecture.as_str(), architecture.place);
    }
    if release >= Release::V4_16 {
        let why = "whether the release image has the architecture of the control plane";
        context.not_checked.push(("release-architecture", why.into()));
    }
}

fn check_control_plane(context: &mut Context<'_>) {
    let release = context.release;
    let config = context.config;
    let replicas = &config.control_plane.replicas;
    let found = replicas.value;
    let allowed = match release {
        Release::V4_14 | Release::V4_15 | Release::V4_16 | Release::V4_17 => matches!(found, 1 | 3),
        _ => {
            matches!(found, 1 | 3 | 4 | 5)
                || (release >= Release::V4_19 && found == 2 && config.arbiter.is_some())
        }
    };
    if allowed {
        return;
    }
    let path = spelt(release, "controlPlane.replicas", "ControlPlane.Replicas");
    let bad = Bad::plain(found);
    if release >= Release::V4_19 {
        let mut supported = vec!["3", "1", "4", "5"];
        if crate::check::gate_is_on(config, release, "HighlyAvailableArbiter") {
            supported.push("2");
        }
        context.out.not_supported(
            "agent-control-plane-size",
            path,
            replicas.place,
            bad,
            &supported,
        );
        return;
    }
    let sizes = if release >= Release::V4_18 { "5, 4, 3, or 1" } else { "3 or 1" };
    let text = format!("ControlPlane.Replicas can only be set to {sizes}. Found {found}");
    context.out.invalid("agent-control-plane-size", path, replicas.place, bad, text);
}

fn check_single_node(context: &mut Context<'_>) {
    let release = context.release;
    let config = context.config;
    if config.control_plane.replicas.value != 1 {
        return;
    }
    let workers = config.compute_replicas();
    let platform = config.platform.name();
    let own = matches!(platform, "none" | "external");
    if workers == 0 {
        let kind = &config.networking.network_type;
        if own && kind.value != "OVNKubernetes" {
            let path = spelt(release, "networking.networkType", "Networking.NetworkType");
            let text = "Only OVNKubernetes network type is allowed for Single Node OpenShift (SNO) \
                        cluster";
            let bad = Bad::text(kind.as_str());
            context.out.invalid("agent-single-node-network", path, kind.place, bad, text);
        }
        if !own {
            let path = spelt(release, "platform", "Platform");
            let text =
                "Only platform none and external supports 1 ControlPlane and 0 Compute nodes";
            let place = config.platform.place;
            context.out.invalid(
                "agent-single-node-platform",
                path,
                place,
                Bad::text(platform),
                text,
            );
        }
    } else {
        let place = config.compute.first().map_or(Place::START, |pool| pool.replicas.place);
        let rule = "agent-single-node-with-workers";
        if release >= Release::V4_19 {
            let text = format!(
                "Total number of compute replicas must be 0 when controlPlane.replicas is 1 for \
                 platform none or external. Found {workers}"
            );
            context.out.forbidden(rule, "compute.replicas", place, text);
        } else {
            let text = format!(
                "Total number of Compute.Replicas must be 0 when ControlPlane.Replicas is 1 for \
                 platform none or external. Found {workers}"
            );
            context.out.required(rule, "Compute.Replicas", place, text);
        }
    }
    if release >= Release::V4_20
        && let Some(arbiter) = config.arbiter.as_ref().filter(|pool| pool.replicas.value > 0)
    {
        let text = format!(
            "Total number of arbiter replicas must be 0 when controlPlane.replicas is 1 for Single \
             Node Openshift (SNO) cluster. Found {}",
            arbiter.replicas.value
        );
        let place = arbiter.replicas.place;
        context.out.forbidden("agent-single-node-with-arbiter", "arbiter.replicas", place, text);
    }
}
