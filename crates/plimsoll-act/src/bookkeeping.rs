//! What the API server keeps in the metadata of an object. No copy brings it back.

use serde_json::Value;

const OF_THE_SERVER: [&str; 6] =
    ["resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink"];

pub fn without_bookkeeping(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
    }
}
