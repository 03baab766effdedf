//! Who is asked: a host and a port, written as people write them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `api-int.lab.example.com:6443`, `192.0.2.5:22623`, `[2001:db8::5]:443`
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a target is HOST:PORT, with brackets around an IPv6 address")]
pub struct NoTarget;

impl Target {
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self { host: host.into(), port }
    }

    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let (host, port) = text.rsplit_once(':').ok_or(NoTarget)?;
        let port = port.parse().map_err(|_| NoTarget)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_name = |host: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (1..=253).contains(&host.len()) && host.bytes().all(fits)
        };
        match bare {
            Some(bare) if bare.parse::<std::net::Ipv6Addr>().is_ok() => Ok(Self::new(bare, port)),
            None if is_name(host) => Ok(Self::new(host, port)),
            _ => Err(NoTarget),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = NoTarget;

    fn try_from(text: String) -> Result<Self, NoTarget> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_reads_as_it_is_written() {
        for text in ["api-int.lab.example.com:6443", "192.0.2.5:22623", "[2001:db8::5]:443"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        assert!("[2001:db8::5]:443".parse::<Target>().unwrap().address().is_some());
        for text in ["", "host", "host:", ":443", "host:99999", "2001:db8::5:443", "a@b:1", "[x]:1"]
        {
            assert_eq!(text.parse::<Target>(), Err(NoTarget), "{text}");
        }
    }
}
