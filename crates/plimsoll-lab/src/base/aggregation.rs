//! Aggregated APIs, admission webhooks, and the services behind them.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, Platform};

/// Group, version, namespace and service.
const APIS: &[(&str, &str, &str, &str)] = &[
    ("apps.openshift.io", "v1", "openshift-apiserver", "api"),
    ("image.openshift.io", "v1", "openshift-apiserver", "api"),
    ("route.openshift.io", "v1", "openshift-apiserver", "api"),
    ("oauth.openshift.io", "v1", "openshift-oauth-apiserver", "api"),
    ("user.openshift.io", "v1", "openshift-oauth-apiserver", "api"),
    ("metrics.k8s.io", "v1beta1", "openshift-monitoring", "metrics-server"),
];

/// Configuration, namespace, service, failure policy.
const WEBHOOKS: &[(&str, &str, &str, &str)] = &[
    ("multus.openshift.io", "openshift-multus", "multus-admission-controller", "Fail"),
    (
        "prometheusrules.openshift.io",
        "openshift-monitoring",
        "prometheus-operator-admission-webhook",
        "Ignore",
    ),
];

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let mut services: Vec<(&str, &str)> = vec![("openshift-monitoring", "thanos-querier")];
    for (group, version, namespace, service) in APIS {
        services.push((namespace, service));
        writer.put(json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": {"name": format!("{version}.{group}"), "creationTimestamp": params.stamp(960)},
            "spec": {"group": group, "version": version, "service": {"name": service, "namespace": namespace, "port": 443}},
            "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Passed", "message": "all checks passed", "lastTransitionTime": params.stamp(1_200)}]}
        }));
    }
    writer.put(json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.apps", "creationTimestamp": params.stamp(5)},
        "spec": {"group": "apps", "version": "v1"},
        "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available", "lastTransitionTime": params.stamp(5)}]}
    }));
    let mut hooks = WEBHOOKS.to_vec();
    if params.platform == Platform::BareMetal {
        let name = "cluster-baremetal-validating-webhook-configuration";
        let service = "cluster-baremetal-webhook-service";
        hooks.push((name, "openshift-machine-api", service, "Fail"));
    }
    for (name, namespace, service, policy) in hooks {
        services.push((namespace, service));
        writer.put(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name, "creationTimestamp": params.stamp(800)},
            "webhooks": [{
                "name": format!("{service}.{namespace}.svc"), "failurePolicy": policy, "timeoutSeconds": 10, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": service, "namespace": namespace, "path": "/validate", "port": 443}}
            }]
        }));
    }
    services.sort_unstable();
    services.dedup();
    for (namespace, service) in services {
        writer.put(endpoints(params, namespace, service));
    }
}

fn endpoints(params: &BaseParams, namespace: &str, name: &str) -> Value {
    let mut address = (0..params.masters.len().min(2)).map(|n| format!("10.12{}.0.4{n}", 8 + n));
    let addresses: Vec<Value> = address.by_ref().map(|ip| json!({"ip": ip})).collect();
    json!({
        "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(820)},
        "subsets": [{"addresses": addresses, "ports": [{"name": "https", "port": 8443, "protocol": "TCP"}]}]
    })
}
