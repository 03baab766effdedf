//! What the packs know, as it is shown: `plimsoll.explain/v1` and `plimsoll.knowledge/v1`. Plain
//! values, made by the engine and drawn by the renderers; nothing here loads a pack.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::{Cost, DoneBy, Verdict};

pub const EXPLAIN_SCHEMA: &str = "plimsoll.explain/v1";
pub const KNOWLEDGE_SCHEMA: &str = "plimsoll.knowledge/v1";

/// The answer of `plimsoll explain`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Always `plimsoll.explain/v1`.
    pub schema: String,
    /// In the order asked for; empty with `--log`.
    pub failure_modes: Vec<FailureMode>,
    /// Lines that some failure mode knows, in the order read; empty without `--log`.
    pub lines: Vec<KnownLine>,
    /// Lines that no failure mode knows.
    pub unknown_lines: u64,
}

/// The answer of `plimsoll knowledge list`, `lint` and `test`; each fills its own part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Knowledge {
    /// Always `plimsoll.knowledge/v1`.
    pub schema: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_modes: Option<Vec<Listed>>,
    /// What lint found, sorted by place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problems: Option<Vec<Problem>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
}

/// One failure mode in one line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    pub id: String,
    pub title: String,
    pub area: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<String>,
    /// Some state of it can be a root cause.
    pub root: bool,
    /// Where its states hold; empty means everywhere.
    pub applies: Vec<Scope>,
}

/// Something wrong with a pack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tests {
    pub passed: u64,
    pub failed: Vec<FailedCase>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedCase {
    pub path: String,
    pub line: u32,
    pub name: String,
    /// What was expected and what was found instead, a sentence each.
    pub failures: Vec<String>,
}

/// One folder of a pack: its page and its rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailureMode {
    pub id: String,
    pub title: String,
    pub area: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<String>,
    /// Absent where the folder has no `case.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    pub states: Vec<StateInfo>,
    /// Edges into its states from elsewhere.
    pub caused_by: Vec<EdgeInfo>,
    /// Edges out of its states, and between them.
    pub causes: Vec<EdgeInfo>,
    pub checks: Vec<CheckInfo>,
    /// Literal texts that speak for it.
    pub symptoms: Vec<Symptom>,
    /// What the recoveries of its states name, step by step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<RepairInfo>,
}

/// A repair before anybody needs it: `<name>` stands for what a plan fills in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepairInfo {
    pub id: String,
    pub title: String,
    pub by: DoneBy,
    /// The highest of its steps, 0 read … 5 data or quorum.
    pub blast: u8,
    /// No case of its pack has it carried out: its plan is shown, and a person does it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub informing: bool,
    /// It may be done while an update or a rollout is going on.
    pub during_rollout: bool,
    /// It is never proposed: the user asks for it by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_glass_minutes: Option<u64>,
    /// Why there are no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub none: Option<String>,
    pub steps: Vec<StepInfo>,
    /// What only the user knows, as `--set` takes it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Names of the guards that judge its steps, as `docs/fix.md` lists them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub never: Vec<String>,
    pub escalate: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepInfo {
    pub title: String,
    pub by_hand: bool,
    pub blast: u8,
    /// CEL: only where this holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Conditions right before it, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only_if: Vec<String>,
    /// It is left out where all of these hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_if: Vec<String>,
    /// What must be seen after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<String>,
    /// How it is taken back; absent where there is nothing to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
    /// What is typed where it is done by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
}

/// `case.md` by its headings, as Markdown. A missing section is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    pub intro: String,
    pub what_you_see: String,
    pub why: String,
    pub how_to_confirm: String,
    pub how_to_fix: String,
    pub is_the_fix_safe: String,
    pub sources: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateInfo {
    pub id: String,
    /// Kind of entity it is said of.
    pub on: String,
    pub summary: String,
    /// `common`, `uncommon` or `rare`: it can be a root cause. Absent: it always has a cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    pub role: StateRole,
    /// Its sign alone convicts nobody.
    pub weak: bool,
    /// The general state that it is a more exact name for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refines: Option<String>,
    pub applies: Scope,
    pub recovery: Vec<RecoveryInfo>,
    pub folklore: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateRole {
    Fault,
    /// Planned work.
    Expected,
    /// Shown, never blamed.
    Note,
}

/// Where a rule holds. Absent and empty mean everywhere.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct Scope {
    /// `4.12..4.18`, `4.19..` or `..4.18`, both ends within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub topologies: Vec<String>,
}

impl Scope {
    fn is_everywhere(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryInfo {
    pub verdict: Verdict,
    pub repair: String,
    pub summary: String,
    /// CEL; of those that apply, the first recovery whose condition holds is the one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    #[serde(default, skip_serializing_if = "Scope::is_everywhere")]
    pub applies: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u64>,
    /// 0 read … 5 data or quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blast: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeInfo {
    pub from: String,
    pub to: String,
    /// `always`, `usually`, `sometimes` or `rarely`.
    pub likelihood: String,
    /// Does not start its effect, but keeps it from ending.
    pub keeps: bool,
    /// `0s..30m`, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<String>,
    pub because: String,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckInfo {
    pub state: String,
    pub how: String,
    pub cost: Cost,
}

/// A text that speaks for a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Symptom {
    pub text: String,
    pub kind: SymptomKind,
    pub state: String,
    pub failure_mode: String,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SymptomKind {
    /// A line of a log that a signature looks for.
    Log,
    /// Words of a condition, a status or an event's message.
    Message,
    /// The reason of an event or a condition.
    Reason,
}

/// A line of `--log`, or several that say the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KnownLine {
    /// From 1.
    pub number: u64,
    /// The first of them, redacted and cut to 400 characters.
    pub text: String,
    /// How many lines say it.
    pub count: u64,
    pub matches: Vec<LineMatch>,
}

/// What a line speaks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LineMatch {
    /// The state.
    pub id: String,
    pub failure_mode: String,
    pub title: String,
    pub kind: SymptomKind,
    /// The words that were recognised; for a log line the id of the signature.
    pub words: Vec<String>,
    /// Logs in which the line counts; empty means any.
    pub logs: Vec<String>,
    pub captures: BTreeMap<String, String>,
    /// Whether this alone proves the state.
    pub proof: bool,
    /// Why it is proof, or what is missing.
    pub because: String,
    /// It can be a root cause; else look for what causes it.
    pub root: bool,
    /// How to look further.
    pub checks: Vec<CheckInfo>,
    /// What is known to cause it, likeliest first.
    pub caused_by: Vec<String>,
}

impl Explained {
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(
            schemars::schema_for!(Explained),
            EXPLAIN_SCHEMA,
            "Plimsoll failure modes explained",
        )
    }
}

impl Knowledge {
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(
            schemars::schema_for!(Knowledge),
            KNOWLEDGE_SCHEMA,
            "Plimsoll knowledge packs",
        )
    }
}
