//! Fuzzing on the stable compiler: the coverage flags are given to rustc here, so that neither a
//! nightly toolchain nor cargo-fuzz is needed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::shell;

/// Naming the target keeps build scripts and procedural macros free of the flags.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
const RUSTFLAGS: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

#[derive(clap::Args)]
pub struct Args {
    /// Time for each target.
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,
    /// Only this one.
    #[arg(long)]
    pub target: Option<String>,
    /// Not those of this package; may be given more than once.
    #[arg(long)]
    pub skip: Vec<String>,
}

pub fn run(args: &Args) -> Result<()> {
    let targets = match &args.target {
        Some(target) => vec![target.clone()],
        None => targets(&args.skip)?,
    };
    build(&targets)?;
    // A target is one thread, and there are two cores at least.
    let failed = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match fuzz(target, args.seconds) {
                        Ok(summary) => println!("{target:16} {summary}"),
                        Err(error) => {
                            println!("{target:16} FAILED\n{error:#}");
                            failed
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .push(target.as_str());
                        }
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !failed.is_empty() {
        bail!("fuzzing failed: {}", failed.join(", "));
    }
    Ok(())
}

/// One file a target: `fuzz/<package>/src/bin/<target>.rs`.
fn targets(skip: &[String]) -> Result<Vec<String>> {
    let mut targets = Vec::new();
    for package in fs::read_dir(shell::root().join("fuzz"))? {
        let package = package?.path();
        let folder = package.join("src/bin");
        if !folder.is_dir() || skip.iter().any(|name| package.ends_with(name)) {
            continue;
        }
        for file in fs::read_dir(folder)? {
            if let Some(name) = file?.path().file_stem() {
                targets.push(name.to_string_lossy().into_owned());
            }
        }
    }
    targets.sort();
    Ok(targets)
}

fn build(targets: &[String]) -> Result<()> {
    let started = Instant::now();
    let mut cargo = shell::command("cargo");
    cargo.current_dir(shell::root().join("fuzz"));
    cargo.args(["build", "--quiet", "--target", TRIPLE, "--target-dir", "target"]);
    for target in targets {
        cargo.args(["--bin", target]);
    }
    shell::run(cargo.env("RUSTFLAGS", RUSTFLAGS))?;
    println!("built {} targets in {:.0?}", targets.len(), started.elapsed());
    Ok(())
}

/// New inputs go to the first folder named, which is not committed; seeds stay as they are.
fn fuzz(target: &str, seconds: u64) -> Result<String> {
    let home = shell::root().join("fuzz");
    let corpus = home.join("corpus").join(target);
    let artifacts = home.join("artifacts").join(target);
    let seeds = home.join("seeds").join(target);
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let binary: PathBuf = [TRIPLE, "debug", target].iter().collect();
    let output = std::process::Command::new(home.join("target").join(binary))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-rss_limit_mb=2048", "-timeout=10", "-max_len=65536", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args([&corpus, &seeds])
        .output()
        .with_context(|| format!("cannot start the fuzz target {target}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(summary(&log));
    }
    bail!("{}\nhint: fuzz/target/{TRIPLE}/debug/{target} ARTIFACT repeats it", crash_report(&log))
}

fn summary(log: &str) -> String {
    let runs = log
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        .map_or("no", str::trim);
    let coverage = log
        .lines()
        .rev()
        .find_map(|line| line.split_once(" cov: "))
        .and_then(|(_, rest)| rest.split_whitespace().next())
        .unwrap_or("no");
    format!("{runs} runs, {coverage} edges, no crash")
}

/// The panic message and where the input was saved; the dump of bytes in between is noise.
fn crash_report(log: &str) -> String {
    let panic: Vec<&str> = log
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .take_while(|line| !line.starts_with("stack backtrace"))
        .take(40)
        .collect();
    let facts = log.lines().filter(|line| {
        line.starts_with("SUMMARY:")
            || line.contains("ERROR:")
            || line.contains("Test unit written")
    });
    panic.into_iter().chain(facts).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASH: &str = "#1 NEW cov: 12 ft: 3\nthread 'x' panicked at targets/a.rs:3:1:\nlines moved\n\
        stack backtrace:\n 0: noise\n==1== ERROR: libFuzzer: deadly signal\n0x62,0x3a,\n\
        artifact_prefix='a/'; Test unit written to a/crash-1\n";

    #[test]
    fn a_crash_is_reported_by_its_message_and_its_input() {
        let report = crash_report(CRASH);
        assert!(report.contains("lines moved") && report.contains("a/crash-1"), "{report}");
        assert!(!report.contains("noise") && !report.contains("0x62"), "{report}");
    }

    #[test]
    fn a_quiet_run_is_one_line() {
        let log =
            "#5 NEW cov: 10 ft: 2\n#9 DONE cov: 12 ft: 3\nstat::number_of_executed_units: 9\n";
        assert_eq!(summary(log), "9 runs, 12 edges, no crash");
    }

    #[test]
    fn every_target_has_seeds() {
        let targets = targets(&[]).unwrap();
        assert!(targets.contains(&"yaml_parse".to_string()));
        for target in targets {
            let seeds = shell::root().join("fuzz/seeds").join(&target);
            assert!(fs::read_dir(seeds).unwrap().count() > 0, "{target} has no seeds");
        }
    }
}
