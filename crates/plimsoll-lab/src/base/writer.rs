use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_yaml::{Kind, Node};
use serde_json::{Map, Value, json};

use super::{BaseParams, uid};
use crate::edit::container_time;
use crate::kinds::{self, Forms, Resource};
use crate::objects::text_of;
use crate::tree::Tree;

/// Lists that `oc adm inspect` writes for every namespace, empty ones too.
const NAMESPACE_LISTS: [&str; 9] = [
    "ConfigMap",
    "DaemonSet",
    "Deployment",
    "Endpoints",
    "Event",
    "Pod",
    "ReplicaSet",
    "Secret",
    "Service",
];

/// Objects and files of a cluster on their way to a tree.
pub(super) struct Writer<'p> {
    pub params: &'p BaseParams,
    objects: BTreeMap<(&'static str, Option<String>), Vec<Value>>,
    files: Tree,
}

impl<'p> Writer<'p> {
    pub fn new(params: &'p BaseParams) -> Self {
        Self { params, objects: BTreeMap::new(), files: Tree::new() }
    }

    /// Adds an object. What its metadata lacks is filled in: times, uid, resourceVersion.
    pub fn put(&mut self, mut object: Value) {
        let text = |object: &Value, key: &str| object[key].as_str().unwrap_or_default().to_string();
        let (version, kind) = (text(&object, "apiVersion"), text(&object, "kind"));
        let Some(resource) = kinds::of_object(&version, &kind) else { return };
        let meta = &mut object["metadata"];
        let name = text(meta, "name");
        let namespace = meta["namespace"].as_str().map(str::to_string);
        if meta["creationTimestamp"].is_null() {
            meta["creationTimestamp"] = self.params.stamp(30).into();
        }
        let created: Timestamp =
            text(meta, "creationTimestamp").parse().unwrap_or(self.params.installed);
        if meta["uid"].is_null() {
            meta["uid"] = uid(&kind, namespace.as_deref().unwrap_or_default(), &name).into();
        }
        if meta["resourceVersion"].is_null() {
            let age = created.duration_since(self.params.installed).as_secs();
            meta["resourceVersion"] = (1_000 + age.max(0) * 9).to_string().into();
        }
        self.objects.entry((resource.alias, namespace)).or_default().push(object);
    }

    pub fn file(&mut self, path: &str, content: String) {
        self.files.insert(path.into(), content.into_bytes());
    }

    /// A container's current log, and the empty previous ones that a gather always brings.
    pub fn log(
        &mut self,
        namespace: &str,
        pod: &str,
        container: &str,
        lines: &[(Timestamp, String)],
    ) {
        let folder = format!("namespaces/{namespace}/pods/{pod}/{container}/{container}/logs");
        self.file(&format!("{folder}/current.log"), with_times(lines));
        for name in ["previous.log", "previous.insecure.log"] {
            self.files.entry(format!("{folder}/{name}")).or_default();
        }
    }

    pub fn previous_log(
        &mut self,
        namespace: &str,
        pod: &str,
        container: &str,
        lines: &[(Timestamp, String)],
    ) {
        let folder = format!("namespaces/{namespace}/pods/{pod}/{container}/{container}/logs");
        self.file(&format!("{folder}/previous.log"), with_times(lines));
    }

    pub fn finish(mut self) -> Tree {
        let namespaces: Vec<String> = {
            let mut all: Vec<String> =
                self.objects.keys().filter_map(|(_, namespace)| namespace.clone()).collect();
            all.sort();
            all.dedup();
            all
        };
        for namespace in &namespaces {
            for alias in NAMESPACE_LISTS {
                self.objects.entry((alias, Some(namespace.clone()))).or_default();
            }
            self.put(namespace_object(namespace));
        }
        self.objects.entry(("CertificateSigningRequest", None)).or_default();
        for ((alias, namespace), objects) in &self.objects {
            if let Some(resource) = kinds::by_alias(alias) {
                write_kind(&mut self.files, self.params, resource, namespace.as_deref(), objects);
            }
        }
        self.files
    }
}

fn with_times(lines: &[(Timestamp, String)]) -> String {
    let mut sorted: Vec<_> = lines.iter().collect();
    sorted.sort_by_key(|(time, _)| *time);
    sorted.iter().map(|(time, text)| format!("{} {text}\n", container_time(*time))).collect()
}

fn namespace_object(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": name,
            "annotations": {"openshift.io/sa.scc.mcs": "s0:c8,c2", "workload.openshift.io/allowed": "management"},
            "labels": {"kubernetes.io/metadata.name": name, "pod-security.kubernetes.io/enforce": "privileged"}
        },
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}
    })
}

fn write_kind(
    files: &mut Tree,
    params: &BaseParams,
    resource: &Resource,
    namespace: Option<&str>,
    objects: &[Value],
) {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_string();
    if resource.forms != Forms::List {
        for object in objects {
            let path = resource.object_path(namespace, &name(object));
            files.insert(path, text_of(&to_node(object)));
        }
    }
    if resource.forms != Forms::Objects {
        let mut items: Vec<&Value> = objects.iter().collect();
        items.sort_by_key(|object| name(object));
        let list = json!({
            "apiVersion": resource.api_version(), "kind": format!("{}List", resource.kind()),
            "metadata": {"resourceVersion": params.etcd_revision().to_string()}, "items": items
        });
        files.insert(resource.list_path(namespace), text_of(&to_node(&list)));
    }
}

/// Keys sorted, as `oc` writes them.
fn to_node(value: &Value) -> Node {
    Node::new(match value {
        Value::Null => Kind::Null,
        Value::Bool(value) => Kind::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Kind::Int(value),
            (None, Some(value)) => Kind::UInt(value),
            (None, None) => Kind::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Kind::Text(text.clone()),
        Value::Array(items) => Kind::List(items.iter().map(to_node).collect()),
        Value::Object(entries) => return sorted(entries),
    })
}

fn sorted(entries: &Map<String, Value>) -> Node {
    let mut node = Node::new(Kind::Map(Vec::new()));
    let entries: BTreeMap<&String, &Value> = entries.iter().collect();
    for (key, value) in entries {
        node.insert(key, to_node(value));
    }
    node
}
