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

    /// What was refused comes last, and of each what hides most comes first.
    pub fn take(&self) -> Vec<Missing> {
        let mut gaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Missing> = std::mem::take(&mut *gaps).into_iter().collect();
        all.sort_by_key(|gap| (gap.refused, extent(&gap.what)));
        all
    }
}

/// The less, the more is not seen: the API, a machine, a kind of thing, a file.
fn extent(what: &str) -> u8 {
    let begins = |with: &[&str]| with.iter().any(|start| what.starts_with(start));
    if begins(&["the API ", "the list of API groups"]) || what == "the API" {
        0
    } else if begins(&["node ", "nodes over ssh", "BMCs of "])
        || (begins(&["BMC of "]) && !what.contains(": "))
    {
        1
    } else if begins(&["the beginning of ", "the end of ", "the name of ", "1 log of "])
        || (what.contains(" of node ") && !begins(&["part of "]))
    {
        3
    } else {
        2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_most_comes_first() {
        let gaps = Gaps::default();
        for what in [
            "etc/chrony.conf of node core@10.0.0.1",
            "journal/kubelet.log of node core@10.0.0.1",
            "nodes",
            "journals of master-0",
            "part of node core@10.0.0.1",
            "the end of the current log of a/b/c",
            "BMC of worker-1",
            "BMC of master-0: Bios, Drives",
            "node core@10.0.0.2",
            "the API at https://api.lab.example.com:6443",
        ] {
            gaps.add(what, "");
        }
        gaps.note("91 logs of pods on master-2", "");
        let order: Vec<String> = gaps.take().into_iter().map(|gap| gap.what).collect();
        assert_eq!(
            order,
            [
                "91 logs of pods on master-2",
                "the API at https://api.lab.example.com:6443",
                "BMC of worker-1",
                "node core@10.0.0.2",
                "BMC of master-0: Bios, Drives",
                "journals of master-0",
                "nodes",
                "part of node core@10.0.0.1",
                "etc/chrony.conf of node core@10.0.0.1",
                "journal/kubelet.log of node core@10.0.0.1",
                "the end of the current log of a/b/c",
            ]
        );
    }
}
