//! The certificate of a BMC: looked at always, and judged against the roots that the caller trusts.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::reading::Tls;
use crate::value::clean;

static SYSTEM_ROOTS: LazyLock<Vec<CertificateDer<'static>>> =
    LazyLock::new(|| rustls_native_certs::load_native_certs().certs);

static PROVIDER: LazyLock<Arc<CryptoProvider>> =
    LazyLock::new(|| Arc::new(aws_lc_rs::default_provider()));

/// Names that are kept of a certificate.
const NAMES: usize = 50;

/// Judges every certificate that it meets. Only a strict one refuses.
pub struct Judge {
    verifier: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates of the caller, of which one may be the BMC's own.
    given: Vec<CertificateDer<'static>>,
    now: UnixTime,
    strict: bool,
    seen: Mutex<Option<Tls>>,
}

impl Judge {
    pub fn new(ca_pem: Option<&str>, now: Timestamp, strict: bool) -> Arc<Self> {
        let given: Vec<_> = ca_pem
            .map(|pem| CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().collect())
            .unwrap_or_default();
        let mut roots = RootCertStore::empty();
        let trusted = if ca_pem.is_some() { &given } else { &*SYSTEM_ROOTS };
        roots.add_parsable_certificates(trusted.iter().cloned());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), PROVIDER.clone())
            .build()
            .ok();
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        Arc::new(Self { verifier, given, now, strict, seen: Mutex::default() })
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

    /// None where there is nothing to judge by.
    fn judge(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
    ) -> Option<Result<(), rustls::Error>> {
        if self.given.iter().any(|given| given == certificate) {
            return Some(self.judge_own(certificate, name));
        }
        let verifier = self.verifier.as_ref()?;
        Some(verifier.verify_server_cert(certificate, chain, name, &[], self.now).map(drop))
    }

    /// The caller trusts this very certificate. The library takes no root as a server's.
    fn judge_own(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<(), rustls::Error> {
        rustls::client::verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        let (_, parsed) =
            X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
        let now = i64::try_from(self.now.as_secs()).unwrap_or(i64::MAX);
        if now > parsed.validity().not_after.timestamp() {
            return Err(CertificateError::Expired.into());
        }
        if now < parsed.validity().not_before.timestamp() {
            return Err(CertificateError::NotValidYet.into());
        }
        Ok(())
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
        let verdict = self.judge(certificate, chain, name);
        let mut told = facts(certificate);
        let own = told.subject.is_some() && told.subject == told.issuer;
        told.trusted = verdict.as_ref().map(Result::is_ok);
        told.why = match &verdict {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(why(error, own)),
            None => Some("there is no root certificate to judge by".into()),
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
        match verdict {
            Some(Err(error)) if self.strict => Err(error),
            None if self.strict => Err(CertificateError::UnknownIssuer.into()),
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

fn why(error: &rustls::Error, own: bool) -> String {
    use CertificateError as E;
    let rustls::Error::InvalidCertificate(error) = error else {
        return clean(&error.to_string()).unwrap_or_default();
    };
    let word = match error {
        E::Expired | E::ExpiredContext { .. } => "expired",
        E::NotValidYet | E::NotValidYetContext { .. } => "not-yet-valid",
        E::NotValidForName | E::NotValidForNameContext { .. } => "wrong-name",
        _ if own => "self-signed",
        // An authority that was made anew has the name of the old one, and another key.
        E::UnknownIssuer | E::BadSignature => "unknown-issuer",
        other => return clean(&other.to_string()).unwrap_or_default(),
    };
    word.into()
}

/// What the certificate says of itself.
fn facts(certificate: &CertificateDer<'_>) -> Tls {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Tls::default() };
    let time = |seconds: i64| Timestamp::from_second(seconds).ok().map(|time| time.to_string());
    let mut names: Vec<String> = match parsed.subject_alternative_name() {
        Ok(Some(names)) => names.value.general_names.iter().filter_map(name).take(NAMES).collect(),
        _ => Vec::new(),
    };
    names.sort();
    names.dedup();
    Tls {
        subject: clean(&parsed.subject().to_string()),
        issuer: clean(&parsed.issuer().to_string()),
        not_before: time(parsed.validity().not_before.timestamp()),
        not_after: time(parsed.validity().not_after.timestamp()),
        names,
        ..Tls::default()
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => clean(name),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => {
                <[u8; 4]>::try_from(*bytes).ok().map(|ip| std::net::Ipv4Addr::from(ip).to_string())
            }
            16 => {
                <[u8; 16]>::try_from(*bytes).ok().map(|ip| std::net::Ipv6Addr::from(ip).to_string())
            }
            _ => None,
        },
        _ => None,
    }
}
