//! Every profile of hardware, read in full.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod common;

use common::{PASSWORD, reading};
use plimsoll_bmc::mock::{self, Server, Tree};

async fn whole(tree: Tree, system: &str) -> plimsoll_bmc::Reading {
    let server = Server::of(tree).credentials("admin", PASSWORD).start().await.unwrap();
    let reading = reading(&server, system).await;
    let risky = |path: &str| path.contains("Enclosure.Internal");
    assert!(!server.requests().iter().any(|request| risky(&request.path)));
    reading
}

#[tokio::test]
async fn dell_r750() {
    let reading = whole(mock::dell_r750(), "/redfish/v1/Systems/System.Embedded.1").await;
    insta::assert_json_snapshot!(reading);
}

#[tokio::test]
async fn hpe_dl380() {
    insta::assert_json_snapshot!(whole(mock::hpe_dl380(), "/redfish/v1/Systems/1").await);
}

#[tokio::test]
async fn supermicro() {
    insta::assert_json_snapshot!(whole(mock::supermicro(), "/redfish/v1/Systems/1").await);
}

#[tokio::test]
async fn lenovo_sr650() {
    insta::assert_json_snapshot!(whole(mock::lenovo_sr650(), "/redfish/v1/Systems/1").await);
}

#[tokio::test]
async fn generic() {
    insta::assert_json_snapshot!(whole(mock::generic(), "/redfish/v1/Systems/node-0").await);
}

#[tokio::test]
async fn an_address_without_a_system_takes_the_first() {
    let reading = whole(mock::generic(), "").await;
    assert_eq!(reading.system.unwrap().path.as_deref(), Some("/redfish/v1/Systems/node-0"));
}

#[tokio::test]
async fn an_address_with_a_wrong_system_is_told() {
    let reading = whole(mock::dell_r750(), "/redfish/v1/Systems/1").await;
    let system = reading.system.unwrap();
    assert_eq!(system.path.as_deref(), Some("/redfish/v1/Systems/System.Embedded.1"));
    assert_eq!(reading.gaps.len(), 1);
    assert_eq!(reading.gaps[0].what, "/redfish/v1/Systems/1");
    assert_eq!(reading.asked[0].status, 404);
    // A list of systems is no system, though it answers.
    let reading = whole(mock::dell_r750(), "/redfish/v1/Systems").await;
    let system = reading.system.unwrap();
    assert_eq!(system.path.as_deref(), Some("/redfish/v1/Systems/System.Embedded.1"));
    assert_eq!(reading.gaps[0].why, "this is a list of systems, and no system");
    // With several to choose from, none is guessed.
    let reading = whole(mock::generic(), "/redfish/v1/Systems/node-9").await;
    assert!(reading.system.is_none());
    assert_eq!(reading.asked[0].status, 404);
}
