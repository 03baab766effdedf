//! Who the API server itself must ask: aggregated APIs, admission webhooks, and who answers there.

use std::collections::BTreeMap;

use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value};
use plimsoll_yaml::Node;

use super::Facts;
use super::absence::Lists;
use super::object::Object;

/// One that the API server serves itself has no service behind it, and cannot be unavailable.
pub fn api_service(object: &Object<'_>) -> Facts {
    let Some(service) = object.node(&["spec", "service"]) else { return Vec::new() };
    let mut entity = Entity::default();
    entity.set("service", service_name(service), object.cite_field(&["spec", "service", "name"]));
    for (kind, value, evidence) in object.conditions(&["status", "conditions"]) {
        if kind == "Available" {
            entity.set("available", value, evidence);
        }
    }
    vec![(object.id("APIService"), entity)]
}

/// The services that must answer for a write to go through, of a validating or mutating
/// configuration. The two kinds often share one name, so each keeps its own list.
pub fn webhooks(object: &Object<'_>) -> Facts {
    let path = ["webhooks"];
    let hooks = object.node(&path).map(Node::items).unwrap_or_default();
    let blocks = (0_usize..).zip(hooks).filter_map(|(at, hook)| {
        // What v1 means when nothing is said.
        let fails = hook.text_at(&["failurePolicy"]).unwrap_or("Fail") == "Fail";
        let service = hook.at(&["clientConfig", "service"]).filter(|_| fails)?;
        Some((at, service_name(service), sees_new_pods(hook)))
    });
    let blocks: Vec<(usize, String, bool)> = blocks.collect();
    let hooks: Vec<String> = (blocks.iter())
        .map(|(at, service, pods)| format!("{at} {service}{}", if *pods { PODS } else { "" }))
        .collect();
    let mut blocking: Vec<String> = blocks.into_iter().map(|(_, service, _)| service).collect();
    blocking.sort();
    blocking.dedup();
    let fact = if object.plural().starts_with("mutating") { "mutating" } else { "validating" };
    let mut entity = Entity::default();
    let at = object.cite(&path, format!("failurePolicy: Fail, service {}", blocking.join(", ")));
    entity.set(&format!("{fact}Hooks"), hooks, at.clone());
    entity.set(fact, blocking, at);
    let left = left_ignored(object);
    let at = object.cite(&path, format!("failurePolicy: Ignore, by plimsoll: {}", left.join(", ")));
    entity.set(&format!("{fact}Ignored"), left, at);
    vec![(object.id("WebhookConfiguration"), entity)]
}

/// Annotations by which a repair says which webhooks it lets be ignored for a while.
const BYPASSED: &str = "plimsoll.io/bypassed-";

/// Places and services of webhooks that such a repair left ignored.
fn left_ignored(object: &Object<'_>) -> Vec<String> {
    let marks = object.node(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    let hooks = object.node(&["webhooks"]).map(Node::items).unwrap_or_default();
    let left = (0_usize..).zip(hooks).filter_map(|(at, hook)| {
        let mark = format!("{BYPASSED}{at}");
        let is_marked = marks.iter().any(|(key, _)| key.name == mark);
        let is_ignored = hook.text_at(&["failurePolicy"]) == Some("Ignore");
        let service = hook.at(&["clientConfig", "service"]).filter(|_| is_marked && is_ignored)?;
        Some(format!("{at} {}", service_name(service)))
    });
    left.collect()
}

/// Of both kinds that share a name.
fn derive_left(base: &mut FactBase) {
    for (_, entity) in base.entities.iter_mut().filter(|(id, _)| id.kind == "WebhookConfiguration")
    {
        let (mut services, mut from) = (Vec::new(), Vec::new());
        for (fact, places) in
            [("validatingIgnored", "validatingLeft"), ("mutatingIgnored", "mutatingLeft")]
        {
            let hooks = entity.facts.get(fact).into_iter().flat_map(Value::texts);
            let hooks: Vec<(&str, &str)> = hooks.filter_map(|hook| hook.split_once(' ')).collect();
            services.extend(hooks.iter().map(|(_, service)| service.to_string()));
            let at: Vec<String> = hooks.iter().map(|(at, _)| at.to_string()).collect();
            let known = entity.provenance.get(fact).cloned().unwrap_or_default();
            entity.derive(places, at, known.clone());
            from.extend(known);
        }
        services.sort();
        services.dedup();
        entity.derive("leftServices", services, from);
    }
}

/// Behind the hooks that are asked before a pod is made.
const PODS: &str = " pods";

fn sees_new_pods(hook: &Node) -> bool {
    let rules = hook.get("rules").map(Node::items).unwrap_or_default();
    let names = |rule: &Node, key: &str, wanted: &[&str]| {
        let listed = rule.get(key).map(Node::items).unwrap_or_default();
        listed.iter().filter_map(Node::as_text).any(|one| wanted.contains(&one))
    };
    rules.iter().any(|rule| {
        names(rule, "apiGroups", &["", "*"])
            && names(rule, "resources", &["pods", "*", "*/*"])
            && names(rule, "operations", &["CREATE", "*"])
    })
}

fn service_name(service: &Node) -> String {
    let field = |key| service.text_at(&[key]).unwrap_or_default();
    format!("{}/{}", field("namespace"), field("name"))
}

/// How many addresses answer behind a service.
pub fn endpoints(object: &Object<'_>) -> Facts {
    let subsets = object.node(&["subsets"]).map(Node::items).unwrap_or_default();
    let ready: usize = subsets
        .iter()
        .filter_map(|subset| subset.get("addresses"))
        .map(|addresses| addresses.items().len())
        .sum();
    let mut entity = Entity::default();
    entity.set("ready", ready, object.cite(&["subsets"], format!("ready addresses: {ready}")));
    vec![(object.namespaced_id("Service"), entity)]
}

/// Services that the API server's operator looked for and did not find: `unable to find service
/// NAME.NAMESPACE: …` (older ones write `find find`).
fn missed(base: &FactBase) -> (Vec<String>, Vec<Evidence>) {
    let operator = EntityId::cluster_scoped("ClusterOperator", "kube-apiserver");
    let Some(operator) = base.entities.get(&operator) else { return Default::default() };
    let text = |key| operator.facts.get("degraded").and_then(|said| said.get(key)?.text());
    if text("status") != Some("True") {
        return Default::default();
    }
    let parts = text("message").unwrap_or_default().split("unable to find ").skip(1);
    let names = parts.filter_map(|rest| {
        let rest = rest.strip_prefix("find ").unwrap_or(rest).strip_prefix("service ")?;
        let (name, namespace) = rest.split_once(": ")?.0.split_once('.')?;
        Some(format!("{namespace}/{name}"))
    });
    (names.collect(), operator.provenance.get("degraded").cloned().unwrap_or_default())
}

/// Webhooks that block writes and have nobody behind them. A service that was not collected may
/// have: then this is told only if another one surely has not, or the operator misses it.
pub fn derive(lists: &Lists, base: &mut FactBase) {
    derive_left(base);
    let (missed, told) = missed(base);
    let ids: Vec<EntityId> =
        base.entities.keys().filter(|id| id.kind == "WebhookConfiguration").cloned().collect();
    for id in ids {
        let Some(entity) = base.entities.get(&id) else { continue };
        let services: Vec<String> = ["validating", "mutating"]
            .iter()
            .filter_map(|fact| entity.facts.get(*fact))
            .flat_map(Value::texts)
            .map(str::to_string)
            .collect();
        let mut from: Vec<Evidence> = Vec::new();
        let mut all_known = true;
        let mut dead = BTreeMap::new();
        for service in services {
            let Some((namespace, name)) = service.split_once('/') else { continue };
            let answers = EntityId::namespaced("Service", namespace, name);
            let known = base.entities.get(&answers);
            match known.and_then(|service| service.facts.get("ready")) {
                Some(Value::Int(0)) => {
                    let at = known.and_then(|service| service.provenance.get("ready"));
                    dead.insert(service.clone(), at.cloned().unwrap_or_default());
                }
                Some(_) => {}
                None if missed.contains(&service) => {
                    dead.insert(service.clone(), told.clone());
                }
                None if lists.prove("core", "endpoints", Some(namespace)) => {
                    dead.insert(service.clone(), Vec::new());
                }
                None => all_known = false,
            }
        }
        if dead.is_empty() && !all_known {
            continue;
        }
        for fact in ["validating", "mutating"] {
            from.extend(entity.provenance.get(fact).into_iter().flatten().cloned());
        }
        from.extend(dead.values().flatten().cloned());
        let mut pods = false;
        let mut places: Vec<(String, Vec<String>)> = Vec::new();
        for fact in ["validating", "mutating"] {
            let hooks = entity.facts.get(&format!("{fact}Hooks"));
            let mut at = Vec::new();
            for hook in hooks.into_iter().flat_map(Value::texts) {
                let (hook, sees) =
                    hook.strip_suffix(PODS).map_or((hook, false), |rest| (rest, true));
                if let Some((number, service)) = hook.split_once(' ')
                    && dead.contains_key(service)
                {
                    at.push(number.to_string());
                    pods |= sees;
                }
            }
            places.push((format!("{fact}Dead"), at));
        }
        let dead: Vec<String> = dead.into_keys().collect();
        if let Some(entity) = base.entities.get_mut(&id) {
            for (fact, at) in places {
                entity.derive(&fact, at, from.clone());
            }
            entity.derive("blocksPods", pods, from.clone());
            entity.derive("unanswered", dead, from);
        }
    }
}
