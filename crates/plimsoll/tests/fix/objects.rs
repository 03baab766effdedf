//! All objects of the cluster at one moment, and what differs between two.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::actor::Kubectl;
use crate::cluster::Cluster;
use crate::requests::BOOTSTRAPPER;
use crate::site::case;

/// By `Kind/namespace/name` or `Kind/name`.
pub type Objects = BTreeMap<String, Value>;

/// Beside all custom ones. Leases and events are written by everybody all the time.
const BUILT_IN: &str = "nodes,pods,configmaps,secrets,services,serviceaccounts,namespaces,\
    persistentvolumeclaims,deployments.apps,daemonsets.apps,statefulsets.apps,replicasets.apps,\
    certificatesigningrequests,mutatingwebhookconfigurations,validatingwebhookconfigurations,\
    clusterroles,clusterrolebindings";
/// Bookkeeping of the server.
const OF_THE_SERVER: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

pub fn all(hands: &Kubectl) -> Objects {
    static KINDS: OnceLock<String> = OnceLock::new();
    let kinds = KINDS.get_or_init(|| {
        let names = hands.run(&["get", "crd", "-o", "name"]).unwrap();
        let custom = names.lines().filter_map(|line| line.split_once('/'));
        let kinds = custom.map(|(_, name)| name).chain([BUILT_IN]).collect::<Vec<_>>();
        kinds.join(",")
    });
    let mut found = hands.json(&["get", kinds, "-A"]).unwrap();
    let items = found["items"].as_array_mut().map(std::mem::take).unwrap();
    assert!(!items.is_empty());
    let named = |mut object: Value| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_string);
        let name = [text("namespace"), text("name")].into_iter().flatten().collect::<Vec<_>>();
        let kind = object["kind"].as_str().unwrap();
        (format!("{kind}/{}", name.join("/")), object)
    };
    let mut all: Objects = items.into_iter().map(named).collect();
    // The server writes its own again where it was taken away with the case before.
    all.remove("ConfigMap/kube-system/extension-apiserver-authentication");
    all
}

/// `Kind/namespace/name /pointer` of every value that is not the same, or of the whole object.
pub fn differences(before: &Objects, after: &Objects) -> Vec<String> {
    let mut found = Vec::new();
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        let (was, is) = (before.get(name), after.get(name));
        compare(&format!("{name} "), was, is, &mut found);
    }
    found
}

fn compare(place: &str, was: Option<&Value>, is: Option<&Value>, found: &mut Vec<String>) {
    match (was, is) {
        (Some(Value::Object(was)), Some(Value::Object(is))) => {
            for key in was.keys().chain(is.keys().filter(|key| !was.contains_key(*key))) {
                let key_at = key.replace('~', "~0").replace('/', "~1");
                compare(&format!("{place}/{key_at}"), was.get(key), is.get(key), found);
            }
        }
        (was, is) if was == is => {}
        _ => found.push(place.into()),
    }
}

/// A part of an object: its name, and a pointer into it or nothing for all of it.
pub type Part = (&'static str, &'static str);

/// Differences that are in none of the parts.
pub fn outside(differences: &[String], parts: &[Part]) -> Vec<String> {
    let is_in = |difference: &str, (name, pointer): &Part| {
        let place = format!("{name} {pointer}");
        match difference.strip_prefix(&place) {
            Some(rest) => pointer.is_empty() || rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    };
    // The copy of a Secret is a Secret beside it, and stays.
    let is_copy = |one: &str| one.starts_with("Secret/") && one.contains("/plimsoll-kept-");
    let all = differences.iter().filter(|one| !parts.iter().any(|part| is_in(one, part)));
    let all = all.filter(|one| !is_copy(one));
    all.cloned().collect()
}

/// The cluster before anything was wrong with it.
pub fn healthy(cluster: &Cluster) -> &'static Objects {
    static HEALTHY: OnceLock<Objects> = OnceLock::new();
    HEALTHY.get_or_init(|| {
        // A must-gather has none of its own, and nothing is made in one that is not there.
        for namespace in ["openshift-machine-api", "openshift-machine-config-operator"] {
            let _ = cluster.server.kubectl(&["create", "namespace", namespace], "");
        }
        let binding = ["create", "clusterrolebinding", "system-bootstrap-node-bootstrapper"];
        let of = ["--clusterrole=system:node-bootstrapper", "--user", BOOTSTRAPPER];
        let _ = cluster.server.kubectl(&[&binding[..], &of].concat(), "");
        cluster.load(&case("fixtures/incidents/healthy.md"));
        all(&Kubectl(cluster.server.admin().unwrap()))
    })
}

/// What a controller does when nothing is in its way any more: its part becomes as it was.
pub fn heal(hands: &Kubectl, healthy: &Objects, parts: &[Part]) {
    for (name, pointer) in parts {
        let words: Vec<&str> = name.split('/').collect();
        let kind = words[0].to_lowercase();
        let (named, namespace) = (words[words.len() - 1], (words.len() == 3).then(|| words[1]));
        let mut place = vec![kind.as_str(), named];
        place.extend(namespace.iter().flat_map(|namespace| ["-n", namespace]));
        let Some(now) = hands.json(&[&["get"], place.as_slice()].concat()) else {
            let mut made = healthy[*name].clone();
            made["metadata"].as_object_mut().unwrap().remove("uid");
            hands.create(&made);
            continue;
        };
        let wanted = healthy[*name].pointer(pointer);
        if now.pointer(pointer) == wanted || wanted.is_none() || pointer.is_empty() {
            continue;
        }
        let patch = serde_json::json!([{"op": "add", "path": pointer, "value": wanted}]);
        let patch = patch.to_string();
        let mut patches = vec!["patch"];
        patches.extend(&place);
        patches.extend(["--type=json", "-p", &patch]);
        patches.extend(pointer.starts_with("/status").then_some("--subresource=status"));
        hands.run(&patches);
    }
}
