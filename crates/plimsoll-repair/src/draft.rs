//! A root and its repair → a plan without what only the objects themselves can tell.

mod verbs;

use std::collections::BTreeMap;

use plimsoll_engine::pack::{ConditionRule, ContentRule, Each, RepairRule, StepRule, VerbRule};
use plimsoll_engine::predicate::{Predicate, Truth};
use plimsoll_engine::{Pack, rules, summary};
use plimsoll_model::diagnosis::{Diagnosis, Root, StateRef};
use plimsoll_model::plan::{
    Action, Condition, Content, Object, PLAN_SCHEMA, Plan, Reason, Step, Target, Verification,
};
use plimsoll_model::{Entity, EntityId, FactBase, Value as Fact};
use serde_json::Value;

use crate::resource::resource;
use verbs::{equivalent, rehearsal, shown};
pub(crate) use verbs::{permissions, undo};

/// Proofs that a plan quotes; the diagnosis has the rest.
const PROOFS: usize = 3;
/// Steps that one rule may become.
const MOST_REPEATED: usize = 64;

/// What only the user knows, from `--set KEY=VALUE`.
pub type Answers = BTreeMap<String, String>;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplanned {
    /// Nothing is wrong.
    Healthy,
    /// Something is, and nothing is proven to be its cause.
    NoRoot,
    /// No root is meant by that name; these there are.
    NoSuchRoot(Vec<String>),
    /// The pack names no repair of it, or one that no pack defines.
    NoRepair(StateRef),
    /// It has no repair of that name; these it has.
    NoSuchRepair(Vec<String>),
    /// No pack knows a break-glass for it.
    NoBreakGlass(StateRef),
}

/// Which root is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The one that is best repaired first.
    First,
    /// From 1, as the diagnosis numbers them.
    Number(usize),
    /// `kubelet-anonymous`, or `Node/master-1: kubelet-anonymous` where several have it.
    Name(String),
}

pub fn choose<'d>(diagnosis: &'d Diagnosis, choice: &Choice) -> Result<&'d Root, Unplanned> {
    let known = || {
        let shown =
            |(index, root): (usize, &Root)| format!("{}. {}: {}", index + 1, root.entity, root.id);
        diagnosis.roots.iter().enumerate().map(shown).collect::<Vec<_>>()
    };
    if diagnosis.roots.is_empty() {
        return Err(match diagnosis.verdict {
            plimsoll_model::diagnosis::Verdict::Healthy => Unplanned::Healthy,
            _ => Unplanned::NoRoot,
        });
    }
    let found = match choice {
        Choice::First => diagnosis.roots.first(),
        Choice::Number(number) => number.checked_sub(1).and_then(|at| diagnosis.roots.get(at)),
        Choice::Name(name) => {
            let mut meant = diagnosis.roots.iter().filter(|root| {
                root.id == *name
                    || format!("{}: {}", root.entity, root.id) == *name
                    || format!("{}:{}", root.entity, root.id) == *name
            });
            // One name that means several roots means none.
            meant.next().filter(|_| meant.next().is_none())
        }
    };
    found.ok_or_else(|| Unplanned::NoSuchRoot(known()))
}

/// The plan for one root.
pub fn draft(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Result<Plan, Unplanned> {
    let named = root.repairs.first().ok_or_else(|| Unplanned::NoRepair(root.state()))?;
    let rule = pack.repair(&named.id).filter(|rule| rule.break_glass.is_none());
    let rule = rule.ok_or_else(|| Unplanned::NoRepair(root.state()))?;
    Ok(written(rule, named.minutes, base, diagnosis, root, answers))
}

/// What nobody is offered: the plan for one root that breaks a rule for a while.
pub fn draft_break_glass(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Result<Plan, Unplanned> {
    let is_for = |rule: &&RepairRule| rule.break_glass.is_some() && rule.states.contains(&root.id);
    let rule = pack.repairs.iter().find(is_for);
    let rule = rule.ok_or_else(|| Unplanned::NoBreakGlass(root.state()))?;
    Ok(written(rule, None, base, diagnosis, root, answers))
}

/// Another repair of the root than the one that is proposed, by its name.
pub fn draft_named(
    pack: &Pack,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
    name: &str,
) -> Result<Plan, Unplanned> {
    let proposed = root.repairs.first().filter(|named| named.id == name);
    let others = || {
        let is_other = |rule: &&RepairRule| {
            rule.break_glass.is_none()
                && rule.states.contains(&root.id)
                && root.repairs.first().is_none_or(|named| named.id != rule.id)
        };
        pack.repairs.iter().filter(is_other)
    };
    match proposed {
        Some(_) => draft(pack, base, diagnosis, root, answers),
        None => match others().find(|rule| rule.id == name) {
            Some(rule) => Ok(written(rule, None, base, diagnosis, root, answers)),
            None => {
                let known = root.repairs.iter().map(|named| named.id.clone());
                let known = known.chain(others().map(|rule| rule.id.clone()));
                Err(Unplanned::NoSuchRepair(known.collect()))
            }
        },
    }
}

fn written(
    rule: &RepairRule,
    minutes: Option<u64>,
    base: &FactBase,
    diagnosis: &Diagnosis,
    root: &Root,
    answers: &Answers,
) -> Plan {
    let writer = Writer { base, root, answers, entity: base.entities.get(&root.entity) };
    let mut hindrances = Vec::new();
    let mut steps = Vec::new();
    for step in &rule.steps {
        match writer.steps(step) {
            Ok(found) => steps.extend(found),
            Err(why) => hindrances.push(why),
        }
    }
    once_each(&mut steps);
    for (number, step) in (1..).zip(&mut steps) {
        step.number = number;
    }
    let blast = steps.iter().map(|step| step.blast).max().unwrap_or(0);
    Plan {
        schema: PLAN_SCHEMA.into(),
        digest: String::new(),
        made_for: diagnosis.generated_for,
        cluster: diagnosis.cluster.clone(),
        root: root.state(),
        confidence: root.confidence,
        repair: rule.id.clone(),
        title: writer.told(&rule.title),
        reason: Reason {
            summary: root.summary.clone(),
            explains: root.explains.clone(),
            evidence: root.evidence.iter().take(PROOFS).cloned().collect(),
        },
        roots: diagnosis.roots.iter().map(Root::state).collect(),
        minutes,
        blast,
        during_rollout: rule.during_rollout,
        break_glass_minutes: rule.break_glass,
        steps,
        none: rule.none.as_deref().map(|text| writer.told(text)),
        hindrances,
        verify: verification(rule, &writer),
        never: rule.never.iter().map(|text| writer.told(text)).collect(),
        escalate: Some(writer.told(&rule.escalate)),
    }
}

/// Two nodes may lack the same config, and one node may have asked ten times.
fn once_each(steps: &mut Vec<Step>) {
    let mut seen: Vec<(String, Target)> = Vec::new();
    steps.retain(|step| {
        let what = match &step.action {
            Action::Create { .. } => "create".into(),
            Action::Hand { .. } | Action::Wait => step.title.clone(),
            action => serde_json::to_string(action).unwrap_or_default(),
        };
        let key = (what, step.target.clone());
        let is_new = !seen.contains(&key);
        seen.extend(is_new.then_some(key));
        is_new
    });
}

fn verification(rule: &RepairRule, writer: &Writer) -> Vec<Verification> {
    let told = |text: &String| writer.told(text);
    let one = |rule: &plimsoll_engine::pack::VerifyRule| Verification {
        run: rule.run.as_ref().map(told),
        expect: told(&rule.expect),
    };
    rule.verify.iter().map(one).collect()
}

struct Writer<'w> {
    base: &'w FactBase,
    root: &'w Root,
    answers: &'w Answers,
    entity: Option<&'w Entity>,
}

/// What a step is repeated for.
enum Item<'w> {
    Text(String),
    Thing(&'w EntityId, &'w Entity),
}

impl Item<'_> {
    fn text(&self, path: &str) -> Option<String> {
        match self {
            Item::Text(text) if path.is_empty() => Some(text.clone()),
            Item::Text(_) => None,
            Item::Thing(id, _) if path.is_empty() => Some(id.name.clone()),
            Item::Thing(id, entity) => summary::fact(path, id, Some(entity)),
        }
    }
}

impl<'w> Writer<'w> {
    /// A sentence for people: what is unknown is said to be.
    fn told(&self, text: &str) -> String {
        summary::fill(text, &self.root.entity, self.entity)
    }

    /// For what is going to be done: everything known.
    fn filled(&self, text: &str, item: Option<&Item>) -> Result<String, String> {
        let other = |path: &str| match (path.strip_prefix("set."), path.strip_prefix("each")) {
            (Some(key), _) => self.answers.get(key).cloned(),
            (None, Some(rest)) => item.and_then(|item| item.text(rest.trim_start_matches('.'))),
            (None, None) => None,
        };
        summary::fill_known(text, &self.root.entity, self.entity, &other).map_err(|path| match path
            .strip_prefix("set.")
        {
            Some(key) => format!("only you know it: give it as --set {key}=VALUE"),
            None => format!("'{path}' of {} is not known from this data", self.root.entity),
        })
    }

    fn is(&self, predicate: &Predicate, item: Option<&Item>) -> bool {
        let mut scope = rules::shared(self.base);
        let nothing = Entity::default();
        let own = self.entity.unwrap_or(&nothing);
        scope.add_variable_from_value("self", rules::bound(&self.root.entity, own));
        if let Some(Item::Thing(id, entity)) = item {
            scope.add_variable_from_value("each", rules::bound(id, entity));
        }
        predicate.truth(&scope) == Truth::True
    }

    fn steps(&self, rule: &StepRule) -> Result<Vec<Step>, String> {
        if rule.when.as_ref().is_some_and(|when| !self.is(when, None)) {
            return Ok(Vec::new());
        }
        let items: Vec<Item<'w>> = match &rule.each {
            None => return Ok(vec![self.step(rule, None)?]),
            Some(Each::Item { fact }) => {
                let found = crate::condition::fact(self.base, &self.root.entity, fact);
                let Some(Fact::List(items)) = found else {
                    return Err(format!("'{fact}' of {} is not known", self.root.entity));
                };
                items.iter().filter_map(Fact::text).map(|text| Item::Text(text.into())).collect()
            }
            Some(Each::Thing { kind, wanted }) => self
                .base
                .entities
                .iter()
                .filter(|(id, _)| id.kind == *kind)
                .map(|(id, entity)| Item::Thing(id, entity))
                .filter(|item| wanted.as_ref().is_none_or(|wanted| self.is(wanted, Some(item))))
                .collect(),
        };
        if items.len() > MOST_REPEATED {
            return Err(format!("'{}' would be done {} times", rule.title, items.len()));
        }
        items.iter().map(|item| self.step(rule, Some(item))).collect()
    }

    fn step(&self, rule: &StepRule, item: Option<&Item>) -> Result<Step, String> {
        let text = |template: &String| self.filled(template, item);
        let texts =
            |templates: &[String]| templates.iter().map(text).collect::<Result<Vec<_>, _>>();
        let object = |name: &String| -> Result<Object, String> {
            let name = text(name)?;
            let entity: EntityId = name.parse().map_err(|_| format!("'{name}' is no object"))?;
            let object = resource(&entity);
            let object = object.map(|object| Object { decides: rule.decides.clone(), ..object });
            object.ok_or_else(|| format!("{} is no kind that plans touch", entity.kind))
        };
        let (action, target) = match &rule.verb {
            // What a person is told may have holes; what is done may not.
            VerbRule::Hand { run, expect } => {
                let run = run.iter().map(|line| self.loosely(line, item)).collect();
                (Action::Hand { run, expect: self.loosely(expect, item) }, Target::Nothing)
            }
            VerbRule::Wait => (Action::Wait, Target::Nothing),
            VerbRule::Patch { object: name, subresource, operations } => {
                let operations = operations
                    .iter()
                    .map(|operation| self.value(operation, item))
                    .collect::<Result<_, _>>()?;
                let action = Action::Patch { subresource: subresource.clone(), operations };
                (action, Target::Api(object(name)?))
            }
            VerbRule::Create { object: name, content } => {
                let content = self.content(content, item)?;
                (Action::Create { content }, Target::Api(object(name)?))
            }
            VerbRule::Fill { object: name, content } => {
                let content = self.content(content, item)?;
                (Action::Fill { content }, Target::Api(object(name)?))
            }
            VerbRule::Delete { object: name } => (Action::Delete, Target::Api(object(name)?)),
            VerbRule::Approve { node, signer } => {
                (Action::Approve { node: text(node)?, signer: *signer }, Target::Nothing)
            }
            VerbRule::WriteFile { node, path, mode, content } => {
                let content = self.content(content, item)?;
                let action = Action::WriteFile { path: text(path)?, mode: *mode, content };
                (action, Target::Node { name: text(node)? })
            }
            VerbRule::Retire { node, paths } => {
                (Action::Retire { paths: texts(paths)? }, Target::Node { name: text(node)? })
            }
            VerbRule::Unit { node, unit, verb } => {
                let action = Action::Unit { unit: text(unit)?, verb: *verb };
                (action, Target::Node { name: text(node)? })
            }
            VerbRule::Power { host, serial, to } => {
                let serial = serial.as_ref().map(text).transpose()?;
                (Action::Power { to: *to }, Target::Bmc { host: text(host)?, serial })
            }
            VerbRule::EjectMedia { host, serial } => {
                let serial = serial.as_ref().map(text).transpose()?;
                (Action::EjectMedia, Target::Bmc { host: text(host)?, serial })
            }
        };
        let title = match action {
            Action::Hand { .. } => self.loosely(&rule.title, item),
            _ => text(&rule.title)?,
        };
        let mut commands = texts(&rule.commands)?;
        if commands.is_empty() {
            commands = equivalent(&action, &target);
        }
        Ok(Step {
            number: 0,
            title,
            undo: undo(&action, &target),
            permissions: permissions(&action, &target),
            rehearsal: rehearsal(&action),
            diff: shown(&action, &target),
            require: self.conditions(&rule.require, item)?,
            unless: self.conditions(&rule.unless, item)?,
            expect: self.conditions(&rule.expect, item)?,
            action,
            target,
            blast: rule.blast,
            minutes: rule.minutes,
            commands,
        })
    }

    fn loosely(&self, text: &str, item: Option<&Item>) -> String {
        self.filled(text, item).unwrap_or_else(|_| self.told(text))
    }

    fn content(&self, rule: &ContentRule, item: Option<&Item>) -> Result<Content, String> {
        Ok(match rule {
            ContentRule::Value(value) => Content::Plan { value: self.value(value, item)? },
            ContentRule::Maker { maker, inputs } => {
                Content::Maker { maker: maker.clone(), inputs: self.value(inputs, item)? }
            }
        })
    }

    fn value(&self, value: &Value, item: Option<&Item>) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => Value::String(self.filled(text, item)?),
            Value::Array(items) => Value::Array(
                items.iter().map(|one| self.value(one, item)).collect::<Result<_, _>>()?,
            ),
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, inner)| Ok((key.clone(), self.value(inner, item)?)))
                    .collect::<Result<_, String>>()?,
            ),
            plain => plain.clone(),
        })
    }

    fn conditions(
        &self,
        rules: &[ConditionRule],
        item: Option<&Item>,
    ) -> Result<Vec<Condition>, String> {
        let one = |rule: &ConditionRule| {
            let on = match (rule.on.as_str(), item) {
                ("self", _) => self.root.entity.clone(),
                ("each", Some(Item::Thing(id, _))) => (*id).clone(),
                (name, _) => {
                    let name = self.filled(name, item)?;
                    name.parse().map_err(|_| format!("'{name}' is no thing"))?
                }
            };
            let that = self.filled(&rule.that, item)?;
            // A value with a quote in it would be an expression of its own.
            let quotes = |text: &str| text.matches(['"', '\'', '\\']).count();
            if quotes(&that) != quotes(&rule.that) {
                return Err(format!("a fact with quotes in it cannot be asked for: {that}"));
            }
            let says = self.filled(&rule.says, item)?;
            Ok(Condition { on, that, says, within: rule.within })
        };
        rules.iter().map(one).collect()
    }
}
