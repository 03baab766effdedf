//! The least role that lets a reading see everything it asks for.

use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll_model::snapshot::Needs;

use super::authorities::PLACES;
use super::plan::plan;

/// Manifests for `oc apply`: a role for what is read everywhere, and one in each namespace of which
/// secrets or config maps are looked at. Only reading verbs. With a user, each is granted to that one.
pub fn manifests(needs: &Needs, user: Option<&str>) -> String {
    let wants = plan(needs);
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for want in wants.iter().filter(|want| want.namespaces.is_empty()) {
        groups.entry(want.api_group()).or_default().push(&want.plural);
    }
    let mut out = String::from(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: plimsoll-read\nrules:\n",
    );
    for (group, plurals) in groups {
        rule(&mut out, group, &plurals, &["get", "list"]);
    }
    rule(&mut out, "", &["pods/log"], &["get"]);
    out.push_str("# Journals of nodes, through their kubelets. It lets more be done than that:\n");
    out.push_str("# leave it out where that is too much, and the journals are a gap.\n");
    rule(&mut out, "", &["nodes/proxy"], &["get"]);
    binding(&mut out, None, user);
    let mut namespaces: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for want in &wants {
        for namespace in &want.namespaces {
            let groups = namespaces.entry(namespace).or_default();
            groups.entry(want.api_group()).or_default().push(&want.plural);
        }
    }
    for (_, namespace, _) in PLACES {
        namespaces.entry(namespace).or_default();
    }
    for (namespace, groups) in namespaces {
        let _ = write!(
            out,
            "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: plimsoll-read\n  namespace: {namespace}\nrules:\n"
        );
        for (group, plurals) in groups {
            rule(&mut out, group, &plurals, &["get", "list"]);
        }
        let named: Vec<&str> =
            PLACES.iter().filter(|place| place.1 == namespace).map(|place| place.2).collect();
        if !named.is_empty() {
            rule(&mut out, "", &["configmaps"], &["get"]);
            let _ = writeln!(out, "  resourceNames: [{}]", quoted(&named));
        }
        binding(&mut out, Some(namespace), user);
    }
    out
}

fn binding(out: &mut String, namespace: Option<&str>, user: Option<&str>) {
    let Some(user) = user else { return };
    let role = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let place = namespace.map(|name| format!("  namespace: {name}\n")).unwrap_or_default();
    let _ = write!(
        out,
        "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: {role}Binding\nmetadata:\n  name: plimsoll-read\n{place}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {role}\n  name: plimsoll-read\nsubjects:\n- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: {}\n",
        // JSON is YAML, whatever the name is made of.
        serde_json::Value::from(user)
    );
}

fn quoted(items: &[&str]) -> String {
    items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(", ")
}

fn rule(out: &mut String, group: &str, plurals: &[&str], verbs: &[&str]) {
    let _ = writeln!(out, "- apiGroups: [\"{group}\"]");
    let _ = writeln!(out, "  resources: [{}]", quoted(plurals));
    let _ = writeln!(out, "  verbs: [{}]", quoted(verbs));
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::ResourceNeed;

    use super::*;

    #[test]
    fn secrets_are_read_only_where_they_are_needed_and_nothing_is_written() {
        let need = |group: &str, plural: &str, namespaces: &[&str]| ResourceNeed {
            group: group.into(),
            plural: plural.into(),
            namespaces: namespaces.iter().map(|name| (*name).into()).collect(),
            names: Vec::new(),
            drop: Vec::new(),
        };
        let resources = vec![
            need("core", "nodes", &[]),
            need("metal3.io", "baremetalhosts", &[]),
            need("core", "secrets", &["openshift-etcd"]),
        ];
        let needs = Needs { resources, ..Needs::default() };
        let text = manifests(&needs, None);
        let (cluster, role) = text.split_once("---\n").unwrap();
        assert!(
            role.contains("resourceNames: [\"default-ingress-cert\", \"router-ca\"]"),
            "{role}"
        );
        assert!(!cluster.contains("secrets") && role.contains("namespace: openshift-etcd"));
        for verb in ["create", "update", "patch", "delete", "watch", "*"] {
            assert!(!text.contains(&format!("\"{verb}\"")), "{verb}");
        }
        assert!(!text.contains("Binding"));
        let granted = manifests(&needs, Some("it's: me"));
        let count = |kind: &str| granted.matches(&format!("kind: {kind}\nmetadata")).count();
        assert_eq!(count("ClusterRoleBinding"), 1);
        assert_eq!(count("RoleBinding"), count("Role"));
        for part in granted.split("---\n") {
            plimsoll_yaml::parse(part, &plimsoll_yaml::Limits::OBJECT).unwrap();
        }
    }
}
