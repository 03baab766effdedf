//! The names that a cluster stands on, and one that must not exist.

use std::net::IpAddr;

use crate::dns::Question;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterName {
    pub of: NameOf,
    pub question: Question,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NameOf {
    Api,
    ApiInternal,
    /// Any name under `apps`, which a wildcard answers.
    Apps,
    /// Any name under the cluster's domain. If it resolves, a wildcard catches names that it should
    /// not, and hosts of the cluster find each other at the wrong place.
    Nobody,
    Node(String),
}

pub struct Node {
    /// In full: `master-0.lab.example.com`.
    pub name: String,
    pub addresses: Vec<IpAddr>,
}

/// `label` is a random word for the names that nobody can have written down. `cluster_domain` is
/// the name of the cluster with its base domain, `lab.example.com`.
pub fn cluster_names(cluster_domain: &str, nodes: &[Node], label: &str) -> Vec<ClusterName> {
    let forward = |of: &NameOf, name: &str| {
        [Question::A(name.into()), Question::Aaaa(name.into())]
            .map(|question| ClusterName { of: of.clone(), question })
    };
    let mut names = Vec::new();
    for (of, host) in [
        (NameOf::Api, "api".to_string()),
        (NameOf::ApiInternal, "api-int".to_string()),
        (NameOf::Apps, format!("{label}.apps")),
        (NameOf::Nobody, label.to_string()),
    ] {
        names.extend(forward(&of, &format!("{host}.{cluster_domain}")));
    }
    for node in nodes {
        let of = NameOf::Node(node.name.clone());
        names.extend(forward(&of, &node.name));
        let reverse =
            |address: &IpAddr| ClusterName { of: of.clone(), question: Question::Ptr(*address) };
        names.extend(node.addresses.iter().map(reverse));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_asked_for_in_both_families_and_nodes_backwards_too() {
        let address = "192.0.2.10".parse().unwrap();
        let node = Node { name: "master-0.lab.example.com".into(), addresses: vec![address] };
        let names = cluster_names("lab.example.com", &[node], "x7f3");
        let of = |of: NameOf| -> Vec<&Question> {
            names.iter().filter(|name| name.of == of).map(|name| &name.question).collect()
        };
        assert_eq!(of(NameOf::Apps)[0], &Question::A("x7f3.apps.lab.example.com".into()));
        assert_eq!(of(NameOf::Nobody)[1], &Question::Aaaa("x7f3.lab.example.com".into()));
        let node = of(NameOf::Node("master-0.lab.example.com".into()));
        assert_eq!((node.len(), node[2]), (3, &Question::Ptr(address)));
        assert_eq!(names.len(), 11);
    }
}
