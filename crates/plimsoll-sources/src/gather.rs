//! How the gather itself went: when it ran, whether it failed, what kind it is.

use std::collections::BTreeSet;

use memchr::memmem;
use plimsoll_model::redact::{printable, redact};
use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Time, clip};

use crate::times::go_time;

/// What `oc adm must-gather` and the gather scripts say when they did not get to their end.
const COMPLAINTS: [&str; 6] = [
    "disk usage exceeds the volume percentage",
    "gather did not start",
    "gather never finished",
    "unable to retrieve container logs",
    "error running backup collection",
    "timed out",
];

/// Of a `timestamp` file, which tells the first and the last, or of what `date` said.
pub fn times(text: &[u8]) -> Vec<Time> {
    let text = String::from_utf8_lossy(text);
    text.lines().filter_map(|line| go_time(line).or_else(|| date_time(line))).collect()
}

/// `Wed Dec  3 18:42:00 UTC 2025`
fn date_time(line: &str) -> Option<Time> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, month, day, clock, "UTC", year] = words.as_slice() else { return None };
    let text = format!("{year} {month} {day} {clock}");
    let local = jiff::civil::DateTime::strptime("%Y %b %d %H:%M:%S", text).ok()?;
    jiff::tz::Offset::UTC.to_timestamp(local).ok()
}

/// The first line of each complaint in the log of a gather.
pub fn complaints(path: &str, log: &[u8]) -> Vec<Gap> {
    let lower = log.to_ascii_lowercase();
    COMPLAINTS
        .iter()
        .filter_map(|complaint| {
            let at = memmem::find(&lower, complaint.as_bytes())?;
            let start = memchr::memrchr(b'\n', &log[..at]).map_or(0, |newline| newline + 1);
            let number = memchr::memchr_iter(b'\n', &log[..start]).count() + 1;
            Some((start, number))
        })
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|(start, number)| Gap {
            status: GapStatus::Cut,
            what: "the gather".into(),
            why: format!("{path}:{number} says: {}", quote(&log[start..])),
        })
        .collect()
}

/// The time that a gather puts into its name: `log-bundle-20251203140000`,
/// `agent-gather-20251203-140000UTC`, `insights-2025-12-03-140000`.
pub fn time_in_name(name: &str) -> Option<Time> {
    digits_in_name(name, |runs| match *runs {
        [time, ..] if time.len() == 14 => Some(time.into()),
        [day, clock, ..] if (day.len(), clock.len()) == (8, 6) => Some([day, clock].concat()),
        [year, month, day, clock, ..]
            if [year, month, day, clock].map(str::len) == [4, 2, 2, 6] =>
        {
            Some([year, month, day, clock].concat())
        }
        _ => None,
    })
}

/// The end of the day in a name, where that is all it tells: `sosreport-m-0-2025-12-03-abcdefg`.
pub fn day_in_name(name: &str) -> Option<Time> {
    digits_in_name(name, |runs| match *runs {
        [year, month, day, ..] if (year.len(), month.len(), day.len()) == (4, 2, 2) => {
            Some([year, month, day, "235959"].concat())
        }
        _ => None,
    })
}

/// The first runs of digits in a name that `read` takes for `YYYYmmddHHMMSS`.
fn digits_in_name(name: &str, read: fn(&[&str]) -> Option<String>) -> Option<Time> {
    let is_number = |run: &&str| !run.is_empty();
    let runs: Vec<&str> = name.split(|c: char| !c.is_ascii_digit()).filter(is_number).collect();
    (0..runs.len()).find_map(|at| {
        let digits = read(&runs[at..])?;
        let part = |from: usize, to: usize| digits.get(from..to);
        let text = format!(
            "{}-{}-{}T{}:{}:{}Z",
            part(0, 4)?,
            part(4, 6)?,
            part(6, 8)?,
            part(8, 10)?,
            part(10, 12)?,
            part(12, 14)?
        );
        text.parse().ok()
    })
}

fn quote(from: &[u8]) -> String {
    let end = memchr::memchr(b'\n', from).unwrap_or(from.len()).min(2000);
    clip(&redact(&printable(&from[..end])))
}

fn is_inspect(folder: &str) -> bool {
    folder.starts_with("inspect.local.")
}

/// The folder in which the `inspect.local.*` of this root lies.
fn around_inspect(root: &str) -> Option<&str> {
    let mut at = 0;
    for part in root.split('/') {
        if is_inspect(part) {
            return Some(root[..at].trim_end_matches('/'));
        }
        at += part.len() + 1;
    }
    None
}

/// Whether an `inspect.local.*` is there because the gather failed, and not because somebody ran
/// `oc adm inspect`: it then lies in the folder of a must-gather.
pub fn fell_back(name: &str, roots: &BTreeSet<String>, marked: &BTreeSet<String>) -> bool {
    roots.iter().chain(marked).filter_map(|root| around_inspect(root)).any(|around| {
        let folder = around.rsplit('/').next().filter(|f| !f.is_empty()).unwrap_or(name);
        let lies_around = |root: &str| {
            around.is_empty() || root.strip_prefix(around).is_some_and(|r| r.starts_with('/'))
        };
        folder.contains("must-gather")
            || marked.contains(around)
            || roots.iter().any(|root| lies_around(root) && around_inspect(root).is_none())
    })
}

/// `must-gather` or `inspect`.
pub fn kind(name: &str, roots: &BTreeSet<String>) -> &'static str {
    let all_inspects = !roots.is_empty() && roots.iter().all(|r| around_inspect(r).is_some());
    if is_inspect(name) || all_inspects { "inspect" } else { "must-gather" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(items: &[&str]) -> BTreeSet<String> {
        items.iter().map(|item| (*item).into()).collect()
    }

    #[test]
    fn an_inspect_is_a_fallback_only_inside_a_must_gather() {
        for (name, roots, marked, fallback) in [
            ("must-gather.local.1", &["inspect.local.2"][..], &[][..], true),
            ("x.tar.gz", &["must-gather.local.1/inspect.local.2"], &[], true),
            ("x.tar.gz", &["a/inspect.local.2", "a/quay-io-image"], &[], true),
            ("x.tar.gz", &["a/inspect.local.2"], &["a", "a/inspect.local.2"], true),
            ("x.tar.gz", &["inspect.local.2"], &["inspect.local.2"], false),
            ("inspect.local.2", &[""], &[""], false),
            ("x", &["inspect.local.1", "inspect.local.2"], &[], false),
            ("must-gather", &["quay-io-image"], &[], false),
        ] {
            assert_eq!(fell_back(name, &set(roots), &set(marked)), fallback, "{name} {roots:?}");
        }
    }

    #[test]
    fn the_log_of_a_gather_is_quoted_where_it_complains() {
        let log = b"volume usage percentage 0\n[disk usage checker] Disk usage exceeds the volume percentage of 70\nx\n";
        let gaps = complaints("a/gather.logs", log);
        assert_eq!(gaps.len(), 1);
        assert!(gaps[0].why.starts_with("a/gather.logs:2 says: [disk usage checker]"));
        assert!(gaps[0].why.contains("Disk usage"), "as it is written");
        let log = b"gather did not start: timed out waiting for the condition\n";
        assert_eq!(complaints("x", log).len(), 1, "one line is quoted once");
        assert!(
            complaints("x", b"volume usage percentage 12\nGathering data for ns/default\n")
                .is_empty()
        );
    }

    #[test]
    fn a_name_may_tell_the_time() {
        for (name, time) in [
            ("log-bundle-20251203140000.tar.gz", Some("2025-12-03T14:00:00Z")),
            ("agent-gather-20251203-140000UTC.tar.xz", Some("2025-12-03T14:00:00Z")),
            ("sosreport-m-0-01234567-2025-12-03-abcdefg.tar.xz", None),
            ("must-gather.local.5512", None),
            ("log-bundle-99999999999999", None),
        ] {
            assert_eq!(time_in_name(name).map(|t| t.to_string()).as_deref(), time, "{name}");
        }
        let day = day_in_name("sosreport-m-0-01234567-2025-12-03-abcdefg.tar.xz");
        assert_eq!(day.unwrap().to_string(), "2025-12-03T23:59:59Z");
        assert_eq!(day_in_name("must-gather.local.5512"), None);
    }

    #[test]
    fn each_line_is_a_time() {
        let text = b"2021-09-14 16:43:44.05 +0200 CEST m=+1.4\n2021-09-14 14:44:22.4 +0000 UTC m=+3\nrubbish\n";
        let shown = |text: &[u8]| times(text).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown(text), ["2021-09-14T14:43:44.05Z", "2021-09-14T14:44:22.4Z"]);
        assert_eq!(times(b""), []);
        assert_eq!(shown(b"Wed Dec  3 18:42:00 UTC 2025\n"), ["2025-12-03T18:42:00Z"]);
    }
}
