//! All tests of the workspace, as `cargo test --workspace` runs them, but three programs at a time: those that
//! start real servers wait much, and the others do not.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::shell;

const AT_A_TIME: usize = 3;
/// They begin first, so that none of them is left alone at the end.
const LONGEST: [&str; 6] = [
    "plimsoll/fix",
    "plimsoll/live",
    "plimsoll/csr",
    "plimsoll/promises",
    "plimsoll/cases",
    "plimsoll/rules",
];
/// Longer than any other: they are run in halves, each with servers of its own.
const HALVED: [&str; 2] = ["plimsoll/fix", "plimsoll/live"];

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Program {
    /// Of the package, below `crates`, and of the test.
    name: String,
    executable: PathBuf,
    folder: PathBuf,
    half: Option<&'static str>,
}

impl Program {
    fn shown(&self) -> String {
        self.half.map_or_else(|| self.name.clone(), |half| format!("{} {half}", self.name))
    }
}

pub fn run() -> Result<()> {
    let programs = in_order(programs()?);
    let failed = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(one) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    told(one, &failed);
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!("{} failed: {}", failed.len(), failed.join(", "));
    }
    Ok(())
}

fn in_order(programs: Vec<Program>) -> Vec<Program> {
    let mut all = Vec::new();
    for program in programs {
        if HALVED.contains(&program.name.as_str()) {
            let halves = ["1/2", "2/2"].map(Some);
            all.extend(halves.map(|half| Program { half, ..program.clone() }));
        } else {
            all.push(program);
        }
    }
    let place = |one: &Program| LONGEST.iter().position(|name| *name == one.name);
    all.sort_by_key(|one| place(one).unwrap_or(LONGEST.len()));
    all
}

/// One line where it went well, and everything it said where it did not.
fn told(program: &Program, failed: &Mutex<Vec<String>>) {
    let began = Instant::now();
    let ran = ran(program);
    let time = began.elapsed();
    match ran {
        Ok(summary) => println!("{}", line(&program.shown(), time, &summary)),
        Err(said) => {
            println!("{}\n{said:#}", line(&program.shown(), time, "FAILED"));
            failed.lock().unwrap_or_else(PoisonError::into_inner).push(program.shown());
        }
    }
}

fn line(name: &str, time: Duration, said: &str) -> String {
    format!("{:8.1} s  {name}: {said}", time.as_secs_f64())
}

fn ran(program: &Program) -> Result<String> {
    let output = Command::new(&program.executable)
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .envs(program.half.map(|half| ("PLIMSOLL_HALF", half)))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {}", program.executable.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("{said}{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(summary(&said))
}

fn summary(said: &str) -> String {
    let result = said.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let counts = result.and_then(|line| line.split_once("; 0 measured")).map(|(counts, _)| counts);
    counts.unwrap_or("ok").replace("ok. ", "").replace("; 0 failed", "").replace("; 0 ignored", "")
}

fn programs() -> Result<Vec<Program>> {
    let args = ["test", "--workspace", "--locked", "--no-run", "--quiet"];
    let messages =
        shell::output(shell::cargo().args(args).arg("--message-format=json-render-diagnostics"))?;
    let mut programs: Vec<Program> = messages.lines().filter_map(program).collect();
    programs.sort();
    match programs.is_empty() {
        true => bail!("there are no tests"),
        false => Ok(programs),
    }
}

/// A message of Cargo's, if it is of a test program.
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    let is_test = message["profile"]["test"].as_bool()?;
    let executable = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    let target = message["target"]["name"].as_str()?;
    let name = format!("{}/{target}", folder.file_name()?.to_string_lossy());
    Some(Program { name, executable, folder, half: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_program_is_told_from_other_artifacts() {
        let message = |test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/crates/a/Cargo.toml","target":{{"name":"live"}},"profile":{{"test":{test}}},"executable":"/p/target/debug/deps/live-1"}}"#
            )
        };
        assert_eq!(program(&message(true)).unwrap().name, "a/live");
        assert_eq!(program(&message(false)), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn the_longest_begin_first_and_the_longest_of_all_in_halves() {
        let one = |name: &str| Program {
            name: name.into(),
            executable: PathBuf::new(),
            folder: PathBuf::new(),
            half: None,
        };
        let all = ["a/b", "plimsoll/csr", "plimsoll/live", "plimsoll/fix", "x/fix"];
        let shown = in_order(all.map(one).to_vec());
        let shown: Vec<String> = shown.iter().map(Program::shown).collect();
        let [fix, live] = ["plimsoll/fix", "plimsoll/live"]
            .map(|name| ["1/2", "2/2"].map(|half| format!("{name} {half}")));
        let rest = ["plimsoll/csr", "a/b", "x/fix"].map(String::from);
        assert_eq!(shown, [&fix[..], &live, &rest].concat());
    }

    #[test]
    fn a_run_is_one_line() {
        let said = "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        assert_eq!(summary(said), "2 passed; 1 ignored");
        assert_eq!(summary("said otherwise"), "ok");
    }
}
