//! What `agent create …` says beyond the checks of every target, step by step.

mod config;
mod hosts;
mod install;
mod network;
mod nmstate;
mod unused;

pub(crate) use install::check as check_install_config;

use crate::check::{Crash, NotChecked};
use crate::config::{AgentConfig, InstallConfig};
use crate::refusal::{Collector, File, Stage};
use crate::release::Release;

/// Both files are read; each step is reached only when the one before it found nothing.
pub(crate) fn check(
    install: Option<&InstallConfig>,
    agent: Option<&AgentConfig>,
    release: Release,
    not_checked: &mut NotChecked,
) -> Vec<Collector> {
    let mut steps = Vec::new();
    if let Some(agent) = agent {
        let mut out = Collector::new(File::Agent, Stage::AgentConfig);
        config::check(agent, release, &mut out);
        let refused = !out.refusals.is_empty();
        steps.push(out);
        if refused {
            return steps;
        }
    }
    let Some(install) = install else {
        let why = "without install-config.yaml the cluster is described by manifests";
        not_checked.push(("cluster-manifests", why.into()));
        return steps;
    };
    let from_install = release >= Release::V4_15 && agent.is_none_or(|a| a.hosts.is_empty());
    let file = if from_install { File::Install } else { File::Agent };
    let mut out = Collector::new(file, Stage::AgentHosts);
    if let Err(Crash { rule, path, place, text }) =
        hosts_and_network(install, agent, release, &mut out, not_checked)
    {
        out.refusals.clear();
        out.plain(rule, path, place, text);
    }
    steps.push(out);
    steps
}

fn hosts_and_network(
    install: &InstallConfig,
    agent: Option<&AgentConfig>,
    release: Release,
    out: &mut Collector,
    not_checked: &mut NotChecked,
) -> Result<(), Crash> {
    let hosts = hosts::gather(install, agent, release, out);
    if out.refusals.is_empty() && release >= Release::V4_15 {
        let rendezvous = agent.map(|agent| &agent.rendezvous_ip);
        hosts::check(&hosts, rendezvous, release, out)?;
    }
    if out.refusals.is_empty() {
        network::check(install, agent, &hosts, release, out, not_checked);
    }
    Ok(())
}
