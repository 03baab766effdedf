//! The only code of Plimsoll that changes anything. A plan is carried out step by step: look, judge,
//! rehearse, keep what is there, write down what is going to be done, do it, write down that it is done,
//! see that it holds. Killed at any instant, it goes on or back from its journal.

mod ask;
mod journal;
pub mod requests;
pub mod smoke;
mod target;
mod transaction;

pub use ask::Refusal;
pub use journal::{Journal, Log, Unwritable};
pub use target::{Kept, Sight, Standing, Target, Targets, Trouble};
pub use transaction::{Consent, Ended, Look, Pace, Transaction, World};
