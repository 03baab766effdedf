//! Events, by what they are about: `events['FailedMount']` of a pod, a node, a host.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, FactBase, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::absence::Lists;
use super::object::{Object, time};
use super::pulls;

pub fn event(object: &Object<'_>) -> Facts {
    let involved = |key: &str| object.text(&["involvedObject", key]);
    let (Some(kind), Some(name), Some(reason)) =
        (involved("kind"), involved("name"), object.text(&["reason"]))
    else {
        return Vec::new();
    };
    let id = match kind {
        "Node" | "BareMetalHost" | "Machine" => EntityId::cluster_scoped(kind, name),
        "Pod" | "PersistentVolumeClaim" if object.text(&["type"]) == Some("Warning") => {
            EntityId::namespaced(kind, involved("namespace").unwrap_or(object.namespace()), name)
        }
        _ => return Vec::new(),
    };
    let first = object.text(&["firstTimestamp"]).or(object.text(&["eventTime"])).and_then(time);
    let last = object
        .text(&["lastTimestamp"])
        .or(object.text(&["series", "lastObservedTime"]))
        .or(object.text(&["eventTime"]))
        .and_then(time);
    let count = object.node(&["count"]).and_then(Node::as_int).unwrap_or(1);
    let message = object.text(&["message"]).unwrap_or_default();
    let mut map = BTreeMap::from([
        ("count".to_string(), Value::Int(count)),
        ("message".to_string(), Value::from(message)),
    ]);
    let first = first.or(last).or(object.time(&["metadata", "creationTimestamp"]));
    if let Some(first) = first {
        map.insert("first".into(), first.into());
    }
    if let Some(last) = last.or(first) {
        map.insert("last".into(), last.into());
    }
    let mut at = object.cite(&["message"], format!("{reason} (x{count}): {message}"));
    at.time = last.or(first);
    let mut entity = Entity::default();
    let mut by_reason = BTreeMap::from([(reason.to_string(), Value::Map(map.clone()))]);
    entity.provenance.insert(format!("events.{reason}"), vec![at.clone()]);
    // `Failed` also announces the back-off, which comes later and hides why.
    if message.starts_with("Failed to pull image") {
        by_reason.insert(pulls::FAILED.into(), Value::Map(map));
        entity.provenance.insert(format!("events.{}", pulls::FAILED), vec![at]);
    }
    entity.facts.insert("events".into(), Value::Map(by_reason));
    vec![(id, entity)]
}

/// No event in a list that was collected is a fact, too.
pub fn derive(lists: &Lists, base: &mut FactBase) {
    for (id, entity) in &mut base.entities {
        let namespace = match id.kind.as_str() {
            "Pod" | "PersistentVolumeClaim" => id.namespace.as_deref(),
            // Events of what has no namespace are kept here.
            "Node" => Some("default"),
            "BareMetalHost" | "Machine" => Some("openshift-machine-api"),
            _ => continue,
        };
        if lists.prove("core", "events", namespace) {
            entity.facts.entry("events".into()).or_insert_with(|| Value::Map(BTreeMap::new()));
        }
    }
}

/// Several events of one reason: counts add up, the span is theirs together, the latest speaks.
pub fn join(old: &mut Value, new: Value) {
    let (Value::Map(old), Value::Map(new)) = (old, new) else { return };
    let count = |map: &BTreeMap<String, Value>| match map.get("count") {
        Some(Value::Int(count)) => *count,
        _ => 0,
    };
    let time = |map: &BTreeMap<String, Value>, key: &str| match map.get(key) {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    };
    let total = count(old).saturating_add(count(&new));
    let first = [time(old, "first"), time(&new, "first")].into_iter().flatten().min();
    let (last_old, last_new) = (time(old, "last"), time(&new, "last"));
    if last_new >= last_old {
        old.extend(new);
    }
    old.insert("count".into(), Value::Int(total));
    if let (Some(first), Some(last)) = (first, last_old.max(last_new)) {
        old.insert("first".into(), first.into());
        old.insert("last".into(), last.into());
    }
}
