//! Lines of journals and container logs, merged into a file in the order of time.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::Repeated;

/// A loop without end would fill the memory; a case never needs more.
const MOST_LINES: i64 = 5_000;

pub(super) fn times(lines: &Repeated, now: Timestamp) -> Result<Vec<Timestamp>, String> {
    let from = lines.from.resolve(now);
    let Some(to) = lines.to.map(|to| to.resolve(now)) else { return Ok(vec![from]) };
    let span = to.duration_since(from).as_secs();
    if span < 0 {
        return Err("to= is before from=".into());
    }
    let count = span / lines.every_seconds + 1;
    if count > MOST_LINES {
        return Err(format!("{count} lines are more than {MOST_LINES}; use a larger every="));
    }
    Ok((0..count)
        .map(|n| from.checked_add(SignedDuration::from_secs(n * lines.every_seconds)))
        .map_while(Result::ok)
        .collect())
}

/// `E1203 14:12:00.000000    2451 `: severity, time and process, as klog writes them.
pub(crate) fn klog_header(severity: char, time: Timestamp, process: u32) -> String {
    format!("{severity}{} {process:>7} ", utc(time).strftime("%m%d %H:%M:%S%.6f"))
}

/// `Dec 03 14:12:00.000000`
pub(crate) fn journal_time(time: Timestamp) -> String {
    utc(time).strftime("%b %d %H:%M:%S%.6f").to_string()
}

/// `2025-12-03T14:12:00.000000000Z`
pub(crate) fn container_time(time: Timestamp) -> String {
    utc(time).strftime("%Y-%m-%dT%H:%M:%S%.9fZ").to_string()
}

fn utc(time: Timestamp) -> jiff::Zoned {
    time.to_zoned(TimeZone::UTC)
}

/// The time at the head of a journal line, which has no year: the last one before the gather.
pub(crate) fn read_journal_time(line: &str, now: Timestamp) -> Option<Timestamp> {
    let stamp = line.get(..22)?;
    let year = i64::from(utc(now).year());
    let in_year = |year: i64| {
        jiff::civil::DateTime::strptime("%Y %b %d %H:%M:%S%.f", format!("{year} {stamp}"))
            .ok()
            .and_then(|time| time.to_zoned(TimeZone::UTC).ok())
            .map(|time| time.timestamp())
    };
    let day = SignedDuration::from_hours(24);
    in_year(year).filter(|time| time.duration_since(now) < day).or_else(|| in_year(year - 1))
}

pub(super) fn read_container_time(line: &str) -> Option<Timestamp> {
    line.split(' ').next()?.parse().ok()
}

/// Lines without a time of their own stay behind the line before them.
pub(super) fn merge(
    old: &str,
    new: Vec<(Timestamp, String)>,
    time_of: &dyn Fn(&str) -> Option<Timestamp>,
) -> String {
    let mut out = String::with_capacity(old.len() + new.len() * 128);
    let mut new = new.into_iter().peekable();
    for line in old.lines() {
        if let Some(time) = time_of(line) {
            while let Some((_, text)) = new.next_if(|(at, _)| *at < time) {
                out.push_str(&text);
                out.push('\n');
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    for (_, text) in new {
        out.push_str(&text);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_line_has_the_last_year_in_which_it_is_past() {
        let now: Timestamp = "2026-01-02T00:10:00Z".parse().unwrap();
        let read = |text: &str| read_journal_time(text, now).map(|time| time.to_string());
        assert_eq!(
            read("Dec 31 23:59:58.000001 m x[1]: t"),
            Some("2025-12-31T23:59:58.000001Z".into())
        );
        assert_eq!(read("Jan 02 00:09:00.000000 m x[1]: t"), Some("2026-01-02T00:09:00Z".into()));
        assert_eq!(read("-- Logs begin at"), None);
        let time: Timestamp = "2025-12-03T04:05:06.789Z".parse().unwrap();
        assert_eq!(journal_time(time), "Dec 03 04:05:06.789000");
        assert_eq!(klog_header('W', time, 12), "W1203 04:05:06.789000      12 ");
        assert_eq!(container_time(time), "2025-12-03T04:05:06.789000000Z");
        assert_eq!(read_container_time(&format!("{} x", container_time(time))), Some(time));
    }

    #[test]
    fn new_lines_go_where_their_time_is() {
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let old = "2025-12-03T01:00:00Z a\n  more of a\n2025-12-03T03:00:00Z c\n";
        let new = vec![
            (at("2025-12-03T02:00:00Z"), "b".to_string()),
            (at("2025-12-03T04:00:00Z"), "d".to_string()),
        ];
        let merged = merge(old, new, &read_container_time);
        assert_eq!(merged, "2025-12-03T01:00:00Z a\n  more of a\nb\n2025-12-03T03:00:00Z c\nd\n");
    }
}
