//! One writer at a time, whoever started it and from wherever: a Lease in the cluster. It is renewed beside
//! whatever else goes on, for as long as it is held.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use kube::Client;
use plimsoll_model::Time;
use plimsoll_model::plan::Object;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Api;
use super::verbs::{collection, path, trouble};
use crate::ask::{self, Body, Refusal};
use crate::target::Trouble;
use crate::transaction::Turn;

pub(super) const NAMESPACE: &str = "kube-system";
pub(super) const NAME: &str = "plimsoll-fix";
/// After this, a holder that was not heard of is taken for dead; and who could not renew it takes it for lost.
const SECONDS: u64 = 120;
/// Renewed well before that.
const RENEWED_AFTER: Duration = Duration::from_secs(30);
/// One that seems to have run out is watched for so long: whoever lives renews it meanwhile, whatever our clocks
/// say of each other.
const WATCHED: Duration = Duration::from_secs(45);
const LOOKS: u32 = 9;

/// Held until it is given back. A process that is killed leaves it until it runs out.
pub struct Lease<'a> {
    api: &'a Api,
    holding: Arc<Holding>,
    renewing: JoinHandle<()>,
}

/// Who else is at work.
#[derive(Debug)]
pub enum Held {
    By(String),
    Trouble(Trouble),
}

struct Holding {
    client: Client,
    patience: Duration,
    holder: String,
    clock: fn() -> Time,
    heard: Mutex<Heard>,
    /// One renewal at a time, or one would take the other for somebody else.
    turn: tokio::sync::Mutex<()>,
}

/// What the server said last. A machine that sleeps stops one of its two clocks, and somebody may set the other.
struct Heard {
    renewed: Instant,
    at: Time,
    taken_by: Option<String>,
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

impl Holding {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, method: Method, path: &str, body: Body<'_>) -> Result<Value, Refusal> {
        ask::send(&self.client, method, path, body, self.patience).await
    }

    async fn found(&self) -> Result<Option<Value>, Held> {
        let object = object();
        match self.send(Method::GET, &path(&object, None), Body::Nothing).await {
            Ok(found) => Ok(Some(found)),
            Err(Refusal { code: Some(404), .. }) => Ok(None),
            Err(refusal) => Err(Held::Trouble(trouble(refusal, &object))),
        }
    }

    /// Another holder, of one that is there.
    fn other(&self, lease: &Value) -> Option<String> {
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        (!holder.is_empty() && holder != self.holder).then(|| holder.to_string())
    }

    async fn write(&self, found: Option<Value>) -> Result<(), Held> {
        let now = (self.clock)();
        let spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": SECONDS,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        });
        let object = object();
        let asked = Instant::now();
        let answer = match found {
            None => {
                let value = json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec,
                });
                let place = collection(&object, false);
                self.send(Method::POST, &place, Body::Json(&value)).await
            }
            Some(mut found) => {
                found["spec"] = spec;
                self.send(Method::PUT, &path(&object, None), Body::Json(&found)).await
            }
        };
        answer.map_err(|refusal| lost_race(trouble(refusal, &object)))?;
        let mut heard = self.heard();
        (heard.renewed, heard.at) = (asked, now);
        Ok(())
    }

    /// The first time: whoever else held it has to be dead.
    async fn take(&self) -> Result<(), Held> {
        let _turn = self.turn.lock().await;
        let found = self.found().await?;
        if let Some(lease) = &found
            && let Some(who) = self.other(lease)
        {
            if is_fresh(lease, (self.clock)()) {
                return Err(Held::By(who));
            }
            for _ in 0..LOOKS {
                tokio::time::sleep(WATCHED / LOOKS).await;
                if self.found().await?.as_ref() != Some(lease) {
                    return Err(Held::By(who));
                }
            }
        }
        self.write(found).await
    }

    /// Once it was ours, whoever else has it took it.
    async fn renew(&self) -> Result<(), Held> {
        let _turn = self.turn.lock().await;
        let found = self.found().await?;
        let result = match found.as_ref().and_then(|lease| self.other(lease)) {
            Some(who) => Err(Held::By(who)),
            None => self.write(found).await,
        };
        if let Err(Held::By(who)) = &result {
            self.heard().taken_by = Some(who.clone());
        }
        result
    }

    /// Why it is not ours any more, by what was heard last.
    fn lost(&self) -> Option<String> {
        let heard = self.heard();
        if let Some(who) = &heard.taken_by {
            let who: String = who.chars().take(12).collect();
            return Some(format!("another session took over: {who}"));
        }
        let by_clock = (self.clock)().as_second().saturating_sub(heard.at.as_second());
        let silent = heard.renewed.elapsed().as_secs().max(u64::try_from(by_clock).unwrap_or(0));
        (silent >= SECONDS).then(|| {
            format!("the lease could not be renewed for {silent} s and may be another's by now")
        })
    }
}

impl<'a> Lease<'a> {
    /// `holder` is the session where it is: one that is gone on with there has its own lease already.
    pub fn take(api: &'a Api, holder: &str, clock: fn() -> Time) -> Result<Self, Held> {
        let heard = Heard { renewed: Instant::now(), at: clock(), taken_by: None };
        let holding = Arc::new(Holding {
            client: api.client().clone(),
            patience: api.patience(),
            holder: holder.into(),
            clock,
            heard: Mutex::new(heard),
            turn: tokio::sync::Mutex::new(()),
        });
        api.block_on(holding.take())?;
        let beside = Arc::clone(&holding);
        let renewing = api.spawn(async move {
            loop {
                tokio::time::sleep(RENEWED_AFTER).await;
                // What came of it is in `heard`.
                let _ = beside.renew().await;
            }
        });
        Ok(Self { api, holding, renewing })
    }
}

impl Turn for Lease<'_> {
    fn lost(&self) -> Option<String> {
        // A clock that was set looks like a long silence.
        self.holding.lost().and_then(|_| self.lost_by_now())
    }

    /// An API that does not answer at this moment gives it to nobody else either.
    fn lost_by_now(&self) -> Option<String> {
        let _ = self.api.block_on(self.holding.renew());
        self.holding.lost()
    }
}

fn is_fresh(lease: &Value, now: Time) -> bool {
    let renewed = lease["spec"]["renewTime"].as_str().and_then(|text| text.parse::<Time>().ok());
    let age = renewed.map(|time| now.as_second().saturating_sub(time.as_second()));
    // One of a clock that is ahead says nothing: it is watched.
    age.and_then(|age| u64::try_from(age).ok()).is_some_and(|age| age < SECONDS)
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
        self.renewing.abort();
        let object = object();
        if let Ok(Some(mut found)) = self.api.get(&object)
            && found["spec"]["holderIdentity"] == self.holding.holder.as_str()
        {
            found["spec"]["holderIdentity"] = "".into();
            let _ = self.api.replace(&object, &found, false);
        }
    }
}
