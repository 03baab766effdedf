//! Whether manifests and blobs can really be had.

use std::collections::BTreeMap;

use futures::StreamExt;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE};
use http::{HeaderValue, Method};
use serde::Deserialize;

use super::client::{AT_ONCE, Ask, Client, Reply};
use super::found::{Fault, Flaw, Piece, Pieces};
use super::image::{Digest, Reference, Repository};
use super::manifest::{self, Descriptor, Manifest};
use crate::reach::Reach;

/// Registries take none that is larger.
const MANIFEST_BYTES: usize = 4 << 20;
const ERROR_BYTES: usize = 64 << 10;
/// Of one index.
const PLATFORMS: usize = 16;
/// Of one image, or of all components together.
const BLOBS: usize = 8192;
/// What may come for the one byte that is asked for.
const BYTE_BYTES: usize = 1 << 10;

pub struct Fetched {
    pub digest: Digest,
    pub media_type: Option<&'static str>,
    pub manifest: Manifest,
}

pub struct Unfetched {
    pub how: Fault,
    /// What the registry calls it.
    pub code: Option<String>,
}

impl From<Fault> for Unfetched {
    fn from(how: Fault) -> Self {
        Self { how, code: None }
    }
}

/// A manifest whose body has the digest that it should have.
pub async fn manifest(
    client: &Client<'_>,
    repository: &Repository,
    reference: &Reference,
) -> Result<Fetched, Unfetched> {
    let ask = Ask {
        method: Method::GET,
        repository: Some(repository),
        path: format!("/v2/{repository}/manifests/{reference}"),
        accept: HeaderValue::try_from(manifest::MEDIA_TYPES.join(", ")).ok(),
        byte: None,
        until: client.soon(),
    };
    let reply = client.ask(&ask).await?;
    if reply.status != 200 {
        let how = Fault::Get(reply.status);
        let body = client.body(reply, ERROR_BYTES).await.unwrap_or_default();
        return Err(Unfetched { how, code: code(&body) });
    }
    let header = |name: &str| reply.headers.get(name).map(HeaderValue::as_bytes);
    let media_type = header(CONTENT_TYPE.as_str()).and_then(manifest::media_type);
    let expected = match reference {
        Reference::Digest(digest) => Some(digest.clone()),
        Reference::Tag(_) => header("docker-content-digest")
            .and_then(|header| std::str::from_utf8(header).ok())
            .and_then(|text| text.parse().ok()),
    };
    let body = client.body(reply, MANIFEST_BYTES).await?;
    let digest = Digest::of(&body);
    if expected.is_some_and(|expected| expected != digest) {
        return Err(Fault::Digest { got: digest }.into());
    }
    let manifest = manifest::read(&body).ok_or(Fault::Unreadable)?;
    Ok(Fetched { digest, media_type, manifest })
}

/// The first code of an error as the specification writes it.
pub fn code(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<Error>,
    }
    #[derive(Deserialize)]
    struct Error {
        code: String,
    }
    let errors: Errors = serde_json::from_slice(body).ok()?;
    let code = errors.errors.into_iter().next()?.code;
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    ((1..=40).contains(&code.len()) && code.bytes().all(fits)).then_some(code)
}

pub struct Blob {
    size: u64,
    piece: Piece,
    of: String,
}

/// What an image is made of, over all of its platforms. Each blob once, under the first name.
#[derive(Default)]
pub struct Parts {
    pub blobs: BTreeMap<Digest, Blob>,
    /// Of the manifests of its platforms.
    pub flaws: Vec<Flaw>,
    pub manifests: usize,
    pub left_out: usize,
}

/// Of one platform.
pub struct Image {
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

impl Parts {
    fn add(&mut self, config: &Descriptor, layers: &[Descriptor], of: &str) {
        let config = std::iter::once((config, Piece::Config));
        for (descriptor, piece) in config.chain(layers.iter().map(|layer| (layer, Piece::Layer))) {
            let Descriptor { digest, size } = descriptor;
            if self.blobs.len() >= BLOBS && !self.blobs.contains_key(digest) {
                self.left_out += 1;
                continue;
            }
            let blob = Blob { size: *size, piece, of: of.into() };
            self.blobs.entry(digest.clone()).or_insert(blob);
        }
    }

    /// What stands in `top`, under `name` or under its platforms. Gives the first image of it.
    pub async fn gather(
        &mut self,
        client: &Client<'_>,
        repository: &Repository,
        top: Manifest,
        name: &str,
    ) -> Option<Image> {
        let entries = match top {
            Manifest::Image { config, layers } => {
                self.add(&config, &layers, name);
                return Some(Image { config, layers });
            }
            Manifest::Index(entries) => entries,
        };
        self.left_out += entries.len().saturating_sub(PLATFORMS);
        let mut first = None;
        for (Descriptor { digest, .. }, platform) in entries.into_iter().take(PLATFORMS) {
            if client.is_over() {
                self.left_out += 1;
                continue;
            }
            let of = if name.is_empty() { platform } else { name.into() };
            let fetched = manifest(client, repository, &Reference::Digest(digest.clone())).await;
            let done = match fetched.map(|fetched| fetched.manifest) {
                Ok(Manifest::Image { config, layers }) => {
                    self.add(&config, &layers, &of);
                    first.get_or_insert(Image { config, layers });
                    Ok(())
                }
                // An index within an index is of no platform.
                Ok(Manifest::Index(_)) => Err(Fault::Unreadable),
                Err(unfetched) => Err(unfetched.how),
            };
            match Checked::of(client, done) {
                Checked::Not => self.left_out += 1,
                Checked::Well => self.manifests += 1,
                Checked::Ill(how) => {
                    self.manifests += 1;
                    self.flaws.push(Flaw { digest, piece: Piece::Manifest, of, how });
                }
            }
        }
        first
    }

    /// Each blob is asked for.
    pub async fn check(self, client: &Client<'_>, repository: &Repository) -> Pieces {
        let Parts { blobs, mut flaws, manifests, mut left_out } = self;
        let mut checked = manifests;
        let results: Vec<_> = futures::stream::iter(blobs)
            .map(|(digest, blob)| async move {
                let how = checked_blob(client, repository, &digest, blob.size).await;
                (digest, blob, how)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        for (digest, Blob { piece, of, .. }, how) in results {
            match how {
                Checked::Not => left_out += 1,
                Checked::Well => checked += 1,
                Checked::Ill(how) => {
                    checked += 1;
                    flaws.push(Flaw { digest, piece, of, how });
                }
            }
        }
        Pieces::of(checked, flaws, left_out)
    }
}

pub enum Checked {
    Well,
    Ill(Fault),
    /// There was no time left.
    Not,
}

impl Checked {
    /// What ended with the time for all proves nothing against the one that was asked for last.
    pub fn of(client: &Client<'_>, done: Result<(), Fault>) -> Self {
        match done {
            Ok(()) => Checked::Well,
            Err(Fault::Unreached(Reach::TimedOut)) if client.is_over() => Checked::Not,
            Err(how) => Checked::Ill(how),
        }
    }
}

async fn checked_blob(
    client: &Client<'_>,
    repository: &Repository,
    digest: &Digest,
    size: u64,
) -> Checked {
    if client.is_over() {
        return Checked::Not;
    }
    Checked::of(client, blob(client, repository, digest, size).await)
}

/// HEAD, and then one byte: a registry answers a HEAD from its database or its cache, for a file
/// that is no longer on its disk. It is the last byte, so that a file that was cut shows as well.
async fn blob(
    client: &Client<'_>,
    repository: &Repository,
    digest: &Digest,
    size: u64,
) -> Result<(), Fault> {
    let ask = |method, byte| Ask {
        method,
        repository: Some(repository),
        path: format!("/v2/{repository}/blobs/{digest}"),
        accept: None,
        byte,
        until: client.soon(),
    };
    let reply = client.ask(&ask(Method::HEAD, None)).await?;
    if reply.status != 200 {
        let how = Fault::Head(reply.status);
        client.release(reply).await;
        return Err(how);
    }
    same_size(reply.number(CONTENT_LENGTH), size)?;
    client.release(reply).await;
    let Some(last) = size.checked_sub(1) else { return Ok(()) };
    let mut reply = client.ask(&ask(Method::GET, Some(last))).await?;
    match reply.status {
        206 => {
            same_size(whole(&reply), size)?;
            match client.body(reply, BYTE_BYTES).await?.is_empty() {
                true => Err(Fault::Cut),
                false => Ok(()),
            }
        }
        // It sends everything; that it begins has to do.
        200 => {
            same_size(reply.number(CONTENT_LENGTH), size)?;
            reply.chunk().await?.map(drop).ok_or(Fault::Cut)
        }
        status => {
            client.release(reply).await;
            Err(Fault::Get(status))
        }
    }
}

fn same_size(said: Option<u64>, expected: u64) -> Result<(), Fault> {
    match said {
        Some(said) if said != expected => Err(Fault::Size { expected, said }),
        _ => Ok(()),
    }
}

/// The size of which a part is sent: `bytes 7-7/8`.
fn whole(reply: &Reply) -> Option<u64> {
    let range = reply.headers.get(CONTENT_RANGE)?.to_str().ok()?;
    range.rsplit_once('/')?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_code_of_the_specification_is_kept() {
        let of = |text: &str| code(format!(r#"{{"errors":[{{"code":"{text}"}}]}}"#).as_bytes());
        assert_eq!(of("MANIFEST_UNKNOWN").as_deref(), Some("MANIFEST_UNKNOWN"));
        assert_eq!((of("see <b>"), of(""), code(b"{}"), code(b"<html>")), (None, None, None, None));
    }
}
