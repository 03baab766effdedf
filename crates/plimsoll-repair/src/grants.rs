//! Rights that are missing, as manifests for `oc apply`.

use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll_model::plan::Permission;

const NAME: &str = "plimsoll-fix";

/// A role for what is everywhere, and one in each namespace, each granted to this user. Nothing more than what
/// is missing.
pub fn grants(missing: &[Permission], user: &str) -> String {
    let mut places: BTreeMap<Option<&str>, Vec<&Permission>> = BTreeMap::new();
    for right in missing {
        places.entry(right.namespace.as_deref()).or_default().push(right);
    }
    let documents: Vec<String> =
        places.into_iter().map(|(namespace, rights)| role(namespace, &rights, user)).collect();
    documents.join("---\n")
}

fn role(namespace: Option<&str>, rights: &[&Permission], user: &str) -> String {
    let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
    let place =
        namespace.map(|name| format!("  namespace: {}\n", quoted(name))).unwrap_or_default();
    let api = "apiVersion: rbac.authorization.k8s.io/v1";
    let mut out = format!("{api}\nkind: {kind}\nmetadata:\n  name: {NAME}\n{place}rules:\n");
    for right in rights {
        let Permission { verb, group, resource, name, .. } = right;
        let _ = writeln!(
            out,
            "- apiGroups: [{}]\n  resources: [{}]\n  verbs: [{}]",
            quoted(group),
            quoted(resource),
            quoted(verb)
        );
        if let Some(name) = name {
            let _ = writeln!(out, "  resourceNames: [{}]", quoted(name));
        }
    }
    let _ = write!(
        out,
        "---\n{api}\nkind: {kind}Binding\nmetadata:\n  name: {NAME}\n{place}roleRef:\n  \
         apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {NAME}\nsubjects:\n- \
         apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: {}\n",
        quoted(user)
    );
    out
}

/// JSON is YAML, and nothing in it is taken for something else.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_and_no_more() {
        let right = |verb: &str, namespace: Option<&str>, name: Option<&str>| Permission {
            verb: verb.into(),
            group: String::new(),
            resource: "secrets".into(),
            namespace: namespace.map(str::to_string),
            name: name.map(str::to_string),
        };
        let told =
            grants(&[right("update", Some("a"), Some("tls")), right("list", None, None)], "kim");
        assert_eq!(told.matches("kind: ClusterRole\n").count(), 2, "{told}");
        assert!(told.contains("kind: Role\nmetadata:\n  name: plimsoll-fix\n  namespace: \"a\"\n"));
        assert!(told.contains("verbs: [\"update\"]\n  resourceNames: [\"tls\"]\n"), "{told}");
        assert!(told.contains("kind: User\n  name: \"kim\"\n"), "{told}");
        assert!(!told.contains('*'), "{told}");
    }
}
