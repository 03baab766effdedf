//! The objects of a must-gather, put into etcd under the keys that the API server looks at.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use plimsoll_model::snapshot::{Document, Era, LogFile, LogOrigin, Needs};
use plimsoll_yaml::{Kind, Limits, Node};
use serde_json::{Map, Value, json};

use crate::apiserver::ApiServer;
use crate::kubelet::Texts;

const REGISTRY: &str = "/registry";
/// What the API server itself keeps there, which stays.
const PREFIXES: [&str; 19] = [
    "pods",
    "minions",
    "events",
    "configmaps",
    "secrets",
    "deployments",
    "daemonsets",
    "services/endpoints",
    "persistentvolumeclaims",
    "certificatesigningrequests",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "config.openshift.io",
    "machine.openshift.io",
    "machineconfiguration.openshift.io",
    "metal3.io",
    "operator.openshift.io",
    "statefulsets",
    "replicasets",
];

/// Keys and values as they stand in etcd, and what kubelets have to serve.
#[derive(Default)]
pub struct Objects {
    keys: Vec<(String, String)>,
    texts: Texts,
}

impl Objects {
    /// Takes over what a gather holds of the resources and logs that are needed.
    pub fn of_gather(files: &BTreeMap<String, Vec<u8>>, needs: &Needs) -> Result<Self> {
        let snapshot = plimsoll_sources::read_tree("gather", files, needs);
        let mut objects = Self::default();
        // The API server itself says which of its extensions answer, and here none does.
        let own = |document: &&Document| &*document.group != "apiregistration.k8s.io";
        for document in snapshot.documents.iter().filter(own) {
            let node = plimsoll_yaml::parse(&document.text, &Limits::OBJECT)
                .map_err(|error| anyhow::anyhow!("{}: {error}", document.path))?;
            let mut object = value(&node);
            if (&*document.group, &*document.plural) == ("core", "pods") {
                show_containers(&mut object, &snapshot.logs);
            }
            objects
                .push(&document.group, &document.plural, object)
                .context(document.path.to_string())?;
        }
        for log in &snapshot.logs {
            let Some(text) = files.get(log.path.as_ref()) else { continue };
            match &log.origin {
                LogOrigin::Container { namespace, pod, container, era } if *era != Era::Rotated => {
                    let key = (format!("{namespace}/{pod}/{container}"), *era == Era::Previous);
                    objects.texts.logs.insert(key, text.clone());
                }
                LogOrigin::Unit { unit, .. } => objects.journal(unit, text),
                _ => {}
            }
        }
        Ok(objects)
    }

    pub fn push(&mut self, group: &str, plural: &str, mut object: Value) -> Result<()> {
        if (group, plural) == ("core", "pods") {
            name_containers(&mut object);
        }
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").context("no name")?;
        if (group, plural) == ("core", "nodes") {
            for address in
                object.pointer("/status/addresses").and_then(Value::as_array).into_iter().flatten()
            {
                if let Some(address) = address["address"].as_str() {
                    self.texts.nodes.insert(address.into(), name.into());
                }
            }
        }
        let folder = folder_of(group, plural);
        let key = match text("/metadata/namespace") {
            Some(namespace) => format!("{REGISTRY}/{folder}/{namespace}/{name}"),
            None => format!("{REGISTRY}/{folder}/{name}"),
        };
        self.keys.push((key, object.to_string()));
        Ok(())
    }

    /// A journal of all nodes of a role, cut apart by the host that each line names.
    fn journal(&mut self, unit: &str, text: &[u8]) {
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let host = String::from_utf8_lossy(line);
            let Some(host) = host.split_whitespace().nth(3) else { continue };
            let key = (host.to_string(), unit.to_string());
            self.texts.journals.entry(key).or_default().extend_from_slice(line);
        }
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
}

impl ApiServer {
    /// In place of what was there.
    pub fn load(&self, objects: Objects) -> Result<()> {
        for prefix in PREFIXES {
            self.etcd.delete(&format!("{REGISTRY}/{prefix}/"))?;
        }
        self.etcd.put(&objects.keys)?;
        self.kubelets.set(objects.texts);
        Ok(())
    }

    /// Declares a resource of which anything may be stored.
    pub fn define(&self, definitions: &[String]) -> Result<()> {
        self.kubectl(&["apply", "--validate=false", "-f", "-"], &definitions.join("\n---\n"))?;
        self.kubectl(
            &["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"],
            "",
        )?;
        Ok(())
    }
}

/// Whatever has a log has run; a case may have the log alone.
fn show_containers(pod: &mut Value, logs: &[LogFile]) {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).map(str::to_string);
    let (of_namespace, of_name) = (text("/metadata/namespace"), text("/metadata/name"));
    for log in logs {
        let LogOrigin::Container { namespace, pod: name, container, .. } = &log.origin else {
            continue;
        };
        if (Some(namespace), Some(name)) != (of_namespace.as_ref(), of_name.as_ref()) {
            continue;
        }
        let shown = ["containerStatuses", "initContainerStatuses"].into_iter().any(|statuses| {
            let statuses = pod["status"][statuses].as_array();
            statuses.into_iter().flatten().any(|status| status["name"] == container.as_str())
        });
        if let (false, Some(statuses)) = (shown, pod["status"]["containerStatuses"].as_array_mut())
        {
            statuses.push(json!({"name": container, "ready": true, "restartCount": 0,
                "image": "", "imageID": "", "state": {"running": {}}}));
            if let Some(containers) = pod["spec"]["containers"].as_array_mut() {
                containers.push(json!({"name": container, "image": "registry.example.com/x"}));
            }
        }
    }
}

/// Of a pod without its containers, those that its status names: logs are served of no others.
fn name_containers(pod: &mut Value) {
    for (part, statuses) in
        [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
    {
        let names: Vec<Value> = (pod["status"][statuses].as_array().into_iter().flatten())
            .map(|status| json!({"name": status["name"], "image": "registry.example.com/x"}))
            .collect();
        if !names.is_empty() && pod["spec"][part].is_null() {
            pod["spec"][part] = names.into();
        }
    }
}

/// Below `/registry`: custom resources stand under their group, the others mostly do not.
fn folder_of(group: &str, plural: &str) -> String {
    match (group, plural) {
        ("core", "nodes") => "minions".into(),
        ("core", "endpoints") => "services/endpoints".into(),
        ("core" | "apps" | "certificates.k8s.io" | "admissionregistration.k8s.io", plural) => {
            plural.into()
        }
        (group, plural) => format!("{group}/{plural}"),
    }
}

pub(crate) fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(plain) => (*plain).into(),
        Kind::Int(plain) => (*plain).into(),
        Kind::UInt(plain) => (*plain).into(),
        Kind::Float(plain) => (*plain).into(),
        Kind::Text(text) => text.clone().into(),
        Kind::List(items) => items.iter().map(value).collect(),
        Kind::Map(map) => {
            let entries = map.iter().map(|(key, inner)| (key.name.clone(), value(inner)));
            Value::Object(entries.collect::<Map<String, Value>>())
        }
    }
}
