//! Which BMC to read, as whom, and how long to wait for it.

use std::fmt;
use std::time::Duration;

use tokio::time::Instant;

use crate::address;

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
    /// Trusted beside those.
    pub more_ca_pem: Option<String>,
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
    /// When everything has to be over, however many BMCs there are.
    pub until: Option<Instant>,
}

impl Default for Patience {
    /// A BMC is slow: an iDRAC takes seconds for its network adapters.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(30),
            total: Duration::from_secs(180),
            until: None,
        }
    }
}

impl Patience {
    /// Of a BMC that is asked from now on.
    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        let own = now + self.total;
        self.until.map_or(own, |until| until.min(own))
    }

    pub(crate) fn is_over(&self) -> &'static str {
        match self.until.is_some_and(|until| until <= Instant::now()) {
            true => "the time that was given for the whole reading is over",
            false => "the time for this BMC is over",
        }
    }
}

impl Target {
    /// Some have no other name than their address, and that may hold a password.
    pub fn shown_name(&self) -> String {
        address::shown(&self.name)
    }
}
