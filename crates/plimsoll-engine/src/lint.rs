//! What a pack that loads may still lack: a page in the fixed headings, a way to recover from what can
//! be blamed, a use for every signature. What its cases cover is asked in the lab.

use std::collections::BTreeSet;

use crate::pack::{LoadError, Pack, PackFile, Place, Role};
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
    let used: BTreeSet<&str> =
        pack.states.iter().flat_map(|state| symptoms::signatures_of(state)).collect();
    let in_guards: BTreeSet<&str> = (pack.causes.iter())
        .filter_map(|rule| rule.guard.as_ref())
        .flat_map(|guard| guard.reads_of("cause").into_iter().chain(guard.reads_of("effect")))
        .filter_map(|path| path.strip_prefix("logs.")?.split('.').next())
        .collect();
    for rule in pack.signatures.iter().filter(|rule| own(&rule.at.path)) {
        let id = rule.spec.id.as_str();
        // A signature that no predicate reads still speaks when it names the entities of a state.
        let introduces = rule.entity.is_some() && has_states(pack, &rule.on);
        if !used.contains(id) && !in_guards.contains(id) && !introduces {
            found.push(LoadError::at(&rule.at, format!("no state reads the signature '{id}'")));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn has_states(pack: &Pack, kind: &str) -> bool {
    pack.states.iter().any(|state| state.on == kind && state.role != Role::Note)
}
