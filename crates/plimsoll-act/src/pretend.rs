//! A target that does nothing anywhere: objects, files and services in memory. Plans are tried out on
//! it, and what is true of the transaction is shown with it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plimsoll_model::EntityId;
use plimsoll_model::plan::{Action, Content, Plan, Step, Target as Where, Undo, sha256};
use plimsoll_repair::{applied, decision, patched};
use serde_json::{Value, json};

use crate::target::{Kept, Sight, Standing, Target, Targets, Trouble};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Things {
    pub objects: BTreeMap<EntityId, Value>,
    /// Files, services and power, by node or host and name.
    pub others: BTreeMap<String, Value>,
    kept: BTreeMap<usize, BTreeMap<String, Value>>,
}

#[derive(Default)]
pub struct Pretend {
    things: Mutex<Things>,
}

impl Pretend {
    pub fn new(objects: BTreeMap<EntityId, Value>) -> Self {
        Self { things: Mutex::new(Things { objects, ..Things::default() }) }
    }

    /// With something that stands where the plan will write.
    pub fn before(plan: &Plan, objects: BTreeMap<EntityId, Value>) -> Self {
        let pretend = Self::new(objects);
        let names = plan.steps.iter().flat_map(names);
        pretend.things().others = names.map(|name| (name, json!("before"))).collect();
        pretend
    }

    pub fn things(&self) -> MutexGuard<'_, Things> {
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Targets for Pretend {
    fn of(&self, _: &Step) -> Result<&dyn Target, Trouble> {
        Ok(self)
    }
}

/// What a step on no object of the API leaves behind, by name.
fn wanted(step: &Step) -> BTreeMap<String, Value> {
    let place = match &step.target {
        Where::Node { name } => name.clone(),
        Where::Bmc { host, .. } => host.clone(),
        _ => "here".into(),
    };
    let one = |name: String, value: Value| BTreeMap::from([(format!("{place}:{name}"), value)]);
    match &step.action {
        Action::WriteFile { path, content, .. } => one(path.clone(), json!(content)),
        Action::Retire { paths } => {
            paths.iter().map(|path| (format!("{place}:{path}"), Value::Null)).collect()
        }
        Action::Unit { unit, verb } => one(unit.clone(), json!(verb)),
        Action::Power { to } => one("power".into(), json!(to)),
        Action::EjectMedia => one("media".into(), Value::Null),
        Action::Approve { node, signer } => one(format!("{node} {signer:?}"), json!("approved")),
        _ => BTreeMap::new(),
    }
}

/// What a step on no object of the API writes.
pub(crate) fn names(step: &Step) -> Vec<String> {
    wanted(step).into_keys().collect()
}

impl Things {
    fn now(&self, step: &Step) -> BTreeMap<String, Value> {
        let names = wanted(step).into_keys();
        names
            .map(|name| (name.clone(), self.others.get(&name).cloned().unwrap_or_default()))
            .collect()
    }

    fn after(&self, step: &Step, entity: &EntityId) -> Result<Option<Value>, Trouble> {
        let now = self.objects.get(entity);
        let gone = || Trouble::Stale(format!("{entity} is gone"));
        match (&step.action, now) {
            (Action::Patch { operations, .. }, Some(now)) => {
                patched(now, operations).map(Some).map_err(Trouble::Failed)
            }
            (Action::Create { content: Content::Plan { value } }, None) => Ok(Some(value.clone())),
            (Action::Create { .. }, None) => Ok(Some(json!({"made": step.number}))),
            (Action::Create { .. }, Some(_)) => {
                Err(Trouble::Stale(format!("{entity} exists already")))
            }
            (Action::Fill { .. }, Some(now)) => {
                let mut now = now.clone();
                now["filled"] = step.number.into();
                Ok(Some(now))
            }
            (Action::Delete, _) => Ok(None),
            _ => Err(gone()),
        }
    }
}

impl Target for Pretend {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        let things = self.things();
        let Where::Api(object) = &step.target else {
            let (now, wanted) = (things.now(step), wanted(step));
            let standing = if now == wanted { Standing::Done } else { Standing::Ahead };
            return Ok(Sight {
                standing,
                hash: sha256(json!(now).to_string().as_bytes()),
                object: None,
            });
        };
        let entity = object.entity();
        let now = things.objects.get(&entity);
        let standing = match (&step.action, now) {
            (Action::Create { .. }, None) => Standing::Ahead,
            (Action::Create { .. }, Some(_)) | (Action::Delete, None) => Standing::Done,
            (Action::Delete, Some(_)) => Standing::Ahead,
            (Action::Fill { .. }, Some(now)) => match now["filled"] == step.number {
                true => Standing::Done,
                false => Standing::Ahead,
            },
            (Action::Patch { operations, .. }, Some(now)) => {
                let done = operations.iter().all(|one| applied(now, one));
                let known = object.decision.as_ref();
                match (done, known.is_none_or(|known| *known == decision(now, &object.decides))) {
                    (true, _) => Standing::Done,
                    (false, true) => Standing::Ahead,
                    (false, false) => Standing::Elsewhere(format!("{entity} changed since")),
                }
            }
            _ => Standing::Elsewhere(format!("{entity} is gone")),
        };
        let hash = now.map(|now| decision(now, &[])).unwrap_or_default();
        Ok(Sight { standing, hash, object: now.cloned() })
    }

    fn rehearse(&self, step: &Step) -> Result<(), Trouble> {
        match &step.target {
            Where::Api(object) => self.things().after(step, &object.entity()).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        let mut things = self.things();
        let now = match &step.target {
            Where::Api(object) => {
                let now = things.objects.get(&object.entity()).cloned().unwrap_or_default();
                BTreeMap::from([(object.entity().to_string(), now)])
            }
            _ => things.now(step),
        };
        let kept = things.kept.entry(step.number).or_insert(now);
        let sha256 = sha256(json!(kept).to_string().as_bytes());
        Ok(vec![Kept { place: format!("memory/{}", step.number), sha256 }])
    }

    fn act(&self, step: &Step) -> Result<String, Trouble> {
        let mut things = self.things();
        match &step.target {
            Where::Api(object) => {
                let entity = object.entity();
                match things.after(step, &entity)? {
                    Some(value) => things.objects.insert(entity, value),
                    None => things.objects.remove(&entity),
                };
            }
            _ => things.others.extend(wanted(step)),
        }
        Ok("done".into())
    }

    fn undo(&self, step: &Step, left: Option<&str>) -> Result<String, Trouble> {
        let mut things = self.things();
        if let (Where::Api(object), Undo::Delete | Undo::Restore, Some(left)) =
            (&step.target, &step.undo, left)
            && let Some(now) = things.objects.get(&object.entity())
            && decision(now, &[]) != left
        {
            return Err(Trouble::Stale(format!("{} was changed since", object.entity())));
        }
        match (&step.target, &step.undo) {
            (Where::Api(object), Undo::Patch { operations }) => {
                let entity = object.entity();
                let now = things.objects.get(&entity).cloned().unwrap_or_default();
                if let Some(path) = plimsoll_repair::filled_since(&now, operations) {
                    return Err(Trouble::Stale(format!("{entity} has another {path} since")));
                }
                let before = patched(&now, operations).map_err(Trouble::Stale)?;
                things.objects.insert(entity, before);
            }
            (Where::Api(object), Undo::Delete) => drop(things.objects.remove(&object.entity())),
            (Where::Api(object), _) => {
                let kept =
                    things.kept.get(&step.number).and_then(|kept| kept.values().next()).cloned();
                match kept {
                    Some(value) => things.objects.insert(object.entity(), value),
                    None => return Err(Trouble::Failed("nothing was kept".into())),
                };
            }
            _ => {
                let kept = things.kept.get(&step.number).cloned().unwrap_or_default();
                for (name, value) in kept {
                    match value {
                        Value::Null => drop(things.others.remove(&name)),
                        value => drop(things.others.insert(name, value)),
                    }
                }
            }
        }
        Ok("undone".into())
    }
}
