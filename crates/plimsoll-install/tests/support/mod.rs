//! The corpus: edits of the files in `fixtures/install/bases`, and what the installer's own code said.

#![allow(clippy::unwrap_used, dead_code, reason = "set-up of tests; every file uses another part")]

use std::collections::BTreeMap;

use plimsoll_install::Method;
use serde_json::Value;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/install");

pub struct Case {
    pub name: String,
    pub kind: String,
    pub method: Method,
    pub install: Option<String>,
    pub agent: Option<String>,
    pub said: Value,
}

pub fn cases() -> Vec<Case> {
    let read = |path: &str| std::fs::read_to_string(format!("{FIXTURES}/{path}")).unwrap();
    let bases: BTreeMap<_, _> = std::fs::read_dir(format!("{FIXTURES}/bases"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .map(|name| (name.clone(), read(&format!("bases/{name}"))))
        .collect();
    let case = |line: &str| {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| case[key].as_str().unwrap().to_string();
        let (name, kind) = (word("name"), word("kind"));
        Case {
            name,
            method: if kind == "agent" { Method::Agent } else { Method::Ipi },
            kind,
            install: text_of(&case["install"], "install-config.yaml", &bases),
            agent: text_of(&case["agent"], "agent-config.yaml", &bases),
            said: case["said"].take(),
        }
    };
    read("cases.jsonl").lines().map(case).collect()
}

/// The text of a file: given as it is, or as lines put into a base.
fn text_of(file: &Value, name: &str, bases: &BTreeMap<String, String>) -> Option<String> {
    if let Some(text) = file["text"].as_str() {
        return Some(text.to_string());
    }
    let base = bases.get(&format!("{}.{name}", file["base"].as_str()?))?;
    let lines: Vec<_> = base.split('\n').collect();
    let cut = |i: usize| usize::try_from(file["cut"][i].as_u64().unwrap_or(0)).unwrap_or(0);
    let put: Vec<_> = file["put"].as_str().into_iter().flat_map(|put| put.split('\n')).collect();
    Some([&lines[..cut(0)], &put, &lines[cut(1)..]].concat().join("\n"))
}
