//! Static pods of the control plane and of the VIP stack, with their guards and installers.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::control_plane::revision;
use super::pods::{Run, Shape, later, put};
use super::writer::Writer;
use super::{BaseParams, Phase, Platform, digest, uid};

struct Component {
    operator: &'static str,
    namespace: &'static str,
    /// Head of the static pod's name.
    pod: &'static str,
    /// Head of the guard's name.
    guard: &'static str,
    init: &'static [&'static str],
    containers: &'static [&'static str],
    seconds: i64,
}

const COMPONENTS: [Component; 4] = [
    Component {
        operator: "etcd",
        namespace: "openshift-etcd",
        pod: "etcd",
        guard: "etcd-guard",
        init: &["setup", "etcd-ensure-env-vars", "etcd-resources-copy"],
        containers: &["etcdctl", "etcd", "etcd-metrics", "etcd-readyz", "etcd-rev"],
        seconds: 780,
    },
    Component {
        operator: "kube-apiserver",
        namespace: "openshift-kube-apiserver",
        pod: "kube-apiserver",
        guard: "kube-apiserver-guard",
        init: &["setup"],
        containers: &[
            "kube-apiserver",
            "kube-apiserver-cert-syncer",
            "kube-apiserver-cert-regeneration-controller",
            "kube-apiserver-insecure-readyz",
            "kube-apiserver-check-endpoints",
        ],
        seconds: 900,
    },
    Component {
        operator: "kube-controller-manager",
        namespace: "openshift-kube-controller-manager",
        pod: "kube-controller-manager",
        guard: "kube-controller-manager-guard",
        init: &[],
        containers: &[
            "kube-controller-manager",
            "cluster-policy-controller",
            "kube-controller-manager-cert-syncer",
            "kube-controller-manager-recovery-controller",
        ],
        seconds: 830,
    },
    Component {
        operator: "kube-scheduler",
        namespace: "openshift-kube-scheduler",
        pod: "openshift-kube-scheduler",
        guard: "openshift-kube-scheduler-guard",
        init: &["wait-for-host-port"],
        containers: &[
            "kube-scheduler",
            "kube-scheduler-cert-syncer",
            "kube-scheduler-recovery-controller",
        ],
        seconds: 810,
    },
];

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for component in &COMPONENTS {
        for (number, node) in params.masters.iter().enumerate() {
            control_plane(writer, component, node, number as i64);
        }
    }
    for node in params.nodes() {
        kube_rbac_proxy_crio(writer, node);
        if params.platform == Platform::BareMetal {
            vip_stack(writer, node);
        }
    }
}

/// When the API server of a master was last replaced: a day in, when the first day's certificates
/// were renewed. The other components still stand where the installation left them.
pub(super) fn api_server_rollout(params: &BaseParams, node: &str) -> Timestamp {
    let number = params.masters.iter().position(|master| master == node).unwrap_or(0) as i64;
    match params.phase {
        Phase::Installed => params.ago(10_260 - number * 260),
        Phase::Installing => params.at(900 + number * 62),
    }
}

/// When the API server stood at its latest revision everywhere.
pub(super) fn last_rollout(params: &BaseParams) -> Timestamp {
    let last = params.masters.last().map(String::as_str).unwrap_or_default();
    later(api_server_rollout(params, last), 95).min(params.now)
}

fn control_plane(writer: &mut Writer, component: &Component, node: &str, number: i64) {
    let params = writer.params;
    let revision = revision(component.operator);
    let begun = match component.operator {
        "kube-apiserver" => api_server_rollout(params, node),
        _ => params.at(component.seconds + number * 62),
    };
    let run = match (component.operator, number) {
        // Lost its lease while the API server next to it was restarted.
        ("kube-controller-manager", 1) => Run::Restarted {
            container: "kube-controller-manager",
            at: params.at(1_130),
            count: 2,
            exit: 1,
        },
        _ => Run::Steady,
    };
    put(
        writer,
        &Shape {
            namespace: component.namespace,
            name: format!("{}-{node}", component.pod),
            node: Some(node),
            owner: node_owner(node),
            labels: json!({"app": component.pod, component.operator: "true", "revision": revision.to_string()}),
            annotations: mirror(component.pod, node, begun),
            init: component.init,
            containers: component.containers,
            host_network: true,
            started: begun,
            run,
        },
    );
    if !params.single_node() {
        guard(writer, component, node, later(params.at(component.seconds), -90));
    }
    for (name, offset) in [
        (format!("installer-{}-{node}", revision - 1), -340),
        (format!("installer-{revision}-{node}"), -70),
        (format!("revision-pruner-{revision}-{node}"), -50),
    ] {
        completed(writer, component, name, node, later(begun, offset));
    }
}

fn guard(writer: &mut Writer, component: &Component, node: &str, started: Timestamp) {
    put(
        writer,
        &Shape {
            namespace: component.namespace,
            name: format!("{}-{node}", component.guard),
            node: Some(node),
            owner: Value::Null,
            labels: json!({"app": "guard"}),
            annotations: json!({"target.workload.openshift.io/management": "{\"effect\": \"PreferredDuringScheduling\"}"}),
            init: &[],
            containers: &["guard"],
            host_network: false,
            started,
            run: Run::Steady,
        },
    );
}

fn completed(
    writer: &mut Writer,
    component: &Component,
    name: String,
    node: &str,
    started: Timestamp,
) {
    let kind = if name.starts_with("installer") { "installer" } else { "pruner" };
    let status = name.split('-').find(|part| part.parse::<u32>().is_ok()).unwrap_or_default();
    let status = format!("revision-status-{status}");
    put(
        writer,
        &Shape {
            namespace: component.namespace,
            owner: json!({"apiVersion": "v1", "kind": "ConfigMap", "name": status, "uid": uid("ConfigMap", component.namespace, &status)}),
            name,
            node: Some(node),
            labels: json!({"app": kind}),
            annotations: json!({}),
            init: &[],
            containers: if kind == "installer" { &["installer"] } else { &["pruner"] },
            host_network: false,
            started,
            run: Run::Completed,
        },
    );
}

fn node_owner(node: &str) -> Value {
    json!({"apiVersion": "v1", "controller": true, "kind": "Node", "name": node, "uid": uid("Node", "", node)})
}

/// What tells the copy of a static pod in the API from any other pod.
fn mirror(pod: &str, node: &str, seen: Timestamp) -> Value {
    let config = &digest(&format!("{pod} {node}"))[..32];
    json!({
        "kubernetes.io/config.hash": config, "kubernetes.io/config.mirror": config,
        "kubernetes.io/config.seen": seen.to_string(), "kubernetes.io/config.source": "file",
        "target.workload.openshift.io/management": "{\"effect\": \"PreferredDuringScheduling\"}"
    })
}

fn kube_rbac_proxy_crio(writer: &mut Writer, node: &str) {
    let started = later(writer.params.at(super::nodes::registered(writer.params, node)), 20);
    put(
        writer,
        &Shape {
            namespace: "openshift-machine-config-operator",
            name: format!("kube-rbac-proxy-crio-{node}"),
            node: Some(node),
            owner: node_owner(node),
            labels: json!({}),
            annotations: mirror("kube-rbac-proxy-crio", node, started),
            init: &["setup"],
            containers: &["kube-rbac-proxy-crio"],
            host_network: true,
            started,
            run: Run::Steady,
        },
    );
}

/// keepalived and CoreDNS on every node, HAProxy on the masters.
fn vip_stack(writer: &mut Writer, node: &str) {
    let params = writer.params;
    let started = later(params.at(super::nodes::registered(params, node)), 8);
    let all: [(&str, &str, &[&str], &[&str]); 3] = [
        (
            "haproxy",
            "kni-infra-api-lb",
            &["verify-api-int-resolvable"],
            &["haproxy", "haproxy-monitor"],
        ),
        (
            "keepalived",
            "kni-infra-vrrp",
            &["render-config-keepalived"],
            &["keepalived", "keepalived-monitor"],
        ),
        (
            "coredns",
            "kni-infra-coredns",
            &["render-config-coredns"],
            &["coredns", "coredns-monitor"],
        ),
    ];
    for (pod, app, init, containers) in all {
        if pod == "haproxy" && !params.is_master(node) {
            continue;
        }
        put(
            writer,
            &Shape {
                namespace: "openshift-kni-infra",
                name: format!("{pod}-{node}"),
                node: Some(node),
                owner: node_owner(node),
                labels: json!({"app": app}),
                annotations: mirror(pod, node, started),
                init,
                containers,
                host_network: true,
                started,
                run: Run::Steady,
            },
        );
    }
}
