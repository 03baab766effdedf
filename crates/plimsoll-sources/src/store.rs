//! Everything that is kept of the sources while they are read, within a bound.
//!
//! Workers put things in as they come. What is kept does not depend on their order: when the bound
//! is passed, the things that stand last in their source go first.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::Time;
use plimsoll_model::snapshot::{Collected, Document, Form, Gap, GapStatus};

use crate::capture::CaptureNotes;
use crate::layout::Layout;
use crate::scan::ScannedLog;

/// Bytes of documents, files and hits that are kept.
const MAX_KEPT: usize = 160 << 20;
/// Gaps that are kept for each source; the rest is counted.
const MAX_GAPS: usize = 1000;
const MAX_ROOTS: usize = 1000;

/// Where a thing stands: source, member, place in the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    pub source: usize,
    pub member: u64,
    pub place: u64,
}

pub struct FoundDocument {
    pub document: Document,
    pub form: Form,
    pub name: Option<String>,
    pub uid: Option<String>,
    pub resource_version: Option<u64>,
}

pub enum Item {
    Document(FoundDocument),
    File(String, Vec<u8>),
    Log(ScannedLog),
}

impl Item {
    fn weight(&self) -> usize {
        const STRUCTURE: usize = 256;
        STRUCTURE
            + match self {
                Item::Document(found) => found.document.text.len(),
                Item::File(path, bytes) => path.len() + bytes.len(),
                Item::Log(log) => {
                    let hosts = log.hosts.iter().map(|(host, _)| STRUCTURE / 4 + host.len());
                    let hits = log.hits.iter().map(|hits| STRUCTURE + hits.weight());
                    log.path.len() + hosts.sum::<usize>() + hits.sum::<usize>()
                }
            }
    }
}

/// What is known of one source.
#[derive(Default)]
pub struct SourceNotes {
    pub files: u64,
    pub bytes: u64,
    pub gaps: BTreeSet<Gap>,
    told: u64,
    has_more_gaps: bool,
    pub left_out: u64,
    /// When it was begun to be gathered.
    pub began: Option<Time>,
    /// When it was gathered.
    pub taken: Option<Time>,
    /// Folders that are the root of a gather.
    pub roots: BTreeSet<String>,
    /// Folders that hold a file which only the root of a gather has, or the folder around it.
    pub marked: BTreeSet<String>,
    pub logs: u64,
    /// Where the source is a capture of our own.
    pub capture: Option<CaptureNotes>,
    /// How the files seen so far are laid out.
    pub layouts: BTreeSet<Layout>,
    /// By the folder that holds a machine's files.
    pub machines: BTreeMap<String, MachineNotes>,
    /// Namespace and pod of containers whose logs do not tell, by the path of the log.
    pub labels: BTreeMap<String, (String, String)>,
}

/// What is known of a machine while its files are read.
#[derive(Default)]
pub struct MachineNotes {
    /// From the folder's name.
    pub folder_name: Option<String>,
    /// From a file that holds nothing else, with the file.
    pub host_name: Option<(String, String)>,
    pub whole: BTreeSet<&'static str>,
}

impl SourceNotes {
    pub fn gap(&mut self, status: GapStatus, what: impl Into<String>, why: impl Into<String>) {
        self.told += 1;
        self.gaps.insert(Gap { status, what: what.into(), why: why.into() });
        if self.gaps.len() > MAX_GAPS {
            self.gaps.pop_last();
            self.has_more_gaps = true;
        }
    }

    /// How many are not listed, whatever order they came in.
    pub fn more_gaps(&self) -> u64 {
        if self.has_more_gaps { self.told - self.gaps.len() as u64 } else { 0 }
    }

    pub fn is_gather(&self) -> bool {
        !self.roots.is_empty()
            || !self.marked.is_empty()
            || !self.layouts.is_empty()
            || self.logs > 0
    }
}

/// Adds to a set that a hostile archive must not be able to fill.
pub fn note(set: &mut BTreeSet<String>, folder: &str) {
    if !set.contains(folder) {
        set.insert(folder.into());
    }
    if set.len() > MAX_ROOTS {
        set.pop_last();
    }
}

pub struct Store {
    pub items: BTreeMap<Slot, Item>,
    weight: usize,
    bound: usize,
    /// Nothing from here on is kept.
    full_from: Option<Slot>,
    pub sources: Vec<SourceNotes>,
    pub collected: BTreeSet<Collected>,
    /// Resources of which not everything is kept, by group and plural.
    pub not_all: BTreeSet<(String, String)>,
    /// Newest time of a gather.
    pub now: Option<Time>,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            items: BTreeMap::new(),
            weight: 0,
            bound: MAX_KEPT,
            full_from: None,
            sources: Vec::new(),
            collected: BTreeSet::new(),
            not_all: BTreeSet::new(),
            now: None,
        }
    }
}

impl Store {
    pub fn put(&mut self, slot: Slot, item: Item) {
        if self.full_from.is_some_and(|full| slot >= full) {
            return self.leave_out(slot, &item);
        }
        self.weight += item.weight();
        self.items.insert(slot, item);
        while self.weight > self.bound
            && let Some((last, item)) = self.items.pop_last()
        {
            self.weight -= item.weight();
            self.full_from = Some(last);
            self.leave_out(last, &item);
        }
    }

    fn leave_out(&mut self, slot: Slot, item: &Item) {
        if let Some(notes) = self.sources.get_mut(slot.source) {
            notes.left_out += 1;
        }
        // A list of which something is left out no longer proves that the rest does not exist.
        if let Item::Document(found) = item {
            let document = &found.document;
            self.not_all.insert((document.group.to_string(), document.plural.to_string()));
        }
    }

    pub fn gather_time(&mut self, source: usize, time: Time) {
        self.now = self.now.max(Some(time));
        if let Some(notes) = self.sources.get_mut(source) {
            notes.began = Some(notes.began.map_or(time, |first| first.min(time)));
            notes.taken = notes.taken.max(Some(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(order: impl Iterator<Item = u64>) -> (Vec<u64>, u64) {
        let mut store = Store { bound: 20_000, ..Store::default() };
        store.sources.push(SourceNotes::default());
        for member in order {
            let bytes = vec![0; 100 * usize::try_from(member % 7).unwrap()];
            store.put(Slot { source: 0, member, place: 0 }, Item::File(String::new(), bytes));
        }
        (store.items.keys().map(|slot| slot.member).collect(), store.sources[0].left_out)
    }

    #[test]
    fn what_is_kept_does_not_depend_on_the_order_of_arrival() {
        let forward = fill(0..200);
        assert_eq!(forward, fill((0..200).rev()));
        assert_eq!(forward, fill((0..200).map(|n| n * 37 % 200)));
        assert_eq!(forward.0.len() as u64 + forward.1, 200);
        assert!(!forward.0.is_empty() && forward.1 > 0);
    }
}
