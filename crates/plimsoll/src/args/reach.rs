use std::path::PathBuf;

use clap::Args;

/// How live sources are reached.
#[derive(Clone, Debug, Args)]
pub struct Reach {
    /// The kubeconfig to use, in place of $KUBECONFIG and ~/.kube/config
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Address of a control-plane node, to be asked where the API does not answer
    /// by its usual name; may be given more than once
    #[arg(long, value_name = "ADDRESS")]
    pub endpoint: Vec<String>,

    /// Do not probe names and ports of the cluster from here
    #[arg(long)]
    pub no_probe: bool,

    /// A server of NTP to hold clocks against; may be given more than once.
    /// Those in the chrony.conf of nodes that are read are asked without it
    #[arg(long, value_name = "HOST")]
    pub ntp_server: Vec<String>,

    /// Seconds that one request may be silent
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub request_timeout: u64,

    /// Seconds that the reading of live sources may take in all
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub timeout: u64,
}
