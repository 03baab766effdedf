//! etcd members from `etcd_info/`, and from what the etcd operator says of them. Ids are 64-bit and
//! stay exact.

use std::collections::BTreeMap;
use std::net::IpAddr;

use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Snapshot, Value, clip};
use serde_json::Value as Json;

use super::nodes::control_plane;

/// What one source tells of etcd, by whichever of its machines was asked.
#[derive(Default)]
struct Said {
    /// Endpoint, and whether it is well for anybody.
    healthy: BTreeMap<String, (bool, Evidence)>,
    members: Vec<(Json, Evidence)>,
    statuses: Vec<(Json, Evidence)>,
    alarms: Option<(Vec<String>, Evidence)>,
}

impl Said {
    fn take(&mut self, name: &str, json: &Json, at: &dyn Fn(String) -> Evidence) {
        match name {
            "member_list.json" => {
                for member in list(json, "members") {
                    let id = member.get("ID");
                    if !self.members.iter().any(|(known, _)| known.get("ID") == id) {
                        self.members.push((member.clone(), at(member.to_string())));
                    }
                }
            }
            "endpoint_health.json" => {
                for endpoint in json.as_array().map(Vec::as_slice).unwrap_or_default() {
                    let url = endpoint.get("endpoint").and_then(Json::as_str).unwrap_or_default();
                    let Some(health) = endpoint.get("health").and_then(Json::as_bool) else {
                        continue;
                    };
                    // A machine that is cut off sees nobody well; one that sees another well is right.
                    let known = self.healthy.get(url);
                    if known.is_none_or(|(known, _)| health && !known) {
                        self.healthy.insert(url.into(), (health, at(endpoint.to_string())));
                    }
                }
            }
            "endpoint_status.json" => {
                for status in json.as_array().map(Vec::as_slice).unwrap_or_default() {
                    self.statuses.push((status.clone(), at(status.to_string())));
                }
            }
            "alarm_list.json" => {
                let kinds: Vec<String> = list(json, "alarms").iter().map(alarm_kind).collect();
                if self.alarms.as_ref().is_none_or(|(known, _)| known.len() < kinds.len()) {
                    self.alarms = Some((kinds, at(json.to_string())));
                }
            }
            _ => {}
        }
    }
}

pub fn extract(snapshot: &Snapshot, base: &mut FactBase, problems: &mut Vec<(usize, Gap)>) {
    let mut by_source: BTreeMap<usize, Said> = BTreeMap::new();
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
        by_source.entry(*source).or_default().take(name, &json, &at);
    }
    // Of each kind the newest that there is.
    let mut said = Said::default();
    for source in snapshot.newest_first() {
        let Some(older) = by_source.remove(&source) else { continue };
        if said.healthy.is_empty() {
            said.healthy = older.healthy;
        }
        if said.members.is_empty() {
            said.members = older.members;
        }
        if said.statuses.is_empty() {
            said.statuses = older.statuses;
        }
        said.alarms = said.alarms.or(older.alarms);
    }
    let Said { healthy, members, statuses, alarms } = said;
    if let Some((kinds, at)) = alarms {
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.set("etcdAlarms", kinds.len(), at.clone());
        cluster.set("etcdAlarmKinds", kinds, at);
    }
    count(&members, &healthy, base);
    for (member, at) in members {
        let id = member.get("ID").and_then(Json::as_u64).unwrap_or(0);
        let name = member.get("name").and_then(Json::as_str).unwrap_or_default();
        let shown = if name.is_empty() { format!("{id:x}") } else { name.to_string() };
        let mut entity = Entity::default();
        entity.set("started", !name.is_empty(), at.clone());
        entity.set("id", Value::UInt(id), at.clone());
        let learner = member.get("isLearner").and_then(Json::as_bool).unwrap_or(false);
        entity.set("learner", learner, at.clone());
        let shown_on = if name.is_empty() { peer_node(base, &member) } else { Some(name.into()) };
        if let Some(node) = shown_on {
            entity.set("node", node, at.clone());
        }
        let urls = list(&member, "clientURLs");
        if let Some((status, at)) = statuses.iter().find(|(status, _)| {
            let url = status.get("Endpoint").and_then(Json::as_str);
            urls.iter().any(|client| client.as_str() == url)
        }) {
            status_facts(status, at, &mut entity);
        }
        let mut urls = urls.iter().filter_map(Json::as_str);
        if let Some((health, at)) = urls.find_map(|url| healthy.get(url)) {
            entity.set("healthy", *health, at.clone());
        }
        base.entities.insert(EntityId::cluster_scoped("EtcdMember", &shown), entity);
    }
}

/// How many members there are, and how many answer. Without a quorum nobody tells who the members are:
/// then they are those that were asked.
fn count(
    members: &[(Json, Evidence)],
    healthy: &BTreeMap<String, (bool, Evidence)>,
    base: &mut FactBase,
) {
    let mut evidence: Vec<Evidence> = members.iter().map(|(_, at)| at.clone()).collect();
    let asked: Vec<Evidence> = healthy.values().map(|(_, at)| at.clone()).collect();
    if members.is_empty() {
        evidence.clone_from(&asked);
    }
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    if !evidence.is_empty() {
        cluster.derive("etcdMembers", evidence.len(), evidence);
    }
    if !asked.is_empty() {
        let answering = healthy.values().filter(|(health, _)| *health).count();
        cluster.derive("etcdHealthy", answering, asked);
        // Its operator stands for etcd as a whole, also where the API could not be asked for it.
        base.entities.entry(EntityId::cluster_scoped("ClusterOperator", "etcd")).or_default();
    }
}

/// What the member itself says. Go leaves out fields that are zero: no `leader` is no leader.
fn status_facts(status: &Json, at: &Evidence, entity: &mut Entity) {
    let Some(status) = status.get("Status") else { return };
    let number = |path: &Json, key: &str| path.get(key).and_then(Json::as_u64).unwrap_or(0);
    entity.set("leaderless", number(status, "leader") == 0, at.clone());
    for (key, fact) in [("dbSize", "dbSize"), ("dbSizeInUse", "dbInUse")] {
        let bytes = i64::try_from(number(status, key)).unwrap_or(i64::MAX);
        entity.set(fact, bytes, at.clone());
    }
    if let Some(header) = status.get("header") {
        entity.set("clusterId", Value::UInt(number(header, "cluster_id")), at.clone());
    }
}

/// The node of a member that has not started and so has no name: by the address of its peer URL.
fn peer_node(base: &FactBase, member: &Json) -> Option<String> {
    let url = list(member, "peerURLs").first()?.as_str()?;
    node_at(base, url.trim_start_matches("https://").rsplit_once(':')?.0)
}

fn node_at(base: &FactBase, host: &str) -> Option<String> {
    let address: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    let runs = |entity: &Entity| {
        let own = entity.facts.get("addresses").into_iter().flat_map(Value::texts);
        own.filter_map(|text| text.parse::<IpAddr>().ok()).any(|own| own == address)
    };
    let mut nodes = base.entities.iter().filter(|(id, _)| id.kind == "Node");
    nodes.find(|(_, entity)| runs(entity)).map(|(id, _)| id.name.clone())
}

fn alarm_kind(alarm: &Json) -> String {
    match alarm.get("alarm") {
        Some(Json::String(kind)) => kind.clone(),
        Some(Json::Number(kind)) if kind.as_u64() == Some(1) => "NOSPACE".into(),
        Some(Json::Number(kind)) if kind.as_u64() == Some(2) => "CORRUPT".into(),
        _ => "NONE".into(),
    }
}

pub fn derive(base: &mut FactBase) {
    reported(base);
    strangers(base);
}

/// What the operator says of members: `2 of 3 members are available, master-1 is unhealthy`. One that
/// has not started is called by its address where it has no name.
fn reported(base: &mut FactBase) {
    let operator = EntityId::cluster_scoped("ClusterOperator", "etcd");
    let Some(entity) = base.entities.get(&operator) else { return };
    let Some(degraded) = entity.facts.get("degraded") else { return };
    let text = |key| degraded.get(key).and_then(Value::text).unwrap_or_default();
    let said = if text("status") == "True" { text("message") } else { "" };
    let mut found: Vec<(String, &str)> = Vec::new();
    for part in said
        .lines()
        .filter(|line| line.contains("members are available"))
        .flat_map(|line| line.split(", "))
    {
        for words in ["is unhealthy", "has not started"] {
            let name = part.trim().strip_suffix(words).map(str::trim_end);
            if let Some(name) = name.filter(|name| !name.is_empty() && !name.contains(' ')) {
                found.push((name.into(), words));
            }
        }
    }
    let from = entity.provenance.get("degraded").cloned().unwrap_or_default();
    for (_, member) in base.entities.iter_mut().filter(|(id, _)| id.kind == "EtcdMember") {
        member.derive("reported", "", from.clone());
    }
    for (name, words) in found {
        let node = node_at(base, &name).unwrap_or_else(|| name.clone());
        let member = base
            .entities
            .iter()
            .find(|(id, member)| {
                let on = member.facts.get("node").and_then(Value::text);
                id.kind == "EtcdMember" && (id.name == name || on == Some(&node))
            })
            .map_or_else(|| EntityId::cluster_scoped("EtcdMember", &node), |(id, _)| id.clone());
        let member = base.entities.entry(member).or_default();
        member.derive("reported", words, from.clone());
        if !member.facts.contains_key("node") {
            member.derive("node", node, from.clone());
        }
    }
}

/// Endpoints that belong to no control-plane node. Told only when there is a node for every endpoint:
/// with fewer, one whose file was lost would look like a stranger.
fn strangers(base: &mut FactBase) {
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
