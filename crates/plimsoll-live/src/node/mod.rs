//! Nodes from the inside: on the node itself, in a debug pod, or over the system's `ssh`, so that jump
//! hosts, agents and its config work as they do for the user. One script reads everything.

mod blocks;
mod run;

use std::path::{Path, PathBuf};

use plimsoll_model::redact::redact;
use plimsoll_sources::without_secrets;

use crate::api::Deadline;
use crate::archive::Out;
use crate::gaps::Gaps;
use blocks::Found;

pub use run::{Output, Unanswered};

const SCRIPT: &str = include_str!("read.sh");

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
        root == Path::new("/") || ["proc/1", "bin/sh"].iter().all(|path| root.join(path).exists())
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
        // The name it runs under is the one its kubelet took.
        let names = ["proc/sys/kernel/hostname", "etc/hostname"];
        let mut names =
            names.iter().filter_map(|path| std::fs::read_to_string(root.join(path)).ok());
        names.find_map(|name| Some(name.trim().to_string()).filter(|name| !name.is_empty()))
    }
}

/// Reads one node into `nodes/NAME/`. Waits; to be run where that hurts nobody.
pub fn read(node: &Node, deadline: Deadline, out: &Out, gaps: &Gaps) {
    let shown = node.name();
    let mut child = match node.start(SCRIPT, &[], &[]) {
        Ok(child) => child,
        Err(unanswered) => return gaps.add(format!("node {shown}"), &unanswered.0),
    };
    // In threads that are not waited for: a command on a dead disk ends for nobody, and holds its
    // output open.
    let (said, hear) = std::sync::mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        let said = said.clone();
        std::thread::spawn(move || {
            let read = blocks::read(stdout, |found| drop(said.send(Said::Found(found))));
            let _ = said.send(Said::End(read.unwrap_or(false)));
        });
    }
    let stderr = child.stderr.take();
    std::thread::spawn(move || said.send(Said::Complaints(complaints(stderr))));
    let mut all = Vec::new();
    let (mut whole, mut told) = (None, None);
    while whole.is_none() || told.is_none() {
        match hear.recv_timeout(deadline.left()) {
            Ok(Said::Found(found)) => all.push(found),
            Ok(Said::End(end)) => whole = Some(end),
            Ok(Said::Complaints(text)) => told = Some(text),
            Err(_) => break,
        }
    }
    let in_time = whole.is_some();
    run::stop(&mut child);
    let why = match in_time {
        true => why(&told.unwrap_or_default()),
        false => "the time that was given for the whole reading is over".into(),
    };
    if all.is_empty() {
        return gaps.add(format!("node {shown}"), &why);
    }
    if whole != Some(true) {
        gaps.add(format!("part of node {shown}"), &why);
    }
    write(&shown, all, out, gaps);
}

enum Said {
    Found(Found),
    /// Whether the script came to its end.
    End(bool),
    Complaints(String),
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
    let name = name.filter(|name| {
        !name.starts_with('.')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
    });
    let Some(name) = name else {
        return gaps.add(format!("node {shown}"), "it does not tell its name");
    };
    if text("commands/uid").is_some_and(|uid| uid != "0") {
        let why = "it was not read as root: files, journals and containers may be missing";
        gaps.add(format!("part of node {name}"), why);
    }
    let denied: Vec<String> =
        all.iter().filter(|found| found.is_denied()).map(|f| f.path.clone()).collect();
    for path in &denied {
        let shown = path.trim_end_matches("/.denied");
        gaps.add(format!("{shown} of node {name}"), "no permission to read it");
    }
    for Found { path, bytes, status } in all {
        let is_command = path.starts_with("commands/");
        if is_command && status != Some(0) {
            gaps.note(format!("{path} of node {name}"), "the command did not succeed");
        }
        // What could not be read may be there: its folder was not seen.
        let hides = |folder: &str| denied.iter().any(|path| path.starts_with(folder));
        if denied.contains(&path) || path.strip_suffix(".seen").is_some_and(hides) {
            continue;
        }
        // An empty journal proves nothing: it was lost, or is not shown to this user.
        if path.starts_with("journal/") && bytes.is_empty() {
            if path == "journal/kubelet.log" {
                gaps.add(format!("{path} of node {name}"), "it is empty: lost, or no right to it");
            }
            continue;
        }
        let (folder, bytes) = match path.as_str() {
            path if path.starts_with("etcd_info/") && status != Some(0) && bytes.is_empty() => {
                continue;
            }
            // One name for one machine: that under which it runs.
            "etc/hostname" => (format!("nodes/{name}/{path}"), format!("{name}\n").into_bytes()),
            path => {
                let Some(bytes) = without_secrets(path, bytes) else { continue };
                (format!("nodes/{name}/{path}"), bytes)
            }
        };
        let bytes = redact(&String::from_utf8_lossy(&bytes)).into_bytes();
        if out.add_blocking(folder, bytes).is_err() {
            return;
        }
    }
}
