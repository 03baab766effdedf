//! Fields that a plan may patch. All others are somebody else's: a replica count, an image, a version that is
//! wanted, an override of an operator.

use plimsoll_model::plan::{Action, Target};

use super::Scene;
use super::change::Leaf;

struct Field {
    kind: &'static str,
    /// As a JSON pointer; `*` is any one name, or any end of one.
    path: &'static str,
    /// Whether it may be taken away.
    may_go: bool,
}

const fn stays(kind: &'static str, path: &'static str) -> Field {
    Field { kind, path, may_go: false }
}

const fn goes(kind: &'static str, path: &'static str) -> Field {
    Field { kind, path, may_go: true }
}

const REASON: &str = "/spec/forceRedeploymentReason";
const BYPASSED: &str = "/metadata/annotations/plimsoll.io~1bypassed-*";
const POLICY: &str = "/webhooks/*/failurePolicy";

/// Sorted.
const PATCHABLE: &[Field] = &[
    goes("BareMetalHost", "/metadata/annotations/plimsoll.io~1power"),
    goes("BareMetalHost", "/metadata/annotations/reboot.metal3.io"),
    stays("BareMetalHost", "/spec/bmc/address"),
    stays("BareMetalHost", "/spec/bmc/credentialsName"),
    goes("BareMetalHost", "/spec/bmc/disableCertificateVerification"),
    stays("BareMetalHost", "/spec/online"),
    stays("Etcd", REASON),
    stays("Infrastructure", "/spec/platformSpec/baremetal/machineNetworks/*"),
    stays("KubeAPIServer", REASON),
    stays("KubeControllerManager", REASON),
    stays("KubeScheduler", REASON),
    goes("MachineConfigPool", "/spec/paused"),
    goes("MachineConfigPool", "/status/configuration/name"),
    goes("MutatingWebhookConfiguration", BYPASSED),
    stays("MutatingWebhookConfiguration", POLICY),
    goes("ValidatingWebhookConfiguration", BYPASSED),
    stays("ValidatingWebhookConfiguration", POLICY),
];

fn fits(pattern: &str, path: &str) -> bool {
    let (mut wanted, mut names) = (pattern.split('/'), path.split('/'));
    loop {
        match (wanted.next(), names.next()) {
            (None, None) => return true,
            (Some(wanted), Some(name)) => {
                let is_it = match wanted.strip_suffix('*') {
                    Some(begin) => name.len() > begin.len() && name.starts_with(begin),
                    None => name == wanted,
                };
                if !is_it {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

fn may_be(kind: &str, leaf: &Leaf) -> bool {
    let is_it = |field: &Field| {
        field.kind == kind
            && fits(field.path, &leaf.path)
            && (field.may_go || leaf.becomes.is_some())
    };
    PATCHABLE.iter().any(is_it)
}

pub fn only_known_fields(scene: &Scene) -> Vec<String> {
    let (Action::Patch { .. }, Target::Api(object)) = (&scene.step.action, &scene.step.target)
    else {
        return Vec::new();
    };
    let entity = object.entity();
    let told = |leaf: &Leaf| match leaf.path.as_str() {
        "" => format!("all of {entity} would be replaced"),
        path if leaf.becomes.is_none() => {
            format!("{path} of {entity} is not a plan's to take away")
        }
        path => format!("{path} of {entity} is not a plan's to change"),
    };
    let strange = scene.leaves().into_iter().filter(|leaf| !may_be(&object.kind, leaf));
    strange.map(|leaf| told(&leaf)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_of_names_and_not_of_parts() {
        let marks = "/metadata/annotations/plimsoll.io~1bypassed-*";
        assert!(fits(marks, "/metadata/annotations/plimsoll.io~1bypassed-0"));
        assert!(!fits(marks, "/metadata/annotations/plimsoll.io~1bypassed-"));
        assert!(fits("/a/*", "/a/0") && fits("/a/*", "/a/-"));
        assert!(!fits("/a/*", "/a/0/b") && !fits("/a/*", "/a") && !fits("/a/b", "/a"));
    }
}
