//! Any bytes as an exported journal: lengths that lie cost no memory, and hits lie inside the file.
#![no_main]

use std::collections::BTreeMap;

use fuzz_sources::needs;
use libfuzzer_sys::fuzz_target;
use plimsoll_sources::read_tree;

fuzz_target!(|bytes: &[u8]| {
    let path = "agent-gather/journal.export".to_string();
    let snapshot = read_tree("agent-gather", &BTreeMap::from([(path, bytes.to_vec())]), &needs());
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    for hits in &snapshot.hits {
        assert!(hits.count >= 1 && hits.log < snapshot.logs.len());
        assert!(1 <= hits.first.line && hits.first.line <= lines, "a hit outside the file");
        assert!(1 <= hits.last.line && hits.last.line <= lines, "a hit outside the file");
        assert!(hits.last.text.chars().count() <= 400);
    }
});
