//! What a step is done to: the API, a node, a BMC. One trait, so that the transaction knows none of them.

use plimsoll_model::plan::Step;
use serde_json::Value;

/// Why a step cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// It is not what the plan was made for: somebody else was there.
    #[error("{0}")]
    Stale(String),
    /// Not allowed.
    #[error("{0}")]
    Refused(String),
    /// Nobody answers; what was asked may have been done or not.
    #[error("{0}")]
    Lost(String),
    /// It was understood, and does not work.
    #[error("{0}")]
    Failed(String),
}

/// Where a step stands, as the target shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As the plan found it.
    Ahead,
    /// As the step leaves it.
    Done,
    /// Neither: somebody else changed it.
    Elsewhere(String),
}

/// A look at what a step touches.
#[derive(Clone, Debug)]
pub struct Sight {
    pub standing: Standing,
    /// Of what is there; the same before and after a step that changed nothing.
    pub hash: String,
    /// The object, for the guards. Never a Secret.
    pub object: Option<Value>,
}

/// What was there before a step, and where it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// A file of the session, an object of the cluster or a folder of the node: for people.
    pub place: String,
    pub sha256: String,
}

/// Each call waits until it is done, or gives up in its own time. Credentials stay where they live:
/// copies of a Secret are kept in the cluster, those of a node's files on the node.
pub trait Target {
    /// Looks, and changes nothing.
    fn look(&self, step: &Step) -> Result<Sight, Trouble>;

    /// Does everything but keep the result, where that is possible.
    fn rehearse(&self, step: &Step) -> Result<(), Trouble>;

    /// Keeps what is there. Never overwrites what was kept before: of a step that is tried again, the
    /// first copy is the one that counts.
    fn keep(&self, step: &Step) -> Result<Vec<Kept>, Trouble>;

    /// Does it, once, and says what became of it.
    fn act(&self, step: &Step) -> Result<String, Trouble>;

    /// Whether what was kept is still as it was written down. Asked before it is brought back.
    fn is_still_kept(&self, _step: &Step, _kept: &Kept) -> Result<bool, Trouble> {
        Ok(true)
    }

    /// Takes it back, unless somebody else changed it since. `left` is the hash of what the step left behind, as
    /// [`Target::look`] told it then, where it was written down.
    fn undo(&self, step: &Step, left: Option<&str>) -> Result<String, Trouble>;
}

/// Who does which step.
pub trait Targets {
    fn of(&self, step: &Step) -> Result<&dyn Target, Trouble>;
}
