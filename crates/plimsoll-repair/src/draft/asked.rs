//! What only the user knows: the `{set.KEY}` of a repair.

use std::collections::BTreeSet;

use plimsoll_engine::pack::{ContentRule, StepRule, VerbRule};
use plimsoll_engine::{Pack, summary};
use serde_json::Value;

/// Every key that `--set` may give to a repair.
pub fn asks(pack: &Pack, repair: &str) -> BTreeSet<String> {
    let rule = pack.repair(repair);
    rule.into_iter().flat_map(|rule| &rule.steps).flat_map(keys).collect()
}

/// Of one step.
pub fn keys(rule: &StepRule) -> BTreeSet<String> {
    let paths = summary::placeholders(&texts(rule).join("\n")).into_iter();
    paths.filter_map(|path| path.strip_prefix("set.").map(str::to_string)).collect()
}

/// Everything in a step that is filled in.
fn texts(rule: &StepRule) -> Vec<String> {
    let mut all = vec![rule.title.clone()];
    all.extend(rule.commands.iter().cloned());
    for condition in rule.require.iter().chain(&rule.unless).chain(&rule.expect) {
        all.extend([condition.on.clone(), condition.that.clone(), condition.says.clone()]);
    }
    match &rule.verb {
        VerbRule::Wait => {}
        VerbRule::Hand { run, expect } => all.extend(run.iter().chain([expect]).cloned()),
        VerbRule::Patch { object, operations, .. } => {
            all.push(object.clone());
            all.extend(operations.iter().map(Value::to_string));
        }
        VerbRule::Create { object, content: rule } | VerbRule::Fill { object, content: rule } => {
            all.extend([object.clone(), content(rule)]);
        }
        VerbRule::Delete { object } => all.push(object.clone()),
        VerbRule::Approve { node, .. } => all.push(node.clone()),
        VerbRule::WriteFile { node, path, content: rule, .. } => {
            all.extend([node.clone(), path.clone(), content(rule)]);
        }
        VerbRule::Retire { node, paths } => all.extend(paths.iter().chain([node]).cloned()),
        VerbRule::Unit { node, unit, .. } => all.extend([node.clone(), unit.clone()]),
        VerbRule::Power { host, serial, .. } | VerbRule::EjectMedia { host, serial } => {
            all.extend(serial.iter().chain([host]).cloned());
        }
    }
    all
}

fn content(rule: &ContentRule) -> String {
    match rule {
        ContentRule::Value(value) => value.to_string(),
        ContentRule::Maker { inputs, .. } => inputs.to_string(),
    }
}
