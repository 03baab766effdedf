//! One request after the other, with patience: limits of time, and a second try where the trouble is
//! of the kind that passes. Who keeps failing is asked once, and not waited for long.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::words::{Trouble, answered, refusal, seconds};
use crate::tail::Tail;

const TRIES: u32 = 4;
/// Of a server that asks to come again.
const TRIES_WHEN_BUSY: u32 = 8;
/// Of one that says nothing: each costs the whole time of a request.
const TRIES_WHEN_SILENT: u32 = 2;
/// Questions in a row that came to nothing, after which little is hoped of the next.
const FAILURES: u32 = 4;
const LITTLE_HOPE: Duration = Duration::from_secs(3);
/// An answer that keeps coming may take this part of the time that is left: others wait behind it.
const SHARE: u32 = 2;
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

    pub fn at(&self) -> Instant {
        self.0
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

/// Where an answer goes, part by part.
trait Sink {
    /// What came of an earlier try is nothing.
    fn again(&mut self);
    fn take(&mut self, part: &[u8]) -> Result<(), Trouble>;
}

/// At most so much; a longer answer is a refusal.
struct Whole {
    bytes: Vec<u8>,
    most: usize,
}

impl Sink for Whole {
    fn again(&mut self) {
        self.bytes.clear();
    }

    fn take(&mut self, part: &[u8]) -> Result<(), Trouble> {
        if self.bytes.len() + part.len() > self.most {
            let why = format!("the answer is larger than {} MiB", self.most >> 20);
            return Err(Trouble { why, ..Trouble::default() });
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }
}

impl Sink for Tail {
    fn again(&mut self) {
        self.clear();
    }

    fn take(&mut self, part: &[u8]) -> Result<(), Trouble> {
        self.push(part);
        Ok(())
    }
}

/// What a kubelet gave of a log.
pub struct Log {
    pub text: Vec<u8>,
    /// Older lines were left out.
    pub cut: bool,
    /// Why its end is missing.
    pub trouble: Option<Trouble>,
}

pub struct Asker {
    client: Client,
    patience: Patience,
    deadline: Deadline,
    /// Nothing answers any more: one try is enough to find out that it is so still.
    lost: AtomicBool,
    /// Questions in a row that the API server failed, or did not answer.
    failures: AtomicU32,
    pub requests: AtomicU64,
}

impl Asker {
    pub fn new(client: Client, patience: Patience, deadline: Deadline) -> Self {
        Self {
            client,
            patience,
            deadline,
            lost: AtomicBool::new(false),
            failures: AtomicU32::new(0),
            requests: AtomicU64::new(0),
        }
    }

    /// The answer stopped coming, or never came.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    pub async fn json<T: DeserializeOwned>(&self, path: &str, accept: &str) -> Result<T, Trouble> {
        let mut whole = Whole { bytes: Vec::new(), most: LARGEST_ANSWER };
        self.ask(path, accept, Whose::ApiServer, &mut whole).await?;
        serde_json::from_slice(&whole.bytes).map_err(|error| Trouble {
            why: format!("the answer is no JSON that could be read: {error}"),
            ..Trouble::default()
        })
    }

    /// What the API server asks of a kubelet: the last `most` bytes of it. What came before it broke
    /// off is better than nothing.
    pub async fn of_kubelet(&self, path: &str, most: usize) -> Result<Log, Trouble> {
        let mut tail = Tail::new(most);
        let asked = self.ask(path, "text/plain, */*", Whose::Kubelet, &mut tail).await;
        match asked {
            Err(trouble) if tail.total() == 0 => Err(trouble),
            asked => {
                let (text, cut) = tail.lines();
                Ok(Log { text, cut, trouble: asked.err() })
            }
        }
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

    fn has_little_hope(&self) -> bool {
        self.failures.load(Ordering::Relaxed) >= FAILURES
    }

    async fn ask(
        &self,
        path: &str,
        accept: &str,
        whose: Whose,
        sink: &mut impl Sink,
    ) -> Result<(), Trouble> {
        let mut tries = 0;
        loop {
            let left = self.left()?;
            let time = match self.has_little_hope() {
                true => self.patience.request.min(LITTLE_HOPE),
                false => self.patience.request,
            };
            let trouble = match self.once(path, accept, time.min(left), sink).await {
                Ok(()) => {
                    self.lost.store(false, Ordering::Relaxed);
                    self.failures.store(0, Ordering::Relaxed);
                    return Ok(());
                }
                Err(trouble) => trouble,
            };
            tries += 1;
            if !trouble.passing || tries >= self.tries(&trouble, whose) {
                self.notice(&trouble, whose);
                return Err(trouble);
            }
            let wait = trouble.wait.unwrap_or(Duration::from_millis(250 << tries.min(4)));
            tokio::time::sleep(wait.min(left)).await;
        }
    }

    fn tries(&self, trouble: &Trouble, whose: Whose) -> u32 {
        match trouble.status {
            Some(429) => TRIES_WHEN_BUSY,
            _ if self.is_lost() || self.has_little_hope() => 1,
            _ if trouble.silent && whose == Whose::Kubelet => 1,
            _ if trouble.silent => TRIES_WHEN_SILENT,
            _ => TRIES,
        }
    }

    /// What a question that came to nothing says of the API server. A stream that breaks off in the
    /// middle, and silence, may be the kubelet's behind it.
    fn notice(&self, trouble: &Trouble, whose: Whose) {
        let may_be_another = whose == Whose::Kubelet && (trouble.midway || trouble.silent);
        if trouble.passing && trouble.status.is_none() && !may_be_another {
            self.lost.store(true, Ordering::Relaxed);
        }
        let failed = trouble.silent || trouble.status.is_some_and(|status| status >= 500);
        if failed && whose == Whose::ApiServer {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// `time` is for the beginning of the answer, and for each part of it.
    async fn once(
        &self,
        path: &str,
        accept: &str,
        time: Duration,
        sink: &mut impl Sink,
    ) -> Result<(), Trouble> {
        let request = http::Request::get(path)
            .header(http::header::ACCEPT, accept)
            .body(Body::empty())
            .map_err(|error| Trouble { why: error.to_string(), ..Trouble::default() })?;
        self.requests.fetch_add(1, Ordering::Relaxed);
        let end = Instant::now() + (self.deadline.left() / SHARE).max(time);
        let sent = tokio::time::timeout(time, self.client.send(request)).await;
        let response = sent.map_err(|_| silence(time))?.map_err(|error| refusal(&error))?;
        let status = response.status();
        let wait = response
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(|seconds: u64| Duration::from_secs(seconds.min(10)));
        let body = response.into_body();
        if status.is_success() {
            sink.again();
            return parts(body, (time, end), sink).await;
        }
        let mut why = Whole { bytes: Vec::new(), most: LARGEST_REFUSAL };
        // Whatever becomes of the words: it is a refusal.
        let _ = parts(body, (time, end), &mut why).await;
        Err(Trouble { wait, ..answered(status.as_u16(), &why.bytes) })
    }
}

async fn parts(
    mut body: Body,
    (time, end): (Duration, Instant),
    sink: &mut impl Sink,
) -> Result<(), Trouble> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let midway =
            |why: String| Trouble { why, passing: true, midway: true, ..Trouble::default() };
        match tokio::time::timeout(time.min(left), body.frame()).await {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(frame))) => frame.data_ref().map_or(Ok(()), |part| sink.take(part))?,
            Ok(Some(Err(error))) => return Err(midway(format!("the answer was cut off: {error}"))),
            Err(_) if left < time => {
                // It would be as slow the next time.
                return Err(Trouble {
                    passing: false,
                    ..midway("the answer came too slowly".into())
                });
            }
            Err(_) => {
                let why = format!("the answer stopped coming for {} s", seconds(time));
                return Err(Trouble { silent: true, ..midway(why) });
            }
        }
    }
}

fn silence(time: Duration) -> Trouble {
    let why = format!("no answer within {} s", seconds(time));
    Trouble { why, passing: true, silent: true, ..Trouble::default() }
}
