//! One trial's folder, and the program run in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use plimsoll_lab::{Tree, parse_cases};
use serde_json::Value;
use tempfile::TempDir;

use crate::actor::Kubectl;
use crate::cluster::Cluster;

pub const NOW: &str = "2025-12-03T18:42:00Z";

pub struct Site {
    pub folder: TempDir,
    pub config: PathBuf,
}

impl Site {
    pub fn new(cluster: &Cluster) -> Self {
        Self { folder: TempDir::new().unwrap(), config: cluster.server.admin().unwrap() }
    }

    pub fn hands(&self) -> Kubectl {
        Kubectl(self.config.clone())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        let state = self.state();
        command
            .arg("fix")
            .args(arguments)
            .args(["--now", NOW, "--no-probe", "--state"])
            .arg(state)
            .args(["--poll", "1"])
            .current_dir(self.folder.path())
            .env("KUBECONFIG", &self.config);
        command
    }

    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn fix(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn begin(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The plan, as it is shown.
    pub fn plan(&self, arguments: &[&str]) -> Value {
        let output = self.fix(&[arguments, &["--output", "json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn journal(&self, digest: &str) -> PathBuf {
        self.state().join("sessions").join(digest).join("journal.jsonl")
    }
}

pub fn words(output: &Output) -> String {
    let (said, told) = (&output.stdout, &output.stderr);
    format!("{}\n{}", String::from_utf8_lossy(said), String::from_utf8_lossy(told))
}

/// The first case of a file that fires.
pub fn case(path: &str) -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs_err::read_to_string(root.join(path)).unwrap();
    parse_cases(&text).unwrap()[0].tree().unwrap()
}
