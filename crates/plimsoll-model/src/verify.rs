//! Whether a cluster is well, criterion by criterion: `plimsoll.verify/v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::Cluster;
use crate::plan::Verification;
use crate::{EntityId, Time};

pub const VERIFY_SCHEMA: &str = "plimsoll.verify/v1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Always `plimsoll.verify/v1`.
    pub schema: String,
    /// Time of the last look.
    pub generated_for: Option<Time>,
    pub cluster: Cluster,
    pub sources: Vec<String>,
    /// Every criterion held, and for the whole window where there is one.
    pub verified: bool,
    /// In one sentence.
    pub says: String,
    /// Absent where there was one look only, as of an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// As of the last look, sorted by id and entity.
    pub criteria: Vec<Criterion>,
    /// What a person checks after the repair of the failure mode that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<Verification>,
    /// What this could not see, and what follows from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How long everything has to hold, and did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    pub dwell_seconds: u64,
    /// How long everything held at the end.
    pub held_seconds: u64,
    pub looks: u64,
    /// Criteria that were not met at some look before the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed_before: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Criterion {
    /// `operator-available`, `node-ready`, …
    pub id: String,
    pub entity: EntityId,
    pub ok: Met,
    pub says: String,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Met {
    Yes,
    No,
    /// Not to be told from this data. It does not count as met.
    Unknown,
}

impl Verified {
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Verified), VERIFY_SCHEMA, "Plimsoll verify")
    }
}
