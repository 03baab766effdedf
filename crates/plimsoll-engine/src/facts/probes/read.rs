//! Files below `probes/`: tolerant of what is new in them, bounded in what is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Evidence, Snapshot, Time, clip};
use serde_json::Value as Json;

const API: &str = "plimsoll.api/v1";
const PROBES: &str = "plimsoll.probes/v1";
const MOST_BYTES: usize = 8 << 20;
const MOST_ATTEMPTS: usize = 100;
/// Of one file. A cluster of 200 nodes is asked some 1500 questions.
const MOST_PROBES: usize = 4000;
const MOST_TEXTS: usize = 100;

/// One way to the API, in the order of trying.
pub struct Attempt {
    pub vantage: String,
    pub server: String,
    /// Why it does not work.
    pub why: Option<String>,
    pub at: Evidence,
}

pub struct Probe {
    /// Of the target: a name, or an address without brackets. The subject of a question to DNS.
    pub host: String,
    pub port: Option<u16>,
    /// Below the port, for HTTP.
    pub path: String,
    /// The name that the server was asked for.
    pub asked: String,
    pub address: Option<IpAddr>,
    pub vantage: String,
    pub time: Option<Time>,
    pub found: Found,
    pub at: Evidence,
}

pub enum Found {
    /// Connected, and no more was asked or came about.
    Open,
    Tls(Tls),
    /// Issuers of the certificates of several handshakes, each once, and whether clients of the cluster
    /// know them.
    Issuers(Vec<(String, bool)>),
    Status(i64),
    Dns {
        resolver: String,
        said: String,
        addresses: Vec<String>,
    },
    /// How far the server is ahead of us.
    Clock {
        seconds: f64,
        within: f64,
    },
    /// (device, MAC) that answer for the address.
    Neighbours(Vec<(String, String)>),
    /// `refused`, `timed-out`, `no-route`, `unresolved`, `lost`, `other`
    Unreached(String),
    Nothing,
}

#[derive(Default)]
pub struct Tls {
    pub ended: Option<String>,
    pub subject: Option<String>,
    pub issuer: Option<String>,
    pub not_before: Option<Time>,
    pub not_after: Option<Time>,
    pub names: Vec<String>,
    /// Bundle and verdict, sorted.
    pub trust: Vec<(String, String)>,
}

impl Probe {
    /// Where, from where, and by what name.
    fn question(&self) -> (&str, Option<u16>, &str, &str, &str) {
        (&self.host, self.port, &self.path, &self.asked, &self.vantage)
    }

    /// From a node of the cluster.
    pub fn is_inside(&self) -> bool {
        self.vantage.starts_with("node/")
    }

    /// How far the way to the port led; nothing of a probe that says nothing of it.
    pub fn reach(&self) -> Option<&str> {
        match &self.found {
            Found::Open | Found::Tls(_) | Found::Status(_) => Some("open"),
            Found::Unreached(why) => Some(why),
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Read {
    pub attempts: Vec<Attempt>,
    pub probes: Vec<Probe>,
}

/// Of an API and of each probe only the newest word: what was seen earlier says how it was then.
pub fn files(snapshot: &Snapshot, problems: &mut Vec<(usize, Gap)>) -> Read {
    let mut read = Read::default();
    for source in snapshot.newest_first() {
        let mut one = Read::default();
        let of_source = (source, String::new())..(source + 1, String::new());
        for ((_, path), bytes) in snapshot.files.range(of_source) {
            let is_ours = |(folder, file): (&str, &str)| {
                folder.rsplit('/').next() == Some("probes") && file.ends_with(".json")
            };
            if !path.rsplit_once('/').is_some_and(is_ours) {
                continue;
            }
            let name = snapshot.sources.get(source).map(|s| s.name.as_str()).unwrap_or_default();
            if let Err(why) = file(name, path, bytes, &mut one) {
                let gap = Gap { status: GapStatus::Unreadable, what: path.clone(), why };
                problems.push((source, gap));
            }
        }
        if read.attempts.is_empty() {
            read.attempts = one.attempts;
        }
        let asked: BTreeSet<_> = read.probes.iter().map(Probe::question).collect();
        one.probes.retain(|probe| !asked.contains(&probe.question()));
        drop(asked);
        read.probes.extend(one.probes);
    }
    read
}

fn file(source: &str, path: &str, bytes: &[u8], read: &mut Read) -> Result<(), String> {
    if bytes.len() > MOST_BYTES {
        return Err(format!("more than {} MiB", MOST_BYTES >> 20));
    }
    let json: Json = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut lines = Lines { rest: std::str::from_utf8(bytes).ok(), line: 1 };
    let mut cite = |key: &str, text: String, time: Option<Time>| Evidence {
        source: source.into(),
        path: path.into(),
        line: lines.of(key),
        pointer: None,
        time,
        text: clip(&text),
    };
    let all = |key: &str| json.get(key).and_then(Json::as_array).map(Vec::as_slice);
    match json.get("schema").and_then(Json::as_str) {
        Some(API) => {
            let attempts = all("attempts").ok_or("it has no attempts")?;
            read.attempts.extend(
                attempts.iter().take(MOST_ATTEMPTS).filter_map(|one| attempt(one, &mut cite)),
            );
        }
        Some(PROBES) => {
            let answers = all("answers").ok_or("it has no answers")?;
            let known = answers.iter().take(MOST_PROBES).filter_map(|one| probe(one, &mut cite));
            read.probes.extend(known);
            if answers.len() > MOST_PROBES {
                return Err(format!("only the first {MOST_PROBES} answers are read"));
            }
        }
        _ => return Err("it has no schema that is known here".into()),
    }
    Ok(())
}

type Cite<'c> = dyn FnMut(&str, String, Option<Time>) -> Evidence + 'c;

fn attempt(json: &Json, cite: &mut Cite<'_>) -> Option<Attempt> {
    let vantage = text(json, "vantage")?;
    let server = text(json, "server").unwrap_or_default();
    let why = text(json, "why");
    let shown = format!("{vantage} to {server}: {}", why.as_deref().unwrap_or("it answers"));
    let at = cite(&vantage, shown, None);
    Some(Attempt { vantage, server, why, at })
}

fn probe(json: &Json, cite: &mut Cite<'_>) -> Option<Probe> {
    let (id, target) = (text(json, "id")?, text(json, "target")?);
    let vantage = text(json, "vantage")?;
    let time = text(json, "time").and_then(|time| time.parse().ok());
    let found = found(json.get("result")?);
    let (authority, path) = match target.split_once("://") {
        Some((_, rest)) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => (target.as_str(), ""),
    };
    let (host, port) = split(authority);
    // `tls/192.0.2.20:22623/api-int.lab.example.com`
    let after = id.split_once(authority).map_or("", |(_, after)| after);
    let asked = after.strip_prefix('/').and_then(|name| name.split('/').next());
    let asked = asked.filter(|name| !name.is_empty() && path.is_empty()).unwrap_or(&host);
    let address = text(json, "address").and_then(|text| text.parse().ok());
    let when = text(json, "time").unwrap_or_default();
    let at = cite(&id, format!("{when} from {vantage}: {id}: {}", said(&found)), time);
    Some(Probe {
        asked: asked.to_string(),
        address: address.or_else(|| host.parse().ok()),
        path: path.to_string(),
        host,
        port,
        vantage,
        time,
        found,
        at,
    })
}

/// A port is there only behind a name or a bracket: an address of IPv6 has none.
fn split(authority: &str) -> (String, Option<u16>) {
    let bare = |host: &str| host.trim_matches(['[', ']']).to_ascii_lowercase();
    if authority.parse::<IpAddr>().is_ok() {
        return (authority.into(), None);
    }
    match authority.rsplit_once(':').map(|(host, port)| (host, port.parse().ok())) {
        Some((host, Some(port))) => (bare(host), Some(port)),
        _ => (bare(authority), None),
    }
}

fn found(result: &Json) -> Found {
    match result.get("is").and_then(Json::as_str).unwrap_or_default() {
        "open" | "no-session" => Found::Open,
        "tls" => Found::Tls(tls(result)),
        "tls-tries" => {
            let mut issuers: BTreeMap<String, bool> = BTreeMap::new();
            for leaf in items(result, "leaves") {
                if let Some(issuer) = text(leaf, "issuer") {
                    *issuers.entry(issuer).or_default() |= is_of_known_issuer(leaf);
                }
            }
            Found::Issuers(issuers.into_iter().collect())
        }
        "http" => match result.get("status").and_then(Json::as_i64) {
            Some(status) => Found::Status(status),
            None => Found::Open,
        },
        "dns" => {
            let said = result.get("said").unwrap_or(&Json::Null);
            Found::Dns {
                resolver: text(result, "resolver").unwrap_or_default(),
                said: tag(said).unwrap_or_else(|| "nonsense".into()),
                addresses: texts(said, "addresses"),
            }
        }
        "clock" => {
            let number = |key| result.get(key).and_then(Json::as_f64).filter(|n| n.is_finite());
            match (number("offset_seconds"), number("within_seconds")) {
                (Some(seconds), Some(within)) => Found::Clock { seconds, within },
                _ => Found::Nothing,
            }
        }
        "neighbours" => {
            let seen = items(result, "seen").iter();
            let pair = |one: &Json| Some((text(one, "device")?, text(one, "mac")?));
            Found::Neighbours(seen.filter_map(pair).collect())
        }
        "unreached" => match result.get("why").and_then(tag) {
            Some(why) => Found::Unreached(why),
            None => Found::Nothing,
        },
        _ => Found::Nothing,
    }
}

/// One that has ended, or is for another name, is signed by whom it says all the same.
fn is_of_known_issuer(leaf: &Json) -> bool {
    let verdicts = leaf.get("trust").and_then(Json::as_object).into_iter().flatten();
    let known = ["trusted", "expired", "not-yet-valid", "wrong-name"];
    verdicts.filter_map(|(_, verdict)| tag(verdict)).any(|verdict| known.contains(&&*verdict))
}

fn tls(result: &Json) -> Tls {
    let leaf = result.get("leaf").unwrap_or(&Json::Null);
    let time = |key| text(leaf, key).and_then(|text| text.parse().ok());
    let verdicts = result.get("trust").and_then(Json::as_object);
    let mut names = texts(leaf, "dns_names");
    names.extend(texts(leaf, "ip_names"));
    Tls {
        ended: result.get("ended").and_then(tag),
        subject: text(leaf, "subject"),
        issuer: text(leaf, "issuer"),
        not_before: time("not_before"),
        not_after: time("not_after"),
        names,
        trust: verdicts
            .into_iter()
            .flatten()
            .take(MOST_TEXTS)
            .filter_map(|(bundle, verdict)| Some((clip(bundle), tag(verdict)?)))
            .collect(),
    }
}

/// What a quotation shows of the answer.
fn said(found: &Found) -> String {
    match found {
        Found::Open => "it takes connections".into(),
        Found::Tls(tls) => {
            let whose = match (&tls.subject, &tls.issuer, &tls.not_after) {
                (Some(subject), Some(issuer), Some(end)) => {
                    format!("certificate of {subject}, issued by {issuer}, ends {end}")
                }
                _ => "no certificate".into(),
            };
            let ended = tls.ended.iter().map(|ended| format!("; no session: {ended}"));
            let trust = tls.trust.iter().map(|(bundle, verdict)| format!("; {bundle}: {verdict}"));
            [whose].into_iter().chain(ended).chain(trust).collect()
        }
        Found::Issuers(issuers) => {
            let names: Vec<&str> = issuers.iter().map(|(issuer, _)| issuer.as_str()).collect();
            format!("certificates issued by {}", names.join(" and by "))
        }
        Found::Status(status) => format!("HTTP {status}"),
        Found::Dns { resolver, said, addresses } if addresses.is_empty() => {
            format!("{resolver} says {said}")
        }
        Found::Dns { resolver, addresses, .. } => {
            format!("{resolver} says {}", addresses.join(", "))
        }
        Found::Clock { seconds, within } => format!("ahead by {seconds} s, within {within} s"),
        Found::Neighbours(seen) => {
            let shown: Vec<String> =
                seen.iter().map(|(device, mac)| format!("{mac} on {device}")).collect();
            format!("seen at {}", shown.join(", "))
        }
        Found::Unreached(why) => why.clone(),
        Found::Nothing => "nothing".into(),
    }
}

/// A word by itself, or the only key of a map.
fn tag(json: &Json) -> Option<String> {
    let word = match json {
        Json::String(word) => word,
        Json::Object(map) => map.keys().next()?,
        _ => return None,
    };
    Some(clip(word))
}

fn text(json: &Json, key: &str) -> Option<String> {
    json.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(clip)
}

fn texts(json: &Json, key: &str) -> Vec<String> {
    items(json, key).iter().take(MOST_TEXTS).filter_map(Json::as_str).map(clip).collect()
}

fn items<'j>(json: &'j Json, key: &str) -> &'j [Json] {
    json.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Lines of what stands one after the other in a file.
struct Lines<'b> {
    /// Nothing once one was not found: looking on would read the file again for each.
    rest: Option<&'b str>,
    line: u64,
}

impl Lines<'_> {
    fn of(&mut self, text: &str) -> Option<u64> {
        let quoted = format!("\"{text}\"");
        let (before, after) = self.rest.take()?.split_once(&quoted)?;
        self.rest = Some(after);
        self.line += before.bytes().fold(0, |lines, byte| lines + u64::from(byte == b'\n'));
        Some(self.line)
    }
}
