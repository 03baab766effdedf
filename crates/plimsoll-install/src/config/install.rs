use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::config::{Baremetal, Secret};
use crate::go::address::Network;
use crate::go::json::{self, Json};
use crate::place::{Place, Placed};
use crate::reader::At;
use crate::release::Release;

#[derive(Clone, Debug)]
pub struct InstallConfig {
    /// Where the document begins.
    pub place: Place,
    pub api_version: Placed<String>,
    pub name: Placed<String>,
    pub base_domain: Placed<String>,
    pub networking: Networking,
    pub control_plane: Pool,
    pub arbiter: Option<Pool>,
    pub compute: Vec<Pool>,
    pub platform: Platform,
    /// Host names only, in the order of the file.
    pub pull_secret_registries: Vec<String>,
    /// Of those, the ones whose `auth` is no user with a password.
    pub pull_secret_unusable: Vec<String>,
    /// Such as `ssh-ed25519`; empty where no key could be read.
    pub ssh_key_types: Vec<String>,
    pub trust_bundle: Placed<String>,
    pub trust_bundle_policy: Placed<String>,
    pub proxy: Option<Proxy>,
    /// `imageContentSources`, which is deprecated.
    pub content_sources: Vec<Mirror>,
    /// `imageDigestSources`.
    pub digest_sources: Vec<Mirror>,
    pub publish: Placed<String>,
    pub operator_publishing: Option<OperatorPublishing>,
    pub fips: Placed<bool>,
    pub cpu_partitioning: Placed<String>,
    pub credentials_mode: Placed<String>,
    pub bootstrap_in_place_disk: Option<Placed<String>>,
    pub capabilities: Option<Capabilities>,
    pub feature_set: Placed<String>,
    pub feature_gates: Vec<Placed<String>>,
    pub(crate) content_sources_place: Place,
    pub(crate) pull_secret: Placed<Secret>,
    pub(crate) ssh_key: Placed<Secret>,
}

#[derive(Clone, Debug)]
pub struct Networking {
    pub place: Place,
    pub network_type: Placed<String>,
    pub machine: Vec<Placed<Network>>,
    pub machine_place: Place,
    pub service: Vec<Placed<Network>>,
    pub service_place: Place,
    pub cluster: Vec<ClusterNetwork>,
    pub cluster_place: Place,
    pub mtu: Option<Placed<i64>>,
    pub ovn: Option<Ovn>,
    pub(crate) deprecated: DeprecatedNetworking,
}

#[derive(Clone, Debug)]
pub(crate) struct DeprecatedNetworking {
    pub machine_cidr: Option<Placed<Network>>,
    pub service_cidr: Option<Placed<Network>>,
    pub network_type: Placed<String>,
    pub cluster_networks: Vec<ClusterNetwork>,
}

#[derive(Clone, Debug)]
pub struct ClusterNetwork {
    pub cidr: Placed<Network>,
    pub host_prefix: Placed<i64>,
    pub(crate) host_subnet_length: i64,
}

#[derive(Clone, Debug)]
pub struct Ovn {
    pub join_subnet: Option<Placed<Network>>,
}

#[derive(Clone, Debug)]
pub struct Pool {
    pub place: Place,
    pub name: Placed<String>,
    pub replicas: Placed<i64>,
    pub architecture: Placed<String>,
    pub hyperthreading: Placed<String>,
    /// Platforms that the pool has settings for.
    pub platforms: Vec<(&'static str, Place)>,
    pub fencing: Option<Fencing>,
    pub disks: Vec<Disk>,
    pub disks_place: Place,
    pub(crate) replicas_missing: bool,
}

#[derive(Clone, Debug)]
pub struct Fencing {
    pub place: Place,
    pub credentials: Vec<Credential>,
    pub credentials_place: Place,
}

#[derive(Clone, Debug)]
pub struct Credential {
    pub place: Place,
    pub is_null: bool,
    pub host_name: Placed<String>,
    pub username: Placed<String>,
    pub has_password: Placed<bool>,
    pub address: Placed<String>,
    pub certificate_verification: Placed<String>,
}

#[derive(Clone, Debug)]
pub struct Disk {
    pub place: Place,
    pub kind: Placed<String>,
    /// Which of `userDefined`, `etcd` and `swap` are there, with their disk.
    pub user_defined: Option<Placed<String>>,
    pub etcd: Option<Placed<String>>,
    pub swap: Option<Placed<String>>,
}

#[derive(Clone, Debug)]
pub struct Platform {
    pub place: Place,
    /// Every platform that is there, in the order in which the installer looks for its name.
    pub present: Vec<(&'static str, Place)>,
    pub baremetal: Option<Baremetal>,
    pub external: Option<External>,
}

impl Platform {
    pub fn name(&self) -> &'static str {
        self.present.first().map_or("", |(name, _)| name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.present.iter().any(|(present, _)| *present == name)
    }
}

#[derive(Clone, Debug)]
pub struct External {
    pub platform_name: Placed<String>,
    pub cloud_controller_manager: Placed<String>,
}

#[derive(Clone, Debug)]
pub struct Proxy {
    pub place: Place,
    pub http: Placed<String>,
    pub https: Placed<String>,
    pub no_proxy: Placed<String>,
}

#[derive(Clone, Debug)]
pub struct Mirror {
    pub source: Placed<String>,
    pub mirrors: Vec<Placed<String>>,
}

#[derive(Clone, Debug)]
pub struct OperatorPublishing {
    pub place: Place,
    pub api_server: Placed<String>,
    pub ingress: Placed<String>,
}

#[derive(Clone, Debug)]
pub struct Capabilities {
    pub place: Place,
    pub baseline: Placed<String>,
    /// `None` where the list is not there, which Go prints differently from an empty one.
    pub additional: Option<Vec<Placed<String>>>,
    pub additional_place: Place,
}

/// The order in which `Platform.Name` looks.
const PLATFORMS: [&str; 14] = [
    "alibabacloud",
    "aws",
    "azure",
    "baremetal",
    "gcp",
    "ibmcloud",
    "libvirt",
    "none",
    "external",
    "openstack",
    "vsphere",
    "ovirt",
    "powervs",
    "nutanix",
];

impl InstallConfig {
    /// Workers of all pools. The numbers are the user's, and may be any.
    pub fn compute_replicas(&self) -> i64 {
        self.compute.iter().map(|pool| pool.replicas.value).fold(0, i64::saturating_add)
    }

    pub(crate) fn read(root: At<'_>, release: Release) -> Self {
        let pull_secret = secret(root.field("pullSecret"));
        let ssh_key = secret(root.field("sshKey"));
        let disk = root.field("bootstrapInPlace");
        Self {
            place: root.place(),
            api_version: root.field("apiVersion").text(),
            name: root.at(&["metadata", "name"]).text(),
            base_domain: root.field("baseDomain").text(),
            networking: Networking::read(root.field("networking")),
            control_plane: Pool::read(root.field("controlPlane")),
            arbiter: there(root.field("arbiter")).map(Pool::read),
            compute: items(root.field("compute"), Pool::read),
            platform: Platform::read(root.field("platform"), release),
            pull_secret_unusable: unusable(&pull_secret.value.0),
            pull_secret_registries: registries(&pull_secret.value.0),
            ssh_key_types: key_types(&ssh_key.value.0),
            trust_bundle: root.field("additionalTrustBundle").text(),
            trust_bundle_policy: root.field("additionalTrustBundlePolicy").text(),
            proxy: there(root.field("proxy")).map(|at| Proxy {
                place: at.key_place(),
                http: at.field("httpProxy").text(),
                https: at.field("httpsProxy").text(),
                no_proxy: at.field("noProxy").text(),
            }),
            content_sources: items(root.field("imageContentSources"), mirror),
            content_sources_place: root.field("imageContentSources").key_place(),
            digest_sources: items(root.field("imageDigestSources"), mirror),
            publish: root.field("publish").text(),
            operator_publishing: there(root.field("operatorPublishingStrategy")).map(|at| {
                OperatorPublishing {
                    place: at.key_place(),
                    api_server: at.field("apiserver").text(),
                    ingress: at.field("ingress").text(),
                }
            }),
            fips: root.field("fips").bool(),
            cpu_partitioning: root.field("cpuPartitioningMode").text(),
            credentials_mode: root.field("credentialsMode").text(),
            bootstrap_in_place_disk: there(disk).map(|at| at.field("installationDisk").text()),
            capabilities: there(root.field("capabilities")).map(|at| Capabilities {
                place: at.place(),
                baseline: at.field("baselineCapabilitySet").text(),
                additional: at
                    .field("additionalEnabledCapabilities")
                    .items()
                    .map(|items| items.into_iter().map(At::text).collect()),
                additional_place: at.field("additionalEnabledCapabilities").place(),
            }),
            feature_set: root.field("featureSet").text(),
            feature_gates: root.field("featureGates").texts(),
            pull_secret,
            ssh_key,
        }
    }

    /// Fields for what everybody may read that hold a private key.
    pub fn private_keys(&self) -> Vec<(&'static str, Place)> {
        let fields = [
            ("sshKey", self.ssh_key.value.0.as_str(), self.ssh_key.place),
            ("additionalTrustBundle", self.trust_bundle.as_str(), self.trust_bundle.place),
        ];
        let secret = fields.into_iter().filter(|(_, text, _)| text.contains("PRIVATE KEY-----"));
        secret.map(|(field, _, place)| (field, place)).collect()
    }

    /// Where the pull secret stands, for who must not read it.
    pub fn pull_secret_place(&self) -> Place {
        self.pull_secret.place
    }

    pub fn cluster_domain(&self) -> String {
        let base = self.base_domain.as_str();
        format!("{}.{}", self.name.value, base.strip_suffix('.').unwrap_or(base))
    }
}

pub(crate) fn there(at: At<'_>) -> Option<At<'_>> {
    at.is_there().then_some(at)
}

fn items<'v, T>(at: At<'v>, read: impl Fn(At<'v>) -> T) -> Vec<T> {
    at.items().unwrap_or_default().into_iter().map(read).collect()
}

fn secret(at: At<'_>) -> Placed<Secret> {
    let Placed { value, place, written } = at.text();
    Placed { value: Secret(value), place, written }
}

fn mirror(at: At<'_>) -> Mirror {
    Mirror { source: at.field("source").text(), mirrors: at.field("mirrors").texts() }
}

fn auths(pull_secret: &str) -> impl Iterator<Item = (String, Json)> {
    let entries = match json::parse(pull_secret) {
        Ok(Json::Map(entries)) => entries,
        _ => Vec::new(),
    };
    let auths = entries.into_iter().filter(|(key, _)| key.eq_ignore_ascii_case("auths"));
    auths.flat_map(|(_, value)| match value {
        Json::Map(entries) => entries,
        _ => Vec::new(),
    })
}

fn registries(pull_secret: &str) -> Vec<String> {
    auths(pull_secret).map(|(host, _)| host).collect()
}

/// What CRI-O would send nothing for, or refuse to read.
fn unusable(pull_secret: &str) -> Vec<String> {
    let is_user_with_password = |auth: &Json| match auth {
        // As Go decodes: line ends do not count.
        Json::Text(auth) => STANDARD.decode(auth.replace(['\r', '\n'], "")).is_ok_and(|login| {
            login
                .iter()
                .position(|byte| *byte == b':')
                .is_some_and(|at| at > 0 && at + 1 < login.len())
        }),
        _ => false,
    };
    let is_unusable = |entry: &Json| match entry {
        // Who has a token needs no password.
        Json::Map(keys) => {
            !keys.iter().any(|(key, _)| key == "identitytoken")
                && keys.iter().any(|(key, auth)| key == "auth" && !is_user_with_password(auth))
        }
        _ => false,
    };
    auths(pull_secret).filter(|(_, entry)| is_unusable(entry)).map(|(host, _)| host).collect()
}

fn key_types(text: &str) -> Vec<String> {
    text.lines().filter_map(crate::go::ssh::key_type).collect()
}

impl Networking {
    fn read(at: At<'_>) -> Self {
        let cidr = |at: At<'_>| placed_network(at.field("cidr"));
        Self {
            place: at.key_place(),
            network_type: at.field("networkType").text(),
            machine: items(at.field("machineNetwork"), cidr),
            machine_place: at.field("machineNetwork").place(),
            service: items(at.field("serviceNetwork"), placed_network),
            service_place: at.field("serviceNetwork").place(),
            cluster: items(at.field("clusterNetwork"), ClusterNetwork::read),
            cluster_place: at.field("clusterNetwork").place(),
            mtu: at.field("clusterNetworkMTU").int(),
            ovn: there(at.field("ovnKubernetesConfig"))
                .map(|at| Ovn { join_subnet: at.at(&["ipv4", "internalJoinSubnet"]).network() }),
            deprecated: DeprecatedNetworking {
                machine_cidr: at.field("machineCIDR").network(),
                service_cidr: at.field("serviceCIDR").network(),
                network_type: at.field("type").text(),
                cluster_networks: items(at.field("clusterNetworks"), ClusterNetwork::read),
            },
        }
    }

    pub fn machine_networks(&self) -> impl Iterator<Item = &Network> {
        self.machine.iter().map(|network| &network.value)
    }
}

fn placed_network(at: At<'_>) -> Placed<Network> {
    at.network().unwrap_or(Placed::default_at(Network::NONE, at.place()))
}

impl ClusterNetwork {
    fn read(at: At<'_>) -> Self {
        let prefix = at.field("hostPrefix");
        Self {
            cidr: placed_network(at.field("cidr")),
            host_prefix: prefix.int().unwrap_or(Placed::default_at(0, prefix.place())),
            host_subnet_length: at.field("hostSubnetLength").int().map_or(0, |length| length.value),
        }
    }
}

impl Pool {
    fn read(at: At<'_>) -> Self {
        let replicas = at.field("replicas");
        let platform = at.field("platform");
        let platforms = PLATFORMS.iter().filter_map(|name| {
            let at = platform.field(name);
            at.is_there().then(|| (*name, at.key_place()))
        });
        Self {
            place: at.key_place(),
            name: at.field("name").text(),
            replicas: replicas.int().unwrap_or(Placed::default_at(0, replicas.place())),
            replicas_missing: replicas.int().is_none(),
            architecture: at.field("architecture").text(),
            hyperthreading: at.field("hyperthreading").text(),
            platforms: platforms.collect(),
            fencing: there(at.field("fencing")).map(|at| Fencing {
                place: at.key_place(),
                credentials: items(at.field("credentials"), Credential::read),
                credentials_place: at.field("credentials").key_place(),
            }),
            disks: items(at.field("diskSetup"), Disk::read),
            disks_place: at.field("diskSetup").key_place(),
        }
    }
}

impl Credential {
    fn read(at: At<'_>) -> Self {
        let password = at.field("password").text();
        Self {
            place: at.place(),
            is_null: !at.is_there(),
            host_name: at.field("hostName").text(),
            username: at.field("username").text(),
            has_password: Placed {
                value: !password.is_empty(),
                place: password.place,
                written: password.written,
            },
            address: at.field("address").text(),
            certificate_verification: at.field("certificateVerification").text(),
        }
    }
}

impl Disk {
    fn read(at: At<'_>) -> Self {
        let disk = |name: &str| there(at.field(name)).map(|at| at.field("platformDiskID").text());
        Self {
            place: at.place(),
            kind: at.field("type").text(),
            user_defined: disk("userDefined"),
            etcd: disk("etcd"),
            swap: disk("swap"),
        }
    }
}

impl Platform {
    fn read(at: At<'_>, release: Release) -> Self {
        let present = PLATFORMS.iter().filter_map(|name| {
            let at = at.field(name);
            at.is_there().then(|| (*name, at.key_place()))
        });
        Self {
            place: at.key_place(),
            present: present.collect(),
            baremetal: there(at.field("baremetal")).map(|at| Baremetal::read(at, release)),
            external: there(at.field("external")).map(|at| External {
                platform_name: at.field("platformName").text(),
                cloud_controller_manager: at.field("cloudControllerManager").text(),
            }),
        }
    }
}
