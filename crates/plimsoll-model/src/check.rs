//! What is wrong with an install before anything boots: `plimsoll.check/v1`. A field here is a promise
//! to scripts; see the changelog before changing one.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EntityId, Evidence};

pub const CHECK_SCHEMA: &str = "plimsoll.check/v1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Always `plimsoll.check/v1`.
    pub schema: String,
    /// The release that is to be installed, `4.18`.
    pub release: String,
    /// Names of the files that were checked, as they were given.
    pub files: Vec<String>,
    pub verdict: CheckVerdict,
    /// What `openshift-install` of that release would say of the same files.
    pub installer_verdict: InstallerVerdict,
    /// What each of its commands would say: some faults only the later one meets.
    #[serde(default)]
    pub installer_commands: Vec<CommandVerdict>,
    /// In the order of the files, then of their lines; what no file holds comes last.
    pub findings: Vec<Finding>,
    /// Findings that the user does not want to hear of (`--skip`, `plimsoll.toml`).
    pub suppressed: Vec<SuppressedFinding>,
    /// What could not be judged from what was given.
    pub not_checked: Vec<NotChecked>,
    /// How many checks were made.
    pub checked: u64,
}

impl Check {
    /// The published schema of this format.
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Check), CHECK_SCHEMA, "Plimsoll check")
    }

    /// As people read it: one slip, one finding, and beside it all that the installer says of what follows.
    pub fn folded(self) -> Self {
        Self { findings: folded(self.findings), ..self }
    }
}

pub fn folded(findings: Vec<Finding>) -> Vec<Finding> {
    let (followers, mut kept): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(|finding| finding.follows.is_some());
    let places = kept.iter().enumerate().rev().map(|(at, finding)| (finding.slip(), at));
    let places: BTreeMap<Slip, usize> = places.collect();
    for follower in followers {
        let leader = follower.follows.as_ref().and_then(|slip| places.get(slip));
        match leader.and_then(|at| kept.get_mut(*at)) {
            Some(leader) => leader.take(follower),
            None => kept.push(follower),
        }
    }
    kept
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// No error is open.
    Ready,
    Blocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InstallerVerdict {
    Accept,
    Reject,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Error,
    Warning,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandVerdict {
    /// Such as `create manifests`, `create cluster` or `agent create image`.
    pub command: String,
    pub verdict: InstallerVerdict,
    /// What the installer asks of others, and what here speaks against it: the verdict holds unless this is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless: Option<String>,
}

/// The step at which the installer meets a fault, in its order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum InstallerStage {
    /// Reading a file: nothing else is looked at.
    Parse,
    /// Deprecated fields become their successors.
    Convert,
    /// Every command meets it.
    Validate,
    /// Only `create cluster` meets it.
    Provision,
    /// Only `agent create …` meets it, in agent-config.yaml.
    AgentConfig,
    /// Only `agent create …` meets it, once both files are read.
    AgentHosts,
}

/// Who would tell the user of it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The installer itself.
    Installer,
    /// The installer would not: it costs an hour later.
    Plimsoll,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the bad condition, the same in every release of Plimsoll.
    pub id: String,
    pub severity: Severity,
    pub origin: Origin,
    /// Where the installer meets it, now or once what comes before is mended; none where it never does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stage: Option<InstallerStage>,
    pub entity: EntityId,
    /// As it was given; empty where no file is at fault.
    pub file: String,
    /// Field, as the installer names it: `platform.baremetal.apiVIPs[0]`.
    pub path: String,
    /// From 1; 0 where no file is at fault.
    pub line: u32,
    pub column: u32,
    /// What stands there. Never a secret.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<String>,
    pub message: String,
    /// The installer's own words, to search for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub installer_message: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub hint: Option<String>,
    /// Why it matters, and where that is known from (`--explain`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// The finding that it follows from: mend that, and this is gone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub follows: Option<Slip>,
    pub evidence: Vec<Evidence>,
}

/// Names a finding by what it is and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Slip {
    pub id: String,
    pub file: String,
    pub line: u32,
    pub column: u32,
}

impl Finding {
    pub fn slip(&self) -> Slip {
        let Self { id, file, line, column, .. } = self;
        Slip { id: id.clone(), file: file.clone(), line: *line, column: *column }
    }

    /// Tells another finding here, too.
    pub fn take(&mut self, other: Finding) {
        self.severity = self.severity.min(other.severity);
        self.origin = self.origin.min(other.origin);
        self.stage = self.stage.or(other.stage);
        self.installer_message = match (self.installer_message.take(), other.installer_message) {
            (Some(own), Some(other)) => Some(format!("{own}; {other}")),
            (own, other) => own.or(other),
        };
        for evidence in other.evidence {
            if !self.evidence.contains(&evidence) {
                self.evidence.push(evidence);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuppressedFinding {
    pub finding: Finding,
    /// Who suppressed it: `--skip`, `--only`, or the reason of an entry of `plimsoll.toml`.
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NotChecked {
    pub id: String,
    pub why: String,
}
