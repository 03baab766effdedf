//! Events. The API keeps them for three hours; what they complain of here is over.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, Phase, hash};

struct Row {
    namespace: &'static str,
    kind: &'static str,
    name: String,
    severity: &'static str,
    reason: &'static str,
    message: String,
    /// Seconds before the gather.
    first: i64,
    last: i64,
    count: u32,
}

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let mut rows = Vec::new();
    match params.phase {
        Phase::Installed => steady(params, &mut rows),
        Phase::Installing => installing(params, &mut rows),
    }
    for row in &rows {
        writer.put(event(params, row));
    }
}

fn event(params: &BaseParams, row: &Row) -> Value {
    let (first, last) = (params.ago(row.first).to_string(), params.ago(row.last).to_string());
    let name = format!(
        "{}.{:016x}",
        row.name,
        hash(&format!("{}{}{}", row.name, row.reason, row.message))
    );
    let mut involved = json!({"apiVersion": "v1", "kind": row.kind, "name": row.name});
    if row.kind != "Node" {
        involved["namespace"] = row.namespace.into();
    }
    json!({
        "apiVersion": "v1", "kind": "Event", "count": row.count, "eventTime": null, "firstTimestamp": first, "lastTimestamp": last,
        "involvedObject": involved, "message": row.message, "reason": row.reason, "type": row.severity,
        "metadata": {"name": name, "namespace": row.namespace, "creationTimestamp": first},
        "reportingComponent": "kubelet", "reportingInstance": "", "source": {"component": "kubelet"}
    })
}

fn steady(params: &BaseParams, rows: &mut Vec<Row>) {
    for (number, node) in params.masters.iter().enumerate() {
        let rollout = 10_260 - number as i64 * 260;
        let pod = format!("kube-apiserver-{node}");
        let mut api = |kind: &'static str,
                       name: &str,
                       severity: &'static str,
                       reason: &'static str,
                       message: String,
                       first: i64,
                       count: u32| {
            rows.push(Row {
                namespace: "openshift-kube-apiserver",
                kind,
                name: name.into(),
                severity,
                reason,
                message,
                first,
                last: first - 25,
                count,
            });
        };
        api(
            "Pod",
            &pod,
            "Normal",
            "Created",
            "Created container kube-apiserver".into(),
            rollout,
            1,
        );
        api(
            "Pod",
            &pod,
            "Normal",
            "Started",
            "Started container kube-apiserver".into(),
            rollout,
            1,
        );
        api(
            "Pod",
            &pod,
            "Warning",
            "Unhealthy",
            "Startup probe failed: HTTP probe failed with statuscode: 500".into(),
            rollout - 8,
            4,
        );
        api(
            "Pod",
            &format!("kube-apiserver-guard-{node}"),
            "Warning",
            "ProbeError",
            format!(
                "Readiness probe error: Get \"https://{}:6443/readyz\": dial tcp {}:6443: connect: connection refused\nbody: \n",
                super::bracketed(params.ip(node)),
                super::bracketed(params.ip(node))
            ),
            rollout + 20,
            9,
        );
        api(
            "Pod",
            &format!("kube-apiserver-guard-{node}"),
            "Warning",
            "Unhealthy",
            format!(
                "Readiness probe failed: Get \"https://{}:6443/readyz\": dial tcp {}:6443: connect: connection refused",
                super::bracketed(params.ip(node)),
                super::bracketed(params.ip(node))
            ),
            rollout + 20,
            9,
        );
        rows.push(Row {
            namespace: "default",
            kind: "Node",
            name: node.clone(),
            severity: "Normal",
            reason: "ConfigDriftMonitorStarted",
            message: format!(
                "Config Drift Monitor started, watching against {}",
                super::machine_config::rendered(params, "master")
            ),
            first: 9_800,
            last: 9_800,
            count: 1,
        });
    }
    let mut other = |namespace: &'static str,
                     kind: &'static str,
                     name: &str,
                     severity: &'static str,
                     reason: &'static str,
                     message: &str,
                     first: i64,
                     last: i64,
                     count: u32| {
        rows.push(Row {
            namespace,
            kind,
            name: name.into(),
            severity,
            reason,
            message: message.into(),
            first,
            last,
            count,
        });
    };
    let job = "collect-profiles-29412345-x7k2p";
    let olm = "openshift-operator-lifecycle-manager";
    other(
        olm,
        "Pod",
        job,
        "Normal",
        "Scheduled",
        "Successfully assigned openshift-operator-lifecycle-manager/collect-profiles-29412345-x7k2p",
        2_700,
        2_700,
        1,
    );
    other(
        olm,
        "Pod",
        job,
        "Warning",
        "FailedMount",
        "MountVolume.SetUp failed for volume \"config-volume\" : object \"openshift-operator-lifecycle-manager\"/\"collect-profiles-config\" not registered",
        2_700,
        2_698,
        2,
    );
    other(olm, "Pod", job, "Normal", "Completed", "Job completed", 2_640, 2_640, 1);
    other(
        "openshift-marketplace",
        "Pod",
        "redhat-operators-kx7w2",
        "Warning",
        "BackOff",
        "Back-off pulling image \"registry.redhat.io/redhat/redhat-operator-index:v4.18\"",
        9_900,
        9_720,
        5,
    );
    other(
        "openshift-marketplace",
        "Pod",
        "redhat-operators-kx7w2",
        "Normal",
        "Pulled",
        "Successfully pulled image \"registry.redhat.io/redhat/redhat-operator-index:v4.18\" in 18.2s",
        9_690,
        9_690,
        1,
    );
    other(
        "openshift-authentication",
        "Pod",
        "oauth-openshift-6c9d8f7b5-old",
        "Warning",
        "Unhealthy",
        "Readiness probe failed: Get \"https://10.128.0.61:6443/healthz\": dial tcp 10.128.0.61:6443: connect: connection refused",
        9_500,
        9_490,
        3,
    );
    other(
        "openshift-authentication",
        "Pod",
        "oauth-openshift-6c9d8f7b5-old",
        "Normal",
        "Killing",
        "Stopping container oauth-openshift",
        9_510,
        9_510,
        1,
    );
    other(
        "openshift-kube-apiserver-operator",
        "Deployment",
        "kube-apiserver-operator",
        "Normal",
        "OperatorStatusChanged",
        "Status for clusteroperator/kube-apiserver changed: Progressing changed from True to False (\"NodeInstallerProgressing: 3 nodes are at revision 9\")",
        9_300,
        9_300,
        1,
    );
    other(
        "openshift-etcd-operator",
        "Deployment",
        "etcd-operator",
        "Normal",
        "ReportEtcdMembersErrorUpdatingStatus",
        "etcds.operator.openshift.io \"cluster\" was changed, the object has been modified; please apply your changes to the latest version and try again",
        6_100,
        6_100,
        1,
    );
}

/// The first minutes of every node look like this.
fn installing(params: &BaseParams, rows: &mut Vec<Row>) {
    for node in &params.masters {
        let mut on = |namespace: &'static str,
                      kind: &'static str,
                      name: String,
                      severity: &'static str,
                      reason: &'static str,
                      message: String,
                      first: i64,
                      last: i64,
                      count: u32| {
            rows.push(Row { namespace, kind, name, severity, reason, message, first, last, count });
        };
        on(
            "default",
            "Node",
            node.clone(),
            "Normal",
            "NodeHasSufficientMemory",
            format!("Node {node} status is now: NodeHasSufficientMemory"),
            950,
            940,
            8,
        );
        on(
            "default",
            "Node",
            node.clone(),
            "Normal",
            "NodeReady",
            format!("Node {node} status is now: NodeReady"),
            865,
            865,
            1,
        );
        on("openshift-multus", "Pod", super::daemon_pod("network-metrics-daemon", node), "Warning", "NetworkNotReady", "network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?".into(), 930, 880, 14);
        on("openshift-dns", "Pod", super::daemon_pod("dns-default", node), "Warning", "FailedMount", "MountVolume.SetUp failed for volume \"metrics-tls\" : secret \"dns-default-metrics-tls\" not found".into(), 640, 610, 5);
        on(
            "openshift-etcd",
            "Pod",
            format!("etcd-guard-{node}"),
            "Warning",
            "Unhealthy",
            format!(
                "Readiness probe failed: Get \"https://{}:9980/readyz\": dial tcp {}:9980: connect: connection refused",
                super::bracketed(params.ip(node)),
                super::bracketed(params.ip(node))
            ),
            520,
            430,
            12,
        );
        on(
            "openshift-kube-apiserver",
            "Pod",
            format!("installer-9-{node}"),
            "Normal",
            "Started",
            "Started container installer".into(),
            390,
            390,
            1,
        );
    }
    rows.push(Row {
        namespace: "openshift-ingress", kind: "Pod", name: "router-default".into(), severity: "Warning", reason: "FailedScheduling",
        message: "0/3 nodes are available: 3 node(s) had untolerated taint {node-role.kubernetes.io/master: }. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.".into(), first: 700, last: 60, count: 3,
    });
}
