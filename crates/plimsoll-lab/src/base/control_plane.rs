//! The operators of the four components that run as static pods, with the conditions they report.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, uid};
use crate::edit::klog_header;

/// Reported by every static pod operator: type, status, reason, message.
const SHARED: [(&str, &str, &str, &str); 15] = [
    ("UnsupportedConfigOverridesUpgradeable", "True", "NoUnsupportedConfigOverrides", ""),
    ("NodeControllerDegraded", "False", "MasterNodesReady", "All master nodes are ready"),
    ("GuardControllerDegraded", "False", "AsExpected", ""),
    ("MissingStaticPodControllerDegraded", "False", "AsExpected", ""),
    ("InstallerControllerDegraded", "False", "", ""),
    ("NodeInstallerDegraded", "False", "", ""),
    ("RevisionControllerDegraded", "False", "", ""),
    ("InstallerPodContainerWaitingDegraded", "False", "", ""),
    ("InstallerPodNetworkingDegraded", "False", "", ""),
    ("InstallerPodPendingDegraded", "False", "", ""),
    ("ConfigObservationDegraded", "False", "", ""),
    ("BackingResourceControllerDegraded", "False", "AsExpected", ""),
    ("StaticPodsDegraded", "False", "", ""),
    ("ResourceSyncControllerDegraded", "False", "", ""),
    ("TargetConfigControllerDegraded", "False", "", ""),
];

const ETCD: [(&str, &str, &str, &str); 17] = [
    ("EtcdMembersControllerDegraded", "False", "MembersReported", ""),
    ("MachineDeletionHooksControllerDegraded", "False", "AsExpected", ""),
    ("DefragControllerDisabled", "False", "AsExpected", ""),
    ("ClusterMemberRemovalControllerDegraded", "False", "AsExpected", ""),
    ("EnvVarControllerDegraded", "False", "AsExpected", ""),
    ("ScriptControllerDegraded", "False", "AsExpected", ""),
    ("ClusterMemberControllerDegraded", "False", "AsExpected", ""),
    ("EtcdEndpointsDegraded", "False", "EtcdEndpointsUpdated", ""),
    ("EtcdStaticResourcesDegraded", "False", "AsExpected", ""),
    ("EtcdMembersDegraded", "False", "AsExpected", "No unhealthy members found"),
    ("EtcdMembersProgressing", "False", "AsExpected", "No unstarted etcd members found"),
    ("DefragControllerDegraded", "False", "AsExpected", ""),
    (
        "EtcdRunningInCluster",
        "True",
        "BootstrapAlreadyRemoved",
        "etcd-bootstrap member is already removed",
    ),
    ("BootstrapTeardownDegraded", "False", "AsExpected", ""),
    (
        "EtcdBootstrapMemberRemoved",
        "True",
        "BootstrapMemberRemoved",
        "etcd bootstrap member is removed",
    ),
    ("EtcdCertSignerControllerDegraded", "False", "AsExpected", ""),
    ("FSyncControllerDegraded", "False", "AsExpected", ""),
];

const API_SERVER: [(&str, &str, &str, &str); 20] = [
    ("StaticPodFallbackRevisionDegraded", "False", "", ""),
    ("CertRotationTimeUpgradeable", "True", "DefaultCertRotationBase", ""),
    ("StartupMonitorPodDegraded", "False", "", ""),
    ("StartupMonitorPodContainerExcessiveRestartsDegraded", "False", "", ""),
    ("WorkerLatencyProfileComplete", "True", "ProfileEmpty", "latency profile not set on cluster"),
    ("NodeKubeconfigControllerDegraded", "False", "AsExpected", ""),
    ("KubeAPIServerStaticResourcesDegraded", "False", "AsExpected", ""),
    ("EncryptionStateControllerDegraded", "False", "", ""),
    ("CertRotation_AggregatorProxyClientCert_Degraded", "False", "", ""),
    ("CertRotation_InternalLoadBalancerServing_Degraded", "False", "", ""),
    ("CertRotation_ControlPlaneNodeAdminClient_Degraded", "False", "", ""),
    ("CertRotation_KubeAPIServerToKubeletClientCert_Degraded", "False", "", ""),
    ("CertRotation_LocalhostRecoveryServing_Degraded", "False", "", ""),
    ("CertRotation_ServiceNetworkServing_Degraded", "False", "", ""),
    ("CertRotation_LocalhostServing_Degraded", "False", "", ""),
    (
        "KubeletMinorVersionUpgradeable",
        "True",
        "KubeletMinorVersionsSynced",
        "Kubelet and API server minor versions are synced.",
    ),
    ("Encrypted", "False", "EncryptionDisabled", "Encryption is not enabled"),
    ("MutatingAdmissionWebhookConfigurationError", "False", "", ""),
    ("ValidatingAdmissionWebhookConfigurationError", "False", "", ""),
    ("VirtualResourceAdmissionError", "False", "", ""),
];

const CONTROLLER_MANAGER: [(&str, &str, &str, &str); 5] = [
    ("GarbageCollectorDegraded", "False", "AsExpected", ""),
    ("CertRotation_CSRSigningCert_Degraded", "False", "", ""),
    ("SATokenSignerDegraded", "False", "", ""),
    ("KubeControllerManagerStaticResourcesDegraded", "False", "AsExpected", ""),
    ("Upgradeable", "True", "", ""),
];

/// Revision at which a component's static pods stand, by the name of its ClusterOperator.
pub(crate) fn revision(operator: &str) -> u32 {
    match operator {
        "etcd" => 8,
        "kube-apiserver" => 9,
        "kube-controller-manager" => 7,
        _ => 6,
    }
}

pub(super) fn active(masters: usize) -> String {
    if masters == 1 { "1 node is active".into() } else { format!("{masters} nodes are active") }
}

pub(super) fn at_revision(masters: usize, revision: u32) -> String {
    if masters == 1 {
        return format!("1 node is at revision {revision}");
    }
    format!("{masters} nodes are at revision {revision}")
}

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    writer.put(object(params, "Etcd", "etcd", &ETCD));
    writer.put(object(params, "KubeAPIServer", "kube-apiserver", &API_SERVER));
    writer.put(object(
        params,
        "KubeControllerManager",
        "kube-controller-manager",
        &CONTROLLER_MANAGER,
    ));
    writer.put(object(params, "KubeScheduler", "kube-scheduler", &[]));
}

fn object(
    params: &BaseParams,
    kind: &str,
    operator: &str,
    own: &[(&str, &str, &str, &str)],
) -> Value {
    let masters = params.masters.len();
    let revision = revision(operator);
    let at = at_revision(masters, revision);
    let available = format!("{}; {at}", active(masters));
    let members = format!("{masters} members are available");
    let mut rows: Vec<(&str, &str, &str, &str)> = SHARED.iter().chain(own).copied().collect();
    rows.push(("StaticPodsAvailable", "True", "", &available));
    rows.push(("NodeInstallerProgressing", "False", "AllNodesAtLatestRevision", &at));
    if operator == "etcd" {
        rows.push(("EtcdMembersAvailable", "True", "EtcdQuorate", &members));
    }
    let settled = match operator {
        "kube-apiserver" => super::static_pods::last_rollout(params).to_string(),
        _ => params.stamp(1_010),
    };
    let conditions: Vec<Value> = rows
        .into_iter()
        .map(|(name, status, reason, message)| {
            let mut condition = json!({"type": name, "status": status, "lastTransitionTime": if name == "NodeInstallerProgressing" { settled.clone() } else { params.stamp(412 + i64::from(revision) * 7) }});
            if !reason.is_empty() {
                condition["reason"] = reason.into();
            }
            if !message.is_empty() {
                condition["message"] = message.into();
            }
            condition
        })
        .collect();
    json!({
        "apiVersion": "operator.openshift.io/v1", "kind": kind,
        "metadata": {
            "name": "cluster", "generation": 3, "creationTimestamp": params.stamp(50),
            "annotations": {"include.release.openshift.io/self-managed-high-availability": "true", "release.openshift.io/create-only": "true"},
            "ownerReferences": [{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "name": "version", "uid": uid("ClusterVersion", "", "version")}]
        },
        "spec": {"logLevel": "Normal", "managementState": "Managed", "observedConfig": observed(params, kind), "operatorLogLevel": "Normal", "unsupportedConfigOverrides": null},
        "status": {
            "conditions": conditions, "latestAvailableRevision": revision, "readyReplicas": 0,
            "nodeStatuses": node_statuses(params, operator, revision)
        }
    })
}

/// The first master failed one installer while the API moved to it during installation, as most
/// real clusters show, and got over it.
fn node_statuses(params: &BaseParams, operator: &str, revision: u32) -> Vec<Value> {
    params
        .masters
        .iter()
        .enumerate()
        .map(|(number, node)| {
            let mut status = json!({"currentRevision": revision, "nodeName": node});
            if number == 0 && operator == "kube-controller-manager" {
                status["lastFailedCount"] = 1.into();
                status["lastFailedReason"] = "InstallerFailed".into();
                status["lastFailedRevision"] = 4.into();
                status["lastFailedTime"] = params.stamp(655).into();
                let api = super::bracketed(&params.service_ip(1));
                status["lastFailedRevisionErrors"] = json!([format!(
                    "installer: Error getting installer pods on current node {node}: Get \"https://{api}:443/api/v1/namespaces/openshift-kube-controller-manager/pods?labelSelector=app%3Dinstaller\": dial tcp {api}:443: connect: connection refused\n{}cmd.go:105] timed out waiting for the condition\n",
                    klog_header('F', params.at(652), 1)
                )]);
            }
            status
        })
        .collect()
}

fn observed(params: &BaseParams, kind: &str) -> Value {
    match kind {
        "Etcd" => {
            json!({"controlPlane": {"replicas": params.wanted().0}, "servingInfo": {"minTLSVersion": "VersionTLS12"}})
        }
        "KubeAPIServer" => {
            let mut servers: Vec<String> = params
                .masters
                .iter()
                .map(|node| format!("https://{}:2379", super::bracketed(params.ip(node))))
                .collect();
            servers.push("https://localhost:2379".into());
            json!({"apiServerArguments": {"etcd-servers": servers}, "servicesSubnet": params.service_networks().join(",")})
        }
        "KubeControllerManager" => {
            let pods: Vec<&str> =
                params.cluster_networks().into_iter().map(|(cidr, _)| cidr).collect();
            json!({"extendedArguments": {"cluster-cidr": pods, "cluster-name": [super::config::infrastructure_name(params)], "service-cluster-ip-range": params.service_networks()}})
        }
        _ => json!({"servingInfo": {"minTLSVersion": "VersionTLS12"}}),
    }
}
