//! Where images come from: mirrors, the pull secret, and what of it the cluster cannot reach.

use std::collections::BTreeSet;

use plimsoll_install::{File, InstallConfig, Place};

use super::addresses::{self, Nets};
use super::{Facts, Found};

/// Registries of a release and of its operators. A pull secret without cloud.openshift.com only sends
/// no reports.
const PUBLIC: [&str; 2] = ["quay.io", "registry.redhat.io"];
/// Names that no public authority signs.
const PRIVATE: [&str; 10] = [
    "local",
    "lan",
    "internal",
    "intranet",
    "corp",
    "home",
    "lab",
    "private",
    "test",
    "localdomain",
];

pub fn extract(config: &InstallConfig, nets: &Nets, facts: &mut Facts) {
    let id = facts.config();
    let mirrors = mirrors(config);
    let entries: BTreeSet<String> =
        config.pull_secret_registries.iter().map(|entry| entry_host(entry)).collect();
    facts.known(&id, "mirrors", mirrors.len());
    let found = |said: String, mirror: &Mirror| Found {
        said,
        file: File::Install,
        path: mirror.path.clone(),
        at: mirror.at,
        value: Some(mirror.written.clone()),
    };
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    let mut without = Vec::new();
    let mut private = Vec::new();
    for mirror in &mirrors {
        if !hosts.insert(&mirror.host) {
            continue;
        }
        if !entries.contains(&mirror.host) && !mirror.host.is_empty() {
            without.push(found(mirror.host.clone(), mirror));
        }
        if looks_private(&mirror.host, &config.base_domain.value) {
            private.push(found(mirror.host.clone(), mirror));
        }
    }
    facts.found(&id, "mirrorsWithoutSecret", without);
    facts.found(&id, "mirrorsPrivate", private);
    let lacking = PUBLIC.iter().filter(|host| !entries.contains(**host));
    let lacking: Vec<&str> = lacking.copied().collect();
    let at = config.pull_secret_place();
    facts.set(&id, "registriesLacking", lacking, File::Install, "pullSecret", at, None);
    facts.known(&id, "pullSecretRegistries", entries.len());
    let unusable = config.pull_secret_unusable.iter().map(|host| Found {
        said: host.clone(),
        file: File::Install,
        path: "pullSecret".into(),
        at,
        value: None,
    });
    facts.found(&id, "authsUnusable", unusable.collect());
    hidden(config, &mirrors, nets, facts);
}

struct Mirror {
    /// With its port.
    host: String,
    written: String,
    path: String,
    at: Place,
}

fn mirrors(config: &InstallConfig) -> Vec<Mirror> {
    let lists = [
        ("imageDigestSources", &config.digest_sources),
        ("imageContentSources", &config.content_sources),
    ];
    let mut all = Vec::new();
    for (name, sources) in lists {
        for (index, source) in sources.iter().enumerate() {
            for (number, mirror) in source.mirrors.iter().enumerate() {
                all.push(Mirror {
                    host: host_of(&mirror.value).to_lowercase(),
                    written: mirror.value.clone(),
                    path: format!("{name}[{index}].mirrors[{number}]"),
                    at: mirror.place,
                });
            }
        }
    }
    all
}

/// The registry of a repository; without a dot, a port or `localhost` it is a folder of Docker's own.
/// A scheme is refused, and what stands behind it is meant.
fn host_of(repository: &str) -> &str {
    let bare = repository.split_once("://").map_or(repository, |(_, rest)| rest);
    let first = bare.split('/').next().unwrap_or(bare);
    let is_host = first.contains(['.', ':']) || first == "localhost";
    if is_host { first } else { "docker.io" }
}

/// The host of an entry, which may be a URL or name a repository.
fn entry_host(entry: &str) -> String {
    let bare = entry.split_once("://").map_or(entry, |(_, rest)| rest);
    bare.split('/').next().unwrap_or(bare).to_lowercase()
}

fn looks_private(host: &str, base_domain: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let (name, port) = name.unwrap_or((host, ""));
    let base = base_domain.trim_end_matches('.').to_lowercase();
    let name = name.to_lowercase();
    let top = name.rsplit('.').next().unwrap_or_default();
    addresses::literal(host).is_some()
        || PRIVATE.contains(&top)
        || !name.contains('.')
        || !matches!(port, "" | "443" | "80")
        || (!base.is_empty() && (name == base || name.ends_with(&format!(".{base}"))))
}

/// Servers outside whose addresses the cluster gives to pods or services.
fn hidden(config: &InstallConfig, mirrors: &[Mirror], nets: &Nets, facts: &mut Facts) {
    let id = facts.config();
    let mut found = Vec::new();
    let mut look = |what: &str, host: &str, path: String, at: Place| {
        let network = addresses::literal(host).and_then(|address| nets.hidden_by(address));
        found.extend(network.map(|network| Found {
            said: format!("{what} {host} is in the {network}"),
            file: File::Install,
            path,
            at,
            value: Some(host.to_string()),
        }));
    };
    for mirror in mirrors {
        look("mirror", &mirror.host, mirror.path.clone(), mirror.at);
    }
    if let Some(baremetal) = &config.platform.baremetal {
        for (index, server) in baremetal.ntp_servers.iter().enumerate() {
            let path = format!("platform.baremetal.additionalNTPServers[{index}]");
            look("time server", server.as_str(), path, server.place);
        }
        for (what, name, value) in [
            ("address", "bootstrapExternalStaticIP", &baremetal.bootstrap_static_ip),
            ("gateway", "bootstrapExternalStaticGateway", &baremetal.bootstrap_static_gateway),
            ("DNS server", "bootstrapExternalStaticDNS", &baremetal.bootstrap_static_dns),
        ] {
            look(what, value.as_str(), format!("platform.baremetal.{name}"), value.place);
        }
    }
    facts.found(&id, "serversHidden", found);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_has_a_registry() {
        assert_eq!(host_of("registry.lab:5000/ocp4/openshift4"), "registry.lab:5000");
        assert_eq!(host_of("localhost/x"), "localhost");
        assert_eq!(host_of("library/x"), "docker.io");
        assert_eq!(host_of("https://mirror.acme.io/a"), "mirror.acme.io");
        assert_eq!(entry_host("https://Quay.io/v1"), "quay.io");
    }

    #[test]
    fn private_registries_are_told_by_their_names() {
        for private in
            ["registry.lab", "registry:5000", "10.0.0.1", "r.example.com", "a.b.com:8443"]
        {
            assert!(looks_private(private, "example.com"), "{private}");
        }
        for public in ["quay.io", "registry.redhat.io", "ghcr.io:443", "mirror.company.com"] {
            assert!(!looks_private(public, "example.com"), "{public}");
        }
    }
}
