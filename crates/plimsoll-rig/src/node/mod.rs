//! A real kubelet on a real containerd: a node in namespaces of its own on this machine.
//!
//! The node has its own `/etc`, `/var` and `/run`; programs and the kernel are the machine's. It is
//! joined by one link, over which the API server reaches the kubelet directly, and the kubelet the
//! API through `api-int`, which is forwarded as a load balancer would.

use std::io::Write;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fs_err::File;
use serde_json::{Value, json};

use crate::apiserver::{ApiServer, PROGRAMS};
use crate::pki::VALID;
use crate::process::wait_for;
use crate::real;

const SCRIPT: &str = include_str!("node.sh");
const UNIT: &str = include_str!("unit.sh");
/// Every line of the kubelet as the journal has it: by its own clock, which is that of this machine.
const JOURNAL: &str = r#"[ "$2" = kubelet ] || exit 0
host=$(hostname)
month=$(date -u +%b)
sed -n -E "s/^([IWEF])([0-9]{2})([0-9]{2}) ([0-9:.]+)(.*)$/$month \\3 \\4 $host kubenswrapper[1]: \\1\\2\\3 \\4\\5/p" /var/log/kubelet.log"#;
const SSHD: &str = "Port 22
HostKey /etc/ssh/host
AuthorizedKeysFile /etc/ssh/user.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
SetEnv PLIMSOLL_SECONDS=2 PATH=/run/standins:/usr/sbin:/usr/bin:/sbin:/bin
";
/// What the node cannot do without, and the packages that have it. What is there is left as it is: where
/// Docker is, another package of containerd would put it out.
const PROGRAMS_OF_NODE: [(&str, &str); 5] = [
    ("busybox", "busybox-static"),
    ("containerd", "containerd"),
    ("ctr", "containerd"),
    ("ip", "iproute2"),
    ("runc", "runc"),
];
/// The only image of a node: busybox, and nothing is ever pulled.
pub const IMAGE: &str = "docker.io/local/busybox:1";
const API: &str = "api-int.lab.example.com";
const CGROUPS: &str = "/sys/fs/cgroup";
const CONTROLLERS: [&str; 7] = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"];
/// Nodes of this process.
static NODES: AtomicU32 = AtomicU32::new(0);
const PREPARED: Duration = Duration::from_secs(60);
const READY: Duration = Duration::from_secs(120);
/// Of what the kubelet last said, when it does not do what it should.
const LAST_WORDS: usize = 4000;

pub struct RealKubelet {
    pub name: String,
    pub address: Ipv4Addr,
    /// What the node has on its disks: `etc`, `var` and `run`.
    pub root: PathBuf,
    group: String,
    process: Child,
    commands: Option<ChildStdin>,
}

impl RealKubelet {
    /// Why no kubelet can run on this machine; `None` where it can.
    pub fn cannot_run() -> Option<String> {
        let missing: Vec<&str> = CONTROLLERS
            .into_iter()
            .filter(|name| !Path::new(CGROUPS).join(name).join("cgroup.procs").exists())
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Some(format!(
                "this kubelet wants cgroups of version 1, and {CGROUPS} lacks {missing}"
            ));
        }
        let group = Path::new(CGROUPS).join("pids").join(group("try"));
        if let Err(error) = fs_err::create_dir(&group) {
            return Some(format!("no cgroup can be made: {error}"));
        }
        let _ = fs_err::remove_dir(&group);
        let output = namespaces(&["true"]).output();
        match output {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).trim().to_string();
                Some(format!("no namespaces with mounts of their own: {why}"))
            }
            Err(error) => Some(format!("no namespaces: {error}")),
        }
    }

    /// A node below `folder` that has joined and is ready. The server has to be one that reaches
    /// nodes itself.
    pub fn start(server: &ApiServer, folder: &Path, name: &str) -> Result<Self> {
        install()?;
        let program = real("kubernetes.sh", &PROGRAMS)?.join("kubelet");
        sweep();
        let number = NODES.fetch_add(1, Ordering::Relaxed);
        let (gateway, address) = addresses(number);
        let root = folder.join(name);
        let group = group(name);
        lay_out(server, &root, (name, gateway, address), &group)?;
        let log = File::create(folder.join(format!("{name}.log")))?;
        let mut process = namespaces(&["sh", "-c", SCRIPT])
            .env("NODE", name)
            .env("ADDRESS", address.to_string())
            .env("GATEWAY", gateway.to_string())
            .env("LINK", format!("plim{}-{number}", std::process::id()))
            .env("ROOT", &root)
            .env("CGROUP", &group)
            .env("IMAGE", IMAGE)
            .env("KUBELET", program)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?.into_parts().0)
            .stderr(log.into_parts().0)
            .spawn()
            .context("unshare")?;
        let commands = process.stdin.take();
        let mut node = Self { name: name.into(), address, root, group, process, commands };
        let begun = wait_for("the node", PREPARED, || {
            node.root.join("run/prepared").exists() || !node.is_alive()
        });
        if begun.is_err() || !node.is_alive() {
            bail!("node {name}: {}", fs_err::read_to_string(folder.join(format!("{name}.log")))?);
        }
        let api = TcpListener::bind((gateway, 0))?;
        node.join(server, api.local_addr()?.port())?;
        forward(api, server.port);
        node.restart(server)?;
        Ok(node)
    }

    fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// What a node gets when its requests are approved.
    fn join(&self, server: &ApiServer, port: u16) -> Result<()> {
        let user = format!("system:node:{}", self.name);
        let own = server.authority.sign((&user, &["system:nodes"]), &[], VALID)?;
        let current = self.root.join("var/lib/kubelet/pki/kubelet-client-current.pem");
        fs_err::write(&current, format!("{}{}", own.certificate, own.key))?;
        let file = "/var/lib/kubelet/pki/kubelet-client-current.pem";
        // As the kubelet itself writes it.
        let config = format!(
            "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority: /etc/kubernetes/ca.crt\n    server: https://{API}:{port}\n  name: default-cluster\ncontexts:\n- context:\n    cluster: default-cluster\n    namespace: default\n    user: default-auth\n  name: default-context\ncurrent-context: default-context\nkind: Config\npreferences: {{}}\nusers:\n- name: default-auth\n  user:\n    client-certificate: {file}\n    client-key: {file}\n"
        );
        fs_err::write(self.root.join("var/lib/kubelet/kubeconfig"), config)?;
        Ok(())
    }

    fn say(&mut self, command: &str) -> Result<()> {
        let commands = self.commands.as_mut().context("the node has ended")?;
        Ok(writeln!(commands, "{command}")?)
    }

    fn say_and_wait(&mut self, command: &str) -> Result<()> {
        let done = self.root.join("run/done");
        self.say(command)?;
        wait_for("the kubelet", READY, || done.exists())?;
        Ok(fs_err::remove_file(done)?)
    }

    /// It still has its port, and says nothing any more.
    pub fn freeze(&mut self) -> Result<()> {
        self.say_and_wait("freeze")
    }

    /// At once, without a word; containers run on.
    pub fn kill(&mut self) -> Result<()> {
        self.say_and_wait("kill")
    }

    /// Starts the kubelet, and waits until the API has its node as ready.
    pub fn restart(&mut self, server: &ApiServer) -> Result<()> {
        self.say("start")?;
        let begun = wait_for("the node", READY, || self.ready(server).as_deref() == Some("True"));
        begun.with_context(|| self.last_words())
    }

    /// From now on it can be come to over the system's `ssh`, and its kubelet is a unit that asks for its
    /// certificate when it has none, as on OpenShift. Gives the folder of the `ssh` that knows the way.
    pub fn serve_ssh(&mut self, folder: &Path) -> Result<PathBuf> {
        real("apt.sh", &["openssh-server", "openssh-client"])?;
        let at = |name: &str| self.root.join(name);
        for name in ["etc/ssh", "run/standins", "run/kubelet.unit"] {
            fs_err::create_dir_all(at(name))?;
        }
        let programs = folder.join("programs");
        fs_err::create_dir_all(&programs)?;
        let user = folder.join("user");
        for key in [&at("etc/ssh/host"), &user] {
            let mut keygen = Command::new("ssh-keygen");
            let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(key).status()?;
            anyhow::ensure!(made.success(), "ssh-keygen");
        }
        fs_err::copy(user.with_extension("pub"), at("etc/ssh/user.pub"))?;
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/usr/sbin/nologin\n";
        fs_err::write(at("etc/passwd"), passwd)?;
        fs_err::write(at("etc/ssh/sshd_config"), SSHD)?;
        fs_err::write(
            at("run/bin/more-arguments"),
            "--bootstrap-kubeconfig=/etc/kubernetes/kubeconfig",
        )?;
        script(&at("run/standins/systemctl"), UNIT)?;
        script(&at("run/standins/journalctl"), JOURNAL)?;
        script(&at("run/standins/sudo"), "exit 1")?;
        self.say_and_wait("sshd")?;
        let client = format!(
            "Host {}\n  HostName {}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
            self.name,
            self.address,
            user.display()
        );
        let config = folder.join("ssh_config");
        fs_err::write(&config, client)?;
        let ssh = programs.join("ssh");
        script(&ssh, &format!("exec /usr/bin/ssh -F {} \"$@\"", config.display()))?;
        wait_for("sshd", READY, || {
            let mut login = Command::new(&ssh);
            login.args(["-o", "BatchMode=yes", &self.name, "true"]);
            login.output().is_ok_and(|output| output.status.success())
        })?;
        Ok(programs)
    }

    /// The status of the condition `Ready`, as the API has it.
    pub fn ready(&self, server: &ApiServer) -> Option<String> {
        let path = "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}";
        server.kubectl(&["get", "node", &self.name, "-o", path], "").ok()
    }

    /// A static pod of this node.
    pub fn run(&self, pod: &Value) -> Result<()> {
        let name = pod.pointer("/metadata/name").and_then(Value::as_str).context("no name")?;
        let folder = self.root.join("etc/kubernetes/manifests");
        // Half a file would be half a pod.
        let hidden = folder.join(format!(".{name}"));
        fs_err::write(&hidden, format!("{pod:#}"))?;
        Ok(fs_err::rename(hidden, folder.join(format!("{name}-pod.yaml")))?)
    }

    pub fn last_words(&self) -> String {
        let log = fs_err::read_to_string(self.root.join("var/log/kubelet.log")).unwrap_or_default();
        let from = log.len().saturating_sub(LAST_WORDS);
        String::from_utf8_lossy(&log.as_bytes()[from..]).into_owned()
    }
}

impl Drop for RealKubelet {
    fn drop(&mut self) {
        // With the end of its stdin the first process ends, and then the kernel ends all others.
        drop(self.commands.take());
        if wait_for("the end of the node", READY, || !self.is_alive()).is_err() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
        remove(&self.group);
    }
}

/// A program in namespaces of its own, with that of the network it comes from on fd 3.
fn namespaces(program: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "exec 3</proc/self/ns/net; exec unshare \"$@\"", "sh"])
        .args(["--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child"])
        .arg("--mount-proc")
        .args(program);
    command
}

fn install() -> Result<()> {
    for (program, package) in PROGRAMS_OF_NODE {
        let found = Command::new("sh").arg("-c").arg(format!("command -v {program}")).output()?;
        if !found.status.success() {
            real("apt.sh", &[package])?;
        }
    }
    Ok(())
}

fn script(file: &Path, text: &str) -> Result<()> {
    fs_err::write(file, format!("#!/bin/sh\n{text}\n"))?;
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    Ok(fs_err::set_permissions(file, mode)?)
}

/// Of a range that is kept for tests of networks, a part by the numbers of process and node.
fn addresses(number: u32) -> (Ipv4Addr, Ipv4Addr) {
    let part = (std::process::id() * 8 + number) % 0x8000;
    let first = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + part * 4;
    (Ipv4Addr::from(first + 1), Ipv4Addr::from(first + 2))
}

fn group(name: &str) -> String {
    format!("plimsoll-{}-{name}", std::process::id())
}

/// Groups of tests that were ended before they could remove them.
fn sweep() {
    let pids = Path::new(CGROUPS).join("pids");
    for entry in fs_err::read_dir(pids).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("plimsoll-").and_then(|rest| rest.split('-').next());
        let gone = |pid: &str| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists();
        if owner.is_some_and(gone) {
            remove(&name);
        }
    }
}

/// From all hierarchies, as soon as nothing is left in it.
fn remove(group: &str) {
    let _ = wait_for("the end of its cgroups", Duration::from_secs(5), || {
        let hierarchies = fs_err::read_dir(CGROUPS).into_iter().flatten().flatten();
        let left: Vec<PathBuf> = hierarchies
            .map(|entry| entry.path().join(group))
            .filter(|path| path.exists())
            .collect();
        left.iter().for_each(|path| remove_below(path));
        !left.iter().any(|path| path.exists())
    });
}

/// Of a cgroup only the folders can be removed, the innermost first.
fn remove_below(folder: &Path) {
    for entry in fs_err::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    let _ = fs_err::remove_dir(folder);
}

/// Everything that comes goes on to this port of loopback.
fn forward(from: TcpListener, port: u16) {
    let pour = |mut from: TcpStream, mut to: TcpStream| {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    };
    std::thread::spawn(move || {
        for client in from.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            if let (Ok(there), Ok(back)) = (client.try_clone(), server.try_clone()) {
                pour(there, server);
                pour(back, client);
            }
        }
    });
}

/// What stands on the disks of the node before it is switched on.
fn lay_out(
    server: &ApiServer,
    root: &Path,
    (name, gateway, address): (&str, Ipv4Addr, Ipv4Addr),
    group: &str,
) -> Result<()> {
    for folder in [
        "etc/cni/net.d",
        "etc/containerd",
        "etc/kubernetes/manifests",
        "run",
        "var/lib/kubelet/pki",
        "var/log/pods",
        "var/tmp",
    ] {
        fs_err::create_dir_all(root.join(folder))?;
    }
    std::os::unix::fs::symlink("/run", root.join("var/run"))?;
    let write = |file: &str, text: &str| fs_err::write(root.join(file), text);
    write("etc/hostname", &format!("{name}\n"))?;
    write("etc/hosts", &format!("127.0.0.1 localhost\n{gateway} {API}\n{address} {name}\n"))?;
    write("etc/resolv.conf", "")?;
    write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")?;
    write("etc/group", "root:x:0:\n")?;
    server.authority.write(&root.join("etc/kubernetes"), "ca")?;
    let user = format!("system:node:{name}");
    let serving =
        server.authority.sign((&user, &["system:nodes"]), &[name, &address.to_string()], VALID)?;
    serving.write(&root.join("var/lib/kubelet/pki"), "kubelet")?;
    // The runtime wants a network before it says that it is ready. Pods here have that of the node.
    let loopback = json!({"cniVersion": "0.4.0", "name": "lab", "plugins": [{"type": "loopback"}]});
    write("etc/cni/net.d/10-lab.conflist", &loopback.to_string())?;
    write("etc/containerd/config.toml", &containerd())?;
    write("etc/kubernetes/kubelet.conf", &format!("{:#}", kubelet(group)))?;
    Ok(())
}

fn containerd() -> String {
    format!(
        r#"version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/etc/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"#
    )
}

/// Who it listens to is as on OpenShift. It tells more often that it is alive, so that its silence
/// is noticed sooner, and nothing is evicted because this machine's disk is full.
fn kubelet(group: &str) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "staticPodPath": "/etc/kubernetes/manifests",
        "fileCheckFrequency": "1s",
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": "/etc/kubernetes/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": "/var/lib/kubelet/pki/kubelet.crt",
        "tlsPrivateKeyFile": "/var/lib/kubelet/pki/kubelet.key",
        "rotateCertificates": true,
        "readOnlyPort": 0,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{group}"),
        "failSwapOn": false,
        "makeIPTablesUtilChains": false,
        "resolvConf": "/etc/resolv.conf",
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 8,
        "evictionHard": {"memory.available": "1Mi"},
        "imageGCHighThresholdPercent": 100,
    })
}
