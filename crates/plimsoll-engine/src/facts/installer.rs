//! What the installer's log says of objects that nobody could collect any more: it prints the
//! conditions of every operator that held it up before it gives up.

use std::collections::BTreeMap;

use plimsoll_model::{EntityId, FactBase, Value};

use super::cluster::minor_of;

/// (signature of the packs, condition that it stands for, its status)
const CONDITIONS: &[(&str, &str, &str)] = &[
    ("installer-names-degraded", "degraded", "True"),
    ("installer-names-unavailable", "available", "False"),
];

/// Errors of hosts, the same way: the installer prints each change of a master's host.
const HOST_ERROR: &str = "installer-names-host-error";
const HOST_STATE: &str = "installer-names-host-state";

/// The installer's first line has its own version, which is that of the cluster it makes.
const VERSION: &str = "installer-version";

/// Signatures of the packs that become facts here, and that no rule need read by name.
pub fn signatures<'a>() -> impl Iterator<Item = &'a str> {
    let conditions = CONDITIONS.iter().map(|(signature, _, _)| *signature);
    conditions.chain([HOST_ERROR, HOST_STATE, VERSION])
}

pub fn derive(base: &mut FactBase) {
    version(base);
    conditions(base);
    host_errors(base);
}

fn version(base: &mut FactBase) {
    let Some(cluster) = base.entities.get_mut(&EntityId::cluster()) else { return };
    let said = cluster.facts.get("logs").and_then(|logs| logs.get(VERSION)?.get("version")?.text());
    let Some(version) = said.map(str::to_string) else { return };
    if cluster.facts.contains_key("version") {
        return;
    }
    let from = cluster.provenance.get(&format!("logs.{VERSION}")).cloned().unwrap_or_default();
    if let Some(minor) = minor_of(&version) {
        cluster.derive("minor", minor, from.clone());
    }
    cluster.derive("version", version, from);
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
                ("message".to_string(), Value::from(unquoted(text("message")))),
            ]);
            let from = operator.provenance.get(&format!("logs.{signature}")).cloned();
            operator.derive(condition, Value::Map(map), from.unwrap_or_default());
        }
    }
}

/// The installer's log quotes what it prints.
fn unquoted(message: &str) -> String {
    message.trim_end_matches('"').replace("\\n", "\n").replace("\\\"", "\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installer_tells_the_version_where_the_cluster_does_not() {
        let said = BTreeMap::from([("version".to_string(), Value::from("4.18.14"))]);
        let logs = Value::Map(BTreeMap::from([(VERSION.to_string(), Value::Map(said))]));
        let mut base = FactBase::default();
        base.entities.entry(EntityId::cluster()).or_default().derive("logs", logs, Vec::new());
        derive(&mut base);
        let fact =
            |base: &FactBase, name: &str| base.entities[&EntityId::cluster()].facts[name].clone();
        assert_eq!(fact(&base, "version"), Value::from("4.18.14"));
        assert_eq!(fact(&base, "minor"), Value::Int(18));

        let cluster = base.entities.get_mut(&EntityId::cluster()).expect("it is there");
        cluster.derive("version", "4.20.1", Vec::new());
        derive(&mut base);
        assert_eq!(fact(&base, "version"), Value::from("4.20.1"), "its own word goes first");
    }
}
