//! One pass over a log: where the signatures stand, when it starts and ends, which hosts wrote it.
//!
//! Nothing is done line by line except in journals, where the hosts are. Memory does not depend on
//! the length of the log or of its lines.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};
use plimsoll_model::LogOrigin;

use crate::hits::{Bucket, Hits, RawHit, record};
use crate::matcher::{Match, Matcher};
use crate::times::{LineTime, journal_host, line_time};

/// Buffer for logs that are read as a stream. Lines up to this length are seen whole.
pub const CHUNK: usize = 256 << 10;
/// What two pieces of a longer line have in common, so that no literal is cut in two.
const OVERLAP: usize = 8 << 10;
/// Lines above this are judged by the surroundings of a hit.
const LONG_LINE: usize = 64 << 10;
const LINE_HEAD: usize = 256;
/// Lines at the start of a log that are searched for a time.
const TIME_LINES: usize = 32;
const TAIL: usize = 16 << 10;
const MAX_HOSTS: usize = 256;

#[derive(Debug)]
pub struct ScannedLog {
    pub path: Arc<str>,
    pub origin: LogOrigin,
    /// Folder of the machine that it was taken from.
    pub machine: Option<String>,
    /// Part of a journal of all units, which may repeat what another file has.
    pub of_journal: bool,
    pub start: Option<LineTime>,
    pub end: Option<LineTime>,
    pub hosts: Vec<(String, Option<LineTime>)>,
    /// Read to its end.
    pub complete: bool,
    /// Begins as a kernel's log does, with seconds since boot: `[   12.345678] …`.
    pub kernel: bool,
    pub hits: Vec<Hits>,
}

pub struct Scan {
    matcher: Option<Arc<Matcher>>,
    /// Lines may name their host.
    is_journal: bool,
    /// The hosts of all lines are asked for, not only those of hits.
    wants_hosts: bool,
    /// Number of the line at which the next piece starts, from 1.
    line: u64,
    /// Start of the line that the next piece continues, when it does.
    head: Option<Vec<u8>>,
    start: Option<LineTime>,
    kernel: bool,
    start_lines: usize,
    tail: Vec<u8>,
    /// Each with the time of its last line.
    hosts: Vec<(String, Option<LineTime>)>,
    /// By signature.
    buckets: BTreeMap<usize, Vec<Bucket>>,
    found: Vec<Match>,
}

impl Scan {
    pub fn new(origin: &LogOrigin, matcher: Option<Arc<Matcher>>) -> Self {
        let is_unit = matches!(origin, LogOrigin::Unit { .. });
        Self {
            matcher,
            is_journal: is_unit || matches!(origin, LogOrigin::Console { .. }),
            wants_hosts: is_unit,
            line: 1,
            head: None,
            start: None,
            kernel: false,
            start_lines: 0,
            tail: Vec::new(),
            hosts: Vec::new(),
            buckets: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Reads to the end, or as far as it goes.
    pub fn read(&mut self, input: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<()> {
        pieces(input, buffer, |text, is_part| {
            self.feed(text);
            if is_part {
                self.continues(text);
            }
        })
    }

    /// The next piece goes on with the line that `text` begins with.
    pub fn continues(&mut self, text: &[u8]) {
        self.head.get_or_insert_with(|| text[..text.len().min(LINE_HEAD)].to_vec());
    }

    /// The next piece, which starts at this line of its file.
    pub fn feed_at(&mut self, line: u64, text: &[u8]) {
        self.line = line;
        self.feed(text);
    }

    /// The next piece of the log: whole lines, or a part of a very long one.
    pub fn feed(&mut self, text: &[u8]) {
        self.find_start(text);
        if self.wants_hosts {
            self.collect_hosts(text);
        }
        let mut counted = 0;
        if let Some(matcher) = self.matcher.clone() {
            // Searched up to `at`, which lies in the line that starts at `line`.
            let (mut at, mut line) = (0, 0);
            while let Some(found) = text.get(at..).and_then(|rest| matcher.find(rest)) {
                let hit = at + found;
                let start = memrchr(b'\n', &text[line..hit]).map_or(line, |n| line + n + 1);
                let end = memchr(b'\n', &text[hit..]).map_or(text.len(), |n| hit + n);
                self.line += newlines(&text[counted..start]);
                counted = start;
                at = self.look_at(&matcher, &text[start..end], start == 0, hit - start) + start;
                line = if at > end { at } else { start };
            }
        }
        let lines = newlines(&text[counted..]);
        self.line += lines;
        if lines > 0 || counted > 0 {
            self.head = None;
        }
        self.tail.extend_from_slice(&text[text.len().saturating_sub(TAIL)..]);
        // Not at every piece: those of a journal of many units are short.
        if self.tail.len() > 4 * TAIL {
            self.tail.drain(..self.tail.len() - TAIL);
        }
    }

    /// Judges a line that has a hit. Gives where in the line to search on.
    fn look_at(&mut self, matcher: &Matcher, line: &[u8], is_first: bool, hit: usize) -> usize {
        let is_long = line.len() > LONG_LINE;
        let (from, to) = if is_long {
            let reach = LONG_LINE / 2;
            (hit.saturating_sub(reach), line.len().min(hit + reach))
        } else {
            (0, line.len())
        };
        let mut found = std::mem::take(&mut self.found);
        matcher.check(&line[from..to], &mut found);
        if !found.is_empty() {
            let continues = self.head.as_deref().filter(|_| is_first);
            let head = continues.unwrap_or(&line[..line.len().min(LINE_HEAD)]);
            let host = if self.is_journal { journal_host(head) } else { None };
            let raw = RawHit::new(self.line, head, continues.is_some(), line, hit);
            for one in found.drain(..) {
                record(self.buckets.entry(one.signature).or_default(), one.captures, host, &raw);
            }
        }
        self.found = found;
        // A line is judged once; of a long one each window is, and no literal may fall between two.
        if is_long && to < line.len() { to - OVERLAP } else { line.len() + 1 }
    }

    fn find_start(&mut self, text: &[u8]) {
        if self.start.is_some() || self.start_lines >= TIME_LINES {
            return;
        }
        for line in text.split(|b| *b == b'\n').take(TIME_LINES - self.start_lines) {
            self.start_lines += 1;
            self.kernel |= since_boot(line);
            self.start = line_time(line);
            if self.start.is_some() {
                return;
            }
        }
    }

    fn collect_hosts(&mut self, text: &[u8]) {
        let mut at = 0;
        if self.head.is_some() {
            at = memchr(b'\n', text).map_or(text.len(), |newline| newline + 1);
        }
        let mut current: &str = "";
        let mut last: &[u8] = b"";
        while at < text.len() && self.hosts.len() < MAX_HOSTS {
            let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
            let line = &text[at..end];
            at = end + 1;
            if !same_host(line, current)
                && let Some(host) = journal_host(line)
            {
                self.saw_host(current, last);
                current = host;
            }
            // A line without a time (a marker, a continuation) does not end a host's part.
            if line.first().is_some_and(u8::is_ascii_alphanumeric) {
                last = line;
            }
        }
        self.saw_host(current, last);
    }

    fn saw_host(&mut self, host: &str, last: &[u8]) {
        if host.is_empty() {
            return;
        }
        let time = line_time(last);
        match self.hosts.binary_search_by(|(known, _)| known.as_str().cmp(host)) {
            // Its latest line, which need not be its last: journals are pasted together.
            Ok(place) => {
                let known = self.hosts[place].1;
                let later =
                    |a: LineTime, b: LineTime| if b.seconds() >= a.seconds() { b } else { a };
                self.hosts[place].1 = match (known, time) {
                    (Some(known), Some(time)) => Some(later(known, time)),
                    (known, time) => time.or(known),
                };
            }
            Err(place) => self.hosts.insert(place, (host.into(), time)),
        }
    }

    pub fn finish(self, path: Arc<str>, origin: LogOrigin) -> ScannedLog {
        let cut = self.tail.len() >= TAIL;
        let tail = match memchr(b'\n', &self.tail) {
            Some(newline) if cut => &self.tail[newline + 1..],
            _ => &self.tail,
        };
        let end = tail.rsplit(|b| *b == b'\n').find_map(line_time);
        let kernel = self.kernel;
        let hits = self
            .buckets
            .into_iter()
            .flat_map(|(signature, all)| all.into_iter().map(move |b| b.finish(signature)))
            .collect();
        ScannedLog {
            path,
            origin,
            machine: None,
            of_journal: false,
            start: self.start,
            end,
            hosts: self.hosts,
            complete: true,
            kernel,
            hits,
        }
    }
}

/// Hands over whole lines, or a part of a line that is longer than the buffer. Parts overlap.
pub fn pieces(
    input: &mut dyn Read,
    buffer: &mut Vec<u8>,
    mut feed: impl FnMut(&[u8], bool),
) -> io::Result<()> {
    buffer.resize(CHUNK, 0);
    let mut filled = 0;
    loop {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                feed(&buffer[..filled], false);
                return Err(error);
            }
        }
        if filled < CHUNK {
            continue;
        }
        let kept = match memrchr(b'\n', buffer) {
            Some(end) => {
                feed(&buffer[..=end], false);
                end + 1
            }
            None => {
                feed(buffer, true);
                CHUNK - OVERLAP
            }
        };
        buffer.copy_within(kept.., 0);
        filled = CHUNK - kept;
    }
    feed(&buffer[..filled], false);
    Ok(())
}

/// `[   12.345678] text`
fn since_boot(line: &[u8]) -> bool {
    let inside = line.strip_prefix(b"[").and_then(|rest| rest.split(|b| *b == b']').next());
    inside.is_some_and(|stamp| {
        stamp.contains(&b'.')
            && stamp.iter().all(|b| b.is_ascii_digit() || matches!(b, b' ' | b'.'))
    })
}

fn newlines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// Whether `host` stands where journald's usual format has it, so that the line need not be read.
fn same_host(line: &[u8], host: &str) -> bool {
    const WITH_MICROSECONDS: usize = "Oct 24 14:29:38.068536 ".len();
    !host.is_empty()
        && line.get(WITH_MICROSECONDS - 1) == Some(&b' ')
        && line[WITH_MICROSECONDS..]
            .strip_prefix(host.as_bytes())
            .is_some_and(|r| r.starts_with(b" "))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::Signature;
    use proptest::prelude::*;

    use super::*;
    use crate::matcher::Matchers;

    fn scan(log: &[u8], in_pieces: bool) -> ScannedLog {
        let signature = |id: &str, contains: &str| Signature {
            id: id.into(),
            contains: vec![contains.into()],
            pattern: None,
            logs: vec![],
        };
        let signatures = [signature("a", "NEEDLE"), signature("b", "NEEDLES")];
        let (matchers, _) = Matchers::new(&signatures);
        let origin = LogOrigin::Unit { unit: "kubelet".into(), node: None };
        let matcher = matchers.for_log(&origin).unwrap();
        let mut scan = Scan::new(&origin, Some(matcher));
        if in_pieces {
            scan.read(&mut &*log, &mut Vec::new()).unwrap();
        } else {
            scan.feed(log);
        }
        scan.finish("x".into(), origin)
    }

    #[test]
    fn both_of_two_literals_at_one_place_are_found() {
        let hits = scan(b"x NEEDLES y\n", false).hits;
        assert_eq!(hits.iter().map(|hit| hit.signature).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_hit_far_into_a_line_is_shown_with_what_is_round_it() {
        let log =
            format!("2024-10-24T14:00:00Z {} NEEDLE {}\n", "a ".repeat(5000), "z ".repeat(5000));
        let hit = &scan(log.as_bytes(), true).hits[0].first;
        assert!(
            hit.text.starts_with('…') && hit.text.contains("NEEDLE") && hit.text.ends_with('…')
        );
        assert_eq!(hit.text.chars().count(), 400);
        assert!(hit.time.is_some());
    }

    /// A token is known as one only when all of it is there: the part before the hit may be longer
    /// than what is left of the whole.
    #[test]
    fn a_hit_inside_a_secret_is_no_reason_to_fall_over() {
        for before in [10, 200, 900, 3000] {
            let token = format!(
                "eyJ{}.{}NEEDLE{}.{}",
                "a".repeat(before),
                "b".repeat(90),
                "c".repeat(90),
                "d".repeat(90)
            );
            for start in ["", "word "] {
                let log = format!("{}Authorization: Bearer {token}\n", start.repeat(900));
                for in_pieces in [false, true] {
                    let scanned = scan(log.as_bytes(), in_pieces);
                    for hit in &scanned.hits {
                        assert!(hit.first.text.chars().count() <= 400);
                        assert!(!hit.first.text.contains(&"d".repeat(90)), "{}", hit.first.text);
                    }
                }
            }
        }
    }

    #[test]
    fn start_and_end_are_those_of_the_lines_that_carry_a_time() {
        let log = format!(
            "-- Boot --\nOct 24 12:00:00.000000 m-0 a[1]: x\n{}Oct 24 12:00:01.000000 m-1 a[1]: x\n-- end --\n",
            "Oct 24 12:00:00.500000 m-0 a[1]: y\n".repeat(20_000)
        );
        let scanned = scan(log.as_bytes(), true);
        assert_eq!(scanned.start, line_time(b"Oct 24 12:00:00"));
        assert_eq!(scanned.end, line_time(b"Oct 24 12:00:01"));
        let names: Vec<&str> = scanned.hosts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["m-0", "m-1"]);
        assert!(scanned.hosts.iter().all(|(_, end)| end.is_some()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Lines of every length round the borders of the buffer, against plain counting.
        #[test]
        fn lines_are_counted_right(lengths in prop::collection::vec(
            prop_oneof![0..200usize, CHUNK - 20..CHUNK + 20, Just(3 * CHUNK)], 1..12),
            needle_at in 0.0..1.0f64, in_pieces: bool) {
            let mut log = Vec::new();
            let mut expected = Vec::new();
            for (number, length) in lengths.iter().enumerate() {
                let mut line = vec![b'x'; *length];
                if *length > 6 {
                    let at = ((length - 6) as f64 * needle_at) as usize;
                    line[at..at + 6].copy_from_slice(b"NEEDLE");
                    expected.push(number as u64 + 1);
                }
                log.extend(line);
                log.push(b'\n');
            }
            let hits = scan(&log, in_pieces).hits;
            let found = hits.first().map(|hit| (hit.count, hit.first.line, hit.last.line));
            let lines = expected.first().zip(expected.last());
            prop_assert_eq!(found, lines.map(|(first, last)| (expected.len() as u64, *first, *last)));
        }
    }
}
