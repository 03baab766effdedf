//! `bmc:FILE` from the command line, with BMCs that answer over the network.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::process::Command;

use plimsoll_bmc::mock::{Certificate, Fault, Server, dell_r750};
use serde_json::{Value, json};
use tempfile::TempDir;

const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const PASSWORD: &str = "secret-of-the-bmc";

fn plimsoll(folder: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(folder.path())
        .env("KUBECONFIG", "/nowhere")
        .env("BMC_PASSWORD", PASSWORD)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn unpacked(folder: &TempDir, member: &str) -> Value {
    let output = Command::new("tar")
        .args(["xzOf", "bmcs.tar.gz", &format!("capture/bmc/{member}.json")])
        .current_dir(folder.path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn bmcs_are_read_compared_and_captured_without_their_passwords() {
    let good = || Server::of(dell_r750()).credentials("admin", PASSWORD);
    let well =
        [good().start().await.unwrap(), good().tls(Certificate::SelfSigned).start().await.unwrap()];
    let legacy = Fault::set("/Boot/BootSourceOverrideMode", json!("Legacy"));
    let odd = good().fault(SYSTEM, legacy).start().await.unwrap();
    let strict = Server::of(dell_r750()).credentials("admin", "another").start().await.unwrap();
    let folder = TempDir::new().unwrap();
    fs_err::write(folder.path().join("password"), format!("{PASSWORD}\n")).unwrap();
    let hosts = format!(
        "hosts:\n- name: master-0\n  address: {}\n  username: admin\n  passwordFile: password\n- name: master-1\n  address: {}\n  username: admin\n  passwordEnv: BMC_PASSWORD\n  disableCertificateVerification: true\n- name: master-2\n  bmc:\n    address: {}\n    username: admin\n    password: {PASSWORD}\n- name: worker-0\n  address: {}\n  username: admin\n  password: {PASSWORD}\n",
        well[0].address(SYSTEM),
        well[1].address(SYSTEM),
        odd.address(SYSTEM),
        strict.address(SYSTEM),
    );
    fs_err::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let (code, account, talk) =
        plimsoll(&folder, &["capture", "bmc:hosts.yaml", "-o", "bmcs.tar.gz"]);
    // One of them does not take the password: the archive is there, and it has a gap.
    assert_eq!(code, 3, "{account} {talk}");
    assert!(account.contains("BMC of worker-0: it does not take the credentials"), "{account}");
    assert_eq!(unpacked(&folder, "master-0")["auth"]["status"], "accepted");
    assert_eq!(unpacked(&folder, "master-1")["tls"]["trusted"], false);
    assert_eq!(unpacked(&folder, "master-1")["verify"], false);
    assert_eq!(unpacked(&folder, "master-0")["verify"], true);
    assert_eq!(unpacked(&folder, "worker-0")["auth"]["status"], "unauthorized");
    let differences = unpacked(&folder, "differences");
    let odd = differences.as_array().unwrap().iter().any(|one| one["odd"] == "worker-0");
    assert!(odd, "{differences:#}");
    let all = Command::new("tar").args(["xzOf", "bmcs.tar.gz"]).current_dir(folder.path()).output();
    assert!(!String::from_utf8_lossy(&all.unwrap().stdout).contains(PASSWORD));
    let (_, live, _) = plimsoll(&folder, &["diagnose", "bmcs.tar.gz", "--output", "json"]);
    assert!(live.contains("\"kind\": \"capture\"") && !live.contains(PASSWORD), "{live}");
    // Who asked for no verification is not told to ask for none.
    assert!(!is_active(&live, "bmc-tls-untrusted"), "{live}");
}

fn is_active(diagnosis: &str, state: &str) -> bool {
    let diagnosis: Value = serde_json::from_str(diagnosis).unwrap();
    let states = diagnosis["states"].as_array().unwrap();
    states.iter().any(|one| one["id"] == state && one["status"] == "active")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_system_that_the_bmc_does_not_have_is_told() {
    let bmc = Server::of(dell_r750()).credentials("admin", PASSWORD).start().await.unwrap();
    let folder = TempDir::new().unwrap();
    let host = format!(
        "- name: w\n  address: {}\n  username: admin\n  passwordEnv: BMC_PASSWORD\n",
        bmc.address("/redfish/v1/Systems/7")
    );
    fs_err::write(folder.path().join("hosts.yaml"), host).unwrap();
    let (code, account, talk) =
        plimsoll(&folder, &["capture", "bmc:hosts.yaml", "-o", "bmcs.tar.gz"]);
    assert_eq!(code, 3, "{account} {talk}");
    let told = "the address asks for this system, and the BMC has another";
    let account = account.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(account.contains(&format!("BMC of w: /redfish/v1/Systems/7: {told}")), "{account}");
    let (_, live, _) = plimsoll(&folder, &["diagnose", "bmc:hosts.yaml", "--output", "json"]);
    assert!(is_active(&live, "bmc-address-wrong") && live.contains(told), "{live}");
}

#[test]
fn a_password_in_an_address_is_shown_nowhere() {
    let folder = TempDir::new().unwrap();
    let hosts =
        format!("hosts:\n- address: redfish+http://root:{PASSWORD}@127.0.0.1:9/redfish/v1\n");
    fs_err::write(folder.path().join("hosts.yaml"), hosts).unwrap();
    let (_, account, talk) = plimsoll(&folder, &["capture", "bmc:hosts.yaml", "-o", "bmcs.tar.gz"]);
    assert!(account.contains("BMC of redfish+http://127.0.0.1:9"), "{account}");
    let tar = |how: &str| {
        let run =
            Command::new("tar").args([how, "bmcs.tar.gz"]).current_dir(folder.path()).output();
        run.unwrap().stdout
    };
    let all = [tar("tzf"), tar("xzOf")].concat();
    for text in [account, talk, String::from_utf8_lossy(&all).into_owned()] {
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

/// However many there are, all of them have to keep to the time that was given.
#[test]
fn silent_bmcs_keep_to_the_time_of_the_whole() {
    let folder = TempDir::new().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let system = format!("redfish+http://{address}/redfish/v1/Systems");
    let host = |at| format!("- name: host-{at}\n  address: {system}/{at}\n");
    let hosts: String = (0..40).map(host).collect();
    fs_err::write(folder.path().join("hosts.yaml"), format!("hosts:\n{hosts}")).unwrap();
    let begun = std::time::Instant::now();
    let arguments = ["capture", "bmc:hosts.yaml", "-o", "bmcs.tar.gz", "--timeout", "4"];
    let (_, account, _) = plimsoll(&folder, &[&arguments[..], &["--output", "json"]].concat());
    let took = begun.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    assert_eq!(account.matches("BMC of host-").count(), 40, "{account}");
    // Who had no time to answer is not called silent.
    let list = Command::new("tar").args(["tzf", "bmcs.tar.gz"]).current_dir(folder.path()).output();
    assert!(!String::from_utf8_lossy(&list.unwrap().stdout).contains("capture/bmc/"));
    assert!(account.contains("the time that was given for the whole reading is over"), "{account}");
}

#[test]
fn a_file_without_hosts_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    for (text, told) in [
        ("hosts: []\n", "hosts.yaml:1: its list of hosts is empty"),
        ("a: b\n", "hosts.yaml:1: it has no hosts"),
        ("hosts:\n- name: x\n", "hosts.yaml:2: this host has no BMC address"),
        ("hosts:\n- address: x\n  passwordEnv: NOT_SET_ANYWHERE\n", "$NOT_SET_ANYWHERE is not set"),
        ("hosts:\n- address: x\n  passwordFile: none\n", "hosts.yaml:2: cannot read none"),
        ("hosts: [\n", "cannot read hosts.yaml"),
        (
            "hosts:\n- name: x\n  address: a\n- name: x\n  address: b\n",
            "hosts.yaml:4: the host in line 2 has the same name",
        ),
        (
            "- name: x\n  address: redfish://10.0.0.1/redfish/v1/Systems/1\n- name: y\n  address: redfish-virtualmedia://10.0.0.1:443/redfish/v1/Systems/1/\n",
            "hosts.yaml:3: the host in line 1 has the same BMC",
        ),
        (
            "- name: x\n  address: ipmi://10.0.0.1\n- name: y\n  address: ipmi://10.0.0.1\n",
            "hosts.yaml:3: the host in line 1 has the same BMC",
        ),
        (
            "- address: a\n  disableCertificateVerification: yes\n",
            "hosts.yaml:2: disableCertificateVerification: write true, without quotes",
        ),
        (
            "- address: a\n  disableCertificateVerification: \"false\"\n",
            "hosts.yaml:2: disableCertificateVerification: write false, without quotes",
        ),
        (
            "- address: a\n  disableCertificateVerification:\n",
            "disableCertificateVerification: write true or false",
        ),
        (
            "- address: a\n  disableCertificateVerificaton: true\n",
            "hosts.yaml:2: 'disableCertificateVerificaton' is no key of a host: it has name, address,",
        ),
        (
            "platform:\n  baremetal:\n    hosts:\n    - name: x\n      role: master\n      bmc:\n        address: a\n        user: b\n",
            "hosts.yaml:8: 'user' is no key of a BMC: it has address, username,",
        ),
        (
            "- name: x\n  bmc:\n    address: a\n  disableCertificateVerification: true\n",
            "hosts.yaml:4: 'disableCertificateVerification' belongs under 'bmc' of this host",
        ),
    ] {
        fs_err::write(folder.path().join("hosts.yaml"), text).unwrap();
        let (code, _, talk) = plimsoll(&folder, &["diagnose", "bmc:hosts.yaml"]);
        assert_eq!(code, 66, "{text}: {talk}");
        assert!(talk.contains(told), "{text}: {talk}");
    }
}
