//! Tar archives, read in one pass and never unpacked, and the archives inside them.
//!
//! A member's path is only ever a name to show and to judge. Links and devices are not followed.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use plimsoll_model::snapshot::GapStatus;

use crate::decode::{Broken, packing, peek, unpack};
use crate::digest::{Buffers, Input, Source, digest, plain};
use crate::layout::{Kind, Place, root_index};
use crate::machines;
use crate::store::{Slot, note};
use crate::tarball::{MemberKind, Tarball, looks_like_tar};

/// Files up to this size are handed to workers whole; larger ones are read as a stream.
pub const SMALL: u64 = 1 << 20;
const MAX_MEMBERS: u64 = 2_000_000;
const MAX_PATH: usize = 4096;
const MAX_DEPTH: usize = 3;
const BUFFER: usize = 128 << 10;

/// A small file for a worker.
pub struct Job {
    pub slot: Slot,
    pub path: String,
    pub place: Place,
    pub data: Vec<u8>,
}

/// Where small files go, and where their buffers come back.
pub struct Workers<'w> {
    pub jobs: &'w SyncSender<Job>,
    pub spare: &'w Mutex<Vec<Vec<u8>>>,
}

/// An archive inside another archive or in a folder.
pub fn nested(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    path: &str,
    input: &mut dyn Read,
    depth: usize,
) -> io::Result<()> {
    if depth >= MAX_DEPTH {
        let why = format!("archives nested more than {MAX_DEPTH} deep are not read");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let (head, reader) = peek(input);
    if head.is_empty() {
        return Ok(());
    }
    let (head, reader) = peek(unpack(reader, packing(&head), &source.meter)?);
    if !looks_like_tar(&head) && head.iter().any(|b| *b != 0) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a tar archive"));
    }
    let mut tarball = Tarball::new(reader);
    members(source, buffers, slot, &format!("{path}!/"), &mut tarball, depth + 1, None)
}

/// The outermost archive of a source.
pub fn outermost(source: &Source, reader: impl Read, workers: &Workers) -> io::Result<()> {
    let mut slot = Slot { source: source.index, member: 0, place: 0 };
    let mut tarball = Tarball::new(BufReader::with_capacity(BUFFER, reader));
    members(source, &mut Buffers::default(), &mut slot, "", &mut tarball, 0, Some(workers))
}

fn members(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    prefix: &str,
    tarball: &mut Tarball<impl BufRead>,
    depth: usize,
    workers: Option<&Workers>,
) -> io::Result<()> {
    let mut last = None;
    loop {
        let next = match tarball.next_member() {
            Ok(None) => return Ok(()),
            Ok(Some(_)) if source.members.fetch_add(1, Ordering::Relaxed) >= MAX_MEMBERS => Err(
                io::Error::new(io::ErrorKind::InvalidData, "it has more than 2,000,000 members"),
            ),
            Ok(Some(member)) => Ok(member),
            Err(error) => Err(error),
        };
        let member = next.map_err(|error| ended(&error, last.as_deref()))?;
        let path = shown_path(&member.path);
        let full = format!("{prefix}{path}");
        if full.len() > MAX_PATH {
            let start: String = full.chars().take(80).collect();
            source.gap(GapStatus::Unreadable, format!("{start}…"), "its path is too long");
            continue;
        }
        if member.kind == MemberKind::Folder {
            continue;
        }
        let place = source.reading.wants.place(&path);
        if member.kind != MemberKind::File {
            if workers.is_some() {
                (slot.member, slot.place) = (slot.member + 1, 0);
            }
            refuse_link(source, slot, &full, &place);
            continue;
        }
        source.count(&full, &path, &place, member.size);
        last = Some(full.clone());
        if !place.is_wanted() {
            continue;
        }
        if workers.is_some() {
            (slot.member, slot.place) = (slot.member + 1, 0);
        }
        let small = member.size <= SMALL && place.kind != Kind::Archive;
        let end = match workers {
            Some(workers) if small => {
                hand_over(source, buffers, *slot, &full, place, tarball, workers)
            }
            _ => {
                let input = Input::Stream(tarball);
                digest(source, buffers, slot, &full, place, input, depth)
            }
        };
        match end {
            Err(error) if tarball.failed => return Err(ended(&error, Some(&full))),
            Err(error) => source.unreadable(&full, &error),
            Ok(()) => {}
        }
    }
}

/// Reads a small member and leaves the rest to a worker.
fn hand_over(
    source: &Source,
    buffers: &mut Buffers,
    mut slot: Slot,
    path: &str,
    place: Place,
    tarball: &mut impl Read,
    workers: &Workers,
) -> io::Result<()> {
    let mut data =
        workers.spare.lock().map(|mut spare| spare.pop()).ok().flatten().unwrap_or_default();
    data.clear();
    if let Err(error) = tarball.read_to_end(&mut data) {
        let again = io::Error::new(error.kind(), error.to_string());
        let mut cut = data.as_slice().chain(Broken(Some(error)));
        let input = Input::Stream(&mut cut);
        return digest(source, buffers, &mut slot, path, place, input, 0).and(Err(again));
    }
    let job = Job { slot, path: path.into(), place, data };
    workers.jobs.send(job).map_err(|_| io::Error::other("the workers ended early"))
}

fn ended(error: &io::Error, last: Option<&str>) -> io::Error {
    let why = match last {
        Some(last) => format!("cut off or damaged after {last}: {}", plain(error)),
        None => plain(error),
    };
    io::Error::new(io::ErrorKind::InvalidData, why)
}

pub fn refuse_link(source: &Source, slot: &mut Slot, path: &str, place: &Place) {
    if place.keep && place.safe.is_some() {
        if let Some(notes) = source.reading.store().sources.get_mut(source.index) {
            machines::note(notes, path, place);
        }
        source.put_link(slot, path);
    } else if place.is_wanted() {
        source.gap(GapStatus::Unreadable, path, "it is a link or a device, which are not followed");
    }
}

impl Source<'_> {
    /// Notes that a file is there, wanted or not. `shown` is its path with the archives around it,
    /// `judged` the path that it was judged by: without them, with the name of the location.
    pub fn count(&self, shown: &str, judged: &str, place: &Place, size: u64) {
        const ROOT_FILES: [&str; 5] =
            ["timestamp", "version", "event-filter.html", "gather.logs", "must-gather.logs"];
        let parts: Vec<&str> = judged.split('/').collect();
        let root = root_index(&parts);
        let below: usize = parts[root..].iter().map(|part| part.len() + 1).sum();
        let folder = shown.get(..(shown.len() + 1).saturating_sub(below)).unwrap_or_default();
        let folder = folder.trim_end_matches('/');
        let is_root_file =
            root + 1 == parts.len() && parts.last().is_some_and(|f| ROOT_FILES.contains(f));
        if let Some(notes) = self.reading.store().sources.get_mut(self.index) {
            notes.files += 1;
            notes.bytes += size;
            notes.layouts.extend(place.layout);
            machines::note(notes, shown, place);
            if root + 1 < parts.len() {
                note(&mut notes.roots, folder);
            } else if is_root_file {
                note(&mut notes.marked, folder);
            }
        }
    }
}

/// A member's path as a relative path without tricks, fit to be shown.
pub fn shown_path(raw: &[u8]) -> String {
    let text = plimsoll_model::redact::printable(raw);
    let parts = text.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_and_lead_nowhere() {
        assert_eq!(shown_path(b"../../etc/passwd"), "etc/passwd");
        assert_eq!(shown_path(b"/a//./b/../c"), "a/b/c");
        assert_eq!(shown_path(b"a\x1b[2J/b\n"), "a/b");
    }
}
