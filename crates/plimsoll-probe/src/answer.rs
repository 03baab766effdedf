//! What a probe found: evidence with target, vantage and time. Nothing in it depends on how fast the
//! machine was, and nothing in it is secret.

use std::net::{IpAddr, SocketAddr};

use plimsoll_model::Time;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, NoClock};
use crate::dns::Said;
use crate::http::Http;
use crate::neighbour::Neighbours;
use crate::reach::Reach;
use crate::registry::Registry;
use crate::silence::Silence;
use crate::tls::{Ended, Tls, TlsTries};

pub const SCHEMA: &str = "plimsoll.probes/v1";

/// A file of answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema: String,
    pub answers: Vec<Answer>,
}

impl Record {
    pub fn new(answers: Vec<Answer>) -> Self {
        Self { schema: SCHEMA.into(), answers }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// `tls/api-int.lab.example.com:6443`
    pub id: String,
    pub kind: Kind,
    /// As asked for.
    pub target: String,
    /// The one that was used, where one was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// From where: `workstation`, `node/master-0`.
    pub vantage: String,
    /// When it started, by the caller's clock.
    pub time: Time,
    pub result: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Dns,
    Http,
    HttpDate,
    Neighbour,
    Ntp,
    Registry,
    Silent,
    Tcp,
    Tls,
    TlsTries,
}

impl Kind {
    /// As in an id.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Dns => "dns",
            Kind::Http => "http",
            Kind::HttpDate => "http-date",
            Kind::Neighbour => "neighbour",
            Kind::Ntp => "ntp",
            Kind::Registry => "registry",
            Kind::Silent => "silent",
            Kind::Tcp => "tcp",
            Kind::Tls => "tls",
            Kind::TlsTries => "tls-tries",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// A TCP port that takes connections.
    Open,
    Tls(Box<Tls>),
    TlsTries(TlsTries),
    Http(Http),
    Dns {
        resolver: SocketAddr,
        said: Said,
    },
    Clock(Clock),
    /// There was an answer, and no time in it.
    NoClock {
        why: NoClock,
    },
    Neighbours(Neighbours),
    Registry(Box<Registry>),
    Silence(Silence),
    /// A request could not be sent, because no TLS session came about.
    NoSession {
        ended: Ended,
    },
    Unreached {
        why: Reach,
    },
    /// The time for all probes was over.
    NotDone,
}

impl From<Reach> for Outcome {
    fn from(why: Reach) -> Self {
        Outcome::Unreached { why }
    }
}
