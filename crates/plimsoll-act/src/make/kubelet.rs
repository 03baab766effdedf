//! The credential that a kubelet asks for its own with.

use serde_json::Value;

use super::{MCO, Made, Reads, failed, get, packed, secret_text};
use crate::target::Trouble;

/// As `oc config new-kubelet-bootstrap-kubeconfig` makes it, line by line: `plimsoll` and others blank the
/// token of this file by its line.
pub fn bootstrap_kubeconfig(_: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let infrastructure = get(reads, "Infrastructure", None, "cluster")?;
    let server = infrastructure["status"]["apiServerInternalURI"].as_str().unwrap_or_default();
    if !server.starts_with("https://") || !is_plain(server, ":/.-_[]") {
        return Err(failed("Infrastructure/cluster does not tell apiServerInternalURI"));
    }
    let secret = get(reads, "Secret", Some(MCO), "node-bootstrapper-token")?;
    let token = secret_text(&secret, "token").unwrap_or_default();
    let token = token.trim();
    if token.is_empty() || !is_plain(token, ".-_=") {
        return Err(failed("node-bootstrapper-token holds no token"));
    }
    let namespace = "openshift-kube-controller-manager";
    let bundle = get(reads, "ConfigMap", Some(namespace), "serviceaccount-ca")?;
    let bundle = bundle["data"]["ca-bundle.crt"].as_str().unwrap_or_default();
    if !bundle.contains("BEGIN CERTIFICATE") {
        return Err(failed(format!("{namespace}/serviceaccount-ca holds no certificates")));
    }
    Ok(Made::text(format!(
        "apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: {}
    server: {server}
  name: cluster
contexts:
- context:
    cluster: cluster
    user: bootstrap
  name: bootstrap
current-context: bootstrap
kind: Config
preferences: {{}}
users:
- name: bootstrap
  user:
    token: {token}
",
        packed(bundle)
    )))
}

pub fn localhost_kubeconfig(_: &Value, _: &dyn Reads) -> Result<Made, Trouble> {
    Err(Trouble::Refused(
        "localhost.kubeconfig is copied on its own node and never leaves it".into(),
    ))
}

/// Nothing that YAML would read as more than a text.
fn is_plain(text: &str, more: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::support::{Fake, infrastructure, secret};
    use super::super::{make, packed};
    use super::*;
    use serde_json::json;

    const TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2ln-ab_c";
    const BUNDLE: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

    fn cluster() -> Fake {
        let token = secret("kubernetes.io/service-account-token", &[("token", TOKEN)]);
        Fake::default()
            .with("Infrastructure/cluster", infrastructure())
            .with(&format!("Secret/{MCO}/node-bootstrapper-token"), token)
            .with(
                "ConfigMap/openshift-kube-controller-manager/serviceaccount-ca",
                json!({"data": {"ca-bundle.crt": BUNDLE}}),
            )
    }

    fn made(cluster: &Fake) -> Result<String, Trouble> {
        let made = make("bootstrap-kubeconfig", &json!({}), cluster)?;
        Ok(String::from_utf8(made.into_bytes()).unwrap())
    }

    #[test]
    fn a_kubeconfig_has_the_inner_address_the_bundle_and_the_token() {
        let text = made(&cluster()).unwrap();
        for line in [
            "    server: https://api-int.lab.example.com:6443",
            &format!("    certificate-authority-data: {}", packed(BUNDLE)),
            &format!("    token: {TOKEN}"),
            "current-context: bootstrap",
        ] {
            assert!(text.lines().any(|is| is == line), "{line}");
        }
        assert!(!plimsoll_model::redact(&text).contains("ab_c"), "nobody shows it by mistake");
    }

    #[test]
    fn nothing_is_made_of_half_a_credential() {
        let path = format!("Secret/{MCO}/node-bootstrapper-token");
        for token in [secret("Opaque", &[]), secret("Opaque", &[("token", "a\nusers: []")])] {
            let trouble = made(&cluster().with(&path, token)).unwrap_err();
            assert_eq!(trouble.to_string(), "node-bootstrapper-token holds no token");
        }
        let mut without = cluster();
        without.objects.remove(&path);
        let said = made(&without).unwrap_err().to_string();
        assert!(said.starts_with("there is no Secret/"), "{said}");
        let odd = json!({"status": {"apiServerInternalURI": "https://a\n- b"}});
        assert!(made(&cluster().with("Infrastructure/cluster", odd)).is_err());
    }

    #[test]
    fn the_administrators_kubeconfig_is_made_for_nobody() {
        let made = make(plimsoll_model::plan::LOCALHOST_MAKER, &json!({}), &cluster());
        assert!(matches!(made, Err(Trouble::Refused(_))));
    }
}
