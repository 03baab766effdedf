//! Whether what was told before can still be told: out of sight is not gone.

use std::collections::BTreeSet;

use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::{EntityId, FactBase};

use crate::Pack;
use crate::facts::ALL_NAMESPACES;
use crate::predicate::Truth;
use crate::rules;

/// Of the states that were known, those that nobody can tell from these facts, which lack some that could be
/// read before: things may be missing that no list could prove gone.
pub fn hidden<'s>(
    pack: &Pack,
    base: &FactBase,
    known: impl Iterator<Item = &'s StateRef>,
) -> BTreeSet<StateRef> {
    let states = rules::run(pack, base);
    let is_unknown = |state: &StateRef| match states.get(&state.entity) {
        Some(instances) => instances.iter().any(|instance| {
            pack.states[instance.state].id == state.id
                && matches!(instance.truth, Truth::Unknown(_))
        }),
        None => !is_listed(base, &state.entity),
    };
    known.filter(|state| is_unknown(state)).cloned().collect()
}

/// There is a list of everything of its kind, in which it would stand.
fn is_listed(base: &FactBase, entity: &EntityId) -> bool {
    let cluster = base.entities.get(&EntityId::cluster());
    let lists = cluster.and_then(|cluster| cluster.facts.get("lists"));
    let plural = format!("{}s", entity.kind.to_ascii_lowercase());
    let Some(listed) = lists.and_then(|lists| lists.get(&plural)) else { return false };
    let namespaces: Vec<&str> = listed.texts().collect();
    let own = entity.namespace.as_deref();
    namespaces.is_empty()
        || namespaces.iter().any(|one| *one == ALL_NAMESPACES || Some(*one) == own)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Value;

    use super::*;

    fn base(lists: &[(&str, &[&str])]) -> FactBase {
        let mut base = FactBase::default();
        let lists = lists.iter().map(|(plural, namespaces)| {
            let namespaces: Vec<String> = namespaces.iter().map(ToString::to_string).collect();
            (plural.to_string(), Value::from(namespaces))
        });
        let cluster = base.entities.entry(EntityId::cluster()).or_default();
        cluster.derive("lists", Value::Map(lists.collect()), Vec::new());
        base
    }

    #[test]
    fn what_stands_in_no_whole_list_is_gone() {
        let node = EntityId::cluster_scoped("Node", "a");
        let pod: EntityId = "Pod/x/a".parse().unwrap();
        assert!(is_listed(&base(&[("nodes", &[])]), &node));
        assert!(!is_listed(&base(&[("pods", &[])]), &node));
        assert!(is_listed(&base(&[("pods", &["x"])]), &pod));
        assert!(!is_listed(&base(&[("pods", &["y"])]), &pod));
        assert!(is_listed(&base(&[("pods", &["*", "y"])]), &pod));
    }
}
