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

/// Why an object is not what its kind and name say. Guards judge by the kind, and a request goes by the
/// path: a plan is a file, and may have been written to tell the two different things.
pub fn misfit(object: &Object) -> Option<String> {
    let Some(known) = resource(&object.entity()) else {
        return Some(format!("{} is no kind that plans touch", object.kind));
    };
    if (&known.group, &known.version, &known.plural)
        != (&object.group, &object.version, &object.plural)
    {
        let Object { group, version, plural, kind, .. } = object;
        return Some(format!("'{plural}' of '{group}/{version}' is not where a {kind} is"));
    }
    let mut names = object.namespace.iter().chain([&object.name]);
    names.find(|name| !is_plain_name(name)).map(|name| format!("'{name}' is no name of an object"))
}

/// Fit to stand in a path: it leads to nothing but itself.
pub fn is_plain_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    !name.is_empty() && name != "." && name != ".." && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Object {
        resource(&EntityId::namespaced("Secret", "openshift-config", "pull-secret")).unwrap()
    }

    #[test]
    fn every_kind_is_where_it_is() {
        for (kind, ..) in KINDS {
            let object = resource(&EntityId::cluster_scoped(kind, "a")).unwrap();
            assert_eq!(misfit(&object), None, "{kind}");
        }
        assert_eq!(misfit(&secret()), None);
    }

    #[test]
    fn a_secret_that_calls_itself_otherwise_is_found() {
        let renamed = Object { kind: "ConfigMap".into(), ..secret() };
        let said = misfit(&renamed).unwrap();
        assert_eq!(said, "'secrets' of '/v1' is not where a ConfigMap is");
        let of_another = Object { group: "example.com".into(), ..secret() };
        assert!(misfit(&of_another).is_some());
        let older = Object { version: "v1beta1".into(), ..secret() };
        assert!(misfit(&older).is_some());
        let unknown = Object { kind: "Lease".into(), ..secret() };
        assert_eq!(misfit(&unknown).unwrap(), "Lease is no kind that plans touch");
    }

    #[test]
    fn a_name_leads_to_nothing_else() {
        for name in ["", "..", "a/status", "a?x=", "a#", "%2e%2e", "a b"] {
            assert!(misfit(&Object { name: name.into(), ..secret() }).is_some(), "{name}");
            let space = Some(name.to_string());
            assert!(misfit(&Object { namespace: space, ..secret() }).is_some(), "{name}");
        }
    }
}
