//! The files of a preflight: tolerant of what is new in them, bounded in what is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::{Evidence, Snapshot, clip, redact};
use serde_json::Value as Json;

const ASKED: &str = "live/asked.json";
const MACHINE: &str = "live/machine.json";
const PROBES: &str = "probes/probes.json";
const DIFFERENCES: &str = "bmc/differences.json";
const MOST: usize = 4000;
pub const SYSTEM: &str = "the resolver of this machine";

#[derive(Default)]
pub struct Seen {
    pub parts: BTreeSet<String>,
    /// The word in names that nobody can have written down.
    pub label: String,
    pub release_image: Option<String>,
    pub answers: Vec<Answer>,
    /// Readings of BMCs, by host.
    pub readings: BTreeMap<String, Document>,
    pub differences: Option<Document>,
    pub machine: Option<Document>,
}

pub struct Document {
    pub json: Json,
    source: String,
    path: String,
}

/// One answer of a probe.
pub struct Answer {
    id: String,
    pub kind: String,
    pub target: String,
    pub result: Json,
    at: Evidence,
}

impl Seen {
    pub fn read(snapshot: &Snapshot) -> Self {
        let mut seen = Self::default();
        for ((source, path), bytes) in &snapshot.files {
            let source = snapshot.sources.get(*source).map_or("", |source| &source.name);
            let Ok(json) = serde_json::from_slice::<Json>(bytes) else { continue };
            let document = Document { json, source: source.into(), path: path.clone() };
            match path.as_str() {
                ASKED => seen.asked(&document.json),
                MACHINE => seen.machine = Some(document),
                PROBES => seen.answers = answers(&document),
                DIFFERENCES => seen.differences = Some(document),
                path if path.starts_with("bmc/") => {
                    if let Some(host) = document.text("/name").map(str::to_string) {
                        seen.readings.insert(host, document);
                    }
                }
                _ => {}
            }
        }
        seen
    }

    fn asked(&mut self, json: &Json) {
        let parts = json["parts"].as_array().into_iter().flatten();
        self.parts = parts.filter_map(Json::as_str).map(str::to_string).collect();
        // Who reads the hardware has been at the BMC.
        if self.has("hardware") {
            self.parts.insert("bmc".into());
        }
        self.label = json["label"].as_str().unwrap_or_default().into();
        self.release_image = json["release_image"].as_str().map(str::to_string);
    }

    pub fn has(&self, part: &str) -> bool {
        self.parts.contains(part)
    }

    pub fn of<'s>(&'s self, kind: &'s str) -> impl Iterator<Item = &'s Answer> {
        self.answers.iter().filter(move |answer| answer.kind == kind)
    }
}

fn answers(document: &Document) -> Vec<Answer> {
    let all = document.json["answers"].as_array().into_iter().flatten().take(MOST);
    all.enumerate()
        .filter_map(|(index, answer)| {
            let text = |key: &str| answer[key].as_str().map(str::to_string);
            let at = document.at(&format!("/answers/{index}"), "");
            let result = answer.get("result")?.clone();
            Some(Answer {
                id: text("id").unwrap_or_default(),
                kind: text("kind")?,
                target: text("target")?,
                result,
                at,
            })
        })
        .collect()
}

impl Document {
    pub fn at(&self, pointer: &str, text: &str) -> Evidence {
        Evidence {
            source: self.source.clone(),
            path: self.path.clone(),
            line: None,
            pointer: Some(pointer.into()),
            time: None,
            text: clip(&redact(text)),
        }
    }

    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.json.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn list(&self, pointer: &str) -> &[Json] {
        let all = self.json.pointer(pointer).and_then(Json::as_array);
        let all = all.map(Vec::as_slice).unwrap_or_default();
        &all[..all.len().min(MOST)]
    }
}

impl Answer {
    pub fn says(&self, text: &str) -> Evidence {
        Evidence { text: clip(&redact(text)), ..self.at.clone() }
    }

    /// Of a question to DNS: `dns/NAME/a/192.0.2.53:53`.
    pub fn resolver_asked(&self) -> String {
        let resolver = self.id.rsplit('/').next().unwrap_or_default();
        let resolver = resolver.strip_suffix(":53").unwrap_or(resolver);
        match resolver.trim_matches(['[', ']']) {
            "system" => SYSTEM.into(),
            resolver => resolver.into(),
        }
    }

    fn is(&self) -> &str {
        self.result["is"].as_str().unwrap_or_default()
    }

    /// `refused`, `timed-out`, `no-route`, `unresolved`, `lost`, or other words. `not-done` where the
    /// time was over before.
    pub fn unreached(&self) -> Option<String> {
        match self.is() {
            "unreached" => Some(word(&self.result["why"])),
            "not-done" => Some("not-done".into()),
            _ => None,
        }
    }

    /// The resolver that answered, and what.
    pub fn said(&self) -> Option<(String, Said)> {
        if self.is() != "dns" {
            return None;
        }
        let resolver = self.result["resolver"].as_str()?;
        let resolver = resolver.strip_suffix(":53").unwrap_or(resolver);
        let resolver = resolver.trim_matches(['[', ']']).to_string();
        let said = &self.result["said"];
        let list = |key: &str| -> Option<Vec<&str>> {
            Some(said[key].as_array()?.iter().filter_map(Json::as_str).collect())
        };
        let said = if let Some(addresses) = list("addresses") {
            Said::Addresses(addresses.iter().filter_map(|text| text.parse().ok()).collect())
        } else if let Some(names) = list("names") {
            Said::Names(names.iter().map(|name| name.to_ascii_lowercase()).collect())
        } else {
            Said::Nothing(match said.as_str().unwrap_or_default() {
                "nxdomain" => "no such name".into(),
                "no-data" => "no such record".into(),
                "refused" => "it refuses to answer".into(),
                "servfail" => "it fails to answer".into(),
                _ => "an answer without sense".into(),
            })
        };
        Some((resolver, said))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Addresses(Vec<IpAddr>),
    Names(Vec<String>),
    Nothing(String),
}

/// A word, or the first of an object that has one.
pub fn word(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Object(fields) => match fields.iter().next() {
            Some((name, Json::String(text))) => format!("{name}: {text}"),
            Some((name, Json::Number(number))) => format!("{name}: {number}"),
            Some((name, inner)) => match word(inner) {
                inner if inner.is_empty() => name.clone(),
                inner => format!("{name}: {inner}"),
            },
            None => String::new(),
        },
        _ => String::new(),
    }
}

/// Why somebody was not reached, for people.
pub fn reach(word: &str) -> &str {
    match word {
        "refused" => "nothing listens there",
        "timed-out" => "no answer in time",
        "no-route" => "there is no route to it",
        "unresolved" => "its name does not resolve",
        "lost" => "the connection broke off",
        "not-done" => "the time for all probes was over",
        other => other.strip_prefix("other: ").unwrap_or(other),
    }
}
