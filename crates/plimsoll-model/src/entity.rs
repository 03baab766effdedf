use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Something a state can be true of. Written `Kind/name` or `Kind/namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId {
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
}

impl EntityId {
    pub fn cluster_scoped(kind: &str, name: &str) -> Self {
        Self { kind: kind.into(), namespace: None, name: name.into() }
    }

    pub fn namespaced(kind: &str, namespace: &str, name: &str) -> Self {
        Self { kind: kind.into(), namespace: Some(namespace.into()), name: name.into() }
    }

    /// The singleton that facts about the whole cluster hang on.
    pub fn cluster() -> Self {
        Self::cluster_scoped("Cluster", "cluster")
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{}/{namespace}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct NotAnEntity(pub String);

impl fmt::Display for NotAnEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not Kind/name or Kind/namespace/name", self.0)
    }
}

impl std::error::Error for NotAnEntity {}

impl FromStr for EntityId {
    type Err = NotAnEntity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.splitn(3, '/').collect();
        match parts.as_slice() {
            [kind, name] if !kind.is_empty() && !name.is_empty() => {
                Ok(Self::cluster_scoped(kind, name))
            }
            [kind, namespace, name]
                if !kind.is_empty() && !namespace.is_empty() && !name.is_empty() =>
            {
                Ok(Self::namespaced(kind, namespace, name))
            }
            _ => Err(NotAnEntity(text.into())),
        }
    }
}

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for EntityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for EntityId {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Entity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "Kind/name or Kind/namespace/name",
            "pattern": "^[^/]+/[^/]+(/.+)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_reads_back_as_written() {
        for text in ["Node/master-1", "Pod/openshift-etcd/etcd-master-1"] {
            assert_eq!(text.parse::<EntityId>().map(|e| e.to_string()), Ok(text.to_string()));
        }
        assert!("Node".parse::<EntityId>().is_err());
        assert!("/x".parse::<EntityId>().is_err());
    }
}
