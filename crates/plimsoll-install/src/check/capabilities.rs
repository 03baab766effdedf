//! Optional parts of OpenShift.

use std::collections::BTreeSet;

use crate::check::Context;
use crate::config::{Capabilities, InstallConfig};
use crate::go::text::{quote, string_list};
use crate::refusal::Bad;
use crate::release::Release;

/// A capability, the set of which release had it first, and the installer that knows it first.
const CAPABILITIES: &[(&str, u32)] = &[
    ("baremetal", 11),
    ("marketplace", 11),
    ("openshift-samples", 11),
    ("MachineAPI", 11),
    ("Console", 12),
    ("Insights", 12),
    ("Storage", 12),
    ("CSISnapshot", 12),
    ("NodeTuning", 13),
    ("Build", 14),
    ("DeploymentConfig", 14),
    ("ImageRegistry", 14),
    ("OperatorLifecycleManager", 15),
    ("CloudCredential", 15),
    ("Ingress", 16),
    ("CloudControllerManager", 16),
    ("OperatorLifecycleManagerV1", 18),
];

/// The newest set that an installer knows: there is none for 4.19 and 4.20.
fn newest_set(release: Release) -> u32 {
    release.minor().min(18)
}

/// The sets an installer knows, in the order of the alphabet.
fn sets(release: Release) -> Vec<String> {
    let versions = (11..=newest_set(release)).map(|minor| format!("v4.{minor}"));
    std::iter::once("None".to_string()).chain(versions).chain(["vCurrent".to_string()]).collect()
}

/// What a set holds; a name that is no set holds nothing.
fn set_members(set: &str, release: Release) -> BTreeSet<&'static str> {
    let newest = newest_set(release);
    let version = match set {
        "vCurrent" => newest,
        other => match other.strip_prefix("v4.").and_then(|minor| minor.parse().ok()) {
            Some(minor) if (11..=newest).contains(&minor) => minor,
            _ => 0,
        },
    };
    CAPABILITIES.iter().filter(|(_, since)| *since <= version).map(|(name, _)| *name).collect()
}

fn enabled(capabilities: Option<&Capabilities>, release: Release) -> BTreeSet<&str> {
    let baseline = capabilities.map_or("", |capabilities| capabilities.baseline.as_str());
    let baseline = if baseline.is_empty() { "vCurrent" } else { baseline };
    let mut enabled: BTreeSet<&str> = set_members(baseline, release);
    enabled.extend(capabilities.into_iter().flat_map(additional));
    enabled
}

fn additional(capabilities: &Capabilities) -> impl Iterator<Item = &str> {
    capabilities.additional.iter().flatten().map(|name| name.as_str())
}

pub(crate) fn is_enabled(config: &InstallConfig, release: Release, name: &str) -> bool {
    enabled(config.capabilities.as_ref(), release).contains(name)
}

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let release = context.release;
    let Some(capabilities) = &config.capabilities else { return };
    check_names(capabilities, context);
    let on_none = capabilities.baseline.value == "None";
    let enabled = enabled(Some(capabilities), release);
    let chosen: BTreeSet<&str> = additional(capabilities).collect();
    let additions = || Bad::Plain(additions_as_go(capabilities));
    let mut refuse_additions = |rule: &'static str, text: &str| {
        let place = capabilities.additional_place;
        context.out.invalid(rule, "additionalEnabledCapabilities", place, additions(), text);
    };
    if on_none
        && release <= Release::V4_16
        && chosen.contains("baremetal")
        && !chosen.contains("MachineAPI")
    {
        let text = "the baremetal capability requires the MachineAPI capability";
        refuse_additions("capability-needs-another", text);
    }
    let lacks_lifecycle = |set: &BTreeSet<&str>| {
        set.contains("marketplace") && !set.contains("OperatorLifecycleManager")
    };
    let by_choice = on_none && release >= Release::V4_15 && lacks_lifecycle(&chosen);
    let by_all = release >= Release::V4_17 && lacks_lifecycle(&enabled);
    if by_choice || by_all {
        let text = "the marketplace capability requires the OperatorLifecycleManager capability";
        refuse_additions("capability-needs-another", text);
    }
    let baremetal = config.platform.baremetal.is_some();
    if on_none && release >= Release::V4_16 && baremetal && !chosen.contains("baremetal") {
        refuse_additions(
            "capability-baremetal-off",
            "platform baremetal requires the baremetal capability",
        );
    }
    check_disabled(capabilities, &enabled, context);
}

fn check_names(capabilities: &Capabilities, context: &mut Context<'_>) {
    let baseline = &capabilities.baseline;
    let sets = sets(context.release);
    if !sets.contains(&baseline.value) {
        let names: Vec<_> = sets.iter().map(String::as_str).collect();
        let path = "capabilities.baselineCapabilitySet";
        let bad = Bad::text(baseline.as_str());
        context.out.not_supported("capability-set-unknown", path, baseline.place, bad, &names);
    }
    let known: Vec<_> = set_members("vCurrent", context.release).into_iter().collect();
    for (i, name) in capabilities.additional.iter().flatten().enumerate() {
        if !known.contains(&name.as_str()) {
            let path = format!("capabilities.additionalEnabledCapabilities[{i}]");
            let bad = Bad::text(name.as_str());
            context.out.not_supported("capability-unknown", path, name.place, bad, &known);
        }
    }
}

/// What may not be left out.
fn check_disabled(
    capabilities: &Capabilities,
    enabled: &BTreeSet<&str>,
    context: &mut Context<'_>,
) {
    let platform = &context.config.platform;
    let place = capabilities.place;
    let shown = capabilities_as_go(capabilities);
    let release = context.release;
    let mut refuse = |rule: &'static str, text: &str| {
        context.out.invalid(rule, "capabilities", place, Bad::plain(&shown), text);
    };
    let own_hardware = platform.has("none") || platform.has("baremetal");
    if release >= Release::V4_15 && !enabled.contains("CloudCredential") && !own_hardware {
        let text = "disabling CloudCredential capability available only for baremetal platforms";
        refuse("capability-cloud-credential-off", text);
    }
    if release < Release::V4_16 {
        return;
    }
    if !enabled.contains("CloudControllerManager") {
        if !own_hardware && platform.external.is_none() {
            let text = "disabling CloudControllerManager is only supported on the Baremetal, None, or \
                        External platform with cloudControllerManager value none";
            refuse("capability-cloud-controller-off", text);
        }
        let external = platform.external.as_ref();
        if external.is_some_and(|e| e.cloud_controller_manager.value == "External") {
            let text = "disabling CloudControllerManager on External platform supported only with \
                        cloudControllerManager value none";
            refuse("capability-cloud-controller-off", text);
        }
    }
    if !enabled.contains("Ingress") {
        refuse("capability-ingress-off", "the Ingress capability is required");
    }
}

fn additions_as_go(capabilities: &Capabilities) -> String {
    match &capabilities.additional {
        None => "[]v1.ClusterVersionCapability(nil)".into(),
        Some(names) => {
            string_list("v1.ClusterVersionCapability", names.iter().map(|name| name.as_str()))
        }
    }
}

fn capabilities_as_go(capabilities: &Capabilities) -> String {
    format!(
        "types.Capabilities{{BaselineCapabilitySet:{}, AdditionalEnabledCapabilities:{}}}",
        quote(capabilities.baseline.as_str()),
        additions_as_go(capabilities)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_grow_with_the_release() {
        assert_eq!(sets(Release::V4_14).last().unwrap(), "vCurrent");
        assert_eq!(sets(Release::V4_14).len(), 6);
        assert_eq!(sets(Release::V4_20), sets(Release::V4_18));
        assert!(!set_members("vCurrent", Release::V4_15).contains("Ingress"));
        assert!(set_members("v4.18", Release::V4_20).contains("OperatorLifecycleManagerV1"));
        assert!(set_members("v4.18", Release::V4_17).is_empty());
        assert!(set_members("None", Release::V4_18).is_empty());
    }
}
