//! Certificates of the machine-config server, where nobody in the cluster makes them anew (up to 4.18):
//! as `oc adm ocp-certificates regenerate-machine-config-server-serving-cert` does. The authority comes
//! first; what is signed by it reads it back from the cluster.

use std::net::IpAddr;
use std::time::Duration;

use plimsoll_model::Time;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize,
};
use serde_json::{Value, json};
use x509_parser::pem::Pem;

use super::{MCO, Made, Reads, failed, find, get, packed, secret_text};
use crate::target::Trouble;

const CA: &str = "machine-config-server-ca";
pub const TLS: &str = "machine-config-server-tls";
const DAY: u64 = 24 * 60 * 60;
/// Ten years, as the installer gives them.
const VALID: u64 = 3650 * DAY;

/// A new authority.
pub fn ca_secret(_: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let now = reads.now();
    let name = format!("{MCO}_{CA}@{}", now.as_second());
    let key = new_key()?;
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name.as_str());
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    let (from, to) = span(now, VALID);
    stamp(&mut params, (from, to));
    let certificate = params.self_signed(&key).map_err(unmade)?;
    let data =
        json!({"tls.crt": packed(certificate.pem()), "tls.key": packed(key.serialize_pem())});
    let about = About { kind: "signer", issuer: &name, span: (from, to), hosts: None };
    Ok(Made::object(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": metadata(CA, &about), "data": data,
    })))
}

/// The authority that is there, before those that were trusted already.
pub fn ca_config_map(_: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let mut bundle = ca_certificate(reads)?;
    let before = find(reads, "ConfigMap", Some(MCO), CA)?.unwrap_or_default();
    let before = before["data"]["ca-bundle.crt"].as_str().unwrap_or_default();
    let first = certificates(&bundle);
    for pem in certificates(before) {
        let parsed = pem.parse_x509().map_err(|_| failed(format!("{MCO}/{CA} cannot be read")))?;
        let over = parsed.validity().not_after.timestamp() < reads.now().as_second();
        if !over && !first.iter().any(|one| one.contents == pem.contents) {
            bundle.push_str(&written(&pem));
        }
    }
    Ok(Made::object(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": CA, "namespace": MCO,
            "labels": {"auth.openshift.io/managed-certificate-type": "ca-bundle"},
        },
        "data": {"ca-bundle.crt": bundle},
    })))
}

/// What the operator renders into the pointer ignition that it manages. Every node reboots for it.
pub fn root_ca_config_map(_: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let mut config = get(reads, "ConfigMap", Some("kube-system"), "root-ca")?;
    config["data"]["ca.crt"] = json!(ca_certificate(reads)?);
    Ok(Made::object(config))
}

/// A certificate for the names and addresses that new machines ask at.
pub fn tls_secret(_: &Value, reads: &dyn Reads) -> Result<Made, Trouble> {
    let hosts = hosts(&get(reads, "Infrastructure", None, "cluster")?)?;
    let authority = Authority::read(reads)?;
    let now = reads.now();
    let left = authority.not_after.saturating_sub(now.as_second());
    let left = u64::try_from(left).unwrap_or(0);
    if left < DAY {
        return Err(failed(format!("the authority in {MCO}/{CA} has expired")));
    }
    let (from, to) = span(now, VALID.min(left));
    let key = new_key()?;
    let mut params = CertificateParams::new(hosts.clone()).map_err(unmade)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    let first = hosts.iter().min().cloned().unwrap_or_default();
    params.distinguished_name.push(DnType::CommonName, first.as_str());
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    stamp(&mut params, (from, to));
    let certificate = params.signed_by(&key, &authority.issuer).map_err(unmade)?;
    let chain = format!("{}{}", certificate.pem(), authority.pem);
    let before = find(reads, "Secret", Some(MCO), TLS)?.unwrap_or_default();
    // The type of a Secret cannot be changed, and the server does not ask for it.
    let kind = before["type"].as_str().unwrap_or("kubernetes.io/tls");
    let about =
        About { kind: "target", issuer: &authority.name, span: (from, to), hosts: Some(&hosts) };
    Ok(Made::object(json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind,
        "metadata": metadata(TLS, &about),
        "data": {"tls.crt": packed(&chain), "tls.key": packed(key.serialize_pem())},
    })))
}

/// Whom new machines have to trust, in PEM.
pub fn authority(reads: &dyn Reads) -> Result<String, Trouble> {
    if let Some(secret) = find(reads, "Secret", Some(MCO), CA)? {
        let text = secret_text(&secret, "tls.crt");
        return text.ok_or_else(|| failed(format!("{MCO}/{CA} holds no certificate")));
    }
    let root = get(reads, "ConfigMap", Some("kube-system"), "root-ca")?;
    let text = root["data"]["ca.crt"].as_str().map(str::to_string);
    text.ok_or_else(|| failed("kube-system/root-ca holds no certificate"))
}

fn ca_certificate(reads: &dyn Reads) -> Result<String, Trouble> {
    let secret = get(reads, "Secret", Some(MCO), CA)?;
    let text = secret_text(&secret, "tls.crt").unwrap_or_default();
    match certificates(&text).is_empty() {
        true => Err(failed(format!("{MCO}/{CA} holds no certificate"))),
        false => Ok(text),
    }
}

/// The authority as the cluster has it, with its key.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    name: String,
    not_after: i64,
}

impl Authority {
    fn read(reads: &dyn Reads) -> Result<Self, Trouble> {
        let bad = |why: &str| failed(format!("{MCO}/{CA}: {why}"));
        let secret = get(reads, "Secret", Some(MCO), CA)?;
        let pem = ca_certificate(reads)?;
        let key = secret_text(&secret, "tls.key").ok_or_else(|| bad("it holds no key"))?;
        let key = KeyPair::from_pem(&key).map_err(|_| bad("its key cannot be read"))?;
        let first = certificates(&pem).into_iter().next();
        let first = first.ok_or_else(|| bad("it holds no certificate"))?;
        let parsed = first.parse_x509().map_err(|_| bad("its certificate cannot be read"))?;
        if parsed.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(bad("its key is of another certificate"));
        }
        if !parsed.is_ca() {
            return Err(bad("its certificate is no authority's"));
        }
        let name = parsed.subject().iter_common_name().next();
        let name = name.and_then(|name| name.as_str().ok()).unwrap_or_default().to_string();
        let not_after = parsed.validity().not_after.timestamp();
        let issuer = Issuer::from_ca_cert_pem(&pem, key).map_err(unmade)?;
        Ok(Self { issuer, pem, name, not_after })
    }
}

/// The inner name of the API, and the addresses that machines reach it at.
fn hosts(infrastructure: &Value) -> Result<Vec<String>, Trouble> {
    let status = &infrastructure["status"];
    let url = status["apiServerInternalURI"].as_str().unwrap_or_default();
    let uri: Option<http::Uri> = url.parse().ok();
    let name = uri.as_ref().and_then(http::Uri::host).map(|host| host.trim_matches(['[', ']']));
    let name = name.ok_or_else(|| failed("Infrastructure/cluster has no apiServerInternalURI"))?;
    let mut hosts = vec![name.to_string()];
    let platform = &status["platformStatus"];
    for kind in ["baremetal", "openstack", "vsphere", "nutanix", "ovirt"] {
        let of = &platform[kind];
        let many = of["apiServerInternalIPs"].as_array().into_iter().flatten();
        let mut found: Vec<&str> = many.filter_map(Value::as_str).collect();
        if found.is_empty() {
            found.extend(of["apiServerInternalIP"].as_str().filter(|one| !one.is_empty()));
        }
        for address in found {
            let parsed: Result<IpAddr, _> = address.parse();
            let parsed = parsed.map_err(|_| failed(format!("'{address}' is no address")))?;
            hosts.push(parsed.to_string());
        }
    }
    hosts.dedup();
    Ok(hosts)
}

struct About<'a> {
    kind: &'a str,
    issuer: &'a str,
    span: (i64, i64),
    hosts: Option<&'a [String]>,
}

/// As the rotation of 4.19 and later expects to find it.
fn metadata(name: &str, about: &About) -> Value {
    let shown =
        |second: i64| Time::from_second(second).map(|time| time.to_string()).unwrap_or_default();
    let mut annotations = json!({
        "auth.openshift.io/certificate-issuer": about.issuer,
        "auth.openshift.io/certificate-not-before": shown(about.span.0),
        "auth.openshift.io/certificate-not-after": shown(about.span.1),
    });
    if let Some(hosts) = about.hosts {
        let mut hosts = hosts.to_vec();
        hosts.sort();
        annotations["auth.openshift.io/certificate-hostnames"] = json!(hosts.join(","));
    }
    json!({
        "name": name, "namespace": MCO, "annotations": annotations,
        "labels": {"auth.openshift.io/managed-certificate-type": about.kind},
    })
}

fn new_key() -> Result<KeyPair, Trouble> {
    KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).map_err(unmade)
}

/// A second earlier, for clocks that are not the same.
fn span(now: Time, seconds: u64) -> (i64, i64) {
    let now = now.as_second();
    (now - 1, now.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX)))
}

/// Certificates count from a day of the calendar.
fn since_1970(second: i64) -> Duration {
    Duration::from_secs(u64::try_from(second).unwrap_or(0))
}

fn stamp(params: &mut CertificateParams, (from, to): (i64, i64)) {
    let first = rcgen::date_time_ymd(1970, 1, 1);
    (params.not_before, params.not_after) = (first + since_1970(from), first + since_1970(to));
}

fn unmade(error: rcgen::Error) -> Trouble {
    failed(format!("the certificate cannot be made: {error}"))
}

fn certificates(text: &str) -> Vec<Pem> {
    let all = Pem::iter_from_buffer(text.as_bytes());
    all.filter_map(Result::ok).filter(|pem| pem.label == "CERTIFICATE").collect()
}

fn written(pem: &Pem) -> String {
    let packed = packed(&pem.contents);
    let lines = packed.as_bytes().chunks(64).map(String::from_utf8_lossy);
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
}

#[cfg(test)]
mod tests {
    use super::super::make;
    use super::super::support::{Fake, infrastructure, secret};
    use super::*;
    use x509_parser::certificate::X509Certificate;
    use x509_parser::extensions::GeneralName;

    const AT: &str = "Secret/openshift-machine-config-operator/machine-config-server";

    fn made(maker: &str, fake: &Fake) -> Result<Value, Trouble> {
        Ok(make(maker, &json!({}), fake)?.into_object().unwrap())
    }

    fn rotated() -> Fake {
        let mut fake = Fake::default().with("Infrastructure/cluster", infrastructure());
        let ca = make("mcs-ca-secret", &json!({}), &fake).unwrap();
        fake.put(&format!("{AT}-ca"), ca);
        fake
    }

    fn chain(secret: &Value) -> Vec<Pem> {
        certificates(&secret_text(secret, "tls.crt").unwrap())
    }

    fn names(certificate: &X509Certificate) -> Vec<String> {
        let names = certificate.subject_alternative_name().unwrap().unwrap();
        let text = |name: &GeneralName| match name {
            GeneralName::DNSName(name) => (*name).to_string(),
            GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
                Ok(four) => IpAddr::from(four).to_string(),
                Err(_) => IpAddr::from(<[u8; 16]>::try_from(*bytes).unwrap()).to_string(),
            },
            other => panic!("{other}"),
        };
        names.value.general_names.iter().map(text).collect()
    }

    #[test]
    fn the_certificate_is_for_name_and_addresses_and_signed_by_the_authority_of_the_cluster() {
        let fake = rotated();
        let made = made("mcs-tls-secret", &fake).unwrap();
        assert_eq!(made["type"], "kubernetes.io/tls");
        let chain = chain(&made);
        let leaf = chain[0].parse_x509().unwrap();
        assert_eq!(names(&leaf), ["api-int.lab.example.com", "192.168.10.5", "fd00::5"]);
        let root = chain[1].parse_x509().unwrap();
        let ours = chain_of_ca(&fake);
        assert_eq!(chain[1].contents, ours[0].contents);
        assert_eq!(leaf.issuer().to_string(), root.subject().to_string());
        leaf.verify_signature(Some(root.public_key())).unwrap();
        assert!(root.is_ca() && !leaf.is_ca());
        assert_eq!(root.validity().not_after.to_datetime().year(), 2035);
        assert!(leaf.validity().not_after <= root.validity().not_after);
        let usage = leaf.extended_key_usage().unwrap().unwrap();
        assert!(usage.value.server_auth);
        let key = KeyPair::from_pem(&secret_text(&made, "tls.key").unwrap()).unwrap();
        assert_eq!(leaf.public_key().subject_public_key.data.as_ref(), key.public_key_raw());
        let notes = &made["metadata"]["annotations"];
        assert_eq!(
            notes["auth.openshift.io/certificate-hostnames"],
            "192.168.10.5,api-int.lab.example.com,fd00::5"
        );
        let issuer = root.subject().iter_common_name().next().unwrap().as_str().unwrap();
        assert_eq!(notes["auth.openshift.io/certificate-issuer"], issuer);
    }

    fn chain_of_ca(fake: &Fake) -> Vec<Pem> {
        chain(&fake.objects[&format!("{AT}-ca")])
    }

    #[test]
    fn the_type_of_a_secret_that_is_there_stays() {
        let fake = rotated().with(&format!("{AT}-tls"), secret("Opaque", &[("tls.crt", "old")]));
        assert_eq!(made("mcs-tls-secret", &fake).unwrap()["type"], "Opaque");
    }

    #[test]
    fn without_an_authority_that_fits_nothing_is_signed() {
        let bare = Fake::default().with("Infrastructure/cluster", infrastructure());
        assert!(made("mcs-tls-secret", &bare).is_err());
        let mut mixed = rotated();
        let other = rotated().objects[&format!("{AT}-ca")]["data"]["tls.key"].clone();
        mixed.objects.get_mut(&format!("{AT}-ca")).unwrap()["data"]["tls.key"] = other;
        let said = made("mcs-tls-secret", &mixed).unwrap_err().to_string();
        assert!(said.ends_with("its key is of another certificate"), "{said}");
    }

    #[test]
    fn a_bundle_keeps_those_who_were_trusted_and_names_nobody_twice() {
        let old = rotated();
        let mut fake = rotated();
        let bundle = made("mcs-ca-configmap", &old).unwrap();
        assert_eq!(certificates(bundle["data"]["ca-bundle.crt"].as_str().unwrap()).len(), 1);
        let place = "ConfigMap/openshift-machine-config-operator/machine-config-server-ca";
        fake.objects.insert(place.into(), bundle);
        for _ in 0..2 {
            let bundle = made("mcs-ca-configmap", &fake).unwrap();
            let all = certificates(bundle["data"]["ca-bundle.crt"].as_str().unwrap());
            assert_eq!(all.len(), 2);
            assert_eq!(all[0].contents, chain_of_ca(&fake)[0].contents);
            assert_eq!(all[1].contents, chain_of_ca(&old)[0].contents);
            fake.objects.insert(place.into(), bundle);
        }
    }

    #[test]
    fn the_root_that_the_operator_renders_becomes_the_new_authority() {
        let root =
            json!({"metadata": {"name": "root-ca"}, "data": {"ca.crt": "old", "other": "x"}});
        let fake = rotated().with("ConfigMap/kube-system/root-ca", root);
        let made = made("mcs-root-ca-configmap", &fake).unwrap();
        assert_eq!(made["data"]["other"], "x");
        let text = made["data"]["ca.crt"].as_str().unwrap();
        assert_eq!(certificates(text)[0].contents, chain_of_ca(&fake)[0].contents);
    }

    #[test]
    fn addresses_come_from_the_platform_that_has_them() {
        let of = |platform: Value| {
            hosts(&json!({"status": {"apiServerInternalURI": "https://api-int.x:6443",
                "platformStatus": platform}}))
        };
        assert_eq!(of(json!({"type": "None"})).unwrap(), ["api-int.x"]);
        let old = json!({"openstack": {"apiServerInternalIP": "10.0.0.5"}});
        assert_eq!(of(old).unwrap(), ["api-int.x", "10.0.0.5"]);
        assert!(of(json!({"baremetal": {"apiServerInternalIPs": ["x"]}})).is_err());
        assert!(hosts(&json!({})).is_err());
    }
}
