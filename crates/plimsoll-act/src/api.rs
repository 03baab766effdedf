//! Objects of the API as a target: locked by uid and resourceVersion, rehearsed by the server itself.
//!
//! What was there is kept in a file of the session; of a Secret the copy stays in the cluster, under
//! another name, so that no credential comes to lie anywhere it did not lie before.

mod keep;
mod lease;
mod rights;
mod verbs;

use std::path::PathBuf;

use plimsoll_model::plan::{Action, Content, Object, Step, Target as Where, Undo};
use plimsoll_model::{EntityId, Time};
use plimsoll_repair::{applied, decision, filled_since, grounded};
use serde_json::{Value, json};

use crate::make::{self, Reads};
use crate::target::{Kept, Sight, Standing, Target, Trouble};
pub use lease::{Held, Lease};
pub use rights::{missing_rights, own_name};
pub use verbs::Api;

/// Who the server writes down as the one who changed something.
pub const MANAGER: &str = "plimsoll";

pub struct ApiTarget<'a> {
    pub api: &'a Api,
    /// Of this session: what was there before.
    pub kept: PathBuf,
    /// Digest of the plan.
    pub session: String,
    pub reads: &'a dyn Reads,
}

impl Target for ApiTarget<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        let object = object(step)?;
        let now = self.api.get(object)?;
        let standing = self.standing(step, object, now.as_ref())?;
        let hash = now.as_ref().map(|now| decision(now, &[])).unwrap_or_default();
        let shown = now.filter(|_| object.kind != "Secret");
        Ok(Sight { standing, hash, object: shown })
    }

    fn rehearse(&self, step: &Step) -> Result<(), Trouble> {
        let object = object(step)?;
        let answer = self.send(step, object, true)?;
        // A field that the server does not know is dropped without a word: then nothing would change.
        if let (Action::Patch { operations, .. }, Some(answer)) = (&step.action, &answer)
            && let Some(lost) = operations.iter().find(|one| !applied(answer, one))
        {
            let path = lost["path"].as_str().unwrap_or_default();
            let why = format!("the server drops this change: {path} of {}", object.entity());
            return Err(Trouble::Refused(why));
        }
        Ok(())
    }

    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        let object = object(step)?;
        let Some(now) = self.api.get(object)? else { return Ok(Vec::new()) };
        let kept = match object.kind.as_str() {
            "Secret" => keep::in_cluster(self, step.number, object, &now)?,
            _ => keep::in_file(self, step.number, object, &now)?,
        };
        Ok(vec![kept])
    }

    fn act(&self, step: &Step) -> Result<String, Trouble> {
        let object = object(step)?;
        self.send(step, object, false)?;
        let entity = object.entity();
        Ok(match step.action {
            Action::Create { .. } => format!("{entity} created"),
            Action::Delete => format!("{entity} deleted"),
            _ => format!("{entity} changed"),
        })
    }

    fn is_still_kept(&self, step: &Step, kept: &Kept) -> Result<bool, Trouble> {
        Ok(keep::kept(self, step.number, object(step)?)?.is_some_and(|now| now == *kept))
    }

    fn undo(&self, step: &Step, left: Option<&str>) -> Result<String, Trouble> {
        let object = object(step)?;
        let entity = object.entity();
        match &step.undo {
            Undo::Patch { operations } => {
                let now = self.present(object)?;
                if is_other(object, &now) {
                    return Err(Trouble::Stale(format!(
                        "{entity} is another one than this plan changed"
                    )));
                }
                if is_as_before(operations, &now) {
                    return Ok(format!("nothing of it is left in {entity}"));
                }
                if let Some(path) = filled_since(&now, operations) {
                    let why = format!("{entity} has another {path} since, and is left as it is");
                    return Err(Trouble::Stale(why));
                }
                let patch = locked(operations, &now);
                self.api.patch(object, subresource(step), &patch, false).map_err(|trouble| {
                    match trouble {
                        // A test of the patch failed: it is not as this plan left it.
                        Trouble::Failed(why) => Trouble::Stale(format!(
                            "{entity} was changed since, and is left as it is: {why}"
                        )),
                        other => other,
                    }
                })?;
                Ok(format!("{entity} is as it was"))
            }
            Undo::Delete => {
                let now = self.present(object)?;
                if now.pointer(MARK_POINTER).and_then(Value::as_str) != Some(&self.mark(step)) {
                    let why = format!("{entity} is not the one that this plan made");
                    return Err(Trouble::Stale(why));
                }
                is_as_left(&entity, &now, left)?;
                self.api.delete(object, &now, false)?;
                Ok(format!("{entity} deleted again"))
            }
            Undo::Restore => keep::restore(self, step, object, left),
            _ => Err(Trouble::Failed(format!("{entity}: there is no way back"))),
        }
    }
}

/// The mark of this plan stays on what somebody else changes later: only its content tells, and where nobody wrote
/// that down any more, the server knows who wrote last.
fn is_as_left(entity: &EntityId, now: &Value, left: Option<&str>) -> Result<(), Trouble> {
    let is_so = left.map_or_else(|| is_written_last(now), |left| decision(now, &[]) == left);
    match is_so {
        true => Ok(()),
        false => Err(Trouble::Stale(changed_since(entity))),
    }
}

fn changed_since(entity: &EntityId) -> String {
    format!("{entity} was changed since, and is left as it is")
}

/// Nobody wrote it after us, but for its status.
fn is_written_last(now: &Value) -> bool {
    let entries = now.pointer("/metadata/managedFields").and_then(Value::as_array);
    let entries = || entries.into_iter().flatten();
    let time = |entry: &Value| entry["time"].as_str().and_then(|time| time.parse::<Time>().ok());
    let is_ours = |entry: &&Value| entry["manager"] == MANAGER;
    let ours = entries().filter(is_ours).filter_map(time).max();
    let is_status = |entry: &&Value| entry["subresource"] == "status";
    let mut others = entries().filter(|entry| !is_ours(entry) && !is_status(entry));
    ours.is_some_and(|ours| !others.any(|entry| time(entry).is_none_or(|time| time > ours)))
}

/// On what a plan made: which plan and step.
const MARK: &str = "plimsoll.io/made-by";
const MARK_POINTER: &str = "/metadata/annotations/plimsoll.io~1made-by";

fn object(step: &Step) -> Result<&Object, Trouble> {
    match &step.target {
        Where::Api(object) => Ok(object),
        _ => Err(Trouble::Failed("this step is none of the API's".into())),
    }
}

fn subresource(step: &Step) -> Option<&str> {
    match &step.action {
        Action::Patch { subresource, .. } => subresource.as_deref(),
        _ => None,
    }
}

/// A mark that asks for something is taken off by whoever does it; and what was taken back already may be
/// taken back again.
fn is_as_before(undo: &[Value], now: &Value) -> bool {
    let mut changes = undo.iter().filter(|one| one["op"] != "test");
    changes.all(|one| applied(now, one))
}

/// With the resourceVersion that was just seen: whoever was faster wins, and this stops.
fn locked(operations: &[Value], now: &Value) -> Vec<Value> {
    let mut patch = grounded(now, operations);
    let metadata = &now["metadata"];
    patch.push(json!({"op": "test", "path": "/metadata/uid", "value": metadata["uid"]}));
    let version = &metadata["resourceVersion"];
    patch.push(json!({"op": "replace", "path": "/metadata/resourceVersion", "value": version}));
    patch
}

/// Of the same name, and not the one that the plan was made for.
fn is_other(object: &Object, now: &Value) -> bool {
    let uid = now.pointer("/metadata/uid").and_then(Value::as_str);
    object.uid.is_some() && object.uid.as_deref() != uid
}

impl ApiTarget<'_> {
    fn mark(&self, step: &Step) -> String {
        let short: String = self.session.chars().take(12).collect();
        format!("{short}.{}", step.number)
    }

    fn present(&self, object: &Object) -> Result<Value, Trouble> {
        let found = self.api.get(object)?;
        found.ok_or_else(|| Trouble::Stale(format!("{} is gone", object.entity())))
    }

    /// As it is in this moment, if it still is what the step was judged by: between the look and the act
    /// somebody may have typed a name for minutes. What is sent is locked to this.
    fn unchanged(&self, step: &Step, object: &Object) -> Result<Value, Trouble> {
        let now = self.present(object)?;
        match self.standing(step, object, Some(&now))? {
            Standing::Ahead => Ok(now),
            Standing::Done => {
                Err(Trouble::Stale(format!("{} was changed by somebody else", object.entity())))
            }
            Standing::Elsewhere(why) => Err(Trouble::Stale(why)),
        }
    }

    /// Where the step stands, by what is there.
    fn standing(
        &self,
        step: &Step,
        object: &Object,
        now: Option<&Value>,
    ) -> Result<Standing, Trouble> {
        let entity = object.entity();
        let elsewhere = |why: String| Standing::Elsewhere(why);
        Ok(match (&step.action, now) {
            (Action::Create { .. }, None) => Standing::Ahead,
            (Action::Create { .. }, Some(now)) => {
                let mark = now.pointer(MARK_POINTER).and_then(Value::as_str);
                match mark == Some(&self.mark(step)) {
                    true if is_written_last(now) => Standing::Done,
                    true => elsewhere(changed_since(&entity)),
                    false => elsewhere(format!("{entity} exists already")),
                }
            }
            (Action::Delete, None) => Standing::Done,
            // What its owner made again is another one.
            (Action::Delete, Some(now)) if is_other(object, now) => Standing::Done,
            (Action::Delete, Some(now)) if now.pointer("/metadata/deletionTimestamp").is_some() => {
                Standing::Done
            }
            (_, None) => elsewhere(format!("{entity} is gone")),
            (_, Some(now)) if is_other(object, now) => {
                elsewhere(format!("{entity} is another one than the plan was made for"))
            }
            (Action::Patch { operations, .. }, Some(now)) => {
                let done = operations.iter().all(|one| applied(now, one));
                let seen = decision(now, &object.decides);
                match (done, object.decision.as_ref().is_none_or(|known| *known == seen)) {
                    (true, _) => Standing::Done,
                    (false, true) => Standing::Ahead,
                    (false, false) => {
                        elsewhere(format!("{entity} changed since the plan was made"))
                    }
                }
            }
            (Action::Fill { .. }, Some(now)) => {
                let mark = now.pointer(MARK_POINTER).and_then(Value::as_str);
                let seen = decision(now, &object.decides);
                match (mark == Some(&self.mark(step)), &object.decision) {
                    (true, _) if is_written_last(now) => Standing::Done,
                    (true, _) => elsewhere(changed_since(&entity)),
                    (false, Some(known)) if *known != seen => {
                        elsewhere(format!("{entity} changed since the plan was made"))
                    }
                    (false, _) => Standing::Ahead,
                }
            }
            (Action::Delete, Some(_)) => Standing::Ahead,
            (action, _) => {
                return Err(Trouble::Failed(format!("{action:?} is no verb of the API")));
            }
        })
    }

    /// Does it, or lets the server rehearse it.
    fn send(&self, step: &Step, object: &Object, dry: bool) -> Result<Option<Value>, Trouble> {
        match &step.action {
            Action::Patch { subresource, operations } => {
                let now = self.unchanged(step, object)?;
                let patch = locked(operations, &now);
                self.api.patch(object, subresource.as_deref(), &patch, dry).map(Some)
            }
            Action::Create { content } => {
                // What is made of credentials is made once, when it is written.
                if dry && matches!(content, Content::Maker { .. }) {
                    return Ok(None);
                }
                let mut value = self.made(content, object)?;
                identify(&mut value, object);
                value["metadata"]["annotations"][MARK] = self.mark(step).into();
                self.api.create(object, &value, dry).map(Some)
            }
            Action::Fill { content } => {
                if dry && matches!(content, Content::Maker { .. }) {
                    return Ok(None);
                }
                let made = self.made(content, object)?;
                let mut now = self.unchanged(step, object)?;
                for part in ["data", "stringData", "binaryData", "type"] {
                    if let Some(value) = made.get(part) {
                        now[part] = value.clone();
                    }
                }
                now["metadata"]["annotations"][MARK] = self.mark(step).into();
                self.api.replace(object, &now, dry).map(Some)
            }
            Action::Delete => {
                let now = self.unchanged(step, object)?;
                self.api.delete(object, &now, dry).map(|()| None)
            }
            action => Err(Trouble::Failed(format!("{action:?} is no verb of the API"))),
        }
    }

    fn made(&self, content: &Content, object: &Object) -> Result<Value, Trouble> {
        let made = match content {
            Content::Plan { value } => Some(value.clone()),
            Content::Maker { maker, inputs } => {
                make::make(maker, inputs, self.reads)?.into_object()
            }
        };
        let what = || format!("what was made for {} is no object", object.entity());
        made.filter(Value::is_object).ok_or_else(|| Trouble::Failed(what()))
    }
}

/// The name and kind are the plan's, whatever the content says.
fn identify(value: &mut Value, object: &Object) {
    let version = match object.group.is_empty() {
        true => object.version.clone(),
        false => format!("{}/{}", object.group, object.version),
    };
    value["apiVersion"] = version.into();
    value["kind"] = object.kind.clone().into();
    if !value["metadata"].is_object() {
        value["metadata"] = json!({});
    }
    value["metadata"]["name"] = object.name.clone().into();
    if let Some(namespace) = &object.namespace {
        value["metadata"]["namespace"] = namespace.clone().into();
    }
    if !value["metadata"]["annotations"].is_object() {
        value["metadata"]["annotations"] = json!({});
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_back_may_be_taken_back_again() {
        let undo = [
            json!({"op": "test", "path": "/spec/b", "value": 2}),
            json!({"op": "replace", "path": "/spec/b", "value": 1}),
            json!({"op": "add", "path": "/spec/a", "value": 1}),
        ];
        let with = |spec: Value| json!({"spec": spec});
        assert!(is_as_before(&undo, &with(json!({"b": 1, "a": 1}))), "taken back already");
        assert!(!is_as_before(&undo, &with(json!({"b": 2}))));
    }

    #[test]
    fn what_somebody_changed_since_is_not_as_it_was_left() {
        let made = |ca: &str, others: &str| {
            let written = |manager: &str, time: &str| json!({"manager": manager, "time": time});
            json!({"kind": "Secret", "data": {"ca": ca}, "metadata": {"name": "a", "uid": "1",
                "resourceVersion": ca, "annotations": {MARK: "0123456789ab.1"}, "managedFields":
                [written(MANAGER, "2026-01-01T00:00:05Z"), written("kubectl-edit", others)]}})
        };
        let (before, after) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:06Z");
        let left = decision(&made("bmV3", before), &[]);
        let entity = EntityId::cluster_scoped("Secret", "a");
        let is = |now: &Value, left: Option<&str>| is_as_left(&entity, now, left).is_ok();
        assert!(is(&made("bmV3", before), Some(&left)));
        assert!(!is(&made("bmV3ZXI=", after), Some(&left)), "the mark of the plan is still on it");
        // Nobody wrote down what was left.
        assert!(is(&made("bmV3", before), None));
        assert!(!is(&made("bmV3ZXI=", after), None));
    }

    #[test]
    fn another_object_of_the_same_name_is_another_object() {
        let object = Object { uid: Some("1".into()), ..Object::default() };
        let with = |uid: &str| json!({"metadata": {"uid": uid}});
        assert!(is_other(&object, &with("2")) && !is_other(&object, &with("1")));
        assert!(!is_other(&Object::default(), &with("2")));
    }
}
