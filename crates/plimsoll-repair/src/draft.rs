//! A root and its repair → a plan without what only the objects themselves can tell.

use std::collections::BTreeMap;

use plimsoll_engine::pack::{ConditionRule, ContentRule, Each, RepairRule, StepRule, VerbRule};
use plimsoll_engine::predicate::{Predicate, Truth};
use plimsoll_engine::{Pack, rules, summary};
use plimsoll_model::diagnosis::{Diagnosis, Root, StateRef};
use plimsoll_model::plan::{
    Action, Condition, Content, Object, PLAN_SCHEMA, Permission, Plan, Power, Reason, Rehearsal,
    Signer, Step, Target, Undo, UnitVerb, Verification,
};
use plimsoll_model::{Entity, EntityId, FactBase, Value as Fact};
use serde_json::Value;

use crate::resource::resource;

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
    let rule = pack.repair(&named.id).ok_or_else(|| Unplanned::NoRepair(root.state()))?;
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
    Ok(Plan {
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
        minutes: named.minutes,
        blast,
        during_rollout: rule.during_rollout,
        steps,
        none: rule.none.as_deref().map(|text| writer.told(text)),
        hindrances,
        verify: verification(rule, &writer),
        never: rule.never.iter().map(|text| writer.told(text)).collect(),
        escalate: Some(writer.told(&rule.escalate)),
    })
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
            VerbRule::Power { host, to } => {
                (Action::Power { to: *to }, Target::Bmc { host: text(host)? })
            }
            VerbRule::EjectMedia { host } => {
                (Action::EjectMedia, Target::Bmc { host: text(host)? })
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

/// What is known of a change before the object is.
fn shown(action: &Action, target: &Target) -> Vec<String> {
    let node = match target {
        Target::Node { name } => name.as_str(),
        _ => "",
    };
    match action {
        Action::Patch { operations, .. } => {
            operations.iter().map(|operation| format!("~ {operation}")).collect()
        }
        Action::WriteFile { path, mode, content: Content::Maker { maker, .. } } => {
            vec![format!("~ {node}:{path} (mode {mode:04o}), made by {maker}")]
        }
        Action::WriteFile { path, mode, .. } => vec![format!("~ {node}:{path} (mode {mode:04o})")],
        Action::Retire { paths } => paths.iter().map(|path| format!("- {node}:{path}")).collect(),
        _ => Vec::new(),
    }
}

fn undo(action: &Action, target: &Target) -> Undo {
    let nothing = |because: &str| Undo::Nothing { because: because.into() };
    let impossible = |because: &str| Undo::Impossible { because: because.into() };
    match action {
        // The reverse operations need the object as it is.
        Action::Patch { .. } => Undo::Patch { operations: Vec::new() },
        Action::Create { .. } => Undo::Delete,
        Action::Fill { .. } | Action::WriteFile { .. } | Action::Retire { .. } => Undo::Restore,
        Action::Delete => match target {
            Target::Api(object) if object.kind == "Pod" => {
                nothing("whoever made the pod makes it again")
            }
            _ => Undo::Restore,
        },
        Action::Approve { .. } => {
            impossible("a certificate that was issued stays valid until it ends")
        }
        Action::Unit { verb: UnitVerb::Restart, .. } => nothing("a restart leaves nothing behind"),
        Action::Unit { .. } | Action::Power { .. } => Undo::Reverse,
        Action::EjectMedia => impossible("what was in the drive is known to its owner only"),
        Action::Wait => nothing("it only waits"),
        Action::Hand { .. } => impossible("what was done by hand is taken back by hand"),
    }
}

/// Of the step and of its undo.
fn permissions(action: &Action, target: &Target) -> Vec<Permission> {
    let signing = |verb: &str, group: &str, resource: &str, name: Option<&str>| Permission {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        namespace: None,
        name: name.map(str::to_string),
    };
    if let Action::Approve { signer, .. } = action {
        let group = "certificates.k8s.io";
        let name = match signer {
            Signer::Client => "kubernetes.io/kube-apiserver-client-kubelet",
            Signer::Serving => "kubernetes.io/kubelet-serving",
        };
        return vec![
            signing("list", group, "certificatesigningrequests", None),
            signing("update", group, "certificatesigningrequests/approval", None),
            signing("approve", group, "signers", Some(name)),
        ];
    }
    let Target::Api(object) = target else { return Vec::new() };
    let verbs: &[&str] = match action {
        Action::Patch { .. } => &["get", "patch"],
        Action::Create { .. } => &["get", "create", "delete"],
        // What was there is kept beside it.
        Action::Fill { .. } => &["get", "update", "create"],
        Action::Delete => &["get", "delete", "create"],
        _ => &["get"],
    };
    let of_subresource = match action {
        Action::Patch { subresource: Some(name), .. } => Some(name),
        _ => None,
    };
    let one = |verb: &&str| {
        let resource = match of_subresource {
            Some(name) if *verb == "patch" => format!("{}/{name}", object.plural),
            _ => object.plural.clone(),
        };
        Permission {
            verb: (*verb).into(),
            group: object.group.clone(),
            resource,
            namespace: object.namespace.clone(),
            // Rights to make something cannot be tied to a name.
            name: (*verb != "create").then(|| object.name.clone()),
        }
    };
    verbs.iter().map(one).collect()
}

fn rehearsal(action: &Action) -> Rehearsal {
    let impossible = |because: &str| Rehearsal::Impossible { because: because.into() };
    match action {
        Action::Patch { .. } | Action::Create { .. } | Action::Delete | Action::Fill { .. } => {
            Rehearsal::Server
        }
        Action::Approve { .. } => impossible("the request may not be there yet"),
        Action::WriteFile { .. } | Action::Retire { .. } | Action::Unit { .. } => {
            impossible("a node has no dry run")
        }
        Action::Power { .. } | Action::EjectMedia => impossible("a BMC has no dry run"),
        Action::Wait => impossible("it only waits"),
        Action::Hand { .. } => impossible("a person does it"),
    }
}

/// The same for who does it by hand.
fn equivalent(action: &Action, target: &Target) -> Vec<String> {
    let of = |object: &Object| match &object.namespace {
        Some(namespace) => format!("-n {namespace} {}/{}", object.plural, object.name),
        None => format!("{}/{}", object.plural, object.name),
    };
    let on = |node: &str, command: &str| vec![format!("ssh core@{node} sudo {command}")];
    match (action, target) {
        (Action::Patch { subresource, operations }, Target::Api(object)) => {
            let patch = Value::Array(operations.clone());
            let sub = subresource.as_ref().map(|name| format!(" --subresource={name}"));
            let sub = sub.unwrap_or_default();
            vec![format!("oc patch {} --type=json{sub} -p '{patch}'", of(object))]
        }
        (Action::Delete, Target::Api(object)) => vec![format!("oc delete {}", of(object))],
        (Action::Create { content: Content::Plan { .. } }, Target::Api(object)) => {
            vec![format!("oc create -f {}.yaml", object.name)]
        }
        (Action::Approve { node, .. }, _) => vec![
            "oc get csr   # the one of this node, read as `plimsoll csr` does".into(),
            format!("oc adm certificate approve NAME   # of {node}, by name, never in bulk"),
        ],
        (Action::Unit { unit, verb }, Target::Node { name }) => {
            let verb = match verb {
                UnitVerb::Start => "start",
                UnitVerb::Stop => "stop",
                UnitVerb::Restart => "restart",
            };
            on(name, &format!("systemctl {verb} {unit}"))
        }
        (Action::Retire { paths }, Target::Node { name }) => {
            let paths = paths.join(" ");
            on(
                name,
                &format!(
                    "sh -c 'mkdir -p /var/lib/plimsoll/aside && mv {paths} /var/lib/plimsoll/aside/'"
                ),
            )
        }
        (Action::Power { to }, Target::Bmc { host }) => {
            let kind = if *to == Power::On { "On" } else { "ForceOff" };
            vec![format!(
                "curl -u USER -X POST https://BMC_OF_{host}/redfish/v1/Systems/ID/Actions/ComputerSystem.Reset -d '{{\"ResetType\": \"{kind}\"}}'"
            )]
        }
        _ => Vec::new(),
    }
}
