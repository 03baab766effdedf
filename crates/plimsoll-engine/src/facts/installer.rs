//! What the installer's log says of objects that nobody could collect any more: it prints the
//! conditions of every operator that held it up before it gives up.

use std::collections::BTreeMap;

use plimsoll_model::{FactBase, Value};

/// (signature of the packs, condition that it stands for, its status)
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("installer-names-degraded", "degraded", "True"),
    ("installer-names-unavailable", "available", "False"),
];

/// Errors of hosts, the same way: the installer prints each change of a master's host.
const HOST_ERROR: &str = "installer-names-host-error";
const HOST_STATE: &str = "installer-names-host-state";

/// Signatures of the packs that become facts here, and that no rule need read by name.
pub fn signatures<'a>() -> impl Iterator<Item = &'a str> {
    CONDITIONS.iter().map(|(signature, _, _)| *signature).chain([HOST_ERROR, HOST_STATE])
}

pub fn derive(base: &mut FactBase) {
    conditions(base);
    host_errors(base);
}

fn host_errors(base: &mut FactBase) {
    for (_, host) in base.entities.iter_mut().filter(|(id, _)| id.kind == "BareMetalHost") {
        let said = |signature: &str| host.facts.get("logs").and_then(|logs| logs.get(signature));
        let Some(error) = said(HOST_ERROR) else { continue };
        let last = |map: Option<&Value>| match map.and_then(|map| map.get("last")) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        let over = last(said(HOST_STATE)) > last(Some(error));
        if last(Some(error)).is_none() || over || host.facts.contains_key("errorType") {
            continue;
        }
        let text = |key: &str| error.get(key).and_then(Value::text).unwrap_or_default().to_string();
        let (kind, message) = (text("type"), text("message"));
        let from = host.provenance.get(&format!("logs.{HOST_ERROR}")).cloned().unwrap_or_default();
        host.derive("errorType", kind, from.clone());
        host.derive("errorMessage", message, from);
    }
}

/// Conditions from the log, for operators whose object is not there to be asked.
fn conditions(base: &mut FactBase) {
    for (_, operator) in base.entities.iter_mut().filter(|(id, _)| id.kind == "ClusterOperator") {
        for (signature, condition, status) in CONDITIONS {
            if operator.facts.contains_key(*condition) {
                continue;
            }
            let Some(said) = operator.facts.get("logs").and_then(|logs| logs.get(signature)) else {
                continue;
            };
            if matches!(said.get("count"), Some(Value::Int(0)) | None) {
                continue;
            }
            let text = |key: &str| said.get(key).and_then(Value::text).unwrap_or_default();
            let map = BTreeMap::from([
                ("status".to_string(), Value::from(*status)),
                ("reason".to_string(), Value::from(text("reason"))),
                ("message".to_string(), Value::from(text("message"))),
            ]);
            let from = operator.provenance.get(&format!("logs.{signature}")).cloned();
            operator.derive(condition, Value::Map(map), from.unwrap_or_default());
        }
    }
}
