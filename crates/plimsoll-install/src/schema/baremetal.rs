use super::{INT, Shape, TEXT, TEXTS, Type, field};
use crate::release::Release;

pub(crate) static BAREMETAL: Shape = Shape {
    name: "Platform",
    go_type: "baremetal.Platform",
    fields: &[
        field("libvirtURI", TEXT),
        field("clusterProvisioningIP", TEXT),
        field("provisioningHostIP", TEXT),
        field("bootstrapProvisioningIP", TEXT),
        field("externalBridge", TEXT),
        field("externalMACAddress", TEXT),
        field("provisioningNetwork", Type::Text("baremetal.ProvisioningNetwork")),
        field("provisioningBridge", TEXT),
        field("provisioningMACAddress", TEXT),
        field("provisioningNetworkInterface", TEXT),
        field("provisioningNetworkCIDR", Type::Network),
        field("provisioningDHCPExternal", Type::Bool),
        field("provisioningDHCPRange", TEXT),
        field("hosts", Type::List("[]*baremetal.Host", &Type::Struct(&HOST))),
        field("defaultMachinePlatform", Type::Struct(&MACHINE_POOL)),
        field("apiVIP", TEXT),
        field("apiVIPs", TEXTS),
        field("ingressVIP", TEXT),
        field("ingressVIPs", TEXTS),
        field("bootstrapOSImage", TEXT),
        field("clusterOSImage", TEXT),
        field("bootstrapExternalStaticIP", TEXT),
        field("bootstrapExternalStaticGateway", TEXT),
        field("loadBalancer", Type::Struct(&LOAD_BALANCER)),
        field("bootstrapExternalStaticDNS", TEXT),
        field("additionalNTPServers", TEXTS).since(Release::V4_18),
    ],
};

pub(crate) static MACHINE_POOL: Shape =
    Shape { name: "MachinePool", go_type: "baremetal.MachinePool", fields: &[] };

static LOAD_BALANCER: Shape = Shape {
    name: "BareMetalPlatformLoadBalancer",
    go_type: "v1.BareMetalPlatformLoadBalancer",
    fields: &[field("type", Type::Text("v1.PlatformLoadBalancerType"))],
};

static HOST: Shape = Shape {
    name: "Host",
    go_type: "baremetal.Host",
    fields: &[
        field("name", TEXT),
        field("bmc", Type::Struct(&BMC)),
        field("role", TEXT),
        field("bootMACAddress", TEXT),
        field("hardwareProfile", TEXT),
        field("rootDeviceHints", Type::Struct(&ROOT_DEVICE_HINTS)),
        field("bootMode", Type::Text("baremetal.BootMode")),
        field("networkConfig", Type::Raw),
    ],
};

pub(crate) static BMC: Shape = Shape {
    name: "BMC",
    go_type: "baremetal.BMC",
    fields: &[
        field("username", TEXT),
        field("password", TEXT),
        field("address", TEXT),
        field("disableCertificateVerification", Type::Bool),
    ],
};

pub(crate) static ROOT_DEVICE_HINTS: Shape = Shape {
    name: "RootDeviceHints",
    go_type: "baremetal.RootDeviceHints",
    fields: &[
        field("deviceName", TEXT),
        field("hctl", TEXT),
        field("model", TEXT),
        field("vendor", TEXT),
        field("serialNumber", TEXT),
        field("minSizeGigabytes", INT),
        field("wwn", TEXT),
        field("wwnWithExtension", TEXT),
        field("wwnVendorExtension", TEXT),
        field("rotational", Type::Bool),
    ],
};
