//! Must-gathers, log bundles, sosreports and what else describes a cluster, as folders or archives,
//! turned into a `Snapshot`.
//!
//! Sources are read once, as a stream, and never unpacked to disk. What nobody asked for in `Needs`
//! is not kept. What could not be read is a gap of its source and not an error: an error means that
//! there was nothing at all. YAML is cut into documents and not parsed; no verdicts are made here.
//!
//! The way of a file: `location`, `folder` and `archive` find it, `layout` judges its path, `digest`
//! takes it in (`object`, `scan`, `journal`, `export`), `store` keeps the result, `assemble` makes the
//! snapshot. What holds credentials goes through `private` before it is kept.

mod archive;
mod assemble;
mod capture;
mod decode;
mod digest;
mod export;
mod folder;
mod gather;
mod hits;
mod journal;
mod layout;
mod lines;
mod location;
mod machines;
mod matcher;
mod node;
mod object;
mod private;
mod repeats;
mod scan;
mod store;
mod tarball;
mod times;
mod versions;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use plimsoll_model::Snapshot;
use plimsoll_model::snapshot::{Gap, GapStatus, Needs};

use crate::archive::shown_path;
use crate::decode::Meter;
use crate::digest::{Reading, Source};
use crate::folder::{Content, Entry};
use crate::layout::Wants;
use crate::location::Location;
use crate::matcher::Matchers;
use store::Item;

pub use digest::plain;
pub use lines::LineScan;
pub use private::{certificates, without_secrets};

/// Told how far the reading is. Called from several threads.
pub trait Progress: Sync {
    /// Bytes to read in all, as far as that is known.
    fn start(&self, total_bytes: Option<u64>);
    fn advance(&self, bytes: u64);
}

/// Nobody is watching.
pub struct NoProgress;

impl Progress for NoProgress {
    fn start(&self, _: Option<u64>) {}
    fn advance(&self, _: u64) {}
}

/// Nothing could be read from any location.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {}: {reason}", path.display())]
pub struct ReadError {
    /// As it was given.
    pub path: PathBuf,
    /// In plain words.
    pub reason: String,
}

/// One source, as it is given.
pub enum Given {
    /// A path, or `node:` and the root of a node.
    Path(PathBuf),
    /// An archive that comes from elsewhere while it is made, such as a capture of a live cluster.
    Stream { name: String, stream: Box<dyn Read + Send> },
}

impl Given {
    fn name(&self) -> String {
        match self {
            Given::Path(path) => location::name_of(path),
            Given::Stream { name, .. } => name.clone(),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Given::Path(path) => path.clone(),
            Given::Stream { name, .. } => name.into(),
        }
    }
}

/// Reads every location: a path, or `node:` and the root of a node. One that cannot be read is a gap
/// as long as another one can.
pub fn read(
    locations: &[PathBuf],
    needs: &Needs,
    progress: &dyn Progress,
) -> Result<Snapshot, ReadError> {
    read_given(locations.iter().cloned().map(Given::Path).collect(), needs, progress)
}

/// The same, of sources some of which may not be files.
pub fn read_given(
    given: Vec<Given>,
    needs: &Needs,
    progress: &dyn Progress,
) -> Result<Snapshot, ReadError> {
    Reader::new(needs).read(given, progress)
}

/// Reads a tree in memory, as if it were a folder of this name.
pub fn read_tree(name: &str, files: &BTreeMap<String, Vec<u8>>, needs: &Needs) -> Snapshot {
    Reader::new(needs).read_tree(name, files)
}

/// What is made of the needs once, for all that is read with them: automata of a thousand signatures
/// take longer than a small gather.
pub struct Reader<'n> {
    needs: &'n Needs,
    wants: Wants<'n>,
    matchers: Matchers<'n>,
    /// About the needs themselves, not about any source.
    gaps: Vec<Gap>,
}

impl<'n> Reader<'n> {
    pub fn new(needs: &'n Needs) -> Self {
        let (matchers, gaps) = Matchers::new(&needs.signatures);
        Self { needs, wants: Wants::new(needs), matchers, gaps }
    }

    /// As the function `read_given`.
    pub fn read(&self, given: Vec<Given>, progress: &dyn Progress) -> Result<Snapshot, ReadError> {
        let reading = self.reading();
        let count = given.len();
        let called: Vec<_> = given.iter().map(|one| (one.name(), one.path())).collect();
        let opened: Vec<_> = given.into_iter().map(Location::open).collect();
        let sizes: Option<Vec<u64>> = opened.iter().flatten().map(Location::bytes).collect();
        progress.start(sizes.map(|sizes| sizes.into_iter().sum()));
        let mut names = Vec::new();
        let mut refused = Vec::new();
        for (index, ((name, path), opened)) in called.into_iter().zip(opened).enumerate() {
            let source = begin(&reading, index, name, progress);
            let kind = match opened.and_then(|opened| location::read(&source, opened)) {
                Ok(kind) => kind,
                Err(reason) => {
                    source.gap(GapStatus::Unreadable, &source.name, &reason);
                    refused.push(ReadError { path, reason });
                    Some("unknown")
                }
            };
            names.push((source.name, kind));
        }
        if refused.len() == count {
            let nothing =
                || ReadError { path: PathBuf::new(), reason: "no location was given".into() };
            return Err(refused.into_iter().next().unwrap_or_else(nothing));
        }
        let store = reading.into_store();
        let documents = store.items.values().filter_map(|item| match item {
            Item::Document(found) => Some(found),
            _ => None,
        });
        if let Some((source, of, id)) = versions::of_another_cluster(documents) {
            let name = |source: usize| names.get(source).map_or("", |(name, _)| name.as_str());
            let (first, other) = ((name(of.0), of.1), (name(source), id));
            let reason = format!(
                "several sources describe one cluster, and these are two: {} is {}, {} is {}",
                first.0, first.1, other.0, other.1
            );
            return Err(ReadError { path: name(source).into(), reason });
        }
        Ok(assemble::assemble(store, names, self.gaps.clone(), self.needs))
    }

    /// As the function `read_tree`.
    pub fn read_tree(&self, name: &str, files: &BTreeMap<String, Vec<u8>>) -> Snapshot {
        let reading = self.reading();
        let source = begin(&reading, 0, name.into(), &NoProgress);
        let entries: Vec<Entry> = files
            .iter()
            .map(|(path, bytes)| Entry {
                path: shown_path(path.as_bytes()),
                size: bytes.len() as u64,
                content: Content::InMemory(bytes),
            })
            .collect();
        source.meter.take(entries.iter().map(|entry| entry.size).sum());
        folder::read(&source, &entries, "");
        drop(source);
        self.end(reading, vec![(name.into(), None)])
    }

    fn reading(&self) -> Reading<'_> {
        Reading::new(&self.wants, &self.matchers)
    }

    fn end(&self, reading: Reading, names: Vec<(String, Option<&'static str>)>) -> Snapshot {
        assemble::assemble(reading.into_store(), names, self.gaps.clone(), self.needs)
    }
}

fn begin<'r>(
    reading: &'r Reading<'r>,
    index: usize,
    name: String,
    progress: &'r dyn Progress,
) -> Source<'r> {
    reading.store().sources.push(store::SourceNotes::default());
    Source { reading, index, name, meter: Meter::new(progress), members: 0.into() }
}
