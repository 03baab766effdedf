//! An object as the API gave it, made fit to be written: without what no fact reads, without what
//! only fills, and without any value that is a secret.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::redact::{redact, tells_a_secret};
use plimsoll_yaml::{Key, Kind, Node};
use serde_json::{Map, Value, json};

/// What stands in the place of a value that is not to leave the cluster.
const REMOVED: &str = "removed";
/// As texts are that hold one.
const REDACTED: &str = "[redacted]";

/// Of what has letters, digits and dots alone: as much base64 as is looked into.
const SHORTEST_SECRET: usize = 16;

/// Annotations that hold another copy of the object, secrets and all.
const COPIES: [&str; 2] =
    ["kubectl.kubernetes.io/last-applied-configuration", "openshift.io/token-secret.value"];

/// Annotations of secrets that tell of their certificates.
const OF_CERTIFICATES: &str = "auth.openshift.io/certificate-";

/// `drop`: paths of subtrees that nobody reads.
pub fn shape(object: &mut Value, drop: &[String], is_secret: bool) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|name, _| !COPIES.contains(&name.as_str()));
        }
    }
    let containers = containers(object);
    for path in drop {
        remove(object, &path.split('.').collect::<Vec<_>>());
    }
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.extend(containers);
    }
    if is_secret {
        // Tools keep copies of the whole object there, under names of their own.
        let annotations = object.pointer_mut("/metadata/annotations");
        if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
            annotations.retain(|name, _| name.starts_with(OF_CERTIFICATES));
        }
        for data in ["data", "stringData"] {
            if let Some(data) = object.get_mut(data).and_then(Value::as_object_mut) {
                data.values_mut().for_each(|value| *value = public_part(value));
            }
        }
    } else {
        // What is no text cannot be looked through.
        if let Some(data) = object.get_mut("binaryData").and_then(Value::as_object_mut) {
            data.values_mut().for_each(|value| *value = Value::String(STANDARD.encode(REMOVED)));
        }
        redact_texts(object);
    }
}

/// Of a pod, what its containers are called and made of: tools that show logs go by that.
fn containers(object: &Value) -> Map<String, Value> {
    const OF_PODS: [&str; 2] = ["containers", "initContainers"];
    let reduced = |kind: &str| {
        let all = object.get("spec")?.get(kind)?.as_array()?;
        let kept = all.iter().map(|one| json!({"name": one["name"], "image": one["image"]}));
        Some((kind.to_string(), kept.collect()))
    };
    OF_PODS.into_iter().filter_map(reduced).collect()
}

fn remove(value: &mut Value, path: &[&str]) {
    match (path, value) {
        ([last], Value::Object(map)) => drop(map.remove(*last)),
        ([first, rest @ ..], Value::Object(map)) => {
            if let Some(inner) = map.get_mut(*first) {
                remove(inner, rest);
            }
        }
        _ => {}
    }
}

fn redact_texts(value: &mut Value) {
    match value {
        Value::String(text) if !is_plain(text) => *text = redact(text),
        Value::Array(items) => items.iter_mut().for_each(redact_texts),
        Value::Object(map) => {
            // A variable of a container, wherever it stands.
            if let Some(Value::String(name)) = map.get("name")
                && let Some(Value::String(value)) = map.get("value")
                && tells_a_secret(name, value)
            {
                map.insert("value".into(), REDACTED.into());
            }
            for (key, value) in map {
                match value {
                    Value::String(text) if tells_a_secret(key, text) => *text = REDACTED.into(),
                    value => redact_texts(value),
                }
            }
        }
        _ => {}
    }
}

/// Most are: a word, a number, an address. What is encoded is longer, and a token has other signs in it.
fn is_plain(text: &str) -> bool {
    text.len() < SHORTEST_SECRET && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.')
}

/// Of a secret's value: its certificates, or where a pointer ignition points to and whom it trusts.
fn public_part(value: &Value) -> Value {
    let decoded = value.as_str().and_then(|text| STANDARD.decode(text).ok());
    let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let public = match certificates(&text) {
        Some(certificates) => certificates,
        None => pointer(&text).unwrap_or_else(|| REMOVED.into()),
    };
    Value::String(STANDARD.encode(public))
}

fn certificates(text: &str) -> Option<String> {
    if text.trim_start().starts_with('{') {
        return None;
    }
    let kept = String::from_utf8(plimsoll_sources::certificates(text.as_bytes())).ok()?;
    let lines = kept.lines().filter(|line| !line.is_empty());
    Some(lines.map(|line| format!("{line}\n")).collect()).filter(|kept: &String| !kept.is_empty())
}

/// Where it points to and whom it trusts. What comes with that, headers and configs within the config,
/// may hold credentials.
fn pointer(text: &str) -> Option<String> {
    let config: Value = serde_json::from_str(text).ok()?;
    let ignition = config.get("ignition")?;
    let at = |pointer: &str| ignition.pointer(pointer);
    let sources = |all: Option<&Value>, public: fn(&str) -> Option<String>| -> Vec<Value> {
        let all = all.and_then(Value::as_array).into_iter().flatten();
        let kept = all.filter_map(|one| public(one.get("source")?.as_str()?));
        kept.map(|source| json!({"source": source})).collect()
    };
    let replaced = at("/config/replace/source").and_then(Value::as_str).and_then(address);
    let kept = json!({
        "version": at("/version"),
        "config": {
            "merge": sources(at("/config/merge").or(at("/config/append")), address),
            "replace": {"source": replaced},
        },
        "security": {"tls": {"certificateAuthorities":
            sources(at("/security/tls/certificateAuthorities"), authority)}},
    });
    Some(json!({"ignition": kept}).to_string())
}

fn address(source: &str) -> Option<String> {
    source.starts_with("http").then(|| redact(source).to_string())
}

/// `data:text/plain;charset=utf-8;base64,…`
fn authority(source: &str) -> Option<String> {
    let (kind, encoded) = source.split_once(";base64,")?;
    let pem = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    Some(format!("{kind};base64,{}", STANDARD.encode(certificates(&pem)?)))
}

/// As the tree that `plimsoll_yaml::emit` writes.
pub fn node(value: Value) -> Node {
    Node::new(match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Kind::Int(value),
            (None, Some(value)) => Kind::UInt(value),
            _ => Kind::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Kind::Text(text),
        Value::Array(items) => Kind::List(items.into_iter().map(node).collect()),
        Value::Object(map) => Kind::Map(
            map.into_iter()
                .map(|(name, value)| (Key { name, line: 0, column: 0 }, node(value)))
                .collect(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &str) -> String {
        STANDARD.encode(text)
    }

    #[test]
    fn of_a_secret_only_what_is_public_stays() {
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN RSA PRIVATE KEY-----\nBBBB\n-----END RSA PRIVATE KEY-----\n";
        let ignition = json!({"ignition": {"version": "3.2.0",
            "config": {"merge": [{"source": "https://api-int:22623/config/worker",
                "httpHeaders": [{"name": "Authorization", "value": "Bearer hunter2"}]},
                {"source": "data:;base64,aHVudGVyMg=="}]}},
            "passwd": {"users": [{"passwordHash": "$6$x"}]}})
        .to_string();
        let mut secret = json!({"kind": "Secret", "metadata": {"annotations": {
            "kapp.k14s.io/original": "aHVudGVyMg==",
            "auth.openshift.io/certificate-issuer": "signer"}}, "data": {
            "tls.crt": encoded(&format!("{key}{pem}")), "tls.key": encoded(key),
            "userData": encoded(&ignition), "token": encoded("hunter2")}});
        shape(&mut secret, &[], true);
        let shown = |key: &str| {
            String::from_utf8(STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap())
                .unwrap()
        };
        assert_eq!(shown("tls.crt"), pem);
        assert_eq!(shown("tls.key"), REMOVED);
        assert_eq!(shown("token"), REMOVED);
        let pointer = shown("userData");
        assert!(pointer.contains("22623"), "{pointer}");
        for private in ["passwordHash", "hunter2", "aHVudGVyMg"] {
            assert!(!pointer.contains(private), "{pointer}");
        }
        let annotations = json!({"auth.openshift.io/certificate-issuer": "signer"});
        assert_eq!(secret["metadata"]["annotations"], annotations);
    }

    #[test]
    fn what_stands_under_a_telling_key_is_a_secret() {
        let mut map = json!({"kind": "ConfigMap", "metadata": {"name": "leaky"}, "data": {
            "password": "x", "db_password": "y", "API_KEY": "z", "bind-secret": "w",
            "secretName": "db", "tokenTTL": "3h", "ca.crt": "PEM"}});
        shape(&mut map, &[], false);
        let expected = json!({"password": REDACTED, "db_password": REDACTED, "API_KEY": REDACTED,
            "bind-secret": REDACTED, "secretName": "db", "tokenTTL": "3h", "ca.crt": "PEM"});
        assert_eq!(map["data"], expected);
    }

    #[test]
    fn subtrees_nobody_reads_and_copies_are_left_out() {
        let mut pod = json!({"metadata": {"name": "p", "managedFields": [1], "annotations":
            {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "env": [{"value": "secret"}]}],
                "volumes": [1], "nodeName": "n"}});
        let drop = ["spec.containers", "spec.volumes", "status.none"].map(String::from);
        shape(&mut pod, &drop, false);
        let expected = json!({"metadata": {"name": "p", "annotations": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}});
        assert_eq!(pod, expected);
    }

    #[test]
    fn written_objects_keep_their_numbers_and_their_order() {
        let value = json!({"b": 1.5, "a": [u64::MAX, -1, null, true, "x"]});
        assert_eq!(
            plimsoll_yaml::emit(&node(value)),
            "a:\n- 18446744073709551615\n- -1\n- null\n- true\n- x\nb: 1.5\n"
        );
    }

    #[test]
    fn a_secret_without_spaces_is_one_under_any_name() {
        let secrets = [
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "eyJwYXNzd29yZCI6Imh1bnRlcjIifQ",
            "cGFzc3dvcmQ6IHgK",
            "password%3Dhunter2abc",
            "<password>hunter2</password>",
            "AKIAABCDEFGHIJKLMNOP",
            "pwd=abc1",
        ];
        let plain = ["10.128.0.5", "Running", "openshift", "quay.io/a/b", "kubernetesversion1"];
        for text in secrets.into_iter().chain(plain) {
            let mut map = json!({"metadata": {"annotations": {"a": text}}, "spec": {"b": [text]}});
            shape(&mut map, &[], false);
            let shown = [&map["metadata"]["annotations"]["a"], &map["spec"]["b"][0]];
            let is_shown = shown.map(|shown| shown == text);
            assert_eq!(is_shown, [plain.contains(&text); 2], "{text}: {map}");
        }
    }

    #[test]
    fn a_variable_of_a_container_is_told_by_its_name() {
        let mut pod = json!({"spec": {"template": {"spec": {"containers": [{"env": [
            {"name": "ETCD_PASSWORD", "value": "hunter2"}, {"name": "LEVEL", "value": "info"}]}]}}}});
        shape(&mut pod, &[], false);
        let env = &pod["spec"]["template"]["spec"]["containers"][0]["env"];
        assert_eq!(env[0]["value"], REDACTED);
        assert_eq!(env[1]["value"], "info");
    }
}
