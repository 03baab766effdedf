//! Which resources are asked for, and by which requests: from what the packs need, nothing more.

use std::collections::BTreeMap;

use plimsoll_model::snapshot::{Needs, ResourceNeed};

/// One resource with all that anybody needs of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// `core` for the legacy group.
    pub group: String,
    pub plural: String,
    /// Empty: all.
    pub namespaces: Vec<String>,
    /// Empty: all.
    pub names: Vec<String>,
    /// Subtrees that none of the needs reads.
    pub drop: Vec<String>,
}

impl Want {
    pub fn is_secret(&self) -> bool {
        self.group == "core" && self.plural == "secrets"
    }

    /// `pods`, `baremetalhosts.metal3.io`, as `oc` names them.
    pub fn title(&self) -> String {
        match self.group.as_str() {
            "core" => self.plural.clone(),
            group => format!("{}.{group}", self.plural),
        }
    }

    /// Whether nothing but the metadata of its objects is read.
    pub fn metadata_only(&self) -> bool {
        ["spec", "status"].iter().all(|part| self.drop.iter().any(|path| path == part))
    }

    /// As in a rule of RBAC.
    pub fn api_group(&self) -> &str {
        if self.group == "core" { "" } else { &self.group }
    }
}

/// Sorted by group and plural.
pub fn plan(needs: &Needs) -> Vec<Want> {
    let mut by_resource: BTreeMap<(&str, &str), Vec<&ResourceNeed>> = BTreeMap::new();
    for need in &needs.resources {
        by_resource.entry((&need.group, &need.plural)).or_default().push(need);
    }
    by_resource.into_values().map(|needs| merged(&needs)).collect()
}

fn merged(needs: &[&ResourceNeed]) -> Want {
    let all = |part: fn(&ResourceNeed) -> &Vec<String>| {
        if needs.iter().any(|need| part(need).is_empty()) {
            return Vec::new();
        }
        let mut all: Vec<String> = needs.iter().flat_map(|need| part(need).clone()).collect();
        all.sort();
        all.dedup();
        all
    };
    let first = needs[0];
    let everybody_drops = |path: &&String| needs.iter().all(|need| need.drop.contains(path));
    Want {
        group: first.group.clone(),
        plural: first.plural.clone(),
        namespaces: all(|need| &need.namespaces),
        names: all(|need| &need.names),
        drop: first.drop.iter().filter(everybody_drops).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_of_one_resource_are_asked_for_at_once() {
        let need = |namespaces: &[&str], drop: &[&str]| ResourceNeed {
            group: "core".into(),
            plural: "secrets".into(),
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
            names: Vec::new(),
            drop: drop.iter().map(|path| (*path).into()).collect(),
        };
        let needs = |resources: Vec<ResourceNeed>| Needs { resources, ..Needs::default() };
        let two = plan(&needs(vec![need(&["b"], &["x", "y"]), need(&["a", "b"], &["y"])]));
        assert_eq!(two.len(), 1);
        assert_eq!(
            (&*two[0].namespaces, &*two[0].drop),
            (&["a".into(), "b".into()][..], &["y".into()][..])
        );
        let all = plan(&needs(vec![need(&["b"], &[]), need(&[], &[])]));
        assert!(all[0].namespaces.is_empty(), "one of them wants all");
        assert!(all[0].is_secret() && all[0].title() == "secrets" && all[0].api_group().is_empty());
    }
}
