//! What became of a capture: `plimsoll.captured/v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

pub const CAPTURED_SCHEMA: &str = "plimsoll.captured/v1";

/// The answer of `plimsoll capture`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Captured {
    /// Always `plimsoll.captured/v1`.
    pub schema: String,
    /// What it was taken from, such as `kube:lab`.
    pub name: String,
    /// Time of the capture.
    pub now: Time,
    /// The archive, as it was named.
    pub file: String,
    /// Files in it, their size, and the size of the archive.
    pub files: u64,
    pub bytes: u64,
    pub packed: u64,
    /// Requests to the API.
    pub requests: u64,
    /// Ways to the API that were tried; the one that worked has no reason.
    pub attempts: Vec<Attempt>,
    /// Nothing was refused.
    pub complete: bool,
    /// Sorted; what was refused comes last.
    pub gaps: Vec<Missing>,
}

impl Captured {
    /// The published schema of this format.
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(
            schemars::schema_for!(Captured),
            CAPTURED_SCHEMA,
            "Plimsoll capture",
        )
    }
}

/// One way to the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    pub vantage: String,
    pub server: String,
    /// Why it does not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What the archive lacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// It was asked for and not given; otherwise there may never have been anything.
    #[serde(default)]
    pub refused: bool,
    pub what: String,
    pub why: String,
}
