//! The gate: one command that installs what the tests need and passes them, on a machine that has
//! a Rust toolchain and the package registries, and nothing else.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{all_tests, bench, fuzz, generate, score, shell, tidy};

const CARGO_DENY: &str = "0.20.2";
const FUZZ_SECONDS: u64 = 10;

type Step = (&'static str, fn() -> Result<()>);

/// Cheap steps first, so that a typing error does not wait for a build.
const STEPS: &[Step] = &[
    ("install the tools that the tests need", install_tools),
    ("rustfmt", rustfmt),
    ("house rules (tidy)", tidy::run),
    ("clippy, warnings are errors", clippy),
    ("tests", all_tests::run),
    ("accuracy on the incident corpus, with its floors", || score::run(&[])),
    ("generated files are current", || generate::run(true)),
    ("licences, bans and sources of dependencies", dependencies),
    ("fuzz the parsers of files", fuzz_parsers),
    ("benchmark, smoke run without bars", bench_smoke),
];

pub fn run() -> Result<()> {
    let started = Instant::now();
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for (index, (title, step)) in STEPS.iter().enumerate() {
        println!("\n==> {}/{} {title}", index + 1, STEPS.len());
        let began = Instant::now();
        step().with_context(|| format!("step failed: {title}"))?;
        times.push((title, began.elapsed()));
    }
    println!("\n==> all steps passed");
    for (title, time) in times {
        println!("{:8.1} s  {title}", time.as_secs_f64());
    }
    println!("{:8.1} s  in all", started.elapsed().as_secs_f64());
    Ok(())
}

/// Program, package. Chromium is left to `install_chromium`: the tests do without it.
const TOOLS: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("g++", "g++"),
    ("make", "make"),
    ("gzip", "gzip"),
    ("rg", "ripgrep"),
    ("/usr/bin/time", "time"),
];

fn install_tools() -> Result<()> {
    let missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, _)| !shell::is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let browser_missing = !browser.iter().any(|program| shell::is_installed(program));
    if !missing.is_empty() || browser_missing {
        shell::run(apt_get().arg("update").arg("-qq"))?;
    }
    if !missing.is_empty() {
        println!("installing {}", missing.join(" "));
        shell::run(apt_install().args(&missing))?;
    }
    if browser_missing && shell::run(apt_install().arg("chromium")).is_err() {
        println!("note: no Chromium here, so the HTML report is not opened in a browser");
    }
    for component in ["fmt", "clippy"] {
        if !shell::succeeds(shell::cargo().args([component, "--version"])) {
            let name = if component == "fmt" { "rustfmt" } else { component };
            shell::run(shell::command("rustup").args(["component", "add", name]))?;
        }
    }
    Ok(())
}

fn apt_get() -> Command {
    let is_root = shell::output(shell::command("id").arg("-u")).is_ok_and(|id| id.trim() == "0");
    if is_root {
        return shell::command("apt-get");
    }
    let mut sudo = shell::command("sudo");
    sudo.arg("apt-get");
    sudo
}

fn apt_install() -> Command {
    let mut apt = apt_get();
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt.args(["install", "-y", "-qq", "--no-install-recommends"]);
    apt
}

fn rustfmt() -> Result<()> {
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    let fuzz = shell::root().join("fuzz");
    shell::run(shell::cargo().current_dir(fuzz).args(["fmt", "--check"]))
}

fn clippy() -> Result<()> {
    let args = ["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--"];
    shell::run(shell::cargo().args(args).args(["-D", "warnings"]))
}

/// The advisory database lives on GitHub. Where only registries can be reached, the rest is checked.
fn dependencies() -> Result<()> {
    let deny = cargo_deny()?;
    let mut check = shell::command(&deny);
    check.args(["check", "--hide-inclusion-graph"]);
    if !shell::succeeds(shell::command("timeout").args(["120", &deny, "fetch", "db"])) {
        println!("note: the advisory database cannot be reached, so advisories are not checked");
        check.args(["licenses", "bans", "sources"]);
    }
    shell::run(&mut check)
}

fn cargo_deny() -> Result<String> {
    if shell::is_installed("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    // Beside what `xtask/real` builds, so that the next checkout on this machine has it.
    let home = std::env::var_os("PLIMSOLL_LAB").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cache/plimsoll-lab")));
    let home = home.unwrap_or_else(|| shell::root().join("target/tools"));
    let tools = home.join(format!("cargo-deny-{CARGO_DENY}"));
    let program = tools.join("bin/cargo-deny");
    if !program.exists() {
        println!("installing cargo-deny {CARGO_DENY}, which takes some minutes, once");
        let mut install = shell::cargo();
        install.args(["install", "cargo-deny", "--quiet", "--locked", "--version", CARGO_DENY]);
        // A debug build of the tool is fast enough and compiles in half the time.
        install.arg("--debug").arg("--root").arg(&tools);
        shell::run(&mut install)?;
    }
    match program.to_str() {
        Some(path) => Ok(path.to_string()),
        None => bail!("the path of the repository is not UTF-8"),
    }
}

/// What reads from the network has property tests in its own crates; its libraries for TLS take longer to
/// build for this than all the rest together.
fn fuzz_parsers() -> Result<()> {
    let skip = vec!["live".into()];
    fuzz::run(&fuzz::Args { seconds: FUZZ_SECONDS, target: None, skip })
}

/// With the binary that the tests built: bars need a release build and a quiet machine.
fn bench_smoke() -> Result<()> {
    let plimsoll = PathBuf::from(shell::product("plimsoll")?.get_program());
    let check = bench::Check { hosts: 100, rounds: 1, bars: false, binary: Some(plimsoll.clone()) };
    for what in [None, Some(bench::What::Check(check))] {
        bench::run(&bench::Args {
            what,
            size: bench::Size(64 << 20),
            rounds: 1,
            keep: None,
            bars: false,
            curve: false,
            binary: Some(plimsoll.clone()),
        })?;
    }
    Ok(())
}
