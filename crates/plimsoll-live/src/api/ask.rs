//! One request after the other, with patience: limits of time, and a second try where the trouble is
//! of the kind that passes.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::words::{Trouble, answered, refusal};

const TRIES: u32 = 4;
/// Of a server that asks to come again.
const TRIES_WHEN_BUSY: u32 = 8;
/// No single answer of a cluster is larger; a page of a thousand pods is a tenth of it.
const LARGEST_ANSWER: usize = 256 << 20;
/// Of the body of a refusal.
const LARGEST_REFUSAL: usize = 64 << 10;

pub const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For one request.
    pub request: Duration,
    /// For everything.
    pub budget: Duration,
    /// Items of a list that are asked for at once.
    pub page: usize,
}

/// When everything has to be over, from the first connection to the last probe.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Instant);

impl Deadline {
    pub fn after(budget: Duration) -> Self {
        Self(Instant::now() + budget)
    }

    pub fn left(&self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

impl Default for Patience {
    fn default() -> Self {
        Self { request: Duration::from_secs(30), budget: Duration::from_secs(600), page: 1000 }
    }
}

/// Whose silence it would be. That of a kubelet says nothing of the API server, and another try would
/// wait as long again.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    ApiServer,
    Kubelet,
}

pub struct Asker {
    client: Client,
    patience: Patience,
    deadline: Deadline,
    /// Nothing answers any more: one try is enough to find out that it is so still.
    lost: AtomicBool,
    pub requests: AtomicU64,
}

impl Asker {
    pub fn new(client: Client, patience: Patience, deadline: Deadline) -> Self {
        Self {
            client,
            patience,
            deadline,
            lost: AtomicBool::new(false),
            requests: AtomicU64::new(0),
        }
    }

    /// The answer stopped coming, or never came.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub async fn json<T: DeserializeOwned>(&self, path: &str, accept: &str) -> Result<T, Trouble> {
        let bytes = self.bytes(path, accept, LARGEST_ANSWER, Whose::ApiServer).await?;
        serde_json::from_slice(&bytes).map_err(|error| Trouble {
            why: format!("the answer is no JSON that could be read: {error}"),
            ..Trouble::default()
        })
    }

    /// What the API server asks of a kubelet.
    pub async fn of_kubelet(&self, path: &str, limit: usize) -> Result<Vec<u8>, Trouble> {
        self.bytes(path, "text/plain, */*", limit, Whose::Kubelet).await
    }

    pub fn page(&self) -> usize {
        self.patience.page
    }

    fn left(&self) -> Result<Duration, Trouble> {
        let left = self.deadline.left();
        let why = "the time that was given for the whole reading is over";
        match left.is_zero() {
            true => Err(Trouble { why: why.into(), ..Trouble::default() }),
            false => Ok(left),
        }
    }

    /// At most `limit` bytes; a longer answer is a refusal.
    async fn bytes(
        &self,
        path: &str,
        accept: &str,
        limit: usize,
        whose: Whose,
    ) -> Result<Vec<u8>, Trouble> {
        let mut tries = 0;
        loop {
            let left = self.left()?;
            let time = self.patience.request.min(left);
            let once = self.once(path, accept, limit);
            let trouble = match tokio::time::timeout(time, once).await {
                Ok(Ok(bytes)) => {
                    self.lost.store(false, Ordering::Relaxed);
                    return Ok(bytes);
                }
                Ok(Err(trouble)) => trouble,
                Err(_) if whose == Whose::Kubelet => return Err(silence(time)),
                Err(_) => silence(time),
            };
            tries += 1;
            let most = match trouble.status {
                Some(429) => TRIES_WHEN_BUSY,
                _ if self.is_lost() => 1,
                _ => TRIES,
            };
            if !trouble.passing || tries >= most {
                if trouble.passing && trouble.status.is_none() {
                    self.lost.store(true, Ordering::Relaxed);
                }
                return Err(trouble);
            }
            let wait = trouble.wait.unwrap_or(Duration::from_millis(250 << tries.min(4)));
            tokio::time::sleep(wait.min(left)).await;
        }
    }

    async fn once(&self, path: &str, accept: &str, limit: usize) -> Result<Vec<u8>, Trouble> {
        let request = http::Request::get(path)
            .header(http::header::ACCEPT, accept)
            .body(Body::empty())
            .map_err(|error| Trouble { why: error.to_string(), ..Trouble::default() })?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let response = self.client.send(request).await.map_err(|error| refusal(&error))?;
        let status = response.status();
        let wait = response
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(|seconds: u64| Duration::from_secs(seconds.min(10)));
        let limit = if status.is_success() { limit } else { LARGEST_REFUSAL };
        let body = http_body_util::Limited::new(response.into_body(), limit);
        let bytes = match body.collect().await {
            Ok(body) => body.to_bytes().to_vec(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                let why = format!("the answer is larger than {} MiB", limit >> 20);
                return Err(Trouble { why, ..Trouble::default() });
            }
            Err(error) => {
                let why = format!("the answer was cut off: {error}");
                return Err(Trouble { why, passing: true, ..Trouble::default() });
            }
        };
        if status.is_success() {
            return Ok(bytes);
        }
        Err(Trouble { wait, ..answered(status.as_u16(), &bytes) })
    }
}

fn silence(time: Duration) -> Trouble {
    let why = format!("no answer within {} s", time.as_secs());
    Trouble { why, passing: true, silent: true, ..Trouble::default() }
}
