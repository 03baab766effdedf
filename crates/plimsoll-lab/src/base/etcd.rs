//! What `etcdctl` answered, and the endpoints that the operator keeps.

use serde_json::{Value, json};

use super::writer::Writer;
use super::{BaseParams, Phase, bracketed, hash};

/// Above 2^53, as member ids of real clusters are.
fn id(text: &str) -> u64 {
    hash(text) | (1 << 62)
}

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    let cluster = id(&params.fqdn());
    let member = |node: &str| id(&format!("{} {node}", params.fqdn()));
    let leader = params.masters.last().map(String::as_str).unwrap_or_default();
    let first = params.masters.first().map(String::as_str).unwrap_or_default();
    let revision = params.etcd_revision();
    let header = |node: &str| json!({"cluster_id": cluster, "member_id": member(node), "raft_term": 6, "revision": revision});

    let mut members: Vec<Value> = params
        .masters
        .iter()
        .map(|node| {
            let ip = bracketed(params.ip(node));
            json!({"ID": member(node), "name": node, "peerURLs": [format!("https://{ip}:2380")], "clientURLs": [format!("https://{ip}:2379")]})
        })
        .collect();
    if params.phase == Phase::Installing {
        let ip = bracketed(&params.bootstrap_ip());
        members.push(json!({"ID": member("bootstrap"), "name": "etcd-bootstrap", "peerURLs": [format!("https://{ip}:2380")], "clientURLs": [format!("https://{ip}:2379")]}));
    }
    let mut statuses = Vec::new();
    let mut health = Vec::new();
    for (number, node) in params.masters.iter().enumerate() {
        let endpoint = format!("https://{}:2379", bracketed(params.ip(node)));
        let size = 98_181_120 + number as u64 * 12_288;
        statuses.push(json!({"Endpoint": endpoint, "Status": {
            "header": header(node), "version": "3.5.18", "dbSize": size, "dbSizeInUse": size - 21_000_192,
            "leader": member(leader), "raftIndex": revision + 6_500, "raftAppliedIndex": revision + 6_500, "raftTerm": 6
        }}));
        health.push(json!({"endpoint": endpoint, "health": true, "took": format!("{}.{:06}ms", 9 + number, hash(node) % 1_000_000)}));
    }
    writer.file(
        "etcd_info/member_list.json",
        line(&json!({"header": header(first), "members": members})),
    );
    writer.file("etcd_info/endpoint_status.json", line(&statuses.into()));
    writer.file("etcd_info/endpoint_health.json", line(&health.into()));
    writer.file("etcd_info/alarm_list.json", line(&json!({"header": header(first)})));
    writer.put(endpoints(params, &member));
    for revision in 7..=8 {
        writer.put(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"reason": "configmap \"etcd-endpoints\" changed", "revision": revision.to_string()},
            "metadata": {"name": format!("revision-status-{revision}"), "namespace": "openshift-etcd", "creationTimestamp": params.stamp(700 + revision * 3)}
        }));
    }
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

fn endpoints(params: &BaseParams, member: &dyn Fn(&str) -> u64) -> Value {
    let data: serde_json::Map<String, Value> = params
        .masters
        .iter()
        .map(|node| (format!("{:x}", member(node)), params.ip(node).into()))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": "etcd-endpoints", "namespace": "openshift-etcd", "creationTimestamp": params.stamp(25)}
    })
}
