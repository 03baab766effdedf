//! The pure brain: snapshot → facts → states → explanation → answer. No I/O, no clock, no
//! environment, and nothing that can fail: what cannot be understood is a gap in the answer.

mod answer;
pub mod facts;
mod ground;
pub mod pack;
pub mod predicate;
mod rules;
mod summary;
mod verdict;

use plimsoll_model::{Diagnosis, Needs, Snapshot};

pub use pack::{LoadError, Pack, PackFile};

/// What a source must keep for this pack.
pub fn needs(pack: &Pack) -> Needs {
    facts::needs(pack)
}

pub fn diagnose(pack: &Pack, snapshot: &Snapshot) -> Diagnosis {
    let (base, problems) = facts::extract(pack, snapshot);
    let states = rules::run(pack, &base);
    let grounded = ground::ground(pack, &base, &states);
    let explanation = plimsoll_causes::explain(&grounded.graph);
    answer::assemble(&answer::Inputs {
        pack,
        snapshot,
        base: &base,
        states: &states,
        problems,
        grounded,
        explanation,
    })
}
