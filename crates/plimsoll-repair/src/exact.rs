//! A draft and the objects as they are → exact steps: uid, resourceVersion, what changes, and how it is
//! taken back.

use std::collections::BTreeMap;

use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation, TestOperation};
use plimsoll_model::EntityId;
use plimsoll_model::plan::{
    Action, Content, Hindrance, Object, Plan, Power, Step, Target, Undo, sha256,
};
use serde_json::Value;

use crate::draft::permissions;
use crate::guard;

/// Objects of the plan as they were read; `None` for one that is proven not to exist.
pub type Observed = BTreeMap<EntityId, Option<Value>>;

/// Values in a diff are shown up to this length.
const SHOWN: usize = 160;

/// Fills in what only the objects themselves tell. What does not fit is a hindrance of the plan.
pub fn exact(mut plan: Plan, observed: &Observed) -> Plan {
    let mut hindrances = std::mem::take(&mut plan.hindrances);
    // A later step of the plan sees what an earlier one will have made of the object.
    let mut current: Observed = observed.clone();
    for step in &mut plan.steps {
        if let Err(why) = exact_step(step, observed, &mut current) {
            hindrances.push(Hindrance::of_step(step.number, why));
        }
    }
    hindrances.dedup();
    plan.hindrances = hindrances;
    plan.sealed()
}

/// Whoever makes all of it makes it where it is not, too. It is taken back by a deletion then, which is
/// another right.
fn make_what_is_not_there(step: &mut Step, current: &Observed) {
    let (Target::Api(object), Action::Fill { content: content @ Content::Maker { .. } }) =
        (&step.target, &step.action)
    else {
        return;
    };
    if current.get(&object.entity()) == Some(&None) {
        step.action = Action::Create { content: content.clone() };
        step.permissions = permissions(&step.action, &step.target);
    }
}

fn exact_step(step: &mut Step, observed: &Observed, current: &mut Observed) -> Result<(), String> {
    make_what_is_not_there(step, current);
    let Target::Api(object) = &mut step.target else { return Ok(()) };
    let entity = object.entity();
    let Some(before) = current.get(&entity).cloned() else {
        // Requests to be signed come to be while the plan is carried out.
        return match step.action {
            Action::Approve { .. } => Ok(()),
            _ => Err(format!("{entity} was not read")),
        };
    };
    match (&step.action, before) {
        (Action::Create { .. }, Some(_)) => Err(format!("{entity} exists already")),
        (Action::Create { content }, None) => {
            step.diff = match content {
                Content::Plan { value } => lines('+', "", value),
                Content::Maker { maker, .. } => vec![format!("+ {entity}, made by {maker}")],
            };
            step.undo = Undo::Delete;
            Ok(())
        }
        (_, None) => Err(format!("{entity} does not exist")),
        (action, Some(before)) => {
            if let Some(Some(seen)) = observed.get(&entity) {
                identify(object, seen);
            }
            object.decision = Some(decision(&before, &object.decides));
            if let Some(owner) = guard::owner(&before) {
                return Err(owner);
            }
            match action {
                Action::Patch { operations, .. } => {
                    let after = patched(&before, operations)?;
                    step.diff = difference(&before, &after);
                    // Where it says when it is not needed, it is left out then.
                    if step.diff.is_empty() && step.unless.is_empty() {
                        return Err(format!("{entity} is that way already"));
                    }
                    let ground: Vec<Value> = grounded(&before, operations);
                    let ground = &ground[..ground.len() - operations.len()];
                    let ground = patched(&before, ground)?;
                    // What there is no way back from has none because it could be written down.
                    if !matches!(step.undo, Undo::Impossible { .. }) {
                        step.undo = Undo::Patch { operations: reverse(&ground, &after) };
                    }
                    current.insert(entity, Some(after));
                }
                Action::Delete => {
                    step.diff = vec![format!("- {entity}")];
                    current.insert(entity, None);
                }
                Action::Fill { content: Content::Maker { maker, .. } } => {
                    step.diff = vec![format!("~ data of {entity}, made by {maker}")];
                }
                _ => {}
            }
            Ok(())
        }
    }
}

/// The step that takes a step back, for who judges it; `None` where there is none.
pub fn reversed(step: &Step) -> Option<Step> {
    let action = match (&step.undo, &step.action) {
        (Undo::Patch { operations }, Action::Patch { subresource, .. }) => {
            let (subresource, operations) = (subresource.clone(), operations.clone());
            Action::Patch { subresource, operations }
        }
        // A reverse patch of what was no patch is nothing that this program wrote.
        (Undo::Patch { operations }, _) => {
            Action::Patch { subresource: None, operations: operations.clone() }
        }
        (Undo::Delete, _) => Action::Delete,
        (Undo::Restore, action) => action.clone(),
        (Undo::Reverse, Action::Power { to }) => Action::Power {
            to: match to {
                Power::On => Power::Off,
                Power::Off => Power::On,
            },
        },
        (Undo::Reverse, action) => action.clone(),
        (Undo::Nothing { .. } | Undo::Impossible { .. }, _) => return None,
    };
    Some(Step { action, ..step.clone() })
}

/// An earlier step that this one is the end of: it changes the same fields of the same object. Where that was
/// not needed, neither is this.
pub fn begun_by<'p>(plan: &'p Plan, step: &Step) -> Option<&'p Step> {
    let fields = |step: &Step| -> Option<Vec<String>> {
        let Action::Patch { operations, .. } = &step.action else { return None };
        let path = |one: &Value| one["path"].as_str().map(str::to_string);
        Some(operations.iter().filter_map(path).collect())
    };
    let own = fields(step)?;
    let is_same = |other: &Step| match (&step.target, &other.target) {
        (Target::Api(this), Target::Api(that)) => this.entity() == that.entity(),
        _ => false,
    };
    let earlier = plan.steps.iter().take_while(|other| other.number < step.number);
    earlier.filter(|other| is_same(other)).find(|other| fields(other).as_ref() == Some(&own))
}

fn identify(object: &mut Object, seen: &Value) {
    let text = |path: &str| seen.pointer(path).and_then(Value::as_str).map(str::to_string);
    object.uid = text("/metadata/uid");
    object.resource_version = text("/metadata/resourceVersion");
}

/// Of what people or controllers decide: the fields that are named, or all. Heartbeats, counters and who
/// wrote what are left out.
pub fn decision(object: &Value, fields: &[String]) -> String {
    if !fields.is_empty() {
        let uid = object.pointer("/metadata/uid");
        let named = fields.iter().map(|field| object.pointer(field));
        let all: Vec<Option<&Value>> = [uid].into_iter().chain(named).collect();
        return sha256(serde_json::json!(all).to_string().as_bytes());
    }
    let mut bare = object.clone();
    if let Some(map) = bare.as_object_mut() {
        map.remove("status");
        if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            let kept = ["name", "namespace", "uid", "labels", "annotations", "ownerReferences"];
            metadata.retain(|key, _| kept.contains(&key.as_str()));
        }
    }
    // Keys of a map are sorted, so that equal objects have equal texts.
    sha256(bare.to_string().as_bytes())
}

/// With the map that an annotation or a label is put into, where the object has none. That is only known
/// of the object as it is at the moment.
pub fn grounded(object: &Value, operations: &[Value]) -> Vec<Value> {
    let mut grounded = operations.to_vec();
    for place in ["/metadata/annotations", "/metadata/labels"] {
        let is_below = |one: &Value| {
            let path = one["path"].as_str().and_then(|path| path.strip_prefix(place));
            one["op"] == "add" && path.is_some_and(|rest| rest.starts_with('/'))
        };
        if object.pointer(place).is_none() && operations.iter().any(is_below) {
            grounded.insert(0, serde_json::json!({"op": "add", "path": place, "value": {}}));
        }
    }
    grounded
}

pub fn patched(before: &Value, operations: &[Value]) -> Result<Value, String> {
    let operations = grounded(before, operations);
    let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations))
        .map_err(|error| format!("no JSON patch: {error}"))?;
    let mut after = before.clone();
    json_patch::patch(&mut after, &patch).map_err(|error| error.to_string())?;
    Ok(after)
}

/// Whether an object already is as the operation would leave it.
pub fn applied(object: &Value, operation: &Value) -> bool {
    let path = operation["path"].as_str().unwrap_or_default();
    let value = &operation["value"];
    match (operation["op"].as_str(), path.strip_suffix("/-")) {
        (Some("remove"), _) => object.pointer(path).is_none(),
        (Some("add"), Some(list)) => {
            let items = object.pointer(list).and_then(Value::as_array);
            items.is_some_and(|items| items.contains(value))
        }
        (Some("add" | "replace"), _) => object.pointer(path) == Some(value),
        // A test changes nothing.
        _ => true,
    }
}

/// What leads from `after` back to `before`; each place is tested first. That nothing is there no patch
/// can test: before an `add`, ask [`filled_since`].
pub fn reverse(before: &Value, after: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    // Items of a list move up when one before them is removed.
    let mut by_then = after.clone();
    for operation in json_patch::diff(after, before).0 {
        let test = match &operation {
            PatchOperation::Replace(ReplaceOperation { path, .. })
            | PatchOperation::Remove(RemoveOperation { path }) => {
                let value = by_then.pointer(path.as_str()).cloned();
                value.map(|value| TestOperation { path: path.clone(), value })
            }
            _ => None,
        };
        // What a diff says of these two can be done to them.
        let _ = json_patch::patch(&mut by_then, std::slice::from_ref(&operation));
        let test = test.map(PatchOperation::Test);
        let both = test.into_iter().chain([operation]);
        operations.extend(both.filter_map(|one| serde_json::to_value(one).ok()));
    }
    operations
}

/// A place that an undo would put something into, and where somebody has put something since. Whoever
/// carries the undo out asks this of the object as it is, and locks its resourceVersion.
pub fn filled_since(now: &Value, undo: &[Value]) -> Option<String> {
    let mut by_then = now.clone();
    for operation in grounded(now, undo) {
        let path = operation["path"].as_str().unwrap_or_default();
        // Nor does it put anything between the items of a list: `reverse` adds at their end alone.
        if operation["op"] == "add" && by_then.pointer(path).is_some() {
            return Some(path.into());
        }
        // An operation that cannot be done is refused by whoever is asked to do it.
        let one: PatchOperation = serde_json::from_value(operation).ok()?;
        json_patch::patch(&mut by_then, std::slice::from_ref(&one)).ok()?;
    }
    None
}

/// Line by line, with the place of every value.
pub fn difference(before: &Value, after: &Value) -> Vec<String> {
    let mut shown = Vec::new();
    for operation in json_patch::diff(before, after).0 {
        match operation {
            PatchOperation::Add(AddOperation { path, value }) => {
                shown.extend(lines('+', path.as_str(), &value));
            }
            PatchOperation::Remove(RemoveOperation { path }) => {
                let old = before.pointer(path.as_str()).cloned().unwrap_or_default();
                shown.extend(lines('-', path.as_str(), &old));
            }
            PatchOperation::Replace(ReplaceOperation { path, value }) => {
                let old = before.pointer(path.as_str()).cloned().unwrap_or_default();
                shown.extend(lines('-', path.as_str(), &old));
                shown.extend(lines('+', path.as_str(), &value));
            }
            _ => {}
        }
    }
    shown
}

fn lines(sign: char, path: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) if !map.is_empty() => map
            .iter()
            .flat_map(|(key, value)| lines(sign, &format!("{path}/{key}"), value))
            .collect(),
        value => {
            let text = plimsoll_model::redact(&value.to_string());
            let short: String = text.chars().take(SHOWN).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            vec![format!("{sign} {path}: {short}{more}")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is not there cannot be filled, but made: rights and undo are those of a creation.
    #[test]
    fn a_fill_by_a_maker_makes_what_is_not_there() {
        let step = json!({
            "number": 1, "title": "", "blast": 2,
            "action": {"do": "fill", "content": {"from": "maker", "maker": "m", "inputs": null}},
            "target": {"in": "api", "group": "", "version": "v1", "plural": "secrets",
                "kind": "Secret", "namespace": "n", "name": "s"},
            "undo": {"by": "restore"}, "rehearsal": {"by": "server"},
        });
        let secret = EntityId::namespaced("Secret", "n", "s");
        let there = json!({"metadata": {"name": "s", "uid": "u", "resourceVersion": "1"}});
        for (seen, undo) in [(None, Undo::Delete), (Some(there), Undo::Restore)] {
            let mut step: Step = serde_json::from_value(step.clone()).unwrap();
            step.permissions = permissions(&step.action, &step.target);
            let makes = seen.is_none();
            let observed = Observed::from([(secret.clone(), seen)]);
            exact_step(&mut step, &observed, &mut observed.clone()).unwrap();
            assert_eq!(matches!(step.action, Action::Create { .. }), makes);
            assert_eq!(step.undo, undo);
            let rights: Vec<&str> = step.permissions.iter().map(|one| one.verb.as_str()).collect();
            match makes {
                true => assert_eq!(rights, ["get", "create", "delete"]),
                false => assert_eq!(rights, ["get", "update", "create"]),
            }
        }
    }

    #[test]
    fn what_is_so_already_hinders_only_a_step_that_is_always_needed() {
        let pool = EntityId::cluster_scoped("MachineConfigPool", "worker");
        let paused = json!({"metadata": {"name": "worker", "uid": "u"}, "spec": {"paused": true}});
        let observed = Observed::from([(pool, Some(paused))]);
        let step = |unless: Value| -> Step {
            serde_json::from_value(json!({
                "number": 1, "title": "", "blast": 2, "unless": unless,
                "action": {"do": "patch", "operations":
                    [{"op": "add", "path": "/spec/paused", "value": true}]},
                "target": {"in": "api", "group": "machineconfiguration.openshift.io",
                    "version": "v1", "plural": "machineconfigpools", "kind": "MachineConfigPool",
                    "name": "worker"},
                "undo": {"by": "patch", "operations": []}, "rehearsal": {"by": "server"},
            }))
            .unwrap()
        };
        let is_paused =
            json!([{"on": "MachineConfigPool/worker", "that": "self.paused", "says": ""}]);
        let exact = |mut step: Step| exact_step(&mut step, &observed, &mut observed.clone());
        assert_eq!(exact(step(is_paused)), Ok(()));
        assert!(exact(step(json!([]))).unwrap_err().contains("that way already"));
    }

    #[test]
    fn an_annotation_needs_no_other_and_takes_none_with_it() {
        let mark = [json!({"op": "add", "path": "/metadata/annotations/mark", "value": "yes"})];
        let bare = json!({"metadata": {"name": "a"}});
        let after = patched(&bare, &mark).unwrap();
        assert_eq!(after["metadata"]["annotations"], json!({"mark": "yes"}));
        let others = json!({"metadata": {"name": "a", "annotations": {"other": "1"}}});
        let after = patched(&others, &mark).unwrap();
        assert_eq!(after["metadata"]["annotations"], json!({"mark": "yes", "other": "1"}));
        // Elsewhere a place that is not there is a mistake of the plan.
        let deep = [json!({"op": "add", "path": "/spec/a/b", "value": 1})];
        assert!(patched(&bare, &deep).is_err());
    }

    fn undone(now: &Value, undo: &[Value]) -> Result<Value, String> {
        match filled_since(now, undo) {
            Some(place) => Err(format!("{place} was filled")),
            None => patched(now, undo),
        }
    }

    #[test]
    fn what_was_removed_is_put_back_only_where_nothing_is() {
        let before = json!({"spec": {"hook": "old", "list": ["a", "b", "c"]}});
        let removes = [
            json!({"op": "remove", "path": "/spec/hook"}),
            json!({"op": "remove", "path": "/spec/list/1"}),
        ];
        let after = patched(&before, &removes).unwrap();
        let undo = reverse(&before, &after);
        assert_eq!(undone(&after, &undo), Ok(before));
        let mut taken = after.clone();
        taken["spec"]["hook"] = "somebody's".into();
        assert_eq!(undone(&taken, &undo), Err("/spec/hook was filled".into()));
        let mut longer = after;
        longer["spec"]["list"] = json!(["a", "c", "somebody's"]);
        assert_eq!(undone(&longer, &undo), Err("/spec/list/2 was filled".into()));
    }

    #[test]
    fn several_items_of_a_list_are_taken_back() {
        let before = json!({"spec": {"list": ["a"]}});
        let adds =
            ["b", "c"].map(|item| json!({"op": "add", "path": "/spec/list/-", "value": item}));
        let after = patched(&before, &adds).unwrap();
        let undo = reverse(&before, &after);
        assert_eq!(undone(&after, &undo), Ok(before));
        let changed = json!({"spec": {"list": ["a", "b", "somebody's"]}});
        assert!(undone(&changed, &undo).is_err());
    }
}
