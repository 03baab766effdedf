//! The root of a node: `/` on the node itself, or its disk mounted somewhere.
//!
//! Only the few folders that tell something are looked into, and `journalctl` is asked for the
//! journal, which nobody else can read. No link is followed.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use plimsoll_model::snapshot::GapStatus;

use crate::digest::{Source, journal_of, plain};
use crate::folder::{BEHIND_LINK, Part, is_behind_link};
use crate::store::Slot;

pub const PARTS: [Part; 7] = [
    Part { path: "etc/hostname", depth: 0, skip: "" },
    Part { path: "etc/mcs-machine-config-content.json", depth: 0, skip: "" },
    Part { path: "etc/machine-config-daemon", depth: 1, skip: "" },
    Part { path: "etc/kubernetes", depth: 3, skip: "static-pod-resources" },
    Part { path: "var/lib/kubelet", depth: 1, skip: "pki" },
    Part { path: "var/lib/kubelet/pki", depth: 1, skip: "" },
    Part { path: "var/log/pods", depth: 3, skip: "" },
];

const JOURNAL: &str = "var/log/journal";
/// What is cited: with it, the line can be found again.
const JOURNAL_SHOWN: &str = "journalctl --directory var/log/journal --utc --output with-unit";
/// Bytes of a journal that are read.
const MAX_JOURNAL: u64 = 4 << 30;

/// Whether a folder is the root of a node, and not of a sosreport, which looks much alike.
pub fn is_root(folder: &Path) -> bool {
    let has = |path: &str| folder.join(path).symlink_metadata().is_ok();
    let is_machine = has("etc/os-release") || has("etc/hostname") || has("var/log/journal");
    let is_node = ["etc/kubernetes", "var/lib/kubelet", "etc/machine-config-daemon"];
    is_machine && is_node.iter().any(|path| has(path)) && !has("sos_commands")
}

/// Reads the journal below `root` by way of `program`, unless there is none.
pub fn journal(source: &Source, root: &Path, program: &OsStr, member: u64) {
    let folder = root.join(JOURNAL);
    if is_behind_link(root, &folder) {
        return source.gap(GapStatus::Unreadable, JOURNAL, BEHIND_LINK);
    }
    if !has_journal(&folder) {
        return;
    }
    let mut child = match start(program, &folder) {
        Ok(child) => child,
        Err(error) => {
            let why =
                format!("journalctl is needed to read it and could not be run: {}", plain(&error));
            return source.gap(GapStatus::Unreadable, JOURNAL, why);
        }
    };
    let end = match child.stdout.take() {
        Some(output) => read(source, output, member),
        None => Ok(()),
    };
    // One that is not read to its end would wait forever.
    let stopped = if end.is_err() { child.kill() } else { Ok(()) }.and_then(|()| child.wait());
    let why = match (end, stopped) {
        (Err(error), _) | (Ok(()), Err(error)) => plain(&error),
        (Ok(()), Ok(status)) if !status.success() => "journalctl could not read all of it".into(),
        _ => return,
    };
    source.gap(GapStatus::Cut, JOURNAL, why);
}

fn read(source: &Source, output: impl Read, member: u64) -> io::Result<()> {
    let mut slot = Slot { source: source.index, member, place: 0 };
    let mut bounded = output.take(MAX_JOURNAL);
    journal_of(source, &mut slot, JOURNAL_SHOWN, &mut bounded)?;
    if bounded.limit() == 0 {
        return Err(io::Error::other("larger than the 4 GiB that are read of a journal"));
    }
    Ok(())
}

fn start(program: &OsStr, folder: &Path) -> io::Result<Child> {
    Command::new(program)
        .arg("--directory")
        .arg(folder)
        .args(["--no-pager", "--quiet", "--utc", "--output=with-unit"])
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

fn has_journal(folder: &Path) -> bool {
    let is_journal = |entry: &walkdir::DirEntry| {
        let name = entry.file_name().as_encoded_bytes();
        entry.file_type().is_file() && name.ends_with(b".journal")
    };
    let all = walkdir::WalkDir::new(folder).follow_root_links(false).max_depth(2);
    all.into_iter().flatten().any(|entry| is_journal(&entry))
}

#[cfg(test)]
mod tests {
    use plimsoll_model::LogOrigin;
    use plimsoll_model::snapshot::{Needs, Signature};

    use super::*;
    use crate::store::Item;
    use crate::{NoProgress, Reader, begin};

    /// Gaps, and units with the lines of their first hits, of a root whose journal `program` reads.
    fn read_with(program: &OsStr, root: &Path) -> (Vec<String>, Vec<String>) {
        std::fs::create_dir_all(root.join("var/log/journal/0123")).unwrap();
        std::fs::write(root.join("var/log/journal/0123/system.journal"), b"LPKSHHRH").unwrap();
        let signature = Signature {
            id: "x".into(),
            contains: vec!["NEEDLE".into()],
            pattern: None,
            logs: vec![],
        };
        let needs = Needs { signatures: vec![signature], ..Needs::default() };
        let reader = Reader::new(&needs);
        let reading = reader.reading();
        let source = begin(&reading, 0, "node".into(), &NoProgress);
        journal(&source, root, program, 0);
        drop(source);
        let store = reading.into_store();
        let gaps = store.sources[0].gaps.iter().map(|gap| gap.why.clone()).collect();
        let hits = store.items.into_values().filter_map(|item| match item {
            Item::Log(log) => {
                let LogOrigin::Unit { unit, .. } = &log.origin else { return None };
                let hit = log.hits.first()?;
                Some(format!("{unit} {} {}", hit.first.line, log.path))
            }
            _ => None,
        });
        (gaps, hits.collect())
    }

    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("journalctl");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn the_journal_is_read_by_way_of_journalctl() {
        let root = tempfile::tempdir().unwrap();
        let line = "Wed 2025-12-03 14:00:00 UTC m-0 kubelet.service[1]: NEEDLE";
        let program = script(root.path(), &format!("echo 'x y'; echo '{line}'"));
        let (gaps, hits) = read_with(program.as_os_str(), root.path());
        assert_eq!(hits, [format!("kubelet 2 {JOURNAL_SHOWN}")]);
        assert!(gaps.is_empty());
        let program = script(root.path(), &format!("echo '{line}'; exit 1"));
        let (gaps, hits) = read_with(program.as_os_str(), root.path());
        assert_eq!((gaps, hits.len()), (vec!["journalctl could not read all of it".into()], 1));
        let program = script(root.path(), &format!("echo '{line}'; exec >&-; sleep 0.2; exit 1"));
        assert_eq!(read_with(program.as_os_str(), root.path()).0.len(), 1, "it failed at its end");
    }

    #[cfg(unix)]
    #[test]
    fn a_journal_behind_a_link_is_another_machines() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(outside.path(), root.path().join("var")).unwrap();
        let program = script(
            root.path(),
            "echo 'Wed 2025-12-03 14:00:00 UTC m-0 kubelet.service[1]: NEEDLE'",
        );
        let (gaps, hits) = read_with(program.as_os_str(), root.path());
        assert_eq!((gaps, hits), (vec![BEHIND_LINK.to_string()], vec![]));
    }

    #[test]
    fn without_journalctl_the_journal_is_a_gap() {
        let root = tempfile::tempdir().unwrap();
        let (gaps, hits) = read_with(OsStr::new("/there/is/none"), root.path());
        assert!(gaps[0].contains("journalctl is needed") && hits.is_empty());
    }
}
