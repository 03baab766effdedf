//! The certificate of a BMC: looked at always, and judged against the roots that the caller trusts.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jiff::Timestamp;
use plimsoll_probe::{Bundle, Trust, trust};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};

use crate::reading::Tls;
use crate::target::Target;
use crate::value::clean;

static SYSTEM: LazyLock<Bundle> = LazyLock::new(Bundle::system);

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(aws_lc_rs::default_provider()));

/// Names that are kept of a certificate.
const NAMES: usize = 50;

/// Judges every certificate that it meets. Only a strict one refuses.
pub struct Judge {
    roots: Bundle,
    now: Timestamp,
    strict: bool,
    seen: Mutex<Option<Tls>>,
}

impl Judge {
    pub fn new(target: &Target, now: Timestamp, strict: bool) -> Arc<Self> {
        let mut roots = match &target.ca_pem {
            Some(pem) => Bundle::from_pem("given", pem.as_bytes()),
            None => SYSTEM.clone(),
        };
        if let Some(pem) = &target.more_ca_pem {
            roots.add_pem(pem.as_bytes());
        }
        Arc::new(Self { roots, now, strict, seen: Mutex::default() })
    }

    pub fn config(self: &Arc<Self>) -> Result<ClientConfig, rustls::Error> {
        let config = ClientConfig::builder_with_provider(PROVIDER.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(self.clone())
            .with_no_client_auth();
        Ok(config)
    }

    pub fn seen(&self) -> Option<Tls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Judge").field("strict", &self.strict).finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let all: Vec<_> = std::iter::once(certificate).chain(chain).cloned().collect();
        let verdict = trust(&self.roots, &all, name, self.now);
        let mut told = facts(certificate);
        let own = told.subject.is_some() && told.subject == told.issuer;
        told.trusted = (!self.roots.is_empty()).then_some(verdict == Trust::Trusted);
        told.why = match self.roots.is_empty() {
            true => Some("there is no root certificate to judge by".into()),
            false => why(&verdict, own),
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        match verdict {
            Trust::Trusted => Ok(ServerCertVerified::assertion()),
            _ if self.strict => Err(CertificateError::ApplicationVerificationFailure.into()),
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        // The certificates of old BMCs cannot all be parsed. Whoever takes any certificate gains
        // nothing from the proof that its key was at hand.
        if !self.strict {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &PROVIDER.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if !self.strict {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &PROVIDER.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        PROVIDER.signature_verification_algorithms.supported_schemes()
    }
}

fn why(verdict: &Trust, own: bool) -> Option<String> {
    let word = match verdict {
        Trust::Trusted => return None,
        Trust::Expired => "expired",
        Trust::NotYetValid => "not-yet-valid",
        Trust::WrongName => "wrong-name",
        _ if own => "self-signed",
        Trust::UnknownIssuer => "unknown-issuer",
        Trust::Bad(text) => return clean(text),
    };
    Some(word.into())
}

/// What the certificate says of itself.
fn facts(certificate: &CertificateDer<'_>) -> Tls {
    let Some(read) = plimsoll_probe::read::certificate(certificate) else { return Tls::default() };
    let addresses = read.ip_names.iter().map(ToString::to_string);
    let mut names: Vec<String> =
        read.dns_names.iter().filter_map(|name| clean(name)).chain(addresses).take(NAMES).collect();
    names.sort();
    names.dedup();
    Tls {
        subject: clean(&read.subject),
        issuer: clean(&read.issuer),
        not_before: Some(read.not_before.to_string()),
        not_after: Some(read.not_after.to_string()),
        names,
        ..Tls::default()
    }
}
