//! The Redfish emulator of OpenStack on loopback, with TLS and a password: BMCs of which nothing is ours.
//! Whoever holds one stands at its machines, too: inserts media, presses the power button and looks.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kubelet::head_of;
use crate::pki::{Authority, VALID};
use crate::process::{Running, free_port, wait_for};
use crate::real;

const USER: &str = "admin";
/// A port may be taken by another before it is listened on: then it is tried again.
const STARTS: usize = 3;
const READY: Duration = Duration::from_secs(60);
/// The emulator takes up to eleven seconds to switch a machine, as machines do.
const SWITCHED: Duration = Duration::from_secs(60);
const ANSWER: Duration = Duration::from_secs(60);
const HASH: &str = "import bcrypt, sys; print(sys.argv[1] + ':' + \
    bcrypt.hashpw(sys.argv[2].encode(), bcrypt.gensalt(4)).decode())";

/// A machine behind a BMC. It has a UUID and ports; of its serial number the emulator knows nothing.
#[derive(Clone, Copy, Debug)]
pub struct System<'s> {
    pub uuid: &'s str,
    pub name: &'s str,
    /// `On` or `Off`, as it is found.
    pub power: &'s str,
    pub macs: &'s [&'s str],
}

/// Ends with the one who holds it.
pub struct Emulator {
    pub port: u16,
    /// Of the authority that signed its certificate.
    pub ca_pem: String,
    password: String,
    tls: Arc<ClientConfig>,
    process: Running,
    folder: TempDir,
}

impl Emulator {
    /// Why it is not to be run here; `None` where it is.
    #[expect(
        clippy::disallowed_methods,
        reason = "whether to run it is for the environment to say"
    )]
    pub fn cannot_run() -> Option<String> {
        let skips = std::env::var("PLIMSOLL_SKIP_REAL").is_ok_and(|skip| skip == "1");
        skips.then(|| "PLIMSOLL_SKIP_REAL is set, so the real emulator was not run".into())
    }

    /// As the user `admin` with this password. `more`: lines of its configuration, which is Python.
    pub fn start(password: &str, systems: &[System], more: &str) -> Result<Self> {
        let program = real("sushy.sh", &[]).context(
            "the emulator cannot be installed (python3, venv and pip are needed; \
             PLIMSOLL_SKIP_REAL=1 leaves it out)",
        )?;
        let mut said = String::new();
        for _ in 0..STARTS {
            let mut emulator = Self::launch(&program, password, systems, more)?;
            if emulator.comes_up() {
                return Ok(emulator);
            }
            said = emulator.log();
        }
        bail!("the emulator did not start:\n{said}")
    }

    fn launch(program: &Path, password: &str, systems: &[System], more: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let at = |name: &str| folder.path().join(name);
        let authority = Authority::new("bmc-signer")?;
        authority.sign(("bmc", &[]), &["127.0.0.1"], VALID)?.write(folder.path(), "tls")?;
        fs_err::write(at("htpasswd"), hashed(program, password)?)?;
        fs_err::create_dir(at("state"))?;
        let port = free_port()?;
        fs_err::write(at("conf.py"), configuration(folder.path(), port, systems, more))?;
        let mut command = Command::new(program);
        // Images that are inserted are fetched into the folder for temporary files, and stay there.
        command
            .arg("--config")
            .arg(at("conf.py"))
            .arg("--fake")
            .env("TMPDIR", folder.path())
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1");
        let process = Running::start(&mut command, &at("log"))?;
        let tls = Arc::new(trusting(&authority.pem)?);
        let (password, ca_pem) = (password.into(), authority.pem);
        Ok(Self { port, ca_pem, password, tls, process, folder })
    }

    /// By its own certificate, so that nobody else at this port is taken for it.
    fn comes_up(&mut self) -> bool {
        let is_decided = || !self.process.is_alive() || self.get("/redfish/v1/").is_ok();
        wait_for("the emulator", READY, is_decided).is_ok() && self.process.is_alive()
    }

    fn log(&self) -> String {
        fs_err::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// As a BareMetalHost has it.
    pub fn address(&self, uuid: &str) -> String {
        format!("redfish-virtualmedia://127.0.0.1:{}{}", self.port, path(uuid))
    }

    /// On or Off, as the BMC tells it.
    pub fn power(&self, uuid: &str) -> Result<String> {
        let system = self.get(&path(uuid))?;
        Ok(system["PowerState"].as_str().context("it does not tell its power")?.into())
    }

    /// Presses the button, and waits until it is so.
    pub fn switch(&self, uuid: &str, to: &str) -> Result<()> {
        let kind = if to == "Off" { "ForceOff" } else { "On" };
        let place = format!("{}/Actions/ComputerSystem.Reset", path(uuid));
        self.ask("POST", &place, &json!({"ResetType": kind}))?;
        let is_so = || self.power(uuid).is_ok_and(|power| power == to);
        wait_for(&format!("{uuid} to be {to}"), SWITCHED, is_so)
    }

    /// What the machine starts from, at every start.
    pub fn boot_from(&self, uuid: &str, device: &str) -> Result<()> {
        let boot = json!({"BootSourceOverrideTarget": device,
            "BootSourceOverrideEnabled": "Continuous"});
        self.ask("PATCH", &path(uuid), &json!({"Boot": boot}))?;
        Ok(())
    }

    /// Puts an image into the virtual drive. The emulator fetches it, as a BMC does.
    pub fn insert(&self, uuid: &str) -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let image = format!("http://{}/boot.iso", listener.local_addr()?);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                served(stream);
            }
        });
        self.ask("POST", &action(uuid, "InsertMedia"), &json!({"Image": image}))?;
        Ok(())
    }

    /// Takes it out again.
    pub fn eject(&self, uuid: &str) -> Result<()> {
        self.ask("POST", &action(uuid, "EjectMedia"), &json!({}))?;
        Ok(())
    }

    /// Whether there is an image in the virtual drive.
    pub fn is_inserted(&self, uuid: &str) -> Result<bool> {
        let drive = self.get(&format!("{}/VirtualMedia/Cd", path(uuid)))?;
        drive["Inserted"].as_bool().context("it does not tell what is in its drive")
    }

    /// `POST /redfish/v1/…` of everything but questions, in the order in which it was asked for, by
    /// whomever.
    pub fn changes(&self) -> Vec<String> {
        let asked = |line: &str| {
            let (request, _) = line.split('"').nth(1)?.rsplit_once(" HTTP/")?;
            // What was refused stands there in colour.
            (!request.contains("GET /")).then(|| request.to_string())
        };
        self.log().lines().filter_map(asked).filter(|one| one.contains("/redfish/")).collect()
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.ask("GET", path, &Value::Null)
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let credentials = STANDARD.encode(format!("{USER}:{}", self.password));
        let connection = ClientConnection::new(self.tls.clone(), "127.0.0.1".try_into()?)?;
        let socket = TcpStream::connect(("127.0.0.1", self.port))?;
        socket.set_read_timeout(Some(ANSWER))?;
        let mut stream = StreamOwned::new(connection, socket);
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nAuthorization: Basic {credentials}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        stream.flush()?;
        let mut answer = Vec::new();
        // It ends the connection without a word of farewell. What is cut off is no JSON.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        if !head.split(' ').nth(1).is_some_and(|status| status.starts_with('2')) {
            bail!("{method} {path}: {head}\n{body}");
        }
        if body.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(body)?)
    }
}

fn path(uuid: &str) -> String {
    format!("/redfish/v1/Systems/{uuid}")
}

fn action(uuid: &str, name: &str) -> String {
    format!("{}/VirtualMedia/Cd/Actions/VirtualMedia.{name}", path(uuid))
}

fn trusting(pem: &str) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes())?)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

/// An image of a few bytes, to whoever asks.
fn served(mut stream: TcpStream) -> Option<()> {
    let image = "no image at all";
    head_of(&mut stream)?;
    let length = image.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(image.as_bytes()).ok()
}

/// The line of a user as Apache has it, hashed by what the emulator itself checks it with.
fn hashed(program: &Path, password: &str) -> Result<Vec<u8>> {
    let python: PathBuf = program.with_file_name("python");
    let output = Command::new(python).args(["-c", HASH, USER, password]).output()?;
    if !output.status.success() {
        bail!("no password: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

/// What is JSON is Python as well, as long as nothing in it is true, false or null.
fn configuration(folder: &Path, port: u16, systems: &[System], more: &str) -> String {
    let folder = folder.display();
    let system = |one: &System| {
        let nics: Vec<Value> = one.macs.iter().map(|mac| json!({"mac": mac})).collect();
        json!({"uuid": one.uuid, "name": one.name, "power_state": one.power, "nics": nics})
    };
    let systems = Value::Array(systems.iter().map(system).collect());
    format!(
        "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_SSL_CERT = '{folder}/tls.crt'
SUSHY_EMULATOR_SSL_KEY = '{folder}/tls.key'
SUSHY_EMULATOR_AUTH_FILE = '{folder}/htpasswd'
SUSHY_EMULATOR_STATE_DIR = '{folder}/state'
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_FAKE_SYSTEMS = {systems}
{more}"
    )
}
