//! The verbs of the API on the objects of a plan, and what its refusals mean for a step.

use std::time::Duration;

use http::Method;
use kube::Client;
use plimsoll_model::plan::Object;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::MANAGER;
use crate::ask::{self, Body, Refusal};
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

    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Beside whatever else goes on, until it is aborted.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        self.runtime.spawn(task)
    }

    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// `None` where it is proven not to exist.
    pub fn get(&self, object: &Object) -> Result<Option<Value>, Trouble> {
        match self.send(Method::GET, &path(object, None), Body::Nothing) {
            Ok(found) => Ok(Some(found)),
            Err(Refusal { code: Some(404), .. }) => Ok(None),
            Err(refusal) => Err(trouble(refusal, object)),
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
        self.change(Method::PATCH, &path, Body::Patch(operations), object)
    }

    pub fn create(&self, object: &Object, value: &Value, dry: bool) -> Result<Value, Trouble> {
        self.change(Method::POST, &collection(object, dry), Body::Json(value), object)
    }

    /// `value` has the resourceVersion that it was read with.
    pub fn replace(&self, object: &Object, value: &Value, dry: bool) -> Result<Value, Trouble> {
        self.change(Method::PUT, &with(&path(object, None), dry), Body::Json(value), object)
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
        let path = path(object, None);
        self.change(Method::DELETE, &path, Body::Json(&options), object).map(|_| ())
    }

    /// Any path, for what is no object of a plan.
    pub fn post(&self, path: &str, value: &Value) -> Result<Value, Trouble> {
        self.change(Method::POST, path, Body::Json(value), &Object::default())
    }

    fn change(
        &self,
        method: Method,
        path: &str,
        body: Body<'_>,
        object: &Object,
    ) -> Result<Value, Trouble> {
        self.send(method, path, body).map_err(|refusal| trouble(refusal, object))
    }

    fn send(&self, method: Method, path: &str, body: Body<'_>) -> Result<Value, Refusal> {
        self.block_on(ask::send(&self.client, method, path, body, self.patience))
    }
}

pub(crate) fn trouble(refusal: Refusal, object: &Object) -> Trouble {
    let entity = object.entity();
    let Refusal { code, why } = refusal;
    match code {
        None => Trouble::Lost(format!("{entity}: {why}")),
        Some(409) => Trouble::Stale(format!("{entity} was changed by somebody else: {why}")),
        Some(404) => Trouble::Stale(format!("{entity} is gone: {why}")),
        Some(401) => {
            Trouble::Refused(format!("{entity}: the API does not know the credential: {why}"))
        }
        // To read or to change it: the server says which.
        Some(403) => Trouble::Refused(format!("{entity}: no right: {why}")),
        Some(429 | 500..=599) => Trouble::Lost(format!("{entity}: {why}")),
        Some(_) => Trouble::Failed(format!("{entity}: {why}")),
    }
}

pub(super) fn path(object: &Object, subresource: Option<&str>) -> String {
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

/// Where objects like this one are made.
pub(super) fn collection(object: &Object, dry: bool) -> String {
    let all = path(object, None);
    with(all.rsplit_once('/').map_or(all.as_str(), |(all, _)| all), dry)
}

fn with(path: &str, dry: bool) -> String {
    let dry = if dry { "&dryRun=All" } else { "" };
    format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict{dry}")
}
