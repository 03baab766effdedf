//! The verbs of the API, each with its own patience, and what their refusals mean.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use plimsoll_model::plan::Object;
use plimsoll_model::redact;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::MANAGER;
use crate::target::Trouble;

/// A connected client, and the threads it works on.
pub struct Api {
    runtime: Runtime,
    client: Client,
    patience: Duration,
}

impl Api {
    pub fn new(runtime: Runtime, client: Client, patience: Duration) -> Self {
        Self { runtime, client, patience }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// `None` where it is proven not to exist.
    pub fn get(&self, object: &Object) -> Result<Option<Value>, Trouble> {
        match self.send(Method::GET, &path(object, None), None) {
            Ok(found) => Ok(Some(found)),
            Err(Answer { code: Some(404), .. }) => Ok(None),
            Err(answer) => Err(answer.trouble(object)),
        }
    }

    pub fn patch(
        &self,
        object: &Object,
        subresource: Option<&str>,
        operations: &[Value],
        dry: bool,
    ) -> Result<Value, Trouble> {
        let path = with(&path(object, subresource), dry);
        let body = Some((Value::Array(operations.to_vec()), "application/json-patch+json"));
        self.send(Method::PATCH, &path, body).map_err(|answer| answer.trouble(object))
    }

    pub fn create(&self, object: &Object, value: &Value, dry: bool) -> Result<Value, Trouble> {
        let all = path(object, None);
        let all = all.rsplit_once('/').map_or(all.as_str(), |(all, _)| all);
        let body = Some((value.clone(), "application/json"));
        self.send(Method::POST, &with(all, dry), body).map_err(|answer| answer.trouble(object))
    }

    /// `value` has the resourceVersion that it was read with.
    pub fn replace(&self, object: &Object, value: &Value, dry: bool) -> Result<Value, Trouble> {
        let body = Some((value.clone(), "application/json"));
        self.send(Method::PUT, &with(&path(object, None), dry), body)
            .map_err(|answer| answer.trouble(object))
    }

    /// Exactly the one that was seen.
    pub fn delete(&self, object: &Object, seen: &Value, dry: bool) -> Result<(), Trouble> {
        let metadata = &seen["metadata"];
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
        });
        if dry {
            options["dryRun"] = json!(["All"]);
        }
        let body = Some((options, "application/json"));
        let done = self.send(Method::DELETE, &path(object, None), body);
        done.map(|_| ()).map_err(|answer| answer.trouble(object))
    }

    /// Any path, for what is no object of a plan.
    pub fn post(&self, path: &str, value: &Value) -> Result<Value, Trouble> {
        let body = Some((value.clone(), "application/json"));
        self.send(Method::POST, path, body).map_err(|answer| answer.trouble(&Object::default()))
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(Value, &str)>,
    ) -> Result<Value, Answer> {
        let mut request = Request::builder().method(method).uri(path);
        let body = match body {
            Some((value, kind)) => {
                request = request.header(http::header::CONTENT_TYPE, kind);
                value.to_string().into_bytes()
            }
            None => Vec::new(),
        };
        let request = request.body(body).map_err(|error| Answer::lost(&error))?;
        let answer = self.client.request::<Value>(request);
        let asked = async { tokio::time::timeout(self.patience, answer).await };
        match self.runtime.block_on(asked) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(kube::Error::Api(status))) => {
                Err(Answer { code: Some(status.code), why: status.message.clone() })
            }
            Ok(Err(error)) => Err(Answer::lost(&error)),
            Err(_) => Err(Answer::lost(&format!("no answer within {} s", self.patience.as_secs()))),
        }
    }
}

struct Answer {
    code: Option<u16>,
    why: String,
}

impl Answer {
    fn lost(error: &dyn std::fmt::Display) -> Self {
        Self { code: None, why: error.to_string() }
    }

    fn trouble(self, object: &Object) -> Trouble {
        let entity = object.entity();
        let why = plimsoll_model::clip(&redact(&self.why));
        match self.code {
            None => Trouble::Lost(format!("{entity}: {why}")),
            Some(409) => Trouble::Stale(format!("{entity} was changed by somebody else: {why}")),
            Some(404) => Trouble::Stale(format!("{entity} is gone")),
            Some(401 | 403) => Trouble::Refused(format!("no right to change {entity}: {why}")),
            Some(429 | 500..=599) => Trouble::Lost(format!("{entity}: {why}")),
            Some(_) => Trouble::Failed(format!("{entity}: {why}")),
        }
    }
}

fn path(object: &Object, subresource: Option<&str>) -> String {
    let base = match object.group.is_empty() {
        true => format!("/api/{}", object.version),
        false => format!("/apis/{}/{}", object.group, object.version),
    };
    let base = match &object.namespace {
        Some(namespace) => format!("{base}/namespaces/{namespace}"),
        None => base,
    };
    let path = format!("{base}/{}/{}", object.plural, object.name);
    subresource.map_or(path.clone(), |name| format!("{path}/{name}"))
}

fn with(path: &str, dry: bool) -> String {
    let dry = if dry { "&dryRun=All" } else { "" };
    format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict{dry}")
}
