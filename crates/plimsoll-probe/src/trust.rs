//! Whether a client that knows one bundle of authorities would trust a server.
//!
//! The clients of a cluster are written in Go. Where Go and webpki differ, Go's answer is given: a
//! certificate that is in the bundle itself is trusted, and an authority in the bundle that has
//! expired is not.

use std::time::Duration;

use plimsoll_model::Time;
use rustls::client::verify_server_cert_signed_by_trust_anchor as verify_chain;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, RootCertStore};
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls;

use crate::certificate;
use crate::reach::shown;

/// Authorities that somebody trusts, by the name of where they stand: `kubeconfig`, `root-ca`,
/// `machine-config-server-ca`, `user-data/worker`, `system`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    pub name: String,
    certificates: Vec<CertificateDer<'static>>,
}

impl Bundle {
    /// What is no certificate in the text is left out.
    pub fn from_pem(name: impl Into<String>, pem: &[u8]) -> Self {
        let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect();
        Self { name: name.into(), certificates }
    }

    /// What this machine trusts.
    pub fn system() -> Self {
        let certificates = rustls_native_certs::load_native_certs().certs;
        Self { name: "system".into(), certificates }
    }

    pub fn add_pem(&mut self, pem: &[u8]) {
        self.certificates.extend(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
    }

    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    Trusted,
    UnknownIssuer,
    /// The certificate, or an authority that it hangs on.
    Expired,
    NotYetValid,
    WrongName,
    Bad(String),
}

/// `chain` as the server sent it, its own certificate first.
pub fn trust(
    bundle: &Bundle,
    chain: &[CertificateDer<'_>],
    name: &ServerName<'_>,
    now: Time,
) -> Trust {
    let Some((leaf, others)) = chain.split_first() else {
        return Trust::Bad("the server sent no certificate".into());
    };
    if bundle.is_empty() {
        return Trust::Bad("the bundle holds no certificate".into());
    }
    let parsed = match ParsedCertificate::try_from(leaf) {
        Ok(parsed) => parsed,
        // Version 1 has a common name at most, which counts no more.
        Err(_) if nameless(leaf) => return Trust::WrongName,
        Err(error) => return verdict(&error),
    };
    let signed = if bundle.certificates.contains(leaf) {
        validity(leaf, now)
    } else {
        signed(bundle, &parsed, others, now)
    };
    if signed != Trust::Trusted {
        return signed;
    }
    verify_server_name(&parsed, name).map_or_else(|error| verdict(&error), |()| Trust::Trusted)
}

fn signed(
    bundle: &Bundle,
    leaf: &ParsedCertificate<'_>,
    others: &[CertificateDer<'_>],
    now: Time,
) -> Trust {
    let mut found = Trust::UnknownIssuer;
    for state in [Trust::Trusted, Trust::Expired, Trust::NotYetValid] {
        let mut roots = RootCertStore::empty();
        let in_state = |root: &&CertificateDer<'_>| validity(root, now) == state;
        roots.add_parsable_certificates(bundle.certificates.iter().filter(in_state).cloned());
        if roots.is_empty() {
            continue;
        }
        let algorithms =
            rustls::crypto::aws_lc_rs::default_provider().signature_verification_algorithms;
        match verify_chain(leaf, &roots, others, unix(now), algorithms.all) {
            Ok(()) => return state,
            Err(error) if found == Trust::UnknownIssuer => found = verdict(&error),
            Err(_) => {}
        }
    }
    found
}

fn validity(certificate: &CertificateDer<'_>, now: Time) -> Trust {
    match certificate::read(certificate) {
        Some(read) if now > read.not_after => Trust::Expired,
        Some(read) if now < read.not_before => Trust::NotYetValid,
        Some(_) => Trust::Trusted,
        None => Trust::Bad("it cannot be read".into()),
    }
}

fn nameless(certificate: &CertificateDer<'_>) -> bool {
    let read = certificate::read(certificate);
    read.is_some_and(|read| read.dns_names.is_empty() && read.ip_names.is_empty())
}

fn unix(now: Time) -> UnixTime {
    let seconds = u64::try_from(now.as_second()).unwrap_or_default();
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn verdict(error: &rustls::Error) -> Trust {
    use CertificateError as Why;
    let rustls::Error::InvalidCertificate(why) = error else {
        return Trust::Bad(shown(error.to_string()));
    };
    match why {
        // An authority that was made anew has the name of the old one, and another key.
        Why::UnknownIssuer | Why::BadSignature => Trust::UnknownIssuer,
        Why::Expired | Why::ExpiredContext { .. } => Trust::Expired,
        Why::NotValidYet | Why::NotValidYetContext { .. } => Trust::NotYetValid,
        Why::NotValidForName | Why::NotValidForNameContext { .. } => Trust::WrongName,
        other => Trust::Bad(shown(other.to_string())),
    }
}
