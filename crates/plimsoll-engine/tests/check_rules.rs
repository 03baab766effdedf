//! The literate cases of every rule on configs: `knowledge/check/*/tests/cases.md`. A case is a good
//! config, edits, and every finding that follows; the good configs themselves have none.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use plimsoll_engine::PackFile;
use plimsoll_engine::check::{Asked, ConfigFile, Knowledge, check};
use plimsoll_install::{Method, Release};
use plimsoll_model::Snapshot;
use plimsoll_model::check::{Check, Finding, Origin, Severity};

/// Certificates of the cases are valid or not at this time.
const NOW: &str = "2025-12-03T18:42:00Z";
const INSTALL: &str = "install-config.yaml";
const AGENT: &str = "agent-config.yaml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge")
}

static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
    let mut files = Vec::new();
    collect(&root().join("check"), &mut files);
    Knowledge::load(&files).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>())
    })
});

fn collect(folder: &Path, files: &mut Vec<PackFile>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "yaml") {
            let shown = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            files.push(PackFile { path: shown, text: fs_err::read_to_string(&path).unwrap() });
        }
    }
}

#[derive(Default)]
struct Case {
    name: String,
    fires: bool,
    base: String,
    release: String,
    age_hours: Option<String>,
    edits: Vec<Edit>,
    expects: Vec<String>,
}

#[derive(Default)]
struct Edit {
    old: Vec<String>,
    new: Vec<String>,
}

fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: &str| format!("line {number}: {what}: {line}");
        if let Some(heading) = line.strip_prefix("## ").filter(|_| fence.is_none()) {
            let (kind, name) = heading.split_once(": ").ok_or_else(|| wrong("no kind of case"))?;
            let fires = match kind {
                "fires" => true,
                "quiet" => false,
                _ => return Err(wrong("a case is 'fires' or 'quiet'")),
            };
            let release = "4.18".to_string();
            cases.push(Case { name: name.into(), fires, release, ..Case::default() });
        } else if let Some(info) = line.strip_prefix("```") {
            if fence.take().is_some() {
                continue;
            }
            let mut words = info.split_whitespace();
            fence = words.next();
            let case = cases.last_mut().ok_or_else(|| wrong("a fence before the first case"))?;
            for word in words {
                match word.split_once('=') {
                    Some(("base", base)) => case.base = base.into(),
                    Some(("release", release)) => case.release = release.into(),
                    Some(("age-hours", hours)) => case.age_hours = Some(hours.into()),
                    _ => return Err(wrong("what is this")),
                }
            }
        } else if let (Some(fence), Some(case)) = (fence, cases.last_mut()) {
            match fence {
                "edit" => edit(case, line).ok_or_else(|| wrong("neither - nor +"))?,
                "expect" => case.expects.push(line.trim().into()),
                _ => return Err(wrong("a fence is 'edit' or 'expect'")),
            }
        }
    }
    Ok(cases)
}

fn edit(case: &mut Case, line: &str) -> Option<()> {
    if let Some(old) = line.strip_prefix('-') {
        if case.edits.last().is_none_or(|edit| !edit.new.is_empty()) {
            case.edits.push(Edit::default());
        }
        case.edits.last_mut()?.old.push(old.into());
    } else {
        case.edits.last_mut()?.new.push(line.strip_prefix('+')?.into());
    }
    Some(())
}

/// The files of a base after the edits of a case.
fn files(case: &Case) -> Result<Vec<(&'static str, String)>, String> {
    let mut files = Vec::new();
    for name in [INSTALL, AGENT] {
        let path = root().join("check/bases").join(format!("{}.{name}", case.base));
        if let Ok(text) = fs_err::read_to_string(path) {
            files.push((name, text.lines().map(str::to_string).collect::<Vec<_>>()));
        }
    }
    if files.is_empty() {
        return Err(format!("no base '{}'", case.base));
    }
    for edit in &case.edits {
        let mut places = Vec::new();
        for (file, (_, lines)) in files.iter().enumerate() {
            let found = lines.windows(edit.old.len()).enumerate();
            places.extend(found.filter(|(_, it)| **it == edit.old).map(|(at, _)| (file, at)));
        }
        let [(file, at)] = places[..] else {
            return Err(format!("{} places for {:?}", places.len(), edit.old));
        };
        files[file].1.splice(at..at + edit.old.len(), edit.new.iter().cloned());
    }
    Ok(files.into_iter().map(|(name, lines)| (name, lines.join("\n") + "\n")).collect())
}

fn judge(case: &Case) -> Result<Check, String> {
    judge_files(case, &files(case)?)
}

fn judge_files(case: &Case, files: &[(&'static str, String)]) -> Result<Check, String> {
    let named = |name: &str| {
        let file = files.iter().find(|(known, _)| *known == name);
        file.map(|(name, text)| ConfigFile { name, text })
    };
    let mut seen = Snapshot { now: Some(NOW.parse().unwrap()), ..Snapshot::default() };
    if let Some(hours) = &case.age_hours {
        seen.files.insert((0, "install-folder/age-hours".into()), hours.clone().into_bytes());
    }
    let asked = Asked {
        release: case.release.parse().map_err(|_| format!("release {}", case.release))?,
        method: if named(AGENT).is_some() { Method::Agent } else { Method::Ipi },
        installer: plimsoll_install::Installer::default(),
        install: named(INSTALL),
        agent: named(AGENT),
        seen: &seen,
        only: &[],
        skip: &[],
        suppressions: &[],
    };
    let found = check(&KNOWLEDGE, &asked).map_err(|error| error.to_string())?;
    Ok(found.folded())
}

fn told(check: &Check) -> Vec<String> {
    let severity = |severity| match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let all = check.findings.iter().map(|it| {
        let place = match it.line {
            0 => String::new(),
            line => format!(" {}:{line}:{}", it.file, it.column),
        };
        format!("finding {} {}{place}", it.id, severity(it.severity))
    });
    all.collect()
}

fn failures(case: &Case, states: &BTreeSet<String>) -> Vec<String> {
    let found = match judge(case) {
        Ok(check) => check,
        Err(error) => return vec![error],
    };
    let told = told(&found);
    let mut failures = Vec::new();
    let mut wanted = Vec::new();
    let mut speaks = false;
    for expect in &case.expects {
        if let Some(id) = expect.strip_prefix("no finding ") {
            speaks |= states.contains(id) && !case.fires;
            let is_it = |line: &&String| line.split(' ').nth(1) == Some(id);
            failures.extend(told.iter().find(is_it).map(|line| format!("there is {line}")));
        } else if expect == "nothing" {
            speaks |= !case.fires;
            failures.extend(told.iter().map(|line| format!("there is {line}")));
        } else {
            let id = expect.split(' ').nth(1).unwrap_or_default();
            speaks |= states.contains(id) && case.fires;
            wanted.push(expect.clone());
        }
    }
    if !speaks {
        failures.push("no expectation is about a state of this folder".into());
    }
    // A fault is told once: what else is found must be named.
    if case.fires {
        let lacking = wanted.iter().filter(|line| !told.contains(line));
        failures.extend(lacking.map(|line| format!("not told: {line}")));
        let more = told.iter().filter(|line| !wanted.contains(line));
        failures.extend(more.map(|line| format!("told as well: {line}")));
    }
    let secret = ["not-a-password", "Zm9vOmJhcg=="];
    let shown = format!("{found:?}");
    if let Some(secret) = secret.iter().find(|secret| shown.contains(**secret)) {
        failures.push(format!("a secret is shown: {secret}"));
    }
    for finding in &found.findings {
        let words = [Some(&finding.message), finding.hint.as_ref(), finding.why.as_ref()];
        let unknown = words.iter().flatten().find(|text| text.contains("(unknown)"));
        failures.extend(unknown.map(|text| format!("a sentence with a gap: {text}")));
        if finding.origin == Origin::Plimsoll && finding.hint.is_none() {
            failures.push(format!("{} has no hint", finding.id));
        }
    }
    failures
}

fn case_file(path: &Path, text: String) -> datatest_stable::Result<()> {
    let folder = path.parent().and_then(Path::parent).and_then(Path::file_name).unwrap();
    let own = format!("check/{}/case.yaml", folder.to_string_lossy());
    let states: BTreeSet<String> = (KNOWLEDGE.pack.states.iter())
        .filter(|state| state.at.path == own)
        .map(|state| state.id.clone())
        .collect();
    let mut failures_of_file = Vec::new();
    if states.is_empty() {
        failures_of_file.push(format!("{own} has no state"));
    }
    let cases = parse(&text)?;
    for (kind, fires) in [("fires", true), ("quiet", false)] {
        if !cases.iter().any(|case| case.fires == fires) {
            failures_of_file.push(format!("no case '{kind}'"));
        }
    }
    for state in &states {
        let of_it = |line: &String| {
            line.strip_prefix("finding ").is_some_and(|rest| rest.split(' ').next() == Some(state))
        };
        if !cases.iter().any(|case| case.fires && case.expects.iter().any(of_it)) {
            failures_of_file.push(format!("no case in which {state} fires"));
        }
    }
    for case in &cases {
        let failures = failures(case, &states);
        failures_of_file.extend(failures.iter().map(|it| format!("{}: {it}", case.name)));
    }
    if failures_of_file.is_empty() { Ok(()) } else { Err(failures_of_file.join("\n").into()) }
}

/// A base is a config that is good as it stands; an older installer may not know all of its keys.
fn base(path: &Path, _: String) -> datatest_stable::Result<()> {
    let name = path.file_name().unwrap().to_string_lossy();
    let base = name.split('.').next().unwrap_or_default().to_string();
    let mut failures = Vec::new();
    for release in Release::ALL {
        let case = Case { base: base.clone(), release: release.to_string(), ..Case::default() };
        let mut found = judge(&case)?;
        found.findings.retain(|it| release >= Release::V4_18 || it.origin == Origin::Plimsoll);
        failures.extend(told(&found).iter().map(|line| format!("{release}: {line}")));
        // All that a rule needs is known of a whole config.
        let own = |id: &str| KNOWLEDGE.pack.state(id).is_some();
        let unknown = found.not_checked.iter().filter(|it| own(&it.id));
        failures.extend(unknown.map(|it| format!("{release}: {} {}", it.id, it.why)));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

/// A value of the wrong type in place of each value of a good config: nothing else is wrong with it.
fn half_read(path: &Path, _: String) -> datatest_stable::Result<()> {
    let name = path.file_name().unwrap().to_string_lossy();
    let base = name.split('.').next().unwrap_or_default().to_string();
    let case = Case { base, release: "4.18".into(), ..Case::default() };
    let files = files(&case)?;
    let mut failures = BTreeSet::new();
    for (file, (_, text)) in files.iter().enumerate() {
        for (line, broken) in broken(text) {
            let mut files = files.clone();
            files[file].1 = broken;
            let found = judge_files(&case, &files)?;
            let is_it = |it: &&Finding| it.id == "value-of-wrong-type" && it.line == line;
            let Some(fault) = found.findings.iter().find(is_it) else { continue };
            let others = found.findings.iter().filter(|it| it.id != fault.id);
            failures.extend(others.map(|it| format!("{} <- {}", it.id, fault.path)));
        }
    }
    let failures: Vec<_> = failures.into_iter().collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn broken(text: &str) -> Vec<(u32, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((key, _)) = line.split_once(':') else { continue };
        let name = key.trim_start_matches([' ', '-']);
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric()) {
            continue;
        }
        let own = key.len() - name.len();
        let deeper = |line: &&&str| {
            let bare = line.trim_start();
            let spaces = line.len() - bare.len();
            bare.is_empty() || spaces > own || (spaces == own && bare.starts_with("- "))
        };
        let end = at + 1 + lines[at + 1..].iter().take_while(deeper).count();
        for with in ["[[1]]", "7", "{x: 1}"] {
            let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_string()).collect();
            lines[at] = format!("{key}: {with}");
            lines[at + 1..end].fill(String::new());
            all.push((u32::try_from(at + 1).unwrap(), lines.join("\n") + "\n"));
        }
    }
    all
}

/// Every folder has its cases.
fn folder(path: &Path) -> datatest_stable::Result<()> {
    let cases = path.with_file_name("tests").join("cases.md");
    if cases.is_file() { Ok(()) } else { Err(format!("no {}", cases.display()).into()) }
}

datatest_stable::harness! {
    { test = case_file, root = "../../knowledge/check", pattern = r"tests/cases\.md$" },
    { test = base, root = "../../knowledge/check/bases", pattern = r"install-config\.yaml$" },
    { test = half_read, root = "../../knowledge/check/bases", pattern = r"install-config\.yaml$" },
    { test = folder, root = "../../knowledge/check", pattern = r"^(?!live/).*case\.yaml$" },
}
