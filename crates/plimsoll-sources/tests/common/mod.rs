//! Small trees, the forms they can come in, and a request that asks for some of everything.

#![allow(dead_code, reason = "every test file uses another part")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_model::Snapshot;
use plimsoll_model::snapshot::{GapStatus, Needs, ResourceNeed, Signature};
use plimsoll_sources::{NoProgress, ReadError, read};

pub type Tree = BTreeMap<String, Vec<u8>>;

pub fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(path, text)| ((*path).into(), text.as_bytes().to_vec())).collect()
}

pub fn need(group: &str, plural: &str) -> ResourceNeed {
    ResourceNeed {
        group: group.into(),
        plural: plural.into(),
        namespaces: vec![],
        names: vec![],
        drop: vec![],
    }
}

pub fn signature(id: &str, contains: &[&str], pattern: Option<&str>, logs: &[&str]) -> Signature {
    Signature {
        id: id.into(),
        contains: contains.iter().map(|text| (*text).into()).collect(),
        pattern: pattern.map(Into::into),
        logs: logs.iter().map(|log| (*log).into()).collect(),
    }
}

pub fn needs() -> Needs {
    Needs {
        now: None,
        resources: vec![
            need("core", "pods"),
            need("core", "nodes"),
            need("core", "namespaces"),
            need("config.openshift.io", "clusteroperators"),
        ],
        signatures: vec![
            signature("anonymous", &["system:anonymous"], None, &[]),
            signature(
                "refused",
                &["connection refused", "dial"],
                Some(r"dial tcp (?<address>[0-9.]+):(?<port>\d+)"),
                &[],
            ),
            signature("kubelet-only", &["NEEDLE"], None, &["unit/kubelet"]),
        ],
        files: vec!["etcd_info/*.json".into(), "version".into()],
    }
}

pub fn pod(name: &str, uid: &str, version: u64) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata:\n  managedFields:\n  - manager: x\n  name: {name}\n  namespace: n\n  resourceVersion: \"{version}\"\n  uid: {uid}\nspec: {{}}\n"
    )
}

pub fn pod_list(pods: &[(&str, &str, u64)]) -> String {
    let mut text = "---\napiVersion: v1\nitems:\n".to_string();
    for (name, uid, version) in pods {
        let pod = pod(name, uid, *version);
        for (number, line) in pod.lines().skip(1).enumerate() {
            text += if number == 0 { "- " } else { "  " };
            text += line;
            text += "\n";
        }
    }
    text + "kind: PodList\nmetadata:\n  resourceVersion: \"9\"\n"
}

/// A gather with a bit of everything.
pub fn sample() -> Tree {
    let mut files = tree(&[
        (
            "timestamp",
            "2024-10-24 14:43:32.75 +0000 UTC m=+0.34\n2024-10-24 16:45:15 +0200 CEST m=+1\n",
        ),
        ("image/version", "openshift/must-gather\n4.18\n"),
        ("image/gather.logs", "2024-10-24T14:43:32.1Z volume usage percentage 0\n"),
        (
            "image/cluster-scoped-resources/core/nodes/m-0.yaml",
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: m-0\n  uid: n0\n",
        ),
        (
            "image/cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
            "apiVersion: v1\nitems: []\nkind: List\n",
        ),
        (
            "image/namespaces/n/pods/p/c/c/logs/current.log",
            "2024-10-24T14:00:00.5Z one\n2024-10-24T14:00:01Z dial tcp 10.0.0.1:6443: connect: connection refused\n2024-10-24T14:00:02Z User \"system:anonymous\"\n2024-10-24T14:00:03Z dial tcp 10.0.0.1:6443: connect: connection refused\n",
        ),
        ("image/namespaces/n/pods/p/c/c/logs/previous.log", ""),
        (
            "image/host_service_logs/masters/kubelet_service.log",
            "Oct 24 12:57:27.5 m-0 kubelet[1]: NEEDLE\nOct 24 12:57:28.5 m-0 kubelet[1]: x\nOct 24 12:50:00.5 m-1 kubelet[1]: NEEDLE\n",
        ),
        ("image/etcd_info/member_list.json", "{\"members\":[]}"),
        ("image/unrelated/picture.png", "\u{0}"),
    ]);
    files.insert(
        "image/namespaces/n/core/pods.yaml".into(),
        pod_list(&[("p", "u1", 5), ("q", "u2", 6)]).into(),
    );
    files.insert("image/namespaces/n/pods/p/p.yaml".into(), pod("p", "u1", 5).into());
    let rotated = "2024-10-24T13:00:00Z User \"system:anonymous\"\n";
    files.insert(
        "image/namespaces/n/pods/p/c/c/logs/rotated/0.log.20241024-130000.gz".into(),
        gzip(rotated.as_bytes()),
    );
    files
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(data: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

pub fn tar(files: &Tree) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, data) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, data.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

pub fn write(folder: &Path, files: &Tree) {
    for (path, data) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, data).unwrap();
    }
}

/// A file in a folder that goes away with the test.
pub fn file(name: &str, data: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, data).unwrap();
    (folder, path)
}

pub fn read_bytes(name: &str, data: &[u8]) -> Result<Snapshot, ReadError> {
    let (_folder, path) = file(name, data);
    read(&[path], &needs(), &NoProgress)
}

pub fn gaps(snapshot: &Snapshot) -> Vec<String> {
    let gaps = snapshot.sources.iter().flat_map(|source| &source.gaps);
    gaps.map(|gap| format!("{:?} {}: {}", gap.status, gap.what, gap.why)).collect()
}

pub fn has_gap(snapshot: &Snapshot, status: GapStatus, text: &str) -> bool {
    let gaps = snapshot.sources.iter().flat_map(|source| &source.gaps);
    gaps.into_iter()
        .any(|gap| gap.status == status && (gap.what.contains(text) || gap.why.contains(text)))
}
