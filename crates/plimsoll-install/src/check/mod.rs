//! `ValidateInstallConfig`: what every target checks once the file is read. One file an area.

mod capabilities;
mod families;
mod features;
mod general;
mod hosts;
mod mirrors;
mod networking;
mod ovn;
mod platform;
mod pools;
mod proxy;
mod publish;
mod vips;

pub(crate) use capabilities::is_enabled;
pub(crate) use features::gate_is_on;
pub(crate) use hosts::{check_bmc, check_without_provisioning_network, device_name_faults};
pub(crate) use vips::not_in_machine_networks;

use crate::config::InstallConfig;
use crate::place::Place;
use crate::refusal::Collector;
use crate::release::{Installer, Method, Release};

/// A check that needs the outside world.
pub(crate) type NotChecked = Vec<(&'static str, String)>;

pub(crate) struct Context<'c> {
    pub config: &'c InstallConfig,
    pub release: Release,
    pub method: Method,
    pub installer: Installer,
    pub out: &'c mut Collector,
    pub not_checked: &'c mut NotChecked,
}

/// `Err` where the installer crashes: what it had found until then is never printed.
pub(crate) fn check(context: &mut Context<'_>) -> Result<(), Crash> {
    platform::crash_of_empty_host(context)?;
    general::check(context);
    networking::check(context);
    vips::check(context);
    ovn::check_config(context)?;
    platform::check(context);
    pools::check(context)?;
    general::check_pull_secret(context);
    proxy::check(context);
    mirrors::check(context);
    publish::check(context);
    capabilities::check(context);
    features::check(context);
    Ok(())
}

/// Where the real installer ends in a Go panic.
pub(crate) struct Crash {
    pub rule: &'static str,
    pub path: &'static str,
    pub place: Place,
    pub text: &'static str,
}

impl Crash {
    /// Of a value that is not there.
    pub fn at(rule: &'static str, path: &'static str, place: Place) -> Self {
        let text = "runtime error: invalid memory address or nil pointer dereference";
        Self { rule, path, place, text }
    }
}
