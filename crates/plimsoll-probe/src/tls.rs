//! The certificate that a server shows, and who would trust it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::Time;
use rustls::ProtocolVersion;
use rustls::pki_types::{CertificateDer, ServerName};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
use tokio_rustls::rustls;

use crate::answer::Outcome;
use crate::certificate::{self, Certificate};
use crate::connect::{addresses, connect, connect_to};
use crate::handshake::{Handshake, server_name, shake};
use crate::reach::Reach;
use crate::target::Target;
use crate::trust::{Bundle, Trust, trust};

pub use crate::handshake::Ended;

const CERTIFICATES: usize = 10;
const CHAIN_BYTES: usize = 64 << 10;
const MOST_TRIES: u32 = 20;

#[derive(Clone, Debug)]
pub struct TlsProbe {
    pub target: Target,
    /// Asked for by SNI and verified, where it is not the host of the target.
    pub name: Option<String>,
    pub bundles: Arc<[Bundle]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// `1.3`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Why no session came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf: Option<Certificate>,
    /// By the name of the bundle.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trust: BTreeMap<String, Trust>,
    /// As PEM, the server's own first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// Sent, but too many or too large to be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl TlsProbe {
    pub async fn ask(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        let deadline = Instant::now() + limit;
        let name = match server_name(self.name.as_deref().unwrap_or(&self.target.host)) {
            Ok(name) => name,
            Err(why) => return (None, why.into()),
        };
        let connected = match connect(&self.target, deadline).await {
            Ok(connected) => connected,
            Err(failed) => return (failed.address, failed.why.into()),
        };
        let shaken = shake(connected.stream, name.clone(), deadline).await;
        let tls = Tls::of(&shaken, &name, &self.bundles, now);
        (Some(connected.address), Outcome::Tls(Box::new(tls)))
    }
}

impl Tls {
    pub(crate) fn of(
        shaken: &Handshake,
        name: &ServerName<'_>,
        bundles: &[Bundle],
        now: Time,
    ) -> Self {
        let (version, ended) = match &shaken.session {
            Ok(session) => (session.get_ref().1.protocol_version().and_then(version), None),
            Err(ended) => (None, Some(ended.clone())),
        };
        let kept = kept(&shaken.chain);
        Tls {
            version,
            ended,
            leaf: shaken.chain.first().and_then(|leaf| certificate::read(leaf)),
            trust: verdicts(bundles, shaken, name, now),
            chain: kept.iter().map(|der| certificate::pem(der)).collect(),
            left_out: shaken.chain.len() - kept.len(),
        }
    }
}

fn verdicts(
    bundles: &[Bundle],
    shaken: &Handshake,
    name: &ServerName<'_>,
    now: Time,
) -> BTreeMap<String, Trust> {
    let shown = bundles.iter().filter(|_| !shaken.chain.is_empty());
    let verdict = |bundle: &Bundle| trust(bundle, &shaken.chain, name, now);
    shown.map(|one| (one.name.clone(), verdict(one))).collect()
}

fn version(version: ProtocolVersion) -> Option<String> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("1.2".into()),
        ProtocolVersion::TLSv1_3 => Some("1.3".into()),
        _ => None,
    }
}

fn kept<'c, 'd>(chain: &'c [CertificateDer<'d>]) -> &'c [CertificateDer<'d>] {
    let mut bytes = 0;
    let fits = |der: &&CertificateDer<'_>| {
        bytes += der.len();
        bytes <= CHAIN_BYTES
    };
    &chain[..chain.iter().take(CERTIFICATES).take_while(fits).count()]
}

/// Several handshakes with one address. Two machines that share it show two certificates.
#[derive(Clone, Debug)]
pub struct TlsTriesProbe {
    pub target: Target,
    pub name: Option<String>,
    pub tries: u32,
    pub pause: Duration,
    pub bundles: Arc<[Bundle]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsTries {
    pub tries: u32,
    /// Sorted by fingerprint.
    pub leaves: Vec<LeafSeen>,
    /// Tries that showed no certificate, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<Without>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeafSeen {
    pub sha256: String,
    pub subject: String,
    pub issuer: String,
    pub count: u32,
    /// By the name of the bundle.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trust: BTreeMap<String, Trust>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Without {
    pub why: NoLeaf,
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoLeaf {
    Unreached(Reach),
    Ended(Ended),
    Unreadable,
}

impl TlsTries {
    pub fn issuers(&self) -> BTreeMap<&str, u32> {
        let mut issuers = BTreeMap::new();
        for leaf in &self.leaves {
            *issuers.entry(leaf.issuer.as_str()).or_default() += leaf.count;
        }
        issuers
    }
}

impl TlsTriesProbe {
    /// `limit` is for each of the tries.
    pub async fn ask(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        let name = match server_name(self.name.as_deref().unwrap_or(&self.target.host)) {
            Ok(name) => name,
            Err(why) => return (None, why.into()),
        };
        // A name with several addresses has several machines by right: one of them is asked.
        let address = match addresses(&self.target, Instant::now() + limit).await {
            Ok(found) => found[0],
            Err(why) => return (None, why.into()),
        };
        let mut leaves: BTreeMap<String, LeafSeen> = BTreeMap::new();
        let mut without: BTreeMap<NoLeaf, u32> = BTreeMap::new();
        let tries = self.tries.clamp(1, MOST_TRIES);
        for number in 0..tries {
            if number > 0 {
                sleep(self.pause).await;
            }
            let deadline = Instant::now() + limit;
            let leaf = match connect_to(address, limit).await {
                Ok(stream) => {
                    let shaken = shake(stream, name.clone(), deadline).await;
                    let trust = verdicts(&self.bundles, &shaken, &name, now);
                    leaf(shaken).map(|leaf| (leaf, trust))
                }
                Err(why) => Err(NoLeaf::Unreached(why)),
            };
            match leaf {
                Ok((Certificate { sha256, subject, issuer, .. }, trust)) => {
                    let key = sha256.clone();
                    let fresh = LeafSeen { sha256, subject, issuer, count: 0, trust };
                    leaves.entry(key).or_insert(fresh).count += 1;
                }
                Err(why) => *without.entry(why).or_default() += 1,
            }
        }
        let without = without.into_iter().map(|(why, count)| Without { why, count }).collect();
        let seen = TlsTries { tries, leaves: leaves.into_values().collect(), without };
        (Some(address.ip()), Outcome::TlsTries(seen))
    }
}

fn leaf(shaken: Handshake) -> Result<Certificate, NoLeaf> {
    match (shaken.chain.first(), shaken.session) {
        (Some(leaf), _) => certificate::read(leaf).ok_or(NoLeaf::Unreadable),
        (None, Err(ended)) => Err(NoLeaf::Ended(ended)),
        (None, Ok(_)) => Err(NoLeaf::Unreadable),
    }
}
