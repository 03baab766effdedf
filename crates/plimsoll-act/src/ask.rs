//! One request to the API, with a limit of time and its refusal in words.

use std::time::Duration;

use http::{Method, Request};
use plimsoll_model::{clip, redact};
use serde_json::Value;

/// For one request.
const LIMIT: Duration = Duration::from_secs(30);
/// Items of a list that are asked for at once.
const PAGE: usize = 500;
/// No cluster has more; a server that always has another page is none.
const MOST_PAGES: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// Of HTTP, where there was an answer.
    pub code: Option<u16>,
    pub why: String,
}

pub async fn ask(
    client: &kube::Client,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, Refusal> {
    let own = |why: String| Refusal { code: None, why };
    let content = body.map(Value::to_string).unwrap_or_default().into_bytes();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Accept", "application/json")
        .header("Content-Type", "application/json")
        .body(content)
        .map_err(|error| own(error.to_string()))?;
    match tokio::time::timeout(LIMIT, client.request::<Value>(request)).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            let message = clip(&redact(&status.message));
            Err(Refusal { code: Some(status.code), why: format!("{message} ({})", status.code) })
        }
        Ok(Err(error)) => Err(own(clip(&redact(&error.to_string())))),
        Err(_) => Err(own(format!("no answer within {} s", LIMIT.as_secs()))),
    }
}

pub async fn get(client: &kube::Client, path: &str) -> Result<Value, Refusal> {
    ask(client, Method::GET, path, None).await
}

/// Everything of a resource, page by page.
pub async fn list(client: &kube::Client, path: &str) -> Result<Vec<Value>, Refusal> {
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
