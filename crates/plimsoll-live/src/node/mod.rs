//! Nodes from the inside: on the node itself, in a debug pod, or over the system's `ssh`, so that jump
//! hosts, agents and its config work as they do for the user. One script reads everything.

mod blocks;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plimsoll_model::redact::redact;
use plimsoll_sources::without_secrets;

use crate::archive::Out;
use crate::gaps::Gaps;
use blocks::Found;

const SCRIPT: &str = include_str!("read.sh");
/// As root where that is possible without a password; else as far as the rights go.
const AS_ROOT: &str = "if sudo -n true 2>/dev/null; then exec sudo -n sh; else exec sh; fi";

/// A node that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// This machine, or the one whose root is mounted here, as in a debug pod.
    Here { root: PathBuf },
    /// `[USER@]HOST`, as `ssh` takes it.
    Ssh { destination: String },
}

impl Node {
    /// Whether a folder is the root of a machine that runs, so that commands can be run in it.
    pub fn is_running(root: &Path) -> bool {
        root.join("proc/1").exists() && root.join("etc/kubernetes").exists()
    }

    pub fn name(&self) -> String {
        match self {
            Node::Here { root } => root.display().to_string(),
            Node::Ssh { destination } => destination.clone(),
        }
    }

    /// Of the machine that this runs on.
    pub fn host_name(&self) -> Option<String> {
        let Node::Here { root } = self else { return None };
        let name = std::fs::read_to_string(root.join("etc/hostname")).ok()?;
        Some(name.trim().to_string()).filter(|name| !name.is_empty())
    }

    fn command(&self) -> Command {
        let mut command = match self {
            Node::Here { root } if root == Path::new("/") => Command::new("sh"),
            Node::Here { root } => {
                let mut command = Command::new("chroot");
                command.arg(root).arg("sh");
                command
            }
            Node::Ssh { destination } => {
                let mut command = Command::new("ssh");
                command
                    .args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"])
                    .args(["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"])
                    .args(["--", destination, AS_ROOT]);
                command
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Reads one node into `nodes/NAME/`. Waits; to be run where that hurts nobody.
pub fn read(node: &Node, limit: Duration, out: &Out, gaps: &Gaps) {
    let shown = node.name();
    let mut child = match node.command().spawn() {
        Ok(child) => child,
        Err(error) => return gaps.add(format!("node {shown}"), &error.to_string()),
    };
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    std::thread::scope(|scope| {
        // A node that stops in the middle would be waited for without end.
        let reader = scope.spawn(move || {
            let mut all = Vec::new();
            let whole = match stdout {
                Some(stdout) => blocks::read(stdout, |found| all.push(found)).unwrap_or(false),
                None => false,
            };
            (all, whole)
        });
        let complaints = scope.spawn(move || complaints(stderr));
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(SCRIPT.as_bytes());
        }
        stop_after(&mut child, limit);
        let (all, whole) = reader.join().unwrap_or_default();
        let complaints = complaints.join().unwrap_or_default();
        if all.is_empty() {
            return gaps.add(format!("node {shown}"), &why(&complaints));
        }
        if !whole {
            gaps.add(format!("part of node {shown}"), &why(&complaints));
        }
        write(&shown, all, out, gaps);
    });
}

fn stop_after(child: &mut Child, limit: Duration) {
    let begun = Instant::now();
    while let Ok(None) = child.try_wait() {
        if begun.elapsed() > limit {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn complaints(stderr: Option<impl std::io::Read>) -> String {
    let mut text = Vec::new();
    if let Some(stderr) = stderr {
        let _ = std::io::Read::read_to_end(&mut stderr.take(64 << 10), &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn why(complaints: &str) -> String {
    let last = complaints.lines().rev().find(|line| !line.trim().is_empty());
    match last {
        Some(line) => plimsoll_model::clip(&redact(line.trim())),
        None => "it did not answer, or stopped in the middle".into(),
    }
}

fn write(shown: &str, all: Vec<Found>, out: &Out, gaps: &Gaps) {
    let text = |path: &str| {
        let found = all.iter().find(|found| found.path == path)?;
        let name = std::str::from_utf8(&found.bytes).ok()?.trim().to_string();
        (!name.is_empty() && name != "localhost").then_some(name)
    };
    let name = text("commands/hostname").or_else(|| text("etc/hostname"));
    let name =
        name.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)));
    let Some(name) = name else {
        return gaps.add(format!("node {shown}"), "it does not tell its name");
    };
    for Found { path, bytes, status } in all {
        let is_command = path.starts_with("commands/");
        if is_command && status != Some(0) {
            gaps.note(format!("{path} of node {name}"), "the command did not succeed");
        }
        let (folder, bytes) = match path.as_str() {
            path if path.starts_with("etcd_info/") && status != Some(0) && bytes.is_empty() => {
                continue;
            }
            path if path.starts_with("etcd_info/") => (path.to_string(), bytes),
            path => {
                let Some(bytes) = without_secrets(path, bytes) else { continue };
                (format!("nodes/{name}/{path}"), bytes)
            }
        };
        let bytes = match std::str::from_utf8(&bytes) {
            Ok(text) => redact(text).to_string().into_bytes(),
            Err(_) => bytes,
        };
        if out.add_blocking(folder, bytes).is_err() {
            return;
        }
    }
}
