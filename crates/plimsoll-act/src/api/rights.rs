//! Rights for the plan and for taking it back, reviewed before the first step.

use std::collections::BTreeSet;

use plimsoll_model::plan::{Permission, Plan};
use plimsoll_repair::rights;
use serde_json::{Value, json};

use super::Api;
use super::lease::{NAME, NAMESPACE};
use crate::target::Trouble;

/// What the lock needs beside the steps.
fn of_the_lock() -> impl Iterator<Item = Permission> {
    ["get", "create", "update"].into_iter().map(|verb| Permission {
        verb: verb.into(),
        group: "coordination.k8s.io".into(),
        resource: "leases".into(),
        namespace: Some(NAMESPACE.into()),
        // What is to be made has no name yet.
        name: (verb != "create").then(|| NAME.into()),
    })
}

/// Those that the server says this user lacks, sorted.
pub fn missing_rights(api: &Api, plan: &Plan) -> Result<Vec<Permission>, Trouble> {
    let of_steps = plan.steps.iter().flat_map(rights);
    let all: BTreeSet<Permission> = of_steps.chain(of_the_lock()).collect();
    let mut missing = Vec::new();
    for right in all {
        let (resource, subresource) =
            right.resource.split_once('/').unwrap_or((&right.resource, ""));
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": right.verb, "group": right.group, "resource": resource,
                "subresource": subresource,
                "namespace": right.namespace.as_deref().unwrap_or_default(),
                "name": right.name.as_deref().unwrap_or_default(),
            }},
        });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let answer = api.post(path, &review)?;
        if answer.pointer("/status/allowed").and_then(Value::as_bool) != Some(true) {
            missing.push(right);
        }
    }
    Ok(missing)
}

/// Who the server says this is; `None` where it does not say.
pub fn own_name(api: &Api) -> Option<String> {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review).ok()?;
    Some(answer.pointer("/status/userInfo/username")?.as_str()?.to_string())
}
