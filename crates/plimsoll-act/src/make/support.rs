//! A cluster that is only what a test says it is.

use std::collections::BTreeMap;

use plimsoll_model::Time;
use plimsoll_model::plan::Object;
use serde_json::{Value, json};

use super::{Made, Reads, packed};
use crate::target::Trouble;

#[derive(Default)]
pub struct Fake {
    pub objects: BTreeMap<String, Value>,
    pub files: BTreeMap<(String, String), Vec<u8>>,
}

impl Fake {
    /// By `Kind/namespace/name` or `Kind/name`.
    pub fn with(mut self, name: &str, object: Value) -> Self {
        self.objects.insert(name.into(), object);
        self
    }

    /// As the API server would take it.
    pub fn put(&mut self, name: &str, made: Made) -> Value {
        let object = made.into_object().unwrap();
        self.objects.insert(name.into(), object.clone());
        object
    }

    pub fn with_file(mut self, node: &str, path: &str, text: &str) -> Self {
        self.files.insert((node.into(), path.into()), text.into());
        self
    }
}

impl Reads for Fake {
    fn object(&self, object: &Object) -> Result<Option<Value>, Trouble> {
        Ok(self.objects.get(&object.entity().to_string()).cloned())
    }

    fn file(&self, node: &str, path: &str) -> Result<Vec<u8>, Trouble> {
        let found = self.files.get(&(node.to_string(), path.to_string())).cloned();
        found.ok_or_else(|| Trouble::Failed(format!("{node}: there is no {path}")))
    }

    fn local(&self, path: &str) -> Result<Vec<u8>, Trouble> {
        self.file("", path)
    }

    fn now(&self) -> Time {
        "2025-12-03T18:42:00Z".parse().unwrap()
    }
}

pub fn secret(kind: &str, data: &[(&str, &str)]) -> Value {
    let data: BTreeMap<&str, String> =
        data.iter().map(|(key, text)| (*key, packed(text))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "data": data})
}

pub fn infrastructure() -> Value {
    json!({"status": {
        "apiServerInternalURI": "https://api-int.lab.example.com:6443",
        "platformStatus": {"type": "BareMetal", "baremetal": {
            "apiServerInternalIPs": ["192.168.10.5", "fd00::5"]}},
    }})
}
