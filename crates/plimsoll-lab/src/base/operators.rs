//! ClusterOperators, from the table in `operators.txt`.

use serde_json::{Value, json};

use super::control_plane::{active, at_revision, revision};
use super::writer::Writer;
use super::{BaseParams, Platform, hash, uid};

const TABLE: &str = include_str!("operators.txt");

const WELL: [&str; 5] = [
    "Degraded False AsExpected All is well",
    "Progressing False AsExpected All is well",
    "Available True AsExpected All is well",
    "Upgradeable True AsExpected All is well",
    "EvaluationConditionsDetected Unknown NoData",
];

const WITHOUT_HOSTS: [&str; 5] = [
    "Progressing False UnsupportedPlatform",
    "Degraded False UnsupportedPlatform",
    "Available True UnsupportedPlatform Nothing to do on this Platform",
    "Upgradeable True UnsupportedPlatform",
    "Disabled True UnsupportedPlatform Nothing to do on this Platform",
];

#[derive(Default)]
struct Operator {
    name: String,
    conditions: Vec<String>,
    related: Vec<String>,
    versions: Vec<String>,
}

pub(super) fn write(writer: &mut Writer) {
    let params = writer.params;
    for operator in table(params.platform) {
        writer.put(object(params, &operator));
    }
}

fn table(platform: Platform) -> Vec<Operator> {
    let mut all: Vec<Operator> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some(field) = line.strip_prefix("  ") else {
            all.push(Operator { name: line.into(), ..Operator::default() });
            continue;
        };
        let Some(operator) = all.last_mut() else { continue };
        let words = |text: &str| text.split(' ').map(str::to_string).collect();
        if field == "well" {
            operator.conditions = WELL.map(str::to_string).to_vec();
        } else if let Some(related) = field.strip_prefix("related ") {
            operator.related = words(related);
        } else if let Some(versions) = field.strip_prefix("version ") {
            operator.versions = words(versions);
        } else {
            operator.conditions.push(field.into());
        }
    }
    if platform != Platform::BareMetal
        && let Some(baremetal) = all.iter_mut().find(|operator| operator.name == "baremetal")
    {
        baremetal.conditions = WITHOUT_HOSTS.map(str::to_string).to_vec();
    }
    all
}

fn object(params: &BaseParams, operator: &Operator) -> Value {
    let name = operator.name.as_str();
    let conditions: Vec<Value> =
        operator.conditions.iter().map(|line| condition(params, name, line)).collect();
    let mut versions = vec![json!({"name": "operator", "version": params.version})];
    versions.extend(operator.versions.iter().map(|part| {
        let version = match part.as_str() {
            "kube-apiserver" | "kube-controller-manager" | "kube-scheduler" => params.kubernetes(),
            "oauth-openshift" => format!("{}_openshift", params.version),
            _ => params.version.clone(),
        };
        json!({"name": part, "version": version})
    }));
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {
            "name": name, "generation": 1, "creationTimestamp": params.stamp(46),
            "annotations": {"include.release.openshift.io/self-managed-high-availability": "true", "include.release.openshift.io/single-node-developer": "true"},
            "ownerReferences": [{"apiVersion": "config.openshift.io/v1", "controller": true, "kind": "ClusterVersion", "name": "version", "uid": uid("ClusterVersion", "", "version")}]
        },
        "spec": {},
        "status": {
            "conditions": conditions, "extension": extension(params, name), "versions": versions,
            "relatedObjects": operator.related.iter().map(|text| related(text)).collect::<Vec<_>>()
        }
    })
}

/// `Type Status Reason Message`; two blanks where there is a message and no reason.
fn condition(params: &BaseParams, operator: &str, line: &str) -> Value {
    let mut parts = line.splitn(4, ' ');
    let mut next = || parts.next().unwrap_or_default();
    let (kind, status, reason, message) = (next(), next(), next(), next());
    let seconds = match kind {
        "Available" => 400 + hash(operator) % 700,
        "Progressing" => 1_250 + hash(operator) % 1_100,
        "Degraded" => 390 + hash(operator) % 300,
        _ => 330,
    };
    let since = match (operator, kind) {
        ("kube-apiserver", "Progressing") => super::static_pods::last_rollout(params).to_string(),
        _ => params.stamp(seconds as i64),
    };
    let mut condition = json!({"type": kind, "status": status, "lastTransitionTime": since});
    if !reason.is_empty() {
        condition["reason"] = reason.into();
    }
    if !message.is_empty() {
        let number = revision(operator);
        let message = message
            .replace("\\n", "\n")
            .replace("{version}", &params.version)
            .replace("{minor}", &params.minor())
            .replace("{masters}", &params.masters.len().to_string())
            .replace("{mco_image}", &params.image("machine-config-operator"))
            .replace("{active}", &active(params.masters.len()))
            .replace("{at_revision}", &at_revision(params.masters.len(), number));
        condition["message"] = message.into();
    }
    condition
}

fn extension(params: &BaseParams, operator: &str) -> Value {
    if operator != "machine-config" {
        return Value::Null;
    }
    let text = |pool: &str, count: usize| {
        let config = super::machine_config::rendered(params, pool);
        format!("all {count} nodes are at latest configuration {config}")
    };
    let workers = params.nodes().len() - params.masters.len();
    json!({"master": text("master", params.masters.len()), "worker": text("worker", workers)})
}

/// `ns/name` or `group/resource[/name]`.
fn related(text: &str) -> Value {
    let mut parts = text.split('/');
    let (group, resource, name) =
        (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    match group {
        "ns" => json!({"group": "", "name": resource, "resource": "namespaces"}),
        "core" => json!({"group": "", "name": "", "resource": resource}),
        "metal3.io" if resource != "provisioning" => {
            json!({"group": group, "name": "", "namespace": "openshift-machine-api", "resource": resource})
        }
        _ => json!({"group": group, "name": name.unwrap_or_default(), "resource": resource}),
    }
}
