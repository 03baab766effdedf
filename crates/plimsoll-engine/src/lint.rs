//! What a pack that loads may still lack: a page in the fixed headings, a way to recover from what can
//! be blamed, a use for every signature. What its cases cover is asked in the lab.

use std::collections::BTreeSet;

use crate::facts::installer;
use crate::pack::{LoadError, Pack, PackFile, Place};
use crate::{page, symptoms};

/// Problems of the failure modes whose folders are among `files`, sorted.
pub fn problems(pack: &Pack, files: &[PackFile]) -> Vec<LoadError> {
    let text_of =
        |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let mut found = Vec::new();
    let own = |path: &str| text_of(path).is_some();
    for (index, case) in pack.cases.iter().enumerate().filter(|(_, case)| own(&case.path)) {
        let top = Place { path: case.path.clone(), line: 1, column: 1 };
        let beside = |name: &str| case.path.replace("case.yaml", name);
        match text_of(&beside("case.md")) {
            None => found.push(LoadError::at(&top, "there is no case.md beside this file")),
            Some(text) => {
                let page = beside("case.md");
                found.extend(page::problems(&case.id, text, pack).into_iter().map(
                    |(line, message)| LoadError { path: page.clone(), line, column: 1, message },
                ));
            }
        }
        let blamed: Vec<_> = (pack.states.iter().enumerate())
            .filter(|(_, state)| state.case == index && state.root.is_some())
            .collect();
        for (number, state) in &blamed {
            let mut lacks = |what: &str| {
                let message = format!("'{}' can be a root cause and has no {what}", state.id);
                found.push(LoadError::at(&state.at, message));
            };
            if state.recovery.is_empty() {
                lacks("recovery");
            }
            if !pack.checks.iter().any(|check| check.state == *number) {
                lacks("check");
            }
        }
        if !blamed.is_empty() && text_of(&beside("fault.md")).is_none() {
            found.push(LoadError::at(
                &top,
                "a root cause, and there is no fault.md beside this file",
            ));
        }
    }
    let by_states = pack.states.iter().flat_map(symptoms::signatures_of);
    let by_guards = (pack.causes.iter())
        .filter_map(|rule| rule.guard.as_ref())
        .flat_map(|guard| guard.reads_of("cause").into_iter().chain(guard.reads_of("effect")))
        .filter_map(|path| path.strip_prefix("logs.")?.split('.').next());
    // A line that says that another one is over is read by the scan itself.
    let by_signatures =
        pack.signatures.iter().flat_map(|rule| rule.over.iter().map(String::as_str));
    let used: BTreeSet<&str> =
        by_states.chain(by_guards).chain(by_signatures).chain(installer::signatures()).collect();
    for rule in pack.signatures.iter().filter(|rule| own(&rule.at.path)) {
        let id = rule.spec.id.as_str();
        if !used.contains(id) {
            found.push(LoadError::at(&rule.at, format!("no rule reads the signature '{id}'")));
        }
    }
    found.sort();
    found.dedup();
    found
}
