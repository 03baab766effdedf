//! What was seen outside of the files before an install: `live/asked.json`, `live/machine.json`,
//! `probes/probes.json`, `bmc/<host>.json` and `bmc/differences.json`, as `plimsoll-live` writes them.
//!
//! Each part is one fact, a map, on the entity that it is about. What was not asked for is not there,
//! and then one line says so for the part as a whole.

mod bmc;
mod clock;
mod dns;
mod hardware;
mod machine;
mod mirror;
mod ports;
mod seen;
mod vips;

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashSet;
use plimsoll_install::{Baremetal, File, Host, Judgement, Place};
use plimsoll_model::check::NotChecked;
use plimsoll_model::{EntityId, Evidence, Value, clip, redact};

use super::{Facts, Spot};
use crate::check::Asked;
use seen::Seen;

/// Fact, and the part of `--live` that it comes from.
const FACTS: [(&str, &str); 9] = [
    ("bmc", "bmc"),
    ("dns", "dns"),
    ("inventory", "hardware"),
    ("machine", "host"),
    ("mirror", "mirror"),
    ("ntp", "clock"),
    ("ports", "ports"),
    ("release", "mirror"),
    ("silence", "vip"),
];
const NOT_TOLD: &str = "what was asked does not tell it";

/// What is known of the seeing itself.
#[derive(Default)]
pub struct Live {
    /// Parts.
    asked: BTreeSet<String>,
    /// By fact: entities of which there is something to see.
    applies: BTreeMap<&'static str, HashSet<EntityId>>,
    /// Why it could not be seen all the same.
    why: BTreeMap<(EntityId, &'static str), String>,
    /// By the path of a list of VIPs that nobody wrote: the name that the installer asks for, and the
    /// address that this machine's resolver gives it.
    vips: BTreeMap<&'static str, (String, String)>,
}

impl Live {
    fn applies(&mut self, id: &EntityId, fact: &'static str) {
        self.applies.entry(fact).or_default().insert(id.clone());
    }

    fn is_asked(&self, part: &str) -> bool {
        self.asked.contains(part)
    }

    pub fn vip_of_dns(&self, path: &str) -> Option<&(String, String)> {
        self.vips.get(path)
    }

    /// Why a rule that reads these facts of an entity is unknown.
    pub fn unseen(&self, id: &EntityId, rule: &str, reads: &Reads) -> Unseen {
        let mut unseen = Unseen::InTheFiles;
        for (fact, part) in &reads.0 {
            if !self.applies.get(fact).is_some_and(|all| all.contains(id)) {
                return Unseen::NothingToSee;
            }
            if !self.is_asked(part) {
                return Unseen::NotAsked(part);
            }
            let why = self.why.get(&(id.clone(), *fact)).map_or(NOT_TOLD, String::as_str);
            unseen = Unseen::Told(NotChecked { id: rule.into(), why: clip(&redact(why)) });
        }
        unseen
    }
}

/// Why something is not known.
pub enum Unseen {
    /// The rule reads the files alone.
    InTheFiles,
    NothingToSee,
    /// The part of `--live`.
    NotAsked(&'static str),
    Told(NotChecked),
}

/// What a rule reads of what is seen outside of the files: facts, and the part of each.
pub struct Reads(Vec<(&'static str, &'static str)>);

impl Reads {
    pub fn of(paths: &[&str]) -> Self {
        let is_read = |fact: &str| paths.iter().any(|path| path.split('.').next() == Some(fact));
        Self(FACTS.into_iter().filter(|(fact, _)| is_read(fact)).collect())
    }
}

pub fn extract(judgement: &Judgement, asked: &Asked<'_>, facts: &mut Facts) {
    let seen = Seen::read(asked.seen);
    facts.live.asked = seen.parts.clone();
    dns::extract(judgement, &seen, facts);
    vips::extract(judgement, &seen, facts);
    bmc::extract(judgement, &seen, facts);
    hardware::extract(judgement, &seen, facts);
    clock::extract(judgement, &seen, facts);
    mirror::extract(judgement, &seen, facts);
    ports::extract(judgement, &seen, facts);
    machine::extract(judgement, &seen, facts);
}

fn baremetal(judgement: &Judgement) -> Option<&Baremetal> {
    judgement.config.install.as_ref()?.platform.baremetal.as_ref()
}

/// Hosts with a name, and the path of each in the file.
fn hosts(judgement: &Judgement) -> Vec<(&Host, String)> {
    let hosts = baremetal(judgement).map(|it| it.hosts.as_slice()).unwrap_or_default();
    let named = hosts.iter().enumerate().filter(|(_, host)| !host.name.is_empty());
    named.map(|(index, host)| (host, format!("platform.baremetal.hosts[{index}]"))).collect()
}

impl Facts {
    /// There is something to see of this fact. Findings about it stand here.
    fn looks_at(
        &mut self,
        id: &EntityId,
        fact: &'static str,
        at: (File, &str, Place),
        shown: &str,
    ) {
        self.entity(id);
        self.live.applies(id, fact);
        self.stands_at(id, fact, at, shown);
    }

    fn stands_at(
        &mut self,
        id: &EntityId,
        fact: &str,
        (file, path, at): (File, &str, Place),
        shown: &str,
    ) {
        let spot = Spot {
            file: self.names.get(file.name()).cloned().unwrap_or_default(),
            path: path.into(),
            line: at.line,
            column: at.column,
            value: Some(shown.to_string()).filter(|value| !value.is_empty()),
        };
        self.stand(id, fact, spot);
    }

    fn unseen(&mut self, id: &EntityId, fact: &'static str, why: impl Into<String>) {
        self.live.why.insert((id.clone(), fact), why.into());
    }
}

/// One fact, as it is put together.
struct Told {
    fact: &'static str,
    map: BTreeMap<String, Value>,
    from: BTreeMap<String, Vec<Evidence>>,
}

impl Told {
    fn new(fact: &'static str) -> Self {
        Self { fact, map: BTreeMap::new(), from: BTreeMap::new() }
    }

    fn set(&mut self, key: &str, value: impl Into<Value>, from: Vec<Evidence>) {
        self.map.insert(key.into(), value.into());
        self.from.insert(key.into(), from);
    }

    fn put(self, id: &EntityId, facts: &mut Facts) {
        let entity = facts.entity(id);
        for (key, from) in self.from {
            entity.provenance.insert(format!("{}.{key}", self.fact), from);
        }
        entity.facts.insert(self.fact.into(), Value::Map(self.map));
    }
}

/// Sentences about one thing, each with what shows it.
#[derive(Default)]
struct Sentences {
    texts: Vec<String>,
    from: Vec<Evidence>,
}

impl Sentences {
    fn add(&mut self, text: String, from: Evidence) {
        self.texts.push(clip(&text));
        self.from.push(from);
    }

    fn set(self, told: &mut Told, key: &str) {
        told.set(key, self.texts, self.from);
    }
}
