//! What each repair is for, and that its texts name facts of that: known when all states are.

use serde_json::Value;

use super::load::Loader;
use super::{ContentRule, LoadError, RepairRule, StateRule, StepRule, VerbRule};
use crate::summary;

impl Loader<'_> {
    /// When all states are known: what each repair is for, and that its texts name facts of that.
    pub(in crate::pack) fn tie_repairs(&mut self) {
        let mut repairs = std::mem::take(&mut self.pack.repairs);
        for repair in &mut repairs {
            let recovers = |state: &&StateRule| {
                state.recovery.iter().any(|recovery| recovery.repair == repair.id)
            };
            let proposed = self.pack.states.iter().find(|state| recovers(state));
            if let (Some(state), Some(_)) = (proposed, repair.break_glass) {
                let message = format!("a break-glass is asked for, and '{}' proposes it", state.id);
                self.errors.push(LoadError::at(&repair.at, message));
            }
            for id in &repair.states {
                if !self.pack.states.iter().any(|state| state.id == *id) {
                    self.errors.push(LoadError::at(&repair.at, format!("no state '{id}'")));
                }
            }
            let named = self.pack.states.iter();
            let named = named.filter(|state| recovers(state) || repair.states.contains(&state.id));
            repair.kinds = named.map(|state| state.on.clone()).collect();
            repair.kinds.sort();
            repair.kinds.dedup();
            for step in &repair.steps {
                self.facts_of_step(repair, step);
            }
        }
        repairs.sort_by(|a, b| a.id.cmp(&b.id));
        self.pack.repairs = repairs;
    }

    fn facts_of_step(&mut self, repair: &RepairRule, step: &StepRule) {
        let mut texts = vec![step.title.clone()];
        texts.extend(step.commands.iter().cloned());
        match &step.verb {
            VerbRule::Hand { run, expect } => {
                texts.extend(run.iter().cloned());
                texts.push(expect.clone());
            }
            VerbRule::Patch { object, operations, .. } => {
                texts.push(object.clone());
                operations.iter().for_each(|operation| collect(operation, &mut texts));
            }
            VerbRule::Create { object, content } | VerbRule::Fill { object, content } => {
                texts.push(object.clone());
                match content {
                    ContentRule::Value(value) | ContentRule::Maker { inputs: value, .. } => {
                        collect(value, &mut texts);
                    }
                }
            }
            VerbRule::Delete { object } => texts.push(object.clone()),
            VerbRule::Approve { node, .. } | VerbRule::Unit { node, .. } => {
                texts.push(node.clone());
            }
            VerbRule::WriteFile { node, path, .. } => texts.extend([node.clone(), path.clone()]),
            VerbRule::Retire { node, paths } => {
                texts.push(node.clone());
                texts.extend(paths.iter().cloned());
            }
            VerbRule::Power { host, serial, .. } | VerbRule::EjectMedia { host, serial } => {
                texts.push(host.clone());
                texts.extend(serial.clone());
            }
            VerbRule::Wait => {}
        }
        let named = texts.iter().flat_map(|text| summary::placeholders(text));
        let named: Vec<String> = named
            .flat_map(|path| path.split('|').map(str::to_string).collect::<Vec<_>>())
            .collect();
        for path in named {
            let first = path.split('.').next().unwrap_or_default();
            match (first, &step.each) {
                ("name" | "kind" | "namespace", _) => {}
                // The user's answer, given by `--set`.
                ("set", _) if path.starts_with("set.") => {}
                ("each", Some(_)) => {}
                ("each", None) => {
                    let message = "'{each}' is for a step with 'each' or 'of'";
                    self.errors.push(LoadError::at(&step.at, message));
                }
                _ => {
                    for kind in &repair.kinds {
                        if !crate::facts::schema::has_fact(kind, &path) {
                            let message = format!("{kind} has no fact '{path}'");
                            self.errors.push(LoadError::at(&step.at, message));
                        }
                    }
                }
            }
        }
    }
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(map) => map.values().for_each(|item| collect(item, texts)),
        _ => {}
    }
}
