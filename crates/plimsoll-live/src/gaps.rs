//! What a reading lacks, collected from all who read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_model::capture::Missing;

#[derive(Clone, Default)]
pub struct Gaps(Arc<Mutex<BTreeSet<Missing>>>);

impl Gaps {
    /// Something that was asked for and not given.
    pub fn add(&self, what: impl Into<String>, why: &str) {
        self.insert(Missing { refused: true, what: what.into(), why: why.into() });
    }

    /// Something that is not there to be read.
    pub fn note(&self, what: impl Into<String>, why: &str) {
        self.insert(Missing { refused: false, what: what.into(), why: why.into() });
    }

    fn insert(&self, gap: Missing) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(gap);
    }

    pub fn take(&self) -> Vec<Missing> {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *gaps).into_iter().collect()
    }
}
