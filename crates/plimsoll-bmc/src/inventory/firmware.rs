//! Firmware that is in use.

use serde_json::Value;

use crate::reading::Firmware;
use crate::value::{id, text};

pub fn all(documents: &[Value], unused: &[&str]) -> Vec<Firmware> {
    let mut firmware: Vec<_> = documents
        .iter()
        .filter_map(|document| {
            let id = id(document)?;
            let used = !unused.iter().any(|prefix| id.starts_with(prefix));
            let name = text(document, "/Name");
            used.then(|| Firmware { id, name, version: text(document, "/Version") })
        })
        .collect();
    firmware.sort_by(|one, other| one.id.cmp(&other.id));
    firmware
}
