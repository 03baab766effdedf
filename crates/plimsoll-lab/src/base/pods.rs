use jiff::Timestamp;
use serde_json::{Value, json};

use super::logs;
use super::writer::Writer;
use super::{BaseParams, digest, hash};

/// A pod, as far as pods differ.
pub(super) struct Shape<'a> {
    pub namespace: &'a str,
    pub name: String,
    /// None while no node will have it.
    pub node: Option<&'a str>,
    pub owner: Value,
    pub labels: Value,
    pub annotations: Value,
    pub init: &'a [&'a str],
    pub containers: &'a [&'a str],
    pub host_network: bool,
    pub started: Timestamp,
    pub run: Run<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum Run<'a> {
    Steady,
    /// Runs well; one container had been restarted some time ago.
    Restarted {
        container: &'a str,
        at: Timestamp,
        count: u32,
        exit: i32,
    },
    Completed,
}

pub(super) fn put(writer: &mut Writer, shape: &Shape) {
    let params = writer.params;
    writer.put(object(params, shape));
    let Some(node) = shape.node else { return };
    for container in shape.init {
        writer.log(shape.namespace, &shape.name, container, &[]);
    }
    for container in shape.containers {
        let lines = match shape.run {
            Run::Completed => logs::completed(container, node, shape.started),
            _ => logs::running(params, container, node, shape.started),
        };
        writer.log(shape.namespace, &shape.name, container, &lines);
        if let Run::Restarted { container: restarted, at, .. } = shape.run
            && restarted == *container
        {
            let lines = logs::last_words(container, at);
            writer.previous_log(shape.namespace, &shape.name, container, &lines);
        }
    }
}

fn object(params: &BaseParams, shape: &Shape) -> Value {
    let created = shape.started.to_string();
    let container = |name: &&str| {
        json!({
            "name": name, "image": params.image(name), "imagePullPolicy": "IfNotPresent",
            "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "FallbackToLogsOnError"
        })
    };
    let mut meta = json!({
        "name": shape.name, "namespace": shape.namespace, "creationTimestamp": created,
        "labels": shape.labels, "annotations": shape.annotations
    });
    if !shape.owner.is_null() {
        meta["ownerReferences"] = json!([shape.owner]);
    }
    let mut spec = json!({
        "containers": shape.containers.iter().map(container).collect::<Vec<_>>(),
        "dnsPolicy": "ClusterFirst", "enableServiceLinks": true, "priority": 2_000_000_000,
        "priorityClassName": "system-cluster-critical",
        "restartPolicy": if matches!(shape.run, Run::Completed) { "Never" } else { "Always" },
        "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30
    });
    if shape.host_network {
        spec["hostNetwork"] = true.into();
    }
    if !shape.init.is_empty() {
        spec["initContainers"] = shape.init.iter().map(container).collect();
    }
    if let Some(node) = shape.node {
        spec["nodeName"] = node.into();
    }
    let status = match shape.node {
        Some(node) => status(params, shape, node),
        None => pending(params, shape),
    };
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status})
}

fn pending(params: &BaseParams, shape: &Shape) -> Value {
    let masters = params.masters.len();
    json!({
        "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastProbeTime": null,
            "lastTransitionTime": shape.started.to_string(),
            "message": format!("0/{masters} nodes are available: {masters} node(s) had untolerated taint {{node-role.kubernetes.io/master: }}. preemption: 0/{masters} nodes are available: {masters} Preemption is not helpful for scheduling.")
        }],
        "phase": "Pending", "qosClass": "Burstable"
    })
}

fn status(params: &BaseParams, shape: &Shape, node: &str) -> Value {
    let completed = matches!(shape.run, Run::Completed);
    let ready = later(shape.started, if completed { 32 } else { 24 });
    let started = shape.started.to_string();
    let condition = |name: &str, good: bool, since: &str| {
        let mut condition = json!({"type": name, "status": if good { "True" } else { "False" }, "lastProbeTime": null, "lastTransitionTime": since});
        if completed && name != "PodScheduled" && name != "PodReadyToStartContainers" {
            condition["reason"] = "PodCompleted".into();
        }
        condition
    };
    let ready = ready.min(params.now).to_string();
    let hosts = params.ips(node);
    let addresses = if shape.host_network { hosts.clone() } else { pod_ips(params, shape, node) };
    let listed = |all: &[String]| all.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
    let mut status = json!({
        "conditions": [
            condition("PodReadyToStartContainers", !completed, &started), condition("Initialized", true, &started),
            condition("Ready", !completed, &ready), condition("ContainersReady", !completed, &ready),
            condition("PodScheduled", true, &started)
        ],
        "containerStatuses": shape.containers.iter().map(|name| container_status(params, shape, name)).collect::<Vec<_>>(),
        "hostIP": hosts[0], "hostIPs": listed(&hosts), "phase": if completed { "Succeeded" } else { "Running" },
        "podIP": addresses[0], "podIPs": listed(&addresses), "qosClass": "Burstable", "startTime": started
    });
    if !shape.init.is_empty() {
        status["initContainerStatuses"] =
            shape.init.iter().map(|name| init_status(params, shape, name)).collect();
    }
    status
}

pub(super) fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(time)
}

fn pod_ips(params: &BaseParams, shape: &Shape, node: &str) -> Vec<String> {
    let number = params.nodes().iter().position(|name| *name == node).unwrap_or(0);
    let host = hash(&format!("{}/{}", shape.namespace, shape.name)) % 500 + 4;
    params.pod_ips(number, host)
}

fn container_id(shape: &Shape, name: &str) -> String {
    format!("cri-o://{}", digest(&format!("{}/{}/{name}", shape.namespace, shape.name)))
}

fn terminated(id: &str, exit: i32, reason: &str, from: Timestamp, to: Timestamp) -> Value {
    json!({"terminated": {"containerID": id, "exitCode": exit, "reason": reason, "startedAt": from.to_string(), "finishedAt": to.to_string()}})
}

fn container_status(params: &BaseParams, shape: &Shape, name: &str) -> Value {
    let id = container_id(shape, name);
    let image = params.image(name);
    let mut status = json!({
        "containerID": id, "image": image, "imageID": image, "lastState": {}, "name": name,
        "ready": true, "restartCount": 0, "started": true,
        "state": {"running": {"startedAt": later(shape.started, 3).min(params.now).to_string()}}
    });
    match shape.run {
        Run::Completed => {
            status["ready"] = false.into();
            status["started"] = false.into();
            status["state"] =
                terminated(&id, 0, "Completed", later(shape.started, 1), later(shape.started, 31));
        }
        Run::Restarted { container, at, count, exit } if container == name => {
            status["restartCount"] = count.into();
            status["lastState"] = terminated(
                &id,
                exit,
                if exit == 0 { "Completed" } else { "Error" },
                shape.started,
                at,
            );
            status["state"] = json!({"running": {"startedAt": later(at, 1).to_string()}});
        }
        _ => {}
    }
    status
}

fn init_status(params: &BaseParams, shape: &Shape, name: &str) -> Value {
    let id = container_id(shape, name);
    let image = params.image(name);
    json!({
        "containerID": id, "image": image, "imageID": image, "lastState": {}, "name": name,
        "ready": true, "restartCount": 0, "started": false,
        "state": terminated(&id, 0, "Completed", shape.started, later(shape.started, 1))
    })
}
