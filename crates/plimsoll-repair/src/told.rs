//! A repair before anybody needs it, for `plimsoll explain`: what a plan of it would do, without a cluster.

use plimsoll_engine::pack::{ConditionRule, ContentRule, RepairRule, StepRule, VerbRule};
use plimsoll_engine::{Pack, summary};
use plimsoll_model::EntityId;
use plimsoll_model::knowledge::{FailureMode, RepairInfo, StepInfo};
use plimsoll_model::plan::{Action, Content, Object, Target};
use serde_json::Value;

use crate::draft::is_informing;
use crate::{draft, guard, resource};

/// Every repair that the states of a failure mode name, and what may be asked for beside them.
pub fn told(pack: &Pack, mode: &FailureMode) -> Vec<RepairInfo> {
    let mut found: Vec<RepairInfo> = Vec::new();
    let mut add = |rule: Option<&RepairRule>| {
        if let Some(rule) = rule.filter(|rule| found.iter().all(|known| known.id != rule.id)) {
            found.push(info(rule));
        }
    };
    for state in &mode.states {
        for recovery in &state.recovery {
            add(pack.repair(&recovery.repair));
        }
    }
    for rule in &pack.repairs {
        let is_of = mode.states.iter().any(|state| rule.states.contains(&state.id));
        add(Some(rule).filter(|_| is_of));
    }
    found
}

fn info(rule: &RepairRule) -> RepairInfo {
    let general = |text: &String| summary::in_general(text);
    let mut asks: Vec<String> = Vec::new();
    let mut guards: Vec<String> = Vec::new();
    for step in &rule.steps {
        asks.extend(set_keys(step));
        let (action, target) = acted(step);
        guards.extend(guard::watching(&action, &target, step.blast).map(str::to_string));
    }
    for list in [&mut asks, &mut guards] {
        list.sort();
        list.dedup();
    }
    RepairInfo {
        id: rule.id.clone(),
        title: general(&rule.title),
        by: rule.done_by(),
        blast: rule.steps.iter().map(|step| step.blast).max().unwrap_or(0),
        informing: is_informing(rule),
        during_rollout: rule.during_rollout,
        break_glass_minutes: rule.break_glass,
        none: rule.none.as_ref().map(general),
        steps: rule.steps.iter().map(of_step).collect(),
        asks,
        guards,
        never: rule.never.iter().map(general).collect(),
        escalate: general(&rule.escalate),
    }
}

fn of_step(rule: &StepRule) -> StepInfo {
    let conditions = |rules: &[ConditionRule]| -> Vec<String> {
        rules.iter().map(|rule| summary::in_general(&rule.says)).collect()
    };
    let (action, target) = acted(rule);
    let by_hand = matches!(action, Action::Hand { .. });
    let then = match &rule.verb {
        VerbRule::Hand { expect, .. } => vec![summary::in_general(expect)],
        _ => conditions(&rule.expect),
    };
    let commands = match &rule.verb {
        VerbRule::Hand { run, .. } => run,
        _ => &rule.commands,
    };
    StepInfo {
        title: summary::in_general(&rule.title),
        by_hand,
        blast: rule.blast,
        when: rule.when.as_ref().map(|when| when.source.clone()),
        only_if: conditions(&rule.require),
        not_if: conditions(&rule.unless),
        then,
        undo: if by_hand { None } else { draft::undo(&action, &target).told() },
        commands: commands.iter().map(|line| summary::in_general(line)).collect(),
        minutes: rule.minutes,
    }
}

/// The step as a plan has it, with `<name>` for what it fills in.
fn acted(rule: &StepRule) -> (Action, Target) {
    let text = |template: &String| summary::in_general(template);
    let object = |name: &String| {
        let entity: Option<EntityId> = text(name).parse().ok();
        let found = entity.as_ref().and_then(resource);
        Target::Api(found.unwrap_or_else(|| Object { name: text(name), ..Object::default() }))
    };
    let content = |rule: &ContentRule| match rule {
        ContentRule::Value(value) => Content::Plan { value: value.clone() },
        ContentRule::Maker { maker, inputs } => {
            Content::Maker { maker: maker.clone(), inputs: inputs.clone() }
        }
    };
    let on = |node: &String| Target::Node { name: text(node) };
    match &rule.verb {
        VerbRule::Hand { expect, .. } => {
            (Action::Hand { run: Vec::new(), expect: expect.clone() }, Target::Nothing)
        }
        VerbRule::Wait => (Action::Wait, Target::Nothing),
        VerbRule::Patch { object: name, subresource, operations } => {
            let operations: Vec<Value> = operations.clone();
            (Action::Patch { subresource: subresource.clone(), operations }, object(name))
        }
        VerbRule::Create { object: name, content: rule } => {
            (Action::Create { content: content(rule) }, object(name))
        }
        VerbRule::Fill { object: name, content: rule } => {
            (Action::Fill { content: content(rule) }, object(name))
        }
        VerbRule::Delete { object: name } => (Action::Delete, object(name)),
        VerbRule::Approve { node, signer } => {
            (Action::Approve { node: text(node), signer: *signer }, Target::Nothing)
        }
        VerbRule::WriteFile { node, path, mode, content: rule } => {
            let content = content(rule);
            (Action::WriteFile { path: text(path), mode: *mode, content }, on(node))
        }
        VerbRule::Retire { node, paths } => {
            (Action::Retire { paths: paths.iter().map(text).collect() }, on(node))
        }
        VerbRule::Unit { node, unit, verb } => {
            (Action::Unit { unit: text(unit), verb: *verb }, on(node))
        }
        VerbRule::Power { host, serial, to } => {
            let serial = serial.as_ref().map(text);
            (Action::Power { to: *to }, Target::Bmc { host: text(host), serial })
        }
        VerbRule::EjectMedia { host, serial } => {
            let serial = serial.as_ref().map(text);
            (Action::EjectMedia, Target::Bmc { host: text(host), serial })
        }
    }
}

/// `--set KEY=…` that the step cannot do without. What a person is told may have holes.
fn set_keys(rule: &StepRule) -> Vec<String> {
    let (action, target) = acted(rule);
    if matches!(action, Action::Hand { .. }) {
        return Vec::new();
    }
    let whole = serde_json::to_string(&(action, target)).unwrap_or_default();
    let all = [whole, summary::in_general(&rule.title)].join(" ");
    let marked = |mark: char, end: char| -> Vec<String> {
        all.split(&format!("{mark}set."))
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(end)?.0.to_string()))
            .collect()
    };
    [marked('<', '>'), marked('{', '}')].concat()
}
