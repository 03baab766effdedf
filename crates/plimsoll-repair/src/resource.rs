//! Kinds that plans may name, and where the API has them.

use plimsoll_model::EntityId;
use plimsoll_model::plan::Object;

/// Kind, group, version, plural.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("BareMetalHost", "metal3.io", "v1alpha1", "baremetalhosts"),
    ("CertificateSigningRequest", "certificates.k8s.io", "v1", "certificatesigningrequests"),
    ("ClusterOperator", "config.openshift.io", "v1", "clusteroperators"),
    ("ClusterVersion", "config.openshift.io", "v1", "clusterversions"),
    ("ConfigMap", "", "v1", "configmaps"),
    ("DaemonSet", "apps", "v1", "daemonsets"),
    ("Deployment", "apps", "v1", "deployments"),
    ("Etcd", "operator.openshift.io", "v1", "etcds"),
    ("Image", "config.openshift.io", "v1", "images"),
    ("Infrastructure", "config.openshift.io", "v1", "infrastructures"),
    ("KubeAPIServer", "operator.openshift.io", "v1", "kubeapiservers"),
    ("KubeControllerManager", "operator.openshift.io", "v1", "kubecontrollermanagers"),
    ("KubeScheduler", "operator.openshift.io", "v1", "kubeschedulers"),
    ("Machine", "machine.openshift.io", "v1beta1", "machines"),
    ("MachineConfig", "machineconfiguration.openshift.io", "v1", "machineconfigs"),
    ("MachineConfigPool", "machineconfiguration.openshift.io", "v1", "machineconfigpools"),
    ("MachineSet", "machine.openshift.io", "v1beta1", "machinesets"),
    (
        "MutatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        "v1",
        "mutatingwebhookconfigurations",
    ),
    ("Node", "", "v1", "nodes"),
    ("Pod", "", "v1", "pods"),
    ("Provisioning", "metal3.io", "v1alpha1", "provisionings"),
    ("Proxy", "config.openshift.io", "v1", "proxies"),
    ("Secret", "", "v1", "secrets"),
    (
        "ValidatingWebhookConfiguration",
        "admissionregistration.k8s.io",
        "v1",
        "validatingwebhookconfigurations",
    ),
];

/// An object that nobody has looked at yet.
pub fn resource(entity: &EntityId) -> Option<Object> {
    let (kind, group, version, plural) = KINDS.iter().find(|(kind, ..)| *kind == entity.kind)?;
    Some(Object {
        group: (*group).into(),
        version: (*version).into(),
        plural: (*plural).into(),
        kind: (*kind).into(),
        namespace: entity.namespace.clone(),
        name: entity.name.clone(),
        uid: None,
        resource_version: None,
        decides: Vec::new(),
        decision: None,
    })
}
