//! Pods that are not simply fine, and the static pods that must be there.
//!
//! A healthy or completed pod makes no entity of its own: there may be tens of thousands. Where an
//! event or a log speaks of one, `complete` says the rest.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Snapshot, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::absence::Lists;
use super::object::{Object, time};

/// Where every pod runs, fine or not, and what little there is to say of a fine one. Dropped when
/// facts are complete.
pub const PLACE: &str = "(pod place)";

/// (namespace, pod name prefix, ClusterOperator)
pub const STATIC_PODS: &[(&str, &str, &str)] = &[
    ("openshift-etcd", "etcd-", "etcd"),
    ("openshift-kube-apiserver", "kube-apiserver-", "kube-apiserver"),
    ("openshift-kube-controller-manager", "kube-controller-manager-", "kube-controller-manager"),
    ("openshift-kube-scheduler", "openshift-kube-scheduler-", "kube-scheduler"),
];

pub fn pod(object: &Object<'_>) -> Facts {
    let mirror = object.node(&["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
    let phase = object.text(&["status", "phase"]).unwrap_or_default();
    let mut containers = Containers::read(object);
    // A dead node leaves its pods' containers marked ready; only the condition tells.
    let conditions = object.conditions(&["status", "conditions"]);
    let said_unready = conditions.iter().any(|(kind, value, _)| {
        kind == "Ready" && value.get("status").and_then(Value::text) == Some("False")
    });
    containers.all_ready &= !(phase == "Running" && said_unready);
    let deleting = object.time(&["metadata", "deletionTimestamp"]);
    let fine = phase == "Succeeded"
        || (phase == "Running"
            && containers.all_ready
            && containers.waiting.is_none()
            && deleting.is_none());
    let mut place = Entity::default();
    if let Some(node) = object.text(&["spec", "nodeName"]) {
        place.set("node", node, object.cite_field(&["spec", "nodeName"]));
    }
    if fine {
        place.set("phase", phase, object.cite_field(&["status", "phase"]));
        place.facts.insert("restarts".into(), containers.restarts.into());
        let created = object.time(&["metadata", "creationTimestamp"]);
        place.facts.extend(created.map(|time| ("created".to_string(), time.into())));
    }
    if phase == "Running" {
        let statuses = object.node(&["status", "containerStatuses"]);
        let names = statuses.into_iter().flat_map(|all| all.items());
        let names: Vec<Value> =
            names.filter_map(|one| one.text_at(&["name"])).map(Into::into).collect();
        place.set("writes", Value::List(names), object.cite_field(&["status", "phase"]));
    }
    let place = (object.namespaced_id(PLACE), place);
    if fine && !mirror {
        return vec![place];
    }
    let mut entity = Entity::default();
    entity.set("exists", true, object.cite_field(&["metadata", "name"]));
    entity.set("phase", phase, object.cite_field(&["status", "phase"]));
    entity.set(
        "mirror",
        mirror,
        object.cite(&["metadata", "annotations"], "kubernetes.io/config.mirror"),
    );
    entity.set(
        "ready",
        containers.all_ready,
        object.cite(&["status", "containerStatuses"], "ready"),
    );
    let node = object.text(&["spec", "nodeName"]).unwrap_or_default();
    entity.set("node", node, object.cite_field(&["spec", "nodeName"]));
    entity.set("restarts", containers.restarts, containers.restarts_at(object));
    if let Some(deadline) = deleting {
        let at = object.cite_field(&["metadata", "deletionTimestamp"]);
        entity.set("deleteBy", deadline, at);
    }
    entity.set(
        "deleting",
        deleting.is_some(),
        object.cite_field(&["metadata", "deletionTimestamp"]),
    );
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    for (field, fact) in [("reason", "reason"), ("message", "message")] {
        let text = object.text(&["status", field]).unwrap_or_default();
        entity.set(fact, text, object.cite_field(&["status", field]));
    }
    let (waiting, message, at) = containers.waiting.clone().unwrap_or_else(|| {
        (String::new(), String::new(), object.cite(&["status"], "no container waits"))
    });
    entity.set("waiting", waiting, at.clone());
    entity.set("waitingMessage", message, at);
    if let Some((reason, finished, at)) = &containers.terminated {
        entity.set("lastExit", reason.as_str(), at.clone());
        if let Some(finished) = finished {
            entity.set("lastExitTime", *finished, at.clone());
        }
    }
    entity.provenance.extend(
        containers.exits.iter().map(|(name, (_, at))| (format!("exits.{name}"), vec![at.clone()])),
    );
    let exits = containers.exits.into_iter().map(|(name, (exit, _))| (name, exit)).collect();
    entity.facts.insert("exits".into(), Value::Map(exits));
    for (kind, value, evidence) in conditions {
        match kind.as_str() {
            "Ready" => entity.set("readyCondition", value, evidence),
            "PodScheduled" => entity.set("scheduled", value, evidence),
            _ => {}
        }
    }
    let owner =
        object.node(&["metadata", "ownerReferences"]).and_then(|owners| owners.items().first());
    if let Some(owner) = owner {
        let field = |key| owner.text_at(&[key]).unwrap_or_default();
        entity.set(
            "owner",
            format!("{}/{}", field("kind"), field("name")),
            object.cite(&["metadata", "ownerReferences"], field("name")),
        );
    }
    vec![(object.namespaced_id("Pod"), entity), place]
}

struct Containers {
    all_ready: bool,
    restarts: i64,
    /// Reason, message and place of the first container that waits for something.
    waiting: Option<(String, String, Evidence)>,
    terminated: Option<(String, Option<plimsoll_model::Time>, Evidence)>,
    /// By container: how it ended last, and where that stands.
    exits: BTreeMap<String, (Value, Evidence)>,
}

impl Containers {
    fn read(object: &Object<'_>) -> Self {
        let mut found = Self {
            all_ready: true,
            restarts: 0,
            waiting: None,
            terminated: None,
            exits: BTreeMap::new(),
        };
        let statuses =
            object.node(&["status", "containerStatuses"]).map(Node::items).unwrap_or_default();
        found.all_ready = !statuses.is_empty();
        let init =
            object.node(&["status", "initContainerStatuses"]).map(Node::items).unwrap_or_default();
        for (is_init, list, status) in init
            .iter()
            .map(|s| (true, "initContainerStatuses", s))
            .chain(statuses.iter().map(|s| (false, "containerStatuses", s)))
        {
            found.all_ready &= is_init || status.get("ready").and_then(Node::as_bool) == Some(true);
            found.restarts += status.get("restartCount").and_then(Node::as_int).unwrap_or(0);
            let pointer = format!("/status/{list}");
            if let Some(waiting) = status.at(&["state", "waiting"]) {
                let reason = waiting.text_at(&["reason"]).unwrap_or_default();
                let message = waiting.text_at(&["message"]).unwrap_or_default();
                // An init container that still runs leaves the others in PodInitializing.
                if reason != "PodInitializing" && found.waiting.is_none() {
                    let at =
                        object.cite_node(waiting, &pointer, format!("waiting: {reason} {message}"));
                    found.waiting = Some((reason.into(), message.into(), at));
                }
            }
            let ended = status.at(&["state", "terminated"]).filter(|_| !is_init);
            if let Some(ended) = ended.or(status.at(&["lastState", "terminated"])) {
                let reason = ended.text_at(&["reason"]).unwrap_or_default();
                let finished = ended.text_at(&["finishedAt"]).and_then(time);
                let code = ended.get("exitCode").and_then(Node::as_int).unwrap_or(0);
                let mut at = object.cite_node(
                    ended,
                    &pointer,
                    format!("terminated: {reason}, exit code {code}"),
                );
                at.time = finished;
                let mut exit = BTreeMap::from([
                    ("reason".to_string(), Value::from(reason)),
                    ("code".to_string(), code.into()),
                    ("message".to_string(), ended.text_at(&["message"]).unwrap_or("").into()),
                ]);
                exit.extend(finished.map(|time| ("time".to_string(), time.into())));
                let name = status.text_at(&["name"]).unwrap_or_default();
                found.exits.insert(name.into(), (Value::Map(exit), at.clone()));
                found.terminated = Some((reason.into(), finished, at));
            }
        }
        found
    }

    fn restarts_at(&self, object: &Object<'_>) -> Evidence {
        object.cite(&["status", "containerStatuses"], format!("restartCount: {}", self.restarts))
    }
}

/// Pods that only events or logs have named so far. One that the API shows to be fine, or no longer
/// has, waits for nothing; one whose namespace was not listed stays unknown.
pub fn complete(snapshot: &Snapshot, lists: &Lists, base: &mut FactBase) {
    let named: Vec<EntityId> = base
        .entities
        .iter()
        .filter(|(id, entity)| id.kind == "Pod" && !entity.facts.contains_key("exists"))
        .map(|(id, _)| id.clone())
        .collect();
    for id in named {
        let namespace = id.namespace.as_deref().unwrap_or_default();
        let place = base.entities.get(&EntityId::namespaced(PLACE, namespace, &id.name));
        let shown = place.filter(|place| place.facts.contains_key("phase"));
        let mut facts: BTreeMap<String, Value> = shown
            .map(|place| place.facts.clone())
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, _)| name != "writes")
            .collect();
        let from = match shown {
            Some(place) => place.provenance.get("phase").cloned().unwrap_or_default(),
            None if lists.prove("core", "pods", Some(namespace)) => {
                let list = Some(namespace);
                vec![super::absence::list_evidence(snapshot, "core", "pods", list, &id.name)]
            }
            None => continue,
        };
        let running = facts.get("phase").and_then(Value::text) == Some("Running");
        for name in ["phase", "node", "waiting", "waitingMessage", "pullError", "reason", "message"]
        {
            facts.entry(name.into()).or_insert_with(|| "".into());
        }
        for (name, value) in [
            ("exists", shown.is_some()),
            ("ready", running),
            ("deleting", false),
            ("mirror", false),
        ] {
            facts.insert(name.into(), value.into());
        }
        let entity = base.entities.entry(id).or_default();
        facts.into_iter().for_each(|(name, value)| entity.derive(&name, value, from.clone()));
    }
}

/// Mirror pods that must exist: the operator installed a revision on that node. Whether one is
/// absent is told only by a list of the namespace's pods, never by a file that is not there.
pub fn derive(snapshot: &Snapshot, lists: &Lists, base: &mut FactBase) {
    for (namespace, prefix, operator) in STATIC_PODS {
        let operator = EntityId::cluster_scoped("ClusterOperator", operator);
        let Some(entity) = base.entities.get(&operator) else { continue };
        let Some(Value::List(statuses)) = entity.facts.get("nodeStatuses") else { continue };
        let installed: Vec<String> = statuses
            .iter()
            .filter(|status| !matches!(status.get("current"), Some(Value::Int(0)) | None))
            .filter_map(|status| status.get("node").and_then(Value::text).map(str::to_string))
            .collect();
        let revisions = entity.provenance.get("nodeStatuses").cloned().unwrap_or_default();
        let listed = lists.prove("core", "pods", Some(namespace));
        // A node that is not in the API has no pods there, and that is no fault of its kubelet.
        let joined = |node: &String| {
            let id = EntityId::cluster_scoped("Node", node);
            base.entities.get(&id).is_some_and(|entity| entity.facts.contains_key("controlPlane"))
        };
        let installed: Vec<String> = installed.into_iter().filter(joined).collect();
        for node in installed {
            let id = EntityId::namespaced("Pod", namespace, &format!("{prefix}{node}"));
            let entity = base.entities.entry(id.clone()).or_default();
            entity.derive("node", node.as_str(), revisions.clone());
            entity.derive("installed", true, revisions.clone());
            if !entity.facts.contains_key("exists") && listed {
                let mut from = vec![super::absence::list_evidence(
                    snapshot,
                    "core",
                    "pods",
                    Some(namespace),
                    &id.name,
                )];
                from.extend(revisions.clone());
                entity.derive("exists", false, from);
                entity.facts.insert("mirror".into(), Value::Bool(true));
            }
        }
    }
}
