//! The answers of a BMC, before anything is made of them.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// Null where there was no answer. What is made of them needs no BMC: see `inventory`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Documents {
    pub root: Value,
    /// Paths of the systems that the service lists.
    pub systems: Vec<String>,
    pub system: Value,
    pub system_path: Option<String>,
    pub system_allow: Vec<String>,
    pub processors: Vec<Value>,
    pub bios: Value,
    pub secure_boot: Value,
    pub manager: Value,
    pub manager_path: Option<String>,
    /// Our time when the manager told its own.
    pub manager_at: Option<Timestamp>,
    pub protocol: Value,
    pub media: Vec<Media>,
    /// Why the media could not be read.
    pub media_refused: Option<String>,
    pub ethernet: Vec<Value>,
    pub adapters: Vec<Adapter>,
    pub storage: Vec<Unit>,
    pub firmware: Vec<Value>,
    pub entries: Vec<Value>,
    pub account: Value,
    pub role: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Media {
    pub document: Value,
    pub allow: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Adapter {
    pub adapter: Value,
    pub ports: Vec<Value>,
    pub functions: Vec<Value>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Unit {
    pub unit: Value,
    pub controllers: Vec<Value>,
    pub drives: Vec<Value>,
    pub volumes: Vec<Value>,
}
