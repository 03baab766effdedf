//! One pass over a log: where the signatures stand, when it starts and ends, which hosts wrote it.
//!
//! Nothing is done line by line except in journals, where the hosts are. Memory does not depend on
//! the length of the log or of its lines.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::{memchr, memchr_iter, memrchr};
use plimsoll_model::evidence::MAX_TEXT;
use plimsoll_model::{LogOrigin, clip};

use crate::matcher::{Match, Matcher};
use crate::redact::{printable, redact};
use crate::times::{LineTime, journal_host, line_time};

/// Buffer for logs that are read as a stream. Lines up to this length are seen whole.
pub const CHUNK: usize = 256 << 10;
/// What two pieces of a longer line have in common, so that no literal is cut in two.
const OVERLAP: usize = 8 << 10;
/// Lines above this are judged by the surroundings of a hit.
const LONG_LINE: usize = 64 << 10;
/// Raw bytes kept of a line before and after a hit, enough to see what is a secret.
const SURROUNDINGS: usize = 1 << 10;
const LINE_HEAD: usize = 256;
/// Lines at either end of a log that are searched for a time.
const TIME_LINES: usize = 32;
const TAIL: usize = 16 << 10;
/// Sets of captures that are told apart for each signature and host of a log.
const MAX_CAPTURE_SETS: usize = 64;
const MAX_HOSTS: usize = 256;
/// Buckets of one signature; beyond, hits are only counted.
const MAX_BUCKETS: usize = 1024;

#[derive(Debug)]
pub struct ScannedLog {
    pub path: Arc<str>,
    pub origin: LogOrigin,
    pub start: Option<LineTime>,
    pub end: Option<LineTime>,
    pub hosts: Vec<String>,
    pub hits: Vec<Hits>,
}

#[derive(Debug)]
pub struct Hits {
    pub signature: usize,
    pub host: Option<String>,
    pub captures: Vec<(String, String)>,
    pub count: u64,
    pub first: Hit,
    pub last: Hit,
}

#[derive(Debug)]
pub struct Hit {
    pub line: u64,
    pub time: Option<LineTime>,
    pub text: String,
}

pub struct Scan<'m> {
    matcher: Option<&'m Matcher>,
    /// Lines may name their host.
    is_journal: bool,
    /// The hosts of all lines are asked for, not only those of hits.
    wants_hosts: bool,
    /// Number of the line at which the next piece starts, from 1.
    line: u64,
    /// Start of the line that the next piece continues, when it does.
    head: Option<Vec<u8>>,
    start: Option<LineTime>,
    start_lines: usize,
    tail: Vec<u8>,
    hosts: Vec<String>,
    /// By signature.
    buckets: BTreeMap<usize, Vec<Bucket>>,
    found: Vec<Match>,
}

struct Bucket {
    host: Option<String>,
    captures: Vec<(String, String)>,
    count: u64,
    first: RawHit,
    /// `None` while there is only one.
    last: Option<RawHit>,
}

/// A hit before it is made presentable, which only the first and the last of a bucket ever are.
struct RawHit {
    line: u64,
    raw: Vec<u8>,
    /// Up to here `raw` is the head of a long line, kept for its time.
    text_from: usize,
    /// Where the hit stands in `raw`.
    hit: usize,
}

impl<'m> Scan<'m> {
    pub fn new(origin: &LogOrigin, matcher: Option<&'m Matcher>) -> Self {
        let is_unit = matches!(origin, LogOrigin::Unit { .. });
        Self {
            matcher,
            is_journal: is_unit || matches!(origin, LogOrigin::Console { .. }),
            wants_hosts: is_unit,
            line: 1,
            head: None,
            start: None,
            start_lines: 0,
            tail: Vec::new(),
            hosts: Vec::new(),
            buckets: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    /// Reads to the end, or as far as it goes.
    pub fn read(&mut self, input: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<()> {
        buffer.resize(CHUNK, 0);
        let mut filled = 0;
        loop {
            match input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.feed(&buffer[..filled]);
                    return Err(error);
                }
            }
            if filled < CHUNK {
                continue;
            }
            let kept = match memrchr(b'\n', buffer) {
                Some(end) => {
                    self.feed(&buffer[..=end]);
                    end + 1
                }
                None => {
                    self.feed(buffer);
                    self.head.get_or_insert_with(|| buffer[..LINE_HEAD].to_vec());
                    CHUNK - OVERLAP
                }
            };
            buffer.copy_within(kept.., 0);
            filled = CHUNK - kept;
        }
        self.feed(&buffer[..filled]);
        Ok(())
    }

    /// The next piece of the log: whole lines, or a part of a very long one.
    pub fn feed(&mut self, text: &[u8]) {
        self.find_start(text);
        if self.wants_hosts {
            self.collect_hosts(text);
        }
        let mut counted = 0;
        if let Some(matcher) = self.matcher {
            // Searched up to `at`, which lies in the line that starts at `line`.
            let (mut at, mut line) = (0, 0);
            while let Some(found) = text.get(at..).and_then(|rest| matcher.find(rest)) {
                let hit = at + found;
                let start = memrchr(b'\n', &text[line..hit]).map_or(line, |n| line + n + 1);
                let end = memchr(b'\n', &text[hit..]).map_or(text.len(), |n| hit + n);
                self.line += newlines(&text[counted..start]);
                counted = start;
                at = self.look_at(matcher, &text[start..end], start == 0, hit - start) + start;
                line = if at > end { at } else { start };
            }
        }
        let lines = newlines(&text[counted..]);
        self.line += lines;
        if lines > 0 || counted > 0 {
            self.head = None;
        }
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
        self.tail.extend_from_slice(&text[text.len().saturating_sub(TAIL)..]);
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
        // A line is judged once; of a long one each window is.
        if is_long && to < line.len() { to } else { line.len() + 1 }
    }

    fn find_start(&mut self, text: &[u8]) {
        if self.start.is_some() || self.start_lines >= TIME_LINES {
            return;
        }
        for line in text.split(|b| *b == b'\n').take(TIME_LINES - self.start_lines) {
            self.start_lines += 1;
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
        while at < text.len() && self.hosts.len() < MAX_HOSTS {
            let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline);
            let line = &text[at..end];
            at = end + 1;
            if !same_host(line, current)
                && let Some(host) = journal_host(line)
            {
                current = host;
                if let Err(place) = self.hosts.binary_search_by(|known| known.as_str().cmp(host)) {
                    self.hosts.insert(place, host.into());
                }
            }
        }
    }

    pub fn finish(self, path: Arc<str>, origin: LogOrigin) -> ScannedLog {
        let cut = self.tail.len() >= TAIL;
        let tail = match memchr(b'\n', &self.tail) {
            Some(newline) if cut => &self.tail[newline + 1..],
            _ => &self.tail,
        };
        let end = tail.rsplit(|b| *b == b'\n').take(TIME_LINES).find_map(line_time).or(self.start);
        let hits = self
            .buckets
            .into_iter()
            .flat_map(|(signature, all)| all.into_iter().map(move |b| b.finish(signature)))
            .collect();
        ScannedLog { path, origin, start: self.start, end, hosts: self.hosts, hits }
    }
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

fn record(
    buckets: &mut Vec<Bucket>,
    mut captures: Vec<(String, String)>,
    mut host: Option<&str>,
    raw: &RawHit,
) {
    fn find(all: &[Bucket], host: Option<&str>, captures: &[(String, String)]) -> Option<usize> {
        all.iter().position(|b| b.host.as_deref() == host && b.captures == captures)
    }
    let mut place = find(buckets, host, &captures);
    if place.is_none() && !captures.is_empty() {
        let sets = buckets.iter().filter(|b| b.host.as_deref() == host && !b.captures.is_empty());
        if sets.count() >= MAX_CAPTURE_SETS {
            captures.clear();
            place = find(buckets, host, &captures);
        }
    }
    if place.is_none() && buckets.len() >= MAX_BUCKETS {
        (host, captures) = (None, Vec::new());
        place = find(buckets, host, &captures);
    }
    match place.and_then(|place| buckets.get_mut(place)) {
        // The windows of a long line overlap; it counts once.
        Some(bucket) if bucket.last_line() == raw.line => {}
        Some(bucket) => {
            bucket.count += 1;
            match &mut bucket.last {
                Some(last) => last.clone_from(raw),
                None => bucket.last = Some(raw.clone()),
            }
        }
        None => buckets.push(Bucket {
            host: host.map(Into::into),
            captures,
            count: 1,
            first: raw.clone(),
            last: None,
        }),
    }
}

impl Bucket {
    fn last_line(&self) -> u64 {
        self.last.as_ref().unwrap_or(&self.first).line
    }

    fn finish(self, signature: usize) -> Hits {
        let first = self.first.finish();
        let last = match self.last {
            Some(last) => last.finish(),
            None => Hit { line: first.line, time: first.time, text: first.text.clone() },
        };
        Hits { signature, host: self.host, captures: self.captures, count: self.count, first, last }
    }
}

impl Clone for RawHit {
    fn clone(&self) -> Self {
        Self { raw: self.raw.clone(), ..*self }
    }

    /// Keeps the buffer: the last hit of a bucket is replaced again and again.
    fn clone_from(&mut self, other: &Self) {
        self.raw.clear();
        self.raw.extend_from_slice(&other.raw);
        (self.line, self.text_from, self.hit) = (other.line, other.text_from, other.hit);
    }
}

impl RawHit {
    /// `head` is how the line begins; `line` is all of it, or what a piece has of it if `continues`.
    fn new(number: u64, head: &[u8], continues: bool, line: &[u8], hit: usize) -> Self {
        let mut from = hit.saturating_sub(SURROUNDINGS);
        let to = line.len().min(hit + SURROUNDINGS);
        if from == 0 && !continues {
            return Self { line: number, raw: line[..to].to_vec(), text_from: 0, hit };
        }
        // A word that is cut may be the rest of a secret.
        let border = |b: &u8| matches!(b, b' ' | b',' | b';' | b'"' | b'}');
        from += line[from..hit].iter().position(border).map_or(hit - from, |at| at + 1);
        let mut raw = head.to_vec();
        let text_from = raw.len();
        raw.extend_from_slice(&line[from..to]);
        Self { line: number, raw, text_from, hit: text_from + hit - from }
    }

    fn finish(self) -> Hit {
        let text = presentable(&self.raw[self.text_from..]);
        // Redaction moves things; counting what is left before the hit keeps it in view.
        let before = presentable(&self.raw[self.text_from..self.hit]).chars().count();
        let starts_late = self.text_from > 0;
        let skip = match text.chars().count() {
            all if all <= MAX_TEXT => 0,
            all => before.saturating_sub(MAX_TEXT / 2).min(all - MAX_TEXT),
        };
        let mut shown: String = text.chars().skip(skip).collect();
        if starts_late || skip > 0 {
            shown.insert(0, '…');
        }
        Hit { line: self.line, time: line_time(&self.raw), text: clip(&shown) }
    }
}

fn presentable(raw: &[u8]) -> String {
    redact(&printable(raw))
}

/// A capture, fit to be shown.
pub fn shown(raw: &[u8]) -> String {
    clip(&presentable(raw))
}
