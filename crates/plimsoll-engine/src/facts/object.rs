//! One parsed object with its place, and the small readers that every area needs.

use std::collections::BTreeMap;

use plimsoll_model::{Document, EntityId, Evidence, Snapshot, Time, Value};
use plimsoll_yaml::{Kind, Limits, Node, YamlError};

/// Characters kept of a quotation until it is redacted and cut: a secret must not lose its end before.
const KEPT: usize = 1200;

pub struct Object<'s> {
    pub root: Node,
    document: &'s Document,
    source: &'s str,
}

impl<'s> Object<'s> {
    pub fn parse(snapshot: &'s Snapshot, document: &'s Document) -> Result<Self, YamlError> {
        let root = plimsoll_yaml::parse(&document.text, &Limits::OBJECT)?;
        let source = snapshot.sources.get(document.source).map_or("", |source| &source.name);
        if root.text_at(&["metadata", "name"]).is_none() {
            let message = "not a Kubernetes object: no metadata.name".into();
            return Err(YamlError { line: 1, column: 1, message });
        }
        Ok(Self { root, document, source })
    }

    pub fn group(&self) -> &str {
        &self.document.group
    }

    pub fn plural(&self) -> &str {
        &self.document.plural
    }

    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"]).unwrap_or_default()
    }

    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
            .or(self.document.namespace.as_deref())
            .unwrap_or_default()
    }

    pub fn id(&self, kind: &str) -> EntityId {
        EntityId::cluster_scoped(kind, self.name())
    }

    pub fn namespaced_id(&self, kind: &str) -> EntityId {
        EntityId::namespaced(kind, self.namespace(), self.name())
    }

    pub fn node(&self, path: &[&str]) -> Option<&Node> {
        self.root.at(path)
    }

    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.root.text_at(path)
    }

    pub fn int(&self, path: &[&str]) -> Option<i64> {
        self.node(path).and_then(Node::as_int)
    }

    pub fn time(&self, path: &[&str]) -> Option<Time> {
        self.text(path).and_then(time)
    }

    /// Where `path` stands, quoting `text`.
    pub fn cite(&self, path: &[&str], text: impl AsRef<str>) -> Evidence {
        // A field that is absent is cited at its nearest parent.
        let mut node = &self.root;
        for key in path {
            match node.get(key) {
                Some(next) => node = next,
                None => break,
            }
        }
        self.cite_node(node, &pointer(path), text)
    }

    pub fn cite_node(&self, node: &Node, pointer: &str, text: impl AsRef<str>) -> Evidence {
        Evidence {
            source: self.source.into(),
            path: self.document.path.to_string(),
            line: Some(self.document.first_line + u64::from(node.line.max(1)) - 1),
            pointer: Some(pointer.into()),
            time: None,
            text: text.as_ref().chars().take(KEPT).collect(),
        }
    }

    /// `key: value` at `path`, for facts that are one scalar.
    pub fn cite_field(&self, path: &[&str]) -> Evidence {
        let shown = self.node(path).map_or("(absent)".into(), show);
        self.cite(path, format!("{}: {shown}", path.last().unwrap_or(&"")))
    }

    /// All `status.conditions` below `path`, with their evidence.
    pub fn conditions(&self, path: &[&str]) -> Vec<(String, Value, Evidence)> {
        let items = self.node(path).map(Node::items).unwrap_or_default();
        let base = pointer(path);
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                let kind = item.text_at(&["type"])?;
                let status = item.text_at(&["status"])?;
                let reason = item.text_at(&["reason"]).unwrap_or_default();
                let message = item.text_at(&["message"]).unwrap_or_default();
                let mut map = BTreeMap::from([
                    ("status".to_string(), Value::from(status)),
                    ("reason".to_string(), Value::from(reason)),
                    ("message".to_string(), Value::from(message)),
                ]);
                let since = item.text_at(&["lastTransitionTime"]).and_then(time);
                if let Some(since) = since {
                    map.insert("since".into(), since.into());
                }
                let said =
                    [reason, message].iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>();
                let text = format!("{kind}={status} {}", said.join(": "));
                let mut evidence = self.cite_node(item, &format!("{base}/{index}"), text);
                evidence.time = since;
                Some((kind.to_string(), Value::Map(map), evidence))
            })
            .collect()
    }
}

pub fn pointer(path: &[&str]) -> String {
    path.iter().map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
}

pub fn time(text: &str) -> Option<Time> {
    text.parse().ok()
}

/// A scalar in one line, for quotations.
pub fn show(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "null".into(),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::UInt(value) => value.to_string(),
        Kind::Float(value) => value.to_string(),
        Kind::Text(text) => text.clone(),
        Kind::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        Kind::Map(_) => "{…}".into(),
    }
}

pub fn texts(node: Option<&Node>) -> Vec<String> {
    node.map(Node::items)
        .unwrap_or_default()
        .iter()
        .filter_map(|item| item.as_text().map(str::to_string))
        .collect()
}
