//! The certificate of the machine-config server from a copy that somebody kept. It goes from the user's file
//! into the cluster, and nowhere else.

use plimsoll_yaml::{Limits, parse};
use serde_json::{Value, json};
use x509_parser::pem::Pem;

use super::mcs::{self, TLS};
use super::{MCO, Made, Reads, failed, input, secret_text};
use crate::target::Trouble;

/// As `oc get secret machine-config-server-tls -o yaml` wrote it. One that new machines would refuse, or that
/// is none, is not restored.
pub fn tls_secret(inputs: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let path = input(inputs, "file")?;
    let bad = |why: &str| failed(format!("{path}: {why}"));
    let text = String::from_utf8(reads.local(path)?).map_err(|_| bad("it is no text"))?;
    // What the parser says would quote the file.
    let node = parse(&text, &Limits::OBJECT).map_err(|_| bad("it is no YAML or JSON"))?;
    let field = |path: &[&str]| node.text_at(path).unwrap_or_default().to_string();
    if (field(&["kind"]), field(&["metadata", "name"])) != ("Secret".into(), TLS.into()) {
        return Err(bad(&format!("it is no copy of Secret {TLS}")));
    }
    let kind = match field(&["type"]) {
        kind if kind.is_empty() => "Opaque".to_string(),
        kind => kind,
    };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind,
        "metadata": {"name": TLS, "namespace": MCO},
        "data": {"tls.crt": field(&["data", "tls.crt"]), "tls.key": field(&["data", "tls.key"])},
    });
    let (Some(chain), Some(key)) =
        (secret_text(&secret, "tls.crt"), secret_text(&secret, "tls.key"))
    else {
        return Err(bad("it has no tls.crt and tls.key in data"));
    };
    let key = rcgen::KeyPair::from_pem(&key).map_err(|_| bad("its key cannot be read"))?;
    let first = Pem::iter_from_buffer(chain.as_bytes()).next();
    let Some(Ok(first)) = first else { return Err(bad("its certificate cannot be read")) };
    let leaf = first.parse_x509().map_err(|_| bad("its certificate cannot be read"))?;
    if leaf.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
        return Err(bad("its key is of another certificate"));
    }
    if leaf.validity().not_after.timestamp() <= reads.now().as_second() {
        return Err(bad("its certificate is past its end: issue a new one instead"));
    }
    // New machines trust one authority, and one that changed since has not signed this.
    let authority = mcs::authority(reads)?;
    let signed = |pem: Pem| {
        let Ok(ca) = pem.parse_x509() else { return false };
        leaf.issuer() == ca.subject() && leaf.verify_signature(Some(ca.public_key())).is_ok()
    };
    let mut authorities = Pem::iter_from_buffer(authority.as_bytes()).filter_map(Result::ok);
    match authorities.any(signed) {
        true => Ok(Made::object(secret)),
        false => Err(bad("the authority that new machines trust has not signed it")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{Fake, infrastructure};
    use super::super::{make, packed};
    use super::*;

    const FILE: &str = "/backup/tls.yaml";
    const AT: &str = "Secret/openshift-machine-config-operator/machine-config-server";

    /// A cluster whose certificate was deleted, and what it was.
    fn cluster() -> (Fake, Value) {
        let mut fake = Fake::default().with("Infrastructure/cluster", infrastructure());
        let ca = make("mcs-ca-secret", &json!({}), &fake).unwrap();
        fake.put(&format!("{AT}-ca"), ca);
        let tls = make("mcs-tls-secret", &json!({}), &fake).unwrap().into_object().unwrap();
        (fake, tls)
    }

    fn restored(fake: Fake, copy: &str) -> Result<Value, Trouble> {
        let fake = fake.with_file("", FILE, copy);
        let made = make("mcs-tls-secret-from-backup", &json!({"file": FILE}), &fake)?;
        Ok(made.into_object().unwrap())
    }

    #[test]
    fn a_copy_that_new_machines_trust_comes_back_without_its_past() {
        let (fake, mut tls) = cluster();
        tls["metadata"]["resourceVersion"] = json!("7");
        tls["metadata"]["uid"] = json!("u");
        let made = restored(fake, &tls.to_string()).unwrap();
        assert_eq!(made["data"], tls["data"]);
        assert_eq!(made["metadata"], json!({"name": TLS, "namespace": MCO}));
    }

    #[test]
    fn what_would_not_work_is_not_restored_and_not_quoted() {
        let (_, stranger) = cluster();
        let (fake, tls) = cluster();
        let mut mixed = tls.clone();
        mixed["data"]["tls.key"] = stranger["data"]["tls.key"].clone();
        let mut renamed = tls.clone();
        renamed["metadata"]["name"] = json!("other");
        for (copy, says) in [
            (stranger.to_string(), "the authority that new machines trust has not signed it"),
            (mixed.to_string(), "its key is of another certificate"),
            (renamed.to_string(), "it is no copy of Secret machine-config-server-tls"),
            (format!("a: [{}", packed("k")), "it is no YAML or JSON"),
        ] {
            let again = Fake { objects: fake.objects.clone(), ..Fake::default() };
            let said = restored(again, &copy).unwrap_err().to_string();
            assert_eq!(said, format!("{FILE}: {says}"));
        }
    }
}
