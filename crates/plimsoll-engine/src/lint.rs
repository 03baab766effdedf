//! What a pack that loads may still lack: a page in the fixed headings, a way to recover from what can
//! be blamed, a use for every signature; and advice that nobody can follow. What its cases cover is
//! asked in the lab.

use std::collections::BTreeSet;

use crate::facts::installer;
use crate::pack::{LoadError, Pack, PackFile, Place};
use crate::{page, symptoms};

/// Sources of `diagnose` that are no path.
const SOURCES: [&str; 4] = ["bmc", "kube", "node", "ssh"];

/// Problems of the failure modes whose folders are among `files`, sorted. `commands` are those of the
/// command line, which the texts may recommend.
pub fn problems(pack: &Pack, files: &[PackFile], commands: &[&str]) -> Vec<LoadError> {
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
    for repair in pack.repairs.iter().filter(|repair| own(&repair.at.path)) {
        if repair.acts() && !repair.is_tried {
            let id = &repair.id;
            let message =
                format!("'{id}' acts, and no case says 'repair {id} holds': it informs only");
            found.push(LoadError::at(&repair.at, message));
        }
    }
    let told = |file: &&PackFile| ["case.yaml", "case.md"].iter().any(|n| file.path.ends_with(n));
    for file in files.iter().filter(told) {
        for (line, text) in (1..).zip(file.text.lines()) {
            found.extend(advice_in_vain(text, commands).into_iter().map(|(column, message)| {
                LoadError { path: file.path.clone(), line, column, message }
            }));
        }
    }
    for file in files.iter().filter(|file| file.path.ends_with("repair.yaml")) {
        for (line, text) in (1..).zip(file.text.lines()) {
            found.extend(secret_for_all(text).map(|(column, message)| LoadError {
                path: file.path.clone(),
                line,
                column,
                message,
            }));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Where a command writes a Secret into a file that others than its owner may read, by column.
fn secret_for_all(line: &str) -> Option<(u32, String)> {
    let (before, rest) = line.split_once(" get secret")?;
    let is_written = ["-o yaml >", "-o json >"].iter().any(|end| rest.contains(end));
    let column = u32::try_from(before.chars().count() + 2).unwrap_or(1);
    let message = "a Secret is written into a file that others can read: 'umask 077;' before it";
    (is_written && !before.contains("umask 077")).then(|| (column, message.to_string()))
}

/// Where a line sends people to a command or a source that there is not, by column.
fn advice_in_vain(line: &str, commands: &[&str]) -> Vec<(u32, String)> {
    const NAME: &str = "plimsoll ";
    let mut found = Vec::new();
    for (at, _) in line.match_indices(NAME) {
        let rest = &line[at + NAME.len()..];
        let column = u32::try_from(line[..at].chars().count() + 1).unwrap_or(1);
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(rest.len());
        let command = &rest[..end];
        if !command.is_empty() && !command.starts_with('-') && !commands.contains(&command) {
            let known = commands.join(", ");
            found.push((column, format!("there is no 'plimsoll {command}'; there are {known}")));
        }
        // `ipmi:hosts.yaml`, and neither `https://…` nor the end of a clause.
        let is_none = |word: &&str| {
            word.split_once(':').is_some_and(|(kind, rest)| {
                kind.len() > 1
                    && kind.bytes().all(|b| b.is_ascii_lowercase())
                    && !rest.is_empty()
                    && !rest.starts_with('/')
                    && !SOURCES.contains(&kind)
            })
        };
        if let Some(source) = rest.split([' ', ',', ';', '`', '"', '\'']).find(is_none) {
            found.push((column, format!("'{source}' is no source that plimsoll reads")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_written_for_everybody() {
        let told = |line: &str| secret_for_all(line).is_some();
        assert!(told(r#"- "oc -n a get secret b -o yaml > b.yaml""#));
        assert!(told(r#"- "oc -n a get secret,configmap -o yaml > b.yaml""#));
        assert!(!told(r#"- "umask 077; oc -n a get secret b -o yaml > b.yaml""#));
        assert!(!told(
            r#"- "oc -n a get secret b -o jsonpath='{.data.tls\.crt}' | base64 -d > b.crt""#
        ));
        assert!(!told(r#"- "oc -n a get configmap b -o yaml > b.yaml""#));
    }
}
