//! The real emulator of OpenStack, with TLS and basic authentication: nothing of it is ours.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot be set up has to stop, and to say why"
)]

mod common;

use std::time::Duration;

use common::{PASSWORD, now, patience};
use plimsoll_bmc::{
    AuthStatus, Hand, Permission, ReachStatus, Reading, Secret, Switch, Target, read,
};
use plimsoll_rig::{Emulator, System};

const ONE: &str = "11111111-1111-1111-1111-111111111111";
const TWO: &str = "22222222-2222-2222-2222-222222222222";
const SYSTEMS: [System; 2] = [
    System {
        uuid: ONE,
        name: "master-0",
        power: "Off",
        macs: &["52:54:00:00:00:10", "52:54:00:00:01:10"],
    },
    System { uuid: TWO, name: "master-1", power: "On", macs: &["52:54:00:00:00:11"] },
];

#[tokio::test]
async fn the_emulator_is_read() {
    let Some(emulator) = started() else { return };
    let system = format!("/redfish/v1/Systems/{ONE}");
    let reading = ask(&emulator, ONE, PASSWORD).await;
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

    let reading = ask(&emulator, ONE, "another-password").await;
    assert_eq!(reading.auth.status, AuthStatus::Unauthorized);
    assert!(reading.service.is_some() && reading.system.is_none());

    let other = ask(&emulator, TWO, PASSWORD).await;
    assert_eq!(other.nics.len(), 1);
    assert_eq!(emulator.changes(), Vec::<String>::new(), "a reading changes nothing");
}

#[tokio::test]
async fn the_emulator_is_switched_on_and_off() {
    let Some(emulator) = started() else { return };
    let target = target(&emulator, ONE, PASSWORD);
    for to in [Switch::On, Switch::Off, Switch::Off] {
        let mut hand = Hand::open(&target, &patience(), now).await.ok().unwrap();
        hand.switch(to, Duration::from_secs(60)).await.unwrap();
        let hand = Hand::open(&target, &patience(), now).await.ok().unwrap();
        assert_eq!(hand.machine().power.as_deref(), Some(to.state()));
        assert_eq!(hand.machine().uuid.as_deref(), Some(ONE));
        // It has none, so that nobody is switched off here by proof of it.
        assert_eq!(hand.machine().serial, None);
    }
    assert_eq!(emulator.power(TWO).unwrap(), "On", "the other one is left alone");
}

#[tokio::test]
async fn what_is_in_the_drive_is_ejected_once() {
    let Some(emulator) = started() else { return };
    for system in [ONE, TWO] {
        emulator.insert(system).unwrap();
    }
    let before = emulator.changes().len();
    let target = target(&emulator, ONE, PASSWORD);
    for count in [1, 0] {
        let mut hand = Hand::open(&target, &patience(), now).await.ok().unwrap();
        assert_eq!(hand.eject().await, Ok(count));
        assert!(!emulator.is_inserted(ONE).unwrap());
    }
    assert!(emulator.is_inserted(TWO).unwrap(), "the other one's is left alone");
    assert_eq!(emulator.changes().len(), before + 1, "{:?}", emulator.changes());
}

fn target(emulator: &Emulator, system: &str, password: &str) -> Target {
    Target {
        name: "host".into(),
        address: emulator.address(system),
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

/// Nothing where it is to be left out.
fn started() -> Option<Emulator> {
    if let Some(why) = Emulator::cannot_run() {
        println!("skipped: {why}");
        return None;
    }
    let disks = format!(
        "SUSHY_EMULATOR_STORAGE = {{'{ONE}': [{{'Id': '1', 'Name': 'Local Storage Controller',
    'StorageControllers': [{{'MemberId': '0', 'Name': 'Contoso RAID', 'SpeedGbps': 12}}],
    'Drives': ['32ADF365C6C1B7BD']}}]}}
SUSHY_EMULATOR_DRIVES = {{('{ONE}', '1'): [{{'Id': '32ADF365C6C1B7BD', 'Name': 'Drive Sample',
    'CapacityBytes': 899527000000, 'Protocol': 'SAS'}}]}}
"
    );
    Some(Emulator::start(PASSWORD, &SYSTEMS, &disks).unwrap())
}
