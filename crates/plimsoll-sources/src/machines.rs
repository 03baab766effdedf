//! Which machine a file was taken from, and which pod a container's log belongs to.
//!
//! A source may tell long before or long after the file itself was read, so everything is noted by
//! folder and put together by `assemble`.

use memchr::memmem;

use crate::digest::Source;
use crate::layout::Place;
use crate::store::{MachineNotes, SourceNotes};

/// Machines and labels that are kept for each source; no real one has as many.
const MAX_NOTES: usize = 20_000;

/// The folder of the machine whose file this is.
pub fn folder<'p>(path: &'p str, place: &Place) -> Option<&'p str> {
    let below = place.machine.as_ref()?.below.checked_sub(1)?;
    Some(path.rmatch_indices('/').nth(below).map_or("", |(at, _)| &path[..at]))
}

/// Notes that `path` is a file of a machine.
pub fn note(notes: &mut SourceNotes, path: &str, place: &Place) {
    let Some((inside, folder)) = place.machine.as_ref().zip(folder(path, place)) else { return };
    let machine = notes.machines.entry(folder.into()).or_default();
    machine.folder_name = machine.folder_name.take().or_else(|| inside.name.clone());
    machine.whole.extend(inside.whole);
    // Workers come in any order: the same ones must stay.
    if notes.machines.len() > MAX_NOTES {
        notes.machines.pop_last();
    }
}

/// Takes in a file that holds a machine's host name. Of several, the first by path is right.
pub fn name(source: &Source, folder: Option<&str>, path: &str, text: &[u8]) {
    let Some(name) = std::str::from_utf8(text).ok().map(str::trim).filter(|n| is_name(n)) else {
        return;
    };
    let mut store = source.reading.store();
    let notes = store.sources.get_mut(source.index);
    if let Some(machine) = notes.zip(folder).and_then(|(n, folder)| n.machines.get_mut(folder)) {
        let said = (path.to_string(), name.to_string());
        machine.host_name = machine.host_name.take().into_iter().chain([said]).min();
    }
}

/// A host name that tells machines apart.
pub fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    !name.is_empty()
        && name.len() <= 253
        && name.bytes().all(plain)
        && !name.starts_with("localhost")
}

impl MachineNotes {
    pub fn name(&self) -> Option<String> {
        let by_file = self.host_name.as_ref().map(|(_, name)| name);
        by_file.or(self.folder_name.as_ref()).cloned()
    }
}

/// Takes in what `crictl inspect` says of a container. Only two labels are looked at.
pub fn label(source: &Source, path: &str, inspected: &[u8]) {
    let Some(stem) = path.strip_suffix(".inspect") else { return };
    let found = |key: &str| value_of(inspected, key).filter(|value| is_name(value));
    let labels = found("io.kubernetes.pod.namespace").zip(found("io.kubernetes.pod.name"));
    if let Some(labels) = labels
        && let Some(notes) = source.reading.store().sources.get_mut(source.index)
    {
        notes.labels.insert(format!("{stem}.log"), labels);
        if notes.labels.len() > MAX_NOTES {
            notes.labels.pop_last();
        }
    }
}

/// The text of the first `"key": "text"`.
fn value_of(json: &[u8], key: &str) -> Option<String> {
    let quoted = format!("\"{key}\"");
    let rest = &json[memmem::find(json, quoted.as_bytes())? + quoted.len()..];
    let rest =
        rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', rest)?;
    std::str::from_utf8(&rest[..end]).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_out_of_what_the_runtime_says() {
        let json = br#"{"status":{"labels":{"io.kubernetes.pod.name": "etcd-m-0","io.kubernetes.pod.namespace" : "openshift-etcd"}}}"#;
        assert_eq!(value_of(json, "io.kubernetes.pod.name").as_deref(), Some("etcd-m-0"));
        let namespace = value_of(json, "io.kubernetes.pod.namespace");
        assert_eq!(namespace.as_deref(), Some("openshift-etcd"));
        assert_eq!(value_of(b"{\"io.kubernetes.pod.name\"", "io.kubernetes.pod.name"), None);
    }

    #[test]
    fn of_two_names_the_same_one_wins_whichever_comes_first() {
        let files = [("m/etc/hostname", "alpha"), ("m/sos_commands/host/hostname", "beta")];
        for order in [files, [files[1], files[0]]] {
            let needs = plimsoll_model::snapshot::Needs::default();
            let reader = crate::Reader::new(&needs);
            let reading = reader.reading();
            let source = crate::begin(&reading, 0, "s".into(), &crate::NoProgress);
            source.reading.store().sources[0].machines.insert("m".into(), MachineNotes::default());
            for (path, host) in order {
                name(&source, Some("m"), path, host.as_bytes());
            }
            let told = source.reading.store().sources[0].machines["m"].name();
            assert_eq!(told.as_deref(), Some("alpha"));
        }
    }

    #[test]
    fn a_machine_without_a_name_has_none() {
        assert!(is_name("master-0.example.com"));
        for name in ["localhost", "localhost.localdomain", "", "two words", "a/b"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
