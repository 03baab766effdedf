//! Any bytes in any kind of log: hits lie inside the file and in order.
#![no_main]

use std::collections::BTreeMap;

use fuzz_sources::needs;
use libfuzzer_sys::fuzz_target;
use plimsoll_sources::read_tree;

const PATHS: [&str; 4] = [
    "namespaces/openshift-etcd/pods/etcd-0/etcd/etcd/logs/current.log",
    "namespaces/openshift-etcd/pods/etcd-0/etcd/etcd/logs/previous.log",
    "host_service_logs/masters/kubelet_service.log",
    "static-pods/kube-apiserver/master-0-termination.log",
];

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let path = PATHS[usize::from(choice) % PATHS.len()];
    let files = BTreeMap::from([
        ("version".to_string(), b"openshift/must-gather\n4.18.0\n".to_vec()),
        ("timestamp".to_string(), b"2026-03-10 13:52:31.75 +0000 UTC m=+0.34\n".to_vec()),
        (path.to_string(), bytes.to_vec()),
    ]);
    let snapshot = read_tree("must-gather", &files, &needs());
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    for hits in &snapshot.hits {
        assert!(hits.count >= 1 && hits.log < snapshot.logs.len());
        assert!(1 <= hits.first.line && hits.first.line <= hits.last.line);
        assert!(hits.last.line <= lines, "a hit after the end of the file");
        assert!(hits.last.text.chars().count() <= 400);
    }
});
