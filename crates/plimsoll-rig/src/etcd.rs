//! etcd: one member over plain HTTP behind an API server, or three with TLS on their own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pki::{Authority, VALID};
use crate::process::{Running, free_port, wait_for};
use crate::real;

const READY: Duration = Duration::from_secs(60);
/// Keys that are written at once; etcd is started with a limit above that.
const AT_ONCE: usize = 1000;

pub struct Etcd {
    port: u16,
    process: Running,
    command: Command,
    log: PathBuf,
}

impl Etcd {
    pub fn start(folder: &Path) -> Result<Self> {
        let program = real("etcd.sh", &[])?.join("etcd");
        let (port, peers) = (free_port()?, free_port()?);
        let client = format!("http://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{peers}");
        let mut command = Command::new(program);
        command.args(["--name", "m1", "--data-dir"]).arg(folder.join("etcd")).args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
            "--initial-cluster",
            &format!("m1={peer}"),
            "--unsafe-no-fsync",
            "--max-txn-ops",
            "5000",
            "--max-request-bytes",
            "33554432",
            "--quota-backend-bytes",
            "4294967296",
        ]);
        let log = folder.join("etcd.log");
        let process = Running::start(&mut command, &log)?;
        let etcd = Self { port, process, command, log };
        etcd.wait()?;
        Ok(etcd)
    }

    fn wait(&self) -> Result<()> {
        wait_for("etcd", READY, || post(self.port, "/v3/maintenance/status", &json!({})).is_ok())
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// With all that was written before.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill();
        self.process = Running::start(&mut self.command, &self.log)?;
        self.wait()
    }

    /// What forgets all revisions but the newest, so that a list that is being read cannot go on
    /// where it was.
    pub fn forgetter(&self) -> impl Fn() -> Result<()> + Send + Sync + 'static {
        let port = self.port;
        move || {
            let key = json!({"key": STANDARD.encode("plimsoll"), "value": ""});
            let put = post(port, "/v3/kv/put", &key)?;
            let revision = put["header"]["revision"].clone();
            post(port, "/v3/kv/compaction", &json!({"revision": revision, "physical": true}))?;
            Ok(())
        }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Writes keys with their values.
    pub fn put(&self, all: &[(String, String)]) -> Result<()> {
        for some in all.chunks(AT_ONCE) {
            let puts: Vec<Value> = some
                .iter()
                .map(|(key, value)| {
                    let put = json!({"key": STANDARD.encode(key), "value": STANDARD.encode(value)});
                    json!({"requestPut": put})
                })
                .collect();
            post(self.port, "/v3/kv/txn", &json!({"success": puts}))?;
        }
        Ok(())
    }

    /// Deletes everything below a prefix.
    pub fn delete(&self, prefix: &str) -> Result<()> {
        let mut end = prefix.as_bytes().to_vec();
        end.iter_mut().next_back().into_iter().for_each(|last| *last += 1);
        let range = json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end)});
        post(self.port, "/v3/kv/deleterange", &range)?;
        Ok(())
    }
}

fn post(port: u16, path: &str, body: &Value) -> Result<Value> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    if !head.contains(" 200 ") {
        bail!("etcd: {head} {body}");
    }
    Ok(serde_json::from_str(body)?)
}

/// Three members that speak TLS with each other and with clients.
pub struct EtcdCluster {
    members: Vec<Running>,
    pub endpoints: Vec<String>,
    folder: PathBuf,
    programs: PathBuf,
}

impl EtcdCluster {
    pub fn start(folder: &Path, names: [&str; 3]) -> Result<Self> {
        let programs = real("etcd.sh", &[])?;
        let authority = Authority::new("etcd-signer")?;
        authority.write(folder, "ca")?;
        let identity = authority.sign(("etcd", &[]), &["localhost", "127.0.0.1"], VALID)?;
        identity.write(folder, "etcd")?;
        let ports: Vec<(u16, u16)> =
            (0..3).map(|_| Ok((free_port()?, free_port()?))).collect::<Result<_>>()?;
        let peers: Vec<String> = names
            .iter()
            .zip(&ports)
            .map(|(name, (_, peer))| format!("{name}=https://127.0.0.1:{peer}"))
            .collect();
        let mut members = Vec::new();
        let mut endpoints = Vec::new();
        for (name, (client, peer)) in names.into_iter().zip(&ports) {
            let client = format!("https://127.0.0.1:{client}");
            let peer = format!("https://127.0.0.1:{peer}");
            let mut command = Command::new(programs.join("etcd"));
            command
                .current_dir(folder)
                .args(["--name", name, "--data-dir", name])
                .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
                .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
                .args(["--initial-cluster", &peers.join(","), "--unsafe-no-fsync"])
                .args(["--cert-file=etcd.crt", "--key-file=etcd.key", "--client-cert-auth"])
                .args(["--trusted-ca-file=ca.crt", "--peer-trusted-ca-file=ca.crt"])
                .args(["--peer-cert-file=etcd.crt", "--peer-key-file=etcd.key"])
                .arg("--peer-client-cert-auth");
            members.push(Running::start(&mut command, &folder.join(format!("{name}.log")))?);
            endpoints.push(client);
        }
        let cluster = Self { members, endpoints, folder: folder.into(), programs };
        wait_for("three members of etcd", READY, || cluster.is_healthy())?;
        Ok(cluster)
    }

    /// The call of `etcdctl` that a master's own would be, to be followed by a question.
    pub fn client(&self) -> Vec<String> {
        let file = |name: &str| self.folder.join(name).display().to_string();
        vec![
            self.programs.join("etcdctl").display().to_string(),
            format!("--endpoints={}", self.endpoints.join(",")),
            "--command-timeout=3s".into(),
            format!("--cacert={}", file("ca.crt")),
            format!("--cert={}", file("etcd.crt")),
            format!("--key={}", file("etcd.key")),
        ]
    }

    fn is_healthy(&self) -> bool {
        let client = self.client();
        let mut command = Command::new(&client[0]);
        command.env("ETCDCTL_API", "3").args(&client[1..]).args(["endpoint", "health"]);
        command.output().is_ok_and(|output| output.status.success())
    }

    pub fn kill(&mut self, member: usize) {
        self.members[member].kill();
    }
}
