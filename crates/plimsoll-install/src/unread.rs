//! What of the files is not of its type. Nobody knows what was meant there, so whatever rests on it is
//! neither right nor wrong.

use crate::config::Config;
use crate::refusal::{File, Refusal, Stage};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread(Vec<(File, String)>);

/// Which platform it is, whatever its settings are.
const PLATFORM: &str = "platform:";

const COUNTS: &[&str] = &["controlPlane", "compute", "arbiter"];
const NETWORKS: &[&str] = &["networking", PLATFORM];
const MACHINE_NETWORK: &[&str] = &[
    "networking.machineNetwork",
    "networking.machineCIDR",
    "platform.baremetal.loadBalancer",
    "platform.baremetal.provisioningNetwork",
];
const PROVISIONING: &[&str] = &[
    "networking.machineNetwork",
    "networking.machineCIDR",
    "platform.baremetal.bootstrapProvisioningIP",
    "platform.baremetal.clusterProvisioningIP",
    "platform.baremetal.provisioningDHCPExternal",
    "platform.baremetal.provisioningDHCPRange",
    "platform.baremetal.provisioningHostIP",
    "platform.baremetal.provisioningNetwork",
    "platform.baremetal.provisioningNetworkCIDR",
];
const VIPS: &[&str] = &[
    "platform.baremetal.apiVIP",
    "platform.baremetal.apiVIPs",
    "platform.baremetal.ingressVIP",
    "platform.baremetal.ingressVIPs",
    "platform.baremetal.loadBalancer",
];
const FEATURES: &[&str] = &["featureSet", "featureGates"];
const CAPABILITIES: &[&str] = &["capabilities", PLATFORM];
const HOSTS: &[&str] = &["platform.baremetal.hosts"];
const ALL_HOSTS: &[&str] = &["platform.baremetal.hosts", "agent:hosts", "agent:rendezvousIP"];

/// What a rule reads besides the field that it names, in groups that are all read.
fn reads(rule: &str) -> &'static [&'static [&'static str]] {
    match rule {
        "agent-architecture-unknown" | "agent-architecture-needs-none" => &[COUNTS, &[PLATFORM]],
        "agent-control-plane-size" => &[COUNTS],
        "agent-single-node-network" => &[COUNTS, NETWORKS],
        "agent-single-node-platform"
        | "agent-single-node-with-workers"
        | "agent-single-node-with-arbiter" => &[COUNTS, &[PLATFORM]],
        "agent-hosts-too-few" | "agent-hosts-too-many" => &[COUNTS, ALL_HOSTS],
        "arbiter-gated"
        | "field-gated"
        | "feature-gates-without-custom"
        | "load-balancer-gated" => &[FEATURES],
        "arbiter-not-on-platform" | "fencing-not-on-platform" => &[&[PLATFORM]],
        "arbiter-with-too-few-masters" | "architectures-differ" | "fencing-credentials-count" => {
            &[COUNTS]
        }
        "bmc-needs-provisioning-network" => &[PROVISIONING, HOSTS],
        "bootstrap-macs-are-the-same" => &[&[
            "platform.baremetal.externalMACAddress",
            "platform.baremetal.provisioningMACAddress",
        ]],
        "bootstrap-static-network-incomplete" => &[&[
            "platform.baremetal.bootstrapExternalStaticIP",
            "platform.baremetal.bootstrapExternalStaticGateway",
            "platform.baremetal.bootstrapExternalStaticDNS",
        ]],
        "capability-baremetal-off"
        | "capability-cloud-controller-off"
        | "capability-cloud-credential-off"
        | "capability-ingress-off"
        | "capability-needs-another"
        | "machine-api-off" => &[CAPABILITIES],
        "cluster-domain-invalid" => &[&["metadata.name", "baseDomain"]],
        "cluster-mtu-only-on-aws"
        | "credentials-mode-not-on-platform"
        | "pool-for-other-platform"
        | "publish-internal-not-on-platform"
        | "publish-mixed-not-on-platform" => &[&[PLATFORM]],
        "cluster-network-too-small" | "join-subnet-too-small" | "join-subnet-not-judged" => {
            &[NETWORKS, COUNTS]
        }
        "disk-without-configuration" => &[COUNTS],
        "dhcp-range-outside-network"
        | "provisioning-ip-in-dhcp-range"
        | "provisioning-ip-in-machine-network"
        | "provisioning-ip-not-an-address"
        | "provisioning-ip-outside-machine-network"
        | "provisioning-ip-outside-network"
        | "provisioning-network-overlaps"
        | "provisioning-network-too-large"
        | "dhcp-range-unreadable" => &[PROVISIONING],
        "cluster-network-unreadable"
        | "dual-stack-family-missing"
        | "dual-stack-ipv6-first"
        | "dual-stack-not-on-platform"
        | "dual-stack-service-networks"
        | "host-prefix-not-64"
        | "host-prefix-too-large"
        | "host-prefix-too-small"
        | "host-prefixes-differ"
        | "ipv6-not-on-platform"
        | "ipv6-with-sdn"
        | "join-subnet-overlaps"
        | "network-overlaps-docker"
        | "network-overlaps-ovn"
        | "networks-overlap"
        | "ovn-config-without-ovn"
        | "proxy-inside-cluster"
        | "service-networks-too-many" => &[NETWORKS],
        "hosts-missing" | "hosts-too-few" | "host-without-role" => &[COUNTS, HOSTS, CAPABILITIES],
        "mirrors-twice" => &[&["imageContentSources", "imageDigestSources"]],
        "operator-publishing-missing"
        | "operator-publishing-not-mixed"
        | "operator-publishing-all-internal" => &[&["publish", "operatorPublishingStrategy"]],
        "rendezvous-ip-missing" | "rendezvous-ip-on-worker" => &[ALL_HOSTS],
        "secure-boot-not-by-driver" | "boot-mac-not-in-network-config" => &[ALL_HOSTS],
        "ssh-key-not-fips" => &[&["fips"]],
        "vip-missing" | "vips-are-the-same" | "vips-of-one-family" | "vips-too-many" => &[VIPS],
        "vip-family-not-primary" => &[VIPS, NETWORKS],
        "vip-outside-machine-network" => &[MACHINE_NETWORK],
        _ => &[],
    }
}

impl Unread {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is not known which platform is meant.
    pub fn hides_platform(&self) -> bool {
        self.platform().is_some()
    }

    /// Whether something at this path, above or below it could not be read.
    pub fn touches(&self, file: File, path: &str) -> bool {
        self.at(file, path).is_some()
    }

    fn at(&self, file: File, path: &str) -> Option<&str> {
        let is_it = |unread: &str| unread.is_empty() || about_one(unread, path);
        let mut all = self.0.iter();
        all.find(|(of, unread)| *of == file && is_it(unread)).map(|(_, unread)| unread.as_str())
    }

    pub(crate) fn push(&mut self, file: File, path: String) {
        self.0.push((file, path));
    }

    pub(crate) fn append(&mut self, other: &mut Unread) {
        self.0.append(&mut other.0);
    }

    /// What a refusal rests on and could not be read.
    pub(crate) fn below(&self, refusal: &Refusal) -> Option<&str> {
        if self.is_empty() {
            return None;
        }
        // Hosts are looked at only where the cluster is to manage machines, and so is provisioning.
        let managed = refusal.stage == Stage::Provision
            || (refusal.file == File::Install && about_one(&refusal.path, HOSTS[0]));
        let managed: &[&str] = if managed { CAPABILITIES } else { &[] };
        let also = reads(refusal.rule).iter().flat_map(|group| group.iter());
        let mut also = also.chain(managed);
        self.at(refusal.file, &refusal.path).or_else(|| {
            also.find_map(|path| match path.strip_prefix("agent:") {
                Some(path) => self.at(File::Agent, path),
                None if *path == PLATFORM => self.platform(),
                None => self.at(File::Install, path),
            })
        })
    }

    /// Where it is not known which platform is meant.
    fn platform(&self) -> Option<&str> {
        let mut all = self.0.iter().filter(|(file, _)| *file == File::Install);
        let is_it = |path: &str| {
            path.is_empty()
                || (about_one(path, "platform") && path.matches(['.', '[']).count() <= 1)
        };
        all.find(|(_, path)| is_it(path)).map(|(_, path)| path.as_str())
    }

    pub(crate) fn count_hosts_as_the_installer_does(&mut self, config: &Config) {
        for (file, path) in &mut self.0 {
            if let Some(counted) = counted_by_installer(*file, path, config) {
                *path = counted;
            }
        }
    }
}

/// Refusals number the hosts in the installer's order, files in their own. `None` where no host of
/// install-config.yaml is meant.
pub(crate) fn counted_by_installer(file: File, path: &str, config: &Config) -> Option<String> {
    const HOSTS: &str = "platform.baremetal.hosts[";
    let baremetal = config.install.as_ref()?.platform.baremetal.as_ref()?;
    let starts = path.get(..HOSTS.len())?.eq_ignore_ascii_case(HOSTS);
    if file != File::Install || !starts {
        return None;
    }
    let (number, rest) = path.get(HOSTS.len()..)?.split_once(']')?;
    let in_file: usize = number.parse().ok()?;
    let at = baremetal.hosts.iter().position(|host| host.index_in_file == in_file)?;
    Some(format!("{HOSTS}{at}]{rest}"))
}

/// One path is the other, or above it.
pub(crate) fn about_one(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let rest = long.get(short.len()..).unwrap_or_default();
    long.get(..short.len()).is_some_and(|start| start.eq_ignore_ascii_case(short))
        && (rest.is_empty() || rest.starts_with(['.', '[']))
}
