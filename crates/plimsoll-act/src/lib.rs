//! The only code of Plimsoll that changes anything. A plan is carried out step by step: look, judge,
//! rehearse, keep what is there, write down what is going to be done, do it, write down that it is done,
//! see that it holds. Killed at any instant, it goes on or back from its journal.

mod api;
mod approve;
mod ask;
mod bmc;
mod bookkeeping;
mod journal;
mod make;
mod node;
mod pretend;
pub mod requests;
pub mod smoke;
mod target;
mod transaction;
mod trial;

pub use api::{Api, ApiTarget, Held, Lease, MANAGER, missing_rights, own_name};
pub use approve::ApproveTarget;
pub use ask::Refusal;
pub use bmc::{BmcTarget, Identity, bmc_of_cluster};
pub use journal::{Journal, Log, Unreadable, Unwritable};
pub use make::{LOCALHOST_KUBECONFIG, Made, Reads, make, makers};
pub use node::{NodeTarget, read_file};
pub use pretend::{Pretend, Things};
pub use target::{Kept, Sight, Standing, Target, Targets, Trouble};
pub use transaction::{Alone, BY_HAND, Consent, Ended, Look, Pace, Transaction, Turn, World};
pub use trial::tried;
