use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plimsoll_install::Release;

use super::Talk;

/// Find every fault of an install before anything boots
///
/// Reads install-config.yaml and agent-config.yaml, says what 'openshift-install'
/// of that release would refuse, and what it would not and costs an hour later.
/// Exit codes: 0 ready, 1 blocked, 2 wrong usage, 66 unreadable input.
#[derive(Debug, Args)]
pub struct Check {
    /// install-config.yaml, agent-config.yaml, or the folder that they stand in
    #[arg(value_name = "FILE", required_unless_present = "example")]
    pub files: Vec<PathBuf>,

    /// The release to be installed, 4.14 to 4.20
    #[arg(long, value_name = "4.NN", default_value_t = Release::default())]
    pub release: Release,

    /// Check for 'openshift-install agent …'; so it is where an agent-config.yaml is
    /// given
    #[arg(long)]
    pub agent: bool,

    /// The installer is openshift-install-fips, on a host in FIPS mode
    #[arg(long)]
    pub fips_installer: bool,

    /// What the release payload of the installer is for
    #[arg(long, value_enum, value_name = "ARCH", default_value_t = Payload::Amd64)]
    pub payload: Payload,

    /// Look at the outside too: names, VIPs, BMCs, hardware, clocks, ports, mirrors and
    /// this machine; all that applies, or these parts. Nothing is written anywhere
    #[arg(long, value_enum, value_name = "PART", num_args = 0.., require_equals = true, value_delimiter = ',')]
    pub live: Option<Vec<LivePart>>,

    /// Look for this release in the mirrors, by its digest
    #[arg(long, value_name = "IMAGE", requires = "live")]
    pub release_image: Option<String>,

    /// Seconds that one request of --live may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub request_timeout: u64,

    /// Seconds that --live may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub timeout: u64,

    /// Leave out findings of this id; may be given more than once
    #[arg(long, value_name = "ID")]
    pub skip: Vec<String>,

    /// Only findings of this id; may be given more than once
    #[arg(long, value_name = "ID")]
    pub only: Vec<String>,

    /// Say of each finding why it matters
    #[arg(long)]
    pub explain: bool,

    /// Show what can be mended by rote as a diff, write a mended copy beside each file
    /// (install-config.fixed.yaml), and check the copy; on a terminal you are asked first
    #[arg(long, conflicts_with = "example")]
    pub fix: bool,

    /// Write the copies of --fix without being asked
    #[arg(long, requires = "fix")]
    pub yes: bool,

    /// Print a config to start from, with a comment on each line, and check nothing
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "files")]
    pub example: Option<Example>,

    /// Form of the answer
    #[arg(long, short, value_enum, default_value_t = CheckOutput::Text)]
    pub output: CheckOutput,

    /// Take this as the time of the check
    #[arg(long, value_name = "RFC3339")]
    pub now: Option<jiff::Timestamp>,

    /// Add a knowledge pack from a folder; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub pack: Vec<PathBuf>,

    /// Findings that you accept, in place of ./plimsoll.toml
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    #[command(flatten)]
    pub talk: Talk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Payload {
    Amd64,
    Arm64,
    Ppc64le,
    S390x,
    /// All of them
    Multi,
}

impl Payload {
    pub fn architecture(self) -> Option<&'static str> {
        match self {
            Self::Amd64 => Some("amd64"),
            Self::Arm64 => Some("arm64"),
            Self::Ppc64le => Some("ppc64le"),
            Self::S390x => Some("s390x"),
            Self::Multi => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LivePart {
    /// Names of the API, of applications and of nodes
    Dns,
    /// Whether anybody has the VIPs already
    Vip,
    /// Way, trust, password and rights
    Bmc,
    /// What the hosts are made of, by their BMCs
    Hardware,
    /// Servers of time, and this clock
    Clock,
    /// Ports of BMCs and mirrors
    Ports,
    /// Mirror registries, and a release in them
    Mirror,
    /// This machine
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckOutput {
    Text,
    Json,
    Markdown,
    Html,
    Junit,
    Sarif,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Example {
    /// Bare metal by BMCs, three masters and two workers
    Baremetal,
    /// The agent-based installer, with static addresses
    Agent,
    /// One node that is everything
    Sno,
    /// Three masters that also do the work
    Compact,
}
