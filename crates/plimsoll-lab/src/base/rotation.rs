//! Certificates that the control-plane operators rotate, as the annotations beside them tell.
//!
//! The values are cut out; what they would say stands in the annotations. Lifetimes are those of a
//! cluster that is past its first day.

use base64::Engine;
use serde_json::json;

use super::writer::Writer;

const DAY: i64 = 86_400;

/// Namespace, names, issuer, days of life.
const ROTATED: &[(&str, &[&str], &str, i64)] = &[
    (
        "openshift-kube-apiserver",
        &["external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey"],
        "kube-apiserver-lb-signer",
        30,
    ),
    (
        "openshift-kube-apiserver",
        &["localhost-serving-cert-certkey"],
        "kube-apiserver-localhost-signer",
        30,
    ),
    (
        "openshift-kube-apiserver",
        &["service-network-serving-certkey"],
        "kube-apiserver-service-network-signer",
        30,
    ),
    ("openshift-kube-apiserver", &["aggregator-client"], "aggregator-signer", 30),
    ("openshift-kube-apiserver", &["kubelet-client"], "kube-apiserver-to-kubelet-signer", 30),
    (
        "openshift-kube-apiserver-operator",
        &["kube-apiserver-to-kubelet-signer"],
        "kube-apiserver-to-kubelet-signer",
        365,
    ),
    (
        "openshift-kube-apiserver-operator",
        &["kube-control-plane-signer"],
        "kube-control-plane-signer",
        60,
    ),
    (
        "openshift-config-managed",
        &["kube-controller-manager-client-cert-key", "kube-scheduler-client-cert-key"],
        "kube-control-plane-signer",
        30,
    ),
    (
        "openshift-kube-controller-manager",
        &["kube-controller-manager-client-cert-key"],
        "kube-control-plane-signer",
        30,
    ),
    ("openshift-kube-controller-manager", &["csr-signer"], "kubelet-signer", 30),
    (
        "openshift-kube-controller-manager-operator",
        &["csr-signer", "csr-signer-signer"],
        "kubelet-signer",
        60,
    ),
    (
        "openshift-kube-scheduler",
        &["kube-scheduler-client-cert-key"],
        "kube-control-plane-signer",
        30,
    ),
    ("openshift-etcd", &["etcd-signer"], "openshift-etcd_etcd-signer", 5 * 365),
];

pub(super) fn write(writer: &mut Writer) {
    for (namespace, names, issuer, days) in ROTATED {
        for name in *names {
            put(writer, namespace, name, issuer, *days);
        }
    }
    for node in writer.params.masters.clone() {
        for kind in ["peer", "serving", "serving-metrics"] {
            let name = format!("etcd-{kind}-{node}");
            put(writer, "openshift-etcd", &name, "openshift-etcd_etcd-signer", 3 * 365);
        }
    }
}

fn put(writer: &mut Writer, namespace: &str, name: &str, issuer: &str, days: i64) {
    let params = writer.params;
    let length = |bytes: usize| {
        base64::engine::general_purpose::STANDARD.encode(format!("{bytes} bytes long"))
    };
    let annotation = |key: &str| format!("auth.openshift.io/certificate-{key}");
    // Replaced when four fifths of its time are over, again and again.
    let mut made = params.at(900);
    while super::pods::later(made, days * DAY * 4 / 5) < params.now {
        made = super::pods::later(made, days * DAY * 4 / 5);
    }
    let ends = super::pods::later(made, days * DAY);
    let annotations = json!({
        annotation("issuer"): issuer, annotation("not-after"): ends.to_string(), annotation("not-before"): made.to_string()
    });
    writer.put(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "data": {"tls.crt": length(1_200), "tls.key": length(1_675)},
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": params.stamp(900), "annotations": annotations}
    }));
}
