//! One writer at a time, whoever started it and from wherever: a Lease in the cluster.

use std::cell::Cell;
use std::time::{Duration, Instant};

use plimsoll_model::Time;
use plimsoll_model::plan::Object;
use serde_json::{Value, json};

use super::Api;
use crate::target::Trouble;
use crate::transaction::Turn;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "plimsoll-fix";
/// After this, a holder that was not heard of is taken for dead.
const SECONDS: i64 = 120;
/// Renewed well before that.
const RENEWED_AFTER: Duration = Duration::from_secs(30);

/// Held until it is given back. A process that is killed leaves it until it runs out.
pub struct Lease<'a> {
    api: &'a Api,
    holder: String,
    clock: fn() -> Time,
    renewed: Cell<Instant>,
}

/// Who else is at work.
#[derive(Debug)]
pub enum Held {
    By(String),
    Trouble(Trouble),
}

fn object() -> Object {
    Object {
        group: "coordination.k8s.io".into(),
        version: "v1".into(),
        plural: "leases".into(),
        kind: "Lease".into(),
        namespace: Some(NAMESPACE.into()),
        name: NAME.into(),
        ..Object::default()
    }
}

impl<'a> Lease<'a> {
    /// `holder` is the session where it is: one that is gone on with there has its own lease already.
    pub fn take(api: &'a Api, holder: &str, clock: fn() -> Time) -> Result<Self, Held> {
        let lease = Self { api, holder: holder.into(), clock, renewed: Cell::new(Instant::now()) };
        lease.renew()?;
        Ok(lease)
    }

    fn renew(&self) -> Result<(), Held> {
        let now = (self.clock)();
        let time = now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
        let spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": SECONDS,
            "renewTime": time,
        });
        let object = object();
        match self.api.get(&object).map_err(Held::Trouble)? {
            None => {
                let value = json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec,
                });
                self.api.create(&object, &value, false).map_err(lost_race)?;
            }
            Some(mut found) => {
                let holder = found["spec"]["holderIdentity"].as_str().unwrap_or_default();
                if !holder.is_empty() && holder != self.holder && is_fresh(&found, now) {
                    return Err(Held::By(holder.into()));
                }
                found["spec"] = spec;
                self.api.replace(&object, &found, false).map_err(lost_race)?;
            }
        }
        self.renewed.set(Instant::now());
        Ok(())
    }
}

impl Turn for Lease<'_> {
    /// An API that does not answer gives it to nobody else either.
    fn taken_by_another(&self) -> Option<String> {
        if self.renewed.get().elapsed() < RENEWED_AFTER {
            return None;
        }
        match self.renew() {
            Err(Held::By(who)) => Some(who),
            Ok(()) | Err(Held::Trouble(_)) => None,
        }
    }
}

fn is_fresh(lease: &Value, now: Time) -> bool {
    let renewed = lease["spec"]["renewTime"].as_str().and_then(|text| text.parse::<Time>().ok());
    renewed.is_some_and(|time| now.as_second() - time.as_second() < SECONDS)
}

/// Two took it at the same instant: the server let one of them.
fn lost_race(trouble: Trouble) -> Held {
    match trouble {
        Trouble::Stale(_) => Held::By("somebody who was faster".into()),
        other => Held::Trouble(other),
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let object = object();
        if let Ok(Some(mut found)) = self.api.get(&object)
            && found["spec"]["holderIdentity"] == self.holder.as_str()
        {
            found["spec"]["holderIdentity"] = "".into();
            let _ = self.api.replace(&object, &found, false);
        }
    }
}
