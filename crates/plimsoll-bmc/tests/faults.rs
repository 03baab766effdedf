//! A BMC that fails: what is wrong is in the reading, and the rest is read.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod common;

use std::time::Duration;

use common::{PASSWORD, now, patience, promises, reading, target};
use plimsoll_bmc::mock::{Builder, Fault, Server, dell_r750, generic};
use plimsoll_bmc::{AuthStatus, Patience, Permission, ReachStatus, Reading, Secret, read};
use serde_json::json;

const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const MANAGER: &str = "/redfish/v1/Managers/iDRAC.Embedded.1";

fn dell() -> Builder {
    Server::of(dell_r750()).credentials("admin", PASSWORD)
}

async fn dell_with(path: &str, fault: Fault) -> Reading {
    let server = dell().fault(path, fault).start().await.unwrap();
    reading(&server, SYSTEM).await
}

#[tokio::test]
async fn wrong_credentials_are_sent_once() {
    let server = Server::of(dell_r750()).credentials("admin", "other").start().await.unwrap();
    let reading = reading(&server, SYSTEM).await;
    assert_eq!(reading.reach.status, ReachStatus::Answered);
    assert_eq!(reading.auth.status, AuthStatus::Unauthorized);
    assert!(reading.service.is_some() && reading.system.is_none() && !reading.complete);
    let tries = server.requests().iter().filter(|request| request.has_credentials).count();
    assert_eq!(tries, 1, "a second try may lock the account");
}

#[tokio::test]
async fn locked_forbidden_and_missing_credentials_are_told_apart() {
    let systems = "/redfish/v1/Systems";
    let locked = Fault::Status(401, "The account is locked for 600 seconds.".into());
    assert_eq!(dell_with(systems, locked).await.auth.status, AuthStatus::Locked);
    assert_eq!(dell_with(systems, Fault::status(403)).await.auth.status, AuthStatus::Forbidden);
    assert_eq!(dell_with(systems, Fault::status(500)).await.auth.status, AuthStatus::Unknown);
    let server = dell().start().await.unwrap();
    let mut target = target(&server, SYSTEM);
    (target.username, target.password) = (None, None);
    let reading = read(&target, &patience(), now).await;
    assert_eq!(reading.auth.status, AuthStatus::Unknown, "nothing was refused");
    assert!(reading.auth.detail.unwrap().contains("no credentials"));
    assert!(!server.requests().iter().any(|request| request.has_credentials));
}

#[tokio::test]
async fn credentials_that_stop_being_good_are_not_tried_on_and_on() {
    let behind = format!("{SYSTEM}/*");
    let server = dell().fault(&behind, Fault::status(401)).start().await.unwrap();
    let told = reading(&server, SYSTEM).await;
    assert_eq!(told.auth.status, AuthStatus::Accepted);
    assert!(told.gaps.iter().any(|gap| gap.why.contains("no longer takes")), "{:?}", told.gaps);
    assert!(server.requests().len() < 20, "{}", server.requests().len());
}

#[tokio::test]
async fn a_query_that_is_refused_is_left_out() {
    let firmware = "/redfish/v1/UpdateService/FirmwareInventory";
    let server = dell().fault_times(firmware, Fault::status(400), 1).start().await.unwrap();
    let told = reading(&server, SYSTEM).await;
    assert_eq!(told.firmware.len(), 2);
    assert!(told.complete && told.asked.is_empty(), "{:?}", told.asked);
}

#[tokio::test]
async fn refused_media_deny_and_say_why() {
    let media = format!("{MANAGER}/VirtualMedia");
    let reading = dell_with(&media, Fault::status(403)).await;
    assert_eq!(reading.privilege.virtual_media, Permission::Denied);
    assert_eq!(reading.gaps[0].what, media);
    assert_eq!((reading.asked[0].path.as_str(), reading.asked[0].status), (media.as_str(), 403));
    assert!(reading.virtual_media.is_empty() && reading.system.is_some());
}

#[tokio::test]
async fn what_a_bmc_does_not_have_is_no_gap_and_what_fails_is_one() {
    let bios = format!("{SYSTEM}/Bios");
    for (status, complete) in [(404, true), (501, true), (500, false)] {
        let reading = dell_with(&bios, Fault::status(status)).await;
        assert_eq!(reading.complete, complete, "{status}");
        assert_eq!(reading.asked[0].status, status);
        assert!(reading.bios.is_empty());
        assert_eq!(reading.nics.len(), 2);
    }
}

#[tokio::test]
async fn a_passing_trouble_passes() {
    for fault in [Fault::status(503), Fault::status(429), Fault::Reset] {
        let server = dell().fault_times(MANAGER, fault.clone(), 1).start().await.unwrap();
        let told = reading(&server, SYSTEM).await;
        assert!(told.complete, "{fault:?}: {:?}", told.gaps);
        assert!(told.manager.is_some());
    }
    let lasting = dell_with(MANAGER, Fault::status(503)).await;
    assert!(lasting.gaps[0].why.contains("busy"), "{:?}", lasting.gaps);
}

#[tokio::test]
async fn a_cut_body_is_a_gap() {
    let reading = dell_with(MANAGER, Fault::Cut).await;
    assert_eq!(reading.gaps[0].what, MANAGER);
    assert!(reading.manager.is_none() && reading.system.is_some());
}

#[tokio::test]
async fn a_slow_part_costs_its_time_and_no_more() {
    let slow = Fault::Slow(Duration::from_secs(600));
    let server = dell().fault(&format!("{SYSTEM}/Bios"), slow).start().await.unwrap();
    let patience = Patience { request: Duration::from_secs(2), ..patience() };
    let reading = read(&target(&server, SYSTEM), &patience, now).await;
    promises(&server, &reading);
    assert_eq!(reading.gaps.len(), 1);
    assert!(reading.gaps[0].why.contains("in time"));
    assert_eq!(reading.nics.len(), 2);
}

#[tokio::test]
async fn who_falls_silent_is_not_waited_for_again_and_again() {
    let slow = Fault::Slow(Duration::from_secs(600));
    let server = dell().fault(&format!("{SYSTEM}*"), slow).start().await.unwrap();
    let patience = Patience { request: Duration::from_millis(300), ..patience() };
    let reading = read(&target(&server, SYSTEM), &patience, now).await;
    promises(&server, &reading);
    assert!(!reading.complete);
    assert!(server.requests().len() < 60, "{}", server.requests().len());
}

#[tokio::test]
async fn the_time_for_all_is_kept() {
    let slow = Fault::Slow(Duration::from_secs(1));
    let server = dell().fault("/redfish*", slow).start().await.unwrap();
    let patience = Patience { total: Duration::from_secs(5), ..patience() };
    let reading = read(&target(&server, SYSTEM), &patience, now).await;
    promises(&server, &reading);
    assert_eq!(reading.reach.status, ReachStatus::Answered);
    assert!(!reading.complete);
    assert!(server.requests().len() <= 6);
}

#[tokio::test]
async fn a_wrong_clock_and_missing_fields_are_read_as_they_are() {
    let reading = dell_with(MANAGER, Fault::set("/DateTime", json!("2026-11-16T10:00:00Z"))).await;
    assert_eq!(reading.manager.unwrap().offset_seconds, Some(-7200));
    let reading = dell_with(MANAGER, Fault::set("/DateTime", json!(null))).await;
    assert_eq!(reading.manager.unwrap().offset_seconds, None);
    let reading = dell_with(SYSTEM, Fault::set("/Links", json!(null))).await;
    assert!(reading.manager.is_some(), "found by the collection of managers");
    assert!(reading.complete);
    let reading = dell_with(&format!("{SYSTEM}/SecureBoot"), Fault::Raw("{}".into())).await;
    assert_eq!(reading.system.unwrap().secure_boot, None);
}

#[tokio::test]
async fn a_root_behind_a_password_is_asked_for_its_version_first() {
    let mut tree = generic();
    tree.put("/redfish", json!({"v1": "/redfish/v1/"}));
    let root = "/redfish/v1";
    let hidden = Server::of(tree).credentials("admin", PASSWORD).fault(root, Fault::status(401));
    let server = hidden.start().await.unwrap();
    let told = reading(&server, "/redfish/v1/Systems/node-0").await;
    assert_eq!(told.auth.status, AuthStatus::Accepted);
    let server = dell().fault(root, Fault::status(401)).start().await.unwrap();
    let told = reading(&server, SYSTEM).await;
    assert_eq!(told.reach.status, ReachStatus::NotRedfish);
    assert!(!server.requests().iter().any(|request| request.has_credentials));
}

#[tokio::test]
async fn whatever_is_no_redfish_gets_no_credentials() {
    for fault in [
        Fault::status(404),
        Fault::status(500),
        Fault::Raw("<html>Welcome</html>".into()),
        Fault::Raw("{\"hello\": \"world\"}".into()),
        Fault::Cut,
        Fault::Reset,
        Fault::Redirect("http://127.0.0.2/redfish/v1/".into()),
    ] {
        let server = dell().fault("/redfish/v1", fault.clone()).start().await.unwrap();
        let told = reading(&server, SYSTEM).await;
        let expected = [ReachStatus::NotRedfish, ReachStatus::Lost];
        assert!(expected.contains(&told.reach.status), "{fault:?}: {:?}", told.reach);
        assert!(!server.requests().iter().any(|request| request.has_credentials), "{fault:?}");
    }
}

#[tokio::test]
async fn several_are_read_at_once_and_told_by_name() {
    let server = dell().start().await.unwrap();
    let mut targets = Vec::new();
    for name in ["c", "a", "b"] {
        targets.push(plimsoll_bmc::Target { name: name.into(), ..target(&server, SYSTEM) });
    }
    targets[1].password = Some(Secret::new("wrong-password"));
    let readings = plimsoll_bmc::read_all(&targets, patience(), now, 2).await;
    let names: Vec<_> = readings.iter().map(|reading| reading.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    let odd = plimsoll_bmc::differences(&readings);
    assert_eq!(odd.len(), 1);
    assert_eq!((odd[0].aspect.as_str(), odd[0].odd.as_deref()), ("auth", Some("a")));
}
