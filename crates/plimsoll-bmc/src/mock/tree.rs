//! The documents of a service, by path.

use std::collections::BTreeMap;

use serde_json::{Value, json};

#[derive(Clone, Debug, Default)]
pub struct Tree {
    pub documents: BTreeMap<String, Value>,
    /// A collection is answered with its members in it, if asked for with `$expand`.
    pub expands: bool,
    /// A path without a slash at its end is answered with a redirect to the one with it.
    pub slashes: bool,
    /// What the Allow header of every answer says.
    pub allow: Option<&'static str>,
}

impl Tree {
    pub fn put(&mut self, path: &str, mut document: Value) -> &mut Self {
        if let Some(fields) = document.as_object_mut() {
            fields.insert("@odata.id".into(), json!(path));
            if !fields.contains_key("Id") {
                let id = path.rsplit('/').next().unwrap_or_default();
                fields.insert("Id".into(), json!(id));
            }
        }
        self.documents.insert(key(path).to_string(), document);
        self
    }

    /// A collection and its members. Their paths are made of its own and their names.
    pub fn collection(&mut self, path: &str, members: Vec<(&str, Value)>) -> &mut Self {
        let paths: Vec<String> =
            members.iter().map(|(name, _)| format!("{}/{name}", key(path))).collect();
        let named: Vec<Value> = paths.iter().map(|path| json!({"@odata.id": path})).collect();
        let list = json!({
            "@odata.id": path, "Name": "Collection",
            "Members@odata.count": named.len(), "Members": named,
        });
        self.documents.insert(key(path).to_string(), list);
        for (path, (_, document)) in paths.iter().zip(members) {
            self.put(path, document);
        }
        self
    }

    pub fn get(&self, path: &str) -> Option<&Value> {
        self.documents.get(key(path))
    }

    pub fn set(&mut self, path: &str, pointer: &str, value: Value) -> &mut Self {
        if let Some(document) = self.documents.get_mut(key(path)) {
            set(document, pointer, value);
        }
        self
    }

    /// What a POST of an action or a PATCH does. Whether there is such a thing to do.
    pub fn change(&mut self, method: &str, path: &str, body: &Value) -> bool {
        if method == "PATCH" {
            let Some(document) = self.documents.get_mut(key(path)) else { return false };
            for (name, value) in body.as_object().into_iter().flatten() {
                document[name] = value.clone();
            }
            return true;
        }
        let Some((of, action)) = key(path).split_once("/Actions/") else { return false };
        let Some(document) = self.documents.get_mut(of) else { return false };
        let offered = document["Actions"][format!("#{action}")].is_object();
        match action {
            "ComputerSystem.Reset" if offered => {
                let state = match body["ResetType"].as_str() {
                    Some("On" | "ForceOn") => "On",
                    Some("ForceOff" | "GracefulShutdown") => "Off",
                    _ => return false,
                };
                document["PowerState"] = json!(state);
            }
            "VirtualMedia.EjectMedia" if offered => {
                document["Inserted"] = json!(false);
                document["Image"] = Value::Null;
            }
            _ => return false,
        }
        true
    }

    /// The document with its members in it.
    pub fn expanded(&self, path: &str) -> Option<Value> {
        let mut document = self.get(path)?.clone();
        for member in document["Members"].as_array_mut().into_iter().flatten() {
            let full = member["@odata.id"].as_str().and_then(|path| self.get(path));
            if let Some(full) = full {
                *member = full.clone();
            }
        }
        Some(document)
    }
}

/// Null takes the field away.
pub fn set(document: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let Some(parent) = document.pointer_mut(parent) else { return };
    match parent {
        Value::Object(fields) if value.is_null() => {
            fields.remove(name);
        }
        Value::Object(fields) => {
            fields.insert(name.into(), value);
        }
        Value::Array(items) => {
            if let Some(item) = name.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                *item = value;
            }
        }
        _ => {}
    }
}

fn key(path: &str) -> &str {
    path.trim_end_matches('/')
}
