//! A small tree of arbitrary files: what is read is the same every time and lies inside its file.
#![no_main]

use std::collections::BTreeMap;

use fuzz_sources::needs;
use libfuzzer_sys::fuzz_target;
use plimsoll_sources::read_tree;

const PATHS: [&str; 12] = [
    "version",
    "timestamp",
    "gather.logs",
    "must-gather.logs",
    "cluster-scoped-resources/core/nodes.yaml",
    "cluster-scoped-resources/core/nodes/master-0.yaml",
    "cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
    "cluster-scoped-resources/config.openshift.io/clusteroperators/etcd.yaml",
    "namespaces/openshift-etcd/core/pods.yaml",
    "namespaces/openshift-etcd/pods/etcd-0/etcd-0.yaml",
    "etcd_info/member_list.json",
    "namespaces/openshift-etcd/pods/etcd-0/etcd/etcd/logs/rotated/0.log.20260310-101112.gz",
];

fuzz_target!(|input: Vec<(u8, String, Vec<u8>)>| {
    let files: BTreeMap<String, Vec<u8>> = input
        .into_iter()
        .take(16)
        .map(|(choice, name, bytes)| match PATHS.get(usize::from(choice)) {
            Some(path) => (path.to_string(), bytes),
            None => (format!("{}/{name}", PATHS[usize::from(choice) % PATHS.len()]), bytes),
        })
        .collect();
    let snapshot = read_tree("must-gather", &files, &needs());
    let again = read_tree("must-gather", &files, &needs());
    assert_eq!(format!("{snapshot:?}"), format!("{again:?}"), "another answer the second time");
    for document in &snapshot.documents {
        assert!(document.first_line >= 1);
        assert!(document.source < snapshot.sources.len());
    }
});
