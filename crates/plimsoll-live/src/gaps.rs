//! What a reading lacks, collected from all who read.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Gap {
    /// It was asked for and not given; otherwise there may never have been anything.
    pub refused: bool,
    pub what: String,
    pub why: String,
}

#[derive(Default)]
pub struct Gaps(Mutex<BTreeSet<Gap>>);

impl Gaps {
    /// Something that was asked for and not given.
    pub fn add(&self, what: impl Into<String>, why: &str) {
        self.insert(Gap { refused: true, what: what.into(), why: why.into() });
    }

    /// Something that is not there to be read.
    pub fn note(&self, what: impl Into<String>, why: &str) {
        self.insert(Gap { refused: false, what: what.into(), why: why.into() });
    }

    fn insert(&self, gap: Gap) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(gap);
    }

    pub fn take(&self) -> Vec<Gap> {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *gaps).into_iter().collect()
    }
}
