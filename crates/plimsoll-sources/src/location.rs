//! What a path on this machine is: a folder, an archive, or the text of a log.
//!
//! This file, `folder` and `node` are the only ones that touch the file system, and they only read.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::GapStatus;

use crate::Given;
use crate::archive::{Job, Workers, outermost, shown_path};
use crate::decode::{Packing, Taken, packing, peek, unpack};
use crate::digest::{Buffers, Input, Source, digest, is_journal, journal_of, plain, text};
use crate::folder::{self, Listing};
use crate::layout::is_console;
use crate::node;
use crate::store::{Item, Slot};
use crate::tarball::looks_like_tar;
use crate::times::is_installer_line;

/// Small files that wait for a worker.
const QUEUE: usize = 16;

/// What stands before the path of a node's root.
const NODE: &str = "node:";

pub enum Location {
    Folder(Listing),
    Node { root: PathBuf, listing: Listing },
    File { file: File, size: u64 },
    Stream(Box<dyn Read + Send>),
}

impl Location {
    pub fn open(given: Given) -> Result<Self, String> {
        match given {
            Given::Path(path) => Self::open_path(&path),
            Given::Stream { stream, .. } => Ok(Location::Stream(stream)),
        }
    }

    fn open_path(path: &Path) -> Result<Self, String> {
        let node = node_root(path);
        let metadata =
            std::fs::metadata(node.as_deref().unwrap_or(path)).map_err(|error| plain(&error))?;
        if node.is_some() && !metadata.is_dir() {
            return Err("the root of a node is a folder".into());
        }
        if let Some(root) = node.or_else(|| node::is_root(path).then(|| path.into())) {
            let listing = folder::list_parts(&root, &node::PARTS)?;
            return Ok(Location::Node { root, listing });
        }
        if metadata.is_dir() {
            return folder::list(path).map(Location::Folder);
        }
        if !metadata.is_file() {
            return Err("it is neither a folder nor a file".into());
        }
        let file = File::open(path).map_err(|error| plain(&error))?;
        Ok(Location::File { file, size: metadata.len() })
    }

    /// How much there is to read, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Location::Folder(listing) | Location::Node { listing, .. } => {
                Some(listing.entries.iter().map(|entry| entry.size).sum())
            }
            Location::File { size, .. } => Some(*size),
            Location::Stream(_) => None,
        }
    }
}

/// File or folder name, never the path on this machine.
pub fn name_of(path: &Path) -> String {
    let root = node_root(path);
    let path = root.as_deref().unwrap_or(path);
    let name = |path: &Path| path.file_name().map(|name| shown_path(name.as_encoded_bytes()));
    let real = || std::fs::canonicalize(path).ok().and_then(|path| name(&path));
    name(path).or_else(real).unwrap_or_else(|| "/".into())
}

/// The folder of `node:FOLDER`.
fn node_root(path: &Path) -> Option<PathBuf> {
    path.to_str()?.strip_prefix(NODE).filter(|root| !root.is_empty()).map(PathBuf::from)
}

/// Reads a location. Gives its kind where that is settled; the error says why there is nothing in it.
pub fn read(source: &Source, location: Location) -> Result<Option<&'static str>, String> {
    match location {
        Location::Folder(listing) => {
            // The folder's own name may be the one that tells what is in it.
            read_listing(source, listing, &format!("{}/", source.name));
            has_something(source, None).map(|()| None)
        }
        Location::Node { root, listing } => {
            let member = listing.entries.len() as u64;
            read_listing(source, listing, "");
            node::journal(source, &root, OsStr::new("journalctl"), member);
            has_something(source, None).map(|()| Some("node"))
        }
        Location::File { size: 0, .. } => Err("the file is empty".into()),
        Location::File { file, size } => {
            read_file(source, Taken { inner: file, meter: &source.meter }, size)
        }
        Location::Stream(stream) => {
            read_file(source, Taken { inner: stream, meter: &source.meter }, 0)
        }
    }
}

fn read_listing(source: &Source, listing: Listing, around: &str) {
    for (path, why) in listing.refused {
        source.gap(GapStatus::Unreadable, path, why);
    }
    if listing.is_cut {
        source.gap(GapStatus::Cut, &source.name, "it has more than 2,000,000 files");
    }
    folder::read(source, &listing.entries, around);
}

fn has_something(source: &Source, error: Option<String>) -> Result<(), String> {
    let store = source.reading.store();
    let found = store.sources.get(source.index).is_some_and(|notes| notes.is_gather());
    drop(store);
    match error {
        Some(error) if !found => Err(error),
        None if !found => Err("it holds nothing that is known of a cluster or a machine".into()),
        error => {
            if let Some(error) = error {
                source.gap(GapStatus::Cut, &source.name, error);
            }
            Ok(())
        }
    }
}

fn read_file(source: &Source, file: impl Read, size: u64) -> Result<Option<&'static str>, String> {
    let (head, reader) = peek(file);
    let packed = packing(&head);
    let inside = unpack(reader, packed, &source.meter).map_err(|error| plain(&error))?;
    let (head, reader) = peek(inside);
    if looks_like_tar(&head) {
        let end = with_workers(source, |workers| outermost(source, reader, workers));
        return has_something(source, end.err().map(|error| error.to_string())).map(|()| None);
    }
    let mut reader = reader;
    let is_text = !head.is_empty() && !head.contains(&0) && !other_archive(&head);
    if !is_text {
        // What stands in the way of the first byte is the better reason.
        let end = io::copy(&mut reader.take(1), &mut io::sink());
        return Err(match end {
            Err(error) => plain(&error),
            Ok(_) if packed != Packing::Plain && head.is_empty() => "the archive is empty".into(),
            Ok(_) => "it is neither a tar archive (plain, gzip, xz, zstd) nor text".into(),
        });
    }
    if let Some(notes) = source.reading.store().sources.get_mut(source.index) {
        (notes.files, notes.bytes) = (1, size);
    }
    // A tail of the installer's log is one, too, so the first line that is whole must do.
    let is_installer = head.split(|b| *b == b'\n').take(3).any(is_installer_line);
    let mut slot = Slot { source: source.index, member: 0, place: 0 };
    let name = source.name.clone();
    let (kind, end) = if is_installer {
        ("installer", text(source, &mut slot, &name, LogOrigin::Installer, &mut reader))
    } else if is_journal(&head) && !is_console(stem(&name)) {
        ("journal", journal_of(source, &mut slot, &name, &mut reader))
    } else {
        let origin = LogOrigin::Console { name: stem(&name).into() };
        ("console", text(source, &mut slot, &name, origin, &mut reader))
    };
    if let Err(error) = end {
        source.gap(GapStatus::Cut, &name, plain(&error));
    }
    // What a firmware shows has no times, and may be nothing that is known.
    if !is_console(stem(&name)) && !speaks(source) {
        return Err("it is no archive, and no line of it looks like a log's".into());
    }
    Ok(Some(kind))
}

/// Whether a text is a log at all: something in it was looked for, or some line carries a time.
fn speaks(source: &Source) -> bool {
    let mut store = source.reading.store();
    let is_log = |slot: &Slot, item: &Item| match item {
        Item::Log(log) if slot.source == source.index => {
            !log.hits.is_empty() || log.start.is_some() || log.end.is_some() || log.kernel
        }
        _ => false,
    };
    let found = store.items.iter().any(|(slot, item)| is_log(slot, item));
    if !found {
        store.items.retain(|slot, _| slot.source != source.index);
    }
    found
}

/// `console-1` of `console-1.log.gz`.
fn stem(name: &str) -> &str {
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Archives that are not read. Some have no NUL among their first bytes.
fn other_archive(head: &[u8]) -> bool {
    [&b"PK\x03\x04"[..], b"BZh", b"7z\xbc\xaf", b"Rar!"].iter().any(|magic| head.starts_with(magic))
}

/// Runs `feed` with workers that digest what it hands over.
fn with_workers<T>(source: &Source, feed: impl FnOnce(&Workers) -> T) -> T {
    let (jobs, queue) = sync_channel::<Job>(QUEUE);
    let queue = Mutex::new(queue);
    let spare = Mutex::new(Vec::new());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).recv().ok();
    thread::scope(|scope| {
        for _ in 0..folder::worker_count() {
            scope.spawn(|| {
                let mut buffers = Buffers::default();
                while let Some(Job { mut slot, path, place, data }) = next() {
                    let input = Input::Bytes(&data);
                    if let Err(error) =
                        digest(source, &mut buffers, &mut slot, &path, place, input, 0)
                    {
                        source.unreadable(&path, &error);
                    }
                    if let Ok(mut spare) = spare.lock()
                        && spare.len() < QUEUE
                    {
                        spare.push(data);
                    }
                }
            });
        }
        let fed = feed(&Workers { jobs: &jobs, spare: &spare });
        drop(jobs);
        fed
    })
}
