//! What a capture says of itself: what it was taken from and when, and at its end what is missing and
//! which lists are whole. A live cluster is read as the capture that is being made of it.

use plimsoll_model::redact::{printable, redact};
use plimsoll_model::snapshot::{Collected, Form, GapStatus};
use plimsoll_model::{Time, clip};
use serde::Deserialize;

use crate::digest::Source;
use crate::layout::Layout;

pub const HEAD: &str = "plimsoll-capture.json";
pub const END: &str = "plimsoll-capture-end.json";

const SCHEMA: &str = "plimsoll.capture/v1";

#[derive(Deserialize)]
struct Head {
    schema: String,
    name: String,
    now: Time,
}

#[derive(Deserialize)]
struct End {
    #[serde(default)]
    gaps: Vec<Missing>,
    /// `GROUP/PLURAL` of what was listed in all namespaces, to the end.
    #[serde(default)]
    lists: Vec<String>,
}

#[derive(Deserialize)]
struct Missing {
    #[serde(default)]
    refused: bool,
    what: String,
    why: String,
}

/// What the head of a capture told.
#[derive(Clone, Debug, Default)]
pub struct CaptureNotes {
    /// Of what it was taken from: `kube:lab`.
    pub name: String,
    pub has_end: bool,
}

pub fn head(source: &Source, path: &str, json: &[u8]) {
    let head: Head = match serde_json::from_slice(json) {
        Ok(head) => head,
        Err(error) => return source.gap(GapStatus::Unreadable, path, error.to_string()),
    };
    if head.schema != SCHEMA {
        let why = "it is of a later version than this one can read";
        return source.gap(GapStatus::Unreadable, path, why);
    }
    source.saw(Layout::Capture);
    let mut store = source.reading.store();
    store.gather_time(source.index, head.now);
    if let Some(notes) = store.sources.get_mut(source.index) {
        let capture = notes.capture.get_or_insert_default();
        capture.name = tidy(&head.name);
    }
}

pub fn end(source: &Source, path: &str, json: &[u8]) {
    let end: End = match serde_json::from_slice(json) {
        Ok(end) => end,
        Err(error) => return source.gap(GapStatus::Unreadable, path, error.to_string()),
    };
    for Missing { refused, what, why } in end.gaps {
        let status = if refused { GapStatus::Unreadable } else { GapStatus::NotCollected };
        source.gap(status, tidy(&what), tidy(&why));
    }
    let mut store = source.reading.store();
    for resource in end.lists {
        let Some((group, plural)) = resource.split_once('/') else { continue };
        store.collected.insert(Collected {
            group: group.into(),
            plural: plural.into(),
            namespace: None,
            form: Form::List,
            source: source.index,
            path: path.into(),
        });
    }
    if let Some(notes) = store.sources.get_mut(source.index) {
        notes.capture.get_or_insert_default().has_end = true;
    }
}

fn tidy(text: &str) -> String {
    clip(&redact(&printable(text.as_bytes())))
}
