//! Feature sets and feature gates.

use crate::check::{Context, Crash};
use crate::config::InstallConfig;
use crate::refusal::Bad;
use crate::release::Release;

const CUSTOM: &str = "CustomNoUpgrade";
const TECH_PREVIEW: &str = "TechPreviewNoUpgrade";
const DEV_PREVIEW: &str = "DevPreviewNoUpgrade";

/// In the order of the alphabet; the default set has no name.
fn sets(release: Release) -> &'static [&'static str] {
    match release {
        Release::V4_14 | Release::V4_15 => &["", CUSTOM, "LatencySensitive", TECH_PREVIEW],
        _ => &["", CUSTOM, DEV_PREVIEW, TECH_PREVIEW],
    }
}

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    let set = &config.feature_set;
    let before = context.out.refusals.len();
    let known = sets(context.release);
    if !known.contains(&set.as_str()) {
        let bad = Bad::text(set.as_str());
        context.out.not_supported("feature-set-unknown", "featureSet", set.place, bad, known);
    }
    if let Some(first) = config.feature_gates.first() {
        if set.value != CUSTOM {
            let text = "featureGates can only be used with the CustomNoUpgrade feature set";
            context.out.forbidden(
                "feature-gates-without-custom",
                "featureGates",
                first.place,
                text,
            );
        }
        check_gates(context);
    }
    if context.out.refusals.len() == before && context.release >= Release::V4_19 {
        check_gated(context);
    }
}

fn check_gates(context: &mut Context<'_>) {
    for (i, gate) in context.config.feature_gates.iter().enumerate() {
        let parts: Vec<_> = gate.value.split('=').collect();
        let text = match parts[..] {
            [_, value] if go_bool(value).is_some() => continue,
            [_, _] => "must match the format <feature-name>=<bool>, could not parse boolean value",
            _ => "must match the format <feature-name>=<bool>",
        };
        let path = format!("featureGates[{i}]");
        let bad = Bad::text(gate.as_str());
        context.out.invalid("feature-gate-unreadable", path, gate.place, bad, text);
    }
}

/// `strconv.ParseBool`.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Whether a gate that the checks ask for is on.
pub(crate) fn gate_is_on(config: &InstallConfig, release: Release, gate: &str) -> bool {
    let set = config.feature_set.as_str();
    if set == CUSTOM {
        return config.feature_gates.iter().any(|written| {
            let parts: Vec<_> = written.value.split('=').collect();
            matches!(parts[..], [name, value] if name == gate && go_bool(value) == Some(true))
        });
    }
    let preview = set == TECH_PREVIEW || set == DEV_PREVIEW;
    let by_default = gate == "HighlyAvailableArbiter" && release >= Release::V4_20;
    preview || (by_default && set.is_empty())
}

/// Fields that a gate protects.
fn check_gated(context: &mut Context<'_>) {
    let config = context.config;
    let release = context.release;
    let control = &config.control_plane;
    let mut gated = Vec::new();
    if let Some(fencing) = &control.fencing {
        // The installer names a field that does not exist.
        gated.push(("DualReplica", "platform.none.fencingCredentials", fencing.place));
    }
    if release >= Release::V4_20 {
        let with_disks = config.compute.iter().find(|pool| !pool.disks.is_empty());
        let swaps = |pool: &crate::config::Pool| {
            pool.disks.iter().any(|disk| disk.kind.value == "swap").then_some(pool.disks_place)
        };
        if !control.disks.is_empty() {
            gated.push(("MultiDiskSetup", "controlPlane.diskSetup", control.disks_place));
        }
        if let Some(pool) = with_disks {
            gated.push(("MultiDiskSetup", "compute.diskSetup", pool.disks_place));
        }
        if let Some(place) = config.compute.iter().find_map(swaps) {
            gated.push(("NodeSwap", "compute.diskSetup", place));
        }
        if let Some(place) = swaps(control) {
            gated.push(("NodeSwap", "controlPlane.diskSetup", place));
        }
    }
    for (gate, path, place) in gated {
        if !gate_is_on(config, release, gate) {
            let text = format!(
                "this field is protected by the {gate} feature gate which must be enabled through \
                 either the TechPreviewNoUpgrade or CustomNoUpgrade feature set"
            );
            context.out.forbidden("field-gated", path, place, text);
        }
    }
}

/// From 4.17 to 4.19 the installer asks the feature set for a gate before it checks its name.
pub(crate) fn crash_of_unknown_set(context: &Context<'_>) -> Result<(), Crash> {
    let crashes = (Release::V4_17..=Release::V4_19).contains(&context.release);
    crash_if(crashes, context)
}

/// With an arbiter, later installers do so as well.
pub(crate) fn crash_of_unknown_set_for_arbiter(context: &Context<'_>) -> Result<(), Crash> {
    crash_if(context.release >= Release::V4_19, context)
}

fn crash_if(crashes: bool, context: &Context<'_>) -> Result<(), Crash> {
    let set = &context.config.feature_set;
    if crashes && !sets(context.release).contains(&set.as_str()) {
        return Err(Crash::at("feature-set-unknown", "featureSet", set.place));
    }
    Ok(())
}
