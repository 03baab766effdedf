//! Literate cases: Markdown in which every `##` heading is one case.
//!
//! A heading reads `## fires: short name`. Below it, prose says why, a block ```` ```edits base=… ````
//! says what is done to which base, and a block ```` ```expect ```` says what the diagnosis must hold.

use crate::base;
use crate::edit::{self, Edit, EditError, parse_edits};
use crate::expect::{Expect, parse_expect};
use crate::tree::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaseKind {
    /// The fault is there and is found.
    Fires,
    /// Something that looks like the fault is there and is not taken for it.
    Quiet,
    /// The fault was there and is over.
    Recovered,
    /// The evidence is missing: neither yes nor no.
    Unknown,
    /// Several faults, the whole answer.
    Incident,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub kind: CaseKind,
    pub name: String,
    pub base: String,
    pub edits: Vec<Edit>,
    pub expects: Vec<Expect>,
    /// Line of the heading.
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CaseError {
    pub line: u32,
    pub message: String,
}

impl Case {
    /// The base with the edits of this case put in.
    pub fn tree(&self) -> Result<Tree, EditError> {
        let mut tree = base::base(&self.base).ok_or_else(|| EditError {
            line: self.line,
            message: format!("the base {} could not be made", self.base),
        })?;
        edit::apply(&mut tree, &self.edits)?;
        Ok(tree)
    }
}

/// A case while its blocks are still coming in.
struct Draft {
    line: u32,
    kind: CaseKind,
    name: String,
    edits: Option<(String, Vec<Edit>)>,
    expects: Option<Vec<Expect>>,
}

pub fn parse_cases(text: &str) -> Result<Vec<Case>, CaseError> {
    let mut cases = Vec::new();
    let mut draft: Option<Draft> = None;
    let mut lines = (1u32..).zip(text.lines());
    while let Some((line, content)) = lines.next() {
        let error = |message: String| CaseError { line, message };
        if let Some(heading) = content.strip_prefix("## ") {
            if let Some(done) = draft.replace(heading_of(line, heading).map_err(error)?) {
                cases.push(finish(done)?);
            }
        } else if let Some(info) = content.strip_prefix("```") {
            let mut block = String::new();
            loop {
                match lines.next() {
                    Some((_, "```")) => break,
                    Some((_, content)) => {
                        block.push_str(content);
                        block.push('\n');
                    }
                    None => return Err(error("the block has no end".into())),
                }
            }
            take_block(draft.as_mut(), line, info, &block)?;
        }
    }
    if let Some(done) = draft {
        cases.push(finish(done)?);
    }
    Ok(cases)
}

fn heading_of(line: u32, heading: &str) -> Result<Draft, String> {
    let usage = "a case is headed '## fires: name'; kinds are fires, quiet, recovered, unknown, \
                 incident";
    let (kind, name) = heading.split_once(':').ok_or(usage)?;
    let kind = match kind.trim() {
        "fires" => CaseKind::Fires,
        "quiet" => CaseKind::Quiet,
        "recovered" => CaseKind::Recovered,
        "unknown" => CaseKind::Unknown,
        "incident" => CaseKind::Incident,
        _ => return Err(usage.into()),
    };
    let name = name.trim().to_string();
    if name.is_empty() {
        return Err("the case has no name".into());
    }
    Ok(Draft { line, kind, name, edits: None, expects: None })
}

fn take_block(
    draft: Option<&mut Draft>,
    line: u32,
    info: &str,
    block: &str,
) -> Result<(), CaseError> {
    let error = |message: String| CaseError { line, message };
    let (word, rest) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
    match (word, draft) {
        ("edits" | "expect", None) => Err(error("the block stands before the first case".into())),
        ("edits", Some(draft)) => {
            let base = rest.trim().strip_prefix("base=").ok_or_else(|| {
                error("a block of edits names its base: ```edits base=metal-3-2".into())
            })?;
            if !base::NAMES.contains(&base) && !base::SOURCE_NAMES.contains(&base) {
                return Err(error(format!(
                    "there is no base '{base}'; there are {}, {}",
                    base::NAMES.join(", "),
                    base::SOURCE_NAMES.join(", ")
                )));
            }
            let edits = parse_edits(block, line + 1)
                .map_err(|error| CaseError { line: error.line, message: error.message })?;
            if draft.edits.replace((base.into(), edits)).is_some() {
                return Err(error("a case has one block of edits".into()));
            }
            Ok(())
        }
        ("expect", Some(draft)) => {
            let mut expects = Vec::new();
            for (line, content) in (line + 1..).zip(block.lines()) {
                if content.trim().is_empty() || content.trim_start().starts_with('#') {
                    continue;
                }
                expects.push(parse_expect(content).map_err(|message| CaseError { line, message })?);
            }
            if expects.is_empty() {
                return Err(error("a block of expectations is empty".into()));
            }
            if draft.expects.replace(expects).is_some() {
                return Err(error("a case has one block of expectations".into()));
            }
            Ok(())
        }
        // Any other block is prose: a quotation, a table, a command.
        _ => Ok(()),
    }
}

fn finish(draft: Draft) -> Result<Case, CaseError> {
    let Draft { line, kind, name, edits, expects } = draft;
    let missing = |what: &str| CaseError {
        line,
        message: format!("the case '{name}' has no block of {what}"),
    };
    let (base, edits) = edits.ok_or_else(|| missing("edits"))?;
    let expects = expects.ok_or_else(|| missing("expectations"))?;
    Ok(Case { kind, name, base, edits, expects, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# The etcd operator\n\nProse.\n\n## fires: it is degraded\nWhy.\n\n```edits base=metal-3-2\ncondition ClusterOperator/etcd Degraded=True reason=X since=-2h message=\"m\"\n```\n```console\n$ oc get co\n```\n```expect\n# the root\nroot etcd-degraded ClusterOperator/etcd confirmed\nno other roots\n```\n\n## quiet: nothing is wrong\n```edits base=metal-3-0\n```\n```expect\nno roots\n```\n";

    fn error(text: &str) -> String {
        parse_cases(text).unwrap_err().to_string()
    }

    #[test]
    fn cases_are_read_with_their_lines() {
        let cases = parse_cases(FILE).unwrap();
        assert_eq!(cases.len(), 2);
        assert_eq!((cases[0].kind, cases[0].line), (CaseKind::Fires, 5));
        assert_eq!(cases[0].name, "it is degraded");
        assert_eq!(cases[0].edits[0].line, 9);
        assert_eq!(cases[0].expects.len(), 2);
        assert_eq!((cases[1].kind, cases[1].base.as_str()), (CaseKind::Quiet, "metal-3-0"));
        let tree = cases[0].tree().unwrap();
        let path = "cluster-scoped-resources/config.openshift.io/clusteroperators/etcd.yaml";
        assert!(String::from_utf8_lossy(&tree[path]).contains("2025-12-03T16:42:00Z"));
    }

    #[test]
    fn an_error_gives_the_line_of_the_file() {
        let replaced = |from: &str, to: &str| error(&FILE.replace(from, to));
        assert!(replaced("## fires:", "## burns:").starts_with("line 5: a case is headed"));
        assert!(
            replaced("fires: it is degraded", "fires:").starts_with("line 5: the case has no name")
        );
        assert!(replaced("base=metal-3-2", "").starts_with("line 8: a block of edits names"));
        assert!(replaced("base=metal-3-2", "base=mars").starts_with("line 8: there is no base"));
        assert!(replaced("Degraded=True", "Degraded=Yes").starts_with("line 9: Degraded=Yes"));
        assert!(replaced("no other roots", "no way").starts_with("line 17: 'no way' is no"));
        assert!(
            replaced("```expect\n# the root", "```text\n#")
                .starts_with("line 5: the case 'it is degraded' has no block of exp")
        );
        assert!(error("```expect\nno roots\n```\n").starts_with("line 1: the block stands before"));
        assert!(
            error("## quiet: x\n```edits base=sno\n").starts_with("line 2: the block has no end")
        );
        assert!(
            error("## quiet: x\n```expect\n```\n")
                .starts_with("line 2: a block of expectations is empty")
        );
    }

    #[test]
    fn an_edit_that_finds_nothing_fails_with_its_line() {
        let text = FILE.replace("ClusterOperator/etcd Degraded", "ClusterOperator/nope Degraded");
        let failed = parse_cases(&text).unwrap()[0].tree().unwrap_err();
        assert_eq!(failed.to_string(), "line 9: there is no ClusterOperator/nope");
    }
}
