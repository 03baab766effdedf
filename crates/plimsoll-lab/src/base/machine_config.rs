//! MachineConfigs, pools and the ControllerConfig.

use serde_json::{Value, json};

use super::secrets::Pki;
use super::writer::Writer;
use super::{BaseParams, Phase, Platform, Stack, digest, uid};

const VERSION: &str = "machineconfiguration.openshift.io/v1";

pub(super) fn rendered(params: &BaseParams, pool: &str) -> String {
    format!("rendered-{pool}-{}", &digest(&format!("{pool} {}", params.version))[..32])
}

const SOURCES: [(&str, &str); 7] = [
    ("00-", ""),
    ("01-", "-container-runtime"),
    ("01-", "-kubelet"),
    ("97-", "-generated-kubelet"),
    ("98-", "-generated-kubelet"),
    ("99-", "-generated-registries"),
    ("99-", "-ssh"),
];

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for pool in ["master", "worker"] {
        for (head, tail) in SOURCES {
            writer.put(config(params, &format!("{head}{pool}{tail}"), Some(pool), 370));
        }
        let mut all = config(params, &rendered(params, pool), None, 384);
        all["metadata"]["ownerReferences"] = json!([{
            "apiVersion": VERSION, "blockOwnerDeletion": true, "controller": true,
            "kind": "MachineConfigPool", "name": pool, "uid": uid("MachineConfigPool", "", pool)
        }]);
        all["spec"]["osImageURL"] = params.image("rhel-coreos").into();
        writer.put(all);
        writer.put(machine_config_pool(params, pool));
    }
    writer.put(controller_config(params));
}

fn config(params: &BaseParams, name: &str, pool: Option<&str>, seconds: i64) -> Value {
    let mut meta = json!({
        "name": name, "creationTimestamp": params.stamp(seconds), "generation": 1,
        "annotations": {"machineconfiguration.openshift.io/generated-by-controller-version": &digest("mco")[..40]}
    });
    if let Some(pool) = pool {
        meta["labels"] = json!({"machineconfiguration.openshift.io/role": pool});
    }
    let files = json!([{
        "contents": {"compression": "", "source": "data:,unqualified-search-registries%20%3D%20%5B%27registry.access.redhat.com%27%5D%0A"},
        "mode": 420, "overwrite": true, "path": "/etc/containers/registries.conf"
    }]);
    json!({
        "apiVersion": VERSION, "kind": "MachineConfig", "metadata": meta,
        "spec": {
            "config": {"ignition": {"version": "3.4.0"}, "storage": {"files": files}},
            "extensions": [], "fips": false, "kernelArguments": [], "kernelType": "default", "osImageURL": ""
        }
    })
}

fn machine_config_pool(params: &BaseParams, pool: &str) -> Value {
    let config = rendered(params, pool);
    let count = match (pool, params.phase) {
        ("master", _) => params.masters.len(),
        (_, Phase::Installed) => params.workers.len(),
        (_, Phase::Installing) => 0,
    };
    let sources: Vec<Value> = SOURCES
        .iter()
        .map(|(head, tail)| json!({"apiVersion": VERSION, "kind": "MachineConfig", "name": format!("{head}{pool}{tail}")}))
        .collect();
    let configuration = json!({"name": config, "source": sources});
    let condition = |name: &str, status: &str, message: String, seconds: i64| json!({"type": name, "status": status, "reason": "", "message": message, "lastTransitionTime": params.stamp(seconds)});
    // A signer is replaced long before it ends.
    let signer = |subject: &str, days: i64| {
        let period = jiff::SignedDuration::from_hours(24 * days);
        let mut expiry = params.installed.checked_add(period).unwrap_or(params.now);
        while expiry < params.now {
            expiry = expiry.checked_add(period).unwrap_or(jiff::Timestamp::MAX);
        }
        json!({"bundle": "KubeAPIServerServingCAData", "expiry": expiry.to_string(), "subject": subject})
    };
    json!({
        "apiVersion": VERSION, "kind": "MachineConfigPool",
        "metadata": {
            "name": pool, "generation": 2, "creationTimestamp": params.stamp(366),
            "labels": {"machineconfiguration.openshift.io/mco-built-in": "", "operator.machineconfiguration.openshift.io/required-for-upgrade": "",
                       format!("pools.operator.machineconfiguration.openshift.io/{pool}"): ""}
        },
        "spec": {
            "configuration": configuration, "paused": false,
            "machineConfigSelector": {"matchLabels": {"machineconfiguration.openshift.io/role": pool}},
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{pool}"): ""}}
        },
        "status": {
            "certExpirys": [
                signer("CN=admin-kubeconfig-signer,OU=openshift", 3_650),
                signer("CN=kube-csr-signer_@1764702307", 30),
                signer("CN=kube-apiserver-to-kubelet-signer,OU=openshift", 365),
                signer("CN=kube-control-plane-signer,OU=openshift", 365),
                signer("CN=kubelet-bootstrap-kubeconfig-signer,OU=openshift", 3_650)
            ],
            "conditions": [
                condition("RenderDegraded", "False", String::new(), 384),
                condition("NodeDegraded", "False", String::new(), 390),
                condition("Degraded", "False", String::new(), 390),
                condition("Updated", "True", format!("All nodes are updated with MachineConfig {config}"), if pool == "master" { 402 } else { 1_640 }),
                condition("Updating", "False", String::new(), if pool == "master" { 402 } else { 1_640 })
            ],
            "configuration": configuration, "degradedMachineCount": 0, "machineCount": count,
            "observedGeneration": 2, "readyMachineCount": count, "unavailableMachineCount": 0,
            "updatedMachineCount": count
        }
    })
}

fn controller_config(params: &BaseParams) -> Value {
    let pki = Pki::of(params);
    let completed = |name: &str, status: &str| json!({"type": name, "status": status, "reason": "", "message": if status == "True" { "sync completed towards (3) generation using controller version" } else { "" }, "lastTransitionTime": params.stamp(382)});
    let families = match params.stack {
        Stack::V4 => "IPv4",
        Stack::V6 => "IPv6",
        Stack::Dual => "DualStack",
    };
    let (kind, platform) = match params.platform {
        Platform::BareMetal => (
            "baremetal",
            json!({"baremetal": {"apiServerInternalIPs": params.api_vips(), "ingressIPs": params.ingress_vips()}, "type": "BareMetal"}),
        ),
        Platform::None => ("none", json!({"type": "None"})),
        Platform::External => ("external", json!({"type": "External"})),
    };
    json!({
        "apiVersion": VERSION, "kind": "ControllerConfig",
        "metadata": {"name": "machine-config-controller", "generation": 3, "creationTimestamp": params.stamp(360), "resourceVersion": "24211"},
        "spec": {
            "baseOSContainerImage": params.image("rhel-coreos"), "cloudProviderConfig": "", "clusterDNSIP": params.service_ip(10),
            "dns": {"spec": {"baseDomain": params.fqdn(), "platform": {"type": ""}}},
            "infra": {"status": {"controlPlaneTopology": params.topology(), "platformStatus": platform}},
            "ipFamilies": families, "kubeAPIServerServingCAData": pki.base64(&pki.root_ca), "rootCAData": pki.base64(&pki.root_ca),
            "osImageURL": "", "platform": kind, "releaseImage": params.release_image()
        },
        "status": {
            "conditions": [completed("TemplateControllerRunning", "False"), completed("TemplateControllerCompleted", "True"), completed("TemplateControllerFailing", "False")],
            "controllerCertificates": [{"bundleFile": "RootCAData", "notAfter": "2035-11-30T18:50:04Z", "notBefore": "2025-12-02T18:50:04Z", "signer": "CN=root-ca,OU=openshift", "subject": "CN=root-ca,OU=openshift"}],
            "observedGeneration": 3
        }
    })
}
