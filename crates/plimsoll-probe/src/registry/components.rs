//! Whether all images of a release are there.

use std::io::{self, Read};

use aws_lc_rs::digest::{Context, SHA256};
use futures::StreamExt;
use http::Method;
use hyper::body::Bytes;
use tokio::sync::mpsc;

use super::client::{AT_ONCE, Ask, Client};
use super::found::{Components, Fault, Flaw, List, Piece, Pieces};
use super::image::{Digest, Reference, Repository};
use super::manifest::{self, Descriptor, Manifest};
use super::pieces::{self, Checked, Fetched, Image, Parts};
use super::release::{self, Release};

/// Of a layer that is fetched, packed.
const LAYER_BYTES: u64 = 64 << 20;
/// From the top. The list is in the last layer, as releases are made.
const LAYERS: usize = 3;
const CONFIG_BYTES: usize = 1 << 20;
/// A release has some 200.
const COMPONENTS: usize = 1000;
/// Of a layer, on their way to be unpacked.
const CHUNKS: usize = 16;

/// As the label of the image has it.
pub async fn version(
    client: &Client<'_>,
    repository: &Repository,
    config: &Descriptor,
) -> Option<String> {
    let reply = client.ask(&get(client, repository, &config.digest)).await.ok()?;
    if reply.status != 200 {
        return None;
    }
    let body = client.body(reply, CONFIG_BYTES).await.ok()?;
    manifest::release_label(&body).filter(|_| Digest::of(&body) == config.digest)
}

/// `image` is the release, in `repository`; its components are looked for `within` another one.
pub async fn check(
    client: &Client<'_>,
    repository: &Repository,
    image: &Image,
    within: &Repository,
    blobs: bool,
) -> (Option<String>, Components) {
    let (list, release) = match list(client, repository, image).await {
        Ok(Some(release)) => (List::Read, release),
        Ok(None) => (List::None, Release::default()),
        Err((layer, how)) => (List::Failed { layer, how }, Release::default()),
    };
    let Release { version, components, without_digest } = release;
    let count = components.len();
    let mut left_out = count.saturating_sub(COMPONENTS);
    let results: Vec<_> = futures::stream::iter(components.into_iter().take(COMPONENTS))
        .map(|(digest, name)| async move {
            let reference = Reference::Digest(digest.clone());
            let fetched = match client.is_over() {
                true => return (digest, name, Checked::Not, None),
                false => pieces::manifest(client, within, &reference).await,
            };
            match fetched {
                Ok(Fetched { manifest, .. }) => (digest, name, Checked::Well, Some(manifest)),
                Err(unfetched) => (digest, name, Checked::of(client, Err(unfetched.how)), None),
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let (mut checked, mut flaws) = (0, Vec::new());
    let mut found: Vec<(Digest, String, Manifest)> = Vec::new();
    for (digest, of, how, manifest) in results {
        match how {
            Checked::Not => left_out += 1,
            Checked::Well => checked += 1,
            Checked::Ill(how) => {
                checked += 1;
                let digest = digest.clone();
                flaws.push(Flaw { digest, piece: Piece::Manifest, of: of.clone(), how });
            }
        }
        found.extend(manifest.map(|manifest| (digest, of, manifest)));
    }
    let manifests = Pieces::of(checked, flaws, left_out);
    let blobs = match blobs {
        true => Some(of_all(client, within, found).await),
        false => None,
    };
    (version, Components { list, count, without_digest, manifests, blobs })
}

async fn of_all(
    client: &Client<'_>,
    repository: &Repository,
    mut found: Vec<(Digest, String, Manifest)>,
) -> Pieces {
    // So that a blob of many is told under the same name in every run.
    found.sort_by(|one, other| one.0.cmp(&other.0));
    let mut parts = Parts::default();
    for (_, name, manifest) in found {
        parts.gather(client, repository, manifest, &name).await;
    }
    parts.check(client, repository).await
}

async fn list(
    client: &Client<'_>,
    repository: &Repository,
    image: &Image,
) -> Result<Option<Release>, (Digest, Fault)> {
    let mut failed = None;
    for layer in image.layers.iter().rev().take(LAYERS) {
        let unpacked = match layer.size > LAYER_BYTES {
            true => Err(Fault::TooLarge),
            false => unpack(client, repository, layer).await,
        };
        let release = match unpacked {
            Ok(None) => continue,
            Ok(Some(list)) => release::read(&list).ok_or(Fault::Unreadable),
            Err(how) => Err(how),
        };
        match release {
            Ok(release) => return Ok(Some(release)),
            Err(how) => {
                failed.get_or_insert((layer.digest.clone(), how));
            }
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Unpacked while it comes, so that only the list is ever in memory. The layer is read to its end
/// all the same: a list from a layer that is not what it should be is no list.
async fn unpack(
    client: &Client<'_>,
    repository: &Repository,
    layer: &Descriptor,
) -> Result<Option<Vec<u8>>, Fault> {
    let ask = Ask { until: client.late(), ..get(client, repository, &layer.digest) };
    let mut reply = client.ask(&ask).await?;
    if reply.status != 200 {
        return Err(Fault::Get(reply.status));
    }
    let (chunks, waiting) = mpsc::channel(CHUNKS);
    let unpacking = tokio::task::spawn_blocking(move || {
        release::in_layer(Chunks { waiting, current: Bytes::new() })
    });
    let mut hash = Context::new(&SHA256);
    let mut read = 0;
    while let Some(chunk) = reply.chunk().await? {
        read += chunk.len() as u64;
        if read > LAYER_BYTES {
            return Err(Fault::TooLarge);
        }
        hash.update(&chunk);
        // Nobody takes it any more, once the list was found.
        let _ = chunks.send(chunk).await;
    }
    drop(chunks);
    let got = Digest::from(hash.finish());
    if got != layer.digest {
        return Err(Fault::Digest { got });
    }
    match unpacking.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) if error.kind() == io::ErrorKind::FileTooLarge => Err(Fault::TooLarge),
        Ok(Err(_)) | Err(_) => Err(Fault::Unreadable),
    }
}

fn get<'a>(client: &Client<'_>, repository: &'a Repository, digest: &Digest) -> Ask<'a> {
    Ask {
        method: Method::GET,
        repository: Some(repository),
        path: format!("/v2/{repository}/blobs/{digest}"),
        accept: None,
        byte: None,
        until: client.soon(),
    }
}

/// What comes in by one task, read by another.
struct Chunks {
    waiting: mpsc::Receiver<Bytes>,
    current: Bytes,
}

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            match self.waiting.blocking_recv() {
                Some(chunk) => self.current = chunk,
                None => return Ok(0),
            }
        }
        let count = buffer.len().min(self.current.len());
        buffer[..count].copy_from_slice(&self.current.split_to(count));
        Ok(count)
    }
}
