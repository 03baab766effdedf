//! What a node told, kept below `nodes/NAME/` as it comes.

use plimsoll_model::redact::redact;
use plimsoll_sources::without_secrets;

use super::blocks::{Block, Found};
use super::{Inside, Whom};
use crate::archive::{Closed, Out};
use crate::bmcs::file_name;
use crate::gaps::Gaps;

/// Blocks that wait for the name of the node; it is told with the second.
const MOST_HELD: usize = 8;
/// Nodes of one name, reached under one name.
const MOST_ALIKE: usize = 1000;

pub struct Keeper<'k> {
    whom: &'k Whom,
    out: &'k Out,
    gaps: &'k Gaps,
    inside: &'k Inside,
    /// Under which it is kept.
    name: Option<String>,
    held: Vec<Block>,
    /// Files and folders that could not be read.
    denied: Vec<String>,
    is_root: bool,
}

impl<'k> Keeper<'k> {
    pub fn new(whom: &'k Whom, out: &'k Out, gaps: &'k Gaps, inside: &'k Inside) -> Self {
        Self {
            whom,
            out,
            gaps,
            inside,
            name: None,
            held: Vec::new(),
            denied: Vec::new(),
            is_root: false,
        }
    }

    pub fn take(&mut self, block: Block) -> Result<(), Closed> {
        if let Some(name) = self.name.clone() {
            return self.keep(&name, block);
        }
        let is_name = matches!(&block, Block::Found(found) if found.path == "commands/hostname");
        self.held.push(block);
        match is_name || self.held.len() >= MOST_HELD {
            true => self.keep_held(),
            false => Ok(()),
        }
    }

    /// `lacks` says why not everything came.
    pub fn end(mut self, lacks: Option<String>) {
        let shown = self.whom.node.name();
        let is_empty = self.name.is_none() && self.held.is_empty();
        if let Some(why) = &lacks {
            let part = if is_empty { "" } else { "part of " };
            self.gaps.add(format!("{part}node {shown}"), why);
        }
        if self.name.is_none() && !is_empty {
            // Who listens no more wants no more.
            let _ = self.keep_held();
        }
    }

    fn keep_held(&mut self) -> Result<(), Closed> {
        let name = self.settle();
        self.name = Some(name.clone());
        // One name for one machine: that under which it runs.
        self.add(&name, "etc/hostname", format!("{name}\n").into_bytes())?;
        std::mem::take(&mut self.held).into_iter().try_for_each(|block| self.keep(&name, block))
    }

    /// The name that it says, unless another has said the same; else that by which it was reached.
    fn settle(&self) -> String {
        let told = |path: &str| {
            let found = self.held.iter().find_map(|block| match block {
                Block::Found(found) if found.path == path => Some(found),
                _ => None,
            })?;
            let name = std::str::from_utf8(&found.bytes).ok()?.trim();
            is_name(name).then(|| name.to_string())
        };
        let said = told("commands/hostname").or_else(|| told("etc/hostname"));
        let shown = self.whom.node.name();
        let reached = file_name(self.whom.node.host().unwrap_or("node"));
        let mut names: Vec<String> = said.iter().chain(&self.whom.known_as).cloned().collect();
        names.push(reached.clone());
        names.extend((2..MOST_ALIKE).map(|number| format!("{reached}-{number}")));
        let name = self.inside.claim(&names).unwrap_or(reached);
        match said {
            Some(said) if said == name => {}
            Some(said) => {
                let why =
                    format!("it says that it is {said}, as another does; it is kept as {name}");
                self.gaps.note(format!("the name of node {shown}"), &why);
            }
            None => {
                let why = format!("it does not tell its name; it is kept as {name}");
                self.gaps.note(format!("the name of node {shown}"), &why);
            }
        }
        name
    }

    fn keep(&mut self, name: &str, block: Block) -> Result<(), Closed> {
        let found = match block {
            Block::Found(found) => found,
            Block::Damaged(path) => {
                self.gaps.add(format!("{path} of node {name}"), "it came damaged");
                return Ok(());
            }
        };
        self.account_for(name, &found);
        let Found { path, bytes, status, .. } = found;
        if path == "etc/hostname" || self.is_hidden(&path) {
            return Ok(());
        }
        if let Some(unit) = path.strip_prefix("journal/").and_then(|file| file.strip_suffix(".log"))
        {
            // An empty journal proves nothing: it was lost, or is not shown to this user.
            if bytes.is_empty() && unit == "kubelet" {
                let why = "it is empty: lost, or no right to it";
                self.gaps.add(format!("{path} of node {name}"), why);
            }
            if !bytes.is_empty() || self.is_root {
                let reached = self.whom.node.host().unwrap_or(name);
                [name, reached].iter().for_each(|node| self.inside.journal(node, unit));
            }
            if bytes.is_empty() {
                return Ok(());
            }
        }
        if path.starts_with("etcd_info/") && status != Some(0) && bytes.is_empty() {
            return Ok(());
        }
        match without_secrets(&path, bytes) {
            Some(bytes) => {
                self.add(name, &path, redact(&String::from_utf8_lossy(&bytes)).into_bytes())
            }
            None => Ok(()),
        }
    }

    /// What is to be told of a block, whether it is kept or not.
    fn account_for(&mut self, name: &str, found: &Found) {
        let Found { path, bytes, status, cut } = found;
        if path == "commands/uid" {
            self.is_root = bytes.trim_ascii() == b"0";
            if !self.is_root && !bytes.is_empty() {
                let why = "it was not read as root: files, journals and containers may be missing";
                self.gaps.add(format!("part of node {name}"), why);
            }
        }
        if found.is_denied() {
            let shown = path.trim_end_matches("/.denied");
            self.gaps.add(format!("{shown} of node {name}"), "no permission to read it");
            self.denied.push(path.clone());
        }
        let why = match status {
            Some(OUT_OF_TIME | KILLED) => Some("the command did not end in time"),
            status if path.starts_with("commands/") && *status != Some(0) => {
                Some("the command did not succeed")
            }
            _ => None,
        };
        if let Some(why) = why {
            self.gaps.note(format!("{path} of node {name}"), why);
        }
        if *cut {
            let why = "it is too long: only its newest lines are kept";
            self.gaps.note(format!("the beginning of {path} of node {name}"), why);
        }
    }

    /// What could not be read may be there: its folder was not seen.
    fn is_hidden(&self, path: &str) -> bool {
        let hides = |folder: &str| self.denied.iter().any(|path| path.starts_with(folder));
        self.denied.iter().any(|denied| denied == path)
            || path.strip_suffix(".seen").is_some_and(hides)
    }

    fn add(&self, name: &str, path: &str, bytes: Vec<u8>) -> Result<(), Closed> {
        self.out.add_blocking(format!("nodes/{name}/{path}"), bytes)
    }
}

/// As `timeout` ends.
const OUT_OF_TIME: i32 = 124;
const KILLED: i32 = 137;

/// A name that tells one machine from another, and leads nowhere else as a folder.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_none = ["", "localhost", "localhost.localdomain", "(none)"].contains(&name);
    !is_none && !name.starts_with('.') && name.len() < 254 && name.chars().all(plain)
}
