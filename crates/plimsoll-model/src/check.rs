//! What is wrong with an install before anything boots: `plimsoll.check/v1`. A field here is a promise
//! to scripts; see the changelog before changing one.

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
    pub evidence: Vec<Evidence>,
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
