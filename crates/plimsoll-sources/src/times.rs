//! When a log line was written, and by which host.
//!
//! Five writers are understood: the kubelet's RFC 3339 prefix, klog, journald, etcd's JSON and the
//! installer.
//! klog and journald leave the year out; it is settled by `resolve` once the time of the gather is
//! known. A file's modification time is never looked at.

use jiff::civil::DateTime;
use jiff::tz::Offset;
use memchr::{memchr, memmem};
use plimsoll_model::Time;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineTime {
    Full(Time),
    /// In UTC, as nodes of a cluster are; the year of the value is without meaning.
    NoYear(DateTime),
}

impl LineTime {
    /// For the distance between two lines of one log.
    pub fn seconds(self) -> i64 {
        match self {
            LineTime::Full(time) => time.as_second(),
            LineTime::NoYear(clock) => {
                Offset::UTC.to_timestamp(clock).map_or(0, |time| time.as_second())
            }
        }
    }
}

/// A leap year, so that every day of every year can be held.
const ANY_YEAR: i16 = 2000;

/// How far into a line etcd's `"ts"` is looked for.
const JSON_HEAD: usize = 512;

const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

pub fn line_time(line: &[u8]) -> Option<LineTime> {
    match line.first()? {
        b'0'..=b'9' => iso(line, b'T').map(|(time, _)| LineTime::Full(time)),
        b'I' | b'W' | b'E' | b'F' if line.get(5) == Some(&b' ') => klog(line),
        b'{' => {
            let head = &line[..line.len().min(JSON_HEAD)];
            let at = memmem::find(head, b"\"ts\":\"")?;
            iso(&head[at + 6..], b'T').map(|(time, _)| LineTime::Full(time))
        }
        b't' if line.starts_with(LOGRUS) => {
            iso(&line[LOGRUS.len()..], b'T').map(|(time, _)| LineTime::Full(time))
        }
        _ => journal_time(line).map(|(time, _)| time),
    }
}

const LOGRUS: &[u8] = b"time=\"";

/// Whether a line is written as `openshift-install` writes its log.
pub fn is_installer_line(line: &[u8]) -> bool {
    let rest = match line.strip_prefix(LOGRUS) {
        Some(rest) => match memmem::find(rest, b"\" ") {
            Some(end) if end < 40 => &rest[end + 2..],
            _ => return false,
        },
        None => line,
    };
    rest.starts_with(b"level=") && memmem::find(rest, b" msg=").is_some()
}

/// How journald begins a line, and what follows: `Oct 24 14:29:38`, or with the year and the zone
/// `Thu 2024-10-24 14:29:38 UTC` (`-o with-unit`).
fn journal_time(line: &[u8]) -> Option<(LineTime, &[u8])> {
    if line.get(3) == Some(&b' ') && line.get(8) == Some(&b'-') {
        let (local, rest) = date_and_clock(line.get(4..)?, b' ')?;
        let zone = rest.strip_prefix(b" ")?;
        let end = memchr(b' ', zone)?;
        // Nodes run in UTC, and journald has no numbers for other zones.
        let time = Offset::UTC.to_timestamp(local).ok()?;
        return Some((LineTime::Full(time), &zone[end..]));
    }
    journal(line).map(|(time, rest)| (LineTime::NoYear(time), rest))
}

/// The host in a line of a journal.
pub fn journal_host(line: &[u8]) -> Option<&str> {
    journal_head(line).map(|head| head.host)
}

pub struct JournalHead<'l> {
    pub host: &'l str,
    /// `kubelet[1]`
    pub writer: &'l [u8],
    pub text: &'l [u8],
}

/// `Oct 24 14:29:38 host unit[1]: text`, also with an ISO time.
pub fn journal_head(line: &[u8]) -> Option<JournalHead<'_>> {
    let rest = match line.first()? {
        b'0'..=b'9' => iso(line, b'T')?.1,
        _ => journal_time(line)?.1,
    };
    let rest = rest.strip_prefix(b" ")?;
    let end = memchr(b' ', rest)?;
    let host = std::str::from_utf8(&rest[..end]).ok()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if host.is_empty() || host.len() > 253 || !host.bytes().all(plain) {
        return None;
    }
    let unit = &rest[end + 1..];
    let (unit, text) = unit.split_at(memchr(b' ', unit).unwrap_or(unit.len()));
    let writer = unit.strip_suffix(b":")?;
    Some(JournalHead { host, writer, text })
}

/// `time.String()` of Go, as in the `timestamp` files: `2024-10-24 14:43:32.75 +0000 UTC m=+0.3`.
pub fn go_time(line: &str) -> Option<Time> {
    iso(line.trim_start().as_bytes(), b' ').map(|(time, _)| time)
}

/// The latest year that does not put the time more than a day after `now`.
pub fn resolve(time: LineTime, now: Option<Time>) -> Option<Time> {
    let clock = match time {
        LineTime::Full(time) => return Some(time),
        LineTime::NoYear(clock) => clock,
    };
    let latest = Offset::UTC.to_datetime(now?).checked_add(jiff::Span::new().days(1)).ok()?;
    // Nine steps: 29 February may lie that far back when a century is no leap year.
    (0..9)
        .filter_map(|back| {
            let year = latest.year() - back;
            clock.with().year(year).build().ok()
        })
        .find(|candidate| *candidate <= latest)
        .and_then(|found| Offset::UTC.to_timestamp(found).ok())
}

/// `2024-10-24T14:29:38[.frac]` and a zone: `Z`, `+0200`, `+02:00`, with a space before it or not.
/// Gives what follows, too.
fn iso(text: &[u8], separator: u8) -> Option<(Time, &[u8])> {
    let (local, rest) = date_and_clock(text, separator)?;
    let (offset, rest) = zone(rest)?;
    Some((offset.to_timestamp(local).ok()?, rest))
}

fn date_and_clock(text: &[u8], separator: u8) -> Option<(DateTime, &[u8])> {
    let dash = |at: usize| text.get(at) == Some(&b'-');
    if !dash(4) || !dash(7) || text.get(10) != Some(&separator) {
        return None;
    }
    let year = i16::try_from(number(text.get(..4)?)?).ok()?;
    let month = small(text.get(5..7)?)?;
    let day = small(text.get(8..10)?)?;
    let (clock, rest) = clock(text.get(11..)?)?;
    Some((at(year, month, day, clock)?, rest))
}

fn zone(text: &[u8]) -> Option<(Offset, &[u8])> {
    let text = text
        .strip_prefix(b" ")
        .filter(|t| t.starts_with(b"+") || t.starts_with(b"-"))
        .unwrap_or(text);
    if let Some(rest) = text.strip_prefix(b"Z") {
        return Some((Offset::UTC, rest));
    }
    let sign = match text.first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let hours = number(text.get(1..3)?)?;
    let (minutes, rest) = match text.get(3)? {
        b':' => (number(text.get(4..6)?)?, &text[6..]),
        _ => (number(text.get(3..5)?)?, &text[5..]),
    };
    let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
    Some((Offset::from_seconds(sign * seconds).ok()?, rest))
}

/// `I1024 14:29:38.068536 …`
fn klog(line: &[u8]) -> Option<LineTime> {
    let month = small(line.get(1..3)?)?;
    let day = small(line.get(3..5)?)?;
    let (clock, _) = clock(line.get(6..)?)?;
    at(ANY_YEAR, month, day, clock).map(LineTime::NoYear)
}

/// `Oct 24 14:29:38.068536 …`, the day padded with a space. Gives what follows, too.
fn journal(line: &[u8]) -> Option<(DateTime, &[u8])> {
    if line.get(3) != Some(&b' ') || line.get(6) != Some(&b' ') {
        return None;
    }
    let month = MONTHS.iter().position(|name| line.starts_with(name))?;
    let month = i8::try_from(month).ok()? + 1;
    let day = match line[4] {
        b' ' => small(&line[5..6])?,
        _ => small(&line[4..6])?,
    };
    let (clock, rest) = clock(line.get(7..)?)?;
    Some((at(ANY_YEAR, month, day, clock)?, rest))
}

type Clock = (i8, i8, i8, i32);

/// Hour, minute, second, nanosecond of `14:29:38[.fraction]`, and what follows.
fn clock(text: &[u8]) -> Option<(Clock, &[u8])> {
    if text.get(2) != Some(&b':') || text.get(5) != Some(&b':') {
        return None;
    }
    let hour = small(text.get(..2)?)?;
    let minute = small(text.get(3..5)?)?;
    let second = small(text.get(6..8)?)?;
    let mut rest = &text[8..];
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        let mut unit = 100_000_000;
        for digit in &fraction[..digits.min(9)] {
            nanos += i32::from(digit - b'0') * unit;
            unit /= 10;
        }
        rest = &fraction[digits..];
    }
    Some(((hour, minute, second, nanos), rest))
}

fn at(year: i16, month: i8, day: i8, clock: Clock) -> Option<DateTime> {
    DateTime::new(year, month, day, clock.0, clock.1, clock.2, clock.3).ok()
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum: u32, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
    })
}

fn small(digits: &[u8]) -> Option<i8> {
    i8::try_from(number(digits)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(line: &str, now: &str) -> Option<String> {
        resolve(line_time(line.as_bytes())?, now.parse().ok()).map(|time| time.to_string())
    }

    #[test]
    fn every_writer_lands_on_one_clock() {
        let now = "2024-10-24T15:00:00Z";
        for (line, time) in [
            ("2024-10-24T14:29:38.051338162Z flock: x", Some("2024-10-24T14:29:38.051338162Z")),
            ("2024-10-24T14:29:38Z", Some("2024-10-24T14:29:38Z")),
            ("2024-10-24T16:29:38+02:00 x", Some("2024-10-24T14:29:38Z")),
            ("2024-10-24T16:29:38+0200 host kubelet[1]: x", Some("2024-10-24T14:29:38Z")),
            ("I1024 14:29:38.068536       1 main.go:1] x", Some("2024-10-24T14:29:38.068536Z")),
            ("Oct 24 14:29:38.068536 host x[1]: y", Some("2024-10-24T14:29:38.068536Z")),
            ("Oct  4 14:29:38 host x[1]: y", Some("2024-10-04T14:29:38Z")),
            (
                r#"{"level":"warn","ts":"2024-10-24T14:29:38.5Z","msg":1}"#,
                Some("2024-10-24T14:29:38.5Z"),
            ),
            (
                r#"{"level":"warn","ts":"2024-10-24T14:29:38.500+0100"}"#,
                Some("2024-10-24T13:29:38.5Z"),
            ),
            ("Thu 2024-10-24 14:29:38 UTC host x.service[1]: y", Some("2024-10-24T14:29:38Z")),
            (
                r#"time="2024-10-24T14:29:38+02:00" level=info msg="x""#,
                Some("2024-10-24T12:29:38Z"),
            ),
            ("Feb 29 00:00:00 host x: y", Some("2024-02-29T00:00:00Z")),
            ("-- No entries --", None),
            ("2024-10-24", None),
            ("2024-13-24T14:29:38Z", None),
            ("I1024 99:29:38.068536 1 x", None),
            ("[    0.000000] Linux version", None),
            ("", None),
        ] {
            assert_eq!(seen(line, now).as_deref(), time, "{line}");
        }
    }

    #[test]
    fn a_missing_year_is_the_last_one_that_fits() {
        let december = "Dec 31 23:59:59 host x: y";
        assert_eq!(seen(december, "2025-01-01T00:10:00Z").unwrap(), "2024-12-31T23:59:59Z");
        assert_eq!(seen(december, "2024-12-31T20:00:00Z").unwrap(), "2024-12-31T23:59:59Z");
        let january = "E0101 00:00:01.000000 1 x";
        assert_eq!(seen(january, "2024-12-31T12:00:00Z").unwrap(), "2025-01-01T00:00:01Z");
        assert_eq!(seen(january, "2024-12-30T12:00:00Z").unwrap(), "2024-01-01T00:00:01Z");
        assert_eq!(
            seen("Feb 29 01:00:00 h x: y", "2027-03-01T00:00:00Z").unwrap(),
            "2024-02-29T01:00:00Z"
        );
        assert_eq!(resolve(line_time(january.as_bytes()).unwrap(), None), None);
    }

    #[test]
    fn only_lines_of_a_journal_name_a_host() {
        for (line, host) in [
            ("Oct 24 12:57:27.563287 master-1 systemd[1]: Starting", Some("master-1")),
            ("2024-10-24T14:29:38+0000 m.example.com kubelet[1]: x", Some("m.example.com")),
            ("Oct 24 12:57:27 master-1 kernel: x", Some("master-1")),
            ("Thu 2024-10-24 14:29:38 UTC m-0 kubelet.service[1]: x", Some("m-0")),
            ("2024-10-24T14:29:38.051338162Z Copying system trust bundle", None),
            ("Oct 24 12:57:27 just some words", None),
            ("-- Boot 1234 --", None),
        ] {
            assert_eq!(journal_host(line.as_bytes()), host, "{line}");
        }
    }

    #[test]
    fn the_time_of_the_gather_is_read_in_its_own_zone() {
        let line = "2021-09-14 16:44:22.408322048 +0200 CEST m=+39.761357218";
        assert_eq!(go_time(line).unwrap().to_string(), "2021-09-14T14:44:22.408322048Z");
        assert_eq!(go_time("yesterday"), None);
    }
}
