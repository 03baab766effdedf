//! Whose logs are worth reading, and how much of them: what the packs look for, and not five hundred
//! times the same.

use plimsoll_model::LogOrigin;
use plimsoll_model::redact::redact;
use plimsoll_model::snapshot::{Era, Needs};
use serde_json::Value;

use super::health::Health;
use super::words::Trouble;
use super::{Reading, text_at};
use crate::archive::Closed;

/// The end of a log is where what is wrong now stands.
pub const LINES: usize = 20_000;
pub const LINES_OF_WELL: usize = 4_000;
const LINES_WHEN_QUIET: usize = 500;
/// Of a cluster that is no larger, every pod of a daemon set is read.
const FEW_NODES: usize = 10;
/// Of a longer one the newest part is kept.
pub const LARGEST_LOG: usize = 32 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodSeen {
    pub namespace: String,
    pub name: String,
    pub node: String,
    /// Name and restarts of each container that ran.
    pub containers: Vec<(String, u64)>,
    /// One of many, on every node.
    pub of_daemon_set: bool,
    pub well: bool,
    /// It has a node, and does not run there.
    pub is_starting: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedLog {
    pub namespace: String,
    pub pod: String,
    pub container: String,
    pub node: String,
    pub previous: bool,
    pub lines: usize,
}

/// Reads one log into the archive.
pub async fn read(reading: &Reading<'_>, log: &WantedLog) -> Result<(), Closed> {
    if let Some(trouble) = reading.silent(&log.node) {
        reading.unread_log(&log.node, trouble);
        return Ok(());
    }
    let WantedLog { namespace, pod, container, node, previous, lines } = log;
    let before = if *previous { "&previous=true" } else { "" };
    let path = format!(
        "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={container}&timestamps=true&tailLines={lines}{before}"
    );
    let era = if *previous { "previous" } else { "current" };
    match reading.asker.of_kubelet(&path, LARGEST_LOG).await {
        Ok(log) => {
            let what = format!("the {era} log of {namespace}/{pod}/{container}");
            reading.tell_missing_part(&what, &log);
            let clean = redact(&String::from_utf8_lossy(&log.text)).to_string();
            let folder = format!("namespaces/{namespace}/pods/{pod}/{container}/{container}");
            reading.out.add(format!("{folder}/logs/{era}.log"), clean).await?;
        }
        Err(trouble) if trouble.status == Some(400) && never_ran(&trouble.why) => {}
        Err(trouble) if lacks_right(&trouble) => reading.refused_log(namespace),
        Err(trouble) => reading.unread_log(node, trouble),
    }
    Ok(())
}

/// Of the user's. A kubelet may refuse the API server as well, and a webhook anything.
fn lacks_right(trouble: &Trouble) -> bool {
    trouble.status == Some(403) && !trouble.of_kubelet && trouble.why.contains("pods/log")
}

/// A container that never ran, or not a second time, has no log; that is no news.
fn never_ran(why: &str) -> bool {
    ["waiting to start", "previous terminated container"].iter().any(|words| why.contains(words))
}

impl PodSeen {
    pub fn of(pod: &Value) -> Option<Self> {
        let namespace = text_at(pod, "/metadata/namespace");
        if !is_of_the_platform(&namespace) {
            return None;
        }
        let statuses = ["initContainerStatuses", "containerStatuses"]
            .into_iter()
            .filter_map(|key| pod.get("status")?.get(key)?.as_array())
            .flatten();
        let started =
            |status: &&Value| status.pointer("/state/waiting").is_none() || restarts(status) > 0;
        let containers: Vec<(String, u64)> = statuses
            .clone()
            .filter(started)
            .map(|status| (text_at(status, "/name"), restarts(status)))
            .collect();
        let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        let phase = text_at(pod, "/status/phase");
        let mut main = pod
            .pointer("/status/containerStatuses")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let well = phase == "Succeeded"
            || (phase == "Running"
                && main.all(|status| status["ready"] == true && restarts(status) == 0));
        let node = text_at(pod, "/spec/nodeName");
        Some(Self {
            namespace,
            name: text_at(pod, "/metadata/name"),
            is_starting: phase == "Pending" && !node.is_empty(),
            node,
            containers,
            of_daemon_set: owners.into_iter().flatten().any(|owner| owner["kind"] == "DaemonSet"),
            well,
        })
    }
}

/// Workloads of users are none of our business.
fn is_of_the_platform(namespace: &str) -> bool {
    const OTHERS: [&str; 4] =
        ["assisted-installer", "kube-system", "metal3", "multicluster-engine"];
    namespace.starts_with("openshift-") || OTHERS.contains(&namespace)
}

fn restarts(status: &Value) -> u64 {
    status["restartCount"].as_u64().unwrap_or_default()
}

/// Sorted. Of a daemon set's pods in a large cluster only those on the control plane, those that are
/// not well, and those whose node is not.
pub fn wanted(needs: &Needs, pods: &[PodSeen], health: &Health) -> Vec<WantedLog> {
    let selectors: Vec<&str> = {
        let mut all: Vec<&str> = needs
            .signatures
            .iter()
            .flat_map(|signature| signature.logs.iter().map(String::as_str))
            .filter(|selector| selector.starts_with("pod/"))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let many = health.nodes.len() > FEW_NODES;
    let mut found = Vec::new();
    for pod in pods {
        let ails = !pod.well || health.is_ailing(&pod.node);
        let on_control_plane = health.nodes.get(&pod.node).is_some_and(|node| node.control_plane);
        if pod.of_daemon_set && !ails && many && !on_control_plane {
            continue;
        }
        let lines = match (ails || health.namespaces.contains(&pod.namespace), health.red) {
            (true, _) => LINES,
            (false, true) => LINES_OF_WELL,
            (false, false) => LINES_WHEN_QUIET,
        };
        for (container, restarts) in &pod.containers {
            let origin = LogOrigin::Container {
                namespace: pod.namespace.clone(),
                pod: pod.name.clone(),
                container: container.clone(),
                era: Era::Current,
            };
            if !selectors.iter().any(|selector| origin.matches(selector)) {
                continue;
            }
            let log = |previous| WantedLog {
                namespace: pod.namespace.clone(),
                pod: pod.name.clone(),
                container: container.clone(),
                node: pod.node.clone(),
                previous,
                lines,
            };
            found.push(log(false));
            found.extend((*restarts > 0).then(|| log(true)));
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::Signature;
    use serde_json::json;

    use super::super::words::answered;
    use super::*;

    fn pod(namespace: &str, name: &str, daemon: bool, ready: bool, restarts: u64) -> PodSeen {
        let kind = if daemon { "DaemonSet" } else { "ReplicaSet" };
        PodSeen::of(&json!({
            "metadata": {"namespace": namespace, "name": name, "ownerReferences": [{"kind": kind}]},
            "spec": {"nodeName": format!("node-of-{name}")},
            "status": {"phase": "Running", "containerStatuses":
                [{"name": "c", "ready": ready, "restartCount": restarts, "state": {"running": {}}}]}
        }))
        .unwrap()
    }

    #[test]
    fn only_a_right_of_the_user_is_told_as_one() {
        let refused = |message: &str| {
            let body = json!({"message": message}).to_string();
            lacks_right(&answered(403, body.as_bytes()))
        };
        let of_user = "pods \"a\" is forbidden: User \"few\" cannot get resource \"pods/log\" in API group \"\" in the namespace \"openshift-etcd\"";
        assert!(refused(of_user));
        assert!(!refused(
            "Forbidden (user=system:kube-apiserver, verb=get, resource=nodes, subresource=proxy) ( pods/log a)"
        ));
        assert!(!refused("admission webhook \"deny.example.com\" denied the request"));
    }

    #[test]
    fn of_many_alike_only_the_ailing_are_read() {
        let signature = Signature {
            id: "s".into(),
            contains: vec!["x".into()],
            pattern: None,
            logs: vec!["pod/openshift-dns/c".into(), "unit/kubelet".into()],
        };
        let needs = Needs { signatures: vec![signature], ..Needs::default() };
        let pods = [
            pod("openshift-dns", "well", true, true, 0),
            pod("openshift-dns", "restarted", true, true, 2),
            pod("openshift-dns", "on-bad-node", true, true, 0),
            pod("openshift-dns", "single", false, true, 0),
            pod("openshift-other", "not-asked-for", false, false, 0),
        ];
        let bad = super::super::health::NodeSeen::default();
        let good = super::super::health::NodeSeen { well: true, ..bad.clone() };
        let mut health = Health::default();
        let logs = |health: &Health| wanted(&needs, &pods, health);
        assert_eq!(logs(&health).len(), 5, "of few nodes every log is read");
        health.nodes = (0..20).map(|at| (format!("node-{at}"), good.clone())).collect();
        health.nodes.insert("node-of-on-bad-node".into(), bad);
        let logs = logs(&health);
        let shown: Vec<_> = logs.iter().map(|log| (log.pod.as_str(), log.previous)).collect();
        assert_eq!(
            shown,
            [("on-bad-node", false), ("restarted", false), ("restarted", true), ("single", false)]
        );
        assert!(PodSeen::of(&json!({"metadata": {"namespace": "shop", "name": "p"}})).is_none());
    }
}
