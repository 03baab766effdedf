//! Whether an image is really in a registry: its manifest, its blobs, and for a release all images
//! that it is made of.
//!
//! The protocol is that of the OCI distribution specification. What a server names is followed in
//! two cases only, both by the rule of [`url::Url::named`]: to fetch a token, and to fetch a blob
//! that is kept elsewhere. A server that no bundle trusts is sent nothing at all. No proxy is used.

mod auth;
pub(crate) mod challenge;
mod client;
mod components;
mod credential;
mod found;
mod image;
pub(crate) mod manifest;
mod pieces;
pub(crate) mod release;
mod url;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use plimsoll_model::Time;

pub use credential::{Credential, NoCredential};
pub use found::{
    Auth, Components, Fault, Flaw, List, Piece, Pieces, Ping, Redirect, Registry, Seen,
};
pub use image::{Digest, Image, NoImage, Reference, Repository};

use crate::answer::Outcome;
use crate::connect::connect;
use crate::handshake::{server_name, shake};
use crate::tls::Tls;
use crate::trust::{Bundle, Trust};
use crate::wire::Connection;
use client::{Ask, Client, Reply};
use manifest::Manifest;
use pieces::{Fetched, Parts, Unfetched};

const PING_BYTES: usize = 64 << 10;

#[derive(Clone, Debug)]
pub struct RegistryProbe {
    pub image: Image,
    /// Without TLS, for a registry that has none. The credential then goes in the open.
    pub plain: bool,
    pub credential: Option<Credential>,
    /// One that trusts the registry is enough: that of this machine, and what is added to it.
    pub bundles: Arc<[Bundle]>,
    /// Nothing: only the image is looked at, and not what it lists.
    pub components: Option<Deep>,
    /// For everything; what a plan gives a probe is for each request. What is not done by then is
    /// counted as left out.
    pub within: Duration,
}

/// How deep to look into a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deep {
    /// Where its components are, if not in its own repository: some tools for mirrors keep them
    /// apart.
    pub repository: Option<Repository>,
    /// Their blobs as well. These are thousands of requests.
    pub blobs: bool,
}

impl RegistryProbe {
    pub async fn ask(&self, limit: Duration, now: Time) -> (Option<IpAddr>, Outcome) {
        let client = Client::new(self, limit, now);
        let until = client.soon();
        let connected = match connect(&self.image.registry, until).await {
            Ok(connected) => connected,
            Err(failed) => return (failed.address, failed.why.into()),
        };
        let address = Some(connected.address);
        let mut found = Registry {
            tls: None,
            ping: None,
            auth: Auth::NotAsked,
            manifest: Seen::NotAsked,
            release: None,
            blobs: Pieces::default(),
            components: None,
        };
        let connection = if self.plain {
            Connection::open(connected.stream, until).await
        } else {
            let name = match server_name(&self.image.registry.host) {
                Ok(name) => name,
                Err(why) => return (address, why.into()),
            };
            let shaken = shake(connected.stream, name.clone(), until).await;
            let tls = Tls::of(&shaken, &name, &self.bundles, now);
            let trusted = tls.trust.values().any(|trust| *trust == Trust::Trusted);
            found.tls = Some(Box::new(tls));
            match shaken.session {
                Ok(session) if trusted => Connection::open(session, until).await,
                _ => return (address, Outcome::Registry(Box::new(found))),
            }
        };
        match connection {
            Ok(connection) => client.keep(client.registry.clone(), connection),
            Err(why) => return (address, why.into()),
        }
        self.look(&client, &mut found).await;
        (address, Outcome::Registry(Box::new(found)))
    }

    async fn look(&self, client: &Client<'_>, found: &mut Registry) {
        let repository = self.image.repository();
        match ping(client).await {
            Ok((ping, status, headers)) => {
                let is_registry = ping == Ping::Registry;
                found.ping = Some(ping);
                let locked = match status {
                    401 if is_registry => client.unlock(repository, None, &headers).await.err(),
                    403 => Some(Auth::Forbidden),
                    _ => None,
                };
                if let Some(why) = locked {
                    found.auth = why;
                    return;
                }
                if !is_registry {
                    return;
                }
            }
            Err(how) => {
                found.ping = Some(Ping::Failed(how));
                return;
            }
        }
        let fetched = pieces::manifest(client, repository, self.image.reference()).await;
        found.auth = auth(client, repository, &fetched).await;
        let Fetched { digest, media_type, manifest } = match fetched {
            Ok(fetched) => fetched,
            Err(Unfetched { how, code }) => {
                found.manifest = match how {
                    Fault::Get(404) => Seen::Missing { code },
                    Fault::Digest { got } => Seen::Mismatch { got },
                    how => Seen::Failed(how),
                };
                return;
            }
        };
        let platforms = match &manifest {
            Manifest::Index(entries) => {
                entries.iter().map(|(_, platform)| platform.clone()).take(found::FLAWS).collect()
            }
            Manifest::Image { .. } => Vec::new(),
        };
        let media_type = media_type.map(String::from);
        found.manifest = Seen::Found { digest, media_type, platforms };
        let mut parts = Parts::default();
        let image = parts.gather(client, repository, manifest, "").await;
        found.blobs = parts.check(client, repository).await;
        let Some(image) = image else { return };
        found.release = components::version(client, repository, &image.config).await;
        if let Some(Deep { repository: elsewhere, blobs }) = &self.components {
            let within = elsewhere.as_ref().unwrap_or(repository);
            let (version, components) =
                components::check(client, repository, &image, within, *blobs).await;
            found.release = version.or(found.release.take());
            found.components = Some(components);
        }
    }
}

async fn ping(client: &Client<'_>) -> Result<(Ping, u16, HeaderMap), Fault> {
    let ask = Ask {
        method: Method::GET,
        repository: None,
        path: "/v2/".into(),
        accept: None,
        byte: None,
        until: client.soon(),
    };
    let reply = client.ask(&ask).await?;
    let Reply { status, .. } = reply;
    let headers = reply.headers.clone();
    let own = reply.origin == client.registry;
    // A server that answers everything with a page is none. The body is what tells, where the
    // header is left out, as the specification allows.
    let says_so = own && headers.contains_key("docker-distribution-api-version");
    let is_registry = match status {
        200 if says_so => {
            client.release(reply).await;
            true
        }
        200 => {
            let body = client.body(reply, PING_BYTES).await;
            let object = |body: Vec<u8>| {
                serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_ok()
            };
            body.is_ok_and(object)
        }
        401 => {
            client.release(reply).await;
            own && (says_so || !auth::challenges(&headers).is_empty())
        }
        _ => false,
    };
    let ping = if is_registry { Ping::Registry } else { Ping::Other(status) };
    Ok((ping, status, headers))
}

/// By what the first request that needs a right was answered.
async fn auth(
    client: &Client<'_>,
    repository: &Repository,
    fetched: &Result<Fetched, Unfetched>,
) -> Auth {
    let keys = client.keys.lock().await;
    if let Some(why) = keys.refusal(repository) {
        return why;
    }
    let key = keys.of(repository);
    let taken = match &key {
        Some(key) if key.by_credential => Auth::Accepted,
        _ => Auth::NoneNeeded,
    };
    match fetched.as_ref().map_err(|unfetched| &unfetched.how) {
        Err(Fault::Get(401)) => client.refused(key.as_ref()),
        Err(Fault::Get(403)) => Auth::Forbidden,
        Ok(_) | Err(Fault::Get(404)) => taken,
        Err(Fault::Digest { .. } | Fault::Cut | Fault::TooLarge | Fault::Unreadable) => taken,
        Err(_) => Auth::NotAsked,
    }
}
