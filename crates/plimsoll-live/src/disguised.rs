//! A capture with other names and addresses in it.

use std::io::{self, Read, Write};

use plimsoll_disguise::Disguise;
use plimsoll_model::Time;
use serde_json::Value;

use crate::archive::{Archive, HEAD, ROOT};

/// Writes an archive anew. Files keep their order and their lines.
pub fn write_disguised(
    whole: impl Read,
    disguise: &Disguise,
    now: Time,
    out: impl Write,
) -> io::Result<()> {
    let mut archive = Archive::new(out, now);
    for entry in tar::Archive::new(whole).entries()? {
        let mut entry = entry?;
        let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = path.strip_prefix(ROOT).unwrap_or(&path).trim_start_matches('/').to_string();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        if path == HEAD {
            bytes = without_context(&bytes);
        }
        let path = disguise.text(path.as_bytes()).into_owned();
        archive.add(&String::from_utf8_lossy(&path), &disguise.text(&bytes))?;
    }
    archive.finish()?.flush()
}

/// `kube:CONTEXT` is what its user calls a cluster.
fn without_context(head: &[u8]) -> Vec<u8> {
    let Ok(mut json) = serde_json::from_slice::<Value>(head) else { return head.to_vec() };
    if let Some(name) = json.get_mut("name") {
        let kind = name.as_str().and_then(|name| name.split(':').next()).unwrap_or("live");
        *name = Value::from(kind);
    }
    format!("{json:#}\n").into_bytes()
}
