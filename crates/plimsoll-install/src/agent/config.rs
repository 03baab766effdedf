//! agent-config.yaml by itself.

use crate::agent::hosts;
use crate::config::AgentConfig;
use crate::go::address::parse_ip;
use crate::go::text::quote;
use crate::go::url::uri_fault;
use crate::names::domain_fault;
use crate::provision::check_ntp;
use crate::refusal::{Bad, Collector};
use crate::release::Release;

pub(super) fn check(agent: &AgentConfig, release: Release, out: &mut Collector) {
    let version = &agent.api_version;
    match version.as_str() {
        "v1beta1" | "v1alpha1" => {}
        "" => {
            let text = "no version was provided";
            return out.required("api-version-missing", "apiVersion", version.place, text);
        }
        other => {
            let text = format!("cannot upconvert from version {other}");
            let bad = Bad::text(other);
            return out.invalid("api-version-unknown", "apiVersion", version.place, bad, text);
        }
    }
    let rendezvous = &agent.rendezvous_ip;
    if !rendezvous.is_empty() && parse_ip(rendezvous.as_str()).is_none() {
        let text = format!("{} is not a valid IP", quote(rendezvous.as_str()));
        let bad = Bad::text(rendezvous.as_str());
        out.invalid("rendezvous-ip-not-an-address", "rendezvousIP", rendezvous.place, bad, text);
    }
    if release <= Release::V4_14 {
        hosts::check_4_14(agent, out);
    }
    check_time_sources(agent, release, out);
    let url = &agent.boot_artifacts_base_url;
    if !url.is_empty()
        && let Some(fault) = uri_fault(url.as_str())
    {
        let bad = Bad::text(url.as_str());
        out.invalid("boot-artifacts-url-invalid", "bootArtifactsBaseURL", url.place, bad, fault);
    }
}

fn check_time_sources(agent: &AgentConfig, release: Release, out: &mut Collector) {
    if release >= Release::V4_18 {
        let new = release >= Release::V4_19;
        let path = if new { "additionalNTPSources" } else { "AdditionalNTPSources" };
        return check_ntp(path, &agent.ntp_sources, out);
    }
    for (i, source) in agent.ntp_sources.iter().enumerate() {
        if domain_fault(source.as_str()).is_some() && parse_ip(source.as_str()).is_none() {
            let path = format!("AdditionalNTPSources[{i}]");
            let text = "NTP source is not a valid domain name nor a valid IP";
            let bad = Bad::text(source.as_str());
            out.invalid("ntp-server-invalid", path, source.place, bad, text);
        }
    }
}
