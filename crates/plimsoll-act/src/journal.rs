//! The journal of a session: one JSON line an event, each with the hash of the line before, written and
//! synced before anything else happens.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fs_err::{File, OpenOptions};
use plimsoll_model::Time;
use plimsoll_model::session::{Entry, Event, read_entries};

/// Nothing is done that could not be written down first.
#[derive(Debug, thiserror::Error)]
#[error("the journal cannot be written: {0}")]
pub struct Unwritable(pub String);

/// Where events go. The transaction knows no files.
pub trait Log {
    fn entries(&self) -> &[Entry];
    fn append(&mut self, event: Event) -> Result<(), Unwritable>;
    /// The clock that its lines are stamped with.
    fn now(&self) -> Time;
}

pub struct Journal {
    file: File,
    entries: Vec<Entry>,
    clock: fn() -> Time,
}

pub const FILE: &str = "journal.jsonl";

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{path}: line {line} was changed after it was written; nothing is done from it")]
    Tampered { path: PathBuf, line: u64 },
}

impl Journal {
    /// A new one, in a folder that only its owner can read.
    pub fn create(folder: &Path, clock: fn() -> Time) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true);
        private(&mut options);
        let file = options.open(folder.join(FILE))?;
        // The name of a new file is only there for good when its folder is synced.
        File::open(folder)?.sync_all()?;
        Ok(Self { file, entries: Vec::new(), clock })
    }

    /// What one says that may be written at this moment.
    pub fn read(folder: &Path) -> Result<Vec<Entry>, Unreadable> {
        let path = folder.join(FILE);
        let text = fs_err::read(&path)?;
        let read = read_entries(&text).map(|(entries, _)| entries);
        read.map_err(|line| Unreadable::Tampered { path, line })
    }

    /// One that is there. A last line that was cut off in writing was never acted on, and goes.
    pub fn open(folder: &Path, clock: fn() -> Time) -> Result<Self, Unreadable> {
        let path = folder.join(FILE);
        let text = fs_err::read(&path)?;
        let tampered = |line| Unreadable::Tampered { path: path.clone(), line };
        let (entries, good) = read_entries(&text).map_err(tampered)?;
        let file = OpenOptions::new().append(true).open(&path)?;
        if good < text.len() {
            file.set_len(good as u64)?;
            file.sync_all()?;
        }
        Ok(Self { file, entries, clock })
    }
}

impl Log for Journal {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn append(&mut self, event: Event) -> Result<(), Unwritable> {
        let unwritable = |error: &dyn std::fmt::Display| Unwritable(error.to_string());
        let entry = Entry::after(self.entries.last(), (self.clock)(), event);
        let mut line = serde_json::to_vec(&entry).map_err(|error| unwritable(&error))?;
        line.push(b'\n');
        let before = self.file.metadata().map_err(|error| unwritable(&error))?.len();
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_all());
        if let Err(error) = written {
            // Half a line must not stand before the next one.
            let _ = self.file.set_len(before);
            return Err(unwritable(&error));
        }
        self.entries.push(entry);
        Ok(())
    }

    fn now(&self) -> Time {
        (self.clock)()
    }
}

/// Readable by its owner only.
pub fn private(options: &mut OpenOptions) {
    use fs_err::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::session::Outcome;

    fn journal(folder: &Path) -> Journal {
        let mut journal = Journal::create(folder, || Time::UNIX_EPOCH).unwrap();
        journal.append(Event::Began { plan: "p".into(), by: "t".into(), before: None }).unwrap();
        journal.append(Event::Intends { step: 1, before: "b".into() }).unwrap();
        journal.append(Event::Ended { outcome: Outcome::Stopped, says: "stopped".into() }).unwrap();
        journal
    }

    #[test]
    fn what_was_written_is_read_again_and_a_torn_line_goes() {
        let folder = tempfile::tempdir().unwrap();
        let written = journal(folder.path()).entries;
        let path = folder.path().join(FILE);
        let whole = std::fs::read(&path).unwrap();
        for cut in [1, 5, 40] {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            let read = Journal::open(folder.path(), || Time::UNIX_EPOCH).unwrap();
            assert_eq!(read.entries, written[..2]);
            let kept = std::fs::read(&path).unwrap();
            assert!(kept.ends_with(b"\n") && whole.starts_with(&kept));
        }
    }

    #[test]
    fn a_line_that_was_changed_or_taken_out_is_found() {
        let folder = tempfile::tempdir().unwrap();
        journal(folder.path());
        let path = folder.path().join(FILE);
        let whole = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.lines().collect();
        let changed = whole.replace("\"step\":1", "\"step\":2");
        let shorter = format!("{}\n{}\n", lines[0], lines[2]);
        for text in [changed, shorter] {
            std::fs::write(&path, text).unwrap();
            let read = Journal::open(folder.path(), || Time::UNIX_EPOCH);
            assert!(matches!(read, Err(Unreadable::Tampered { line: 2, .. })));
        }
    }

    #[test]
    fn a_new_session_never_writes_into_an_old_journal() {
        let folder = tempfile::tempdir().unwrap();
        journal(folder.path());
        assert!(Journal::create(folder.path(), || Time::UNIX_EPOCH).is_err());
    }
}
