//! A connection to a target, by the names that this machine knows.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use crate::reach::Reach;
use crate::target::Target;

/// A name with more addresses than this is tried at the first of them.
const ADDRESSES: usize = 4;

pub struct Connected {
    pub stream: TcpStream,
    pub address: IpAddr,
}

/// The address is the first that was tried, where there was one.
pub struct Unconnected {
    pub address: Option<IpAddr>,
    pub why: Reach,
}

/// In the order in which this machine prefers them.
pub async fn addresses(target: &Target, deadline: Instant) -> Result<Vec<SocketAddr>, Reach> {
    if let Some(address) = target.address() {
        return Ok(vec![SocketAddr::new(address, target.port)]);
    }
    let lookup = tokio::net::lookup_host((target.host.as_str(), target.port));
    let found: Vec<SocketAddr> = match timeout_at(deadline, lookup).await {
        Ok(Ok(found)) => found.take(ADDRESSES).collect(),
        // A resolver that does not answer and one that knows nothing give the same here; the
        // probe of DNS tells them apart.
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    if found.is_empty() { Err(Reach::Unresolved) } else { Ok(found) }
}

pub async fn connect(target: &Target, deadline: Instant) -> Result<Connected, Unconnected> {
    let found =
        addresses(target, deadline).await.map_err(|why| Unconnected { address: None, why })?;
    let mut first = None;
    for (tried, address) in found.iter().enumerate() {
        match connect_to(*address, share(deadline, found.len() - tried)).await {
            Ok(stream) => return Ok(Connected { stream, address: address.ip() }),
            Err(why) => {
                first.get_or_insert(Unconnected { address: Some(address.ip()), why });
            }
        }
    }
    Err(first.unwrap_or(Unconnected { address: None, why: Reach::Unresolved }))
}

pub async fn connect_to(address: SocketAddr, limit: Duration) -> Result<TcpStream, Reach> {
    match timeout(limit, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(Reach::of(&error)),
        Err(_) => Err(Reach::TimedOut),
    }
}

/// One of `parts` equal parts of the time that is left.
pub fn share(deadline: Instant, parts: usize) -> Duration {
    let left = deadline.saturating_duration_since(Instant::now());
    left / u32::try_from(parts.max(1)).unwrap_or(u32::MAX)
}
