//! The hits of a log, put together: one bucket for each signature, host and set of captures.

use std::collections::VecDeque;

use plimsoll_model::clip;
use plimsoll_model::evidence::MAX_TEXT;
use plimsoll_model::snapshot::PAUSE_SECONDS;

use crate::times::{LineTime, line_time};
use plimsoll_model::redact::{printable, redact};

/// Raw bytes kept of a line before and after a hit, enough to see what is a secret.
const SURROUNDINGS: usize = 1 << 10;
/// Characters shown before a hit that stands far into a long line.
const BEFORE_HIT: usize = 80;
/// Sets of captures that are told apart for each signature and host of a log.
const MAX_CAPTURE_SETS: usize = 64;
/// Buckets of one signature; beyond, hits are only counted.
const MAX_BUCKETS: usize = 1024;
/// Hits at the end of a log whose times are kept, to tell a fault from a straggler.
const TAIL: usize = plimsoll_model::snapshot::MAX_RECENT;
/// Enough of a line's head to hold its time.
const HEAD: usize = 48;

#[derive(Debug)]
pub struct Hits {
    pub signature: usize,
    pub host: Option<String>,
    pub captures: Vec<(String, String)>,
    pub count: u64,
    pub first: Hit,
    /// First hit of the last run.
    pub run: Hit,
    pub last: Hit,
    /// Times of the last hits, in the order of the log.
    pub tail: Vec<LineTime>,
}

impl Hits {
    /// Bytes of its texts.
    pub fn weight(&self) -> usize {
        let captures = self.captures.iter().map(|(name, value)| name.len() + value.len());
        let texts = [&self.first, &self.run, &self.last].map(|hit| hit.text.len());
        let tail = self.tail.len() * size_of::<LineTime>();
        captures.chain(texts).sum::<usize>() + tail
    }
}

#[derive(Clone, Debug)]
pub struct Hit {
    pub line: u64,
    pub time: Option<LineTime>,
    pub text: String,
}

pub struct Bucket {
    host: Option<String>,
    captures: Vec<(String, String)>,
    count: u64,
    first: RawHit,
    /// Where the last run of hits began, if not with the first.
    run: Option<RawHit>,
    /// `None` while there is only one.
    last: Option<RawHit>,
    last_second: Option<i64>,
    /// Heads of the last lines, for their times.
    tail: VecDeque<[u8; HEAD]>,
}

/// A hit before it is made presentable, which only the first and the last of a bucket ever are.
pub struct RawHit {
    line: u64,
    raw: Vec<u8>,
    /// Up to here `raw` is the head of a long line, kept for its time.
    text_from: usize,
    /// Where the hit stands in `raw`.
    hit: usize,
}

pub fn record(
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
            bucket.remember(raw);
            match &mut bucket.last {
                Some(last) => last.clone_from(raw),
                None => bucket.last = Some(raw.clone()),
            }
        }
        None => {
            let mut bucket = Bucket {
                host: host.map(Into::into),
                captures,
                count: 1,
                first: raw.clone(),
                run: None,
                last: None,
                last_second: None,
                tail: VecDeque::new(),
            };
            bucket.remember(raw);
            buckets.push(bucket);
        }
    }
}

impl Bucket {
    fn last_line(&self) -> u64 {
        self.last.as_ref().unwrap_or(&self.first).line
    }

    fn remember(&mut self, raw: &RawHit) {
        if self.tail.len() == TAIL {
            self.tail.pop_front();
        }
        let mut head = [0; HEAD];
        let length = raw.raw.len().min(HEAD);
        head[..length].copy_from_slice(&raw.raw[..length]);
        self.tail.push_back(head);
        if let Some(second) = line_time(&raw.raw).map(LineTime::seconds) {
            if self.last_second.is_some_and(|last| second - last > PAUSE_SECONDS) {
                self.run = Some(raw.clone());
            }
            self.last_second = Some(second);
        }
    }

    pub fn finish(self, signature: usize) -> Hits {
        let tail = self.tail.iter().filter_map(|head| line_time(head)).collect();
        let first = self.first.finish();
        let run = self.run.map_or_else(|| first.clone(), RawHit::finish);
        let last = match self.last {
            Some(last) => last.finish(),
            None => first.clone(),
        };
        Hits {
            signature,
            host: self.host,
            captures: self.captures,
            count: self.count,
            first,
            run,
            last,
            tail,
        }
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
    pub fn new(number: u64, head: &[u8], continues: bool, line: &[u8], hit: usize) -> Self {
        let mut from = hit.saturating_sub(SURROUNDINGS);
        let to = line.len().min(hit + SURROUNDINGS);
        if from == 0 && !continues {
            return Self { line: number, raw: line[..to].to_vec(), text_from: 0, hit };
        }
        // A word that is cut may be the rest of a secret.
        let border = |b: &u8| matches!(b, b' ' | b',' | b';' | b'"' | b'}');
        from += match line[from..hit].iter().position(border) {
            Some(at) => at + 1,
            // The hit stands in such a word: only what comes after it is shown.
            None => line[from..to].iter().position(border).unwrap_or(to - from),
        };
        let hit = hit.max(from);
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
        // A hit near the start leaves room for the end of the line, where an error tells its reason.
        let all = text.chars().count();
        if !starts_late && (all <= MAX_TEXT || before <= BEFORE_HIT) {
            return Hit { line: self.line, time: line_time(&self.raw), text: clip(&text) };
        }
        let skip = before.saturating_sub(BEFORE_HIT).min(all);
        let shown = text.chars().skip(skip);
        let shown: String = match all - skip < MAX_TEXT {
            true => ['…'].into_iter().chain(shown).collect(),
            false => ['…'].into_iter().chain(shown.take(MAX_TEXT - 2)).chain(['…']).collect(),
        };
        Hit { line: self.line, time: line_time(&self.raw), text: shown }
    }
}

fn presentable(raw: &[u8]) -> String {
    redact(&printable(raw))
}

/// A capture, fit to be shown.
pub fn shown(raw: &[u8]) -> String {
    clip(&presentable(raw))
}
