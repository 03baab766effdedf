//! An archive of the Insights operator, as `docs/insights-archive-sample` of
//! openshift/insights-operator shows it.

use serde_json::Value;

use super::{objects, text_of};
use crate::tree::Tree;

/// (folder below `config/`, kind)
const FOLDERS: [(&str, &str); 8] = [
    ("clusteroperator", "ClusterOperator"),
    ("clusteroperator/operator.openshift.io/etcd", "Etcd"),
    ("clusteroperator/operator.openshift.io/kubeapiserver", "KubeAPIServer"),
    ("clusteroperator/operator.openshift.io/network", "Network.operator"),
    ("machineconfigpools", "MachineConfigPool"),
    ("machineconfigs", "MachineConfig"),
    ("node", "Node"),
    ("pod", "Pod"),
];

pub fn insights(gather: &Tree) -> Tree {
    let mut archive = Tree::new();
    // In one line, as the operator writes it, and without what the path tells.
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(map) = object.as_object_mut() {
            map.remove("apiVersion");
            map.remove("kind");
        }
        serde_json::to_vec(&object).unwrap_or_default()
    };
    archive.insert("insights-operator/gathers.json".into(), b"{\"status_reports\":[]}".to_vec());
    for (file, kind) in [("version", "ClusterVersion"), ("infrastructure", "Infrastructure")] {
        if let Some(object) = objects(gather, kind).first() {
            archive.insert(format!("config/{file}.json"), bare(object));
        }
    }
    for (folder, kind) in FOLDERS {
        for object in objects(gather, kind) {
            let name = text_of(&object, "/metadata/name");
            let path = match object.pointer("/metadata/namespace").and_then(Value::as_str) {
                Some(namespace) => format!("config/{folder}/{namespace}/{name}.json"),
                None => format!("config/{folder}/{name}.json"),
            };
            archive.insert(path, bare(&object));
        }
    }
    archive
}
