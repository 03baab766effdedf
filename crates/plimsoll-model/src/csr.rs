//! Certificate requests of kubelets, judged: `plimsoll.csr/v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::plan::Signer;

pub const CSR_SCHEMA: &str = "plimsoll.csr/v1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Always `plimsoll.csr/v1`.
    pub schema: String,
    /// Time of the reading; what "now" means in this answer.
    pub generated_for: Option<Time>,
    /// Where the requests were read.
    pub sources: Vec<String>,
    /// Whether approving was asked for.
    pub approving: bool,
    /// By node, wave and time.
    pub requests: Vec<Judged>,
    /// What could not be read, and so decides nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

/// One request and what the rules say of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    pub created: Option<Time>,
    /// Name that the certificate would be for.
    pub node: Option<String>,
    pub wave: Option<Signer>,
    /// User that asks.
    pub requestor: String,
    pub verdict: Verdict,
    /// Every rule that decided, with what was found.
    pub reasons: Vec<String>,
    /// What was done about it in this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<Done>,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Approve,
    /// Not to be decided from what is known.
    Hold,
    /// No kubelet of this cluster asks like this.
    Deny,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub approved: bool,
    /// The signer gave the certificate by the time of the last look.
    pub issued: bool,
    pub says: String,
}

impl Requests {
    /// Whether nothing is left that a person has to look at.
    pub fn is_clear(&self) -> bool {
        self.requests.iter().all(|one| match &one.done {
            Some(done) => done.approved,
            None => one.verdict == Verdict::Approve,
        })
    }

    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Requests), CSR_SCHEMA, "Plimsoll requests")
    }
}
