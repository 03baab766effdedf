//! Whether anything looks red at all. Of a cluster in which all is quiet, the ends of a few logs are
//! enough; where something is wrong, what went before has to be read as well.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::logs::PodSeen;
use super::text_at;

#[derive(Default)]
pub struct Health {
    /// Something is not as it should be.
    pub red: bool,
    /// Nodes, and whether each is well.
    pub nodes: BTreeMap<String, NodeSeen>,
    /// Namespaces with pods that are not well.
    pub namespaces: BTreeSet<String>,
    /// Nodes on which pods do not start, however well they look.
    pub starting: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSeen {
    /// Inside the cluster.
    pub address: String,
    /// `master-0.lab.example.com`, where it has such a name.
    pub full_name: Option<String>,
    pub well: bool,
    pub control_plane: bool,
}

impl Health {
    pub fn is_ailing(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|node| !node.well)
    }

    pub fn pod(&mut self, pod: &PodSeen) {
        if !pod.well {
            self.red = true;
            self.namespaces.insert(pod.namespace.clone());
            self.starting.extend(Some(&pod.node).filter(|_| pod.is_starting).cloned());
        }
    }

    pub fn object(&mut self, group: &str, plural: &str, object: &Value) {
        let is = |kind: &str, status: &str| condition(object, kind).is_some_and(|is| is == status);
        let red = match (group, plural) {
            ("core", "nodes") => {
                let well = is_well(object);
                let control_plane = ["master", "control-plane"].iter().any(|role| {
                    let labels = object.pointer("/metadata/labels");
                    labels
                        .is_some_and(|l| l.get(format!("node-role.kubernetes.io/{role}")).is_some())
                });
                let name = text_at(object, "/metadata/name");
                let address = addresses(object);
                let full_name = full_name(&name, object);
                self.nodes.insert(name, NodeSeen { address, full_name, well, control_plane });
                !well
            }
            ("config.openshift.io", "clusteroperators") => {
                !is("Available", "True") || !is("Degraded", "False") || is("Progressing", "True")
            }
            ("config.openshift.io", "clusterversions") => {
                !is("Available", "True") || is("Failing", "True") || is("Progressing", "True")
            }
            ("machineconfiguration.openshift.io", "machineconfigpools") => !is("Updated", "True"),
            ("metal3.io", "baremetalhosts") => {
                !text_at(object, "/status/errorMessage").is_empty()
                    || text_at(object, "/status/operationalStatus") != "OK"
            }
            ("certificates.k8s.io", "certificatesigningrequests") => {
                object.pointer("/status/conditions").is_none()
            }
            _ => false,
        };
        self.red |= red;
    }
}

fn addresses(node: &Value) -> String {
    let all = node.pointer("/status/addresses").and_then(Value::as_array);
    let internal = all.into_iter().flatten().find(|one| one["type"] == "InternalIP");
    internal.map(|one| text_at(one, "/address")).unwrap_or_default()
}

/// The name that it goes by, else one that it tells itself.
fn full_name(name: &str, node: &Value) -> Option<String> {
    let all = node.pointer("/status/addresses").and_then(Value::as_array);
    let kinds = ["Hostname", "InternalDNS", "ExternalDNS"];
    let told =
        all.into_iter().flatten().filter(|one| kinds.iter().any(|kind| one["type"] == *kind));
    let told = told.map(|one| text_at(one, "/address"));
    let is_full = |name: &String| name.contains('.') && name.parse::<std::net::IpAddr>().is_err();
    std::iter::once(name.to_string()).chain(told).find(is_full)
}

fn condition<'c>(object: &'c Value, kind: &str) -> Option<&'c str> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter().find(|one| one["type"] == kind)?["status"].as_str()
}

/// Ready, schedulable, and as the machine-config operator wants it.
fn is_well(node: &Value) -> bool {
    let config = |key: &str| {
        let annotations = node.pointer("/metadata/annotations")?;
        annotations.get(format!("machineconfiguration.openshift.io/{key}"))?.as_str()
    };
    condition(node, "Ready") == Some("True")
        && node.pointer("/spec/unschedulable").and_then(Value::as_bool) != Some(true)
        && config("state").is_none_or(|state| state == "Done")
        && config("currentConfig") == config("desiredConfig")
}
