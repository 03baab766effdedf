//! Nodes from the inside: on the node itself, in a debug pod, or over the system's `ssh`, so that jump
//! hosts, agents and its config work as they do for the user. One script reads everything.

mod blocks;
mod inside;
mod keep;
mod run;

use std::path::{Path, PathBuf};
use std::time::Instant;

use plimsoll_model::redact::redact;

use crate::api::Deadline;
use crate::archive::Out;
use crate::gaps::Gaps;
use blocks::{Block, Limits};
pub use inside::Inside;
use keep::Keeper;

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

/// A node, and what the API calls it where that is known.
#[derive(Clone, Debug)]
pub struct Whom {
    pub node: Node,
    pub known_as: Option<String>,
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

    /// Where `ssh` goes to.
    pub fn host(&self) -> Option<&str> {
        match self {
            Node::Here { .. } => None,
            Node::Ssh { destination } => destination.rsplit('@').next(),
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
pub fn read(whom: &Whom, deadline: Deadline, out: &Out, gaps: &Gaps, inside: &Inside) {
    let shown = whom.node.name();
    let mut child = match whom.node.start(SCRIPT, &[], &[]) {
        Ok(child) => child,
        Err(unanswered) => return gaps.add(format!("node {shown}"), &unanswered.0),
    };
    let mut keeper = Keeper::new(whom, out, gaps, inside);
    let end = Instant::now() + deadline.left();
    let listen = |stdout, take: &mut dyn FnMut(Block) -> bool| {
        blocks::read(stdout, Limits::default(), take).map_err(|error| error.to_string())
    };
    let heard = run::hear(&mut child, end, listen, |block| keeper.take(block).is_ok());
    run::stop(&mut child);
    let lacks = match heard.end {
        Some(Ok(true)) => None,
        Some(Ok(false)) => Some(why(&heard.complaints)),
        Some(Err(why)) => Some(why),
        None => Some("the time that was given for the whole reading is over".into()),
    };
    keeper.end(lacks);
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
