//! Nodes that fall silent or lose their network, as the node controller and the kubelet show them.

use serde_json::json;

use super::control_plane::STATIC;
use super::operators::Complaint;
use super::script::{Line, Script};
use super::world::World;
use super::{Happening, Next, PodName, What};
use crate::dice::Dice;

const SILENT: &str = "Kubelet stopped posting node status.";
const NO_CNI: &str = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?";

/// The node controller waits for its grace period of 40 seconds, 50 since Kubernetes 1.32.
pub(super) fn silent(world: &World<'_>, node: &str) -> Vec<Next> {
    if world.has_node(node) { vec![((40, 55), What::NodeUnknown(node.into()))] } else { Vec::new() }
}

pub(super) fn unknown(world: &World<'_>, node: &str) -> Vec<Next> {
    let mut next = reported(world, node, "NodeStatusUnknown", SILENT);
    for pod in world.pods_on(node) {
        let name = PodName { namespace: pod.namespace.clone(), name: pod.name.clone() };
        // Tolerated for five minutes; daemons and static pods stay where they are.
        if matches!(pod.owner_kind.as_str(), "ReplicaSet" | "StatefulSet") {
            next.push(((300, 312), What::PodEvicted(name.clone())));
        }
        next.push(((0, 6), What::PodMarked(name)));
    }
    next
}

/// Operators of static pods report a master that is not ready, after their inertia of two minutes,
/// etcd's of five.
fn reported(world: &World<'_>, node: &str, reason: &str, message: &str) -> Vec<Next> {
    if !world.params.is_master(node) {
        return Vec::new();
    }
    STATIC
        .iter()
        .map(|component| {
            let window = if component.operator == "etcd" { (300, 370) } else { (120, 190) };
            let text =
                format!("node \"{node}\" not ready since {{since}} because {reason} ({message})");
            let complaint = Complaint::degraded(
                component.operator,
                "NodeControllerDegraded",
                "MasterNodesReady",
                &text,
            );
            (window, What::Complains(complaint.about(node)))
        })
        .collect()
}

pub(super) fn no_cni(world: &World<'_>, node: &str, dice: &mut Dice) -> Vec<Next> {
    if !world.has_node(node) {
        return Vec::new();
    }
    let mut next = vec![((2, 20), What::NodeNotReady(node.into()))];
    // Pods that already run keep running; one that had to be started again waits.
    let pods: Vec<PodName> = world
        .pods_on(node)
        .filter(|pod| pod.owner_kind == "DaemonSet" && !pod.host_network)
        .map(|pod| PodName { namespace: pod.namespace.clone(), name: pod.name.clone() })
        .collect();
    next.extend(dice.pick(&pods).map(|pod| ((60, 900), What::PodWithoutNetwork(pod.clone()))));
    next
}

pub(super) fn not_ready(world: &World<'_>, node: &str) -> Vec<Next> {
    reported(world, node, "KubeletNotReady", NO_CNI)
}

pub(super) fn show(world: &World<'_>, happenings: &[Happening], script: &mut Script) {
    for Happening { what, at, .. } in happenings {
        match what {
            What::NodeUnknown(node) => {
                let target = format!("Node/{node}");
                for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
                    script.condition(&target, kind, ("Unknown", "NodeStatusUnknown", SILENT), *at);
                }
                taint(world, node, "node.kubernetes.io/unreachable", script);
                let message = format!("Node {node} status is now: NodeNotReady");
                script.event("default", ("Node", node), ("NodeNotReady", &message), (*at, *at), 1);
            }
            What::NodeNotReady(node) => {
                let target = format!("Node/{node}");
                script.condition(&target, "Ready", ("False", "KubeletNotReady", NO_CNI), *at);
                taint(world, node, "node.kubernetes.io/not-ready", script);
            }
            What::NoCni(node) => script.journal(
                "kubelet",
                node,
                &Line {
                    from: *at,
                    to: Some(world.now),
                    every_seconds: 60,
                    klog: Some('E'),
                    text: "kubelet.go:2902] \"Container runtime network not ready\" networkReady=\"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network provider started?\"",
                },
            ),
            What::PodWithoutNetwork(pod) => {
                let target = format!("Pod/{}/{}", pod.namespace, pod.name);
                script.set(&target, "metadata.creationTimestamp", &json!(at.to_string()));
                super::workloads::pending(world, pod, "ContainerCreating", "", *at, script);
                let message = format!("network is not ready: {NO_CNI}");
                script.event(
                    &pod.namespace,
                    ("Pod", &pod.name),
                    ("NetworkNotReady", &message),
                    (*at, world.now),
                    1 + (world.now.duration_since(*at).as_secs() / 2) as u32,
                );
            }
            _ => {}
        }
    }
}

fn taint(world: &World<'_>, node: &str, key: &str, script: &mut Script) {
    let mut taints = vec![
        json!({"effect": "NoSchedule", "key": key}),
        json!({"effect": "NoExecute", "key": key}),
    ];
    if world.params.is_master(node) && !world.params.workers.is_empty() {
        taints.insert(0, json!({"effect": "NoSchedule", "key": "node-role.kubernetes.io/master"}));
    }
    script.set(&format!("Node/{node}"), "spec.taints", &taints.into());
}
