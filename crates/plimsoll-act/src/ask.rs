//! One request to the API, with a limit of time and its refusal in words. Whatever this crate asks of a
//! cluster goes through here.

use std::fmt;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request};
use kube::Client;
use plimsoll_model::{clip, redact};
use serde_json::Value;

/// For one request of those that have no limit of their own.
const LIMIT: Duration = Duration::from_secs(30);
/// Items of a list that are asked for at once.
const PAGE: usize = 500;
/// No cluster has more; a server that always has another page is none.
const MOST_PAGES: usize = 1000;
const JSON: &str = "application/json";

/// Why nothing came of it, fit to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Of HTTP, where there was an answer.
    pub code: Option<u16>,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} ({code})", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Refusal {}

/// What goes with a request.
#[derive(Clone, Copy)]
pub enum Body<'b> {
    Nothing,
    Json(&'b Value),
    /// Operations of a JSON patch.
    Patch(&'b [Value]),
}

impl Body<'_> {
    fn packed(self) -> Option<(&'static str, String)> {
        match self {
            Body::Nothing => None,
            Body::Json(value) => Some((JSON, value.to_string())),
            Body::Patch(operations) => {
                let all = Value::Array(operations.to_vec());
                Some(("application/json-patch+json", all.to_string()))
            }
        }
    }
}

pub async fn send(
    client: &Client,
    method: Method,
    path: &str,
    body: Body<'_>,
    limit: Duration,
) -> Result<Value, Refusal> {
    let own = |why: String| Refusal { code: None, why: clip(&redact(&why)) };
    let mut request = Request::builder().method(method).uri(path).header(ACCEPT, JSON);
    let mut content = String::new();
    if let Some((kind, packed)) = body.packed() {
        request = request.header(CONTENT_TYPE, kind);
        content = packed;
    }
    let request = request.body(content.into_bytes()).map_err(|error| own(error.to_string()))?;
    match tokio::time::timeout(limit, client.request::<Value>(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(Refusal { code: Some(status.code), why: clip(&redact(&status.message)) })
        }
        Ok(Err(error)) => Err(own(error.to_string())),
        Err(_) => Err(own(format!("no answer within {} s", limit.as_secs()))),
    }
}

pub async fn ask(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Refusal> {
    send(client, method, path, body.map_or(Body::Nothing, Body::Json), LIMIT).await
}

pub async fn get(client: &Client, path: &str) -> Result<Value, Refusal> {
    ask(client, Method::GET, path, None).await
}

/// Everything of a resource, page by page.
pub async fn list(client: &Client, path: &str) -> Result<Vec<Value>, Refusal> {
    let mut items = Vec::new();
    let mut next = String::new();
    for _ in 0..MOST_PAGES {
        let go_on = match next.is_empty() {
            true => String::new(),
            false => format!("&continue={next}"),
        };
        let mut page = get(client, &format!("{path}?limit={PAGE}{go_on}")).await?;
        if let Some(found) = page["items"].as_array_mut() {
            items.append(found);
        }
        next = page["metadata"]["continue"].as_str().unwrap_or_default().to_string();
        if next.is_empty() {
            return Ok(items);
        }
    }
    Err(Refusal { code: None, why: "the list has no end".into() })
}
