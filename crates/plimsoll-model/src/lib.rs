//! Plain data that flows through Plimsoll, and how its texts are made fit to be shown: no I/O, no
//! clock, no verdicts.
//!
//! `snapshot` is what sources deliver, `fact` what the engine derives from it, `diagnosis` what
//! every renderer shows. A stage knows the types of the stage before it and none after it.

pub mod capture;
pub mod check;
pub mod csr;
pub mod diagnosis;
pub mod entity;
pub mod evidence;
pub mod fact;
pub mod knowledge;
pub mod moves;
pub mod plan;
pub mod redact;
pub mod session;
pub mod snapshot;
pub mod verify;

pub use diagnosis::Diagnosis;
pub use entity::EntityId;
pub use evidence::{Evidence, clip};
pub use fact::{Entity, FactBase, Relation, Value};
pub use redact::redact;
pub use snapshot::{Document, LogFile, LogHits, LogOrigin, Needs, Snapshot};

/// The one clock of the program: every time in evidence lands on it.
pub type Time = jiff::Timestamp;
