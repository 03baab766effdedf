//! One file of a gather, from whatever form it came in, turned into what is kept of it.

use std::io::{self, Read};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::{Gap, GapStatus, Needs};

use crate::decode::{Meter, Packing, packing, peek, unpack};
use crate::gather;
use crate::layout::{Kind, Place, Wants};
use crate::matcher::Matchers;
use crate::scan::Scan;
use crate::store::{Item, Slot, Store};
use crate::{archive, object};

/// Largest file that is kept whole because somebody asked for it.
const MAX_FILE: u64 = 8 << 20;
/// Largest file that is held in memory to be read as objects.
const MAX_OBJECT_FILE: u64 = 64 << 20;

/// What all sources of one reading share.
pub struct Reading<'n> {
    pub wants: Wants<'n>,
    pub matchers: Matchers<'n>,
    /// About the request itself, not about any source.
    pub request_gaps: Vec<Gap>,
    store: Mutex<Store>,
}

impl<'n> Reading<'n> {
    pub fn new(needs: &'n Needs) -> Self {
        let (matchers, request_gaps) = Matchers::new(&needs.signatures);
        Self { wants: Wants::new(needs), matchers, request_gaps, store: Mutex::default() }
    }

    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_store(self) -> Store {
        self.store.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One source while it is read.
pub struct Source<'r> {
    pub reading: &'r Reading<'r>,
    pub index: usize,
    pub name: String,
    pub meter: Meter<'r>,
    /// Members seen so far, nested ones too.
    pub members: AtomicU64,
}

impl Source<'_> {
    pub fn gap(&self, status: GapStatus, what: impl Into<String>, why: impl Into<String>) {
        if let Some(notes) = self.reading.store().sources.get_mut(self.index) {
            notes.gap(status, what, why);
        }
    }

    pub fn unreadable(&self, path: &str, error: &io::Error) {
        self.gap(GapStatus::Unreadable, path, plain(error));
    }

    fn put(&self, slot: &mut Slot, item: Item) {
        self.reading.store().put(*slot, item);
        slot.place += 1;
    }

    pub fn put_object(&self, slot: &mut Slot, found: crate::store::FoundDocument) {
        self.put(slot, Item::Document(found));
    }
}

/// Memory of one worker, used again for every file.
#[derive(Default)]
pub struct Buffers {
    pub chunk: Vec<u8>,
    pub whole: Vec<u8>,
}

pub enum Input<'i> {
    Bytes(&'i [u8]),
    Stream(&'i mut dyn Read),
}

/// Takes in one file. What could be read is kept even if the error says that there is more.
pub fn digest(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    path: &str,
    place: Place,
    input: Input,
    depth: usize,
) -> io::Result<()> {
    if !place.keep {
        return digest_kind(source, buffers, slot, path, place.kind, input, depth);
    }
    let mut kept = Vec::new();
    let mut rest: Box<dyn Read> = match input {
        Input::Bytes(bytes) => Box::new(bytes),
        Input::Stream(stream) => Box::new(stream),
    };
    let end = (&mut rest).take(MAX_FILE + 1).read_to_end(&mut kept).map(drop);
    if end.is_ok() && kept.len() as u64 <= MAX_FILE {
        let done = digest_kind(source, buffers, slot, path, place.kind, Input::Bytes(&kept), depth);
        source.put(slot, Item::File(path.into(), kept));
        return done;
    }
    if end.is_ok() {
        source.gap(GapStatus::Unreadable, path, "larger than the 8 MiB that are kept of a file");
    }
    let mut all = kept.as_slice().chain(crate::decode::Broken(end.err())).chain(rest);
    digest_kind(source, buffers, slot, path, place.kind, Input::Stream(&mut all), depth)
}

fn digest_kind(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    path: &str,
    kind: Kind,
    input: Input,
    depth: usize,
) -> io::Result<()> {
    match kind {
        Kind::Object(place) => {
            with_whole(input, MAX_OBJECT_FILE, &mut buffers.whole, |text, cut| {
                object::objects(source, slot, path, &place, text, cut);
            })
        }
        Kind::Log(origin) => log(source, buffers, slot, path, origin, input),
        Kind::Timestamp => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            if let Some(time) = gather::newest_time(text) {
                source.reading.store().gather_time(time);
            }
        }),
        Kind::GatherLog => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            for gap in gather::complaints(path, text) {
                source.gap(gap.status, gap.what, gap.why);
            }
        }),
        Kind::Archive => match input {
            Input::Bytes(mut bytes) => {
                archive::nested(source, buffers, slot, path, &mut bytes, depth)
            }
            Input::Stream(stream) => archive::nested(source, buffers, slot, path, stream, depth),
        },
        Kind::Other => Ok(()),
    }
}

/// Gives `then` all of the input at once, or as much as could be read.
fn with_whole(
    input: Input,
    limit: u64,
    buffer: &mut Vec<u8>,
    then: impl FnOnce(&[u8], bool),
) -> io::Result<()> {
    let stream = match input {
        Input::Bytes(bytes) => {
            then(bytes, false);
            return Ok(());
        }
        Input::Stream(stream) => stream,
    };
    buffer.clear();
    let end = stream.take(limit + 1).read_to_end(buffer);
    if buffer.len() as u64 > limit {
        *buffer = Vec::new();
        let why = format!("larger than {} MiB", limit >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    then(buffer, end.is_err());
    // One huge file must not keep its memory for the rest of the reading.
    buffer.clear();
    buffer.shrink_to(1 << 20);
    end.map(drop)
}

pub fn log(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    path: &str,
    origin: LogOrigin,
    input: Input,
) -> io::Result<()> {
    let matcher = source.reading.matchers.for_log(&origin);
    let mut scan = Scan::new(&origin, matcher.as_deref());
    let end = match input {
        Input::Bytes(bytes) if packing(bytes) == Packing::Plain => {
            scan.feed(bytes);
            Ok(())
        }
        Input::Bytes(bytes) => scan_packed(source, &mut scan, bytes, &mut buffers.chunk),
        Input::Stream(stream) => scan_packed(source, &mut scan, stream, &mut buffers.chunk),
    };
    let mut scanned = scan.finish(Arc::from(path), origin);
    scanned.complete = end.is_ok();
    if let Some(notes) = source.reading.store().sources.get_mut(source.index) {
        notes.logs += 1;
    }
    source.put(slot, Item::Log(scanned));
    end
}

fn scan_packed(
    source: &Source,
    scan: &mut Scan,
    reader: impl Read,
    chunk: &mut Vec<u8>,
) -> io::Result<()> {
    let (head, reader) = peek(reader);
    scan.read(&mut unpack(reader, packing(&head), &source.meter)?, chunk)
}

/// An error in words that do not name this machine.
pub fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".into(),
        io::ErrorKind::PermissionDenied => "no permission to read it".into(),
        io::ErrorKind::UnexpectedEof => "the data ends too early".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        _ if error.raw_os_error().is_some() => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
        _ => error.to_string(),
    }
}
