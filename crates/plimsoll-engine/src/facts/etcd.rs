//! etcd members from `etcd_info/`. Ids are 64-bit and stay exact.

use std::net::IpAddr;

use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Snapshot, Value, clip};
use serde_json::Value as Json;

use super::nodes::control_plane;

pub fn extract(snapshot: &Snapshot, base: &mut FactBase, problems: &mut Vec<(usize, Gap)>) {
    let mut healthy: Vec<(String, bool, Evidence)> = Vec::new();
    let mut members: Vec<(Json, Evidence)> = Vec::new();
    let mut alarms: Option<(usize, Evidence)> = None;
    for ((source, path), bytes) in &snapshot.files {
        let Some(name) = path.rsplit('/').next().filter(|_| path.contains("etcd_info/")) else {
            continue;
        };
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let json: Json = match serde_json::from_slice(bytes) {
            Ok(json) => json,
            Err(error) => {
                let gap = Gap {
                    status: GapStatus::Unreadable,
                    what: path.clone(),
                    why: error.to_string(),
                };
                problems.push((*source, gap));
                continue;
            }
        };
        let at = |text: String| Evidence {
            source: snapshot.sources.get(*source).map(|s| s.name.clone()).unwrap_or_default(),
            path: path.clone(),
            line: Some(1),
            pointer: None,
            time: None,
            text: clip(&text),
        };
        match name {
            "member_list.json" => {
                for member in list(&json, "members") {
                    // Several gathers of one cluster name the same members.
                    let id = member.get("ID");
                    if !members.iter().any(|(known, _)| known.get("ID") == id) {
                        members.push((member.clone(), at(member.to_string())));
                    }
                }
            }
            "endpoint_health.json" => {
                for endpoint in json.as_array().map(Vec::as_slice).unwrap_or_default() {
                    let url = endpoint.get("endpoint").and_then(Json::as_str).unwrap_or_default();
                    if let Some(health) = endpoint.get("health").and_then(Json::as_bool) {
                        healthy.push((url.into(), health, at(endpoint.to_string())));
                    }
                }
            }
            "alarm_list.json" => alarms = Some((list(&json, "alarms").len(), at(json.to_string()))),
            _ => {}
        }
    }
    if let Some((count, at)) = alarms {
        base.entities.entry(EntityId::cluster()).or_default().set("etcdAlarms", count, at);
    }
    if members.is_empty() {
        return;
    }
    let evidence: Vec<Evidence> = members.iter().map(|(_, at)| at.clone()).collect();
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.derive("etcdMembers", members.len(), evidence);
    for (member, at) in members {
        let id = member.get("ID").and_then(Json::as_u64).unwrap_or(0);
        let name = member.get("name").and_then(Json::as_str).unwrap_or_default();
        let shown = if name.is_empty() { format!("{id:x}") } else { name.to_string() };
        let mut entity = Entity::default();
        entity.set("started", !name.is_empty(), at.clone());
        entity.set("id", Value::UInt(id), at.clone());
        let urls = list(&member, "clientURLs");
        let health = healthy
            .iter()
            .find(|(url, _, _)| urls.iter().any(|client| client.as_str() == Some(url)));
        if let Some((_, health, at)) = health {
            entity.set("healthy", *health, at.clone());
        }
        base.entities.insert(EntityId::cluster_scoped("EtcdMember", &shown), entity);
    }
}

/// Endpoints that belong to no control-plane node. Told only when there is a node for every endpoint:
/// with fewer, one whose file was lost would look like a stranger.
pub fn derive(base: &mut FactBase) {
    let masters = control_plane(base);
    let addresses: Vec<String> = masters
        .iter()
        .filter_map(|node| node.facts.get("addresses"))
        .flat_map(Value::texts)
        .map(str::to_string)
        .collect();
    let all_known = masters.iter().all(|node| node.facts.contains_key("addresses"));
    let count = masters.len();
    let id = EntityId::namespaced("ConfigMap", "openshift-etcd", "etcd-endpoints");
    let Some(entity) = base.entities.get_mut(&id) else { return };
    let endpoints: Vec<String> = entity
        .facts
        .get("endpoints")
        .into_iter()
        .flat_map(Value::texts)
        .map(str::to_string)
        .collect();
    if endpoints.is_empty() || !all_known || count < endpoints.len() {
        return;
    }
    // One address can be written in several ways.
    let same = |a: &str, b: &str| match (a.parse::<IpAddr>(), b.parse::<IpAddr>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    };
    let is_stranger = |endpoint: &String| !addresses.iter().any(|address| same(address, endpoint));
    let strangers: Vec<String> = endpoints.into_iter().filter(is_stranger).collect();
    let from = entity.provenance.get("endpoints").cloned().unwrap_or_default();
    entity.derive("strangers", strangers, from);
}

fn list<'j>(json: &'j Json, key: &str) -> &'j [Json] {
    json.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}
