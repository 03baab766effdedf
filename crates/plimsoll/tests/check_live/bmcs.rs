//! BMCs: the real emulator, and mocks of what no emulator has.

use std::process::Command;
use std::time::Duration;

use plimsoll_bmc::mock::{Certificate, Fault, Server as Bmc, dell_r750};
use plimsoll_rig::{Emulator, System};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::support;
use super::support::namespace::sh;
use super::{Answer, Config, PASSWORD, SYSTEM};

#[tokio::test(flavor = "multi_thread")]
async fn each_bmc_is_told_by_what_is_first_wrong_with_it() {
    let good = || Bmc::of(dell_r750()).credentials("admin", PASSWORD);
    let clean = |bmc: plimsoll_bmc::mock::Builder| {
        let cd = "/redfish/v1/Managers/iDRAC.Embedded.1/VirtualMedia/CD";
        bmc.fault(cd, Fault::set("/Inserted", json!(false)))
            .fault(cd, Fault::set("/Image", Value::Null))
    };
    let well = clean(good()).start().await.unwrap();
    let strict = Bmc::of(dell_r750()).credentials("admin", "another").start().await.unwrap();
    let secure = good().tls(Certificate::SelfSigned).start().await.unwrap();
    let (gone, _bound) = support::closed().await;
    let bmcs = [
        well.address(SYSTEM),
        format!("redfish-virtualmedia+http://{gone}{SYSTEM}"),
        strict.address(SYSTEM),
        secure.address(SYSTEM),
        well.address("/redfish/v1/Systems/1"),
        "ipmi://127.0.0.1:9".to_string(),
    ];
    let answer = Config::of(&bmcs).check("--live=bmc", &[]);
    let clock = |found: &String| !found.starts_with("bmc-clock-wrong");
    let found: Vec<String> = answer.found().into_iter().filter(clock).collect();
    let expected = [
        "bmc-address-wrong InstallHost/master-4",
        "bmc-auth-failed InstallHost/master-2",
        "bmc-tls-untrusted InstallHost/master-3",
        "bmc-unreachable InstallHost/master-1",
        // There are six of them.
        "masters-beyond-replicas InstallConfig/lab",
    ];
    assert_eq!(found, expected, "{}", answer.text);
    let finding = answer.finding("bmc-auth-failed");
    assert_eq!(finding["path"], "platform.baremetal.hosts[2].bmc.address");
    assert_eq!(finding["evidence"][0]["path"], "bmc/master-2.json");
    let told = answer.not_checked();
    let hidden = told.iter().filter(|line| line.contains("does not tell")).collect::<Vec<_>>();
    assert!(hidden.is_empty(), "{hidden:?}");
    assert!(told.iter().any(|line| line.contains("only Redfish is read, and ipmi is none")));
    assert!(told.contains(&"hardware: not asked: --live=hardware".to_string()), "{told:?}");
    // Accounts lock: the wrong password was sent once.
    let tried = strict.requests().iter().filter(|request| request.has_credentials).count();
    assert_eq!(tried, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_media_and_the_clock_of_a_bmc_are_told() {
    let good = || Bmc::of(dell_r750()).credentials("admin", PASSWORD);
    let role = "/redfish/v1/AccountService/Roles/Administrator";
    let weak = good().fault(role, Fault::set("/AssignedPrivileges", json!(["Login"])));
    let weak = weak.start().await.unwrap();
    let media = "/redfish/v1/Managers/iDRAC.Embedded.1/VirtualMedia";
    let empty = good().fault(media, Fault::set("/Members", json!([]))).start().await.unwrap();
    let ill = good()
        .fault(&format!("{SYSTEM}/Bios"), Fault::set("/Attributes/BootMode", json!("Bios")))
        .fault(SYSTEM, Fault::set("/Status/HealthRollup", json!("Critical")));
    let ill = ill.start().await.unwrap();
    let bmcs = [weak.address(SYSTEM), empty.address(SYSTEM), ill.address(SYSTEM)];
    let answer = Config::of(&bmcs).check("--live=bmc", &[]);
    let found = answer.found();
    for expected in [
        "bmc-privilege InstallHost/master-0",
        "virtual-media-missing InstallHost/master-1",
        "host-hardware-critical InstallHost/master-2",
        "virtual-media-occupied InstallHost/master-2",
        "boot-mode-mismatch InstallHost/master-2",
        "bmc-clock-wrong InstallHost/master-2",
    ] {
        assert!(found.contains(&expected.to_string()), "{expected}: {found:?} {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_odd_host_and_the_small_one_are_named() {
    let good = || Bmc::of(dell_r750()).credentials("admin", PASSWORD);
    let bios = "/redfish/v1/Systems/System.Embedded.1/Bios";
    let odd = good()
        .fault(SYSTEM, Fault::set("/BiosVersion", json!("1.9.0")))
        .fault(bios, Fault::set("/Attributes/SriovGlobalEnable", json!("Disabled")))
        .fault(SYSTEM, Fault::set("/MemorySummary/TotalSystemMemoryGiB", json!(8)));
    let odd = odd.start().await.unwrap();
    let others = [good().start().await.unwrap(), good().start().await.unwrap()];
    let bmcs = [others[0].address(SYSTEM), odd.address(SYSTEM), others[1].address(SYSTEM)];
    let config = Config::of(&bmcs);
    let answer = config.check("--live=hardware", &[]);
    let found = answer.found();
    let about =
        |id: &str| -> Vec<&String> { found.iter().filter(|found| found.starts_with(id)).collect() };
    assert_eq!(about("hardware-not-uniform"), ["hardware-not-uniform InstallHost/master-1"]);
    assert_eq!(about("hardware-too-small"), ["hardware-too-small InstallHost/master-1"]);
    assert_eq!(about("boot-mac-not-found"), ["boot-mac-not-found InstallHost/master-2"]);
    let message = answer.finding("hardware-not-uniform")["message"].as_str().unwrap();
    for part in
        ["bios version: 1.9.0 (others: 1.15.2)", "SriovGlobalEnable: Disabled", "memory: 8 GiB"]
    {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn disks_are_held_against_hints_and_the_least_size() {
    let unit = format!("{SYSTEM}/Storage/RAID.SL.3-1");
    let good = || {
        let bmc = Bmc::of(dell_r750()).credentials("admin", PASSWORD);
        bmc.fault(&format!("{unit}/Volumes"), Fault::set("/Members", json!([])))
    };
    let other = |bay: u8| Fault::set("/SerialNumber", json!(format!("S6KMNE0T20000{bay}")));
    let drive = |bay: u8| format!("{unit}/Drives/Disk.Bay.{bay}");
    let small = Fault::set("/CapacityBytes", json!(64_000_000_000_u64));
    let without = good().fault(&drive(0), other(0)).fault(&drive(1), other(1));
    let little = good().fault(&drive(0), small.clone()).fault(&drive(1), small);
    let bmcs = [
        good().start().await.unwrap(),
        without.start().await.unwrap(),
        little.start().await.unwrap(),
    ];
    let addresses: Vec<String> = bmcs.iter().map(|bmc| bmc.address(SYSTEM)).collect();
    let config = Config { hint: Some("S6KMNE0T100000"), ..Config::of(&addresses) };
    let answer = config.check("--live=hardware", &[]);
    let found = answer.found();
    let about =
        |id: &str| -> Vec<&String> { found.iter().filter(|found| found.starts_with(id)).collect() };
    let hint = "root-device-hint-matches-nothing";
    assert_eq!(about(hint), [&format!("{hint} InstallHost/master-1")], "{}", answer.text);
    assert_eq!(about("disk-not-eligible"), ["disk-not-eligible InstallHost/master-2"]);
    // A volume hides the drives behind it: nobody can tell.
    let raid = Bmc::of(dell_r750()).credentials("admin", PASSWORD).start().await.unwrap();
    let config = Config { hint: Some("X"), ..Config::of(&[raid.address(SYSTEM)]) };
    assert!(
        !config.check("--live=hardware", &[]).found().iter().any(|found| found.starts_with(hint))
    );
}

#[test]
fn the_real_emulator_is_asked_with_the_credentials_of_the_config() {
    if let Some(why) = Emulator::cannot_run() {
        println!("skipped: {why}");
        return;
    }
    let uuid = "11111111-1111-1111-1111-111111111111";
    let macs = &["b0:7b:25:00:11:21"];
    let system = System { uuid, name: "master-0", power: "Off", macs };
    let emulator = Emulator::start(PASSWORD, &[system], "").unwrap();
    let config = Config::of(&[emulator.address(uuid)]);
    let strict = config.check("--live=bmc", &[]);
    assert_eq!(strict.found(), ["bmc-tls-untrusted InstallHost/master-0"], "{}", strict.text);
    let lax = "        disableCertificateVerification: true\n        password:";
    let text = config.text().replace("        password:", lax);
    let answer = Answer::of(&text, "--live=bmc,hardware,ports", &[]);
    let found = answer.found();
    let bad = ["bmc-", "virtual-media-missing", "install-port", "boot-mac"];
    assert!(!found.iter().any(|id| bad.iter().any(|bad| id.starts_with(bad))), "{}", answer.text);
    let wrong = text.replace(PASSWORD, "another-password");
    let answer = Answer::of(&wrong, "--live=bmc", &[]);
    assert_eq!(answer.found(), ["bmc-auth-failed InstallHost/master-0"], "{}", answer.text);
}

/// BMCs that take connections and say nothing.
fn mute() -> (Vec<std::net::TcpListener>, Config) {
    let all: Vec<_> = (0..3).map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let address = |it: &std::net::TcpListener| {
        format!("redfish-virtualmedia+http://{}{SYSTEM}", it.local_addr().unwrap())
    };
    let addresses: Vec<String> = all.iter().map(address).collect();
    (all, Config::of(&addresses))
}

#[test]
fn nobody_is_waited_for_longer_than_was_said() {
    let (_listeners, config) = mute();
    let started = std::time::Instant::now();
    let answer = config.check("--live=bmc,hardware,ports", &["--request-timeout", "1"]);
    assert!(started.elapsed() < Duration::from_secs(60));
    let expected = [0, 1, 2].map(|n| format!("bmc-unreachable InstallHost/master-{n}"));
    assert_eq!(answer.found(), expected, "{}", answer.text);
}

#[test]
fn an_interrupt_ends_it() {
    let (_listeners, config) = mute();
    let folder = TempDir::new().unwrap();
    fs_err::write(folder.path().join("install-config.yaml"), config.text()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["check", "install-config.yaml", "--live=bmc"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    sh(&format!("kill -INT {}", child.id()));
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130));
}
