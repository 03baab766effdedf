//! What a BMC says of its server, read over Redfish. Only `hand` changes anything: power and virtual
//! media, for a repair that somebody asked for.
//!
//! `reach` looks at the way and the certificate, `client` is HTTP with its limits, `gather` decides
//! what to ask, `inventory` what the answers mean, and `siblings` which of several hosts is odd.

mod address;
mod client;
mod documents;
mod gather;
mod hand;
mod host;
mod inventory;
mod logs;
#[cfg(feature = "mock")]
pub mod mock;
mod quirks;
mod reach;
mod reading;
mod scrub;
mod siblings;
mod target;
mod tls;
mod value;
mod walk;
mod words;

use futures::{Stream, StreamExt};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::{Client, Failure};
use crate::gather::Gathering;

pub use address::{Endpoint, Transport};
pub use documents::{Adapter, Documents, Media, Unit};
pub use hand::{Hand, Machine, Switch, Unchanged};
pub use host::HostBmc;
pub use inventory::inventory;
pub use reading::*;
pub use siblings::{Difference, differences};
pub use target::{Patience, Secret, Target};

const ROOT: &str = "/redfish/v1/";
/// BMCs that are read at the same time, at most.
const AT_ONCE: usize = 64;

/// All of them, by name. `at_once` are read at the same time.
pub async fn read_all(
    targets: &[Target],
    patience: Patience,
    clock: impl Fn() -> Timestamp + Copy,
    at_once: usize,
) -> Vec<Reading> {
    let mut readings: Vec<Reading> = read_each(targets, patience, clock, at_once).collect().await;
    readings.sort_by(|one, other| {
        one.name.cmp(&other.name).then_with(|| one.address.cmp(&other.address))
    });
    readings
}

/// Each as it comes, in no order.
pub fn read_each(
    targets: &[Target],
    patience: Patience,
    clock: impl Fn() -> Timestamp + Copy,
    at_once: usize,
) -> impl Stream<Item = Reading> + Unpin {
    let reads =
        targets.iter().map(move |target| async move { read(target, &patience, clock).await });
    Box::pin(futures::stream::iter(reads).buffer_unordered(at_once.clamp(1, AT_ONCE)))
}

/// One BMC. Whatever is wrong with it is in the reading.
///
/// The clock serves the offset of the BMC's own, and the dates of its certificate.
pub async fn read(target: &Target, patience: &Patience, clock: impl Fn() -> Timestamp) -> Reading {
    let mut reading = Reading {
        schema: SCHEMA.into(),
        name: target.shown_name(),
        time: Some(clock().to_string()),
        address: address::shown(&target.address),
        verify: Some(target.verify),
        ..Reading::default()
    };
    let endpoint = match address::parse(&target.address) {
        Ok(endpoint) => endpoint,
        Err(why) => {
            reading.reach = reach::told(ReachStatus::NotRedfish, why);
            return reading;
        }
    };
    reading.endpoint = Some(endpoint.clone());
    let deadline = patience.deadline(Instant::now());
    let looked =
        tokio::time::timeout_at(deadline, reach::look(&endpoint, target, patience, clock()));
    let address = match looked.await {
        Ok(Ok((address, tls))) => {
            reading.tls = tls;
            address
        }
        Ok(Err((reach, tls))) => {
            (reading.reach, reading.tls) = (reach, tls);
            return reading;
        }
        Err(_) => {
            reading.reach = reach::told(ReachStatus::TimedOut, patience.is_over());
            return reading;
        }
    };
    match Client::new(&endpoint, address, target, patience, deadline, clock()) {
        Ok(client) => {
            ask(&mut reading, client, &endpoint, clock).await;
            scrub::scrub(reading, target)
        }
        Err(why) => {
            reading.reach = reach::told(ReachStatus::Lost, why);
            reading
        }
    }
}

async fn ask(
    reading: &mut Reading,
    mut client: Client,
    endpoint: &Endpoint,
    clock: impl Fn() -> Timestamp,
) {
    let root = match service_root(&mut client).await {
        Ok(root) => root,
        Err(reach) => {
            reading.reach = reach;
            return;
        }
    };
    reading.reach = Reach { status: ReachStatus::Answered, detail: None };
    client.send_credentials();
    let anonymous = client.username().is_none();
    let mut gathering = Gathering::new(&mut client, clock, root);
    match gathering.systems().await {
        Ok(()) => {
            reading.auth.status =
                if anonymous { AuthStatus::Unknown } else { AuthStatus::Accepted };
            gathering.everything(endpoint.system_path.as_deref()).await;
        }
        Err(failure) => {
            reading.auth = refused(&failure, anonymous);
            let why = failure.why.clone();
            gathering.client.gap("everything behind the service root", why);
        }
    }
    let parts = inventory(&gathering.documents);
    let (asked, gaps) = client.shortcomings();
    let told = std::mem::take(reading);
    *reading = Reading {
        schema: told.schema,
        name: told.name,
        time: told.time,
        address: told.address,
        endpoint: told.endpoint,
        verify: told.verify,
        reach: told.reach,
        tls: told.tls,
        auth: told.auth,
        complete: gaps.is_empty(),
        asked,
        gaps,
        ..parts
    };
}

/// It answers, and not as a BMC does.
const NO_REDFISH: [&str; 3] = ["JSON", "larger than", "another host"];

/// Without credentials, as the book has it. A service that hides it may still tell its version.
async fn service_root(client: &mut Client) -> Result<Value, Reach> {
    let failure = match client.get(ROOT).await {
        Ok(answer) if is_service_root(&answer.body) => return Ok(answer.body),
        Ok(_) => {
            return Err(reach::told(ReachStatus::NotRedfish, "its answer is no service root"));
        }
        Err(failure) => failure,
    };
    match failure.status {
        Some(401 | 403) => match client.get("/redfish").await {
            Ok(answer) if answer.body["v1"].is_string() => Ok(Value::Object(Default::default())),
            _ => Err(reach::told(ReachStatus::NotRedfish, failure.why)),
        },
        Some(_) => Err(reach::told(ReachStatus::NotRedfish, failure.why)),
        None if failure.why.contains("in time") => {
            Err(reach::told(ReachStatus::TimedOut, failure.why))
        }
        None if NO_REDFISH.iter().any(|sign| failure.why.contains(sign)) => {
            Err(reach::told(ReachStatus::NotRedfish, failure.why))
        }
        None => Err(reach::told(ReachStatus::Lost, failure.why)),
    }
}

fn is_service_root(body: &Value) -> bool {
    let kind = body["@odata.type"].as_str().unwrap_or_default();
    body["RedfishVersion"].is_string()
        || kind.contains("ServiceRoot")
        || body["Systems"]["@odata.id"].is_string()
}

fn refused(failure: &Failure, anonymous: bool) -> Auth {
    if anonymous && matches!(failure.status, Some(401 | 403)) {
        // That nobody is let in without credentials says nothing of those that the cluster has.
        let detail = Some("no credentials were given".into());
        return Auth { status: AuthStatus::Unknown, detail };
    }
    let status = match failure.status {
        Some(401 | 403) if words::is_locked(&failure.why) => AuthStatus::Locked,
        Some(401) => AuthStatus::Unauthorized,
        Some(403) => AuthStatus::Forbidden,
        _ => AuthStatus::Unknown,
    };
    Auth { status, detail: Some(failure.why.clone()) }
}
