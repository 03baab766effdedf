#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout)]
use plimsoll_model::snapshot::*;
use plimsoll_sources::*;
fn main() {
    let needs = Needs {
        resources: [("core", "pods"), ("core", "nodes"), ("config.openshift.io", "clusteroperators"), ("config.openshift.io", "clusterversions"), ("machineconfiguration.openshift.io", "machineconfigpools")]
            .iter().map(|(g, p)| ResourceNeed { group: g.to_string(), plural: p.to_string(), namespaces: vec![], names: vec![], drop: vec![] }).collect(),
        signatures: include_str!("/tmp/sigs.txt").lines().enumerate().map(|(i, l)| Signature { id: format!("s{i}"), contains: vec![l.to_string()], pattern: None, logs: vec![] }).collect(),
        files: vec!["etcd_info/*.json".into()],
    };
    let paths: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    let s = read(&paths, &needs, &NoProgress).unwrap();
    println!("docs {} ({} MB) logs {} hits {} ({}) gaps {:?} files {} bytes {}", s.documents.len(), s.documents.iter().map(|d| d.text.len()).sum::<usize>() >> 20, s.logs.len(), s.hits.len(), s.hits.iter().map(|h| h.count).sum::<u64>(), s.sources[0].gaps, s.sources[0].files, s.sources[0].bytes);
}
