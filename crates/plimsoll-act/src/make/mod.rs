//! What is written and stands in no plan: credentials, certificates and copies, made from what the
//! cluster and its nodes have when it is written.

mod chrony;
mod ignition;
mod kubelet;
mod machine_config;
mod mcs;
mod mcs_backup;
#[cfg(test)]
mod support;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::plan::{LOCALHOST_MAKER, Object};
use plimsoll_model::{EntityId, Time};
use plimsoll_repair::resource;
use serde_json::Value;

use crate::target::Trouble;

/// The node's own copy of an administrator's kubeconfig. Its content stays on the node: the node target
/// copies it there.
pub const LOCALHOST_KUBECONFIG: &str = "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/localhost.kubeconfig";

const MCO: &str = "openshift-machine-config-operator";

/// What makers read. Secrets are among it.
pub trait Reads {
    /// None where it is not there.
    fn object(&self, object: &Object) -> Result<Option<Value>, Trouble>;
    fn file(&self, node: &str, path: &str) -> Result<Vec<u8>, Trouble>;
    /// A file of the user's own, on this machine.
    fn local(&self, path: &str) -> Result<Vec<u8>, Trouble>;
    fn now(&self) -> Time;
}

/// What was made. It can be written and not shown.
pub struct Made(Inner);

enum Inner {
    Text(String),
    Object(Value),
}

impl Made {
    fn text(text: String) -> Self {
        Self(Inner::Text(text))
    }

    fn object(object: Value) -> Self {
        Self(Inner::Object(object))
    }

    /// As a file.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            Inner::Text(text) => text.into_bytes(),
            Inner::Object(object) => format!("{object:#}\n").into_bytes(),
        }
    }

    /// As an object of the API, whole: `create` takes all of it, `fill` its `data`.
    pub fn into_object(self) -> Option<Value> {
        match self.0 {
            Inner::Text(_) => None,
            Inner::Object(object) => Some(object),
        }
    }
}

type Maker = fn(&Value, &dyn Reads) -> Result<Made, Trouble>;

const MAKERS: &[(&str, Maker)] = &[
    ("bootstrap-kubeconfig", kubelet::bootstrap_kubeconfig),
    ("chrony-machine-config", chrony::machine_config),
    (LOCALHOST_MAKER, kubelet::localhost_kubeconfig),
    ("machine-config-of-node", machine_config::of_node),
    ("mcs-ca-configmap", mcs::ca_config_map),
    ("mcs-ca-secret", mcs::ca_secret),
    ("mcs-root-ca-configmap", mcs::root_ca_config_map),
    ("mcs-tls-secret", mcs::tls_secret),
    ("mcs-tls-secret-from-backup", mcs_backup::tls_secret),
    ("pointer-ignition", ignition::pointer),
];

/// Names that plans may give.
pub fn makers() -> impl Iterator<Item = &'static str> {
    MAKERS.iter().map(|(name, _)| *name)
}

pub fn make(maker: &str, inputs: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let found = MAKERS.iter().find(|(name, _)| *name == maker);
    let (_, make) = found.ok_or_else(|| failed(format!("nobody makes '{maker}'")))?;
    make(inputs, reads)
}

fn failed(why: impl Into<String>) -> Trouble {
    Trouble::Failed(why.into())
}

fn entity(kind: &str, namespace: Option<&str>, name: &str) -> EntityId {
    EntityId { kind: kind.into(), namespace: namespace.map(str::to_string), name: name.into() }
}

/// None where it is not there.
fn find(
    reads: &dyn Reads,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, Trouble> {
    let entity = entity(kind, namespace, name);
    let object = resource(&entity).ok_or_else(|| failed(format!("{kind} is no known kind")))?;
    reads.object(&object)
}

fn get(
    reads: &dyn Reads,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Value, Trouble> {
    let found = find(reads, kind, namespace, name)?;
    found.ok_or_else(|| failed(format!("there is no {}", entity(kind, namespace, name))))
}

fn input<'v>(inputs: &'v Value, name: &str) -> Result<&'v str, Trouble> {
    let text = inputs.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| failed(format!("the plan does not say '{name}'")))
}

/// One value of a Secret, as text.
fn secret_text(secret: &Value, key: &str) -> Option<String> {
    let packed = secret.get("data")?.get(key)?.as_str()?;
    String::from_utf8(STANDARD.decode(packed).ok()?).ok()
}

fn packed(text: impl AsRef<[u8]>) -> String {
    STANDARD.encode(text)
}

/// As Ignition takes a file.
fn data_url(text: &str) -> String {
    format!("data:text/plain;charset=utf-8;base64,{}", packed(text))
}

#[cfg(test)]
mod tests {
    use super::support::Fake;
    use super::*;
    use serde_json::json;

    #[test]
    fn an_unknown_maker_makes_nothing() {
        let made = make("kubeadmin-password", &json!({}), &Fake::default());
        assert_eq!(made.err().unwrap(), failed("nobody makes 'kubeadmin-password'"));
    }

    #[test]
    fn makers_are_sorted_and_known_by_one_name() {
        let names: Vec<_> = makers().collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(names, sorted);
        let known: Vec<_> = plimsoll_model::plan::MAKERS.iter().map(|one| one.name).collect();
        assert_eq!(names, known, "packs may name these");
    }
}
