//! What the hands on a node say: lines of known words. Anything else is not believed.

use plimsoll_live::NodeOutput;
use plimsoll_model::plan::sha256;

use crate::target::Trouble;

/// Longer sentences of a node are cut.
const LONGEST: usize = 400;

/// A file as it is, or as it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// `file`, `link` or `absent`.
    pub kind: String,
    pub sum: String,
    /// In octal.
    pub mode: String,
    pub path: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    pub active: String,
    /// Another one after every start.
    pub run: String,
}

#[derive(Debug, Default)]
pub struct Answer {
    pub present: Vec<Seen>,
    /// Something was kept, be it that nothing was there.
    pub keeps: bool,
    pub kept: Vec<Seen>,
    /// What this step wrote, or was about to.
    pub wrote: Option<Seen>,
    /// What is to be copied.
    pub source: Option<Seen>,
    pub did: bool,
    pub unit: Option<Unit>,
    /// How the unit was before this step.
    pub was: Option<String>,
}

impl Answer {
    /// Of what is there now.
    pub fn hash(&self) -> String {
        let of = |seen: &Seen| format!("{} {} {} {}\n", seen.kind, seen.sum, seen.mode, seen.path);
        let mut text: String = self.present.iter().map(of).collect();
        if let Some(unit) = &self.unit {
            text.push_str(&format!("{} {}\n", unit.active, unit.run));
        }
        sha256(text.as_bytes())
    }
}

pub fn read(output: &NodeOutput, name: &str) -> Result<Answer, Trouble> {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut answer = Answer::default();
    let mut done = false;
    let because = |why: &str| -> String {
        let why: String = why.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        match output.status {
            // What the command itself complained of.
            Some(1) if !output.complaint.is_empty() && why.contains("does not work") => {
                format!("{name}: {why}: {}", output.complaint)
            }
            _ => format!("{name}: {why}"),
        }
    };
    for line in text.lines() {
        let Some(said) = line.strip_prefix('@') else { continue };
        let (word, rest) = said.split_once(' ').unwrap_or((said, ""));
        match word {
            "present" => answer.present.extend(seen(rest)),
            "keeps" => answer.keeps = true,
            "kept" => answer.kept.extend(seen(rest)),
            "wrote" => answer.wrote = seen(&format!("{rest} -")),
            "source" => answer.source = seen(rest),
            "did" => answer.did = true,
            "was" => answer.was = Some(rest.into()),
            "unit" => {
                let (active, run) = rest.split_once(' ').unwrap_or((rest, ""));
                answer.unit = Some(Unit { active: active.into(), run: run.into() });
            }
            "done" => done = true,
            "stale" => return Err(Trouble::Stale(because(rest))),
            "refused" => return Err(Trouble::Refused(because(rest))),
            "failed" => return Err(Trouble::Failed(because(rest))),
            _ => {}
        }
    }
    match done && output.status == Some(0) {
        true => Ok(answer),
        // It was cut off: what it was about to do may be done.
        false => Err(Trouble::Lost(format!("{name}: {}", output.complaint))),
    }
}

/// `KIND SUM MODE PATH`
fn seen(text: &str) -> Option<Seen> {
    let mut parts = text.splitn(4, ' ');
    let mut next = || parts.next().map(str::to_string);
    Some(Seen { kind: next()?, sum: next()?, mode: next()?, path: next()? })
}
