//! The answer: `plimsoll.diagnosis/v1`. One value, many renderers. A field here is a promise to
//! scripts; see the changelog before changing one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{EntityId, Evidence, Time};

pub const SCHEMA: &str = "plimsoll.diagnosis/v1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// Always `plimsoll.diagnosis/v1`.
    pub schema: String,
    /// Time of the gather; what "now" means in this answer.
    pub generated_for: Option<Time>,
    pub cluster: Cluster,
    pub sources: Vec<Source>,
    pub verdict: Verdict,
    /// Why this verdict, in one sentence.
    pub reason: String,
    /// Present when there is something to repair.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub costs: Option<Costs>,
    /// In the order in which they are best repaired.
    pub roots: Vec<Root>,
    /// Every state that is active, recovered or expected, and the unknown ones that matter.
    pub states: Vec<State>,
    pub edges: Vec<Edge>,
    pub deadlocks: Vec<Deadlock>,
    pub unexplained: Vec<StateRef>,
    pub ruled_out: Vec<RuledOut>,
    pub alternatives: Vec<Alternative>,
    /// Best first: most information for its cost.
    pub next_checks: Vec<Check>,
    /// What the user's `plimsoll.toml` accepts: not blamed, not part of the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suppressed: Vec<Suppressed>,
    /// Entries of `plimsoll.toml` that were not applied, or met nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A state that the user knows of and accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suppressed {
    pub id: String,
    pub entity: EntityId,
    /// In the user's words.
    pub reason: String,
    /// Last day on which it is accepted, `2027-01-31`.
    pub until: String,
    pub status: Status,
    pub evidence: Vec<Evidence>,
    /// Effects that are accepted with it, because nothing else caused them.
    pub explains: Vec<StateRef>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cluster {
    pub version: Option<String>,
    pub platform: Option<String>,
    /// `HighlyAvailable`, `SingleReplica`, …
    pub topology: Option<String>,
    pub id: Option<String>,
    /// Nodes by role, as far as they joined.
    #[serde(default)]
    pub control_plane_nodes: u64,
    #[serde(default)]
    pub worker_nodes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub kind: String,
    pub name: String,
    pub complete: bool,
    pub gaps: Vec<String>,
    #[serde(default)]
    pub files: u64,
    #[serde(default)]
    pub bytes: u64,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Healthy,
    Recoverable,
    DataAtRisk,
    Reinstall,
    Escalate,
    NotProvable,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Costs {
    /// Expected minutes to repair in place, all roots in order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repair_minutes: Option<u64>,
    /// Expected minutes for a reinstall, where that is an option.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reinstall_minutes: Option<u64>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// A detector saw it, and it explains what is seen.
    Confirmed,
    /// Seen by a weaker sign, or the best explanation by a clear margin.
    Probable,
    /// Not seen; the best explanation of what is seen.
    Suspected,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct StateRef {
    pub id: String,
    pub entity: EntityId,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    pub id: String,
    pub entity: EntityId,
    pub confidence: Confidence,
    pub since: Option<Time>,
    pub summary: String,
    /// Every state that this root produced, itself not among them.
    pub explains: Vec<StateRef>,
    pub evidence: Vec<Evidence>,
    pub repairs: Vec<Repair>,
    /// What people tend to believe here, and why it is not so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folklore: Vec<String>,
    /// Set when another explanation scores nearly as well: ids as in `alternatives`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ties: Vec<StateRef>,
}

impl Root {
    pub fn state(&self) -> StateRef {
        StateRef { id: self.id.clone(), entity: self.entity.clone() }
    }
}

/// How a root can be put right. Plans with guards and undo are made by `plimsoll fix`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Repair {
    pub id: String,
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub minutes: Option<u64>,
    /// 0 read … 5 data or quorum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blast: Option<u8>,
    /// Who does its steps; absent where no pack defines them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<DoneBy>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DoneBy {
    /// `plimsoll fix --apply`, at least in part.
    Plimsoll,
    /// A person, all of it.
    Hand,
    /// There is no repair; the plan says why.
    Nobody,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Active,
    /// Was there, is over.
    Recovered,
    /// There, and a normal part of planned work.
    Expected,
    /// Cannot be told from this data, and would matter.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    pub id: String,
    pub entity: EntityId,
    pub status: Status,
    pub since: Option<Time>,
    pub summary: String,
    pub evidence: Vec<Evidence>,
    /// Informative only: shown, never blamed, needs no explanation.
    #[serde(default)]
    pub note: bool,
}

impl State {
    pub fn state(&self) -> StateRef {
        StateRef { id: self.id.clone(), entity: self.entity.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    pub from: StateRef,
    pub to: StateRef,
    /// Pack rule that says so: `<case>/<from>-><to>`.
    pub rule: String,
    /// The mechanism, in one sentence.
    pub because: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Deadlock {
    pub members: Vec<StateRef>,
    /// Where the ring was entered: an outside cause, or the earliest member.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<StateRef>,
    pub breakers: Vec<Breaker>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Breaker {
    /// The member that this takes out of the ring.
    pub state: StateRef,
    pub action: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuledOut {
    pub id: String,
    pub entity: EntityId,
    /// The observation that speaks against it.
    pub by: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    pub id: String,
    pub entity: EntityId,
    /// The root it competes with.
    pub instead_of: StateRef,
    /// Within the margin: the data does not separate the two.
    pub tie: bool,
    /// What would separate the two.
    pub separated_by: Vec<StateRef>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// State that the check would observe.
    pub id: String,
    pub entity: EntityId,
    /// What to do, as a command or one sentence.
    pub how: String,
    pub cost: Cost,
    /// Hypotheses that its answer tells apart.
    pub separates: Vec<StateRef>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Cost {
    Low,
    Medium,
    High,
}

impl Diagnosis {
    pub fn json_schema() -> serde_json::Value {
        titled(schemars::schema_for!(Diagnosis), SCHEMA, "Plimsoll diagnosis")
    }
}

/// A schema with the name of its format.
pub(crate) fn titled(schema: schemars::Schema, id: &str, title: &str) -> serde_json::Value {
    let mut schema = schema.to_value();
    if let Some(map) = schema.as_object_mut() {
        map.insert("$id".into(), id.into());
        map.insert("title".into(), title.into());
    }
    schema
}
