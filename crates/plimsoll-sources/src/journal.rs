//! A journal of all units, taken apart: one log for each unit, as `journalctl -u` would give it.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::{memchr, memmem};
use plimsoll_model::LogOrigin;

use crate::matcher::Matchers;
use crate::scan::{Scan, ScannedLog, pieces};
use crate::times::journal_head;

/// Units that are told apart; the lines of all others make one log.
const MAX_UNITS: usize = 400;
/// As systemd has it.
const MAX_NAME: usize = 255;
const OTHERS: &str = "others";

/// Programs and scripts that log under another name than that of their unit.
const WRITERS: [(&str, &str); 6] = [
    ("kubenswrapper", "kubelet"),
    ("hyperkube", "kubelet"),
    ("configure-ovs.sh", "ovs-configuration"),
    ("release-image-download.sh", "release-image"),
    ("report-progress.sh", "progress"),
    ("set-node-zero.sh", "node-zero"),
];

pub struct Units<'m> {
    matchers: &'m Matchers<'m>,
    by_name: BTreeMap<String, usize>,
    scans: Vec<(LogOrigin, Scan)>,
}

impl<'m> Units<'m> {
    pub fn new(matchers: &'m Matchers<'m>) -> Self {
        Self { matchers, by_name: BTreeMap::new(), scans: Vec::new() }
    }

    pub fn scan(&mut self, unit: &str) -> &mut Scan {
        let full = self.by_name.len() >= MAX_UNITS && !self.by_name.contains_key(unit);
        let unit = if full || unit.len() > MAX_NAME { OTHERS } else { unit };
        let place = match self.by_name.get(unit) {
            Some(place) => *place,
            None => {
                let origin = LogOrigin::Unit { unit: unit.into(), node: None };
                let scan = Scan::new(&origin, self.matchers.for_log(&origin));
                self.scans.push((origin, scan));
                self.by_name.insert(unit.into(), self.scans.len() - 1);
                self.scans.len() - 1
            }
        };
        &mut self.scans[place].1
    }

    /// The logs, by unit.
    pub fn finish(self, path: &str, complete: bool) -> Vec<ScannedLog> {
        let path: Arc<str> = path.into();
        let mut scans: Vec<Option<(LogOrigin, Scan)>> = self.scans.into_iter().map(Some).collect();
        let in_order = self.by_name.into_values().filter_map(|place| scans[place].take());
        in_order
            .map(|(origin, scan)| ScannedLog {
                complete,
                of_journal: true,
                ..scan.finish(path.clone(), origin)
            })
            .collect()
    }
}

/// Reads a journal as text to its end, or as far as it goes.
pub fn read(units: &mut Units, input: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<()> {
    let mut line = 1;
    // Lines without a head of their own go on with what the unit before them said.
    let mut current = OTHERS.to_string();
    let mut goes_on = false;
    pieces(input, buffer, |text, is_part| {
        let (mut from, mut from_line, mut at) = (0, line, 0);
        while at < text.len() {
            let end = memchr(b'\n', &text[at..]).map_or(text.len(), |newline| at + newline + 1);
            let unit = (!goes_on).then(|| unit_of_line(&text[at..end])).flatten();
            goes_on = false;
            if let Some(unit) = unit
                && unit != current
            {
                if at > from {
                    units.scan(&current).feed_at(from_line, &text[from..at]);
                }
                (from, from_line) = (at, line);
                current.clear();
                current.push_str(unit);
            }
            line += u64::from(text[end - 1] == b'\n');
            at = end;
        }
        if text.len() > from {
            let scan = units.scan(&current);
            scan.feed_at(from_line, &text[from..]);
            if is_part {
                scan.continues(&text[from..]);
                goes_on = true;
            }
        }
    })
}

fn unit_of_line(line: &[u8]) -> Option<&str> {
    let head = journal_head(line)?;
    let writer = std::str::from_utf8(head.writer).ok()?;
    Some(unit_of(writer.split('[').next().unwrap_or(writer), head.text))
}

/// The unit of a line, by who wrote it: a unit, a program, or systemd speaking of a unit.
pub fn unit_of<'l>(writer: &'l str, text: &'l [u8]) -> &'l str {
    if let Some(unit) = writer.strip_suffix(".service") {
        return unit;
    }
    if matches!(writer, "systemd" | "init.scope") {
        return unit_named_in(text).unwrap_or("systemd");
    }
    let known = WRITERS.iter().find(|(name, _)| *name == writer);
    known.map_or_else(|| writer.strip_suffix(".sh").unwrap_or(writer), |(_, unit)| unit)
}

/// `kubelet` in `kubelet.service: Main process exited, …`.
fn unit_named_in(text: &[u8]) -> Option<&str> {
    let end = memmem::find(&text[..text.len().min(512)], b".service")?;
    let is_name =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'@' | b'.' | b':');
    let start = text[..end].iter().rposition(|b| !is_name(b)).map_or(0, |space| space + 1);
    std::str::from_utf8(&text[start..end]).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::Signature;

    use super::*;

    fn signature(id: &str, contains: &str, logs: &str) -> Signature {
        Signature {
            id: id.into(),
            contains: vec![contains.into()],
            pattern: None,
            logs: vec![logs.into()],
        }
    }

    #[test]
    fn a_name_that_no_unit_can_have_is_not_kept() {
        let (matchers, _) = Matchers::new(&[]);
        let mut units = Units::new(&matchers);
        units.scan(&"x".repeat(60_000));
        let logs = units.finish("journal.log", true);
        let others = LogOrigin::Unit { unit: OTHERS.into(), node: None };
        assert_eq!(logs.into_iter().map(|log| log.origin).collect::<Vec<_>>(), [others]);
    }

    fn hits(journal: &str) -> Vec<String> {
        let signatures = [
            signature("kubelet", "NEEDLE", "unit/kubelet"),
            signature("crio", "NEEDLE", "unit/crio"),
            signature("console", "NEEDLE", "console"),
        ];
        let (matchers, _) = Matchers::new(&signatures);
        let mut units = Units::new(&matchers);
        read(&mut units, &mut journal.as_bytes(), &mut Vec::new()).unwrap();
        let mut found = Vec::new();
        for log in units.finish("journal.log", true) {
            for hit in log.hits {
                let id = &signatures[hit.signature].id;
                found.push(format!("{id} {} {}-{}", hit.count, hit.first.line, hit.last.line));
            }
        }
        found
    }

    #[test]
    fn every_line_goes_to_its_unit_and_keeps_its_number() {
        let journal = "-- Journal begins --\n\
            Dec 03 14:00:00 m-0 kubenswrapper[1]: NEEDLE\n\
            Dec 03 14:00:00 m-0 crio[2]: NEEDLE\n\
            \x20   NEEDLE goes on\n\
            Dec 03 14:00:01 m-0 systemd[1]: kubelet.service: NEEDLE\n\
            Dec 03 14:00:01 m-0 systemd[1]: Started NEEDLE.\n\
            Dec 03 14:00:02 m-0 kernel: NEEDLE\n\
            Dec 03 14:00:02 m-0 hyperkube[1]: NEEDLE";
        assert_eq!(hits(journal), ["crio 1 3-3", "crio 1 4-4", "console 1 7-7", "kubelet 3 2-8"]);
        let with_unit = "Wed 2025-12-03 14:00:00 UTC m-0 kubelet.service[1]: NEEDLE\n\
            Wed 2025-12-03 14:00:00 UTC m-0 init.scope[1]: Failed to start crio.service - NEEDLE\n";
        assert_eq!(hits(with_unit), ["crio 1 2-2", "kubelet 1 1-1"]);
    }

    #[test]
    fn a_line_longer_than_the_buffer_stays_with_its_unit() {
        let long = "x".repeat(600 << 10);
        let journal = format!(
            "Dec 03 14:00:00 m-0 crio[2]: {long} NEEDLE\nDec 03 14:00:00 m-0 kubelet[2]: NEEDLE\n"
        );
        assert_eq!(hits(&journal), ["crio 1 1-1", "kubelet 1 2-2"]);
    }

    #[test]
    fn writers_are_known_by_their_units() {
        for (writer, text, unit) in [
            ("bootkube.sh", "x", "bootkube"),
            ("ovs-vswitchd", "x", "ovs-vswitchd"),
            ("systemd", "node-image-pull.service: Failed with result", "node-image-pull"),
            ("systemd", "Reached target Network.", "systemd"),
        ] {
            assert_eq!(unit_of(writer, text.as_bytes()), unit);
        }
    }
}
