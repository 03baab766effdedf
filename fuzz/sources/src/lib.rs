//! What the targets ask of a source: a little of every kind of need.

use plimsoll_model::snapshot::{Needs, ResourceNeed, Signature};

pub fn needs() -> Needs {
    let resource = |group: &str, plural: &str, drop: &[&str]| ResourceNeed {
        group: group.into(),
        plural: plural.into(),
        namespaces: Vec::new(),
        names: Vec::new(),
        drop: drop.iter().map(ToString::to_string).collect(),
    };
    let signature = |id: &str, contains: &[&str], pattern: Option<&str>, logs: &[&str]| Signature {
        id: id.into(),
        contains: contains.iter().map(ToString::to_string).collect(),
        pattern: pattern.map(Into::into),
        logs: logs.iter().map(ToString::to_string).collect(),
    };
    Needs {
        now: None,
        resources: vec![
            resource("core", "nodes", &["metadata.managedFields", "status.images"]),
            resource("core", "pods", &["metadata.managedFields"]),
            resource("config.openshift.io", "clusteroperators", &["status.relatedObjects"]),
        ],
        signatures: vec![
            signature("anonymous", &["system:anonymous"], None, &[]),
            signature("refused", &["connection refused", "dial"], None, &["unit/kubelet", "pod"]),
            signature("expired", &["x509: cert"], Some("x509: cert(?<what>[a-z ]*)"), &["unit/*"]),
        ],
        files: vec!["etcd_info/member_list.json".into(), "etcd_info/*.json".into()],
    }
}
