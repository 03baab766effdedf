//! The pure brain: snapshot → facts → states → explanation → answer. No I/O, no clock, no
//! environment, and nothing that can fail: what cannot be understood is a gap in the answer.

mod answer;
pub mod check;
pub mod explain;
pub mod facts;
mod ground;
pub mod lint;
pub mod pack;
mod page;
pub mod predicate;
pub mod rules;
mod sight;
mod study;
pub mod summary;
pub mod suppress;
pub mod symptoms;
mod verdict;

use plimsoll_model::{Diagnosis, FactBase, Needs, Snapshot};

pub use facts::Memory;
pub use pack::{LoadError, Pack, PackFile, Role};
pub use sight::hidden;
pub use study::{Study, study};
pub use suppress::Suppression;

/// What a source must keep for this pack.
pub fn needs(pack: &Pack) -> Needs {
    facts::needs(pack)
}

pub fn diagnose(pack: &Pack, snapshot: &Snapshot) -> Diagnosis {
    examine(pack, snapshot, &[], None).1
}

/// The diagnosis, and the facts that it rests on: plans are made of both. `suppressions` are what the user
/// knows of and accepts; with a memory, only what it has not seen is read anew.
pub fn examine(
    pack: &Pack,
    snapshot: &Snapshot,
    suppressions: &[Suppression],
    memory: Option<&Memory>,
) -> (FactBase, Diagnosis) {
    let (base, problems) = facts::extract(pack, snapshot, memory);
    let states = rules::run(pack, &base);
    let grounded = ground::ground(pack, &base, &states);
    let explanation = plimsoll_causes::blame(&grounded.graph);
    let diagnosis = answer::assemble(&answer::Inputs {
        pack,
        snapshot,
        base: &base,
        states: &states,
        problems,
        grounded,
        explanation,
        suppressions,
    });
    (base, diagnosis)
}
