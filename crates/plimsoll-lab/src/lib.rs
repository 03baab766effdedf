//! Healthy clusters made in memory, faults put into them, and the cases that say what a diagnosis
//! of the result must hold.
//!
//! `base` makes clusters in must-gather layout, `edit` changes them by object rather than by file,
//! `sources_of` tells them by other sources than a must-gather,
//! `case` reads literate case files, `check` compares a diagnosis with what a case expects,
//! `coverage` says which rules no case tests. What is not here: reading archives, states, causes. The
//! lab never asks the engine what is true.

pub mod base;
pub mod case;
pub mod check;
pub mod corpus;
pub mod coverage;
pub mod dice;
pub mod edit;
pub mod expect;
pub mod fault;
pub mod kinds;
pub mod sim;
pub mod sources_of;
pub mod tree;

mod objects;

pub use case::{Case, CaseError, CaseKind, parse_cases};
pub use check::{check, trials};
pub use edit::{Edit, EditError, Verb};
pub use expect::{Expect, Trial};
pub use objects::object;
pub use tree::{Tree, write_folder, write_tar_gz};
