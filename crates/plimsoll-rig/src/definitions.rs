//! The custom resources of OpenShift that the packs read.

use std::path::Path;

use anyhow::Result;
use plimsoll_yaml::Limits;
use serde_json::{Value, json};

use crate::load::value;

/// Those whose definitions are not among the recorded ones: anything may be stored in them.
const PLAIN: [(&str, &str, &str, &str, &str); 5] = [
    ("metal3.io", "v1alpha1", "preprovisioningimages", "PreprovisioningImage", "Namespaced"),
    ("machine.openshift.io", "v1beta1", "machinehealthchecks", "MachineHealthCheck", "Namespaced"),
    // The only one of its group that has this version, which is therefore the preferred one.
    (
        "machine.openshift.io",
        "v1",
        "controlplanemachinesets",
        "ControlPlaneMachineSet",
        "Namespaced",
    ),
    ("operator.openshift.io", "v1", "openshiftapiservers", "OpenShiftAPIServer", "Cluster"),
    (
        "operator.openshift.io",
        "v1",
        "openshiftcontrollermanagers",
        "OpenShiftControllerManager",
        "Cluster",
    ),
];

/// As YAML documents, those in `fixtures/crds` first.
pub fn definitions() -> Result<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
    let mut files = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|file| file.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs_err::read_to_string(&file)?;
        let node = plimsoll_yaml::parse(&text, &Limits::OBJECT)
            .map_err(|error| anyhow::anyhow!("{}: {error}", file.display()))?;
        let mut definition = value(&node);
        take_empty_values(&mut definition, &[]);
        // Not at the start of a document, where it would be taken for a stream of JSON.
        all.push(format!("# {}\n{definition}", file.display()));
    }
    all.extend(PLAIN.iter().map(|(group, version, plural, kind, scope)| {
        let singular = kind.to_lowercase();
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.{group}\n  annotations: {{api-approved.kubernetes.io: unapproved}}\nspec:\n  group: {group}\n  names: {{kind: {kind}, listKind: {kind}List, plural: {plural}, singular: {singular}}}\n  scope: {scope}\n  versions:\n  - name: {version}\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
        )
    }));
    Ok(all)
}

/// The validator of this old server takes an empty text, a zero and `false` for null, and would refuse every
/// write of an object that has one. Keys of lists may not be null, and never are empty.
fn take_empty_values(schema: &mut Value, keys: &[String]) {
    let inner = match schema {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| take_empty_values(item, &[]));
            return;
        }
        Value::Object(inner) => inner,
        _ => return,
    };
    let of_list = inner.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
    let of_list = of_list.into_iter().flatten().filter_map(|key| Some(key.as_str()?.to_string()));
    let of_list: Vec<String> = of_list.collect();
    for (name, part) in inner {
        match (name.as_str(), part) {
            ("items", part) => take_empty_values(part, &of_list),
            ("properties", Value::Object(parts)) => {
                for (name, part) in parts {
                    take_empty_values(part, &[]);
                    let plain = ["string", "boolean", "integer", "number"];
                    let plain = part["type"].as_str().is_some_and(|of| plain.contains(&of));
                    if plain && !keys.contains(name) {
                        part["nullable"] = json!(true);
                    }
                }
            }
            ("additionalProperties", part) => {
                take_empty_values(part, &[]);
                if part["type"] == "string" {
                    part["nullable"] = json!(true);
                }
            }
            (_, part) => take_empty_values(part, &[]),
        }
    }
}
