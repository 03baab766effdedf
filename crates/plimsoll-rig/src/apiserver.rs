//! A real kube-apiserver on loopback, and kubeconfigs for it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::etcd::Etcd;
use crate::kubelet::Kubelets;
use crate::pki::{Authority, Identity, VALID};
use crate::process::{Running, free_port, wait_for};
use crate::real;

const READY: Duration = Duration::from_secs(120);
/// Names that its certificate holds, beside those of loopback.
const NAMES: [&str; 6] = [
    "localhost",
    "127.0.0.1",
    "kubernetes",
    "kubernetes.default.svc",
    "api.lab.example.com",
    "api-int.lab.example.com",
];

/// One line a request, when it is over.
const AUDIT: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
";

/// Built together, which takes little longer than one alone.
pub const PROGRAMS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kubelet"];

/// Where the API server asks for the logs of a node.
#[derive(Clone, Copy, PartialEq)]
enum Nodes {
    /// Of the stand-in, whatever the address of the node.
    StandIn,
    /// Of the kubelet at the address of the node, which knows it by its certificate.
    Themselves,
}

pub struct ApiServer {
    pub folder: PathBuf,
    pub port: u16,
    pub authority: Authority,
    pub etcd: Etcd,
    pub kubelets: Kubelets,
    process: Running,
    command: Command,
}

impl ApiServer {
    /// With an etcd of its own, below `folder`.
    pub fn start(folder: &Path) -> Result<Self> {
        Self::start_with(folder, Nodes::StandIn)
    }

    /// One that asks real kubelets.
    pub fn start_for_kubelets(folder: &Path) -> Result<Self> {
        Self::start_with(folder, Nodes::Themselves)
    }

    fn start_with(folder: &Path, nodes: Nodes) -> Result<Self> {
        if Command::new("kubectl").args(["version", "--client"]).output().is_err() {
            real("apt.sh", &["kubernetes-client"])?;
        }
        let program = real("kubernetes.sh", &PROGRAMS)?.join("kube-apiserver");
        let etcd = Etcd::start(folder)?;
        let authority = Authority::new("kube-apiserver-lb-signer")?;
        let kubelet = authority.sign(("system:node:lab", &[]), &["localhost"], VALID)?;
        let kubelets = Kubelets::start(&folder.join("kubelets.sock"), &kubelet)?;
        let ca = authority.write(folder, "ca")?;
        let (certificate, key) =
            authority.sign(("kube-apiserver", &[]), &NAMES, VALID)?.write(folder, "serving")?;
        let signing = authority.sign(("service-accounts", &[]), &[], VALID)?;
        let (verifying, signing_key) = signing.write(folder, "service-accounts")?;
        let port = free_port()?;
        let file = |path: &Path| path.display().to_string();
        let mut command = Command::new(program);
        command
            .arg(format!("--etcd-servers={}", etcd.url()))
            .args(["--bind-address=127.0.0.1", "--advertise-address=10.99.0.1"])
            .arg(format!("--secure-port={port}"))
            .arg(format!("--tls-cert-file={}", file(&certificate)))
            .arg(format!("--tls-private-key-file={}", file(&key)))
            .arg(format!("--client-ca-file={}", file(&ca)))
            .arg(format!("--service-account-key-file={}", file(&verifying)))
            .arg(format!("--service-account-signing-key-file={}", file(&signing_key)))
            .arg("--service-account-issuer=https://kubernetes.default.svc")
            .args(["--service-cluster-ip-range=172.30.0.0/16", "--authorization-mode=Node,RBAC"])
            .args(["--disable-admission-plugins=ServiceAccount", "--allow-privileged=true"])
            .arg("--kubelet-preferred-address-types=InternalIP")
            .args(["--watch-cache=false", "--profiling=false", "--event-ttl=24h"]);
        match nodes {
            Nodes::StandIn => {
                let egress = folder.join("egress.yaml");
                fs_err::write(&egress, egress_by(&kubelets.socket))?;
                command.arg(format!("--egress-selector-config-file={}", file(&egress)));
            }
            Nodes::Themselves => {
                let own = ("system:kube-apiserver", &["system:masters"][..]);
                let own = authority.sign(own, &[], VALID)?.write(folder, "kubelet-client")?;
                command
                    .arg(format!("--kubelet-client-certificate={}", file(&own.0)))
                    .arg(format!("--kubelet-client-key={}", file(&own.1)))
                    .arg(format!("--kubelet-certificate-authority={}", file(&ca)))
                    .arg("--enable-admission-plugins=NodeRestriction");
            }
        }
        let log = folder.join("apiserver.log");
        let process = Running::start(&mut command, &log)?;
        let mut server =
            Self { folder: folder.into(), port, authority, etcd, kubelets, process, command };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<()> {
        let config = self.admin()?;
        let process = &mut self.process;
        let log = self.folder.join("apiserver.log");
        wait_for("the API server", READY, || {
            assert!(process.is_alive(), "{}", fs_err::read_to_string(&log).unwrap_or_default());
            let output = Command::new("kubectl")
                .args(["--kubeconfig", &config.display().to_string(), "get", "--raw", "/readyz"])
                .output();
            output.is_ok_and(|output| output.status.success())
        })
    }

    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// What kills it from anywhere, also while it is being asked.
    pub fn killer(&self) -> impl Fn() + Send + Sync + 'static {
        let process = self.process.id().to_string();
        move || {
            let _ = Command::new("kill").args(["-KILL", &process]).status();
        }
    }

    /// Until it answers again, after its etcd was away.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        self.wait()
    }

    /// Restarts it with more on its command line: from then on every request is a line of the file
    /// that is given back, in which `"username":"NAME"` says whose it was.
    pub fn audited(&mut self) -> Result<PathBuf> {
        let (policy, log) = (self.folder.join("audit.yaml"), self.folder.join("audit.log"));
        fs_err::write(&policy, AUDIT)?;
        self.command
            .arg(format!("--audit-policy-file={}", policy.display()))
            .arg(format!("--audit-log-path={}", log.display()));
        self.restart()?;
        Ok(log)
    }

    pub fn restart(&mut self) -> Result<()> {
        self.process.kill();
        self.process = Running::start(&mut self.command, &self.folder.join("apiserver.log"))?;
        self.wait()
    }

    /// A real controller manager with these controllers, for as long as it is held.
    pub fn controllers(&self, names: &str, arguments: &[&str]) -> Result<Running> {
        let program = real("kubernetes.sh", &PROGRAMS)?.join("kube-controller-manager");
        let config = self.admin()?;
        let mut command = Command::new(program);
        for role in ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"] {
            command.arg(format!("--{role}={}", config.display()));
        }
        command
            .args(["--bind-address=127.0.0.1", "--port=0", "--leader-elect=false"])
            .arg(format!("--secure-port={}", free_port()?))
            .arg(format!("--controllers={names}"))
            .args(arguments);
        Running::start(&mut command, &self.folder.join("controllers.log"))
    }

    pub fn admin(&self) -> Result<PathBuf> {
        let admin = self.authority.sign(("admin", &["system:masters"]), &[], VALID)?;
        self.kubeconfig("admin", &self.server(), &admin, &self.authority.pem)
    }

    /// A kubeconfig with one context of this name, in a file of this name.
    pub fn kubeconfig(
        &self,
        name: &str,
        server: &str,
        identity: &Identity,
        authority: &str,
    ) -> Result<PathBuf> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {
                "server": server, "certificate-authority-data": STANDARD.encode(authority)}}],
            "users": [{"name": name, "user": {
                "client-certificate-data": STANDARD.encode(&identity.certificate),
                "client-key-data": STANDARD.encode(&identity.key)}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        });
        let file = self.folder.join(format!("{name}.kubeconfig"));
        // Whoever reads it at this moment finds the one or the other, and no half.
        let mut whole = tempfile::NamedTempFile::new_in(&self.folder)?;
        write!(whole, "{config:#}")?;
        whole.persist(&file)?;
        Ok(file)
    }

    /// Runs `kubectl` as the administrator, with `input` on its stdin.
    pub fn kubectl(&self, arguments: &[&str], input: &str) -> Result<String> {
        let config = self.admin()?;
        let file = self.folder.join("kubectl.input");
        fs_err::write(&file, input)?;
        let output = Command::new("kubectl")
            .arg("--kubeconfig")
            .arg(config)
            .args(arguments)
            .stdin(fs_err::File::open(file)?.into_parts().0)
            .output()?;
        if !output.status.success() {
            anyhow::bail!("kubectl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// What the API server asks of kubelets goes to the stand-in, whatever the address of the node.
fn egress_by(socket: &Path) -> String {
    format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n- name: cluster\n  connection:\n    proxyProtocol: HTTPConnect\n    transport:\n      uds:\n        udsName: {}\n",
        socket.display()
    )
}
