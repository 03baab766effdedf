//! Somebody in the cluster who reacts to what is changed, as an operator does: it looks, decides by what
//! it sees alone, and writes its own status.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);

pub struct Actor {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Its hands: `kubectl` as the administrator.
#[derive(Clone)]
pub struct Kubectl(pub PathBuf);

impl Kubectl {
    #[expect(
        clippy::print_stderr,
        reason = "what an actor cannot do explains what a trial does not see"
    )]
    pub fn run(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new("kubectl");
        let output = command.arg("--kubeconfig").arg(&self.0).args(arguments).output().ok()?;
        if !output.status.success() && arguments[0] != "get" {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
        }
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub fn json(&self, arguments: &[&str]) -> Option<Value> {
        serde_json::from_str(&self.run(&[arguments, &["-o", "json"]].concat())?).ok()
    }

    pub fn create(&self, object: &Value) -> Option<()> {
        self.create_as(object, &[])
    }

    /// By somebody else than the administrator.
    pub fn create_as(&self, object: &Value, who: &[&str]) -> Option<()> {
        let mut command = Command::new("kubectl");
        command.arg("--kubeconfig").arg(&self.0).args(who).args(["create", "-f", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().ok()?;
        child.stdin.take()?.write_all(object.to_string().as_bytes()).ok()?;
        child.wait().ok()?.success().then_some(())
    }

    /// A condition of a ClusterOperator, which is at this place of its list.
    pub fn condition(&self, operator: &str, kind: &str, status: &str, message: &str) {
        let Some(found) = self.json(&["get", "clusteroperator", operator]) else { return };
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let Some(at) = conditions.iter().position(|one| one["type"] == kind) else { return };
        if conditions[at]["status"] == status {
            return;
        }
        let patch = serde_json::json!([
            {"op": "replace", "path": format!("/status/conditions/{at}/status"), "value": status},
            {"op": "add", "path": format!("/status/conditions/{at}/message"), "value": message},
        ]);
        let patch = patch.to_string();
        self.run(&[
            "patch",
            "clusteroperator",
            operator,
            "--subresource=status",
            "--type=json",
            "-p",
            &patch,
        ]);
    }
}

impl Actor {
    pub fn start(hands: Kubectl, act: impl Fn(&Kubectl) + Send + 'static) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::spawn(move || {
            while !end.load(Ordering::SeqCst) {
                act(&hands);
                std::thread::sleep(PERIOD);
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
