//! HTTP to one BMC: bounded in bytes, requests and time, and never away from its host.
//!
//! Readings use `get` alone. `post` and `patch` are for `hand`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{ALLOW, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::{Method, Response, redirect};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;

use crate::address::Endpoint;
use crate::reading::{Asked, Gap};
use crate::target::{Patience, Target};
use crate::tls::Judge;
use crate::words;

const MAX_BODY: usize = 4 << 20;
const MAX_BYTES: usize = 16 << 20;
const MAX_REQUESTS: usize = 400;
const MAX_REDIRECTS: usize = 3;
/// Who is silent that often in a row is gone, and the rest need not be waited for.
const MAX_SILENCE: usize = 3;
/// Credentials that were good and are not any more could lock the account.
const MAX_UNAUTHORIZED: usize = 3;
const WAIT: Duration = Duration::from_millis(300);
const LONGEST_WAIT: Duration = Duration::from_secs(3);

pub struct Client {
    http: reqwest::Client,
    base: Url,
    credentials: Option<(String, String)>,
    sends_credentials: bool,
    patience: Patience,
    deadline: Instant,
    requests: usize,
    bytes: usize,
    silence: usize,
    unauthorized: usize,
    asked: BTreeMap<String, u16>,
    gaps: BTreeMap<String, String>,
}

/// An answer of 200.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub body: Value,
    /// Methods that the BMC offers on it, where it says so.
    pub allow: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Failure {
    pub status: Option<u16>,
    pub why: String,
}

/// What is asked.
struct Ask<'a> {
    method: Method,
    body: Option<&'a Value>,
    /// `If-Match`
    version: Option<&'a str>,
}

const READ: Ask = Ask { method: Method::GET, body: None, version: None };

/// Why one exchange came to nothing.
enum Broken {
    /// The next try may go well.
    Passing(Failure, Option<Duration>),
    Lasting(Failure),
}

impl Client {
    pub fn new(
        endpoint: &Endpoint,
        address: SocketAddr,
        target: &Target,
        patience: &Patience,
        deadline: Instant,
        now: Timestamp,
    ) -> Result<Self, String> {
        let judge = Judge::new(target, now, target.verify);
        let config = judge.config().map_err(|error| error.to_string())?;
        let scheme = endpoint.transport.scheme();
        let base = Url::parse(&format!("{scheme}://{}:{}/", endpoint.host, endpoint.port))
            .map_err(|error| error.to_string())?;
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(patience.connect)
            .user_agent("plimsoll");
        if let Some(domain) = base.domain() {
            // The address that was looked at, and no other of the same name.
            builder = builder.resolve(domain, address);
        }
        let http = builder.build().map_err(|error| error.to_string())?;
        let password = target.password.as_ref().map(|password| password.reveal().to_string());
        let credentials = target.username.clone().map(|name| (name, password.unwrap_or_default()));
        Ok(Self {
            http,
            base,
            credentials,
            sends_credentials: false,
            patience: *patience,
            deadline,
            requests: 0,
            bytes: 0,
            silence: 0,
            unauthorized: 0,
            asked: BTreeMap::new(),
            gaps: BTreeMap::new(),
        })
    }

    /// From here on. Nobody gets them who has not answered as Redfish.
    pub fn send_credentials(&mut self) {
        self.sends_credentials = true;
    }

    pub fn username(&self) -> Option<&str> {
        self.credentials.as_ref().map(|(name, _)| name.as_str())
    }

    pub async fn get(&mut self, path: &str) -> Result<Answer, Failure> {
        let mut url = self.same_host(&self.base.clone(), path)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = match self.exchange(&READ, &url).await {
                Ok(response) => response,
                Err(failure) => return self.failed(path, failure),
            };
            let status = response.status();
            if status.is_redirection() {
                let place = header(response.headers(), LOCATION).unwrap_or_default();
                url = match self.same_host(&url, &place) {
                    Ok(url) => url,
                    Err(failure) => return self.failed(path, failure),
                };
                continue;
            }
            let allow = methods(response.headers());
            let body = match self.body(response).await {
                Ok(body) => body,
                Err(failure) => return self.failed(path, failure),
            };
            let parsed = serde_json::from_slice::<Value>(&body);
            if status.as_u16() != 200 {
                let body = parsed.unwrap_or_default();
                let why = words::refusal(status.as_u16(), &body);
                return self.failed(path, Failure { status: Some(status.as_u16()), why });
            }
            return match parsed {
                Ok(body) if body.is_object() => {
                    // It may have refused the same with a query.
                    self.asked.remove(&words::shown_path(path));
                    Ok(Answer { body, allow })
                }
                _ => self.failed(path, unanswered("the answer is not an object of JSON")),
            };
        }
        self.failed(path, unanswered("it redirects without end"))
    }

    /// Starts an action, once.
    pub async fn post(&mut self, path: &str, body: &Value) -> Result<(), Failure> {
        self.change(path, &Ask { method: Method::POST, body: Some(body), version: None }).await
    }

    /// Sets fields. Some services want to be told which version of the document is meant.
    pub async fn patch(&mut self, path: &str, body: &Value) -> Result<(), Failure> {
        let ask = |version| Ask { method: Method::PATCH, body: Some(body), version };
        match self.change(path, &ask(None)).await {
            Err(Failure { status: Some(412 | 428), .. }) => {
                self.change(path, &ask(Some("*"))).await
            }
            answer => answer,
        }
    }

    async fn change(&mut self, path: &str, ask: &Ask<'_>) -> Result<(), Failure> {
        let mut url = self.same_host(&self.base.clone(), path)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = match self.exchange(ask, &url).await {
                Ok(response) => response,
                Err(failure) => return self.failed(path, failure).map(drop),
            };
            let status = response.status().as_u16();
            // The other redirects would make a GET of it.
            if matches!(status, 307 | 308) {
                let place = header(response.headers(), LOCATION).unwrap_or_default();
                url = self.same_host(&url, &place)?;
                continue;
            }
            // What it says to a success is of no use, and that it is not said is no failure.
            if matches!(status, 200 | 201 | 202 | 204) {
                return Ok(());
            }
            let body = self.body(response).await.unwrap_or_default();
            let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
            let why = words::refusal(status, &body);
            return self.failed(path, Failure { status: Some(status), why }).map(drop);
        }
        self.failed(path, unanswered("it redirects without end")).map(drop)
    }

    /// The document, where there is one. Why there is none is kept.
    pub async fn read(&mut self, path: &str) -> Option<Answer> {
        let failure = match self.get(path).await {
            Ok(answer) => return Some(answer),
            Err(failure) => failure,
        };
        // What a BMC does not have is no gap.
        if !matches!(failure.status, Some(404 | 405 | 410 | 501)) {
            self.gap(path, failure.why);
        }
        None
    }

    pub fn gap(&mut self, what: &str, why: impl Into<String>) {
        self.gaps.entry(words::shown_path(what)).or_insert_with(|| why.into());
    }

    /// How the BMC's answers fell short: the statuses, and what could not be read.
    pub fn shortcomings(self) -> (Vec<Asked>, Vec<Gap>) {
        let asked = self.asked.into_iter().map(|(path, status)| Asked { path, status }).collect();
        let gaps = self.gaps.into_iter().map(|(what, why)| Gap { what, why }).collect();
        (asked, gaps)
    }

    fn failed(&mut self, path: &str, failure: Failure) -> Result<Answer, Failure> {
        if let Some(status) = failure.status {
            self.unauthorized += usize::from(status == 401);
            self.asked.insert(words::shown_path(path), status);
        }
        Err(failure)
    }

    /// One request and, where the trouble may pass, one more. A change that was lost on its way may have
    /// been done, and is not asked for again.
    async fn exchange(&mut self, ask: &Ask<'_>, url: &Url) -> Result<Response, Failure> {
        match self.once(ask, url).await {
            Ok(response) => Ok(response),
            Err(Broken::Lasting(failure)) => Err(failure),
            Err(Broken::Passing(failure, _)) if ask.body.is_some() && failure.status.is_none() => {
                Err(failure)
            }
            Err(Broken::Passing(_, wait)) => {
                let wait = wait.unwrap_or(WAIT).min(LONGEST_WAIT);
                tokio::time::sleep_until(self.deadline.min(Instant::now() + wait)).await;
                self.once(ask, url).await.map_err(|broken| match broken {
                    Broken::Passing(failure, _) | Broken::Lasting(failure) => failure,
                })
            }
        }
    }

    async fn once(&mut self, ask: &Ask<'_>, url: &Url) -> Result<Response, Broken> {
        let left = self.left().map_err(Broken::Lasting)?;
        self.requests += 1;
        let mut request = self
            .http
            .request(ask.method.clone(), url.clone())
            .header("Accept", "application/json")
            .header("OData-Version", "4.0")
            .timeout(left);
        if let Some(body) = ask.body {
            request = request.header("Content-Type", "application/json").body(body.to_string());
        }
        if let Some(version) = ask.version {
            request = request.header("If-Match", version);
        }
        if let Some((name, password)) = &self.credentials
            && self.sends_credentials
        {
            request = request.basic_auth(name, Some(password));
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => {
                self.silence += 1;
                let failure = unanswered(words::unanswered(&error));
                let lost = !error.is_timeout() && !error.is_connect();
                return Err(match lost {
                    true => Broken::Passing(failure, None),
                    false => Broken::Lasting(failure),
                });
            }
        };
        self.silence = 0;
        let status = response.status().as_u16();
        if status == 429 || status == 503 {
            let wait = header(response.headers(), RETRY_AFTER).and_then(|wait| wait.parse().ok());
            let failure =
                Failure { status: Some(status), why: words::refusal(status, &Value::Null) };
            return Err(Broken::Passing(failure, wait.map(Duration::from_secs)));
        }
        Ok(response)
    }

    /// The time that a request may take.
    fn left(&self) -> Result<Duration, Failure> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(unanswered(self.patience.is_over()));
        }
        if self.requests >= MAX_REQUESTS {
            return Err(unanswered("more requests than one BMC is asked"));
        }
        if self.bytes >= MAX_BYTES {
            return Err(unanswered("more bytes than are read of one BMC"));
        }
        if self.unauthorized >= MAX_UNAUTHORIZED {
            return Err(unanswered("it no longer takes the credentials"));
        }
        if self.silence >= MAX_SILENCE {
            return Err(unanswered("it no longer answers"));
        }
        Ok(left.min(self.patience.request))
    }

    async fn body(&mut self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    self.bytes += chunk.len();
                    if body.len() + chunk.len() > MAX_BODY {
                        return Err(unanswered("the answer is larger than 4 MiB"));
                    }
                    body.extend_from_slice(&chunk);
                }
                Ok(None) => return Ok(body),
                Err(error) => {
                    self.silence += 1;
                    return Err(unanswered(words::unanswered(&error)));
                }
            }
        }
    }

    fn same_host(&self, from: &Url, place: &str) -> Result<Url, Failure> {
        let url = from.join(place).map_err(|_| unanswered("its place cannot be read"))?;
        let same = url.scheme() == self.base.scheme()
            && url.host() == self.base.host()
            && url.port_or_known_default() == self.base.port_or_known_default()
            && url.username().is_empty()
            && url.password().is_none();
        if !same {
            return Err(unanswered("it leads to another host, which is not followed"));
        }
        Ok(url)
    }
}

fn unanswered(why: impl Into<String>) -> Failure {
    Failure { status: None, why: why.into() }
}

fn header(headers: &HeaderMap, name: reqwest::header::HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_string)
}

fn methods(headers: &HeaderMap) -> Vec<String> {
    let told = header(headers, ALLOW).unwrap_or_default();
    let mut methods: Vec<_> =
        told.split(',').map(|method| method.trim().to_ascii_uppercase()).collect();
    methods.retain(|method| !method.is_empty());
    methods.sort();
    methods
}
