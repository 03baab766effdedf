//! All objects of the cluster at one moment, and what differs between two.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use kube::Client;
use plimsoll_live::{Patience, Vantage};
use serde_json::Value;

use crate::actor::Kubectl;
use crate::cluster::Cluster;
use crate::requests::BOOTSTRAPPER;
use crate::site::case;

/// By `Kind/namespace/name` or `Kind/name`.
pub type Objects = BTreeMap<String, Value>;

/// Beside all custom ones. Leases and events are written by everybody all the time.
const BUILT_IN: [&str; 17] = [
    "/api/v1/nodes",
    "/api/v1/pods",
    "/api/v1/configmaps",
    "/api/v1/secrets",
    "/api/v1/services",
    "/api/v1/serviceaccounts",
    "/api/v1/namespaces",
    "/api/v1/persistentvolumeclaims",
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/daemonsets",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/replicasets",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
];
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Bookkeeping of the server.
const OF_THE_SERVER: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// Not with `kubectl`, which waits between its requests for so many kinds.
pub fn all(hands: &Kubectl) -> Objects {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let vantage = Vantage { kubeconfig: Some(hands.0.clone()), ..Vantage::default() };
        let client = plimsoll_live::client(&vantage, Patience::default()).await.unwrap();
        let custom = listed(&client, DEFINITIONS).await;
        let paths = custom.iter().map(|definition| {
            let spec = &definition["spec"];
            let mut versions = spec["versions"].as_array().unwrap().iter();
            let stored = versions.find(|version| version["storage"] == true).unwrap();
            let text = |value: &Value| value.as_str().unwrap().to_string();
            let [group, version] = [&spec["group"], &stored["name"]].map(text);
            format!("/apis/{group}/{version}/{}", text(&spec["names"]["plural"]))
        });
        let mut all = Objects::new();
        for path in paths.chain(BUILT_IN.map(str::to_string)) {
            all.extend(listed(&client, &path).await.into_iter().map(named));
        }
        assert!(!all.is_empty());
        // The server writes its own again where it was taken away with the case before.
        all.remove("ConfigMap/kube-system/extension-apiserver-authentication");
        all
    })
}

/// Items of a list, each with the kind that the list has for all.
async fn listed(client: &Client, path: &str) -> Vec<Value> {
    let request = Request::get(path).body(Vec::new()).unwrap();
    let mut list: Value = client.request(request).await.unwrap();
    let kind = list["kind"].as_str().unwrap().trim_end_matches("List").to_string();
    let mut items = list["items"].as_array_mut().map(std::mem::take).unwrap();
    for item in &mut items {
        item["apiVersion"] = list["apiVersion"].clone();
        item["kind"] = kind.clone().into();
    }
    items
}

fn named(mut object: Value) -> (String, Value) {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.retain(|key, _| !OF_THE_SERVER.contains(&key.as_str()));
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_string);
    let name = [text("namespace"), text("name")].into_iter().flatten().collect::<Vec<_>>();
    let kind = object["kind"].as_str().unwrap();
    (format!("{kind}/{}", name.join("/")), object)
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

/// A part of every private key that a Secret holds: as it stands there, and as its own text.
pub fn keys(all: &Objects) -> Vec<String> {
    let secrets = all.iter().filter(|(name, _)| name.starts_with("Secret/"));
    let data = secrets.filter_map(|(_, secret)| secret["data"].as_object());
    let mut parts = Vec::new();
    for packed in data.flat_map(|data| data.values()).filter_map(Value::as_str) {
        let text = STANDARD.decode(packed).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let Some((_, body)) = text.split_once("PRIVATE KEY-----\n") else { continue };
        // The first line begins like that of any other key.
        parts.extend(body.lines().nth(1).map(str::to_string));
        parts.push(packed.chars().skip(packed.len() / 2).take(60).collect());
    }
    parts
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
