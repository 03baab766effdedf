//! What `openshift-install` of a release says of an install-config.yaml and an agent-config.yaml:
//! the verdict, the path, the kind and the sentence of every error, and where in the user's file it
//! stands.
//!
//! The truth is the installer's own source. This crate says what the installer says and what it reads,
//! and nothing more; it reads no file, asks no network and knows no clock. What the installer would ask of the
//! outside world is listed in [`Judgement::not_checked`].

mod agent;
mod bmc;
mod check;
mod config;
mod decode;
mod document;
mod expected;
mod go;
mod indentation;
mod judge;
mod misreading;
mod names;
mod place;
mod provision;
mod reader;
mod refusal;
mod release;
mod rules;
mod schema;
mod unread;

pub use bmc::{BmcAddress, Driver};
pub use config::{
    AgentConfig, AgentHost, Baremetal, Bmc, Capabilities, ClusterNetwork, Config, Credential, Disk,
    External, Fencing, Host, InstallConfig, Interface, Mirror, Networking, OperatorPublishing, Ovn,
    Platform, Pool, Proxy, RootDeviceHints,
};
pub use decode::UnknownKey;
pub use expected::{Expected, Scalar};
pub use go::address::{Network, offset, parse_ip};
pub use judge::{Input, Judgement, Unreadable, Verdict, judge, judge_by};
pub use misreading::{Misread, Misreading};
pub use place::{Place, Placed};
pub use refusal::{ErrorType, File, Refusal, Stage};
pub use release::{Installer, Method, Release, UnknownRelease};
pub use rules::{Rule, rules};
pub use unread::Unread;

/// install-config.yaml as go-yaml reads it, for what no config holds.
pub fn tree(text: &str) -> Option<plimsoll_yaml::Node> {
    document::read(text, File::Install).ok().map(|document| document.root)
}

/// The same tree with every text as it stands in the file, for who wants to change it there.
pub fn written(text: &str) -> Option<plimsoll_yaml::Node> {
    document::written(text).ok()
}

/// What a field of type string becomes: `123456` is a text there, and `0777` is `511`.
pub fn text_of(node: &plimsoll_yaml::Node) -> Option<String> {
    node.as_text().map(str::to_string).or_else(|| decode::as_text(node))
}

/// The driver that the bare-metal operator chooses for the address of a BMC, or its complaint.
pub fn bmc_driver(address: &str) -> Result<Driver, String> {
    bmc::driver(address)
}
