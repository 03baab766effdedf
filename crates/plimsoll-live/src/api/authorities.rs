//! Authorities that stand in config maps of which nothing else is read.

use serde_json::Value;

use super::ask::Asker;
use super::{Cluster, Deadline, Patience, text_at};
use crate::gaps::Gaps;

/// A bundle, and the config map that holds it under `ca-bundle.crt`. The first of a name that is there
/// counts.
pub const PLACES: [(&str, &str, &str); 3] = [
    // From 4.19 on.
    ("machine-config-server-ca", "openshift-machine-config-operator", "machine-config-server-ca"),
    ("ingress-ca", "openshift-config-managed", "default-ingress-cert"),
    ("ingress-ca", "openshift-config-managed", "router-ca"),
];

/// Bundles that probes hold certificates against, by their name.
pub async fn authorities(
    cluster: &Cluster,
    (patience, deadline): (Patience, Deadline),
    gaps: &Gaps,
) -> Vec<(String, String)> {
    let asker = Asker::new(cluster.client.clone(), patience, deadline);
    let mut found: Vec<(String, String)> = Vec::new();
    for (bundle, namespace, name) in PLACES {
        if found.iter().any(|(known, _)| known == bundle) {
            continue;
        }
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
        match asker.json::<Value>(&path, "application/json").await {
            Ok(map) => {
                let pem = text_at(&map, "/data/ca-bundle.crt");
                found.extend((!pem.is_empty()).then(|| (bundle.to_string(), pem)));
            }
            Err(trouble) if trouble.status == Some(404) => {}
            Err(trouble) => gaps.add(format!("configmap {name} in {namespace}"), &trouble.why),
        }
    }
    found
}
