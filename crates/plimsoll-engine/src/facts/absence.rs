//! What is provably not there. Only a list says so: a folder from which a file was lost does not.

use plimsoll_model::snapshot::Form;
use plimsoll_model::{Evidence, FactBase, Snapshot};

use super::certificates::well_known;

pub fn derive(snapshot: &Snapshot, base: &mut FactBase) {
    for (id, plural) in well_known() {
        let namespace = id.namespace.as_deref();
        let listed = is_listed(snapshot, "core", plural, namespace);
        let at = listed.then(|| list_evidence(snapshot, "core", plural, namespace, &id.name));
        // Without a list it may be there or not: an entity without facts is unknown in every way.
        let entity = base.entities.entry(id).or_default();
        if let (Some(at), false) = (at, entity.facts.contains_key("exists")) {
            entity.derive("exists", false, vec![at]);
        }
    }
}

fn is_listed(snapshot: &Snapshot, group: &str, plural: &str, namespace: Option<&str>) -> bool {
    snapshot.collected.iter().any(|c| {
        c.form == Form::List
            && c.group == group
            && c.plural == plural
            && c.namespace.as_deref() == namespace
    })
}

/// The list file in which `name` does not stand.
pub fn list_evidence(
    snapshot: &Snapshot,
    group: &str,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
) -> Evidence {
    let suffix = match namespace {
        Some(namespace) => format!("namespaces/{namespace}/{group}/{plural}.yaml"),
        None => format!("cluster-scoped-resources/{group}/{plural}.yaml"),
    };
    let sibling = snapshot.documents.iter().find(|document| document.path.ends_with(&suffix));
    let source = sibling.map_or(0, |document| document.source);
    Evidence {
        source: snapshot.sources.get(source).map(|s| s.name.clone()).unwrap_or_default(),
        path: sibling.map_or(suffix, |document| document.path.to_string()),
        line: None,
        pointer: Some("/items".into()),
        time: None,
        text: format!("the list has no {name}"),
    }
}
