//! ClusterOperators, and the operator.openshift.io objects behind them.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};

use super::Facts;
use super::object::Object;

pub fn cluster_operator(object: &Object<'_>) -> Facts {
    let mut entity = Entity::default();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        let fact = match kind.as_str() {
            "Available" => "available",
            "Degraded" => "degraded",
            "Progressing" => "progressing",
            "Upgradeable" => "upgradeable",
            "Disabled" => "disabled",
            _ => continue,
        };
        entity.set(fact, value, evidence);
    }
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    vec![(object.id("ClusterOperator"), entity)]
}

/// Names below the cluster's apps domain that operators look up from inside.
const APPS_NAMES: [&str; 3] =
    ["oauth-openshift.", "console-openshift-console.", "canary-openshift-ingress-canary."];

/// Operators that cannot resolve a name of the apps domain: `lookup <name> on <server>: no such host`.
fn apps_unresolved(base: &mut FactBase) {
    let (mut told, mut operators, mut asked) = (Vec::new(), Vec::new(), false);
    for operator in ["authentication", "console", "ingress"] {
        let id = EntityId::cluster_scoped("ClusterOperator", operator);
        let Some(entity) = base.entities.get(&id) else { continue };
        for condition in ["degraded", "available"] {
            let Some(said) = entity.facts.get(condition) else { continue };
            let text = |key| said.get(key).and_then(Value::text).unwrap_or_default();
            asked = true;
            // A condition that is as it should be may still carry the words of the last trouble.
            let bad = text("status") == if condition == "degraded" { "True" } else { "False" };
            let unresolved = text("message").split("lookup ").skip(1).any(|rest| {
                APPS_NAMES.iter().any(|name| rest.starts_with(name))
                    && rest.lines().next().is_some_and(|line| line.contains("no such host"))
            });
            if bad && unresolved {
                operators.push(operator.to_string());
                told.extend(entity.provenance.get(condition).into_iter().flatten().cloned());
            }
        }
    }
    operators.dedup();
    if asked {
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("appsUnresolved", operators, told);
    }
}

/// Whether an operator itself counts two where there should be three.
pub fn derive(base: &mut FactBase) {
    apps_unresolved(base);
    let mut told = Vec::new();
    let mut asked = false;
    for (operator, words) in
        [("etcd", "quorum of 2"), ("authentication", "need at least 3 kube-apiservers, got 2")]
    {
        let Some(entity) =
            base.entities.get(&EntityId::cluster_scoped("ClusterOperator", operator))
        else {
            continue;
        };
        for condition in ["degraded", "available"] {
            let message =
                entity.facts.get(condition).and_then(|c| c.get("message")).and_then(Value::text);
            asked |= message.is_some();
            if message.is_some_and(|message| message.contains(words)) {
                told.extend(entity.provenance.get(condition).into_iter().flatten().cloned());
            }
        }
    }
    if asked {
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("operatorsCountTwo", !told.is_empty(), told);
    }
}

/// The messages of everything red, for what several operators say in their own words.
pub fn derive_messages(base: &mut FactBase) {
    let mut told: BTreeMap<String, Vec<Evidence>> = BTreeMap::new();
    let mut asked = false;
    for (_, operator) in base.entities.iter().filter(|(id, _)| id.kind == "ClusterOperator") {
        for (condition, red) in [("degraded", "True"), ("available", "False")] {
            let Some(found) = operator.facts.get(condition) else { continue };
            asked = true;
            let field = |key: &str| found.get(key).and_then(Value::text).unwrap_or_default();
            if field("status") == red {
                let from = operator.provenance.get(condition).cloned().unwrap_or_default();
                told.entry(field("message").to_string()).or_insert(from);
            }
        }
    }
    if asked {
        let (texts, from): (Vec<String>, Vec<Vec<Evidence>>) = told.into_iter().unzip();
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("redMessages", texts, from.concat());
    }
}

/// Which ClusterOperator an operator.openshift.io resource stands behind.
fn operator_of(plural: &str) -> Option<&'static str> {
    Some(match plural {
        "etcds" => "etcd",
        "kubeapiservers" => "kube-apiserver",
        "kubecontrollermanagers" => "kube-controller-manager",
        "kubeschedulers" => "kube-scheduler",
        "authentications" => "authentication",
        "networks" => "network",
        "openshiftapiservers" => "openshift-apiserver",
        "openshiftcontrollermanagers" => "openshift-controller-manager",
        _ => return None,
    })
}

/// Conditions in detail, and for static pods which node runs which revision.
pub fn operand(object: &Object<'_>) -> Facts {
    let Some(operator) = operator_of(object.plural()) else { return Vec::new() };
    let mut entity = Entity::default();
    let mut details = BTreeMap::new();
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        entity.provenance.insert(format!("details.{kind}"), vec![evidence]);
        details.insert(kind, value);
    }
    entity.facts.insert("details".into(), Value::Map(details));
    if let Some(latest) = object.int(&["status", "latestAvailableRevision"]) {
        let at = object.cite_field(&["status", "latestAvailableRevision"]);
        entity.set("latestRevision", latest, at);
    }
    if let Some(nodes) = object.node(&["status", "nodeStatuses"]) {
        let statuses: Vec<Value> = nodes
            .items()
            .iter()
            .filter_map(|item| {
                let number = |key| item.get(key).and_then(plimsoll_yaml::Node::as_int).unwrap_or(0);
                Some(Value::Map(BTreeMap::from([
                    ("node".to_string(), Value::from(item.text_at(&["nodeName"])?)),
                    ("current".to_string(), number("currentRevision").into()),
                    ("target".to_string(), number("targetRevision").into()),
                    ("failed".to_string(), number("lastFailedRevision").into()),
                ])))
            })
            .collect();
        let at = object.cite_node(nodes, "/status/nodeStatuses", "nodeStatuses");
        entity.set("nodeStatuses", Value::List(statuses), at);
    }
    vec![(EntityId::cluster_scoped("ClusterOperator", operator), entity)]
}
