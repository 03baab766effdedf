//! Copies of what was there, made before it is touched, read again to see that they are good, and never
//! written over.

use std::io::Write;

use fs_err::OpenOptions;
use plimsoll_model::EntityId;
use plimsoll_model::plan::{Object, Step, sha256};
use serde_json::{Value, json};

use super::{ApiTarget, identify};
use crate::journal::private;
use crate::target::{Kept, Trouble};

/// Bookkeeping of the server, which no copy brings back.
const OF_THE_SERVER: [&str; 6] =
    ["resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink"];

pub fn in_file(
    target: &ApiTarget,
    number: usize,
    object: &Object,
    now: &Value,
) -> Result<Kept, Trouble> {
    let name = file_name(number, &object.entity());
    let path = target.kept.join(&name);
    let failed =
        |error: std::io::Error| Trouble::Failed(format!("what is there cannot be kept: {error}"));
    let text = format!("{now:#}\n");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    match options.open(&path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        }
        // Of a step that is tried again: the first copy is the one that counts.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let read = fs_err::read(&path).map_err(failed)?;
    serde_json::from_slice::<Value>(&read)
        .map_err(|_| Trouble::Failed(format!("the copy {name} cannot be read again")))?;
    Ok(Kept { place: format!("kept/{name}"), sha256: sha256(&read) })
}

fn file_name(number: usize, entity: &EntityId) -> String {
    let safe = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' })
            .collect()
    };
    format!("{number:02}-{}.json", safe(&entity.to_string().replace('/', "-")))
}

/// The copy of a Secret is a Secret.
pub fn in_cluster(
    target: &ApiTarget,
    number: usize,
    object: &Object,
    now: &Value,
) -> Result<Kept, Trouble> {
    let copy = copy_of(target, number, object);
    let kept = match target.api.get(&copy)? {
        Some(kept) => kept,
        None => {
            let mut value = json!({
                "type": "Opaque",
                "data": now.get("data").cloned().unwrap_or_else(|| json!({})),
                "metadata": {
                    "labels": {"plimsoll.io/kept": "true"},
                    "annotations": {
                        "plimsoll.io/kept-of": object.name,
                        "plimsoll.io/kept-type": now["type"],
                        "plimsoll.io/plan": target.session,
                    },
                },
            });
            identify(&mut value, &copy);
            target.api.create(&copy, &value, false)?
        }
    };
    let data = kept.get("data").cloned().unwrap_or_default();
    Ok(Kept { place: copy.entity().to_string(), sha256: sha256(data.to_string().as_bytes()) })
}

fn copy_of(target: &ApiTarget, number: usize, object: &Object) -> Object {
    let short: String = target.session.chars().take(8).collect();
    Object {
        name: format!("plimsoll-kept-{short}-{number}"),
        uid: None,
        resource_version: None,
        decision: None,
        ..object.clone()
    }
}

/// As it was kept, unless it is not as this plan left it.
pub fn restore(target: &ApiTarget, step: &Step, object: &Object) -> Result<String, Trouble> {
    let entity = object.entity();
    let now = target.api.get(object)?;
    if object.kind == "Secret" {
        let copy = copy_of(target, step.number, object);
        let Some(kept) = target.api.get(&copy)? else {
            return Err(Trouble::Failed(format!("the copy of {entity} is gone")));
        };
        let of = |key: &str| kept["metadata"]["annotations"][key].clone();
        let mut value = json!({"data": kept["data"], "type": of("plimsoll.io/kept-type")});
        identify(&mut value, object);
        return put(target, object, now, value, step);
    }
    let path = target.kept.join(file_name(step.number, &entity));
    let text = fs_err::read(&path).map_err(|error| Trouble::Failed(error.to_string()))?;
    let mut value: Value =
        serde_json::from_slice(&text).map_err(|error| Trouble::Failed(error.to_string()))?;
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
    }
    put(target, object, now, value, step)
}

fn put(
    target: &ApiTarget,
    object: &Object,
    now: Option<Value>,
    mut value: Value,
    step: &Step,
) -> Result<String, Trouble> {
    let entity = object.entity();
    match now {
        None => {
            target.api.create(object, &value, false)?;
            Ok(format!("{entity} is there again"))
        }
        Some(now) => {
            let mark = now.pointer(super::MARK_POINTER).and_then(Value::as_str);
            if mark != Some(&target.mark(step)) {
                let why = format!("{entity} was changed since, and is left as it is");
                return Err(Trouble::Stale(why));
            }
            let mut metadata = now["metadata"].clone();
            if let Some(annotations) = metadata["annotations"].as_object_mut() {
                annotations.remove(super::MARK);
            }
            value["metadata"] = metadata;
            target.api.replace(object, &value, false)?;
            Ok(format!("{entity} is as it was"))
        }
    }
}
