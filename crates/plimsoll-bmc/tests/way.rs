//! The way to a BMC, and its certificate.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod common;

use std::time::Duration;

use common::{PASSWORD, now, patience, promises, target};
use plimsoll_bmc::mock::{Certificate, Server, generic};
use plimsoll_bmc::{Patience, ReachStatus, Reading, Target, read};
use tokio::net::TcpListener;

async fn with(certificate: Certificate, change: impl FnOnce(&mut Target)) -> (Reading, Server) {
    let server = Server::of(generic())
        .credentials("admin", PASSWORD)
        .tls(certificate)
        .start()
        .await
        .unwrap();
    let mut target = target(&server, "/redfish/v1/Systems/node-0");
    change(&mut target);
    let reading = read(&target, &patience(), now).await;
    promises(&server, &reading);
    (reading, server)
}

#[tokio::test]
async fn a_trusted_certificate_is_told_with_its_dates() {
    let (reading, _server) = with(Certificate::Good, |_| {}).await;
    assert_eq!(reading.reach.status, ReachStatus::Answered);
    let tls = reading.tls.unwrap();
    assert_eq!((tls.trusted, tls.why), (Some(true), None));
    assert_eq!(tls.names, ["127.0.0.1"]);
    assert_eq!(tls.not_after.as_deref(), Some("2100-01-01T00:00:00Z"));
    assert!(tls.issuer.unwrap().contains("datacentre authority"));
    assert_eq!(tls.version.as_deref(), Some("TLSv1_3"));
    assert!(reading.system.is_some());
}

#[tokio::test]
async fn an_untrusted_certificate_gets_nothing_but_a_look() {
    for (certificate, why) in [
        (Certificate::Expired, "expired"),
        (Certificate::NotYetValid, "not-yet-valid"),
        (Certificate::WrongName, "wrong-name"),
    ] {
        let (reading, server) = with(certificate, |_| {}).await;
        assert_eq!(reading.reach.status, ReachStatus::TlsFailed);
        let tls = reading.tls.unwrap();
        assert_eq!((tls.trusted, tls.why.as_deref()), (Some(false), Some(why)));
        assert!(server.requests().is_empty(), "{certificate:?}");
        let (reading, _server) = with(certificate, |target| target.verify = false).await;
        assert_eq!(reading.tls.unwrap().why.as_deref(), Some(why));
        assert!(reading.system.is_some(), "{certificate:?}");
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_trusted_if_it_is_the_one_given() {
    let (reading, _server) = with(Certificate::SelfSigned, |_| {}).await;
    assert_eq!(reading.tls.unwrap().trusted, Some(true));
    assert!(reading.system.is_some());
    let (other, _server) = with(Certificate::Good, |_| {}).await;
    assert!(other.system.is_some());
    let stranger = Server::of(generic()).tls(Certificate::Good).start().await.unwrap();
    let given = stranger.ca_pem().map(str::to_string);
    let (reading, server) =
        with(Certificate::SelfSigned, |target| target.ca_pem = given.clone()).await;
    assert_eq!(reading.tls.unwrap().why.as_deref(), Some("self-signed"));
    assert!(server.requests().is_empty());
    let (reading, _server) = with(Certificate::Good, |target| target.ca_pem = given).await;
    assert_eq!(reading.tls.unwrap().why.as_deref(), Some("unknown-issuer"));
}

#[tokio::test]
async fn the_roots_of_the_system_do_not_know_it() {
    // Beside the roots of this machine, which do not know its authority.
    let (reading, _server) = with(Certificate::Good, |target| {
        target.more_ca_pem = target.ca_pem.take();
    })
    .await;
    assert_eq!(reading.tls.unwrap().trusted, Some(true));
    assert!(reading.system.is_some());
    let (reading, server) = with(Certificate::Good, |target| target.ca_pem = None).await;
    assert_eq!(reading.reach.status, ReachStatus::TlsFailed);
    assert_ne!(reading.tls.unwrap().trusted, Some(true));
    assert!(server.requests().is_empty());
    let broken = Some("-----BEGIN CERTIFICATE-----\nnonsense".to_string());
    let (reading, server) = with(Certificate::Good, |target| target.ca_pem = broken).await;
    assert_eq!(reading.reach.status, ReachStatus::TlsFailed);
    assert_eq!(reading.tls.unwrap().trusted, None);
    assert!(server.requests().is_empty());
}

fn at(address: String) -> Target {
    Target {
        name: "host".into(),
        address,
        username: None,
        password: None,
        verify: false,
        ca_pem: None,
        more_ca_pem: None,
    }
}

async fn status(address: String, patience: &Patience) -> ReachStatus {
    read(&at(address), patience, now).await.reach.status
}

#[tokio::test]
async fn each_way_to_be_out_of_reach_has_its_name() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    let long = patience();
    assert_eq!(status(format!("https://{closed}"), &long).await, ReachStatus::Refused);
    assert_eq!(status("ipmi://10.0.0.5".into(), &long).await, ReachStatus::NotRedfish);
    // No name can have such a part, so that no name service is asked.
    let name = format!("https://{}", "a".repeat(64));
    assert_eq!(status(name, &long).await, ReachStatus::Unresolved);
}

#[tokio::test]
async fn a_port_that_says_nothing_or_no_tls_is_told() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let short = Patience { request: Duration::from_millis(500), ..patience() };
    let reading = read(&at(format!("https://{address}")), &short, now).await;
    assert_eq!(reading.reach.status, ReachStatus::TlsFailed);
    assert!(reading.reach.detail.unwrap().contains("in time"));
    let reading = read(&at(format!("http://{address}")), &short, now).await;
    assert_eq!(reading.reach.status, ReachStatus::TimedOut);
    let plain = Server::of(generic()).start().await.unwrap();
    let reading = read(&at(format!("https://127.0.0.1:{}", plain.port())), &patience(), now).await;
    assert_eq!(reading.reach.status, ReachStatus::TlsFailed);
    assert!(reading.reach.detail.unwrap().contains("does not speak TLS"));
    let tls = Server::of(generic()).tls(Certificate::Good).start().await.unwrap();
    let reading = read(&at(format!("http://127.0.0.1:{}", tls.port())), &patience(), now).await;
    assert_eq!(reading.reach.status, ReachStatus::Lost);
}
