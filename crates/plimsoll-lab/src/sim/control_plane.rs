//! Static pods of the masters, the operators that install them, and what stops with them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::operators::Complaint;
use super::script::{Line, Script};
use super::workloads::name_of;
use super::world::World;
use super::{Happening, Next, PodName, What};
use crate::base;
use crate::dice::Dice;

pub(super) struct Component {
    pub operator: &'static str,
    namespace: &'static str,
    /// Head of the static pod's name.
    pod: &'static str,
    /// The container that does the work.
    container: &'static str,
    resource: &'static str,
}

pub(super) const STATIC: [Component; 4] = [
    Component {
        operator: "etcd",
        namespace: "openshift-etcd",
        pod: "etcd",
        container: "etcd",
        resource: "Etcd",
    },
    Component {
        operator: "kube-apiserver",
        namespace: "openshift-kube-apiserver",
        pod: "kube-apiserver",
        container: "kube-apiserver",
        resource: "KubeAPIServer",
    },
    Component {
        operator: "kube-controller-manager",
        namespace: "openshift-kube-controller-manager",
        pod: "kube-controller-manager",
        container: "kube-controller-manager",
        resource: "KubeControllerManager",
    },
    Component {
        operator: "kube-scheduler",
        namespace: "openshift-kube-scheduler",
        pod: "openshift-kube-scheduler",
        container: "kube-scheduler",
        resource: "KubeScheduler",
    },
];

fn component(name: &str) -> Option<&'static Component> {
    STATIC.iter().find(|component| component.operator == name)
}

fn operand(component: &Component, node: &str) -> PodName {
    PodName { namespace: component.namespace.into(), name: format!("{}-{node}", component.pod) }
}

/// A kubelet that may not speak to the API, or that was started anew without it, shows none of the
/// static pods it runs.
pub(super) fn mirrors_gone(world: &World<'_>, node: &str) -> Vec<Next> {
    STATIC
        .iter()
        .map(|component| operand(component, node))
        .filter(|pod| world.pod(&pod.namespace, &pod.name).is_some())
        .map(|pod| ((0, 45), What::MirrorGone(pod)))
        .collect()
}

/// The guard controller asks only of nodes that are ready, and has nothing to guard where there is
/// one master.
pub(super) fn mirror_gone(
    world: &World<'_>,
    known: &BTreeMap<What, usize>,
    pod: &PodName,
) -> Vec<Next> {
    let found = STATIC.iter().find(|component| component.namespace == pod.namespace);
    let Some(component) = found else { return Vec::new() };
    let node = pod.name.strip_prefix(component.pod).unwrap_or_default().trim_start_matches('-');
    let away = known.contains_key(&What::NodeUnknown(node.into()))
        || known.contains_key(&What::NodeNotReady(node.into()));
    if world.params.masters.len() < 2 || away {
        return Vec::new();
    }
    let message = format!("Missing operand on node {node}");
    let complaint =
        Complaint::degraded(component.operator, "GuardControllerDegraded", "SyncError", &message);
    vec![((120, 240), What::Complains(complaint.about(node)))]
}

pub(super) fn crashing(world: &World<'_>, name: &str, node: &str) -> Vec<Next> {
    let Some(component) = component(name) else { return Vec::new() };
    let pod = operand(component, node);
    if world.pod(&pod.namespace, &pod.name).is_none() {
        return Vec::new();
    }
    let container = component.container;
    let id = base::uid("Pod", &pod.namespace, &pod.name);
    let message = format!(
        "pod/{0} container \"{container}\" is waiting: CrashLoopBackOff: back-off 5m0s restarting failed container={container} pod={0}_{1}({id})",
        pod.name, pod.namespace
    );
    let complaint =
        Complaint::degraded(component.operator, "StaticPodsDegraded", "Error", &message);
    let mut next = vec![((120, 260), What::Complains(complaint.about(node)))];
    if component.operator == "etcd" {
        next.push(((5, 40), What::MemberDown(node.into())));
    }
    if world.params.masters.len() == 1 {
        let none = Complaint::unavailable(
            component.operator,
            "StaticPodsAvailable",
            "ZeroNodesActive",
            "0 nodes are active; 1 node is at revision 7",
        );
        next.push(((30, 120), What::Complains(none)));
    }
    next.push(((0, 30), What::PodCrashing(pod)));
    next
}

/// The installer pod of the next revision, which is where a rollout hangs.
pub(super) fn installer(name: &str, node: &str) -> Option<PodName> {
    let component = component(name)?;
    let revision = base::revision(component.operator) + 1;
    let name = format!("installer-{revision}-{node}");
    Some(PodName { namespace: component.namespace.into(), name })
}

/// Reported as pending after five minutes.
pub(super) fn stuck(name: &str, node: &str) -> Vec<Next> {
    let (Some(component), Some(pod)) = (component(name), installer(name, node)) else {
        return Vec::new();
    };
    let next = base::revision(component.operator) + 1;
    let pending =
        format!("Pod \"{}\" on node \"{node}\" is Pending since {{since}} because ", pod.name);
    let degraded = Complaint::degraded(
        component.operator,
        "InstallerPodPendingDegraded",
        "PodPending",
        pending.trim_end(),
    );
    let rolling = Complaint::progressing(
        component.operator,
        "NodeInstaller",
        &format!(
            "NodeInstallerProgressing: 1 node is at revision {}; 0 nodes have achieved new revision {next}",
            next - 1
        ),
    );
    vec![((420, 560), What::Complains(degraded.about(node))), ((0, 20), What::Complains(rolling))]
}

/// The etcd operator waits five minutes before it complains of a member.
pub(super) fn member_down(world: &World<'_>, node: &str) -> Vec<Next> {
    let total = world.params.masters.len();
    let message = format!("{} of {total} members are available, {node} is unhealthy", total - 1);
    let complaint =
        Complaint::degraded("etcd", "EtcdMembersDegraded", "UnhealthyMembers", &message);
    vec![((300, 380), What::Complains(complaint.about(node)))]
}

/// Nothing makes pods anew, and nothing issues the certificates that were approved. It shows where
/// a pod is deleted by chance.
pub(super) fn controllers_stopped(world: &World<'_>, dice: &mut Dice) -> Vec<Next> {
    let mut next = vec![((30, 1_200), What::RequestNotIssued)];
    next.extend(some_pod(world, dice).map(|pod| ((60, 1_800), What::PodGone(pod))));
    next
}

pub(super) fn scheduler_stopped(world: &World<'_>, dice: &mut Dice) -> Vec<Next> {
    some_pod(world, dice).map(|pod| ((60, 1_800), What::PodIgnored(pod))).into_iter().collect()
}

fn some_pod(world: &World<'_>, dice: &mut Dice) -> Option<PodName> {
    let pods: Vec<PodName> =
        world.pods.iter().filter(|pod| pod.owner_kind == "ReplicaSet").map(name_of).collect();
    dice.pick(&pods).cloned()
}

pub(super) fn show(world: &World<'_>, happenings: &[Happening], script: &mut Script) {
    let mut down = Vec::new();
    for Happening { what, at, .. } in happenings {
        match what {
            What::MirrorGone(pod) => {
                script.delete(&format!("Pod/{}/{}", pod.namespace, pod.name));
            }
            What::InstallerStuck { component: name, node } => {
                let (Some(component), Some(pod)) = (component(name), installer(name, node)) else {
                    continue;
                };
                let revision = base::revision(component.operator) + 1;
                let stamp = at.to_string();
                script.create(&json!({
                    "apiVersion": "v1", "kind": "Pod",
                    "metadata": {"name": pod.name, "namespace": pod.namespace, "creationTimestamp": stamp, "labels": {"app": "installer"}},
                    "spec": {"containers": [{"name": "installer", "image": "release"}], "nodeName": node},
                    "status": {"phase": "Pending", "qosClass": "Guaranteed", "startTime": stamp,
                        "conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": stamp},
                            {"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status: [installer]", "lastProbeTime": null, "lastTransitionTime": stamp}],
                        "containerStatuses": [{"name": "installer", "image": "", "imageID": "", "lastState": {}, "ready": false, "restartCount": 0, "started": false, "state": {"waiting": {"reason": "ContainerCreating"}}}]}
                }));
                let target = format!("{}/cluster", component.resource);
                script.set(&target, "status.latestAvailableRevision", &json!(revision));
                let place = world.params.masters.iter().position(|master| master == node);
                if let Some(place) = place {
                    let path = format!("status.nodeStatuses[{place}].targetRevision");
                    script.set(&target, &path, &json!(revision));
                }
            }
            What::MemberDown(node) => down.push(node.as_str()),
            What::EtcdSlow => {
                for master in &world.params.masters {
                    let line = Line {
                        from: *at,
                        to: Some(world.now),
                        every_seconds: 90,
                        klog: None,
                        text: r#"{"level":"warn","caller":"etcdserver/util.go:170","msg":"apply request took too long","took":"1.204518773s","expected-duration":"200ms","prefix":"read-only range ","request":"key:\"/kubernetes.io/health\" ","response":"range_response_count:0 size:6"}"#,
                    };
                    script.log(("openshift-etcd", &format!("etcd-{master}"), "etcd"), &line);
                }
            }
            What::RequestNotIssued => request(*at, world, script),
            _ => {}
        }
    }
    if !down.is_empty() {
        members(world, &down, script);
    }
}

/// A renewal that was approved, and that nobody signs.
fn request(at: jiff::Timestamp, world: &World<'_>, script: &mut Script) {
    let Some(node) = world.params.masters.first() else { return };
    script.create(&json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": format!("csr-{}", base::suffix(&format!("renewal {node}"), 5)), "creationTimestamp": at.to_string(), "generateName": "csr-"},
        "spec": {"groups": ["system:nodes", "system:authenticated"], "signerName": "kubernetes.io/kube-apiserver-client-kubelet", "usages": ["digital signature", "client auth"], "username": format!("system:node:{node}"), "request": ""},
        "status": {"conditions": [{"type": "Approved", "status": "True", "reason": "AutoApproved", "message": "Auto approving self kubelet client certificate after SubjectAccessReview.", "lastUpdateTime": at.to_string(), "lastTransitionTime": at.to_string()}]}
    }));
}

/// What `etcdctl endpoint health` answers.
fn members(world: &World<'_>, down: &[&str], script: &mut Script) {
    let health: Vec<Value> = world
        .params
        .masters
        .iter()
        .map(|node| {
            let endpoint = format!("https://{}:2379", base::bracketed(world.params.ip(node)));
            match down.contains(&node.as_str()) {
                true => json!({"endpoint": endpoint, "health": false, "took": "5.001834961s", "error": "context deadline exceeded"}),
                false => json!({"endpoint": endpoint, "health": true, "took": "11.302177ms"}),
            }
        })
        .collect();
    script.file("etcd_info/endpoint_health.json", format!("{}\n", Value::from(health)));
}
