//! The custom resources of OpenShift that the packs read.

use std::path::Path;

use anyhow::Result;

/// Those whose definitions are not among the recorded ones: anything may be stored in them.
const PLAIN: [(&str, &str, &str, &str, &str); 4] = [
    ("metal3.io", "v1alpha1", "preprovisioningimages", "PreprovisioningImage", "Namespaced"),
    ("machine.openshift.io", "v1beta1", "machinehealthchecks", "MachineHealthCheck", "Namespaced"),
    ("operator.openshift.io", "v1", "openshiftapiservers", "OpenShiftAPIServer", "Cluster"),
    (
        "operator.openshift.io",
        "v1",
        "openshiftcontrollermanagers",
        "OpenShiftControllerManager",
        "Cluster",
    ),
];

/// As YAML, those in `fixtures/crds` first.
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
        all.push(fs_err::read_to_string(file)?);
    }
    all.extend(PLAIN.iter().map(|(group, version, plural, kind, scope)| {
        let singular = kind.to_lowercase();
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.{group}\n  annotations: {{api-approved.kubernetes.io: unapproved}}\nspec:\n  group: {group}\n  names: {{kind: {kind}, listKind: {kind}List, plural: {plural}, singular: {singular}}}\n  scope: {scope}\n  versions:\n  - name: {version}\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
        )
    }));
    Ok(all)
}
