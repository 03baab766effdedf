//! Secrets and ConfigMaps by existence, certificates by their dates and names.
//!
//! No secret value becomes a fact: must-gathers keep only certificates, and of those only the
//! subject, issuer, names and dates are read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::{Entity, EntityId, FactBase, Time};
use plimsoll_yaml::Node;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::Facts;
use super::object::Object;

pub fn config_map(object: &Object<'_>) -> Facts {
    let mut entity = existing(object);
    for key in ["ca.crt", "ca-bundle.crt"] {
        if let Some(pem) = object.text(&["data", key]) {
            certificate_facts(object, &["data", key], pem.as_bytes(), &mut entity);
        }
    }
    match (object.namespace(), object.name()) {
        ("kube-system", "bootstrap") => {
            let status = object.text(&["data", "status"]).unwrap_or_default();
            entity.set("status", status, object.cite_field(&["data", "status"]));
        }
        ("openshift-etcd", "etcd-endpoints") => {
            let endpoints: Vec<String> = object
                .node(&["data"])
                .map(Node::entries)
                .unwrap_or_default()
                .iter()
                .filter_map(|(_, value)| value.as_text().map(str::to_string))
                .collect();
            let at = object.cite(&["data"], format!("endpoints: {}", endpoints.join(", ")));
            entity.set("endpoints", endpoints, at);
            entity.set("keys", data_keys(object), object.cite(&["data"], "data"));
        }
        ("kube-system", "cluster-config-v1") => install_config(object, &mut entity),
        _ => {}
    }
    vec![(object.namespaced_id("ConfigMap"), entity)]
}

/// How many control-plane nodes the installer was asked for.
fn install_config(object: &Object<'_>, entity: &mut Entity) {
    let path = ["data", "install-config"];
    let parsed = object
        .text(&path)
        .map(|text| plimsoll_yaml::parse(text, &plimsoll_yaml::Limits::USER_FILE));
    if let Some(Ok(config)) = parsed
        && let Some(replicas) = config.at(&["controlPlane", "replicas"]).and_then(Node::as_int)
    {
        entity.set(
            "controlPlaneReplicas",
            replicas,
            object.cite(&path, format!("controlPlane.replicas: {replicas}")),
        );
    }
}

pub fn secret(object: &Object<'_>) -> Facts {
    let mut entity = existing(object);
    for key in ["tls.crt", "ca.crt"] {
        if let Some(encoded) = object.text(&["data", key])
            && let Ok(pem) = STANDARD.decode(encoded.trim())
        {
            certificate_facts(object, &["data", key], &pem, &mut entity);
        }
    }
    if !entity.facts.contains_key("notAfter") {
        announced(object, &mut entity);
    }
    entity.set("keys", data_keys(object), object.cite(&["data"], "keys of data"));
    vec![(object.namespaced_id("Secret"), entity)]
}

/// What the operator that rotates a certificate wrote beside it, where the gather cut the value out.
fn announced(object: &Object<'_>, entity: &mut Entity) {
    for (key, fact) in [("not-before", "notBefore"), ("not-after", "notAfter")] {
        let name = format!("auth.openshift.io/certificate-{key}");
        let path = ["metadata", "annotations", name.as_str()];
        if let Some(time) = object.time(&path) {
            entity.set(fact, time, object.cite_field(&path));
        }
    }
    let path = ["metadata", "annotations", "auth.openshift.io/certificate-issuer"];
    if let Some(issuer) = object.text(&path) {
        entity.set("issuer", format!("CN={issuer}"), object.cite_field(&path));
    }
}

fn data_keys(object: &Object<'_>) -> Vec<String> {
    let entries = object.node(&["data"]).map(Node::entries).unwrap_or_default();
    entries.iter().map(|(key, _)| key.name.clone()).collect()
}

fn existing(object: &Object<'_>) -> Entity {
    let mut entity = Entity::default();
    entity.set("exists", true, object.cite_field(&["metadata", "name"]));
    if let Some(created) = object.time(&["metadata", "creationTimestamp"]) {
        entity.set("created", created, object.cite_field(&["metadata", "creationTimestamp"]));
    }
    entity
}

/// What a certificate says of itself.
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    pub common_name: Option<String>,
    /// Groups, of those who log in with it.
    pub organizations: Vec<String>,
    pub not_before: Option<Time>,
    pub not_after: Option<Time>,
    pub names: Vec<String>,
    /// All of it in a sentence.
    pub text: String,
}

/// The first certificate of a PEM text.
pub fn first_certificate(pem: &[u8]) -> Option<Certificate> {
    let block = x509_parser::pem::Pem::iter_from_buffer(pem).next()?.ok()?;
    let (_, certificate) = X509Certificate::from_der(&block.contents).ok()?;
    let subject = certificate.subject().to_string();
    let issuer = certificate.issuer().to_string();
    let validity = certificate.validity();
    let name = certificate.subject().iter_common_name().next();
    let text = format!(
        "{subject}, issued by {issuer}, valid {} to {}",
        validity.not_before, validity.not_after
    );
    let organizations = certificate.subject().iter_organization();
    let organizations = organizations.filter_map(|one| one.as_str().ok()).map(str::to_string);
    let organizations = organizations.collect();
    let names = certificate.subject_alternative_name().ok().flatten();
    Some(Certificate {
        subject,
        issuer,
        common_name: name.and_then(|name| name.as_str().ok()).map(str::to_string),
        organizations,
        not_before: Time::from_second(validity.not_before.timestamp()).ok(),
        not_after: Time::from_second(validity.not_after.timestamp()).ok(),
        names: names
            .map(|found| found.value.general_names.iter().filter_map(name_of).collect())
            .unwrap_or_default(),
        text,
    })
}

fn certificate_facts(object: &Object<'_>, path: &[&str], pem: &[u8], entity: &mut Entity) {
    let Some(certificate) = first_certificate(pem) else { return };
    let at = object.cite(path, &certificate.text);
    entity.set("subject", certificate.subject, at.clone());
    entity.set("issuer", certificate.issuer, at.clone());
    if let (Some(not_before), Some(not_after)) = (certificate.not_before, certificate.not_after) {
        entity.set("notBefore", not_before, at.clone());
        entity.set("notAfter", not_after, at.clone());
    }
    entity.set("names", certificate.names, at);
}

pub(super) fn name_of(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_string()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|b| std::net::Ipv4Addr::from(b).to_string()),
            16 => {
                <[u8; 16]>::try_from(*bytes).ok().map(|b| std::net::Ipv6Addr::from(b).to_string())
            }
            _ => None,
        },
        _ => None,
    }
}

/// The end of the certificate with which the controller manager calls the API: of the source, or of
/// its copy where the source was not collected.
pub fn derive(base: &mut FactBase) {
    let ends = ["openshift-config-managed", "openshift-kube-controller-manager"]
        .map(|namespace| {
            EntityId::namespaced("Secret", namespace, "kube-controller-manager-client-cert-key")
        })
        .iter()
        .filter_map(|id| base.entities.get(id))
        .find_map(|secret| {
            let ends = secret.facts.get("notAfter")?.clone();
            Some((ends, secret.provenance.get("notAfter").cloned().unwrap_or_default()))
        });
    let operator = EntityId::cluster_scoped("ClusterOperator", "kube-controller-manager");
    if let (Some((ends, from)), Some(entity)) = (ends, base.entities.get_mut(&operator)) {
        entity.derive("clientCertificateEnds", ends, from);
    }
}

/// `Secret/…` and `ConfigMap/…` ids that absence can be told of.
pub fn well_known() -> Vec<(EntityId, &'static str)> {
    [
        ("Secret", "openshift-machine-config-operator", "machine-config-server-tls", "secrets"),
        ("Secret", "openshift-machine-config-operator", "node-bootstrapper-token", "secrets"),
        ("Secret", "openshift-machine-api", "worker-user-data", "secrets"),
        ("ConfigMap", "kube-system", "cluster-config-v1", "configmaps"),
        ("ConfigMap", "kube-system", "root-ca", "configmaps"),
        ("ConfigMap", "kube-system", "bootstrap", "configmaps"),
        ("ConfigMap", "openshift-etcd", "etcd-endpoints", "configmaps"),
    ]
    .into_iter()
    .map(|(kind, namespace, name, plural)| (EntityId::namespaced(kind, namespace, name), plural))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_in_certificates_are_shown_as_people_write_them() {
        assert_eq!(name_of(&GeneralName::IPAddress(&[10, 0, 0, 5])), Some("10.0.0.5".into()));
        let v6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5];
        assert_eq!(name_of(&GeneralName::IPAddress(&v6)), Some("2001:db8::5".into()));
        assert_eq!(name_of(&GeneralName::IPAddress(&[1, 2])), None);
    }
}
