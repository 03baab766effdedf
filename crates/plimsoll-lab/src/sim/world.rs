//! What stands in a cluster when the fault happens, as far as the mechanisms ask.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_yaml::{Limits, Node, parse};

use crate::base::{BaseParams, Phase};
use crate::objects;
use crate::tree::Tree;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub namespace: String,
    pub name: String,
    pub node: Option<String>,
    /// `DaemonSet`, `ReplicaSet`, `StatefulSet`, `Node` or nothing.
    pub owner_kind: String,
    /// The workload's name: of a replica set, its deployment's.
    pub owner: String,
    pub containers: Vec<String>,
    pub host_network: bool,
    pub running: bool,
    /// The fault's own evidence says how a container ended.
    pub exit_known: bool,
}

pub(super) struct World<'p> {
    pub params: &'p BaseParams,
    pub now: Timestamp,
    pub pods: Vec<Pod>,
    /// Conditions that the fault's own evidence already set: by operator and type.
    pub said: BTreeMap<(String, String), Said>,
}

/// A condition as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub status: String,
    pub reason: String,
    pub message: String,
    pub since: Option<Timestamp>,
}

impl<'p> World<'p> {
    pub fn new(params: &'p BaseParams, tree: &Tree) -> Self {
        let mut pods = Vec::new();
        let mut said = BTreeMap::new();
        for (path, bytes) in tree {
            let parts: Vec<&str> = path.split('/').collect();
            let is_pod = matches!(parts[..], ["namespaces", _, "pods", pod, file] if file.strip_suffix(".yaml") == Some(pod));
            let is_operator =
                matches!(parts[..], [_, "config.openshift.io", "clusteroperators", _]);
            if !is_pod && !is_operator {
                continue;
            }
            let Ok(text) = std::str::from_utf8(bytes) else { continue };
            let Ok(object) = parse(text, &Limits::OBJECT) else { continue };
            if is_pod {
                pods.push(pod(&object));
            } else {
                said.extend(conditions(&object));
            }
        }
        Self { params, now: params.now, pods, said }
    }

    pub fn installing(&self) -> bool {
        self.params.phase == Phase::Installing
    }

    pub fn has_node(&self, node: &str) -> bool {
        self.params.nodes().contains(&node)
    }

    pub fn pods_on<'w>(&'w self, node: &'w str) -> impl Iterator<Item = &'w Pod> {
        self.pods.iter().filter(move |pod| pod.running && pod.node.as_deref() == Some(node))
    }

    pub fn pods_of<'w>(
        &'w self,
        namespace: &'w str,
        owner: &'w str,
    ) -> impl Iterator<Item = &'w Pod> {
        self.pods
            .iter()
            .filter(move |pod| pod.running && pod.namespace == namespace && pod.owner == owner)
    }

    pub fn pod(&self, namespace: &str, name: &str) -> Option<&Pod> {
        self.pods.iter().find(|pod| pod.namespace == namespace && pod.name == name)
    }
}

fn pod(object: &Node) -> Pod {
    let text = |path: &[&str]| object.text_at(path).unwrap_or_default().to_string();
    let owner = object.at(&["metadata", "ownerReferences"]).and_then(|all| all.items().first());
    let owned =
        |key: &str| owner.and_then(|owner| owner.text_at(&[key])).unwrap_or_default().to_string();
    let owner_kind = owned("kind");
    let owner = match owner_kind.as_str() {
        "ReplicaSet" => {
            owned("name").rsplit_once('-').map(|(name, _)| name.to_string()).unwrap_or_default()
        }
        _ => owned("name"),
    };
    let containers = object.at(&["spec", "containers"]).map(Node::items).unwrap_or_default();
    let statuses = object.at(&["status", "containerStatuses"]).map(Node::items).unwrap_or_default();
    Pod {
        namespace: text(&["metadata", "namespace"]),
        name: objects::name_of(object).into(),
        node: object.text_at(&["spec", "nodeName"]).map(str::to_string),
        owner_kind,
        owner,
        containers: containers
            .iter()
            .filter_map(|container| container.text_at(&["name"]).map(str::to_string))
            .collect(),
        host_network: object.at(&["spec", "hostNetwork"]).and_then(Node::as_bool) == Some(true),
        running: text(&["status", "phase"]) == "Running",
        exit_known: statuses.iter().any(|status| {
            let exit = status.text_at(&["lastState", "terminated", "reason"]);
            exit.is_some_and(|reason| reason != "Completed")
        }),
    }
}

fn conditions(object: &Node) -> Vec<((String, String), Said)> {
    let all = object.at(&["status", "conditions"]).map(Node::items).unwrap_or_default();
    all.iter()
        .map(|condition| {
            let text = |key: &str| condition.text_at(&[key]).unwrap_or_default().to_string();
            let said = Said {
                status: text("status"),
                reason: text("reason"),
                message: text("message"),
                since: text("lastTransitionTime").parse().ok(),
            };
            ((objects::name_of(object).to_string(), text("type")), said)
        })
        .collect()
}
