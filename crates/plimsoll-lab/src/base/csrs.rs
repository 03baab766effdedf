use base64::Engine;
use serde_json::{Value, json};

use super::secrets::pem;
use super::writer::Writer;
use super::{BaseParams, Phase, suffix};

/// An approved request is kept for an hour. After a day these are the renewals of the first day's
/// certificates; during installation they are the first ones of the masters.
pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let workers: Vec<&str> =
        params.nodes().into_iter().filter(|node| !params.is_master(node)).collect();
    let masters = params.masters.iter().map(String::as_str);
    let nodes = if workers.is_empty() { masters.collect() } else { workers };
    // Requests are real ones, made for the names of the usual bases. On another cluster the last hour
    // has seen none, which is what most gathers show.
    let known = nodes.into_iter().filter(|node| !pem(&format!("{node}.client.csr.pem")).is_empty());
    for (number, node) in known.enumerate() {
        for (step, usage) in ["client", "serving"].into_iter().enumerate() {
            writer.put(request(params, node, usage, (number * 2 + step) as i64));
        }
    }
}

fn request(params: &BaseParams, node: &str, usage: &str, order: i64) -> Value {
    let created = match params.phase {
        Phase::Installed => params.ago(3_480 - order * 61),
        Phase::Installing => params.at(244 + order * 13),
    };
    let renewal = params.phase == Phase::Installed || usage == "serving";
    let (username, groups) = if renewal {
        (format!("system:node:{node}"), json!(["system:nodes", "system:authenticated"]))
    } else {
        (
            "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper".to_string(),
            json!([
                "system:serviceaccounts",
                "system:serviceaccounts:openshift-machine-config-operator",
                "system:authenticated"
            ]),
        )
    };
    let (signer, extra) = match usage {
        "client" => ("kubernetes.io/kube-apiserver-client-kubelet", "client auth"),
        _ => ("kubernetes.io/kubelet-serving", "server auth"),
    };
    let (reason, message) = match (params.phase, usage) {
        (Phase::Installing, _) => {
            ("KubectlApprove", "This CSR was approved by kubectl certificate approve.")
        }
        (Phase::Installed, "client") => (
            "AutoApproved",
            "Auto approving self kubelet client certificate after SubjectAccessReview.",
        ),
        (Phase::Installed, _) => (
            "NodeCSRApprove",
            "This CSR was approved by the Node CSR Approver (cluster-machine-approver)",
        ),
    };
    let approved = super::pods::later(created, 1).to_string();
    let encoded = |kind: &str| {
        base64::engine::general_purpose::STANDARD.encode(pem(&format!("{node}.{usage}.{kind}.pem")))
    };
    json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": format!("csr-{}", suffix(&format!("{node} {usage}"), 5)), "generateName": "csr-", "creationTimestamp": created.to_string()},
        "spec": {"groups": groups, "request": encoded("csr"), "signerName": signer, "usages": ["digital signature", extra], "username": username},
        "status": {
            "certificate": encoded("crt"),
            "conditions": [{"type": "Approved", "status": "True", "reason": reason, "message": message, "lastTransitionTime": approved, "lastUpdateTime": approved}]
        }
    })
}
