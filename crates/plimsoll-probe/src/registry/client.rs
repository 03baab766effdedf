//! Requests to one registry: connections that are trusted and used again, the key that it wants,
//! redirects.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, LOCATION, RANGE};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use plimsoll_model::Time;
use tokio::time::{Instant, timeout_at};

use super::RegistryProbe;
use super::auth::Keys;
use super::found::{Fault, Redirect};
use super::image::Repository;
use super::url::{Origin, Url};
use crate::connect::{Unconnected, connect};
use crate::handshake::{Handshake, server_name, shake};
use crate::reach::Reach;
use crate::trust::{Bundle, Trust, trust};
use crate::wire::{self, Connection};

/// What is asked for at the same time. A registry of a laboratory is a small machine.
pub const AT_ONCE: usize = 6;
const REDIRECTS: usize = 2;
/// Nobody waits longer, and no sum of times overflows.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
const LITTLE: usize = 64 << 10;

pub struct Client<'p> {
    pub probe: &'p RegistryProbe,
    pub registry: Origin,
    now: Time,
    limit: Duration,
    /// For everything.
    deadline: Instant,
    idle: Mutex<Vec<(Origin, Connection)>>,
    pub keys: tokio::sync::Mutex<Keys>,
}

pub struct Ask<'a> {
    pub method: Method,
    /// Whose key is used; nobody's where it is nothing.
    pub repository: Option<&'a Repository>,
    pub path: String,
    pub accept: Option<HeaderValue>,
    /// One byte, at this place.
    pub byte: Option<u64>,
    pub until: Instant,
}

/// The body is still to be read.
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub origin: Origin,
    body: Incoming,
    connection: Connection,
    until: Instant,
}

impl Reply {
    pub fn number(&self, header: http::HeaderName) -> Option<u64> {
        self.headers.get(header)?.to_str().ok()?.trim().parse().ok()
    }

    /// Nothing at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            match timeout_at(self.until, self.body.frame()).await {
                Ok(None) => return Ok(None),
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(bytes) if !bytes.is_empty() => return Ok(Some(bytes)),
                    _ => {}
                },
                Ok(Some(Err(_))) => return Err(Fault::Cut),
                Err(_) => return Err(Reach::TimedOut.into()),
            }
        }
    }
}

impl<'p> Client<'p> {
    pub fn new(probe: &'p RegistryProbe, limit: Duration, now: Time) -> Self {
        Self {
            probe,
            registry: Origin { tls: !probe.plain, target: probe.image.registry.clone() },
            now,
            limit,
            deadline: Instant::now() + probe.within.min(LONGEST),
            idle: Mutex::default(),
            keys: tokio::sync::Mutex::default(),
        }
    }

    /// When one request has to be done.
    pub fn soon(&self) -> Instant {
        (Instant::now() + self.limit).min(self.deadline)
    }

    /// When all has to be done.
    pub fn late(&self) -> Instant {
        self.deadline
    }

    pub fn is_over(&self) -> bool {
        Instant::now() >= self.deadline
    }

    pub fn keep(&self, origin: Origin, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < 2 * AT_ONCE {
            idle.push((origin, connection));
        }
    }

    fn kept(&self, origin: &Origin) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let place = idle.iter().rposition(|(of, _)| of == origin)?;
        Some(idle.swap_remove(place).1)
    }

    /// With a key where the registry wants one. A key that is not taken is made anew, once: a token
    /// may have grown old.
    pub async fn ask(&self, ask: &Ask<'_>) -> Result<Reply, Fault> {
        let Some(repository) = ask.repository else { return self.follow(ask, None).await };
        let key = self.keys.lock().await.of(repository);
        let used = key.as_ref().map(|key| key.number);
        let reply = self.follow(ask, key.map(|key| key.header)).await?;
        if reply.status != 401 || reply.origin != self.registry {
            return Ok(reply);
        }
        match self.unlock(repository, used, &reply.headers).await {
            Ok(key) => {
                self.release(reply).await;
                self.follow(ask, Some(key)).await
            }
            Err(_) => Ok(reply),
        }
    }

    /// The key goes to the registry alone, never to where it sends us.
    async fn follow(&self, ask: &Ask<'_>, key: Option<HeaderValue>) -> Result<Reply, Fault> {
        let mut url = Url { origin: self.registry.clone(), path: ask.path.clone() };
        for _ in 0..=REDIRECTS {
            let key = key.clone().filter(|_| url.origin == self.registry);
            let reply = self.send(&url, ask, key).await?;
            if !matches!(reply.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(reply);
            }
            let location = reply.headers.get(LOCATION).map_or(&b""[..], HeaderValue::as_bytes);
            url = Url::named(location, &self.registry, &url.origin).map_err(Fault::Redirect)?;
            self.release(reply).await;
        }
        Err(Fault::Redirect(Redirect::TooMany))
    }

    /// One request, without redirects.
    pub async fn send(
        &self,
        url: &Url,
        ask: &Ask<'_>,
        key: Option<HeaderValue>,
    ) -> Result<Reply, Fault> {
        let question =
            || question(url, ask, key.clone()).ok_or(Fault::Redirect(Redirect::Unusable));
        if let Some(mut connection) = self.kept(&url.origin) {
            match connection.send(question()?, ask.until).await {
                Ok(response) => return Ok(reply(response, connection, url, ask.until)),
                // The server had closed it meanwhile; a new one tells what is true.
                Err(Reach::Lost) => {}
                Err(why) => return Err(why.into()),
            }
        }
        let mut connection = self.open(&url.origin, ask.until).await?;
        let response = connection.send(question()?, ask.until).await?;
        Ok(reply(response, connection, url, ask.until))
    }

    async fn open(&self, origin: &Origin, until: Instant) -> Result<Connection, Fault> {
        let connected = match connect(&origin.target, until).await {
            Ok(connected) => connected,
            Err(Unconnected { why, .. }) => return Err(why.into()),
        };
        if !origin.tls {
            return Ok(Connection::open(connected.stream, until).await?);
        }
        let name = server_name(&origin.target.host)?;
        let Handshake { session, chain } = shake(connected.stream, name.clone(), until).await;
        let session = session.map_err(Fault::NoSession)?;
        let verdict = |bundle: &Bundle| trust(bundle, &chain, &name, self.now);
        match told(self.probe.bundles.iter().map(verdict)) {
            Trust::Trusted => Ok(Connection::open(session, until).await?),
            why => Err(Fault::Untrusted(why)),
        }
    }

    /// Frees the connection for the next request, where little is left to be read of this.
    pub async fn release(&self, reply: Reply) {
        let _ = self.body(reply, LITTLE).await;
    }

    /// The whole body, if it is not longer than `most`. The connection is used again.
    pub async fn body(&self, mut reply: Reply, most: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = Vec::new();
        while let Some(chunk) = reply.chunk().await? {
            if bytes.len() + chunk.len() > most {
                return Err(Fault::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        let Reply { mut connection, origin, until, .. } = reply;
        if connection.is_free(until).await {
            self.keep(origin, connection);
        }
        Ok(bytes)
    }
}

fn reply(
    response: http::Response<Incoming>,
    connection: Connection,
    url: &Url,
    until: Instant,
) -> Reply {
    let (head, body) = response.into_parts();
    Reply {
        status: head.status.as_u16(),
        headers: head.headers,
        origin: url.origin.clone(),
        body,
        connection,
        until,
    }
}

fn question(url: &Url, ask: &Ask<'_>, key: Option<HeaderValue>) -> Option<wire::Question> {
    let Url { origin: Origin { tls, target }, path } = url;
    let mut question = wire::question(ask.method.clone(), *tls, target, path)?;
    let headers = question.headers_mut();
    if let Some(accept) = &ask.accept {
        headers.insert(ACCEPT, accept.clone());
    }
    if let Some(byte) = ask.byte {
        headers.insert(RANGE, format!("bytes={byte}-{byte}").parse().ok()?);
    }
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, key);
    }
    Some(question)
}

/// What several bundles say together: one that trusts is enough, and any other reason tells more
/// than that the issuer is not known.
pub fn told(verdicts: impl IntoIterator<Item = Trust>) -> Trust {
    let mut told = Trust::UnknownIssuer;
    for verdict in verdicts {
        match verdict {
            Trust::Trusted => return verdict,
            Trust::Bad(_) | Trust::UnknownIssuer => {}
            _ => told = verdict,
        }
    }
    told
}
