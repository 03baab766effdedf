//! A stand-in for all kubelets of a cluster: what the API server forwards for a node ends here, and
//! is answered with the logs and journals that a must-gather holds.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::pki::Identity;

#[derive(Default)]
pub struct Texts {
    /// By `NAMESPACE/POD/CONTAINER` and whether it is the previous one.
    pub logs: BTreeMap<(String, bool), Vec<u8>>,
    /// By node and unit.
    pub journals: BTreeMap<(String, String), Vec<u8>>,
    /// Nodes by address.
    pub nodes: BTreeMap<String, String>,
}

#[derive(Clone)]
pub struct Kubelets {
    pub socket: PathBuf,
    texts: Arc<Mutex<Texts>>,
}

impl Kubelets {
    pub fn start(socket: &Path, identity: &Identity) -> Result<Self> {
        let tls = Arc::new(tls(identity)?);
        let listener = UnixListener::bind(socket)?;
        let texts = Arc::new(Mutex::new(Texts::default()));
        let shared = texts.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, tls) = (shared.clone(), tls.clone());
                std::thread::spawn(move || serve(stream, tls, &shared));
            }
        });
        Ok(Self { socket: socket.into(), texts })
    }

    pub fn set(&self, texts: Texts) {
        *lock(&self.texts) = texts;
    }

    /// Logs of containers with this name are gone, as those that were rotated away.
    pub fn forget(&self, container: &str) {
        let end = format!("/{container}");
        lock(&self.texts).logs.retain(|(name, _), _| !name.ends_with(&end));
    }

    /// From now on the log of this container, `NAMESPACE/POD/CONTAINER`, is another one.
    pub fn log(&self, container: &str, text: &str) {
        lock(&self.texts).logs.insert((container.into(), false), text.into());
    }

    /// From now on the journal of this unit is another one.
    pub fn journal(&self, node: &str, unit: &str, text: &str) {
        lock(&self.texts).journals.insert((node.into(), unit.into()), text.into());
    }
}

fn lock(texts: &Mutex<Texts>) -> MutexGuard<'_, Texts> {
    texts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tls(identity: &Identity) -> Result<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)?)
}

/// A tunnel is asked for first; then the one asked for speaks through it.
fn serve(mut stream: UnixStream, tls: Arc<ServerConfig>, texts: &Mutex<Texts>) -> Option<()> {
    let tunnel = head(&mut stream)?;
    let address =
        tunnel.split(' ').nth(1)?.rsplit_once(':')?.0.trim_matches(['[', ']']).to_string();
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(tls).ok()?, stream);
    loop {
        let request = head(&mut stream)?;
        let target = request.split(' ').nth(1)?.to_string();
        let found = find(&lock(texts), &address, &target);
        let (status, body) = match found {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", b"not here".to_vec()),
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
        )
        .ok()?;
        stream.write_all(&body).ok()?;
        stream.flush().ok()?;
    }
}

/// The first line of a request.
fn head(stream: &mut impl Read) -> Option<String> {
    head_of(stream)?.lines().next().map(str::to_string)
}

/// The head of a request with the empty line at its end. Byte by byte, so that nothing is taken that
/// belongs to the next one.
pub fn head_of(stream: &mut impl Read) -> Option<String> {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        all.push(byte[0]);
    }
    String::from_utf8(all).ok()
}

fn find(texts: &Texts, address: &str, target: &str) -> Option<Vec<u8>> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let value =
        |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
    let text = if let Some(log) = path.strip_prefix("/containerLogs/") {
        texts.logs.get(&(log.to_string(), value("previous") == Some("true")))?
    } else if path.starts_with("/logs/journal") {
        let node = texts.nodes.get(address)?;
        match texts.journals.get(&(node.clone(), value("unit")?.to_string())) {
            Some(journal) => journal,
            None => return Some(b"-- No entries --\n".to_vec()),
        }
    } else {
        return None;
    };
    let lines = value("tailLines").and_then(|lines| lines.parse().ok()).unwrap_or(usize::MAX);
    let all: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    Some(all[all.len().saturating_sub(lines)..].concat())
}
