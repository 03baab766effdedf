//! Copies of what was there, made before it is touched, read again to see that they are good, and never
//! written over.

use std::io::Write;
use std::path::Path;

use fs_err::{File, OpenOptions};
use plimsoll_model::EntityId;
use plimsoll_model::plan::{Object, Step, sha256};
use serde_json::{Value, json};

use super::{ApiTarget, identify};
use crate::bookkeeping::without_bookkeeping;
use crate::journal::private;
use crate::target::{Kept, Trouble};

/// On the copy of a Secret: of what, of which type, and in which session.
const KEPT_OF: &str = "plimsoll.io/kept-of";
const KEPT_TYPE: &str = "plimsoll.io/kept-type";
const KEPT_BY: &str = "plimsoll.io/plan";
/// Its labels and annotations, which tell its operator what it is for.
const KEPT_METADATA: &str = "plimsoll.io/kept-metadata";

pub fn in_file(
    target: &ApiTarget,
    number: usize,
    object: &Object,
    now: &Value,
) -> Result<Kept, Trouble> {
    let path = target.kept.join(file_name(number, &object.entity()));
    let text = format!("{now:#}\n");
    write_once(&path, text.as_bytes())
        .map_err(|error| Trouble::Failed(format!("what is there cannot be kept: {error}")))?;
    let lost = || Trouble::Failed(format!("the copy of {} cannot be read again", object.entity()));
    kept(target, number, object)?.ok_or_else(lost)
}

/// Whole or not at all. Of a step that is tried again the first copy is the one that counts.
fn write_once(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    private(&mut options);
    let mut file = options.open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // Unlike a rename, a link never takes the place of what is there.
    match fs_err::hard_link(&part, path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    fs_err::remove_file(&part)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// The copy that this session made for a step, as it is now.
pub fn kept(target: &ApiTarget, number: usize, object: &Object) -> Result<Option<Kept>, Trouble> {
    if object.kind == "Secret" {
        let copy = copy_of(target, number, object);
        let found = target.api.get(&copy)?;
        return Ok(found.map(|found| Kept {
            place: copy.entity().to_string(),
            sha256: sha256(found["data"].to_string().as_bytes()),
        }));
    }
    let name = file_name(number, &object.entity());
    let Ok(bytes) = fs_err::read(target.kept.join(&name)) else { return Ok(None) };
    let is_whole = serde_json::from_slice::<Value>(&bytes).is_ok();
    let kept = Kept { place: format!("kept/{name}"), sha256: sha256(&bytes) };
    Ok(is_whole.then_some(kept))
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
    match target.api.get(&copy)? {
        Some(kept) => {
            let of = |key: &str| kept["metadata"]["annotations"][key].as_str();
            if of(KEPT_BY) != Some(&target.session) || of(KEPT_OF) != Some(&object.name) {
                let why = format!("{} exists, and is no copy of this session", copy.entity());
                return Err(Trouble::Failed(why));
            }
        }
        None => {
            let mut value = json!({
                "type": "Opaque",
                "immutable": true,
                "data": now.get("data").cloned().unwrap_or_else(|| json!({})),
                "metadata": {
                    "labels": {"plimsoll.io/kept": "true"},
                    "annotations": {
                        KEPT_OF: object.name,
                        KEPT_TYPE: now["type"],
                        KEPT_BY: target.session,
                        KEPT_METADATA: metadata_of(now).to_string(),
                    },
                },
            });
            identify(&mut value, &copy);
            target.api.create(&copy, &value, false)?;
        }
    }
    let lost = || Trouble::Failed(format!("the copy of {} is gone", object.entity()));
    kept(target, number, object)?.ok_or_else(lost)
}

/// What its owner and others wrote on it.
fn metadata_of(secret: &Value) -> Value {
    let mut kept = json!({});
    for part in ["labels", "annotations"] {
        if let Some(map) = secret["metadata"][part].as_object().filter(|map| !map.is_empty()) {
            kept[part] = map.clone().into();
        }
    }
    kept
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
pub fn restore(
    target: &ApiTarget,
    step: &Step,
    object: &Object,
    left: Option<&str>,
) -> Result<String, Trouble> {
    let entity = object.entity();
    let now = target.api.get(object)?;
    if object.kind == "Secret" {
        let copy = copy_of(target, step.number, object);
        let Some(kept) = target.api.get(&copy)? else {
            return Err(Trouble::Failed(format!("the copy of {entity} is gone")));
        };
        let of = |key: &str| kept["metadata"]["annotations"][key].clone();
        let mut value = json!({"data": kept["data"], "type": of(KEPT_TYPE)});
        value["metadata"] = of(KEPT_METADATA)
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_else(|| json!({}));
        identify(&mut value, object);
        return put(target, object, now, value, (step, left));
    }
    let path = target.kept.join(file_name(step.number, &entity));
    let text = fs_err::read(&path).map_err(|error| Trouble::Failed(error.to_string()))?;
    let mut value: Value =
        serde_json::from_slice(&text).map_err(|error| Trouble::Failed(error.to_string()))?;
    without_bookkeeping(&mut value);
    put(target, object, now, value, (step, left))
}

/// But for the bookkeeping of the server.
fn is_the_same(now: &Value, kept: &Value) -> bool {
    let content = |object: &Value| {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            // The status is written by others all the time.
            fields.remove("status");
        }
        without_bookkeeping(&mut object);
        object
    };
    content(now) == content(kept)
}

fn put(
    target: &ApiTarget,
    object: &Object,
    now: Option<Value>,
    mut value: Value,
    (step, left): (&Step, Option<&str>),
) -> Result<String, Trouble> {
    let entity = object.entity();
    match now {
        None => {
            target.api.create(object, &value, false)?;
            Ok(format!("{entity} is there again"))
        }
        // It was taken back already, and the line that says so was not written any more.
        Some(now) if is_the_same(&now, &value) => Ok(format!("{entity} is there again")),
        Some(now) => {
            let mark = now.pointer(super::MARK_POINTER).and_then(Value::as_str);
            if mark != Some(&target.mark(step)) {
                let why = format!("{entity} was changed since, and is left as it is");
                return Err(Trouble::Stale(why));
            }
            super::is_as_left(&entity, &now, left)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_its_operator_knows_a_secret_by_is_kept_with_it() {
        let secret = json!({"data": {}, "metadata": {"name": "a", "uid": "1", "labels": {},
            "annotations": {"auth.openshift.io/certificate-not-after": "2026-01-01T00:00:00Z"}}});
        let kept = metadata_of(&secret);
        let annotations = &secret["metadata"]["annotations"];
        assert_eq!(kept, json!({"annotations": annotations}));
    }
}
