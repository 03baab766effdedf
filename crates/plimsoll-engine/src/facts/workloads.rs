//! Deployments, DaemonSets and volume claims of the platform's own namespaces.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::Facts;
use super::object::Object;

pub fn deployment(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    let desired = object.int(&["spec", "replicas"]).unwrap_or(1);
    entity.set("desired", desired, object.cite_field(&["spec", "replicas"]));
    // Kubernetes leaves zero counts out, so an absent count of a written status is zero.
    if object.node(&["status"]).is_some() {
        for (field, fact) in [
            ("replicas", "created_pods"),
            ("readyReplicas", "ready"),
            ("updatedReplicas", "updated"),
        ] {
            let count = object.int(&["status", field]).unwrap_or(0);
            entity.set(fact, count, object.cite(&["status", field], format!("{field}: {count}")));
        }
        for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
            match kind.as_str() {
                "Available" => entity.set("available", value, evidence),
                "ReplicaFailure" => entity.set("replicaFailure", value, evidence),
                "Progressing" => entity.set("progressing", value, evidence),
                _ => {}
            }
        }
        let observed = object.int(&["status", "observedGeneration"]).unwrap_or(0);
        if let Some(generation) = object.int(&["metadata", "generation"]) {
            let at = object.cite_field(&["status", "observedGeneration"]);
            entity.set("observed", observed >= generation, at);
        }
    }
    vec![(object.namespaced_id("Deployment"), entity)]
}

pub fn daemon_set(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    if object.node(&["status"]).is_some() {
        for (field, fact) in [
            ("desiredNumberScheduled", "desired"),
            ("numberReady", "ready"),
            ("numberUnavailable", "unavailable"),
            ("updatedNumberScheduled", "updated"),
        ] {
            let count = object.int(&["status", field]).unwrap_or(0);
            entity.set(fact, count, object.cite(&["status", field], format!("{field}: {count}")));
        }
    }
    vec![(object.namespaced_id("DaemonSet"), entity)]
}

pub fn volume_claim(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    if let Some(phase) = object.text(&["status", "phase"]) {
        entity.set("phase", phase, object.cite_field(&["status", "phase"]));
    }
    let class = object.text(&["spec", "storageClassName"]).unwrap_or_default();
    entity.set("storageClass", class, object.cite_field(&["spec", "storageClassName"]));
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    vec![(object.namespaced_id("PersistentVolumeClaim"), entity)]
}

/// Pods that were collected exist, though the Deployment's status may still count none.
pub fn derive(base: &mut FactBase) {
    let mut pods: BTreeMap<EntityId, Vec<Evidence>> = BTreeMap::new();
    for relation in base.relations.iter().filter(|link| link.name == "pod-of-deployment") {
        let Some(pod) = base.entities.get(&relation.from) else { continue };
        let phase = pod.facts.get("phase").and_then(Value::text);
        if phase.is_some_and(|phase| !["Failed", "Succeeded"].contains(&phase)) {
            let cited = pod.provenance.get("phase").into_iter().flatten().take(1).cloned();
            pods.entry(relation.to.clone()).or_default().extend(cited);
        }
    }
    for (id, cited) in pods {
        let Some(deployment) = base.entities.get_mut(&id) else { continue };
        if deployment.facts.get("created_pods") == Some(&Value::Int(0)) {
            deployment.derive("created_pods", cited.len(), cited);
        }
    }
}
