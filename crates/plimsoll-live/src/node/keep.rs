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
                self.denied.push(path);
                return Ok(());
            }
        };
        self.account_for(name, &found);
        let was_late = is_late(found.status);
        let Found { path, bytes, status, .. } = found;
        if path == "etc/hostname" || self.is_hidden(&path) {
            return Ok(());
        }
        if let Some(unit) = path.strip_prefix("journal/").and_then(|file| file.strip_suffix(".log"))
        {
            // An empty journal proves nothing: it was lost, or is not shown to this user.
            if bytes.is_empty() && unit == "kubelet" && !was_late {
                let why = "it is empty: lost, or no right to it";
                self.gaps.add(format!("{path} of node {name}"), why);
            }
            if !bytes.is_empty() || (self.is_root && !was_late) {
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
        if path == "etc/chrony.conf" {
            let servers = crate::probes::time_servers(&String::from_utf8_lossy(&bytes));
            self.inside.time_told_by(servers);
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
            self.denied.push(path.clone());
        }
        let shown = format!("{} of node {name}", path.trim_end_matches("/.denied"));
        if is_late(*status) {
            self.gaps.add(shown, "the command did not end in time");
        } else if found.is_denied() {
            self.gaps.add(shown, "no permission to read it");
        } else if path.starts_with("commands/") && *status != Some(0) {
            self.gaps.note(shown, "the command did not succeed");
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
fn is_late(status: Option<i32>) -> bool {
    const OUT_OF_TIME: i32 = 124;
    const KILLED: i32 = 137;
    matches!(status, Some(OUT_OF_TIME | KILLED))
}

/// A name that tells one machine from another, and leads nowhere else as a folder.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let is_none = ["", "localhost", "localhost.localdomain", "(none)"].contains(&name);
    !is_none && !name.starts_with('.') && name.len() < 254 && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plimsoll_model::capture::Missing;

    use super::*;
    use crate::archive::{Archive, out};
    use crate::node::Node;

    struct Kept {
        files: BTreeSet<String>,
        gaps: Vec<Missing>,
        inside: Inside,
    }

    fn found(path: &str, text: &str, status: i32) -> Block {
        let bytes = text.as_bytes().to_vec();
        Block::Found(Found { path: path.into(), bytes, status: Some(status), cut: false })
    }

    /// What is kept of a node that is read as root, and says this.
    fn kept(blocks: Vec<Block>) -> Kept {
        let node = Node::Ssh { destination: "core@192.0.2.1".into() };
        let whom = Whom { node, known_as: None };
        let (gaps, inside) = (Gaps::default(), Inside::default());
        let (out, members) = out();
        let writing = std::thread::spawn(move || {
            let mut archive = Archive::new(Vec::new(), plimsoll_model::Time::UNIX_EPOCH);
            archive.drain(members).unwrap();
            archive.finish().unwrap()
        });
        let mut keeper = Keeper::new(&whom, &out, &gaps, &inside);
        let first = [found("commands/hostname", "master-0\n", 0), found("commands/uid", "0\n", 0)];
        first.into_iter().chain(blocks).for_each(|block| keeper.take(block).unwrap());
        keeper.end(None);
        drop(out);
        let archive = writing.join().unwrap();
        let mut archive = tar::Archive::new(archive.as_slice());
        let path = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let path = entry.unwrap().path().unwrap().display().to_string();
            path.trim_start_matches("capture/nodes/master-0/").to_string()
        };
        let files = archive.entries().unwrap().map(path).collect();
        Kept { files, gaps: gaps.take(), inside }
    }

    #[test]
    fn a_folder_of_which_something_came_damaged_was_not_seen() {
        let seen = || found("etc/kubernetes/.seen", "", 0);
        let of_daemon = || found("etc/machine-config-daemon/.seen", "", 0);
        let whole = kept(vec![seen(), of_daemon()]);
        assert!(whole.files.contains("etc/kubernetes/.seen"), "{:?}", whole.files);
        let damaged = Block::Damaged("etc/kubernetes/kubeconfig".into());
        let part = kept(vec![damaged, seen(), of_daemon()]);
        assert!(!part.files.contains("etc/kubernetes/.seen"), "{:?}", part.files);
        assert!(part.files.contains("etc/machine-config-daemon/.seen"), "{:?}", part.files);
    }

    #[test]
    fn what_did_not_end_in_time_is_lacking_and_its_journal_is_left_to_others() {
        let kept = kept(vec![
            found("commands/df", "", 124),
            found("commands/chronyc_tracking", "", 1),
            found("etc/resolv.conf", "", 137),
            found("journal/kubelet.log", "", 124),
            found("journal/crio.log", "", 0),
        ]);
        let late = |what: &str| Missing {
            refused: true,
            what: format!("{what} of node master-0"),
            why: "the command did not end in time".into(),
        };
        let mut refused: Vec<Missing> = kept.gaps.into_iter().filter(|gap| gap.refused).collect();
        refused.sort();
        let expected = ["commands/df", "etc/resolv.conf", "journal/kubelet.log"].map(late);
        assert_eq!(refused, expected);
        let has = |unit: &str| kept.inside.has_journal("master-0", "", unit);
        assert!(!has("kubelet") && has("crio"));
    }

    #[test]
    fn who_tells_a_node_the_time_is_noticed_in_passing() {
        let kept = kept(vec![
            found("etc/chrony.conf", "pool time.example.com iburst\n", 0),
            found("etc/resolv.conf", "server other\n", 0),
        ]);
        assert_eq!(kept.inside.time_servers(), BTreeSet::from(["time.example.com".to_string()]));
    }
}
