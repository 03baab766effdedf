//! One GET, with or without TLS, that follows nothing and keeps next to nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use http::header::{CONNECTION, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use plimsoll_model::Time;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::answer::Outcome;
use crate::body::{self, Body};
use crate::clock::by_date;
use crate::connect::connect;
use crate::handshake::{server_name, shake};
use crate::reach::{Reach, shown};
use crate::target::Target;
use crate::wire::{self, Connection};

/// As Ignition asks the Machine Config Server; without it the server answers in another version.
pub const IGNITION: (&str, &str) =
    ("accept", "application/vnd.coreos.ignition+json;version=3.2.0, */*;q=0.1");

const KEPT_HEADERS: [&str; 4] = ["content-length", "content-type", "date", "server"];
/// A rendered config of a node is one or two of these.
const BODY_BYTES: usize = 8 << 20;

#[derive(Clone, Debug)]
pub struct HttpProbe {
    pub target: Target,
    /// For SNI and the Host header, where it is not the host of the target.
    pub name: Option<String>,
    pub tls: bool,
    /// With its query, which no answer shows.
    pub path: String,
    pub headers: Headers,
}

/// May hold a credential, so its values are never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, String)>);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http {
    pub status: u16,
    /// Only a few that are known to hold no secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Of the body, as far as it was read.
    pub bytes: usize,
    /// The body was too large to be read to its end, or broke off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
}

impl HttpProbe {
    /// Without the query.
    pub fn shown_path(&self) -> &str {
        self.path.split(['?', '#']).next().unwrap_or_default()
    }

    pub async fn ask(&self, limit: Duration) -> (Option<IpAddr>, Outcome) {
        let (address, got) = self.get(limit).await;
        (address, got.map_or_else(|outcome| outcome, Outcome::Http))
    }

    /// How far the server's clock is from ours, by the Date of its answer.
    pub async fn ask_date(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        let started = Instant::now();
        let (address, got) = self.get(limit).await;
        let date = |http: Http| {
            by_date(http.headers.get("date").map(String::as_str), now, started.elapsed())
        };
        (address, got.map_or_else(|outcome| outcome, date))
    }

    async fn get(&self, limit: Duration) -> (Option<IpAddr>, Result<Http, Outcome>) {
        let deadline = Instant::now() + limit;
        let request = match self.request() {
            Some(request) => request,
            None => return (None, Err(Reach::Other("no request can be made of it".into()).into())),
        };
        let connected = match connect(&self.target, deadline).await {
            Ok(connected) => connected,
            Err(failed) => return (failed.address, Err(failed.why.into())),
        };
        let address = Some(connected.address);
        if !self.tls {
            return (address, exchange(connected.stream, request, deadline).await);
        }
        let name = match server_name(self.host()) {
            Ok(name) => name,
            Err(why) => return (address, Err(why.into())),
        };
        let got = match shake(connected.stream, name, deadline).await.session {
            Ok(session) => exchange(session, request, deadline).await,
            Err(ended) => Err(Outcome::NoSession { ended }),
        };
        (address, got)
    }

    fn host(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.target.host)
    }

    fn request(&self) -> Option<wire::Question> {
        let host = Target::new(self.host(), self.target.port);
        let mut request = wire::question(Method::GET, self.tls, &host, &self.path)?;
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        for (name, value) in &self.headers.0 {
            headers.insert(name.parse::<HeaderName>().ok()?, value.parse().ok()?);
        }
        Some(request)
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: wire::Question,
    deadline: Instant,
) -> Result<Http, Outcome> {
    let mut connection = Connection::open(stream, deadline).await?;
    let response = connection.send(request, deadline).await?;
    Ok(summary(response, deadline).await)
}

async fn summary(response: Response<Incoming>, deadline: Instant) -> Http {
    let status = response.status().as_u16();
    let headers = kept(response.headers());
    let mut incoming = response.into_body();
    let mut bytes = Vec::new();
    let cut = loop {
        match timeout_at(deadline, incoming.frame()).await {
            Ok(None) => break false,
            Ok(Some(Ok(frame))) => {
                bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data))
            }
            Ok(Some(Err(_))) | Err(_) => break true,
        }
        if bytes.len() > BODY_BYTES {
            break true;
        }
    };
    bytes.truncate(BODY_BYTES);
    let body = if cut { None } else { body::read(&bytes) };
    Http { status, headers, bytes: bytes.len(), cut, body }
}

fn kept(headers: &HeaderMap) -> BTreeMap<String, String> {
    let value = |name: &str| headers.get(name).map(|value| shown(value.as_bytes()));
    KEPT_HEADERS.iter().filter_map(|name| Some((name.to_string(), value(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_shows_neither_query_nor_credential() {
        let probe = HttpProbe {
            target: Target::new("192.0.2.5", 6443),
            name: None,
            tls: true,
            path: "/readyz?verbose&token=abc".into(),
            headers: Headers(vec![("authorization".into(), "Bearer sesame".into())]),
        };
        assert_eq!(probe.shown_path(), "/readyz");
        assert!(!format!("{:?}", probe.headers).contains("sesame"));
        let request = probe.request().unwrap();
        assert_eq!(request.headers()["authorization"], "Bearer sesame");
        assert_eq!(request.headers()["host"], "192.0.2.5:6443");
        assert!(HttpProbe { path: "no path".into(), ..probe.clone() }.request().is_none());
        let evil = Headers(vec![("x".into(), "a\r\nb: c".into())]);
        assert!(HttpProbe { headers: evil, ..probe }.request().is_none());
    }
}
