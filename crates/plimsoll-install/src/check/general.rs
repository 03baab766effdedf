//! Names, keys, trust and the pull secret.

use std::collections::BTreeMap;

use crate::check::Context;
use crate::go::json::{self, Json};
use crate::go::text::quote;
use crate::go::{pem, ssh};
use crate::names::{LONGEST_CLUSTER_NAME, aggregate, domain_fault, subdomain_fault};
use crate::refusal::Bad;
use crate::release::Release;

pub(crate) fn check(context: &mut Context<'_>) {
    let config = context.config;
    if config.fips.value {
        check_fips(context);
    } else if !config.ssh_key.value.0.is_empty() {
        check_ssh_key(context);
    }
    let bundle = &config.trust_bundle;
    if !bundle.is_empty()
        && let Some(fault) = pem::bundle_fault(bundle.as_str())
    {
        // It may be a private key that was pasted into the wrong field.
        context.out.invalid(
            "trust-bundle-unreadable",
            "additionalTrustBundle",
            bundle.place,
            Bad::Secret,
            fault,
        );
    }
    let policy = &config.trust_bundle_policy;
    if !matches!(policy.as_str(), "" | "Proxyonly" | "Always") {
        context.out.invalid(
            "trust-bundle-policy-unknown",
            "additionalTrustBundlePolicy",
            policy.place,
            Bad::text(policy.as_str()),
            "supported values \"Proxyonly\", \"Always\"",
        );
    }
    check_names(context);
}

fn check_names(context: &mut Context<'_>) {
    let config = context.config;
    let name = &config.name;
    let name_fault = cluster_name_fault(context);
    if let Some((rule, fault)) = &name_fault {
        let bad = Bad::text(name.as_str());
        context.out.invalid(rule, "metadata.name", name.place, bad, fault.clone());
    }
    let base = &config.base_domain;
    let base_fault = domain_fault(base.as_str());
    if let Some(fault) = &base_fault {
        let bad = Bad::text(base.as_str());
        let rule = if base.is_empty() { "base-domain-missing" } else { "base-domain-invalid" };
        context.out.invalid(rule, "baseDomain", base.place, bad, fault.clone());
    }
    if name_fault.is_none() && base_fault.is_none() {
        let domain = config.cluster_domain();
        if let Some(fault) = domain_fault(&domain) {
            let bad = Bad::text(&domain);
            context.out.invalid("cluster-domain-invalid", "baseDomain", base.place, bad, fault);
        }
    }
}

fn cluster_name_fault(context: &Context<'_>) -> Option<(&'static str, String)> {
    let config = context.config;
    let name = config.name.as_str();
    let platform = &config.platform;
    let on_premises = ["vsphere", "baremetal", "openstack", "nutanix"];
    if on_premises.iter().any(|name| platform.has(name)) {
        if name.contains('.') {
            return Some(("cluster-name-has-dot", "cluster name must not contain '.'".into()));
        }
    } else if (platform.has("gcp") || platform.has("azure"))
        && !name.starts_with(|c: char| c.is_ascii_lowercase())
    {
        let fault = "cluster name must begin with a lower-case letter";
        return Some(("cluster-name-invalid", fault.into()));
    }
    if name.len() > LONGEST_CLUSTER_NAME {
        let fault = format!("must be no more than {LONGEST_CLUSTER_NAME} characters");
        return Some(("cluster-name-too-long", fault));
    }
    subdomain_fault(name).map(|fault| ("cluster-name-invalid", fault))
}

fn check_ssh_key(context: &mut Context<'_>) {
    let key = &context.config.ssh_key;
    // Since 4.20 every line is looked at, before that only whether there is a key at all.
    let bad = if context.release >= Release::V4_20 {
        key.value.0.split('\n').any(|line| !line.is_empty() && ssh::key_type(line).is_none())
    } else {
        ssh::key_type(&key.value.0).is_none()
    };
    if bad {
        context.out.invalid("ssh-key-unreadable", "sshKey", key.place, Bad::Secret, ssh::NO_KEY);
    }
}

/// What every build but the one for FIPS says, wherever it runs.
const USE_FIPS_INSTALLER: &str = "target cluster is in FIPS mode, use the FIPS-capable installer binary \
    for RHEL 9 on a host with FIPS enabled.\nTo obtain a suitable binary, download the \
    openshift-install-rhel9 archive from the client mirror, or extract the openshift-install-fips command \
    from the release payload.";

fn check_fips(context: &mut Context<'_>) {
    let key = &context.config.ssh_key;
    if !key.value.0.is_empty() {
        let fault = match ssh::key_type(&key.value.0) {
            None => Some((
                "ssh-key-unreadable",
                format!("Fatal error trying to parse configured public key: {}", ssh::NO_KEY),
            )),
            Some(kind) if fips_allows(&kind) => None,
            Some(kind) => Some((
                "ssh-key-not-fips",
                format!(
                    "SSH key type {kind} unavailable when FIPS is enabled. Please use rsa or ecdsa."
                ),
            )),
        };
        if let Some((rule, fault)) = fault {
            context.out.invalid(rule, "sshKey", key.place, Bad::Secret, fault);
        }
    }
    if context.release >= Release::V4_16 && !context.installer.fips {
        let place = context.config.fips.place;
        return context.out.forbidden("fips-host", "fips", place, USE_FIPS_INSTALLER);
    }
    let why = "fips: true should be installed from a host in FIPS mode";
    context.not_checked.push(("fips-host", why.into()));
}

fn fips_allows(kind: &str) -> bool {
    let digits = kind.strip_prefix("ecdsa-sha2-nistp");
    kind == "ssh-rsa"
        || digits.is_some_and(|d| d.len() == 3 && d.bytes().all(|b| b.is_ascii_digit()))
}

pub(crate) fn check_pull_secret(context: &mut Context<'_>) {
    let secret = &context.config.pull_secret;
    if let Some((rule, fault)) = pull_secret_fault(&secret.value.0) {
        let rule = if secret.value.0.is_empty() { "pull-secret-missing" } else { rule };
        context.out.invalid(rule, "pullSecret", secret.place, Bad::Secret, fault);
    }
}

fn pull_secret_fault(text: &str) -> Option<(&'static str, String)> {
    const UNREADABLE: &str = "pull-secret-unreadable";
    let cannot = |value: &Json, target: &str| {
        Some((UNREADABLE, format!("json: cannot unmarshal {} into Go {target}", value.word())))
    };
    let entries = match json::parse(text) {
        Err(fault) => return Some((UNREADABLE, fault)),
        Ok(Json::Null) => Vec::new(),
        Ok(Json::Map(entries)) => entries,
        Ok(other) => return cannot(&other, "value of type validate.imagePullSecret"),
    };
    let mut auths = BTreeMap::new();
    for (_, value) in entries.into_iter().filter(|(key, _)| key.eq_ignore_ascii_case("auths")) {
        match value {
            Json::Null => {}
            // Of two entries for one host the last counts.
            Json::Map(entries) => auths.extend(entries),
            other => {
                let target = "struct field imagePullSecret.auths of type \
                              map[string]map[string]interface {}";
                return cannot(&other, target);
            }
        }
    }
    for value in auths.values() {
        if !matches!(value, Json::Map(_) | Json::Null) {
            let target = "struct field imagePullSecret.auths of type map[string]interface {}";
            return cannot(value, target);
        }
    }
    if auths.is_empty() {
        return Some(("pull-secret-without-auths", "auths required".into()));
    }
    let has_credentials = |value: &Json| match value {
        Json::Map(keys) => keys.iter().any(|(key, _)| key == "auth" || key == "credsStore"),
        _ => false,
    };
    // Go names them in any order.
    let without: Vec<_> = auths
        .iter()
        .filter(|(_, value)| !has_credentials(value))
        .map(|(host, _)| format!("{} requires either auth or credsStore", quote(host)))
        .collect();
    aggregate(without).map(|fault| ("pull-secret-without-credentials", fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_secrets() {
        let fault = |text: &str| pull_secret_fault(text).map(|(_, fault)| fault);
        assert_eq!(fault(r#"{"auths": {"quay.io": {"auth": "x"}}}"#), None);
        assert_eq!(fault(r#"{"Auths": {"quay.io": {"credsStore": "x"}}}"#), None);
        assert_eq!(fault("{}").unwrap(), "auths required");
        assert_eq!(fault("").unwrap(), "unexpected end of JSON input");
        assert_eq!(
            fault("[]").unwrap(),
            "json: cannot unmarshal array into Go value of type validate.imagePullSecret"
        );
        assert_eq!(
            fault(r#"{"auths": {"b": {}, "a": null}}"#).unwrap(),
            r#"["a" requires either auth or credsStore, "b" requires either auth or credsStore]"#
        );
    }
}
