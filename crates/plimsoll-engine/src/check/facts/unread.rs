//! What rests on a value that is not of its type is not known: its fact goes, and a rule that reads it
//! is unknown.

use plimsoll_install::{File, Unread};

use super::Facts;

const AGENT: &str = "agent:";
const HOSTS: &[&str] = &["platform.baremetal.hosts", "agent:hosts"];
const MACHINE_NETWORK: &[&str] = &["networking.machineNetwork", "networking.machineCIDR"];
const MIRRORS: &[&str] = &["imageDigestSources", "imageContentSources"];
const POD_NETWORK: &[&str] = &["networking.clusterNetwork", "networking.clusterNetworks"];
const TIME: &[&str] = &["platform.baremetal.additionalNTPServers", "agent:additionalNTPSources"];

/// Facts of the config as a whole, and what they rest on.
const RESTS: &[(&str, &[&str])] = &[
    ("addressesOutside", MACHINE_NETWORK),
    ("arbiterReplicas", &["arbiter"]),
    ("baseDomain", &["baseDomain"]),
    ("computeReplicas", &["compute"]),
    ("controlPlaneReplicas", &["controlPlane"]),
    ("dhcpAddresses", &["platform.baremetal.provisioningDHCPRange"]),
    ("fencingCredentials", &["controlPlane.fencing"]),
    ("hostPrefix", POD_NETWORK),
    ("hostsAtOnce", HOSTS),
    ("hostsNamed", HOSTS),
    ("loadBalancer", &["platform.baremetal.loadBalancer"]),
    ("machineNetworkWritten", MACHINE_NETWORK),
    ("masterHosts", HOSTS),
    ("masterHostsFixed", HOSTS),
    ("mirrors", MIRRORS),
    ("mirrorsPrivate", MIRRORS),
    ("mirrorsWithoutSecret", MIRRORS),
    ("mirrorsWithoutSecret", &["pullSecret"]),
    ("nodesWanted", &["controlPlane", "compute", "arbiter"]),
    ("ntpServers", TIME),
    ("ntpUnreadable", TIME),
    ("podSubnets", POD_NETWORK),
    ("provisioningNetwork", &["platform.baremetal.provisioningNetwork"]),
    ("proxy", &["proxy"]),
    ("pullSecretRegistries", &["pullSecret"]),
    ("registriesLacking", &["pullSecret"]),
    ("rendezvousHost", HOSTS),
    ("rendezvousIP", &["agent:rendezvousIP"]),
    ("trustBundle", &["additionalTrustBundle"]),
    ("trustBundlePolicy", &["additionalTrustBundlePolicy"]),
];

pub fn forget(unread: &Unread, facts: &mut Facts) {
    if unread.is_empty() {
        return;
    }
    let touched = |path: &str| match path.strip_prefix(AGENT) {
        Some(path) => unread.touches(File::Agent, path),
        None => unread.touches(File::Install, path),
    };
    let id = facts.config();
    for (fact, paths) in RESTS {
        if paths.iter().any(|path| touched(path)) {
            facts.entity(&id).facts.remove(*fact);
        }
    }
    if unread.hides_platform() {
        facts.entity(&id).facts.remove("platform");
        facts.entity(&plimsoll_model::EntityId::cluster()).facts.remove("platform");
    }
}
