//! The way to a BMC: its name, its port and its certificate, before a word of HTTP is said.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::address::{Endpoint, Transport};
use crate::reading::{Reach, ReachStatus, Tls};
use crate::target::{Patience, Target};
use crate::tls::Judge;

/// Addresses of one name that are tried.
const ADDRESSES: usize = 4;

pub fn told(status: ReachStatus, detail: impl Into<String>) -> Reach {
    Reach { status, detail: Some(detail.into()) }
}

/// The address that took a connection, and what its certificate is.
pub async fn look(
    endpoint: &Endpoint,
    target: &Target,
    patience: &Patience,
    now: Timestamp,
) -> Result<(SocketAddr, Option<Tls>), (Reach, Option<Tls>)> {
    let (stream, address) = connect(endpoint, patience).await.map_err(|reach| (reach, None))?;
    if endpoint.transport == Transport::Http {
        return Ok((address, None));
    }
    // Accepts anything: what is wrong with a certificate can only be told by one who looks at it.
    let judge = Judge::new(target, now, false);
    let version = handshake(endpoint, stream, &judge, patience).await;
    let mut tls = judge.seen();
    match version {
        Ok(version) => {
            if let Some(tls) = &mut tls {
                tls.version = version;
            }
        }
        Err(why) => return Err((told(ReachStatus::TlsFailed, why), tls)),
    }
    let trusted = tls.as_ref().is_some_and(|tls| tls.trusted == Some(true));
    if target.verify && !trusted {
        let why = tls.as_ref().and_then(|tls| tls.why.as_deref()).unwrap_or("unknown");
        let why = format!("the certificate is not trusted ({why}); nothing was sent");
        return Err((told(ReachStatus::TlsFailed, why), tls));
    }
    Ok((address, tls))
}

async fn connect(
    endpoint: &Endpoint,
    patience: &Patience,
) -> Result<(TcpStream, SocketAddr), Reach> {
    let host = endpoint.host.trim_start_matches('[').trim_end_matches(']');
    let lookup = timeout(patience.connect, tokio::net::lookup_host((host, endpoint.port))).await;
    let addresses: Vec<_> = match lookup {
        Ok(Ok(addresses)) => addresses.take(ADDRESSES).collect(),
        Ok(Err(_)) => Vec::new(),
        Err(_) => {
            return Err(told(ReachStatus::Unresolved, "no answer of the name service in time"));
        }
    };
    let mut last = told(ReachStatus::Unresolved, "its name does not resolve");
    for address in addresses {
        last = match timeout(patience.connect, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, address)),
            Ok(Err(error)) => unreached(&error),
            Err(_) => {
                let seconds = patience.connect.as_secs_f32();
                told(ReachStatus::TimedOut, format!("no connection within {seconds} s"))
            }
        };
    }
    Err(last)
}

fn unreached(error: &io::Error) -> Reach {
    match error.kind() {
        ErrorKind::ConnectionRefused => told(ReachStatus::Refused, "nothing listens on its port"),
        ErrorKind::TimedOut => told(ReachStatus::TimedOut, "no connection in time"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            told(ReachStatus::NoRoute, "no route to it")
        }
        kind => told(ReachStatus::Lost, kind.to_string()),
    }
}

/// Gives the version that was agreed on.
async fn handshake(
    endpoint: &Endpoint,
    stream: TcpStream,
    judge: &Arc<Judge>,
    patience: &Patience,
) -> Result<Option<String>, String> {
    let host = endpoint.host.trim_start_matches('[').trim_end_matches(']').to_string();
    let name = ServerName::try_from(host).map_err(|_| "its name cannot be one of TLS")?;
    let config = judge.config().map_err(|error| error.to_string())?;
    let connector = TlsConnector::from(Arc::new(config));
    match timeout(patience.request, connector.connect(name, stream)).await {
        Ok(Ok(stream)) => {
            let version = stream.get_ref().1.protocol_version();
            Ok(version.and_then(|version| version.as_str()).map(str::to_string))
        }
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
            Err("the connection ended in the handshake".into())
        }
        Ok(Err(error)) if error.to_string().contains("InvalidContentType") => {
            Err("its port does not speak TLS".into())
        }
        Ok(Err(error)) => Err(error.to_string().chars().take(200).collect()),
        Err(_) => Err("no answer to the handshake in time".into()),
    }
}
