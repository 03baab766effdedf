//! A config as facts: entities of it, what is known of each, and where that stands in the user's files.
//! Facts never judge.

mod addresses;
mod assets;
mod bmc;
mod cluster;
mod hosts;
mod keys;
mod live;
mod names;
mod networks;
mod nmstate;
mod policy;
mod registries;
mod trust;
mod unread;
mod unreadable;
mod vips;
mod wires;

use std::collections::BTreeMap;

use hashbrown::HashMap;
use plimsoll_install::{File, Judgement, Place, Placed, Refusal};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Value, clip, redact};

use super::Asked;
pub use assets::AGE;
pub use live::{Reads, Unseen};

/// A place in a file of the user, and what stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    pub file: String,
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub value: Option<String>,
}

pub struct Facts {
    pub base: FactBase,
    /// Until all of `base` is known: a host has a hundred facts, and each has to find it.
    entities: HashMap<EntityId, Entity>,
    /// By entity and fact.
    spots: HashMap<EntityId, BTreeMap<String, Spot>>,
    texts: BTreeMap<&'static str, Lines>,
    names: BTreeMap<&'static str, String>,
    /// The first key of a line that no field has.
    unknown: BTreeMap<(&'static str, u32), String>,
    /// Hosts of each file, in the order in which the installer counts them.
    install_hosts: Vec<EntityId>,
    agent_hosts: Vec<EntityId>,
    cluster: String,
    pub live: live::Live,
}

/// One of several things that make a fact: what is said of it, and where it stands.
pub struct Found {
    pub said: String,
    pub file: File,
    pub path: String,
    pub at: Place,
    pub value: Option<String>,
}

/// A text and where its lines begin.
struct Lines {
    text: String,
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(starts).collect(), text: text.into() }
    }

    /// Lines count from 1.
    fn get(&self, line: u32) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).map(|line| line.trim_end_matches(['\n', '\r']))
    }
}

/// Keys whose value is not shown, whatever it is.
const SECRETS: [&str; 3] = ["password", "pullsecret", "sshkey"];

/// Keys of mappings and texts that people write a password into when they take them for something else.
const NEAR_SECRETS: [(&str, &[char]); 2] = [("bmc:", &['{', '&', '*', '#']), ("username:", &[])];

/// Of a name in the DNS.
const LONGEST_NAME: usize = 253;

/// A value goes on for as long as its lines are deeper than its key.
const MOST_LINES_OF_A_VALUE: u32 = 500;

impl Lines {
    /// What may be shown of a line: nothing behind a key for a secret, and nothing of what stands below one.
    fn without_secrets(&self, line: u32) -> &str {
        let Some(text) = self.get(line) else { return "" };
        let depth = |text: &str| text.len() - text.trim_start().len();
        let is_item = text.trim_start().starts_with("- ");
        let own = depth(text);
        let is_above = |above: &&str| {
            let is_list_of = is_item && depth(above) == own && !above.trim_start().starts_with('-');
            !above.trim().is_empty() && (depth(above) < own || is_list_of)
        };
        let before = (line.saturating_sub(MOST_LINES_OF_A_VALUE)..line).rev();
        let above = before.filter_map(|number| self.get(number)).find(is_above);
        let is_below = above.is_some_and(|above| {
            end_of_secret_key(above).is_some() || (is_item && end_of_near_secret(above).is_some())
        });
        let end = end_of_secret_key(text).or_else(|| end_of_misplaced(text));
        match end {
            None if is_below => "",
            end => text[..end.unwrap_or(text.len())].trim(),
        }
    }
}

/// Whether a text can be the name of an entity: one line, and nothing of a secret in it.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.chars().any(char::is_control)
        && redact(name) == name
}

/// Where the key ends, with its colon.
fn end_of_secret_key(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let ends = SECRETS.iter().filter_map(|key| {
        let end = lower.find(key)? + key.len();
        let behind = lower[end..].trim_start_matches(['"', '\'']).trim_start();
        behind.starts_with(':').then(|| lower.len() - behind.len() + 1)
    });
    ends.min()
}

/// Where a key ends whose value is not of its type: a list in place of a name, anything in place of a BMC.
fn end_of_misplaced(text: &str) -> Option<usize> {
    let (end, fits) = end_of_near_secret(text)?;
    let value = text[end..].trim_start();
    let is_scalar_there = !fits.is_empty() && !value.starts_with(fits);
    (value.starts_with('[') || (is_scalar_there && !value.is_empty())).then_some(end)
}

/// Where the key ends, and what its value may begin with; nothing where any text may stand.
fn end_of_near_secret(text: &str) -> Option<(usize, &'static [char])> {
    let bare = text.trim_start_matches([' ', '-']);
    let start = text.len() - bare.len();
    let found = NEAR_SECRETS
        .iter()
        .find(|(key, _)| bare.get(..key.len()).is_some_and(|own| own.eq_ignore_ascii_case(key)));
    found.map(|(key, fits)| (start + key.len(), *fits))
}

/// Of a list in a sentence.
const MOST_SHOWN: usize = 6;

/// A thousand hosts with one fault fit no sentence.
fn shortened(mut said: Vec<String>) -> Vec<String> {
    let more = said.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        said.truncate(MOST_SHOWN);
        said.push(format!("{more} more"));
    }
    said
}

/// Nearly always it is there: a host has a hundred facts, and none of them needs its name again.
fn with<V: Default>(map: &mut HashMap<EntityId, V>, id: &EntityId, act: impl FnOnce(&mut V)) {
    match map.get_mut(id) {
        Some(value) => act(value),
        None => act(map.entry(id.clone()).or_default()),
    }
}

pub fn extract(judgement: &Judgement, asked: &Asked<'_>) -> Facts {
    let mut facts = Facts::new(judgement, asked);
    let hosts = hosts::read(judgement, asked.method, &mut facts);
    let nets = addresses::Nets::of(judgement);
    cluster::extract(judgement, asked, &nets, &hosts, &mut facts);
    assets::extract(asked, &mut facts);
    if let Some(config) = &judgement.config.install {
        networks::extract(config, &nets, &hosts, &mut facts);
        registries::extract(config, &nets, &mut facts);
        trust::extract(config, asked.seen.now, &mut facts);
        vips::extract(config, judgement, &nets, &hosts, &mut facts);
    }
    names::extract(&hosts, asked.method, &mut facts);
    let baremetal = judgement.config.install.as_ref().and_then(|it| it.platform.baremetal.as_ref());
    let port = baremetal.map(|baremetal| baremetal.provisioning_interface.value.as_str());
    wires::extract(&hosts, &nets, asked.method, port, &mut facts);
    unreadable::extract(&hosts, &mut facts);
    keys::extract(&hosts, &mut facts);
    bmc::extract(&hosts, &mut facts);
    policy::extract(judgement.config.install.as_ref(), &hosts, &nets, &mut facts);
    live::extract(judgement, asked, &mut facts);
    unread::forget(&judgement.unread, &mut facts);
    facts.base.entities = facts.entities.drain().collect();
    facts
}

impl Facts {
    fn new(judgement: &Judgement, asked: &Asked<'_>) -> Self {
        let name = judgement.config.install.as_ref().map(|config| config.name.value.clone());
        let mut facts = Self {
            base: FactBase { now: asked.seen.now, ..FactBase::default() },
            entities: HashMap::new(),
            spots: HashMap::new(),
            texts: BTreeMap::new(),
            names: BTreeMap::new(),
            unknown: BTreeMap::new(),
            install_hosts: Vec::new(),
            agent_hosts: Vec::new(),
            cluster: name.filter(|name| is_plain(name)).unwrap_or_else(|| "cluster".into()),
            live: live::Live::default(),
        };
        for (file, unknown) in &judgement.config.unknown_keys {
            let line = (file.name(), unknown.place.line);
            facts.unknown.entry(line).or_insert_with(|| unknown.key.clone());
        }
        for (file, given) in [(File::Install, asked.install), (File::Agent, asked.agent)] {
            if let Some(given) = given {
                facts.texts.insert(file.name(), Lines::of(given.text));
                facts.names.insert(file.name(), given.name.into());
            }
        }
        facts
    }

    /// The config as a whole.
    pub fn config(&self) -> EntityId {
        EntityId::cluster_scoped("InstallConfig", &self.cluster)
    }

    pub fn host(&self, name: &str) -> EntityId {
        EntityId::cluster_scoped("InstallHost", name)
    }

    /// The host that a path is about, else the config.
    pub fn entity_at(&self, file: File, path: &str) -> EntityId {
        let lower = path.to_ascii_lowercase();
        let index = lower.split_once("hosts[").and_then(|(_, rest)| rest.split_once(']'));
        let host = index.and_then(|(number, _)| number.parse::<usize>().ok());
        let hosts = match file {
            File::Install => &self.install_hosts,
            File::Agent => &self.agent_hosts,
        };
        host.and_then(|host| hosts.get(host)).cloned().unwrap_or_else(|| self.config())
    }

    /// The name and the address that the installer finds in the DNS in place of a VIP that is missing.
    pub fn vip_of_dns(&self, refusal: &Refusal) -> Option<&(String, String)> {
        let missing = refusal.rule == "vip-missing";
        self.live.vip_of_dns(&refusal.path).filter(|_| missing)
    }

    /// Without what may be a secret.
    pub fn line_of(&self, file: File, line: u32) -> String {
        let Some(lines) = self.texts.get(file.name()) else { return String::new() };
        let text = lines.without_secrets(line);
        let text = match self.unknown.get(&(file.name(), line)) {
            // What stands behind a misspelt `password` is one.
            Some(key) => text.find(key.as_str()).map_or("", |at| &text[..at + key.len()]),
            None => text,
        };
        if text.contains("auths") { String::new() } else { clip(&redact(text)) }
    }

    /// From here on nothing behind this key is shown.
    fn hide(&mut self, file: File, line: u32, key: &str) {
        self.unknown.entry((file.name(), line)).or_insert_with(|| key.to_string());
    }

    pub fn spot(&self, id: &EntityId, fact: Option<&str>) -> Option<&Spot> {
        let spots = self.spots.get(id)?;
        fact.and_then(|fact| spots.get(fact)).or_else(|| spots.get("name"))
    }

    /// What is said of an entity by a fact that is a list.
    pub fn said(&self, id: &EntityId, fact: &str) -> impl Iterator<Item = &str> {
        let value = self.base.entities.get(id).and_then(|entity| entity.facts.get(fact));
        let all = match value {
            Some(Value::List(all)) => all.as_slice(),
            _ => &[],
        };
        all.iter().filter_map(|one| match one {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn why_unknown(&self, what: &str) -> String {
        format!("not known: {what}")
    }

    fn entity(&mut self, id: &EntityId) -> &mut Entity {
        self.entities.entry(id.clone()).or_default()
    }

    fn stand(&mut self, id: &EntityId, fact: &str, spot: Spot) {
        with(&mut self.spots, id, |spots| drop(spots.insert(fact.into(), spot)));
    }

    /// A fact with its place.
    #[expect(clippy::too_many_arguments, reason = "a value, and all that is shown of its place")]
    fn set(
        &mut self,
        id: &EntityId,
        fact: &str,
        value: impl Into<Value>,
        file: File,
        path: &str,
        at: Place,
        shown: Option<String>,
    ) {
        let evidence = self.evidence(file, at);
        let spot = Spot {
            file: evidence.path.clone(),
            path: path.into(),
            line: at.line,
            column: at.column,
            value: shown,
        };
        with(&mut self.entities, id, |entity| entity.set(fact, value, evidence));
        self.stand(id, fact, spot);
    }

    /// Without its text, which few of a thousand hosts ever need: see `quote`.
    fn evidence(&self, file: File, at: Place) -> Evidence {
        let name = self.names.get(file.name()).cloned().unwrap_or_default();
        Evidence {
            source: name.clone(),
            path: name,
            line: Some(at.line.into()),
            pointer: None,
            time: None,
            text: String::new(),
        }
    }

    /// What the file says in the lines that a proof names.
    pub fn quote(&self, proofs: &mut [Evidence]) {
        for proof in proofs.iter_mut().filter(|proof| proof.text.is_empty()) {
            let is_it = |file: &File| self.names.get(file.name()) == Some(&proof.path);
            let line = proof.line.and_then(|line| u32::try_from(line).ok());
            if let (Some(file), Some(line)) =
                ([File::Install, File::Agent].iter().find(|file| is_it(file)), line)
            {
                proof.text = self.line_of(*file, line);
            }
        }
    }

    fn minor(&self) -> i64 {
        let cluster = self.entities.get(&EntityId::cluster());
        match cluster.and_then(|cluster| cluster.facts.get("minor")) {
            Some(Value::Int(minor)) => *minor,
            _ => 0,
        }
    }

    /// A fact that nobody wrote down at one place.
    fn known(&mut self, id: &EntityId, fact: &str, value: impl Into<Value>) {
        with(&mut self.entities, id, |entity| {
            entity.facts.insert(fact.into(), value.into());
        });
    }

    /// A list of what was found, which stands where its first item does.
    fn found(&mut self, id: &EntityId, fact: &str, found: Vec<Found>) {
        let Some(first) = found.first() else {
            return self.known(id, fact, Vec::<String>::new());
        };
        let spot = Spot {
            file: self.names.get(first.file.name()).cloned().unwrap_or_default(),
            path: first.path.clone(),
            line: first.at.line,
            column: first.at.column,
            value: first.value.clone(),
        };
        let proofs = found.iter().take(MOST_SHOWN).map(|one| self.evidence(one.file, one.at));
        let proofs: Vec<Evidence> = proofs.collect();
        let said: Vec<String> = shortened(found.into_iter().map(|one| one.said).collect());
        with(&mut self.entities, id, |entity| entity.derive(fact, said, proofs));
        self.stand(id, fact, spot);
    }

    fn text(&mut self, id: &EntityId, fact: &str, value: &Placed<String>, file: File, path: &str) {
        let shown = Some(value.value.clone()).filter(|value| !value.is_empty());
        self.set(id, fact, value.value.clone(), file, path, value.place, shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_shows_what_stands_behind_or_below_a_key_for_a_secret() {
        for (text, line, shown) in [
            ("a:\n  bmc: {user: a, password: one two}\n", 2, "bmc: {user: a, password:"),
            ("bmc:\n  password:\n  - SECRET\n", 3, ""),
            ("bmc:\n  password: |\n\n    SECRET\n", 4, ""),
            ("bmc:\n  password: x\n  address: y\n", 3, "address: y"),
            ("pullSecret: !!binary SECRET\n", 1, "pullSecret:"),
            ("'sshKey' : [SECRET]\n", 1, "'sshKey' :"),
            ("hosts:\n- name: a\n- name: b\n", 3, "- name: b"),
            ("  bmc: [SECRET]\n", 1, "bmc:"),
            ("  bmc:\n  - SECRET\n", 2, ""),
            ("  bmc: SECRET\n", 1, "bmc:"),
            ("  bmc: &first\n    address: y\n", 1, "bmc: &first"),
            ("  - username: [SECRET]\n", 1, "- username:"),
            ("    username: root\n", 1, "username: root"),
        ] {
            assert_eq!(Lines::of(text).without_secrets(line), shown, "{text:?}");
        }
    }
}
