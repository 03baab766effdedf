//! What the custom resources of a capture are called: without that `omc` does not know what `co` or `bmh`
//! is. The cluster's own definitions have megabytes of schemas; names and scope stand in what it offers.

use serde_json::json;

use super::discovery::{Offer, Offers};
use super::shape::node;
use crate::archive::{Closed, Out};

const FOLDER: &str = "cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions";

pub async fn write(offers: &Offers, out: &Out) -> Result<(), Closed> {
    for ((group, plural), offer) in offers.iter().filter(|((group, _), _)| is_custom(group)) {
        let path = format!("{FOLDER}/{plural}.{group}.yaml");
        out.add(path, definition(group, plural, offer)).await?;
    }
    Ok(())
}

/// Kubernetes itself has `core`, `apps` and the like, and what ends in `.k8s.io`.
fn is_custom(group: &str) -> bool {
    group.contains('.') && !group.ends_with(".k8s.io")
}

fn definition(group: &str, plural: &str, offer: &Offer) -> String {
    let version = offer.api_version.rsplit('/').next().unwrap_or_default();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "names": {
                "kind": offer.kind,
                "listKind": format!("{}List", offer.kind),
                "plural": plural,
                "singular": offer.singular,
                "shortNames": offer.short_names,
            },
            "scope": if offer.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{"name": version, "served": true, "storage": true}],
        },
    });
    plimsoll_yaml::emit(&node(definition))
}
