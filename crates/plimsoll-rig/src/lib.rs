//! Real parts for tests and benchmarks: etcd and kube-apiserver on loopback, with the objects of a
//! must-gather in them, and a stand-in for the kubelets that serve logs; or one real kubelet. And the
//! BMCs of an emulator.
//!
//! Objects are written straight into etcd, as the API server itself would have stored them. So they
//! keep their uid and their times, which no client may set, and twenty thousand pods take seconds.

mod apiserver;
mod definitions;
mod emulator;
mod etcd;
mod faulty;
mod kubelet;
mod load;
mod node;
mod pki;
mod process;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub use apiserver::ApiServer;
pub use definitions::definitions;
pub use emulator::{Emulator, System};
pub use etcd::{Etcd, EtcdCluster};
pub use faulty::{Fault, Faulty};
pub use kubelet::Kubelets;
pub use load::Objects;
pub use node::{IMAGE, RealKubelet};
pub use pki::{Authority, Identity, VALID};
pub use process::{Running, free_port, wait_for};

/// Runs a script of `xtask/real`, which prints the folder of what it got.
pub fn real(script: &str, arguments: &[&str]) -> Result<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/real").join(script);
    let output =
        Command::new("bash").arg(&file).args(arguments).output().context(script.to_string())?;
    if !output.status.success() {
        bail!("{script}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    Ok(text.trim().into())
}
