//! One file of a gather, from whatever form it came in, turned into what is kept of it.

use std::io::{self, Read};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::GapStatus;

use crate::decode::{Meter, Packing, packing, peek, unpack};
use crate::journal::Units;
use crate::layout::{Kind, Layout, Place, Wants};
use crate::machines;
use crate::matcher::Matchers;
use crate::scan::{Scan, ScannedLog};
use crate::store::{Item, Slot, Store};
use crate::times::{is_installer_line, journal_head};
use crate::{archive, capture, export, gather, journal, object};

/// Largest file that is kept whole because somebody asked for it.
const MAX_FILE: u64 = 8 << 20;
/// Largest file that holds nothing but a name.
const MAX_NAME: u64 = 4 << 10;
/// Largest file that is held in memory to be read as objects.
const MAX_OBJECT_FILE: u64 = 64 << 20;

/// What all sources of one reading share.
pub struct Reading<'n> {
    pub wants: &'n Wants<'n>,
    pub matchers: &'n Matchers<'n>,
    store: Mutex<Store>,
}

impl<'n> Reading<'n> {
    pub fn new(wants: &'n Wants<'n>, matchers: &'n Matchers<'n>) -> Self {
        Self { wants, matchers, store: Mutex::default() }
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

    pub fn saw(&self, layout: Layout) {
        if let Some(notes) = self.reading.store().sources.get_mut(self.index) {
            notes.layouts.insert(layout);
        }
    }

    fn put(&self, slot: &mut Slot, item: Item) {
        self.reading.store().put(*slot, item);
        slot.place += 1;
    }

    /// A file with secrets that is a link: it is there, and what it leads to is not looked at.
    pub fn put_link(&self, slot: &mut Slot, path: &str) {
        self.put(slot, Item::File(path.into(), Vec::new()));
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

impl<'i> Input<'i> {
    fn stream(self) -> Box<dyn Read + 'i> {
        match self {
            Input::Bytes(bytes) => Box::new(bytes),
            Input::Stream(stream) => Box::new(stream),
        }
    }
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
    let machine = machines::folder(path, &place).map(str::to_string);
    let file = File { path, machine, depth };
    if !place.keep {
        return digest_kind(source, buffers, slot, &file, place.kind, input);
    }
    let mut kept = Vec::new();
    let mut rest = input.stream();
    let end = (&mut rest).take(MAX_FILE + 1).read_to_end(&mut kept).map(drop);
    if end.is_ok() && kept.len() as u64 <= MAX_FILE {
        let done = digest_kind(source, buffers, slot, &file, place.kind, Input::Bytes(&kept));
        match place.safe {
            None => source.put(slot, Item::File(path.into(), kept)),
            Some(safe) => match safe.reduce(&kept) {
                Some(kept) => source.put(slot, Item::File(path.into(), kept)),
                None => source.gap(GapStatus::Unreadable, path, "it is not what its name says"),
            },
        }
        return done;
    }
    if end.is_ok() {
        source.gap(GapStatus::Unreadable, path, "larger than the 8 MiB that are kept of a file");
    }
    let mut all = kept.as_slice().chain(crate::decode::Broken(end.err())).chain(rest);
    digest_kind(source, buffers, slot, &file, place.kind, Input::Stream(&mut all))
}

/// Where a file stands.
struct File<'f> {
    path: &'f str,
    /// Folder of the machine whose file it is.
    machine: Option<String>,
    /// Archives around it.
    depth: usize,
}

fn digest_kind(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    file: &File,
    kind: Kind,
    input: Input,
) -> io::Result<()> {
    let path = file.path;
    match kind {
        Kind::Object(place) => {
            with_whole(input, MAX_OBJECT_FILE, &mut buffers.whole, |text, cut| {
                object::objects(source, slot, path, &place, text, cut);
            })
        }
        Kind::Log(origin) => log(source, buffers, slot, file, origin, input),
        Kind::Excerpt(origin) => {
            let (log, end) = scanned(source, buffers, path, origin, input);
            keep_logs(source, slot, file, vec![ScannedLog { complete: false, ..log }]);
            end
        }
        Kind::Journal => {
            let mut units = Units::new(source.reading.matchers);
            let chunk = &mut buffers.chunk;
            let end = unpacked(source, input.stream())
                .and_then(|mut stream| journal::read(&mut units, &mut stream, chunk));
            keep_logs(source, slot, file, units.finish(path, end.is_ok()));
            end
        }
        Kind::Export => {
            let mut units = Units::new(source.reading.matchers);
            let end = unpacked(source, input.stream())
                .and_then(|stream| export::read(&mut units, stream));
            keep_logs(source, slot, file, units.finish(path, end.is_ok()));
            end
        }
        Kind::BinaryJournal => {
            let why = "a journal can be read only from the folder of a node, with node:FOLDER";
            let folder = path.split("/var/log/journal").next().unwrap_or_default();
            source.gap(GapStatus::NotCollected, format!("journal in {folder}"), why);
            Ok(())
        }
        Kind::HostName => with_whole(input, MAX_NAME, &mut buffers.whole, |text, _| {
            machines::name(source, file.machine.as_deref(), path, text);
        }),
        Kind::Labels => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            machines::label(source, path, text);
        }),
        Kind::Timestamp => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            for time in gather::times(text) {
                source.reading.store().gather_time(source.index, time);
            }
        }),
        Kind::CaptureHead => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            capture::head(source, path, text);
        }),
        Kind::CaptureEnd => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            capture::end(source, path, text);
        }),
        Kind::GatherLog => with_whole(input, MAX_FILE, &mut buffers.whole, |text, _| {
            for gap in gather::complaints(path, text) {
                source.gap(gap.status, gap.what, gap.why);
            }
        }),
        Kind::Text => {
            let (head, stream) = peek(unpacked(source, input.stream())?);
            let mut stream = stream;
            let input = Input::Stream(&mut stream);
            if is_installer_log(&head) {
                source.saw(Layout::Installer);
                return log(source, buffers, slot, file, LogOrigin::Installer, input);
            }
            if is_journal(&head) {
                source.saw(Layout::Journal);
                return digest_kind(source, buffers, slot, file, Kind::Journal, input);
            }
            Ok(())
        }
        Kind::Archive => match input {
            Input::Bytes(mut bytes) => {
                archive::nested(source, buffers, slot, path, &mut bytes, file.depth)
            }
            Input::Stream(stream) => {
                archive::nested(source, buffers, slot, path, stream, file.depth)
            }
        },
        Kind::Other => Ok(()),
    }
}

/// Whether a text begins as the installer's log does, whatever it is called.
fn is_installer_log(head: &[u8]) -> bool {
    let mut lines = head.split(|b| *b == b'\n');
    lines.next().is_some_and(is_installer_line)
        && memchr::memmem::find(head, b"msg=\"OpenShift Installer ").is_some()
}

/// Whether a text begins as `journalctl` prints: with time, host and writer, and maybe a line of its own
/// above.
pub fn is_journal(head: &[u8]) -> bool {
    head.split(|b| *b == b'\n').take(3).any(|line| journal_head(line).is_some())
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

fn log(
    source: &Source,
    buffers: &mut Buffers,
    slot: &mut Slot,
    file: &File,
    origin: LogOrigin,
    input: Input,
) -> io::Result<()> {
    let (log, end) = scanned(source, buffers, file.path, origin, input);
    keep_logs(source, slot, file, vec![log]);
    end
}

/// A text that is a source of its own.
pub fn text(
    source: &Source,
    slot: &mut Slot,
    path: &str,
    origin: LogOrigin,
    stream: &mut dyn Read,
) -> io::Result<()> {
    let file = File { path, machine: None, depth: 0 };
    log(source, &mut Buffers::default(), slot, &file, origin, Input::Stream(stream))
}

/// A journal that a program writes while it is read.
pub fn journal_of(
    source: &Source,
    slot: &mut Slot,
    path: &str,
    stream: &mut dyn Read,
) -> io::Result<()> {
    let file = File { path, machine: Some(String::new()), depth: 0 };
    digest_kind(source, &mut Buffers::default(), slot, &file, Kind::Journal, Input::Stream(stream))
}

fn scanned(
    source: &Source,
    buffers: &mut Buffers,
    path: &str,
    origin: LogOrigin,
    input: Input,
) -> (ScannedLog, io::Result<()>) {
    let mut scan = Scan::new(&origin, source.reading.matchers.for_log(&origin));
    let end = match input {
        Input::Bytes(bytes) if packing(bytes) == Packing::Plain => {
            scan.feed(bytes);
            Ok(())
        }
        input => unpacked(source, input.stream())
            .and_then(|mut stream| scan.read(&mut stream, &mut buffers.chunk)),
    };
    let mut log = scan.finish(Arc::from(path), origin);
    log.complete = end.is_ok();
    (log, end)
}

fn keep_logs(source: &Source, slot: &mut Slot, file: &File, logs: Vec<ScannedLog>) {
    if let Some(notes) = source.reading.store().sources.get_mut(source.index) {
        notes.logs += logs.len() as u64;
    }
    for mut log in logs {
        log.machine.clone_from(&file.machine);
        source.put(slot, Item::Log(log));
    }
}

/// The stream inside, however it is packed.
fn unpacked<'i>(source: &'i Source, input: Box<dyn Read + 'i>) -> io::Result<Box<dyn Read + 'i>> {
    let (head, reader) = peek(input);
    unpack(reader, packing(&head), &source.meter)
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
