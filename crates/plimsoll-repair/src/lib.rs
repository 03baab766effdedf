//! From a root cause to a plan, and what speaks against a step of it. Pure: plans are made of facts and
//! of objects that somebody else read, and the guards judge what they are shown.

mod again;
mod ago;
mod condition;
mod draft;
mod exact;
pub mod expected;
mod grants;
pub mod guard;
mod outcome;
pub mod request;
mod resource;
mod told;
pub mod verify;

pub use again::otherwise;
pub use condition::{Answer, holds};
pub use draft::{
    Answers, Choice, Unplanned, asks, choose, claims_too_much, draft, draft_break_glass,
    draft_named, draft_of, informing, rights, with_verdicts,
};
pub use exact::{
    Observed, applied, begun_by, decision, exact, filled_since, grounded, patched, reverse,
    reversed,
};
pub use grants::grants;
pub use outcome::{Judged, baseline, judge, would_show};
pub use resource::{is_plain_name, resource};
pub use told::told;
