//! The real emulator of OpenStack, with TLS and basic authentication: nothing of it is ours.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot be set up has to stop, and to say why"
)]

mod common;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{PASSWORD, now, patience};
use plimsoll_bmc::{
    AuthStatus, Hand, Permission, ReachStatus, Reading, Secret, Switch, Target, read,
};

const ONE: &str = "11111111-1111-1111-1111-111111111111";
const TWO: &str = "22222222-2222-2222-2222-222222222222";
const STARTS: usize = 3;
const TRIES: usize = 300;

/// Ends with the test.
struct Emulator {
    child: Child,
    port: u16,
    ca_pem: String,
    folder: tempfile::TempDir,
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn the_emulator_is_read() {
    let Some(program) = installed() else { return };
    let emulator = start(&program).await;
    let system = format!("/redfish/v1/Systems/{ONE}");
    let reading = ask(&emulator, &system, PASSWORD).await;
    assert_eq!(reading.reach.status, ReachStatus::Answered, "{:?}", reading.reach);
    assert_eq!(reading.tls.as_ref().unwrap().trusted, Some(true));
    assert_eq!(reading.auth.status, AuthStatus::Accepted, "{:?}", reading.auth);
    let told = reading.system.as_ref().unwrap();
    assert_eq!(told.path.as_deref(), Some(system.as_str()));
    assert_eq!(told.paths_offered.len(), 2);
    assert_eq!(told.power.as_deref(), Some("Off"));
    let macs: Vec<_> = reading.nics.iter().filter_map(|nic| nic.mac.as_deref()).collect();
    assert_eq!(macs, ["52:54:00:00:00:10", "52:54:00:00:01:10"]);
    let drive = &reading.storage[0].drives[0];
    assert_eq!(drive.capacity_bytes, Some(899_527_000_000));
    assert!(reading.virtual_media.iter().any(|media| media.can_insert == Some(true)));
    // It has no accounts to tell, and no BIOS for a machine that is not there.
    assert_eq!(reading.privilege.virtual_media, Permission::Unknown);
    assert!(reading.bios.is_empty());
    assert!(reading.asked.iter().any(|asked| asked.status != 404), "{:?}", reading.asked);

    let reading = ask(&emulator, &system, "another-password").await;
    assert_eq!(reading.auth.status, AuthStatus::Unauthorized);
    assert!(reading.service.is_some() && reading.system.is_none());

    let other = ask(&emulator, &format!("/redfish/v1/Systems/{TWO}"), PASSWORD).await;
    assert_eq!(other.nics.len(), 1);
}

#[tokio::test]
async fn the_emulator_is_switched_on_and_off() {
    let Some(program) = installed() else { return };
    let emulator = start(&program).await;
    let target = target(&emulator, &format!("/redfish/v1/Systems/{ONE}"), PASSWORD);
    for to in [Switch::On, Switch::Off, Switch::Off] {
        let mut hand = Hand::open(&target, &patience(), now).await.ok().unwrap();
        hand.switch(to, Duration::from_secs(60)).await.unwrap();
        let hand = Hand::open(&target, &patience(), now).await.ok().unwrap();
        assert_eq!(hand.machine().power.as_deref(), Some(to.state()));
        assert_eq!(hand.machine().uuid.as_deref(), Some(ONE));
    }
}

fn target(emulator: &Emulator, system: &str, password: &str) -> Target {
    Target {
        name: "host".into(),
        address: format!("redfish-virtualmedia://127.0.0.1:{}{system}", emulator.port),
        username: Some("admin".into()),
        password: Some(Secret::new(password)),
        verify: true,
        ca_pem: Some(emulator.ca_pem.clone()),
        more_ca_pem: None,
    }
}

async fn ask(emulator: &Emulator, system: &str, password: &str) -> Reading {
    let target = target(emulator, system, password);
    let reading = read(&target, &patience(), now).await;
    assert!(!serde_json::to_string(&reading).unwrap().contains(password));
    reading
}

#[allow(clippy::disallowed_methods, reason = "whether to run it is for the environment to say")]
fn installed() -> Option<PathBuf> {
    if std::env::var("PLIMSOLL_SKIP_REAL").is_ok_and(|skip| skip == "1") {
        println!("skipped: PLIMSOLL_SKIP_REAL is set, so the real emulator was not run");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/real/sushy.sh");
    let output = Command::new("sh").arg(script).output().unwrap();
    assert!(
        output.status.success(),
        "the emulator cannot be installed (python3, venv and pip are needed; \
         PLIMSOLL_SKIP_REAL=1 leaves it out):\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap().trim().into())
}

/// Its port has to be known before, and may be taken by another meanwhile: then it is tried again.
async fn start(program: &Path) -> Emulator {
    for _ in 0..STARTS {
        let mut emulator = launch(program);
        for _ in 0..TRIES {
            if emulator.child.try_wait().unwrap().is_some() {
                break;
            }
            if tokio::net::TcpStream::connect(("127.0.0.1", emulator.port)).await.is_ok() {
                return emulator;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let log = std::fs::read_to_string(emulator.folder.path().join("log"));
        println!("{}", log.unwrap_or_default());
    }
    panic!("the emulator did not start");
}

fn launch(program: &Path) -> Emulator {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(["127.0.0.1".to_string()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    std::fs::write(at("tls.crt"), certificate.pem()).unwrap();
    std::fs::write(at("tls.key"), key.serialize_pem()).unwrap();
    let python = program.with_file_name("python");
    let hash = "import bcrypt, sys; print('admin:' + \
        bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())";
    let hashed = Command::new(python).args(["-c", hash, PASSWORD]).output().unwrap();
    assert!(hashed.status.success(), "{}", String::from_utf8_lossy(&hashed.stderr));
    std::fs::write(at("htpasswd"), hashed.stdout).unwrap();
    std::fs::create_dir(at("state")).unwrap();
    std::fs::write(at("conf.py"), configuration(folder.path(), port)).unwrap();
    let child = Command::new(program)
        .arg("--config")
        .arg(at("conf.py"))
        .arg("--fake")
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(at("log")).unwrap())
        .spawn()
        .unwrap();
    Emulator { child, port, ca_pem: certificate.pem(), folder }
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'
SUSHY_EMULATOR_LISTEN_PORT = {port}
SUSHY_EMULATOR_SSL_CERT = '{folder}/tls.crt'
SUSHY_EMULATOR_SSL_KEY = '{folder}/tls.key'
SUSHY_EMULATOR_AUTH_FILE = '{folder}/htpasswd'
SUSHY_EMULATOR_STATE_DIR = '{folder}/state'
SUSHY_EMULATOR_FAKE_DRIVER = True
SUSHY_EMULATOR_FAKE_SYSTEMS = [
    {{'uuid': '{ONE}', 'name': 'master-0', 'power_state': 'Off', 'nics': [
        {{'mac': '52:54:00:00:00:10', 'ip': '192.0.2.10'}},
        {{'mac': '52:54:00:00:01:10', 'ip': '192.0.2.110'}}]}},
    {{'uuid': '{TWO}', 'name': 'master-1', 'power_state': 'On', 'nics': [
        {{'mac': '52:54:00:00:00:11', 'ip': '192.0.2.11'}}]}},
]
SUSHY_EMULATOR_STORAGE = {{'{ONE}': [{{'Id': '1', 'Name': 'Local Storage Controller',
    'StorageControllers': [{{'MemberId': '0', 'Name': 'Contoso RAID', 'SpeedGbps': 12}}],
    'Drives': ['32ADF365C6C1B7BD']}}]}}
SUSHY_EMULATOR_DRIVES = {{('{ONE}', '1'): [{{'Id': '32ADF365C6C1B7BD', 'Name': 'Drive Sample',
    'CapacityBytes': 899527000000, 'Protocol': 'SAS'}}]}}
"
    )
}
