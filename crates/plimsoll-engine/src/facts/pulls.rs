//! Why images cannot be pulled, in the kubelet's words: of each pod, and of the platform's pods
//! together. What the words mean is for the packs to say.

use std::collections::BTreeMap;

use plimsoll_model::{EntityId, Evidence, FactBase, Value};

/// What a container waits for while its image is not there (kubelet, pkg/kubelet/images).
const WAITING: &[&str] = &[
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
];
/// The event that keeps the error which the state of the container has forgotten by now.
pub const FAILED: &str = "FailedToPull";

pub fn derive(base: &mut FactBase) {
    let mut errors: BTreeMap<String, Evidence> = BTreeMap::new();
    let mut looked = false;
    for (id, entity) in base.entities.iter_mut().filter(|(id, _)| id.kind == "Pod") {
        let Some(waiting) = entity.facts.get("waiting").and_then(Value::text) else { continue };
        looked = true;
        let mut from = entity.provenance.get("waitingMessage").cloned().unwrap_or_default();
        let mut error = String::new();
        if WAITING.contains(&waiting) {
            let told = entity.facts.get("waitingMessage").and_then(Value::text).unwrap_or_default();
            // Up to Kubernetes 1.30 a container in back-off says that it waits, not what for.
            let remembered = (!says_why(told))
                .then(|| entity.facts.get("events")?.get(FAILED)?.get("message")?.text())
                .flatten();
            if remembered.is_some() {
                from.extend(
                    entity
                        .provenance
                        .get(&format!("events.{FAILED}"))
                        .into_iter()
                        .flatten()
                        .cloned(),
                );
            }
            error = remembered.unwrap_or(told).to_string();
            if is_platform(id)
                && let Some(at) = from.last()
            {
                errors.entry(error.clone()).or_insert_with(|| at.clone());
            }
        }
        entity.derive("pullError", error, from);
    }
    if looked {
        let (texts, from): (Vec<String>, Vec<Evidence>) = errors.into_iter().unzip();
        base.entities.entry(EntityId::cluster()).or_default().derive("pullErrors", texts, from);
    }
}

/// `Back-off pulling image "x"` and nothing after it says nothing.
fn says_why(message: &str) -> bool {
    let why = match message.strip_prefix("Back-off pulling image \"") {
        Some(rest) => rest.split_once('"').map_or("", |(_, why)| why),
        None => message,
    };
    !why.is_empty()
}

fn is_platform(id: &EntityId) -> bool {
    id.namespace.as_deref().is_some_and(|namespace| {
        namespace.starts_with("openshift-") || namespace.starts_with("kube-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_off_alone_says_nothing() {
        assert!(!says_why(r#"Back-off pulling image "quay.io/x@sha256:aa""#));
        assert!(!says_why(""));
        assert!(says_why(r#"Back-off pulling image "quay.io/x": ErrImagePull: unauthorized"#));
        assert!(says_why("rpc error: code = Unknown desc = manifest unknown"));
    }
}
