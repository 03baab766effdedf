//! Deployments, daemon sets and stateful sets, with their pods.

use serde_json::{Value, json};

use super::pods::{Run, Shape, put};
use super::writer::Writer;
use super::{BaseParams, Phase, Platform, daemon_pod, hash, suffix, uid};

const TABLE: &str = include_str!("workloads.txt");

#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Deployment(usize),
    Stateful(usize),
    Daemon,
}

struct Workload {
    namespace: &'static str,
    name: &'static str,
    set: Set,
    place: &'static str,
    host_network: bool,
    containers: Vec<&'static str>,
    init: Vec<&'static str>,
}

fn row(line: &'static str) -> Option<Workload> {
    let mut words = line.split(' ');
    let (namespace, name) = (words.next()?, words.next()?);
    let set = match words.next()?.split_once('/') {
        Some(("deployment", count)) => Set::Deployment(count.parse().ok()?),
        Some((_, count)) => Set::Stateful(count.parse().ok()?),
        None => Set::Daemon,
    };
    let (place, network) = (words.next()?, words.next()?);
    let mut names = || words.next().map(|list| list.split(',').collect()).unwrap_or_default();
    let (containers, init) = (names(), names());
    Some(Workload {
        namespace,
        name,
        set,
        place,
        host_network: network == "host",
        containers,
        init,
    })
}

pub(super) fn write(writer: &mut Writer) {
    for workload in TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(row) {
        if workload.place != "metal" || writer.params.platform == Platform::BareMetal {
            one(writer, &workload);
        }
    }
}

/// The nodes a workload may use; none while it waits for workers.
fn places<'p>(params: &'p BaseParams, place: &str) -> Vec<&'p str> {
    let nodes = params.nodes();
    match place {
        "all" => nodes,
        "workers" if !params.workers.is_empty() => {
            nodes.into_iter().filter(|node| !params.is_master(node)).collect()
        }
        _ => params.masters.iter().map(String::as_str).collect(),
    }
}

fn app(name: &str) -> Value {
    // These daemon sets select their pods by another label than the rest.
    match name {
        "machine-config-server"
        | "machine-config-daemon"
        | "machine-config-controller"
        | "machine-config-operator"
        | "metal3" => json!({"k8s-app": name}),
        _ => json!({"app": name}),
    }
}

fn one(writer: &mut Writer, workload: &Workload) {
    let params = writer.params;
    let places = places(params, workload.place);
    let born = 420 + (hash(workload.name) % 170) as i64;
    let set_name = workload.name;
    let replica_set =
        format!("{set_name}-{}", suffix(&format!("{}/{set_name}", workload.namespace), 10));
    let pods: Vec<(String, Option<&str>)> = match workload.set {
        Set::Daemon => {
            places.iter().map(|node| (daemon_pod(set_name, node), Some(*node))).collect()
        }
        Set::Deployment(count) => spread(params, &places, count, workload)
            .into_iter()
            .enumerate()
            .map(|(n, node)| {
                (format!("{replica_set}-{}", suffix(&format!("{replica_set} {n}"), 5)), node)
            })
            .collect(),
        Set::Stateful(count) => spread(params, &places, count, workload)
            .into_iter()
            .enumerate()
            .map(|(n, node)| (format!("{set_name}-{n}"), node))
            .collect(),
    };
    let ready = pods.iter().filter(|(_, node)| node.is_some()).count();
    let (kind, name) = match workload.set {
        Set::Daemon => ("DaemonSet", set_name.to_string()),
        Set::Stateful(_) => ("StatefulSet", set_name.to_string()),
        Set::Deployment(_) => ("ReplicaSet", replica_set.clone()),
    };
    let owner = json!({
        "apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": kind,
        "name": name, "uid": uid(kind, workload.namespace, &name)
    });
    for (pod, node) in &pods {
        let started = match node {
            Some(node) if !params.is_master(node) => params.at(1_600 + (hash(pod) % 60) as i64),
            _ => params.at(born + 12),
        };
        put(
            writer,
            &Shape {
                namespace: workload.namespace,
                name: pod.clone(),
                node: *node,
                owner: owner.clone(),
                labels: app(set_name),
                annotations: json!({"openshift.io/required-scc": "privileged"}),
                init: &workload.init,
                containers: &workload.containers,
                host_network: workload.host_network,
                started,
                run: run(params, set_name, *node),
            },
        );
    }
    for object in owners(params, workload, &replica_set, pods.len(), ready, born) {
        writer.put(object);
    }
}

/// Restarts that every cluster of a day's age has seen.
fn run<'a>(params: &BaseParams, name: &str, node: Option<&str>) -> Run<'a> {
    let first =
        node.is_some_and(|node| params.masters.first().is_some_and(|master| master == node));
    match name {
        "network-operator" => Run::Restarted {
            container: "network-operator",
            at: params.at(880),
            count: 1,
            exit: 255,
        },
        "machine-api-controllers" if params.phase == Phase::Installed && first => Run::Restarted {
            container: "machine-controller",
            at: params.at(1_130),
            count: 1,
            exit: 1,
        },
        _ => Run::Steady,
    }
}

fn spread<'p>(
    params: &BaseParams,
    places: &[&'p str],
    count: usize,
    workload: &Workload,
) -> Vec<Option<&'p str>> {
    if places.is_empty() {
        return vec![None; count];
    }
    let count = if params.single_node() { 1 } else { count.min(places.len()) };
    let first = hash(workload.name) as usize % places.len();
    (0..count).map(|n| Some(places[(first + n) % places.len()])).collect()
}

fn owners(
    params: &BaseParams,
    workload: &Workload,
    replica_set: &str,
    wanted: usize,
    ready: usize,
    born: i64,
) -> Vec<Value> {
    let namespace = workload.namespace;
    let name = workload.name;
    let labels = app(name);
    let meta = |name: &str| json!({"name": name, "namespace": namespace, "generation": 1, "creationTimestamp": params.stamp(born), "labels": labels});
    let selector = json!({"matchLabels": labels});
    let containers: Vec<Value> = workload
        .containers
        .iter()
        .map(|container| json!({"image": params.image(container), "name": container}))
        .collect();
    let template = json!({"metadata": {"creationTimestamp": null, "labels": labels}, "spec": {"containers": containers}});
    match workload.set {
        Set::Daemon => {
            let mut meta = meta(name);
            meta["annotations"] = json!({"deprecated.daemonset.template.generation": "1"});
            vec![json!({
                "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta,
                "spec": {"revisionHistoryLimit": 10, "selector": selector, "template": template, "updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}, "type": "RollingUpdate"}},
                "status": {"currentNumberScheduled": wanted, "desiredNumberScheduled": wanted, "numberAvailable": ready, "numberMisscheduled": 0, "numberReady": ready, "observedGeneration": 1, "updatedNumberScheduled": wanted}
            })]
        }
        Set::Stateful(_) => vec![json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta(name),
            "spec": {"replicas": wanted, "selector": selector, "template": template},
            "status": {"availableReplicas": ready, "currentReplicas": wanted, "observedGeneration": 1, "readyReplicas": ready, "replicas": wanted, "updatedReplicas": wanted}
        })],
        Set::Deployment(_) => {
            let mut of_set = meta(replica_set);
            of_set["ownerReferences"] = json!([{"apiVersion": "apps/v1", "blockOwnerDeletion": true, "controller": true, "kind": "Deployment", "name": name, "uid": uid("Deployment", namespace, name)}]);
            vec![
                deployment(
                    params,
                    meta(name),
                    &selector,
                    &template,
                    replica_set,
                    wanted,
                    ready,
                    born,
                ),
                json!({
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": of_set,
                    "spec": {"replicas": wanted, "selector": selector, "template": template},
                    "status": {"availableReplicas": ready, "fullyLabeledReplicas": wanted, "observedGeneration": 1, "readyReplicas": ready, "replicas": wanted}
                }),
            ]
        }
    }
}

#[expect(clippy::too_many_arguments, reason = "one object from its parts, called once")]
fn deployment(
    params: &BaseParams,
    mut meta: Value,
    selector: &Value,
    template: &Value,
    replica_set: &str,
    wanted: usize,
    ready: usize,
    born: i64,
) -> Value {
    meta["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
    let good = ready == wanted;
    let (since, done) = (params.stamp(born + 40), params.stamp(born + 41));
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
        "spec": {"progressDeadlineSeconds": 600, "replicas": wanted, "revisionHistoryLimit": 10, "selector": selector, "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}, "type": "RollingUpdate"}, "template": template},
        "status": {
            "availableReplicas": ready, "observedGeneration": 1, "readyReplicas": ready, "replicas": wanted,
            "unavailableReplicas": wanted - ready, "updatedReplicas": wanted,
            "conditions": [
                {"type": "Available", "status": if good { "True" } else { "False" }, "lastTransitionTime": since, "lastUpdateTime": since,
                 "message": if good { "Deployment has minimum availability." } else { "Deployment does not have minimum availability." },
                 "reason": if good { "MinimumReplicasAvailable" } else { "MinimumReplicasUnavailable" }},
                {"type": "Progressing", "status": "True", "lastTransitionTime": since, "lastUpdateTime": done,
                 "message": if good { format!("ReplicaSet \"{replica_set}\" has successfully progressed.") } else { format!("ReplicaSet \"{replica_set}\" is progressing.") },
                 "reason": if good { "NewReplicaSetAvailable" } else { "ReplicaSetUpdated" }}
            ]
        }
    })
}
