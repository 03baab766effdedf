//! Cutting JSON works on text that nobody parsed: it never panics and never moves a line, and what
//! is JSON before is JSON after, of the same object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_yaml::{blank_json_subtrees, is_json, peek_json_meta, split_json_list};
use serde_json::Value;

fuzz_target!(|text: &str| {
    let paths = ["metadata.managedFields", "status.relatedObjects", "spec"].map(String::from);
    check(text, &paths);
    let lines = text.lines().count() as u64;
    let Some(list) = split_json_list(text) else { return };
    let mut rest = text;
    for item in &list.items {
        assert!((1..=lines).contains(&item.first_line), "an item outside the file");
        let at = rest.find(&item.text).expect("an item that the text does not have, or not here");
        rest = &rest[at + item.text.len()..];
        check(&item.text, &paths);
    }
});

fn check(text: &str, paths: &[String]) {
    let blanked = blank_json_subtrees(text, paths);
    assert_eq!(text.matches('\n').count(), blanked.matches('\n').count(), "a line was moved");
    let meta = peek_json_meta(text);
    assert!(is_json(text) || meta == plimsoll_yaml::Meta::default());
    let after = peek_json_meta(&blanked);
    if serde_json::from_str::<Value>(text).is_ok() {
        assert!(serde_json::from_str::<Value>(&blanked).is_ok(), "no longer reads:\n{blanked}");
        assert_eq!(meta, after, "blanking changed whose object it is");
    }
}
