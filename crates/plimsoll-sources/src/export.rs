//! A journal as `journalctl -o export` writes it, which is how `agent-gather` brings it.
//!
//! An entry is a run of fields up to an empty line. A field is `KEY=text`, or, when it may hold line
//! breaks, `KEY`, eight bytes of length and the bytes. Each entry becomes a line of its unit.

use std::io::{self, BufRead, Read};

use plimsoll_model::Time;

use crate::journal::{Units, unit_of};

/// Bytes kept of a field; the rest of a longer one is skipped.
const MAX_FIELD: usize = 64 << 10;

#[derive(Default)]
struct Entry {
    time: Option<Time>,
    host: String,
    unit: String,
    /// The unit that systemd speaks of.
    about: String,
    identifier: String,
    pid: String,
    message: Vec<u8>,
    /// Line of the file at which the message stands.
    line: u64,
}

/// Reads to the end, or as far as it goes.
pub fn read(units: &mut Units, input: impl Read) -> io::Result<()> {
    let mut fields = Fields { input: io::BufReader::with_capacity(128 << 10, input), line: 1 };
    let mut entry = Entry::default();
    loop {
        match fields.next() {
            Ok(Some(field)) if field.key.is_empty() && field.value.is_empty() => {
                std::mem::take(&mut entry).hand_over(units);
            }
            Ok(Some(field)) => entry.take(field),
            Ok(None) => {
                entry.hand_over(units);
                return Ok(());
            }
            Err(error) => {
                entry.hand_over(units);
                return Err(error);
            }
        }
    }
}

impl Entry {
    fn take(&mut self, field: Field) {
        let text = || String::from_utf8_lossy(&field.value).into_owned();
        match field.key.as_slice() {
            b"__REALTIME_TIMESTAMP" => {
                self.time = text().parse().ok().and_then(|us| Time::from_microsecond(us).ok());
            }
            b"_HOSTNAME" => self.host = text(),
            b"_SYSTEMD_UNIT" => self.unit = text(),
            b"UNIT" => self.about = text(),
            b"SYSLOG_IDENTIFIER" => self.identifier = text(),
            b"_PID" => self.pid = text(),
            b"MESSAGE" => (self.message, self.line) = (field.value, field.line),
            _ => {}
        }
    }

    fn hand_over(self, units: &mut Units) {
        let Some(time) = self.time.filter(|_| !self.message.is_empty()) else { return };
        let named =
            [&self.about, &self.unit].into_iter().find_map(|unit| unit.strip_suffix(".service"));
        let unit = named.unwrap_or_else(|| unit_of(&self.identifier, &self.message));
        let writer = if self.identifier.is_empty() { unit } else { &self.identifier };
        let writer = writer.replace([' ', ':'], "-");
        let mut line = format!("{time} {} {writer}[{}]: ", self.host, self.pid).into_bytes();
        // One entry is one line, so that all of it has the entry's time and host.
        line.extend(self.message.iter().map(|b| if *b == b'\n' { b' ' } else { *b }));
        line.push(b'\n');
        units.scan(unit).feed_at(self.line, &line);
    }
}

struct Field {
    key: Vec<u8>,
    value: Vec<u8>,
    /// Line of the file at which the value starts.
    line: u64,
}

struct Fields<R> {
    input: io::BufReader<R>,
    line: u64,
}

impl<R: Read> Fields<R> {
    /// The next field; an empty key and value stand for the end of an entry.
    fn next(&mut self) -> io::Result<Option<Field>> {
        let line = self.line;
        let Some(mut key) = self.text_line()? else { return Ok(None) };
        if let Some(equals) = memchr::memchr(b'=', &key) {
            let value = key.split_off(equals + 1);
            key.pop();
            return Ok(Some(Field { key, value, line }));
        }
        if key.is_empty() {
            return Ok(Some(Field { key, value: Vec::new(), line }));
        }
        let mut length = [0; 8];
        self.input.read_exact(&mut length)?;
        self.line += memchr::memchr_iter(b'\n', &length).count() as u64;
        let line = self.line;
        let value = self.bytes(u64::from_le_bytes(length))?;
        Ok(Some(Field { key, value, line }))
    }

    fn text_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut kept = Vec::new();
        loop {
            let ready = self.input.fill_buf()?;
            if ready.is_empty() {
                return Ok((!kept.is_empty()).then_some(kept));
            }
            let newline = memchr::memchr(b'\n', ready);
            let part = &ready[..newline.unwrap_or(ready.len())];
            let room = MAX_FIELD.saturating_sub(kept.len());
            kept.extend_from_slice(&part[..part.len().min(room)]);
            let used = newline.map_or(ready.len(), |at| at + 1);
            self.input.consume(used);
            if newline.is_some() {
                self.line += 1;
                return Ok(Some(kept));
            }
        }
    }

    /// `length` bytes and the line break after them.
    fn bytes(&mut self, length: u64) -> io::Result<Vec<u8>> {
        let mut kept = Vec::new();
        let mut left = length.saturating_add(1);
        while left > 0 {
            let ready = self.input.fill_buf()?;
            if ready.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let used = ready.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let room = MAX_FIELD.saturating_sub(kept.len()).min(used);
            kept.extend_from_slice(&ready[..room]);
            self.line += memchr::memchr_iter(b'\n', &ready[..used]).count() as u64;
            self.input.consume(used);
            left -= used as u64;
        }
        kept.truncate(usize::try_from(length).unwrap_or(MAX_FIELD));
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::Signature;

    use super::*;
    use crate::matcher::Matchers;

    fn field(key: &str, value: &str) -> Vec<u8> {
        if !value.contains('\n') {
            return format!("{key}={value}\n").into_bytes();
        }
        let mut bytes = format!("{key}\n").into_bytes();
        bytes.extend((value.len() as u64).to_le_bytes());
        bytes.extend(value.as_bytes());
        bytes.push(b'\n');
        bytes
    }

    fn entry(unit: &str, identifier: &str, message: &str) -> Vec<u8> {
        [
            field("__CURSOR", "s=1"),
            field("__REALTIME_TIMESTAMP", "1764770400123456"),
            field("_HOSTNAME", "master-0"),
            field("_SYSTEMD_UNIT", unit),
            field("SYSLOG_IDENTIFIER", identifier),
            field("_PID", "7"),
            field("MESSAGE", message),
            b"\n".to_vec(),
        ]
        .concat()
    }

    fn logs(bytes: &[u8]) -> (Vec<crate::scan::ScannedLog>, io::Result<()>) {
        let signatures = [Signature {
            id: "x".into(),
            contains: vec!["NEEDLE".into()],
            pattern: None,
            logs: vec!["unit/assisted-service".into()],
        }];
        let (matchers, _) = Matchers::new(&signatures);
        let mut units = Units::new(&matchers);
        let end = read(&mut units, bytes);
        (units.finish("journal.export", end.is_ok()), end)
    }

    #[test]
    fn entries_become_lines_of_their_units() {
        let mut bytes = entry("agent.service", "agent", "NEEDLE of another");
        bytes.extend(entry("assisted-service.service", "podman", "first\nNEEDLE"));
        let (logs, end) = logs(&bytes);
        assert!(end.is_ok());
        let hit = logs.iter().flat_map(|log| &log.hits).next().unwrap();
        assert_eq!((hit.count, hit.host.as_deref()), (1, Some("master-0")));
        let service = logs.iter().find(|log| !log.hits.is_empty()).unwrap();
        assert_eq!(service.hosts[0].0, "master-0");
        assert_eq!(logs.len(), 2);
        let line = bytes.split(|b| *b == b'\n').nth(usize::try_from(hit.first.line).unwrap() - 1);
        assert!(line.unwrap().ends_with(b"first"), "where the message starts");
    }

    #[test]
    fn a_journal_that_is_cut_or_lies_about_its_lengths_ends_there() {
        let whole = entry("assisted-service.service", "podman", "one\nNEEDLE");
        for end in 0..whole.len() {
            let _ = logs(&whole[..end]);
        }
        let mut bytes = b"MESSAGE\n".to_vec();
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend([b'x'; 1000]);
        assert!(logs(&bytes).1.is_err());
        let long = field("MESSAGE", &"y".repeat(1 << 20));
        assert!(logs(&long).1.is_ok());
    }
}
