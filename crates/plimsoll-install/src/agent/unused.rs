//! Warnings about settings that the agent ignores.

use crate::agent::install::spelt;
use crate::check::Context;
use crate::config::{Baremetal, Host};
use crate::place::Place;
use crate::refusal::Collector;
use crate::release::Release;

const RULE: &str = "setting-ignored";

pub(super) fn warn(context: &mut Context<'_>) {
    let config = context.config;
    let release = context.release;
    let out = &mut *context.out;
    let new = release >= Release::V4_19;
    let policy = &config.trust_bundle_policy;
    if release <= Release::V4_17 && policy.value != "Proxyonly" {
        ignored(out, "AdditionalTrustBundlePolicy", policy.as_str(), policy.place);
    }
    for (i, pool) in config.compute.iter().enumerate() {
        let path = if new { format!("compute[{i}]") } else { format!("Compute[{i}]") };
        let threads = &pool.hyperthreading;
        if threads.value != "Enabled" {
            let path = format!("{path}.{}", spelt(release, "hyperthreading", "Hyperthreading"));
            ignored(out, &path, threads.as_str(), threads.place);
        }
        if let Some((_, place)) = pool.platforms.first() {
            all_ignored(out, &format!("{path}.{}", spelt(release, "platform", "Platform")), *place);
        }
    }
    let control = &config.control_plane;
    let threads = &control.hyperthreading;
    if threads.value != "Enabled" {
        let path = spelt(release, "controlPlane.hyperthreading", "ControlPlane.Hyperthreading");
        ignored(out, path, threads.as_str(), threads.place);
    }
    if let Some((_, place)) = control.platforms.first() {
        all_ignored(out, spelt(release, "controlPlane.platform", "ControlPlane.Platform"), *place);
    }
    if config.platform.name() == "baremetal"
        && let Some(baremetal) = &config.platform.baremetal
    {
        warn_baremetal(baremetal, release, out);
    }
    if config.publish.value != "External" {
        let publish = &config.publish;
        ignored(out, spelt(release, "publish", "Publish"), publish.as_str(), publish.place);
    }
    let mode = &config.credentials_mode;
    if !mode.is_empty() {
        ignored(
            out,
            spelt(release, "credentialsMode", "CredentialsMode"),
            mode.as_str(),
            mode.place,
        );
    }
    if let Some(disk) = config.bootstrap_in_place_disk.as_ref().filter(|disk| !disk.is_empty()) {
        let old = "BootstrapInPlace.InstallationDisk";
        let path = spelt(release, "bootstrapInPlace.installationDisk", old);
        ignored(out, path, disk.as_str(), disk.place);
    }
}

fn ignored(out: &mut Collector, path: &str, value: &str, place: Place) {
    out.warn(RULE, path, place, format!("{path}: {value} is ignored"));
}

fn all_ignored(out: &mut Collector, path: &str, place: Place) {
    out.warn(RULE, path, place, format!("{path} is ignored"));
}

fn warn_baremetal(baremetal: &Baremetal, release: Release, out: &mut Collector) {
    let path = spelt(release, "platform.baremetal", "Platform.Baremetal");
    let of = |new: &'static str, old: &'static str| format!("{path}.{}", spelt(release, new, old));
    for (new, old, text, default) in [
        ("externalBridge", "ExternalBridge", &baremetal.external_bridge, "baremetal"),
        (
            "provisioningBridge",
            "ProvisioningBridge",
            &baremetal.provisioning_bridge,
            "provisioning",
        ),
    ] {
        if text.value != default {
            ignored(out, &of(new, old), text.as_str(), text.place);
        }
    }
    if release <= Release::V4_14 {
        warn_baremetal_4_14(baremetal, out);
    }
    for (i, host) in baremetal.hosts.iter().enumerate() {
        let list = of("hosts", "Hosts");
        if release <= Release::V4_14 {
            warn_host_4_14(&format!("{list}[{i}]"), host, out);
        }
        if host.boot_mode.value != "UEFI" {
            let path = format!("{list}[{i}].{}", spelt(release, "bootMode", "BootMode"));
            ignored(out, &path, host.boot_mode.as_str(), host.boot_mode.place);
        }
    }
    if let Some(place) = baremetal.default_machine_platform {
        ignored(out, &of("defaultMachinePlatform", "DefaultMachinePlatform"), "&{}", place);
    }
}

/// 4.14 took no hosts from install-config.yaml, and said so of every single setting.
fn warn_baremetal_4_14(baremetal: &Baremetal, out: &mut Collector) {
    let cidr = baremetal.provisioning_cidr.as_ref();
    let shown = cidr.map_or(String::new(), |cidr| cidr.value.to_string());
    let cidr_place = cidr.map_or(baremetal.place, |cidr| cidr.place);
    if shown != "172.22.0.0/24" {
        ignored(out, "Platform.Baremetal.ProvisioningNetworkCIDR", &shown, cidr_place);
    }
    for (name, text, default) in [
        ("ClusterProvisioningIP", &baremetal.cluster_provisioning_ip, "172.22.0.3"),
        ("ProvisioningHostIP", &baremetal.deprecated.provisioning_host_ip, ""),
        ("ProvisioningNetwork", &baremetal.provisioning_network, "Managed"),
        ("ProvisioningNetworkInterface", &baremetal.provisioning_interface, ""),
        ("ProvisioningDHCPRange", &baremetal.provisioning_dhcp_range, "172.22.0.10,172.22.0.254"),
    ] {
        if text.value != default {
            ignored(out, &format!("Platform.Baremetal.{name}"), text.as_str(), text.place);
        }
    }
    let external = &baremetal.deprecated.provisioning_dhcp_external;
    if external.value {
        ignored(out, "Platform.Baremetal.ProvisioningDHCPExternal", "true", external.place);
    }
}

fn warn_host_4_14(path: &str, host: &Host, out: &mut Collector) {
    let bmc = &host.bmc;
    for (name, text) in [
        ("Name", &host.name),
        ("BMC.Username", &bmc.username),
        ("BMC.Address", &bmc.address),
        ("Role", &host.role),
        ("BootMACAddress", &host.boot_mac),
    ] {
        if !text.is_empty() {
            ignored(out, &format!("{path}.{name}"), text.as_str(), text.place);
        }
    }
    if bmc.has_password.value {
        all_ignored(out, &format!("{path}.BMC.Password"), bmc.has_password.place);
    }
    let unverified = &bmc.disable_certificate_verification;
    if unverified.value {
        let path = format!("{path}.BMC.DisableCertificateVerification");
        ignored(out, &path, "true", unverified.place);
    }
    let profile = &host.hardware_profile;
    ignored(out, &format!("{path}.HardwareProfile"), profile.as_str(), profile.place);
    if let Some(hints) = &host.root_device_hints {
        all_ignored(out, &format!("{path}.RootDeviceHints"), hints.place);
    }
    if host.network_config.is_some() {
        // The installer prints the bytes of it.
        ignored(out, &format!("{path}.NetworkConfig"), "&JSON{…}", host.network_config_place);
    }
}
