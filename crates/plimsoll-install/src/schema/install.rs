use super::baremetal::{BAREMETAL, MACHINE_POOL as BAREMETAL_POOL};
use super::{
    API_VERSION, INT32, INT64, KIND, OBJECT_META, Shape, TEXT, TEXTS, Type, UINT32, field,
};
use crate::release::Release;

pub(crate) static INSTALL_CONFIG: Shape = Shape {
    name: "InstallConfig",
    go_type: "types.InstallConfig",
    fields: &[
        API_VERSION,
        KIND,
        field("metadata", Type::Struct(&OBJECT_META)),
        field("additionalTrustBundle", TEXT),
        field("additionalTrustBundlePolicy", Type::Text("types.PolicyType")),
        field("sshKey", TEXT),
        field("baseDomain", TEXT),
        field("networking", Type::Struct(&NETWORKING)),
        field("controlPlane", POOL),
        field("arbiter", POOL).since(Release::V4_19),
        field("compute", Type::List("[]types.MachinePool", &POOL)),
        field("platform", Type::Struct(&PLATFORM)),
        field("pullSecret", TEXT),
        field("proxy", Type::Struct(&PROXY)),
        field("imageContentSources", Type::List("[]types.ImageContentSource", &CONTENT_SOURCE)),
        field("imageDigestSources", Type::List("[]types.ImageDigestSource", &DIGEST_SOURCE)),
        field("publish", Type::Text("types.PublishingStrategy")),
        field("operatorPublishingStrategy", Type::Struct(&OPERATOR_PUBLISHING))
            .since(Release::V4_15),
        field("fips", Type::Bool),
        field("cpuPartitioningMode", Type::Text("types.CPUPartitioningMode")),
        field("credentialsMode", Type::Text("types.CredentialsMode")),
        field("bootstrapInPlace", Type::Struct(&BOOTSTRAP_IN_PLACE)),
        field("capabilities", Type::Struct(&CAPABILITIES)),
        field("featureSet", Type::Text("v1.FeatureSet")),
        field("featureGates", TEXTS),
    ],
};

const POOL: Type = Type::Struct(&MACHINE_POOL);
const CONTENT_SOURCE: Type = Type::Struct(&Shape {
    name: "ImageContentSource",
    go_type: "types.ImageContentSource",
    fields: &[field("source", TEXT), field("mirrors", TEXTS)],
});
const DIGEST_SOURCE: Type = Type::Struct(&Shape {
    name: "ImageDigestSource",
    go_type: "types.ImageDigestSource",
    fields: &[field("source", TEXT), field("mirrors", TEXTS)],
});

static MACHINE_POOL: Shape = Shape {
    name: "MachinePool",
    go_type: "types.MachinePool",
    fields: &[
        field("name", TEXT),
        field("replicas", INT64),
        field("platform", Type::Struct(&POOL_PLATFORM)),
        field("hyperthreading", Type::Text("types.HyperthreadingMode")),
        field("architecture", Type::Text("types.Architecture")),
        field("fencing", Type::Struct(&FENCING)).since(Release::V4_19),
        field("diskSetup", Type::List("[]types.Disk", &Type::Struct(&DISK))).since(Release::V4_20),
    ],
};

static FENCING: Shape = Shape {
    name: "Fencing",
    go_type: "types.Fencing",
    fields: &[field("credentials", Type::List("[]*types.Credential", &Type::Struct(&CREDENTIAL)))],
};

static CREDENTIAL: Shape = Shape {
    name: "Credential",
    go_type: "types.Credential",
    fields: &[
        field("hostName", TEXT),
        field("username", TEXT),
        field("password", TEXT),
        field("address", TEXT),
        field("certificateVerification", Type::Text("types.CertificateVerificationPolicy"))
            .since(Release::V4_20),
    ],
};

static DISK: Shape = Shape {
    name: "Disk",
    go_type: "types.Disk",
    fields: &[
        field("type", Type::Text("types.DiskType")),
        field("userDefined", Type::Struct(&DISK_USER_DEFINED)),
        field("etcd", Type::Struct(&DISK_ETCD)),
        field("swap", Type::Struct(&DISK_SWAP)),
    ],
};

static DISK_USER_DEFINED: Shape = Shape {
    name: "DiskUserDefined",
    go_type: "types.DiskUserDefined",
    fields: &[field("platformDiskID", TEXT), field("mountPath", TEXT)],
};
static DISK_ETCD: Shape =
    Shape { name: "DiskEtcd", go_type: "types.DiskEtcd", fields: &[field("platformDiskID", TEXT)] };
static DISK_SWAP: Shape =
    Shape { name: "DiskSwap", go_type: "types.DiskSwap", fields: &[field("platformDiskID", TEXT)] };

static POOL_PLATFORM: Shape = Shape {
    name: "MachinePoolPlatform",
    go_type: "types.MachinePoolPlatform",
    fields: &[
        field("alibabacloud", Type::Foreign("alibabacloud.MachinePool")).until(Release::V4_15),
        field("aws", Type::Foreign("aws.MachinePool")),
        field("azure", Type::Foreign("azure.MachinePool")),
        field("baremetal", Type::Struct(&BAREMETAL_POOL)),
        field("gcp", Type::Foreign("gcp.MachinePool")),
        field("ibmcloud", Type::Foreign("ibmcloud.MachinePool")),
        field("libvirt", Type::Foreign("libvirt.MachinePool")).until(Release::V4_15),
        field("openstack", Type::Foreign("openstack.MachinePool")),
        field("vsphere", Type::Foreign("vsphere.MachinePool")),
        field("ovirt", Type::Foreign("ovirt.MachinePool")),
        field("powervs", Type::Foreign("powervs.MachinePool")),
        field("nutanix", Type::Foreign("nutanix.MachinePool")),
    ],
};

static PLATFORM: Shape = Shape {
    name: "Platform",
    go_type: "types.Platform",
    fields: &[
        field("alibabacloud", Type::Foreign("alibabacloud.Platform")).until(Release::V4_15),
        field("aws", Type::Foreign("aws.Platform")),
        field("azure", Type::Foreign("azure.Platform")),
        field("baremetal", Type::Struct(&BAREMETAL)),
        field("gcp", Type::Foreign("gcp.Platform")),
        field("ibmcloud", Type::Foreign("ibmcloud.Platform")),
        field("libvirt", Type::Foreign("libvirt.Platform")).until(Release::V4_15),
        field("none", Type::Struct(&NONE)),
        field("external", Type::Struct(&EXTERNAL)),
        field("openstack", Type::Foreign("openstack.Platform")),
        field("powervs", Type::Foreign("powervs.Platform")),
        field("vsphere", Type::Foreign("vsphere.Platform")),
        field("ovirt", Type::Foreign("ovirt.Platform")),
        field("nutanix", Type::Foreign("nutanix.Platform")),
    ],
};

static NONE: Shape = Shape { name: "Platform", go_type: "none.Platform", fields: &[] };

static EXTERNAL: Shape = Shape {
    name: "Platform",
    go_type: "external.Platform",
    fields: &[
        field("platformName", TEXT),
        field("cloudControllerManager", Type::Text("external.CloudControllerManager")),
    ],
};

static NETWORKING: Shape = Shape {
    name: "Networking",
    go_type: "types.Networking",
    fields: &[
        field("networkType", TEXT),
        field("machineNetwork", Type::List("[]types.MachineNetworkEntry", &MACHINE_NETWORK)),
        field("clusterNetwork", CLUSTER_NETWORKS),
        field("serviceNetwork", Type::List("[]ipnet.IPNet", &Type::Network)),
        field("clusterNetworkMTU", UINT32).since(Release::V4_15),
        field("ovnKubernetesConfig", Type::Struct(&OVN)).since(Release::V4_18),
        field("machineCIDR", Type::Network),
        field("type", TEXT),
        field("serviceCIDR", Type::Network),
        field("clusterNetworks", CLUSTER_NETWORKS),
    ],
};

const CLUSTER_NETWORKS: Type = Type::List("[]types.ClusterNetworkEntry", &CLUSTER_NETWORK);
const MACHINE_NETWORK: Type = Type::Struct(&Shape {
    name: "MachineNetworkEntry",
    go_type: "types.MachineNetworkEntry",
    fields: &[field("cidr", Type::Network)],
});
const CLUSTER_NETWORK: Type = Type::Struct(&Shape {
    name: "ClusterNetworkEntry",
    go_type: "types.ClusterNetworkEntry",
    fields: &[
        field("cidr", Type::Network),
        field("hostPrefix", INT32),
        field("hostSubnetLength", INT32),
    ],
});

static OVN: Shape = Shape {
    name: "OVNKubernetesConfig",
    go_type: "types.OVNKubernetesConfig",
    fields: &[field("ipv4", Type::Struct(&OVN_IPV4))],
};
static OVN_IPV4: Shape = Shape {
    name: "IPv4OVNKubernetesConfig",
    go_type: "types.IPv4OVNKubernetesConfig",
    fields: &[field("internalJoinSubnet", Type::Network)],
};

static PROXY: Shape = Shape {
    name: "Proxy",
    go_type: "types.Proxy",
    fields: &[field("httpProxy", TEXT), field("httpsProxy", TEXT), field("noProxy", TEXT)],
};

static OPERATOR_PUBLISHING: Shape = Shape {
    name: "OperatorPublishingStrategy",
    go_type: "types.OperatorPublishingStrategy",
    fields: &[field("ingress", TEXT), field("apiserver", TEXT)],
};

static BOOTSTRAP_IN_PLACE: Shape = Shape {
    name: "BootstrapInPlace",
    go_type: "types.BootstrapInPlace",
    fields: &[field("installationDisk", TEXT)],
};

static CAPABILITIES: Shape = Shape {
    name: "Capabilities",
    go_type: "types.Capabilities",
    fields: &[
        field("baselineCapabilitySet", Type::Text("v1.ClusterVersionCapabilitySet")),
        field(
            "additionalEnabledCapabilities",
            Type::List("[]v1.ClusterVersionCapability", &Type::Text("v1.ClusterVersionCapability")),
        ),
    ],
};
