//! Where a must-gather keeps which kind of object.

/// In which files objects of a kind stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// One `<plural>.yaml` for all.
    List,
    /// One file an object.
    Objects,
    Both,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// How edits call it: the kind, or `Kind.group` where two groups have it.
    pub alias: &'static str,
    /// Empty for the legacy group.
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
    pub forms: Forms,
}

use Forms::{Both, List, Objects};

const fn cluster(
    alias: &'static str,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    forms: Forms,
) -> Resource {
    Resource { alias, group, version, plural, namespaced: false, forms }
}

const fn namespaced(
    alias: &'static str,
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    forms: Forms,
) -> Resource {
    Resource { alias, group, version, plural, namespaced: true, forms }
}

const CONFIG: &str = "config.openshift.io";
const OPERATOR: &str = "operator.openshift.io";
const MACHINE: &str = "machine.openshift.io";
const MACHINE_CONFIG: &str = "machineconfiguration.openshift.io";

pub const RESOURCES: &[Resource] = &[
    cluster("APIServer", CONFIG, "v1", "apiservers", List),
    cluster("Authentication", CONFIG, "v1", "authentications", Both),
    cluster("ClusterOperator", CONFIG, "v1", "clusteroperators", Both),
    cluster("ClusterVersion", CONFIG, "v1", "clusterversions", Both),
    cluster("Console", CONFIG, "v1", "consoles", Both),
    cluster("DNS", CONFIG, "v1", "dnses", List),
    cluster("FeatureGate", CONFIG, "v1", "featuregates", Both),
    cluster("Image", CONFIG, "v1", "images", List),
    cluster("Infrastructure", CONFIG, "v1", "infrastructures", Both),
    cluster("Ingress", CONFIG, "v1", "ingresses", List),
    cluster("Network", CONFIG, "v1", "networks", List),
    cluster("OAuth", CONFIG, "v1", "oauths", Both),
    cluster("Proxy", CONFIG, "v1", "proxies", Both),
    cluster("Scheduler", CONFIG, "v1", "schedulers", Both),
    cluster("Authentication.operator", OPERATOR, "v1", "authentications", Objects),
    cluster("DNS.operator", OPERATOR, "v1", "dnses", Objects),
    cluster("Etcd", OPERATOR, "v1", "etcds", Objects),
    cluster("KubeAPIServer", OPERATOR, "v1", "kubeapiservers", Objects),
    cluster("KubeControllerManager", OPERATOR, "v1", "kubecontrollermanagers", Objects),
    cluster("KubeScheduler", OPERATOR, "v1", "kubeschedulers", Objects),
    cluster("Network.operator", OPERATOR, "v1", "networks", Objects),
    namespaced("IngressController", OPERATOR, "v1", "ingresscontrollers", Objects),
    cluster("ControllerConfig", MACHINE_CONFIG, "v1", "controllerconfigs", Objects),
    cluster("KubeletConfig", MACHINE_CONFIG, "v1", "kubeletconfigs", Objects),
    cluster("MachineConfig", MACHINE_CONFIG, "v1", "machineconfigs", Objects),
    cluster("MachineConfigPool", MACHINE_CONFIG, "v1", "machineconfigpools", Objects),
    namespaced("Machine", MACHINE, "v1beta1", "machines", Objects),
    namespaced("MachineSet", MACHINE, "v1beta1", "machinesets", Objects),
    namespaced("MachineHealthCheck", MACHINE, "v1beta1", "machinehealthchecks", Objects),
    namespaced("BareMetalHost", "metal3.io", "v1alpha1", "baremetalhosts", Objects),
    namespaced("FirmwareSchema", "metal3.io", "v1alpha1", "firmwareschemas", Objects),
    namespaced("HardwareData", "metal3.io", "v1alpha1", "hardwaredata", Objects),
    namespaced(
        "HostFirmwareComponents",
        "metal3.io",
        "v1alpha1",
        "hostfirmwarecomponents",
        Objects,
    ),
    namespaced("HostFirmwareSettings", "metal3.io", "v1alpha1", "hostfirmwaresettings", Objects),
    namespaced("PreprovisioningImage", "metal3.io", "v1alpha1", "preprovisioningimages", Objects),
    cluster("Provisioning", "metal3.io", "v1alpha1", "provisionings", Objects),
    cluster(
        "CertificateSigningRequest",
        "certificates.k8s.io",
        "v1",
        "certificatesigningrequests",
        Both,
    ),
    cluster("Node", "", "v1", "nodes", Objects),
    cluster("Namespace", "", "v1", "namespaces", Objects),
    namespaced("ConfigMap", "", "v1", "configmaps", List),
    namespaced("Endpoints", "", "v1", "endpoints", List),
    namespaced("Event", "", "v1", "events", List),
    namespaced("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims", List),
    namespaced("Pod", "", "v1", "pods", Both),
    namespaced("Secret", "", "v1", "secrets", List),
    namespaced("Service", "", "v1", "services", List),
    namespaced("DaemonSet", "apps", "v1", "daemonsets", List),
    namespaced("Deployment", "apps", "v1", "deployments", List),
    namespaced("ReplicaSet", "apps", "v1", "replicasets", List),
    namespaced("StatefulSet", "apps", "v1", "statefulsets", List),
    namespaced("Job", "batch", "v1", "jobs", List),
    namespaced("Lease", "coordination.k8s.io", "v1", "leases", List),
    cluster("APIService", "apiregistration.k8s.io", "v1", "apiservices", Objects),
    cluster("StorageClass", "storage.k8s.io", "v1", "storageclasses", Objects),
    cluster(
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
        Objects,
    ),
    cluster(
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
        Objects,
    ),
];

pub fn by_alias(alias: &str) -> Option<&'static Resource> {
    RESOURCES.iter().find(|resource| resource.alias == alias)
}

/// The resource of an object that says its `apiVersion` and `kind`.
pub fn of_object(api_version: &str, kind: &str) -> Option<&'static Resource> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    RESOURCES.iter().find(|resource| resource.kind() == kind && resource.group == group)
}

impl Resource {
    pub fn kind(&self) -> &'static str {
        self.alias.split('.').next().unwrap_or(self.alias)
    }

    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.into(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The namespace that an edit may leave out.
    pub fn home(&self) -> Option<&'static str> {
        matches!(self.group, MACHINE | "metal3.io").then_some("openshift-machine-api")
    }

    fn folder(&self, namespace: Option<&str>) -> String {
        let group = if self.group.is_empty() { "core" } else { self.group };
        match namespace {
            Some(namespace) => format!("namespaces/{namespace}/{group}/{}", self.plural),
            None => format!("cluster-scoped-resources/{group}/{}", self.plural),
        }
    }

    pub fn list_path(&self, namespace: Option<&str>) -> String {
        format!("{}.yaml", self.folder(namespace))
    }

    pub fn object_path(&self, namespace: Option<&str>, name: &str) -> String {
        match (self.alias, namespace) {
            ("Pod", Some(namespace)) => format!("namespaces/{namespace}/pods/{name}/{name}.yaml"),
            ("Namespace", _) => format!("namespaces/{name}/{name}.yaml"),
            _ => format!("{}/{name}.yaml", self.folder(namespace)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_with_one_kind_are_told_apart() {
        let config = of_object("config.openshift.io/v1", "Network").unwrap();
        let operator = of_object("operator.openshift.io/v1", "Network").unwrap();
        assert_eq!((config.alias, operator.alias), ("Network", "Network.operator"));
        assert_eq!(
            operator.object_path(None, "cluster"),
            "cluster-scoped-resources/operator.openshift.io/networks/cluster.yaml"
        );
    }

    #[test]
    fn pods_stand_where_must_gather_puts_them() {
        let pod = by_alias("Pod").unwrap();
        assert_eq!(pod.list_path(Some("a")), "namespaces/a/core/pods.yaml");
        assert_eq!(pod.object_path(Some("a"), "p"), "namespaces/a/pods/p/p.yaml");
        assert_eq!(by_alias("Machine").unwrap().home(), Some("openshift-machine-api"));
    }
}
