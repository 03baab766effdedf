//! Pods that are lost, the workloads they belong to, and what the operators above them say.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::operators::{Complaint, Level};
use super::script::Script;
use super::world::{Pod, World};
use super::{Happening, Next, PodName, What};
use crate::base;
use crate::dice::Dice;

const REACTIONS: &str = include_str!("reactions.txt");

/// One line of the table.
struct Reaction {
    operator: &'static str,
    level: Level,
    /// All pods have to be lost, not only one.
    all: bool,
    window: (i64, i64),
    part: &'static str,
    reason: &'static str,
    message: &'static str,
}

fn reactions(namespace: &str, name: &str) -> Vec<Reaction> {
    let lines = REACTIONS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| reaction(line, namespace, name)).collect()
}

fn reaction(line: &'static str, namespace: &str, name: &str) -> Option<Reaction> {
    let mut fields = line.splitn(8, '|').map(str::trim);
    let mut next = || fields.next();
    let of = next()?.split_once('/')?;
    if of != (namespace, name) {
        return None;
    }
    let operator = next()?;
    let level = match next()? {
        "degraded" => Level::Degraded,
        "unavailable" => Level::Unavailable,
        _ => Level::Progressing,
    };
    let all = next()? == "all";
    let (from, to) = next()?.split_once('-')?;
    let window = (from.parse().ok()?, to.parse().ok()?);
    Some(Reaction {
        operator,
        level,
        all,
        window,
        part: next()?,
        reason: next()?,
        message: next()?,
    })
}

pub(super) fn name_of(pod: &Pod) -> PodName {
    PodName { namespace: pod.namespace.clone(), name: pod.name.clone() }
}

pub(super) fn down(world: &World<'_>, namespace: &str, name: &str) -> Vec<Next> {
    let pods = world.pods_of(namespace, name);
    pods.map(|pod| ((5, 120), What::PodCrashing(name_of(pod)))).collect()
}

pub(super) fn missing(world: &World<'_>, namespace: &str, name: &str) -> Vec<Next> {
    let pods = world.pods_of(namespace, name);
    pods.map(|pod| ((1, 20), What::PodGone(name_of(pod)))).collect()
}

/// Daemons stay on their node and stateful pods are not replaced while it may come back; both count
/// as lost as soon as the API says so. Other pods are replaced.
pub(super) fn marked(world: &World<'_>, known: &BTreeMap<What, usize>, pod: &PodName) -> Vec<Next> {
    match world.pod(&pod.namespace, &pod.name).map(|pod| pod.owner_kind.as_str()) {
        Some("DaemonSet" | "StatefulSet") => lost(world, known, pod),
        _ => Vec::new(),
    }
}

/// A replica that must have a master of its own finds none; any other finds a place.
pub(super) fn evicted(world: &World<'_>, pod: &PodName) -> Vec<Next> {
    let Some(found) = world.pod(&pod.namespace, &pod.name) else { return Vec::new() };
    let replicas = world.pods_of(&found.namespace, &found.owner).count();
    let on_master = found.node.as_deref().is_some_and(|node| world.params.is_master(node));
    let spread = on_master && replicas > 1 && replicas == world.params.masters.len();
    match found.owner_kind == "ReplicaSet" && (spread || world.params.nodes().len() == 1) {
        true => vec![((1, 15), What::PodUnscheduled(pod.clone()))],
        false => Vec::new(),
    }
}

fn is_lost(known: &BTreeMap<What, usize>, pod: &Pod) -> bool {
    let name = name_of(pod);
    let stays = matches!(pod.owner_kind.as_str(), "DaemonSet" | "StatefulSet");
    (stays && known.contains_key(&What::PodMarked(name.clone())))
        || known.contains_key(&What::PodCrashing(name.clone()))
        || known.contains_key(&What::PodGone(name.clone()))
        || known.contains_key(&What::PodUnscheduled(name.clone()))
        || known.contains_key(&What::PodIgnored(name.clone()))
        || known.contains_key(&What::PodWithoutNetwork(name.clone()))
        || known.keys().any(|what| matches!(what, What::PodPulling(of, _) if *of == name))
}

/// What the operator above says of one more lost pod.
pub(super) fn lost(world: &World<'_>, known: &BTreeMap<What, usize>, pod: &PodName) -> Vec<Next> {
    let Some(found) = world.pod(&pod.namespace, &pod.name) else { return Vec::new() };
    let (namespace, owner) = (found.namespace.as_str(), found.owner.as_str());
    let all_lost = world.pods_of(namespace, owner).all(|pod| is_lost(known, pod));
    let mut next: Vec<Next> = reactions(namespace, owner)
        .into_iter()
        .filter(|reaction| all_lost || !reaction.all)
        .map(|reaction| {
            let message = reaction
                .message
                .replace("{version}", &world.params.version)
                .replace("{apps}", &format!("apps.{}", world.params.fqdn()))
                .replace("\\n", "\n");
            let complaint = Complaint {
                operator: reaction.operator.into(),
                level: reaction.level,
                part: reaction.part.into(),
                reason: reaction.reason.into(),
                message,
                about: Some(format!("{namespace}/{owner}")),
            };
            (reaction.window, What::Complains(complaint))
        })
        .collect();
    if all_lost && (namespace, owner) == ("openshift-ingress", "router-default") {
        let vip = base::bracketed(&world.params.ingress_vip);
        let error = format!("dial tcp {vip}:443: connect: connection refused");
        next.push(((5, 30), What::IngressUnreachable(error)));
    }
    next
}

/// Images are pulled when a pod starts: some pod of the node had to, and could not.
pub(super) fn pulls_fail(world: &World<'_>, node: &str, error: &str, dice: &mut Dice) -> Vec<Next> {
    let mut pods: Vec<PodName> = world
        .pods_on(node)
        .filter(|pod| matches!(pod.owner_kind.as_str(), "DaemonSet" | "ReplicaSet"))
        .map(name_of)
        .collect();
    let count = (1 + dice.below(2)).min(pods.len());
    (0..count)
        .map(|_| pods.swap_remove(dice.below(pods.len())))
        .map(|pod| ((30, 1_200), What::PodPulling(pod, error.into())))
        .collect()
}

/// The name of the pod that stands in for one that went away.
pub(super) fn replacement(pod: &PodName) -> PodName {
    let head = pod.name.rsplit_once('-').map_or(pod.name.as_str(), |(head, _)| head);
    let name = format!("{head}-{}", base::suffix(&format!("again {}", pod.name), 5));
    PodName { namespace: pod.namespace.clone(), name }
}

pub(super) fn show(world: &World<'_>, happenings: &[Happening], script: &mut Script) {
    let known: BTreeMap<What, usize> =
        happenings.iter().enumerate().map(|(n, found)| (found.what.clone(), n)).collect();
    for Happening { what, at, .. } in happenings {
        match what {
            What::PodMarked(pod) => {
                let target = format!("Pod/{}/{}", pod.namespace, pod.name);
                script.condition(&target, "Ready", ("False", "", ""), *at);
            }
            What::PodEvicted(pod) => {
                let target = format!("Pod/{}/{}", pod.namespace, pod.name);
                script.set(&target, "metadata.deletionTimestamp", &json!(at.to_string()));
                script.event(
                    &pod.namespace,
                    ("Pod", &pod.name),
                    (
                        "TaintManagerEviction",
                        &format!("Marking for deletion Pod {}/{}", pod.namespace, pod.name),
                    ),
                    (*at, *at),
                    1,
                );
            }
            What::PodCrashing(pod) => crashing(world, pod, *at, script),
            What::PodPulling(pod, error) => {
                let target = format!("Pod/{}/{}", pod.namespace, pod.name);
                script.set(&target, "metadata.creationTimestamp", &json!(at.to_string()));
                let image = "Back-off pulling image";
                pending(world, pod, "ImagePullBackOff", &format!("{image}: {error}"), *at, script);
                let count = 1 + (world.now.duration_since(*at).as_secs() / 150) as u32;
                let message = format!("Failed to pull image: {error}");
                let span = (*at, world.now);
                script.event(&pod.namespace, ("Pod", &pod.name), ("Failed", &message), span, count);
            }
            What::PodGone(pod) => script.delete(&format!("Pod/{}/{}", pod.namespace, pod.name)),
            What::PodUnscheduled(pod) => {
                let masters = world.params.masters.len();
                let nodes = world.params.nodes().len();
                let message = format!(
                    "0/{nodes} nodes are available: 1 node(s) had untolerated taint {{node.kubernetes.io/unreachable: }}, {} node(s) didn't match Pod's node affinity/selector, {} node(s) didn't match pod anti-affinity rules.",
                    nodes - masters,
                    masters - 1
                );
                let scheduled = json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message, "lastProbeTime": null, "lastTransitionTime": at.to_string()}]);
                stand_in(world, pod, *at, scheduled, script);
            }
            What::PodIgnored(pod) => {
                script.delete(&format!("Pod/{}/{}", pod.namespace, pod.name));
                stand_in(world, pod, *at, json!([]), script);
            }
            _ => {}
        }
    }
    counts(world, &known, happenings, script);
}

/// A container that starts and fails, five minutes between the tries.
fn crashing(world: &World<'_>, pod: &PodName, at: Timestamp, script: &mut Script) {
    let Some(found) = world.pod(&pod.namespace, &pod.name) else { return };
    let Some(container) = main_container(found) else { return };
    let target = format!("Pod/{}/{}", pod.namespace, pod.name);
    let status = format!("status.containerStatuses[{container}]");
    let (namespace, name) = (&pod.namespace, &pod.name);
    let id = base::uid("Pod", namespace, name);
    let message = format!(
        "back-off 5m0s restarting failed container={container} pod={name}_{namespace}({id})"
    );
    let last = super::later(world.now, -200).max(at);
    let restarts = 1 + world.now.duration_since(at).as_secs() / 300;
    script.set(&target, &format!("{status}.ready"), &json!(false));
    script.set(&target, &format!("{status}.started"), &json!(false));
    script.set(&target, &format!("{status}.restartCount"), &json!(restarts));
    script.set(
        &target,
        &format!("{status}.state"),
        &json!({"waiting": {"reason": "CrashLoopBackOff", "message": message}}),
    );
    if !found.exit_known {
        script.set(&target, &format!("{status}.lastState"), &json!({"terminated": {"exitCode": 1, "reason": "Error", "startedAt": last.to_string(), "finishedAt": last.to_string()}}));
    }
    let unready = format!("containers with unready status: [{container}]");
    for kind in ["Ready", "ContainersReady"] {
        script.condition(&target, kind, ("False", "ContainersNotReady", &unready), at);
    }
    let text =
        format!("Back-off restarting failed container {container} in pod {name}_{namespace}({id})");
    let count = 1 + (world.now.duration_since(at).as_secs() / 15) as u32;
    script.event(namespace, ("Pod", name), ("BackOff", &text), (at, world.now), count);
}

/// The container that does the work, not a proxy before it.
fn main_container(pod: &Pod) -> Option<&str> {
    let named = pod.containers.iter().find(|name| **name == pod.owner);
    let working = || pod.containers.iter().find(|name| !name.starts_with("kube-rbac-proxy"));
    named.or_else(working).or(pod.containers.first()).map(String::as_str)
}

/// A pod on a node whose containers have not started.
pub(super) fn pending(
    world: &World<'_>,
    pod: &PodName,
    reason: &str,
    message: &str,
    at: Timestamp,
    script: &mut Script,
) {
    let Some(found) = world.pod(&pod.namespace, &pod.name) else { return };
    let stamp = at.to_string();
    let unready = format!("containers with unready status: [{}]", found.containers.join(" "));
    let condition = |kind: &str, status: &str| {
        let mut condition = json!({"type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": stamp});
        if status == "False" {
            condition["reason"] = "ContainersNotReady".into();
            condition["message"] = unready.clone().into();
        }
        condition
    };
    let statuses: Vec<Value> = found.containers.iter().map(|name| {
        let mut waiting = json!({"reason": reason});
        if !message.is_empty() {
            waiting["message"] = message.into();
        }
        json!({"name": name, "image": "", "imageID": "", "lastState": {}, "ready": false, "restartCount": 0, "started": false, "state": {"waiting": waiting}})
    }).collect();
    let status = json!({
        "phase": "Pending", "qosClass": "Burstable", "startTime": stamp,
        "conditions": [condition("Initialized", "True"), condition("Ready", "False"), condition("ContainersReady", "False"), condition("PodScheduled", "True")],
        "containerStatuses": statuses
    });
    script.set(&format!("Pod/{}/{}", pod.namespace, pod.name), "status", &status);
}

/// A new pod in place of one that went away, which no node has.
fn stand_in(
    world: &World<'_>,
    pod: &PodName,
    at: Timestamp,
    conditions: Value,
    script: &mut Script,
) {
    let Some(found) = world.pod(&pod.namespace, &pod.name) else { return };
    let new = replacement(pod);
    let set = pod.name.rsplit_once('-').map_or("", |(head, _)| head);
    let containers: Vec<Value> =
        found.containers.iter().map(|name| json!({"name": name, "image": "release"})).collect();
    script.create(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": new.name, "namespace": new.namespace, "creationTimestamp": at.to_string(), "labels": {"app": found.owner},
            "ownerReferences": [{"apiVersion": "apps/v1", "controller": true, "kind": "ReplicaSet", "name": set, "uid": base::uid("ReplicaSet", &new.namespace, set)}]
        },
        "spec": {"containers": containers, "schedulerName": "default-scheduler"},
        "status": {"phase": "Pending", "qosClass": "Burstable", "conditions": conditions}
    }));
}

/// The counts in the status of every workload that lost a pod.
fn counts(
    world: &World<'_>,
    known: &BTreeMap<What, usize>,
    happenings: &[Happening],
    script: &mut Script,
) {
    let mut by_owner: BTreeMap<(&str, &str, &str), Vec<&Pod>> = BTreeMap::new();
    for pod in world.pods.iter().filter(|pod| pod.running && is_lost(known, pod)) {
        by_owner.entry((&pod.owner_kind, &pod.namespace, &pod.owner)).or_default().push(pod);
    }
    for ((kind, namespace, owner), lost) in by_owner {
        let total = world.pods_of(namespace, owner).count();
        let ready = total - lost.len();
        let names: Vec<PodName> = lost.iter().map(|pod| name_of(pod)).collect();
        let since = happenings
            .iter()
            .filter(|found| found.what.pod().is_some_and(|pod| names.contains(pod)))
            .map(|found| found.at)
            .min()
            .unwrap_or(world.now);
        match kind {
            "DaemonSet" => {
                let target = format!("DaemonSet/{namespace}/{owner}");
                script.set(&target, "status.numberAvailable", &json!(ready));
                script.set(&target, "status.numberReady", &json!(ready));
                script.set(&target, "status.numberUnavailable", &json!(total - ready));
            }
            "StatefulSet" => {
                let target = format!("StatefulSet/{namespace}/{owner}");
                script.set(&target, "status.availableReplicas", &json!(ready));
                script.set(&target, "status.readyReplicas", &json!(ready));
            }
            "ReplicaSet" => {
                let gone =
                    names.iter().filter(|name| known.contains_key(&What::PodGone((*name).clone())));
                let target = format!("Deployment/{namespace}/{owner}");
                script.set(&target, "status.replicas", &json!(total - gone.count()));
                script.set(&target, "status.availableReplicas", &json!(ready));
                script.set(&target, "status.readyReplicas", &json!(ready));
                script.set(&target, "status.unavailableReplicas", &json!(total - ready));
                // At most a quarter may be missing.
                if ready * 4 < total * 3 {
                    let text = (
                        "False",
                        "MinimumReplicasUnavailable",
                        "Deployment does not have minimum availability.",
                    );
                    script.condition(&target, "Available", text, since);
                }
            }
            _ => {}
        }
    }
}

/// How many pods of a workload are lost, for the messages that count them.
pub(super) fn losses(
    world: &World<'_>,
    happenings: &[Happening],
    workload: &str,
) -> (usize, usize) {
    let known: BTreeMap<What, usize> =
        happenings.iter().enumerate().map(|(n, found)| (found.what.clone(), n)).collect();
    let Some((namespace, owner)) = workload.split_once('/') else { return (0, 0) };
    let pods: Vec<&Pod> = world.pods_of(namespace, owner).collect();
    (pods.iter().filter(|pod| is_lost(&known, pod)).count(), pods.len())
}
