//! Probes of a cluster from its outside: names, ports, certificates, health, clocks, addresses.
//!
//! A probe measures and judges nothing. Its answer is evidence, with target, vantage and time, and
//! without a secret. All that comes from the network is bounded in bytes and time, and whatever goes
//! wrong out there is a value of the answer. What it names is not followed, but for what a registry
//! cannot be asked without (see [`registry`]).

mod answer;
mod body;
mod certificate;
mod clock;
mod connect;
mod dns;
mod handshake;
mod http;
mod names;
mod neighbour;
mod ntp;
mod ports;
mod reach;
pub mod registry;
mod run;
mod silence;
mod target;
mod tls;
mod trust;
mod wire;

use std::net::IpAddr;
use std::time::Duration;

use plimsoll_model::Time;
use tokio::time::Instant;

pub use crate::http::{Headers, Http, HttpProbe, IGNITION};
pub use answer::{Answer, Kind, Outcome, Record, SCHEMA};
pub use body::Body;
pub use certificate::Certificate;
pub use clock::{Clock, NoClock, NtpProbe};
pub use dns::{DnsProbe, Question, Resolver, Said};
pub use names::{ClusterName, NameOf, Node, cluster_names};
pub use neighbour::{NeighbourProbe, Neighbours, Seen};
pub use ports::{MATRIX, Party, Phase, Port, Protocol, ports};
pub use reach::Reach;
pub use registry::RegistryProbe;
pub use run::{Patience, Plan, run};
pub use silence::{Echo, Neighbour, PORTS, PortSaid, PortTried, Silence, SilentProbe, Way, way};
pub use target::{NoTarget, Target};
pub use tls::{Ended, LeafSeen, NoLeaf, Tls, TlsProbe, TlsTries, TlsTriesProbe, Without};
pub use trust::{Bundle, Trust, trust};

/// Readers of bytes that somebody else wrote, for fuzzing and for evidence that came another way.
pub mod read {
    pub use crate::body::read as body;
    pub use crate::certificate::read as certificate;
    pub use crate::clock::by_date as date;
    pub use crate::dns::{Read as DnsRead, read as dns};
    pub use crate::neighbour::{Entry, from_ip as ip_neigh, from_proc as proc_arp};
    pub use crate::ntp::{Reply as NtpReply, Stamp, read as ntp};
    pub use crate::registry::challenge::{Challenge, read as challenge};
    pub use crate::registry::manifest::{Descriptor, Manifest, read as manifest, release_label};
    pub use crate::registry::release::{Release, in_layer as image_references, read as release};
    pub use crate::silence::route as ip_route;
}

#[derive(Clone, Debug)]
pub enum Probe {
    Dns(DnsProbe),
    Http(HttpProbe),
    /// The clock of a server of HTTP, where none of NTP can be asked.
    HttpDate(HttpProbe),
    Neighbour(NeighbourProbe),
    Ntp(NtpProbe),
    Registry(Box<RegistryProbe>),
    Silent(SilentProbe),
    Tcp(Target),
    Tls(TlsProbe),
    TlsTries(TlsTriesProbe),
}

impl Probe {
    pub fn kind(&self) -> Kind {
        match self {
            Probe::Dns(_) => Kind::Dns,
            Probe::Http(_) => Kind::Http,
            Probe::HttpDate(_) => Kind::HttpDate,
            Probe::Neighbour(_) => Kind::Neighbour,
            Probe::Ntp(_) => Kind::Ntp,
            Probe::Registry(_) => Kind::Registry,
            Probe::Silent(_) => Kind::Silent,
            Probe::Tcp(_) => Kind::Tcp,
            Probe::Tls(_) => Kind::Tls,
            Probe::TlsTries(_) => Kind::TlsTries,
        }
    }

    /// As asked for, without what may be secret.
    pub fn target(&self) -> String {
        match self {
            Probe::Dns(dns) => dns.question.subject(),
            Probe::Http(http) | Probe::HttpDate(http) => {
                let scheme = if http.tls { "https" } else { "http" };
                format!("{scheme}://{}{}", http.target, http.shown_path())
            }
            Probe::Neighbour(neighbour) => neighbour.address.to_string(),
            Probe::Ntp(ntp) => ntp.target.to_string(),
            Probe::Registry(registry) => registry.image.to_string(),
            Probe::Silent(silence) => silence.address.to_string(),
            Probe::Tcp(target) => target.to_string(),
            Probe::Tls(tls) => tls.target.to_string(),
            Probe::TlsTries(tries) => tries.target.to_string(),
        }
    }

    /// `tls/api-int.lab.example.com:6443`, the same in every run.
    pub fn id(&self) -> String {
        let kind = self.kind().name();
        let under = |name: &Option<String>| {
            name.as_ref().map(|name| format!("/{name}")).unwrap_or_default()
        };
        match self {
            Probe::Dns(DnsProbe { question, resolver }) => {
                let resolver = match resolver {
                    Resolver::System => "system".into(),
                    Resolver::At(address) => address.to_string(),
                };
                format!("{kind}/{}/{}/{resolver}", question.subject(), question.kind_name())
            }
            Probe::Http(http) | Probe::HttpDate(http) => {
                let kind = if kind == "http" && http.tls { "https" } else { kind };
                format!("{kind}/{}{}{}", http.target, under(&http.name), http.shown_path())
            }
            Probe::Tls(tls) => format!("{kind}/{}{}", tls.target, under(&tls.name)),
            Probe::TlsTries(tries) => format!("{kind}/{}{}", tries.target, under(&tries.name)),
            Probe::Neighbour(_)
            | Probe::Ntp(_)
            | Probe::Registry(_)
            | Probe::Silent(_)
            | Probe::Tcp(_) => {
                format!("{kind}/{}", self.target())
            }
        }
    }

    /// The address that was used, and what came of it. `now` is what certificates and clocks are
    /// held against.
    async fn ask(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        match self {
            Probe::Dns(dns) => dns.ask(limit).await,
            Probe::Http(http) => http.ask(limit).await,
            Probe::HttpDate(http) => http.ask_date(limit, now).await,
            Probe::Neighbour(neighbour) => neighbour.ask(limit).await,
            Probe::Ntp(ntp) => ntp.ask(limit, now).await,
            Probe::Registry(registry) => registry.ask(limit, now).await,
            Probe::Silent(silence) => silence.ask(limit).await,
            Probe::Tcp(target) => match connect::connect(target, Instant::now() + limit).await {
                Ok(connected) => (Some(connected.address), Outcome::Open),
                Err(failed) => (failed.address, failed.why.into()),
            },
            Probe::Tls(tls) => tls.ask(limit, now).await,
            Probe::TlsTries(tries) => tries.ask(limit, now).await,
        }
    }
}
