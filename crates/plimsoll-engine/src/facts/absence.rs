//! What is provably not there. Only a list says so: a folder from which a file was lost does not.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::snapshot::Form;
use plimsoll_model::{Document, EntityId, Evidence, FactBase, Snapshot, Value};

use super::certificates::well_known;

/// In the fact `lists`: there is a list of all namespaces beside those of some.
pub const ALL_NAMESPACES: &str = "*";

/// Lists that prove absence: read to their end, and every object of theirs understood.
#[derive(Clone, Debug, Default)]
pub struct Lists(BTreeSet<(String, String, Option<String>)>);

impl Lists {
    pub fn new(snapshot: &Snapshot, doubtful: &[&Document]) -> Self {
        let listed = snapshot.collected.iter().filter(|c| c.form == Form::List);
        let mut lists: BTreeSet<_> =
            listed.map(|c| (c.group.clone(), c.plural.clone(), c.namespace.clone())).collect();
        for document in doubtful {
            for namespace in [document.namespace.as_deref(), None] {
                let namespace = namespace.map(str::to_string);
                lists.remove(&(document.group.to_string(), document.plural.to_string(), namespace));
            }
        }
        Self(lists)
    }

    /// A list of all namespaces proves as much as that of the namespace.
    pub fn prove(&self, group: &str, plural: &str, namespace: Option<&str>) -> bool {
        [namespace, None].into_iter().any(|namespace| {
            self.0.contains(&(group.into(), plural.into(), namespace.map(str::to_string)))
        })
    }

    /// Namespaces of which there is a list, by resource: none where there is one of all of them alone, and `*`
    /// before the others where it is not alone.
    fn namespaces(&self) -> BTreeMap<String, Value> {
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (group, plural, namespace) in &self.0 {
            let is_whole = self.0.contains(&(group.clone(), plural.clone(), None));
            let listed = found.entry(plural.clone()).or_default();
            if let Some(namespace) = namespace {
                if is_whole && listed.is_empty() {
                    listed.push(ALL_NAMESPACES.into());
                }
                listed.push(namespace.clone());
            }
        }
        found.into_iter().map(|(plural, namespaces)| (plural, namespaces.into())).collect()
    }
}

pub fn derive(snapshot: &Snapshot, lists: &Lists, base: &mut FactBase) {
    for (id, plural) in well_known() {
        let namespace = id.namespace.as_deref();
        let listed = lists.prove("core", plural, namespace);
        let at = listed.then(|| list_evidence(snapshot, "core", plural, namespace, &id.name));
        // Without a list it may be there or not: an entity without facts is unknown in every way.
        let entity = base.entities.entry(id).or_default();
        if let (Some(at), false) = (at, entity.facts.contains_key("exists")) {
            entity.derive("exists", false, vec![at]);
        }
    }
    machine_sets(lists, base);
    // Of what was collected, not of the cluster: there is no place to cite.
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.derive("lists", Value::Map(lists.namespaces()), Vec::new());
    // There is always one; without its file nothing is known of it.
    base.entities.entry(EntityId::cluster_scoped("Infrastructure", "cluster")).or_default();
}

fn machine_sets(lists: &Lists, base: &mut FactBase) {
    let sets = base.entities.iter().filter(|(id, _)| id.kind == "MachineSet");
    let given: Vec<Option<String>> =
        sets.map(|(_, set)| set.facts.get("userDataSecret")?.text().map(str::to_string)).collect();
    let count = given.len();
    let namespace = Some("openshift-machine-api");
    if count == 0 && !lists.prove("machine.openshift.io", "machinesets", namespace) {
        return;
    }
    let cluster = base.entities.entry(EntityId::cluster()).or_default();
    cluster.derive("machineSets", count, Vec::new());
    // A set that does not tell may give any.
    if let Some(given) = given.into_iter().collect::<Option<BTreeSet<String>>>() {
        let given: Vec<String> = given.into_iter().collect();
        cluster.derive("userDataSecrets", given, Vec::new());
    }
}

/// The list file in which `name` does not stand.
pub fn list_evidence(
    snapshot: &Snapshot,
    group: &str,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
) -> Evidence {
    let list = snapshot.collected.iter().find(|c| {
        c.form == Form::List
            && (c.group.as_str(), c.plural.as_str()) == (group, plural)
            && (c.namespace.as_deref() == namespace || c.namespace.is_none())
    });
    let source = list.map_or(0, |list| list.source);
    Evidence {
        source: snapshot.sources.get(source).map(|s| s.name.clone()).unwrap_or_default(),
        path: list.map(|list| list.path.clone()).unwrap_or_default(),
        line: None,
        pointer: Some("/items".into()),
        time: None,
        text: format!("the list has no {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(sets: &[Option<&str>], lists: &Lists) -> (Option<Value>, Option<Value>) {
        let mut base = FactBase::default();
        for (number, secret) in sets.iter().enumerate() {
            let id = EntityId::cluster_scoped("MachineSet", &format!("set-{number}"));
            let set = base.entities.entry(id).or_default();
            if let Some(secret) = secret {
                set.facts.insert("userDataSecret".into(), (*secret).into());
            }
        }
        machine_sets(lists, &mut base);
        let cluster = base.entities.remove(&EntityId::cluster()).unwrap_or_default();
        let fact = |name: &str| cluster.facts.get(name).cloned();
        (fact("machineSets"), fact("userDataSecrets"))
    }

    #[test]
    fn what_new_machines_are_given_is_known_where_every_set_tells() {
        let nothing = Lists::default();
        let (managed, own) = (Some("worker-user-data-managed"), Some("worker-user-data"));
        let both: Value = vec!["worker-user-data", "worker-user-data-managed"].into();
        let told = given(&[managed, own, managed], &nothing);
        assert_eq!(told, (Some(3_usize.into()), Some(both)));
        assert_eq!(given(&[managed, None], &nothing), (Some(2_usize.into()), None));
        assert_eq!(given(&[], &nothing), (None, None));
        let group = "machine.openshift.io".to_string();
        let listed = Lists(BTreeSet::from([(group, "machinesets".to_string(), None)]));
        let none: Value = Vec::<String>::new().into();
        assert_eq!(given(&[], &listed), (Some(0_usize.into()), Some(none)));
    }
}
