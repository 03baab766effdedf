//! The BMC of a BareMetalHost as its cluster names it: the host says where it is, a Secret beside the host
//! whom it lets in.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::target::{Secret, Target};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBmc {
    /// Of the host.
    pub name: String,
    pub namespace: String,
    pub address: String,
    /// The Secret with its credentials; empty where none is named.
    pub credentials: String,
    pub verify: bool,
}

impl HostBmc {
    /// `None` where the host names no BMC.
    pub fn of(host: &Value) -> Option<Self> {
        let text = |pointer: &str| {
            host.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let lax = host.pointer("/spec/bmc/disableCertificateVerification");
        let address = text("/spec/bmc/address");
        (!address.is_empty()).then(|| Self {
            name: text("/metadata/name"),
            namespace: text("/metadata/namespace"),
            credentials: text("/spec/bmc/credentialsName"),
            verify: lax.and_then(Value::as_bool) != Some(true),
            address,
        })
    }

    /// As it is asked: with what its Secret holds, or without credentials where that was not read.
    pub fn target(&self, secret: Option<&Value>) -> Target {
        let value = |key: &str| {
            let encoded = secret?.get("data")?.get(key)?.as_str()?;
            let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
            Some(text.trim_end_matches('\n').to_string()).filter(|text| !text.is_empty())
        };
        Target {
            name: self.name.clone(),
            address: self.address.clone(),
            username: value("username"),
            password: value("password").map(Secret::new),
            verify: self.verify,
            ca_pem: None,
            more_ca_pem: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_host_says_where_its_bmc_is_and_its_secret_whom_it_lets_in() {
        let host = json!({
            "metadata": {"name": "worker-1", "namespace": "openshift-machine-api"},
            "spec": {"bmc": {"address": "redfish://192.0.2.1/x", "credentialsName": "worker-1-bmc",
                "disableCertificateVerification": true}},
        });
        let bmc = HostBmc::of(&host).unwrap();
        assert_eq!((bmc.credentials.as_str(), bmc.verify), ("worker-1-bmc", false));
        let secret = json!({"data": {
            "username": STANDARD.encode("admin"), "password": STANDARD.encode("hunter2\n")}});
        let target = bmc.target(Some(&secret));
        assert_eq!(target.name, "worker-1");
        assert_eq!(target.address, "redfish://192.0.2.1/x");
        assert_eq!(target.username.as_deref(), Some("admin"));
        assert_eq!(target.password, Some(Secret::new("hunter2")));
    }

    #[test]
    fn without_a_secret_nobody_is_let_in_and_without_an_address_there_is_no_bmc() {
        let host = json!({"spec": {"bmc": {"address": "192.0.2.1"}}});
        let bmc = HostBmc::of(&host).unwrap();
        assert!(bmc.verify && bmc.credentials.is_empty());
        for secret in [None, Some(json!({"data": {"username": "", "password": "?"}}))] {
            let target = bmc.target(secret.as_ref());
            assert_eq!((target.username, target.password), (None, None));
        }
        assert_eq!(HostBmc::of(&json!({"spec": {}})), None);
    }
}
