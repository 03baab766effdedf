//! The config as a whole.

use plimsoll_install::{File, InstallConfig, Judgement, Method, Place, Pool, parse_ip};
use plimsoll_model::EntityId;

use super::addresses::Nets;
use super::hosts::Machine;
use super::{Facts, Found};
use crate::check::Asked;

pub fn extract(
    judgement: &Judgement,
    asked: &Asked<'_>,
    nets: &Nets,
    hosts: &[Machine<'_>],
    facts: &mut Facts,
) {
    let minor = i64::from(asked.release.minor());
    facts.known(&EntityId::cluster(), "minor", minor);
    let refused = judgement.refusals.iter().chain(&judgement.later);
    let refused: Vec<&str> = refused.map(|refusal| refusal.rule).collect();
    let method = if asked.method == Method::Agent { "agent" } else { "ipi" };
    let id = facts.config();
    facts.known(&id, "refused", refused);
    facts.known(&id, "method", method);
    if let Some(config) = &judgement.config.install {
        facts.known(&EntityId::cluster(), "platform", config.platform.name());
        facts.known(&id, "platform", config.platform.name());
        facts.text(&id, "name", &config.name, File::Install, "metadata.name");
        facts.text(&id, "baseDomain", &config.base_domain, File::Install, "baseDomain");
        platforms(config, &id, facts);
        domain(config, &id, facts);
        replicas(config, &id, facts);
        proxy(config, &id, facts);
        private_keys(config, &id, facts);
    }
    time_servers(judgement, &id, facts);
    rendezvous(judgement, nets, hosts, &id, facts);
}

/// The installer takes the first that it knows of, and of some others beside it says nothing.
fn platforms(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let others = config.platform.present.iter().skip(1);
    let silent = others.filter(|(name, _)| matches!(*name, "none" | "external"));
    let found = silent.map(|(name, place)| Found {
        said: (*name).into(),
        file: File::Install,
        path: format!("platform.{name}"),
        at: *place,
        value: None,
    });
    facts.found(id, "platformsIgnored", found.collect());
}

/// What is said of it names the setting and never what stands there.
fn proxy(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let settings = config
        .proxy
        .iter()
        .flat_map(|proxy| [("httpProxy", &proxy.http), ("httpsProxy", &proxy.https)]);
    let has_password = |url: &str| {
        let (_, rest) = url.split_once("://").unwrap_or_default();
        rest.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    };
    let found = settings.filter(|(_, url)| has_password(url.as_str())).map(|(key, url)| Found {
        said: key.into(),
        file: File::Install,
        path: format!("proxy.{key}"),
        at: url.place,
        value: None,
    });
    facts.found(id, "proxyPasswords", found.collect());
}

fn private_keys(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let found = config.private_keys().into_iter().map(|(field, at)| Found {
        said: field.into(),
        file: File::Install,
        path: field.into(),
        at,
        value: None,
    });
    facts.found(id, "privateKeys", found.collect());
}

/// Domains that are kept for something else, and for what.
const RESERVED: [(&str, &str); 7] = [
    ("local", "multicast DNS answers for it, and many resolvers never ask a server"),
    ("localhost", "it means this machine"),
    ("example", "it is kept for documents"),
    ("example.com", "it is kept for documents"),
    ("example.net", "it is kept for documents"),
    ("example.org", "it is kept for documents"),
    ("invalid", "it is kept to never resolve"),
];

fn domain(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let base = config.base_domain.value.trim_end_matches('.').to_lowercase();
    let is_below =
        |top: &str| base == top || base.strip_suffix(top).is_some_and(|rest| rest.ends_with('.'));
    let reserved = RESERVED.iter().find(|(top, _)| is_below(top));
    let found = reserved.map(|(top, why)| Found {
        said: format!("{top}: {why}"),
        file: File::Install,
        path: "baseDomain".into(),
        at: config.base_domain.place,
        value: Some(config.base_domain.value.clone()),
    });
    facts.found(id, "reservedDomain", found.into_iter().collect());
    let name = config.name.value.to_lowercase();
    let is_doubled = !name.is_empty()
        && base.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1);
    let doubled = is_doubled.then(|| Found {
        said: config.cluster_domain(),
        file: File::Install,
        path: "baseDomain".into(),
        at: config.base_domain.place,
        value: Some(config.base_domain.value.clone()),
    });
    facts.found(id, "domainDoubled", doubled.into_iter().collect());
}

fn replicas(config: &InstallConfig, id: &EntityId, facts: &mut Facts) {
    let masters = &config.control_plane;
    let path = "controlPlane.replicas";
    let shown = masters.replicas.written.then(|| masters.replicas.value.to_string());
    let at = masters.replicas.place;
    facts.set(id, "controlPlaneReplicas", masters.replicas.value, File::Install, path, at, shown);
    facts.known(id, "computeReplicas", config.compute_replicas());
    facts.known(
        id,
        "arbiterReplicas",
        config.arbiter.as_ref().map_or(0, |pool| pool.replicas.value),
    );
    let fenced = |pool: &Pool| pool.fencing.as_ref().map_or(0, |fencing| fencing.credentials.len());
    facts.known(id, "fencingCredentials", fenced(masters));
}

/// A name of the DNS, to which case is nothing. The installer asks for small letters where it asks.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
            && bytes[0] != b'-'
            && bytes[bytes.len() - 1] != b'-'
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn time_servers(judgement: &Judgement, id: &EntityId, facts: &mut Facts) {
    let baremetal = judgement.config.install.as_ref().and_then(|it| it.platform.baremetal.as_ref());
    let install = baremetal.map_or(&[][..], |baremetal| &baremetal.ntp_servers).iter().enumerate();
    let agent = judgement.config.agent.as_ref().map_or(&[][..], |agent| &agent.ntp_sources);
    let install = install.map(|(i, server)| {
        (server, File::Install, format!("platform.baremetal.additionalNTPServers[{i}]"))
    });
    let agent = agent
        .iter()
        .enumerate()
        .map(|(i, server)| (server, File::Agent, format!("additionalNTPSources[{i}]")));
    let mut all = 0_usize;
    let mut unreadable = Vec::new();
    for (server, file, path) in install.chain(agent) {
        all += 1;
        if parse_ip(&server.value).is_none() && !is_name(&server.value) {
            let said = server.value.clone();
            let value = Some(server.value.clone());
            unreadable.push(Found { said, file, path, at: server.place, value });
        }
    }
    let (file, path, at) = match (&judgement.config.agent, baremetal) {
        (Some(_), _) => (File::Agent, "additionalNTPSources", Place::START),
        (None, Some(baremetal)) => {
            (File::Install, "platform.baremetal.additionalNTPServers", baremetal.place)
        }
        (None, None) => (File::Install, "metadata.name", name_place(judgement)),
    };
    facts.set(id, "ntpServers", all, file, path, at, None);
    facts.found(id, "ntpUnreadable", unreadable);
}

fn name_place(judgement: &Judgement) -> Place {
    judgement.config.install.as_ref().map_or(Place::START, |config| config.name.place)
}

fn rendezvous(
    judgement: &Judgement,
    nets: &Nets,
    hosts: &[Machine<'_>],
    id: &EntityId,
    facts: &mut Facts,
) {
    let Some(agent) = &judgement.config.agent else { return };
    let written = &agent.rendezvous_ip;
    facts.text(id, "rendezvousIP", written, File::Agent, "rendezvousIP");
    let Some(address) = parse_ip(written.as_str()) else { return };
    let owns = |host: &&Machine<'_>| {
        host.net().is_some_and(|net| net.addresses().any(|own| own.ip == address))
    };
    let owner = hosts.iter().find(owns);
    facts.known(id, "rendezvousHost", owner.map_or("", |host| host.id.name.as_str()));
    if let Some(inside) = nets.in_machine(address) {
        // A host may meet the others on one network and serve the cluster on another.
        let mut others = owner.into_iter().filter_map(Machine::net).flat_map(|net| net.addresses());
        let elsewhere = others.any(|own| nets.in_machine(own.ip) == Some(true));
        facts.known(id, "rendezvousOutside", !inside && !elsewhere);
    }
    // Who has no fixed address may get this one from a DHCP server.
    let masters = hosts.iter().filter(|host| host.agent.is_some() && host.may_be_master());
    let fixed = |host: &&Machine<'_>| {
        host.net().is_some_and(|net| net.addresses().next().is_some() && !net.is_dynamic())
    };
    let (all, fixed) = (masters.clone().count(), masters.filter(fixed).count());
    facts.known(id, "masterHosts", all);
    facts.known(id, "masterHostsFixed", fixed);
}
