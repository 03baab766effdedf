//! Deprecated fields become their successors; the first that contradicts its successor is an error.

use crate::config::{Baremetal, InstallConfig, Networking};
use crate::place::Placed;
use crate::refusal::{Bad, Collector, Stage};
use crate::release::Release;

pub(crate) fn convert(config: &mut InstallConfig, release: Release, out: &mut Collector) {
    check_version(config, out);
    // What the installer does not come to is converted all the same, for what is still ahead.
    let mut unreached = Collector::new(out.file, Stage::Convert);
    let out = if out.refusals.is_empty() { out } else { &mut unreached };
    convert_networking(&mut config.networking, release);
    if config.platform.name() == "baremetal"
        && let Some(baremetal) = &mut config.platform.baremetal
    {
        convert_baremetal(baremetal, out);
    }
}

fn check_version(config: &InstallConfig, out: &mut Collector) {
    let version = &config.api_version;
    match version.as_str() {
        "v1" | "v1beta3" | "v1beta4" => {}
        "" => {
            let text = "no version was provided";
            out.required("api-version-missing", "apiVersion", version.place, text);
        }
        other => {
            let text = format!("cannot upconvert from version {other}");
            let bad = Bad::text(other);
            out.invalid("api-version-unknown", "apiVersion", version.place, bad, text);
        }
    }
}

fn convert_networking(networking: &mut Networking, release: Release) {
    let deprecated = networking.deprecated.clone();
    if networking.cluster.is_empty() {
        networking.cluster = deprecated.cluster_networks;
    }
    if networking.machine.is_empty() {
        networking.machine.extend(deprecated.machine_cidr);
    }
    if networking.service.is_empty() {
        networking.service.extend(deprecated.service_cidr);
    }
    if networking.network_type.is_empty() {
        networking.network_type = deprecated.network_type;
    }
    let kind = &mut networking.network_type.value;
    if kind.to_lowercase() == "openshiftsdn" {
        *kind = "OpenShiftSDN".into();
    }
    if release >= Release::V4_19 && kind.eq_ignore_ascii_case("OVNKubernetes") {
        *kind = "OVNKubernetes".into();
    }
    for network in &mut networking.cluster {
        if network.host_prefix.value == 0 && network.host_subnet_length != 0 {
            let (_, bits) = network.cidr.value.mask();
            network.host_prefix.value = i64::from(bits) - network.host_subnet_length;
        }
    }
}

fn convert_baremetal(baremetal: &mut Baremetal, out: &mut Collector) {
    let deprecated = baremetal.deprecated.clone();
    if deprecated.provisioning_dhcp_external.value && baremetal.provisioning_network.is_empty() {
        let place = deprecated.provisioning_dhcp_external.place;
        baremetal.provisioning_network = Placed::written("Unmanaged".into(), place);
    }
    let old = &deprecated.provisioning_host_ip;
    if !old.is_empty() && baremetal.cluster_provisioning_ip.is_empty() {
        baremetal.cluster_provisioning_ip = old.clone();
    }
    if !old.is_empty() && old.value != baremetal.cluster_provisioning_ip.value {
        return out.invalid(
            "provisioning-host-ip-contradicts",
            "platform.baremetal.provisioningHostIP",
            old.place,
            Bad::text(old.as_str()),
            "provisioningHostIP is deprecated; only clusterProvisioningIP needs to be specified",
        );
    }
    if !convert_vip(&mut baremetal.api_vips, &deprecated.api_vip, "apiVIP", out) {
        return;
    }
    convert_vip(&mut baremetal.ingress_vips, &deprecated.ingress_vip, "ingressVIP", out);
}

fn convert_vip(
    vips: &mut Vec<Placed<String>>,
    old: &Placed<String>,
    name: &str,
    out: &mut Collector,
) -> bool {
    if old.is_empty() {
        return true;
    }
    if vips.is_empty() {
        vips.push(old.clone());
    } else if !vips.iter().any(|vip| vip.value == old.value) {
        // The installer swaps the two names: it calls the new field deprecated.
        let path = format!("platform.baremetal.{name}s");
        let text = format!("{name}s is deprecated; only {name} needs to be specified");
        let bad = Bad::text(old.as_str());
        out.invalid("vip-contradicts-deprecated-vip", path, old.place, bad, text);
        return false;
    }
    true
}
