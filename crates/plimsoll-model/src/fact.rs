//! Small typed facts about entities, each with the place it was read from.

use std::collections::{BTreeMap, BTreeSet};

use crate::{EntityId, Evidence, Time};

/// A fact's value. Times are kept apart from numbers so that renderers can show them; predicates
/// see them as seconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// Identifiers above 2^63, such as etcd member ids, stay exact.
    UInt(u64),
    Float(f64),
    Text(String),
    Time(Time),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}
impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.into())
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}
impl From<Time> for Value {
    fn from(value: Time) -> Self {
        Value::Time(value)
    }
}
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(value: Vec<T>) -> Self {
        Value::List(value.into_iter().map(Into::into).collect())
    }
}

impl Value {
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The texts of a list, if it is one.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let items = match self {
            Value::List(items) => items.as_slice(),
            _ => &[],
        };
        items.iter().filter_map(Value::text)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(map) => map.get(key),
            _ => None,
        }
    }
}

/// One thing in the cluster and all that is known of it. A fact that is not in `facts` is unknown.
#[derive(Clone, Debug, Default)]
pub struct Entity {
    pub facts: BTreeMap<String, Value>,
    /// Where a fact was read, by dotted path (`degraded`, `logs.kubelet-anonymous`).
    pub provenance: BTreeMap<String, Vec<Evidence>>,
}

impl Entity {
    pub fn set(&mut self, name: &str, value: impl Into<Value>, at: Evidence) {
        self.facts.insert(name.into(), value.into());
        self.provenance.insert(name.into(), vec![at]);
    }

    /// A fact that follows from several places.
    pub fn derive(&mut self, name: &str, value: impl Into<Value>, from: Vec<Evidence>) {
        self.facts.insert(name.into(), value.into());
        self.provenance.insert(name.into(), from);
    }
}

/// A directed, named link between two entities.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relation {
    pub name: String,
    pub from: EntityId,
    pub to: EntityId,
}

#[derive(Clone, Debug, Default)]
pub struct FactBase {
    pub now: Option<Time>,
    pub entities: BTreeMap<EntityId, Entity>,
    pub relations: BTreeSet<Relation>,
}
