//! Which BMC to read, as whom, and how long to wait for it.

use std::fmt;
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct Target {
    /// Of the host, in whatever form the caller knows it.
    pub name: String,
    /// As in `spec.bmc.address` of a BareMetalHost, or a URL, or a host.
    pub address: String,
    pub username: Option<String>,
    pub password: Option<Secret>,
    /// Without it, an untrusted certificate is told and does not end the reading.
    pub verify: bool,
    /// Takes the place of the system's roots.
    pub ca_pem: Option<String>,
}

/// A text that is sent to a BMC and shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub connect: Duration,
    pub request: Duration,
    /// For all that is asked of one BMC.
    pub total: Duration,
}

impl Default for Patience {
    /// A BMC is slow: an iDRAC takes seconds for its network adapters.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(30),
            total: Duration::from_secs(180),
        }
    }
}
