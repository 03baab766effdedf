//! The config as the installer sees it: deprecated fields moved, defaults set, hosts in its order.
//! Every value knows where it stands, or that nobody wrote it.

mod agent;
mod baremetal;
mod convert;
mod defaults;
mod install;

pub use agent::{AgentConfig, AgentHost, Interface};
pub use baremetal::{Baremetal, Bmc, Host, RootDeviceHints};
pub use install::{
    Capabilities, ClusterNetwork, Credential, Disk, External, Fencing, InstallConfig, Mirror,
    Networking, OperatorPublishing, Ovn, Platform, Pool, Proxy,
};

pub(crate) use convert::convert;
pub(crate) use defaults::set_defaults;

use std::fmt;

use crate::decode::UnknownKey;

/// Both files, as far as they could be read.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub install: Option<InstallConfig>,
    pub agent: Option<AgentConfig>,
    /// Keys that no field of this release has; the installer names at most the first of a file.
    pub unknown_keys: Vec<(crate::File, UnknownKey)>,
}

/// A text that is never shown, not even when debugging.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(crate::refusal::REDACTED)
    }
}
