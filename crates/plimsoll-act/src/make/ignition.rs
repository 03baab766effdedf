//! The pointer ignition of new machines: whom they trust when they ask for their config.

use serde_json::{Value, json};

use super::{Made, Reads, data_url, failed, get, input, mcs, packed, secret_text};
use crate::target::Trouble;

const NAMESPACE: &str = "openshift-machine-api";
const KEY: &str = "userData";

/// As `oc adm ocp-certificates update-ignition-ca-bundle-for-machine-config-server` changes it.
pub fn pointer(inputs: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let name = input(inputs, "secret")?;
    if name.ends_with("-user-data-managed") {
        let why =
            format!("{name} is written by the machine-config operator, from kube-system/root-ca");
        return Err(Trouble::Refused(why));
    }
    let mut secret = get(reads, "Secret", Some(NAMESPACE), name)?;
    let text = secret_text(&secret, KEY).ok_or_else(|| failed(format!("{name} has no {KEY}")))?;
    let mut ignition: Value =
        serde_json::from_str(&text).map_err(|_| failed(format!("{KEY} of {name} is no JSON")))?;
    let place = "/ignition/security/tls/certificateAuthorities";
    let authorities = ignition.pointer_mut(place).and_then(Value::as_array_mut);
    match authorities.map(Vec::as_mut_slice) {
        Some([only]) if only.is_object() => {
            only["source"] = json!(data_url(&mcs::authority(reads)?))
        }
        Some([]) | None | Some([_]) => {
            return Err(failed(format!("{name} names no certificate authority to replace")));
        }
        Some(_) => {
            let why =
                format!("{name}: additional CAs detected, it cannot be changed automatically");
            return Err(Trouble::Refused(why));
        }
    }
    secret["data"][KEY] = json!(packed(ignition.to_string()));
    Ok(Made::object(secret))
}

#[cfg(test)]
mod tests {
    use super::super::support::{Fake, secret};
    use super::super::{MCO, make};
    use super::*;

    fn user_data(authorities: usize) -> Value {
        let one = json!({"source": "data:text/plain,old"});
        let ignition = json!({"ignition": {
            "config": {"merge": [{"source": "https://192.168.10.5:22623/config/worker"}]},
            "security": {"tls": {"certificateAuthorities": vec![one; authorities]}},
            "version": "3.2.0",
        }});
        secret("Opaque", &[(KEY, &ignition.to_string()), ("disableTemplating", "true")])
    }

    fn made(fake: &Fake, name: &str) -> Result<Value, Trouble> {
        let made = make("pointer-ignition", &json!({"secret": name}), fake)?;
        Ok(made.into_object().unwrap())
    }

    fn cluster(authorities: usize) -> Fake {
        Fake::default()
            .with(&format!("Secret/{NAMESPACE}/worker-user-data"), user_data(authorities))
            .with("ConfigMap/kube-system/root-ca", json!({"data": {"ca.crt": "old root"}}))
    }

    fn source(secret: &Value) -> String {
        let text = secret_text(secret, KEY).unwrap();
        let ignition: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            ignition["ignition"]["config"]["merge"][0]["source"],
            "https://192.168.10.5:22623/config/worker"
        );
        ignition["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"]
            .as_str()
            .unwrap()
            .to_string()
    }

    #[test]
    fn only_the_authority_changes() {
        let before = made(&cluster(1), "worker-user-data").unwrap();
        assert_eq!(source(&before), data_url("old root"), "where nobody rotated it, the root");
        assert_eq!(secret_text(&before, "disableTemplating").as_deref(), Some("true"));
        let path = format!("Secret/{MCO}/machine-config-server-ca");
        let rotated = cluster(1).with(&path, secret("kubernetes.io/tls", &[("tls.crt", "new")]));
        assert_eq!(source(&made(&rotated, "worker-user-data").unwrap()), data_url("new"));
    }

    #[test]
    fn what_is_not_plain_is_left_to_people() {
        let said = made(&cluster(2), "worker-user-data").unwrap_err();
        assert!(matches!(&said, Trouble::Refused(why) if why.contains("additional CAs detected")));
        assert!(made(&cluster(0), "worker-user-data").is_err());
        assert!(made(&cluster(1), "master-user-data").is_err());
        let managed = made(&cluster(1), "worker-user-data-managed").unwrap_err();
        assert!(matches!(managed, Trouble::Refused(_)));
    }
}
