//! What the tests of this crate have in common.
#![allow(dead_code)]

use std::time::Duration;

use jiff::Timestamp;
use plimsoll_bmc::mock::Server;
use plimsoll_bmc::{Patience, Reading, Secret, Target, read};

pub const PASSWORD: &str = "correct-horse";

pub fn now() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

/// Long enough for a busy machine with two cores, and never waited for.
pub fn patience() -> Patience {
    Patience {
        connect: Duration::from_secs(20),
        request: Duration::from_secs(20),
        total: Duration::from_secs(120),
        until: None,
    }
}

pub fn target(server: &Server, system: &str) -> Target {
    Target {
        name: "host".into(),
        address: server.address(system),
        username: Some("admin".into()),
        password: Some(Secret::new(PASSWORD)),
        verify: true,
        ca_pem: server.ca_pem().map(str::to_string),
        more_ca_pem: None,
    }
}

/// A reading with what differs from run to run taken out, after a look at the promises that hold
/// whatever a BMC does.
pub async fn reading(server: &Server, system: &str) -> Reading {
    let mut reading = read(&target(server, system), &patience(), now).await;
    promises(server, &reading);
    reading.address = reading.address.replace(&server.port().to_string(), "PORT");
    if let Some(endpoint) = &mut reading.endpoint {
        endpoint.port = 0;
    }
    reading
}

pub fn promises(server: &Server, reading: &Reading) {
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.method == "GET"), "something was written");
    assert!(requests.len() <= 401, "{} requests", requests.len());
    if let Some(first) = requests.first() {
        assert!(!first.has_credentials, "credentials before it was known to be Redfish");
    }
    let text = serde_json::to_string(reading).unwrap();
    assert!(!text.contains(PASSWORD) && !text.contains("hunter2"), "{text}");
    assert_eq!(reading.time.as_deref(), Some("2026-11-16T12:00:00Z"), "when it was asked");
    let back: Reading = serde_json::from_str(&text).unwrap();
    assert_eq!(&back, reading);
    assert_eq!(reading.complete, reading.gaps.is_empty() && reading.service.is_some());
}
