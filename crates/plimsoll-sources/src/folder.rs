//! Files that can be read in any order: those of a folder, and those of a tree in memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use walkdir::WalkDir;

use crate::archive::{SMALL, refuse_link, shown_path};
use crate::decode::Taken;
use crate::digest::{Buffers, Input, Source, digest, plain};
use crate::layout::{Kind, Place};
use crate::machines;
use crate::store::Slot;

const MAX_WORKERS: usize = 8;
const MAX_FILES: usize = 2_000_000;

pub struct Listing {
    /// Sorted by path.
    pub entries: Vec<Entry<'static>>,
    /// What could not be looked at, and why.
    pub refused: Vec<(String, String)>,
    pub is_cut: bool,
}

pub struct Entry<'e> {
    /// Relative to the location, fit to be shown.
    pub path: String,
    pub size: u64,
    pub content: Content<'e>,
}

pub enum Content<'e> {
    OnDisk(PathBuf),
    InMemory(&'e [u8]),
    /// A folder in a part of a node's root: it tells that what is not beside it is not there.
    Folder,
    /// A link or a device.
    None,
}

/// A part of a folder that is to be read.
pub struct Part {
    pub path: &'static str,
    /// Folders below it that are looked into.
    pub depth: usize,
    /// Name of a folder right in it that is not looked into.
    pub skip: &'static str,
}

/// All files of a folder.
pub fn list(folder: &Path) -> Result<Listing, String> {
    list_parts(folder, &[Part { path: "", depth: usize::MAX, skip: "" }])
}

pub fn list_parts(folder: &Path, parts: &[Part]) -> Result<Listing, String> {
    let mut listing = Listing { entries: Vec::new(), refused: Vec::new(), is_cut: false };
    for part in parts {
        let start = if part.path.is_empty() { folder.into() } else { folder.join(part.path) };
        if is_behind_link(folder, &start) {
            listing.refused.push((part.path.into(), BEHIND_LINK.into()));
        } else if part.path.is_empty() || start.symlink_metadata().is_ok() {
            list_part(folder, &start, part, &mut listing);
        }
    }
    if listing.entries.is_empty() {
        let why = listing.refused.first().map(|(_, why)| why.clone());
        let is_whole = parts.iter().any(|part| part.path.is_empty());
        let nothing = match is_whole {
            true => "the folder is empty",
            false => "it is no root of a node: it has none of the folders that are looked for",
        };
        return Err(why.unwrap_or_else(|| nothing.into()));
    }
    listing.entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

pub const BEHIND_LINK: &str = "it stands behind a link, which is not followed";

/// Whether a folder on the way from `root` to `path` is a link: it may lead out of the root.
pub fn is_behind_link(root: &Path, path: &Path) -> bool {
    let way =
        path.ancestors().skip(1).take_while(|folder| *folder != root && folder.starts_with(root));
    way.into_iter().any(Path::is_symlink)
}

fn list_part(folder: &Path, start: &Path, part: &Part, listing: &mut Listing) {
    let relative = |path: &Path| {
        let path = path.strip_prefix(folder).unwrap_or(path);
        shown_path(path.as_os_str().as_encoded_bytes())
    };
    let refusal = |error: &walkdir::Error| {
        let why = error.io_error().map_or_else(|| "it cannot be read".into(), plain);
        (error.path().map(relative).unwrap_or_default(), why)
    };
    let walk = WalkDir::new(start)
        .follow_links(false)
        .follow_root_links(part.path.is_empty())
        .max_depth(part.depth.saturating_add(1))
        .into_iter()
        .filter_entry(|entry| entry.depth() != 1 || entry.file_name() != part.skip);
    for entry in walk {
        if listing.entries.len() >= MAX_FILES {
            listing.is_cut = true;
            return;
        }
        match entry {
            Ok(entry) if entry.file_type().is_dir() => {
                if !part.path.is_empty() && entry.depth() > 0 {
                    let path = relative(entry.path());
                    listing.entries.push(Entry { path, size: 0, content: Content::Folder });
                }
            }
            Ok(entry) => match entry.metadata() {
                Ok(metadata) => listing.entries.push(Entry {
                    path: relative(entry.path()),
                    size: metadata.len(),
                    content: if metadata.is_file() {
                        Content::OnDisk(entry.into_path())
                    } else {
                        Content::None
                    },
                }),
                Err(error) => listing.refused.push(refusal(&error)),
            },
            Err(error) => listing.refused.push(refusal(&error)),
        }
    }
}

/// Reads all entries, in parallel. `around` is what stands before their paths when they are judged.
pub fn read(source: &Source, entries: &[Entry], around: &str) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..worker_count().min(entries.len()) {
            scope.spawn(|| {
                let mut buffers = Buffers::default();
                let mut small = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = entries.get(index) else { return };
                    let slot = Slot { source: source.index, member: index as u64, place: 0 };
                    if let Err(error) =
                        read_entry(source, &mut buffers, &mut small, slot, entry, around)
                    {
                        source.unreadable(&entry.path, &error);
                    }
                }
            });
        }
    });
}

pub fn worker_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS)
}

fn read_entry(
    source: &Source,
    buffers: &mut Buffers,
    small: &mut Vec<u8>,
    mut slot: Slot,
    entry: &Entry,
    around: &str,
) -> io::Result<()> {
    let path = entry.path.as_str();
    let judged = format!("{around}{path}");
    let place = source.reading.wants.place(&judged);
    if matches!(entry.content, Content::None) {
        refuse_link(source, &mut slot, path, &place);
        return Ok(());
    }
    if matches!(entry.content, Content::Folder) {
        if let Some(notes) = source.reading.store().sources.get_mut(source.index) {
            machines::note(notes, path, &place);
        }
        return Ok(());
    }
    source.count(path, &judged, &place, entry.size);
    if !place.is_wanted() {
        source.meter.take(entry.size);
        return Ok(());
    }
    match &entry.content {
        Content::InMemory(bytes) => {
            let input = Input::Bytes(bytes);
            digest(source, buffers, &mut slot, path, place, input, 0)
        }
        Content::OnDisk(_) if entry.size == 0 => {
            digest(source, buffers, &mut slot, path, place, Input::Bytes(&[]), 0)
        }
        Content::OnDisk(on_disk) => {
            let mut file = Taken { inner: File::open(on_disk)?, meter: &source.meter };
            if is_small(entry, &place) {
                small.clear();
                small.reserve(usize::try_from(entry.size).unwrap_or_default() + 1);
                // A file that grew since it was listed is read as far as it was then.
                file.take(SMALL).read_to_end(small)?;
                digest(source, buffers, &mut slot, path, place, Input::Bytes(small), 0)
            } else {
                digest(source, buffers, &mut slot, path, place, Input::Stream(&mut file), 0)
            }
        }
        Content::Folder | Content::None => Ok(()),
    }
}

fn is_small(entry: &Entry, place: &Place) -> bool {
    entry.size <= SMALL && place.kind != Kind::Archive
}
