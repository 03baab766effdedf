//! Walks over decoded values; a value that is not there still has a place: the nearest key above.

use std::sync::Arc;

use plimsoll_yaml::Node;

use crate::decode::{Data, Value};
use crate::go::address::Network;
use crate::place::{Place, Placed};

#[derive(Clone, Copy)]
pub(crate) struct At<'v> {
    value: Option<&'v Value>,
    anchor: Place,
}

impl<'v> At<'v> {
    /// A document may be one of several in a file, and then does not begin with it.
    pub fn root(value: &'v Value) -> Self {
        Self { value: Some(value), anchor: value.place }
    }

    pub fn field(self, name: &str) -> Self {
        let found = match self.value.map(|value| &value.data) {
            Some(Data::Struct(fields)) => fields.get(name),
            _ => None,
        };
        match found.filter(|value| !matches!(value.data, Data::Null)) {
            Some(value) => Self { value: Some(value), anchor: value.key.unwrap_or(value.place) },
            None => {
                // A key without a value is the nearest thing to point at.
                let anchor = found.and_then(|value| value.key).unwrap_or(self.anchor);
                Self { value: None, anchor }
            }
        }
    }

    pub fn at(self, path: &[&str]) -> Self {
        path.iter().fold(self, |at, name| at.field(name))
    }

    pub fn is_there(self) -> bool {
        self.value.is_some_and(|value| !matches!(value.data, Data::Null))
    }

    /// Whether a key stands here without a value.
    pub fn has_null(self, name: &str) -> bool {
        match self.value.map(|value| &value.data) {
            Some(Data::Struct(fields)) => {
                fields.get(name).is_some_and(|value| matches!(value.data, Data::Null))
            }
            _ => false,
        }
    }

    /// Of the value, or of the nearest key above it.
    pub fn place(self) -> Place {
        self.value.map_or(self.anchor, |value| value.place)
    }

    /// Of the key, if there is one.
    pub fn key_place(self) -> Place {
        self.anchor
    }

    fn placed<T>(self, value: Option<T>, otherwise: T) -> Placed<T> {
        match value {
            Some(value) => Placed::written(value, self.place()),
            None => Placed::default_at(otherwise, self.place()),
        }
    }

    pub fn text(self) -> Placed<String> {
        let text = match self.value.map(|value| &value.data) {
            Some(Data::Text(text)) => Some(text.clone()),
            _ => None,
        };
        self.placed(text, String::new())
    }

    pub fn bool(self) -> Placed<bool> {
        self.placed(self.maybe_bool(), false)
    }

    pub fn maybe_bool(self) -> Option<bool> {
        match self.value.map(|value| &value.data) {
            Some(Data::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    pub fn int(self) -> Option<Placed<i64>> {
        match self.value.map(|value| &value.data) {
            Some(Data::Int(value)) => Some(Placed::written(*value, self.place())),
            _ => None,
        }
    }

    pub fn network(self) -> Option<Placed<Network>> {
        match self.value.map(|value| &value.data) {
            Some(Data::Network(network)) => Some(Placed::written(*network, self.place())),
            _ => None,
        }
    }

    /// `None` where there is no list; an item may be null.
    pub fn items(self) -> Option<Vec<At<'v>>> {
        match self.value.map(|value| &value.data) {
            Some(Data::List(items)) => Some(
                items.iter().map(|value| At { value: Some(value), anchor: value.place }).collect(),
            ),
            _ => None,
        }
    }

    pub fn texts(self) -> Vec<Placed<String>> {
        self.items().unwrap_or_default().into_iter().map(At::text).collect()
    }

    pub fn raw(self) -> Option<Arc<Node>> {
        match self.value.map(|value| &value.data) {
            Some(Data::Raw(node)) => Some(Arc::clone(node)),
            _ => None,
        }
    }
}
