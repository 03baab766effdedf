//! A cluster in must-gather layout, told by other sources: what the installer's gather, an
//! agent-gather, a sosreport, a node's own disk or an insights archive would hold of it.
//!
//! Edits are made to the must-gather first, so that a fault shows in every source that can show it.
//! What a source does not collect is not in it. No file here judges anything.

mod bundle;
mod insights;
mod machine;

pub use bundle::{agent_gather, log_bundle};
pub use insights::insights;
pub use machine::{node_root, sosreport};

use std::collections::BTreeSet;

use jiff::Timestamp;
use plimsoll_yaml::{Kind, Limits, Node, parse};
use serde_json::{Map, Value};

use crate::edit::{gather_time, read_journal_time};
use crate::kinds::{Resource, by_alias};
use crate::tree::Tree;

/// A line of a journal.
struct Line {
    time: Timestamp,
    host: String,
    unit: String,
    /// `kubenswrapper[2451]`
    writer: String,
    text: String,
}

impl Line {
    /// As `journalctl --output=short` writes it.
    fn short(&self) -> String {
        let time = self.time.strftime("%b %d %H:%M:%S");
        format!("{time} {} {}: {}\n", self.host, self.writer, self.text)
    }

    /// As `journalctl --output=with-unit` writes it.
    fn with_unit(&self) -> String {
        let process = self.writer.find('[').map_or("", |at| &self.writer[at..]);
        let time = self.time.strftime("%a %Y-%m-%d %H:%M:%S UTC");
        format!("{time} {} {}.service{process}: {}\n", self.host, self.unit, self.text)
    }
}

/// All journals of a gather, in the order of time.
fn journal(gather: &Tree) -> Vec<Line> {
    let now = gather_time(gather).unwrap_or(Timestamp::UNIX_EPOCH);
    let mut lines = Vec::new();
    for (path, bytes) in gather.range("host_service_logs/".to_string()..) {
        let file = path.rsplit('/').next().unwrap_or_default();
        let Some(unit) = file.strip_suffix("_service.log").filter(|_| path.starts_with("host_"))
        else {
            continue;
        };
        let text = String::from_utf8_lossy(bytes);
        lines.extend(text.lines().filter_map(|line| {
            let mut words = line.get(23..)?.splitn(3, ' ');
            Some(Line {
                time: read_journal_time(line, now)?,
                host: words.next()?.into(),
                unit: unit.into(),
                writer: words.next()?.strip_suffix(':')?.into(),
                text: words.next()?.into(),
            })
        }));
    }
    lines.sort_by(|a, b| (a.time, &a.host, &a.unit).cmp(&(b.time, &b.host, &b.unit)));
    lines
}

/// All objects of a kind, from lists and from files of their own, each once.
fn objects(gather: &Tree, alias: &str) -> Vec<Value> {
    let Some(resource) = by_alias(alias) else { return Vec::new() };
    let mut found: Vec<Value> = Vec::new();
    let mut known = BTreeSet::new();
    let mut take = |object: Value| {
        let key =
            ["/metadata/namespace", "/metadata/name"].map(|p| text_of(&object, p).to_string());
        if known.insert(key) {
            found.push(object);
        }
    };
    for bytes in gather.iter().filter(|(path, _)| holds(path, resource)).map(|(_, bytes)| bytes) {
        let Ok(root) = parse(&String::from_utf8_lossy(bytes), &Limits::OBJECT) else { continue };
        match root.get("items") {
            Some(items) => items.items().iter().map(json_of).for_each(&mut take),
            None => take(json_of(&root)),
        }
    }
    found
}

fn holds(path: &str, resource: &Resource) -> bool {
    let group = if resource.group.is_empty() { "core" } else { resource.group };
    let plural = resource.plural;
    let in_folder = |folder: &str| {
        folder == format!("{group}/{plural}.yaml")
            || (folder.starts_with(&format!("{group}/{plural}/")) && folder.ends_with(".yaml"))
    };
    match path.split_once('/') {
        Some(("cluster-scoped-resources", rest)) => in_folder(rest),
        Some(("namespaces", rest)) => rest.split_once('/').is_some_and(|(_, rest)| in_folder(rest)),
        _ => false,
    }
}

pub(crate) fn json_of(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => (*value).into(),
        Kind::Int(value) => (*value).into(),
        Kind::UInt(value) => (*value).into(),
        Kind::Float(value) => (*value).into(),
        Kind::Text(text) => text.as_str().into(),
        Kind::List(items) => items.iter().map(json_of).collect(),
        Kind::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.name.clone(), json_of(value)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

/// As `oc -o json` writes it.
fn pretty(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
    text.push(b'\n');
    text
}

fn list(items: Vec<Value>) -> Vec<u8> {
    let metadata = serde_json::json!({"resourceVersion": ""});
    pretty(&serde_json::json!({
        "apiVersion": "v1", "items": items, "kind": "List", "metadata": metadata
    }))
}

fn text_of<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// A container's log that was gathered, and the node it ran on.
struct ContainerLog<'t> {
    namespace: &'t str,
    pod: &'t str,
    container: &'t str,
    text: &'t [u8],
}

/// Logs of the containers that run on `node`, without those that are empty.
fn container_logs<'t>(gather: &'t Tree, node: &str) -> Vec<ContainerLog<'t>> {
    let on_node: Vec<(String, String)> = objects(gather, "Pod")
        .iter()
        .filter(|pod| text_of(pod, "/spec/nodeName") == node)
        .map(|pod| {
            (text_of(pod, "/metadata/namespace").into(), text_of(pod, "/metadata/name").into())
        })
        .collect();
    let log = |path: &'t String, text: &'t Vec<u8>| {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["namespaces", namespace, "pods", pod, container, _, "logs", "current.log"] => {
                let is_here = on_node.iter().any(|(n, p)| n == namespace && p == pod);
                let log = ContainerLog { namespace, pod, container, text };
                (is_here && !text.is_empty()).then_some(log)
            }
            _ => None,
        }
    };
    gather.iter().filter_map(|(path, text)| log(path, text)).collect()
}

/// 64 hexadecimal digits, the same in every run.
fn container_id(of: &str) -> String {
    (0..4).map(|part| format!("{:016x}", crate::base::hash(&format!("{of} {part}")))).collect()
}
