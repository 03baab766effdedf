//! Cutting works on text that nobody parsed: it never panics and never moves a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_yaml::{blank_subtrees, peek_meta, split_list};

fuzz_target!(|text: &str| {
    let paths = ["metadata.managedFields", "status.relatedObjects", "spec"].map(String::from);
    check(text, &paths);
    let lines = text.lines().count() as u64;
    for item in split_list(text).unwrap_or_default() {
        assert!((1..=lines).contains(&item.first_line), "an item outside the file");
        check(&item.text, &paths);
    }
});

fn check(text: &str, paths: &[String]) {
    let blanked = blank_subtrees(text, paths);
    assert_eq!(text.lines().count(), blanked.lines().count(), "blanking moved a line");
    for (before, after) in text.lines().zip(blanked.lines()) {
        assert!(
            after.is_empty() || after.trim_end() == before.trim_end(),
            "blanking changed a line"
        );
    }
    let _ = peek_meta(text);
    let _ = peek_meta(&blanked);
}
