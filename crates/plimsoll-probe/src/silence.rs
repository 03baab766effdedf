//! Whether anybody answers for an address that should still be free, such as a VIP before the
//! installation: on the link, by a port, by an echo.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::answer::Outcome;
use crate::connect::connect_to;
use crate::neighbour::{Entry, ip, table, tool};
use crate::reach::{Reach, shown};

/// Of machines, of load balancers, of another cluster.
pub const PORTS: [u16; 4] = [22, 80, 443, 6443];
/// What the kernel knew of before, it asks again only after a while: five seconds, and three tries
/// of one each.
const SURE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(250);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SilentProbe {
    /// Ten seconds are enough for the kernel to ask again whom it only remembers.
    pub address: IpAddr,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    pub way: Way,
    /// Who answers for it on the link. Sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// Sorted.
    pub ports: Vec<PortTried>,
    pub echo: Echo,
}

/// How this machine would reach the address. Only on the link does silence prove much: who uses an
/// address there has to say so to whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It is one of this machine's own.
    Own,
    Link(String),
    /// A firewall on the way can make anybody silent.
    Router(IpAddr),
    Nowhere,
    /// The table of routes cannot be read.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Neighbour {
    pub device: String,
    pub mac: String,
    /// `REACHABLE` was heard just now. `STALE`, `DELAY` and `PROBE` were heard once, and not again
    /// in the time that there was; `PERMANENT` was written by somebody.
    pub state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PortTried {
    pub port: u16,
    pub said: PortSaid,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortSaid {
    Open,
    /// Somebody is there to say so.
    Refused,
    /// Nobody is heard. A machine on the way, or this one, may have said that there is no route.
    Nothing(Reach),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Echo {
    Answered,
    Nothing,
    /// There is no `ping`, or it may not do that here.
    NotPossible,
}

impl Silence {
    /// Anybody, by any of the ways. An old entry of the kernel alone is nobody.
    pub fn heard(&self) -> bool {
        self.way == Way::Own
            || self.echo == Echo::Answered
            || self.ports.iter().any(|tried| !matches!(tried.said, PortSaid::Nothing(_)))
            || self.neighbours.iter().any(Neighbour::is_sure)
    }
}

impl Neighbour {
    fn is_sure(&self) -> bool {
        // The second is what the file has, where there is no tool to ask.
        matches!(self.state.as_str(), "REACHABLE" | "COMPLETE")
    }

    fn is_unsure(&self) -> bool {
        matches!(self.state.as_str(), "STALE" | "DELAY" | "PROBE")
    }
}

impl SilentProbe {
    pub async fn ask(&self, limit: Duration) -> (Option<IpAddr>, Outcome) {
        let address = self.address;
        let deadline = Instant::now() + limit;
        let try_port = async |port| {
            let said = match connect_to(SocketAddr::new(address, port), limit).await {
                Ok(_) => PortSaid::Open,
                Err(Reach::Refused) => PortSaid::Refused,
                Err(why) => PortSaid::Nothing(why),
            };
            PortTried { port, said }
        };
        let tries = join_all(PORTS.into_iter().map(try_port));
        let (way, ports, echo) = futures::join!(way(address), tries, echo(address, limit));
        let neighbours = neighbours(address, deadline).await;
        let silence = Silence { way, neighbours, ports, echo };
        (Some(address), Outcome::Silence(silence))
    }
}

/// Waits until the kernel knows for sure what it only remembers.
async fn neighbours(address: IpAddr, deadline: Instant) -> Vec<Neighbour> {
    let until = deadline.min(Instant::now() + SURE);
    loop {
        let of = |Entry { device, mac, state }| Neighbour { device, mac, state };
        let mut seen: Vec<Neighbour> =
            table(address).await.unwrap_or_default().into_iter().map(of).collect();
        seen.sort();
        if !seen.iter().any(Neighbour::is_unsure) || Instant::now() + PAUSE >= until {
            return seen;
        }
        sleep(PAUSE).await;
    }
}

async fn echo(address: IpAddr, limit: Duration) -> Echo {
    let wait = limit.as_secs().clamp(1, 2).to_string();
    let arguments = ["-n", "-q", "-c", "2", "-i", "0.3", "-W", &wait, &address.to_string()];
    match tool("ping", &arguments).await.and_then(|output| output.status.code()) {
        Some(0) => Echo::Answered,
        Some(1) => Echo::Nothing,
        _ => Echo::NotPossible,
    }
}

pub async fn way(address: IpAddr) -> Way {
    match tool("ip", &["-j", "route", "get", &address.to_string()]).await {
        Some(output) if output.status.success() => route(&output.stdout),
        // It says so by failing.
        Some(_) if ip(&["-j", "route", "show"]).await.is_some() => Way::Nowhere,
        _ => Way::Unknown,
    }
}

/// What `ip -j route get` prints.
pub fn route(json: &[u8]) -> Way {
    #[derive(Deserialize)]
    struct Route {
        #[serde(rename = "type", default)]
        kind: Option<String>,
        #[serde(default)]
        gateway: Option<IpAddr>,
        #[serde(default)]
        via: Option<Via>,
        #[serde(default)]
        dev: Option<String>,
    }
    #[derive(Deserialize)]
    struct Via {
        host: IpAddr,
    }
    let routes: Vec<Route> = serde_json::from_slice(json).unwrap_or_default();
    let Some(route) = routes.into_iter().next() else { return Way::Unknown };
    let gateway = route.gateway.or(route.via.map(|via| via.host));
    match (route.kind.as_deref(), gateway, route.dev) {
        (Some("local"), _, _) => Way::Own,
        (Some("unreachable" | "prohibit" | "blackhole"), _, _) => Way::Nowhere,
        (_, Some(gateway), _) => Way::Router(gateway),
        (_, None, Some(device)) => Way::Link(shown(device)),
        _ => Way::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_tells_how_far_it_is() {
        for (json, way) in [
            (r#"[{"type":"local","dst":"127.0.0.1","dev":"lo"}]"#, Way::Own),
            (
                r#"[{"dst":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2"}]"#,
                Way::Link("eth0".into()),
            ),
            (
                r#"[{"dst":"198.51.100.1","gateway":"192.0.2.9","dev":"eth0"}]"#,
                Way::Router([192, 0, 2, 9].into()),
            ),
            (
                r#"[{"dst":"198.51.100.1","via":{"family":"inet6","host":"fe80::1"},"dev":"eth0"}]"#,
                Way::Router("fe80::1".parse().unwrap()),
            ),
            (r#"[{"type":"unreachable","dst":"192.0.2.1","dev":"lo"}]"#, Way::Nowhere),
            ("[]", Way::Unknown),
            ("{", Way::Unknown),
        ] {
            assert_eq!(route(json.as_bytes()), way, "{json}");
        }
    }

    #[test]
    fn what_the_kernel_only_remembers_is_nobody() {
        let silence = |state: &str, said| Silence {
            way: Way::Link("eth0".into()),
            neighbours: vec![Neighbour {
                device: "eth0".into(),
                mac: "52:54:00:00:00:01".into(),
                state: state.into(),
            }],
            ports: vec![PortTried { port: 22, said }],
            echo: Echo::Nothing,
        };
        let nothing = || PortSaid::Nothing(Reach::TimedOut);
        assert!(silence("REACHABLE", nothing()).heard());
        assert!(!silence("STALE", nothing()).heard() && !silence("PERMANENT", nothing()).heard());
        assert!(silence("STALE", PortSaid::Refused).heard());
        let text = serde_json::to_string(&silence("STALE", nothing()).ports).unwrap();
        assert_eq!(text, r#"[{"port":22,"said":{"nothing":"timed-out"}}]"#);
    }
}
