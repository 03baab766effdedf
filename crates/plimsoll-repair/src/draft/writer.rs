//! One step after the other, with what is known of the thing that is repaired filled in.

use plimsoll_engine::pack::{ConditionRule, ContentRule, Each, StepRule, VerbRule};
use plimsoll_engine::predicate::{Predicate, Truth};
use plimsoll_engine::{rules, summary};
use plimsoll_model::diagnosis::Root;
use plimsoll_model::plan::{Action, Condition, Content, Object, Step, Target};
use plimsoll_model::{Entity, EntityId, FactBase, Value as Fact};
use serde_json::Value;

use super::place::placed;
use super::verbs::{permissions, rehearsal, shown, undo};
use super::{Answers, asked, by_hand};
use crate::condition::{Answer, fact, holds};
use crate::resource::{misfit, resource};

/// Steps that one rule may become.
const MOST_REPEATED: usize = 64;

pub struct Writer<'w> {
    base: &'w FactBase,
    root: &'w Root,
    answers: &'w Answers,
    entity: Option<&'w Entity>,
    /// The thing that is repaired, with its namespace.
    place: EntityId,
}

/// A step, and what speaks against it today.
pub struct Drafted {
    pub step: Step,
    /// Keys of `--set` that it cannot do without.
    pub lacks: Vec<String>,
    /// Conditions of it that are known not to hold.
    pub unmet: Vec<String>,
}

/// What a step is repeated for.
pub enum Item<'w> {
    Text(String),
    Thing(&'w EntityId, &'w Entity),
}

impl Item<'_> {
    fn text(&self, path: &str) -> Option<String> {
        match self {
            Item::Text(text) if path.is_empty() => Some(text.clone()),
            Item::Text(_) => None,
            Item::Thing(id, _) if path.is_empty() => Some(id.name.clone()),
            Item::Thing(id, entity) => known(path, &placed(id), Some(entity)),
        }
    }
}

/// A fact that says something.
fn known(path: &str, id: &EntityId, entity: Option<&Entity>) -> Option<String> {
    summary::fact(path, id, entity).filter(|text| !text.is_empty())
}

/// `BMC_HOST` for `{bmcHost}`: what a person puts in its place.
fn stand_in(path: &str) -> String {
    let first = path.split('|').next().unwrap_or(path);
    let word = first.rsplit('.').next().unwrap_or(first);
    let mut out = String::new();
    for c in word.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(if c == '-' { '_' } else { c.to_ascii_uppercase() });
    }
    out
}

impl<'w> Writer<'w> {
    pub fn new(base: &'w FactBase, root: &'w Root, answers: &'w Answers) -> Self {
        let entity = base.entities.get(&root.entity);
        Self { base, root, answers, entity, place: placed(&root.entity) }
    }

    /// A sentence for people: what is unknown is said to be.
    pub fn told(&self, text: &str) -> String {
        summary::fill(text, &self.place, self.entity)
    }

    /// A line for a shell: what is unknown is a word in capitals, for a person to replace.
    pub fn command(&self, text: &str, item: Option<&Item>) -> String {
        let other = |path: &str| Some(self.known(path, item).unwrap_or_else(|| stand_in(path)));
        let filled = summary::fill_known(text, &self.place, self.entity, &other);
        filled.unwrap_or_else(|_| text.to_string())
    }

    fn known(&self, path: &str, item: Option<&Item>) -> Option<String> {
        match (path.strip_prefix("set."), path.strip_prefix("each")) {
            // A step that lacks an answer is shown, and the plan is not carried out without it.
            (Some(key), _) => {
                Some(self.answers.get(key).cloned().unwrap_or_else(|| stand_in(path)))
            }
            (None, Some(rest)) => item.and_then(|item| item.text(rest.trim_start_matches('.'))),
            (None, None) => known(path, &self.place, self.entity),
        }
    }

    /// For what is going to be done: everything known.
    fn filled(&self, text: &str, item: Option<&Item>) -> Result<String, String> {
        let unknown =
            |path: &str| format!("'{path}' of {} is not known from this data", self.root.entity);
        let mut paths = summary::placeholders(text).into_iter();
        if let Some(path) = paths.find(|path| self.known(path, item).is_none()) {
            return Err(unknown(&path));
        }
        let other = |path: &str| self.known(path, item);
        summary::fill_known(text, &self.place, self.entity, &other).map_err(|path| unknown(&path))
    }

    fn loosely(&self, text: &str, item: Option<&Item>) -> String {
        self.filled(text, item).unwrap_or_else(|_| self.told(text))
    }

    fn truth(&self, predicate: &Predicate, item: Option<&Item>) -> Truth {
        let mut scope = rules::shared(self.base);
        let nothing = Entity::default();
        let own = self.entity.unwrap_or(&nothing);
        scope.add_variable_from_value("self", rules::bound(&self.root.entity, own));
        if let Some(Item::Thing(id, entity)) = item {
            scope.add_variable_from_value("each", rules::bound(id, entity));
        }
        predicate.truth(&scope)
    }

    fn is(&self, predicate: &Predicate, item: Option<&Item>) -> bool {
        self.truth(predicate, item) == Truth::True
    }

    pub fn steps(&self, rule: &StepRule) -> Result<Vec<Drafted>, String> {
        let by_hand = matches!(rule.verb, VerbRule::Hand { .. } | VerbRule::Wait);
        match rule.when.as_ref().map(|when| self.truth(when, None)) {
            None | Some(Truth::True) => {}
            // A step that may be needed is not left out without a word.
            Some(Truth::Unknown(why)) if !by_hand => {
                let title = self.loosely(&rule.title, None);
                return Err(format!("whether it is needed is not known ({why}): {title}"));
            }
            Some(_) => return Ok(Vec::new()),
        }
        let items: Vec<Item<'w>> = match &rule.each {
            None => return Ok(vec![self.step(rule, None)?]),
            Some(Each::Item { fact: name }) => {
                let found = fact(self.base, &self.root.entity, name);
                let Some(Fact::List(items)) = found else {
                    return Err(format!("'{name}' of {} is not known", self.root.entity));
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

    fn step(&self, rule: &StepRule, item: Option<&Item>) -> Result<Drafted, String> {
        let (action, target) = self.action(rule, item)?;
        let is_by_hand = matches!(action, Action::Hand { .. });
        let lacks = if is_by_hand { Vec::new() } else { self.lacks(rule) };
        let title = match is_by_hand {
            true => self.loosely(&rule.title, item),
            false => self.filled(&rule.title, item)?,
        };
        let mut commands: Vec<String> =
            rule.commands.iter().map(|line| self.command(line, item)).collect();
        if commands.is_empty() {
            commands = by_hand::commands(self.base, &self.root.entity, &action, &target);
        }
        let require = self.conditions(&rule.require, item)?;
        // An answer that is missing says nothing about a condition with it.
        let unmet = if lacks.is_empty() { self.unmet(&require) } else { Vec::new() };
        let mut step = Step {
            number: 0,
            title: needing(title, &lacks),
            undo: undo(&action, &target),
            permissions: permissions(&action, &target),
            rehearsal: rehearsal(&action),
            diff: made(&action, &target).unwrap_or_else(|| shown(&action, &target)),
            require,
            unless: self.conditions(&rule.unless, item)?,
            expect: self.conditions(&rule.expect, item)?,
            action,
            target,
            blast: rule.blast,
            minutes: rule.minutes,
            commands,
        };
        step.blast = step.reach();
        Ok(Drafted { step, lacks, unmet })
    }

    fn lacks(&self, rule: &StepRule) -> Vec<String> {
        asked::keys(rule).into_iter().filter(|key| !self.answers.contains_key(key)).collect()
    }

    fn unmet(&self, conditions: &[Condition]) -> Vec<String> {
        let fails = conditions.iter().filter(|one| holds(self.base, one) == Answer::Fails);
        fails.map(|one| format!("{} ({})", one.says, one.on)).collect()
    }

    fn action(&self, rule: &StepRule, item: Option<&Item>) -> Result<(Action, Target), String> {
        let text = |template: &String| self.filled(template, item);
        let texts =
            |templates: &[String]| templates.iter().map(text).collect::<Result<Vec<_>, _>>();
        let object = |name: &String| -> Result<Target, String> {
            let name = text(name)?;
            let entity: EntityId = name.parse().map_err(|_| format!("'{name}' is no object"))?;
            let object = resource(&entity);
            let object = object.map(|object| Object { decides: rule.decides.clone(), ..object });
            let object =
                object.ok_or_else(|| format!("{} is no kind that plans touch", entity.kind))?;
            match misfit(&object) {
                Some(why) => Err(why),
                None => Ok(Target::Api(object)),
            }
        };
        let on =
            |node: &String| -> Result<Target, String> { Ok(Target::Node { name: text(node)? }) };
        let bmc = |host: &String, serial: &Option<String>| -> Result<Target, String> {
            let serial = serial.as_ref().map(text).transpose()?;
            Ok(Target::Bmc { host: text(host)?, serial })
        };
        Ok(match &rule.verb {
            // What a person is told may have holes; what is done may not.
            VerbRule::Hand { run, expect } => {
                let run = run.iter().map(|line| self.command(line, item)).collect();
                (Action::Hand { run, expect: self.loosely(expect, item) }, Target::Nothing)
            }
            VerbRule::Wait => (Action::Wait, Target::Nothing),
            VerbRule::Patch { object: name, subresource, operations } => {
                let operations = operations
                    .iter()
                    .map(|operation| self.value(operation, item))
                    .collect::<Result<_, _>>()?;
                let action = Action::Patch { subresource: subresource.clone(), operations };
                (action, object(name)?)
            }
            VerbRule::Create { object: name, content } => {
                (Action::Create { content: self.content(content, item)? }, object(name)?)
            }
            VerbRule::Fill { object: name, content } => {
                (Action::Fill { content: self.content(content, item)? }, object(name)?)
            }
            VerbRule::Delete { object: name } => (Action::Delete, object(name)?),
            VerbRule::Approve { node, signer } => {
                (Action::Approve { node: text(node)?, signer: *signer }, Target::Nothing)
            }
            VerbRule::WriteFile { node, path, mode, content } => {
                let content = self.content(content, item)?;
                (Action::WriteFile { path: text(path)?, mode: *mode, content }, on(node)?)
            }
            VerbRule::Retire { node, paths } => {
                (Action::Retire { paths: texts(paths)? }, on(node)?)
            }
            VerbRule::Unit { node, unit, verb } => {
                (Action::Unit { unit: text(unit)?, verb: *verb }, on(node)?)
            }
            VerbRule::Power { host, serial, to } => (Action::Power { to: *to }, bmc(host, serial)?),
            VerbRule::EjectMedia { host, serial } => (Action::EjectMedia, bmc(host, serial)?),
        })
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

fn needing(title: String, lacks: &[String]) -> String {
    if lacks.is_empty() {
        return title;
    }
    let keys: Vec<String> = lacks.iter().map(|key| format!("--set {key}=…")).collect();
    format!("{title} (needs {})", keys.join(" "))
}

/// What is known of an object before its maker makes it: it holds credentials, or is computed.
fn made(action: &Action, target: &Target) -> Option<Vec<String>> {
    let (sign, content) = match action {
        Action::Create { content } => ('+', content),
        Action::Fill { content } => ('~', content),
        _ => return None,
    };
    let (Content::Maker { maker, inputs }, Target::Api(object)) = (content, target) else {
        return None;
    };
    let mut lines = vec![format!("{sign} {}, made by {maker}", object.entity())];
    let inputs = inputs.as_object().into_iter().flatten();
    lines.extend(inputs.map(|(key, value)| match value.as_str() {
        Some(text) => format!("{sign}   {key}: {text}"),
        None => format!("{sign}   {key}: {value}"),
    }));
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_stands_in_capitals_in_a_command() {
        for (path, word) in [
            ("bmcHost", "BMC_HOST"),
            ("mco.current", "CURRENT"),
            ("set.address", "ADDRESS"),
            ("nodeIp|addresses", "NODE_IP"),
        ] {
            assert_eq!(stand_in(path), word);
        }
    }
}
