//! Files and services of one node: on the node itself, in a folder that holds its root, or over `ssh`.
//! Copies of what was there stay on the node, and nothing of a content is ever said.

mod answer;
mod standing;

use std::path::Path;
use std::time::Duration;

use plimsoll_live::Node;
use plimsoll_model::plan::{Action, Content, LOCALHOST_MAKER, Step, sha256};
use serde_json::Value;

use crate::make::{self, LOCALHOST_KUBECONFIG, Made, Reads};
use crate::target::{Kept, Sight, Target, Trouble};
use answer::Answer;

const HANDS: &str = include_str!("node/hands.sh");
/// Where a kubelet puts copies of the certificate and key in its kubeconfig when it starts.
const COPIES: &str = "/var/lib/kubelet/pki/kubelet-client-*";
/// A kubelet may take its time to stop.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct NodeTarget<'r> {
    /// As the plan calls it.
    name: String,
    node: Node,
    /// Where its root is, for a machine that does not run.
    root: Option<String>,
    session: String,
    reads: &'r dyn Reads,
}

impl<'r> NodeTarget<'r> {
    /// `session` names the folder of copies on the node.
    pub fn new(
        name: &str,
        node: Node,
        session: &str,
        reads: &'r dyn Reads,
    ) -> Result<Self, Trouble> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if session.is_empty() || session.starts_with('.') || !session.chars().all(is_plain) {
            return Err(Trouble::Refused(format!("'{session}' is no name of a session")));
        }
        let (node, root) = reached(node)?;
        Ok(Self { name: name.into(), node, root, session: session.into(), reads })
    }

    /// A file of the node, as it is. For makers; it is shown to nobody.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, Trouble> {
        read(&self.node, self.root.as_deref(), path)
    }

    /// Whether the machine whose root this is runs.
    fn runs(&self) -> Result<(), Trouble> {
        match &self.root {
            Some(root) => Err(Trouble::Failed(format!("no services run below {root}"))),
            None => Ok(()),
        }
    }

    fn ask(&self, step: &Step, verb: &str, more: &[&str], stdin: &[u8]) -> Result<Answer, Trouble> {
        let number = step.number.to_string();
        let root = self.root.as_deref().unwrap_or_default();
        let mut arguments = vec![verb, root, &self.session, &number];
        arguments.extend(more);
        let output = self
            .node
            .run(HANDS, &arguments, stdin, PATIENCE)
            .map_err(|lost| Trouble::Lost(format!("{}: {lost}", self.name)))?;
        answer::read(&output, &self.name)
    }

    /// What is to be written, unless it never leaves the node.
    fn content(&self, content: &Content) -> Result<Vec<u8>, Trouble> {
        match content {
            Content::Plan { value: Value::String(text) } => Ok(text.clone().into_bytes()),
            Content::Plan { value } => Ok(format!("{value:#}\n").into_bytes()),
            Content::Maker { maker, inputs } => {
                make::make(maker, inputs, self.reads).map(Made::into_bytes)
            }
        }
    }

    fn look_at_file(
        &self,
        step: &Step,
        path: &str,
        mode: u32,
        content: &Content,
    ) -> Result<Sight, Trouble> {
        let answer = match copied_from(content) {
            Some(source) => self.ask(step, "look-file", &[path, source], &[])?,
            None => self.ask(step, "look-file", &[path], &[])?,
        };
        let mut standing = standing::of_file(&answer, path, mode, None);
        // Only what was not written yet is held against what would be: to take a step back, nobody has
        // to be able to make it again.
        if answer.wrote.is_none() && copied_from(content).is_none() {
            match self.content(content) {
                Ok(bytes) => {
                    standing = standing::of_file(&answer, path, mode, Some(&sha256(&bytes)));
                }
                Err(_) if answer.keeps => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(Sight { standing, hash: answer.hash(), object: None })
    }
}

/// Where scripts are run, and the root that they work below.
fn reached(node: Node) -> Result<(Node, Option<String>), Trouble> {
    match node {
        Node::Here { root } if !Node::is_running(&root) => {
            let whole =
                fs_err::canonicalize(&root).map_err(|error| Trouble::Failed(error.to_string()))?;
            let text = whole.to_str().map(str::to_string);
            let text =
                text.ok_or_else(|| Trouble::Failed(format!("{} is no name", root.display())))?;
            Ok((Node::Here { root: Path::new("/").into() }, Some(text)))
        }
        node => Ok((node, None)),
    }
}

/// A file of a node, for makers.
pub fn read_file(node: &Node, path: &str) -> Result<Vec<u8>, Trouble> {
    let (node, root) = reached(node.clone())?;
    read(&node, root.as_deref(), path)
}

fn read(node: &Node, root: Option<&str>, path: &str) -> Result<Vec<u8>, Trouble> {
    plain_path(path, false)?;
    let arguments = ["read", root.unwrap_or_default(), "-", "-", path];
    let output = node
        .run(HANDS, &arguments, &[], PATIENCE)
        .map_err(|lost| Trouble::Lost(format!("{}: {lost}", node.name())))?;
    match output.status {
        Some(0) => Ok(output.stdout),
        _ => Err(answer::read(&output, &node.name())
            .err()
            .unwrap_or_else(|| Trouble::Failed(format!("{}: {path} cannot be read", node.name())))),
    }
}

/// The file of the node itself that is copied there.
fn copied_from(content: &Content) -> Option<&'static str> {
    match content {
        Content::Maker { maker, .. } if maker == LOCALHOST_MAKER => Some(LOCALHOST_KUBECONFIG),
        _ => None,
    }
}

/// The file that is written, and what comes to hold the same credential by it.
fn with_copies<'a>(path: &'a str, content: &Content) -> Vec<&'a str> {
    let copies = copied_from(content).map(|_| COPIES);
    [path].into_iter().chain(copies).collect()
}

/// Whole, and leading nowhere else. A pattern may stand in the last part only.
fn plain_path(path: &str, pattern: bool) -> Result<(), Trouble> {
    let refused = || Err(Trouble::Refused(format!("'{path}' is no path that a plan may name")));
    let Some(rest) = path.strip_prefix('/') else { return refused() };
    let parts: Vec<&str> = rest.split('/').collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        let fits = |c: char| is_plain(c) || (c == '*' && pattern && last);
        if matches!(*part, "" | "." | ".." | "*") || !part.chars().all(fits) {
            return refused();
        }
    }
    Ok(())
}

fn plain_unit(unit: &str) -> Result<(), Trouble> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    match !unit.is_empty() && !unit.starts_with('-') && unit.chars().all(is_plain) {
        true => Ok(()),
        false => Err(Trouble::Refused(format!("'{unit}' is no name of a service"))),
    }
}

fn plain_paths(paths: &[String]) -> Result<Vec<&str>, Trouble> {
    paths.iter().map(|path| plain_path(path, true).map(|()| path.as_str())).collect()
}

fn foreign() -> Trouble {
    Trouble::Failed("this is nothing that is done on a node".into())
}

impl Target for NodeTarget<'_> {
    fn look(&self, step: &Step) -> Result<Sight, Trouble> {
        match &step.action {
            Action::WriteFile { path, mode, content } => {
                plain_path(path, false)?;
                self.look_at_file(step, path, *mode, content)
            }
            Action::Retire { paths } => {
                let answer = self.ask(step, "look-files", &plain_paths(paths)?, &[])?;
                let standing = standing::of_files(&answer);
                Ok(Sight { standing, hash: answer.hash(), object: None })
            }
            Action::Unit { unit, verb } => {
                plain_unit(unit)?;
                self.runs()?;
                let answer = self.ask(step, "look-unit", &[unit], &[])?;
                let standing = standing::of_unit(&answer, *verb);
                Ok(Sight { standing, hash: answer.hash(), object: None })
            }
            _ => Err(foreign()),
        }
    }

    /// A node has no dry run. What can be found out is that the content can be made.
    fn rehearse(&self, step: &Step) -> Result<(), Trouble> {
        match &step.action {
            Action::WriteFile { content, .. } if copied_from(content).is_none() => {
                self.content(content).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble> {
        let answer = match &step.action {
            Action::WriteFile { path, content, .. } => {
                plain_path(path, false)?;
                self.ask(step, "keep-file", &with_copies(path, content), &[])?
            }
            Action::Retire { paths } => self.ask(step, "keep-files", &plain_paths(paths)?, &[])?,
            Action::Unit { unit, .. } => {
                plain_unit(unit)?;
                self.runs()?;
                self.ask(step, "keep-unit", &[unit], &[])?
            }
            _ => return Err(foreign()),
        };
        let folder = format!("/var/lib/plimsoll/{}/{}/kept/files", self.session, step.number);
        let copies = answer.kept.iter().filter(|file| file.kind != "absent");
        let kept = copies.map(|file| Kept {
            place: format!("{}:{folder}{}", self.name, file.path),
            sha256: file.sum.clone(),
        });
        Ok(kept.collect())
    }

    fn act(&self, step: &Step) -> Result<String, Trouble> {
        match &step.action {
            Action::WriteFile { path, mode, content } => {
                plain_path(path, false)?;
                let mode = format!("{:o}", mode & 0o7777);
                if let Some(source) = copied_from(content) {
                    self.ask(step, "write-file", &[path, &mode, "-", source], &[])?;
                } else {
                    let bytes = self.content(content)?;
                    let sum = sha256(&bytes);
                    self.ask(step, "write-file", &[path, &mode, &sum], &bytes)?;
                }
                Ok(format!("{}:{path} is written", self.name))
            }
            Action::Retire { paths } => {
                let answer = self.ask(step, "retire-files", &plain_paths(paths)?, &[])?;
                drop(answer);
                Ok(format!("{}: put aside", self.name))
            }
            Action::Unit { unit, verb } => {
                plain_unit(unit)?;
                self.runs()?;
                let answer = self.ask(step, "change-unit", &[verb.word(), unit], &[])?;
                let state = answer.unit.unwrap_or_default();
                Ok(format!("{}: {unit} is {}", self.name, state.active))
            }
            _ => Err(foreign()),
        }
    }

    fn undo(&self, step: &Step, _: Option<&str>) -> Result<String, Trouble> {
        match &step.action {
            Action::WriteFile { path, content, .. } => {
                plain_path(path, false)?;
                self.ask(step, "undo-file", &with_copies(path, content), &[])?;
                Ok(format!("{}:{path} is as it was", self.name))
            }
            Action::Retire { paths } => {
                self.ask(step, "undo-files", &plain_paths(paths)?, &[])?;
                Ok(format!("{}: put back", self.name))
            }
            Action::Unit { unit, .. } => {
                plain_unit(unit)?;
                self.runs()?;
                let answer = self.ask(step, "undo-unit", &[unit], &[])?;
                let state = answer.unit.unwrap_or_default();
                Ok(format!("{}: {unit} is {}", self.name, state.active))
            }
            _ => Err(foreign()),
        }
    }
}
