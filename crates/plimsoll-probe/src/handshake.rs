//! A handshake that takes any certificate and remembers what it was shown.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsConnector, rustls};

use crate::reach::{Reach, shown};

/// Why no session came about, although there was a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Its alert, as RFC 8446 writes it: `handshake_failure`.
    ByServer(String),
    ByUs(String),
    /// It answers, in another protocol.
    NotTls,
    /// It takes the connection and then says nothing, or its answer does not come through.
    TimedOut,
    Lost,
    Other(String),
}

pub struct Handshake {
    pub session: Result<TlsStream<TcpStream>, Ended>,
    /// What the server showed, even where no session came about.
    pub chain: Vec<CertificateDer<'static>>,
}

/// The name in the form that TLS wants.
pub fn server_name(name: &str) -> Result<ServerName<'static>, Reach> {
    ServerName::try_from(name.to_string())
        .map_err(|_| Reach::Other("no certificate can have this name".into()))
}

pub async fn shake(stream: TcpStream, name: ServerName<'static>, deadline: Instant) -> Handshake {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let witness = Arc::new(Witness { provider: provider.clone(), chain: Mutex::default() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.dangerous().with_custom_certificate_verifier(witness.clone()))
        .map(|builder| builder.with_no_client_auth());
    let session = match config {
        Ok(mut config) => {
            config.resumption = Resumption::disabled();
            let connector = TlsConnector::from(Arc::new(config));
            match timeout_at(deadline, connector.connect(name, stream)).await {
                Ok(Ok(session)) => Ok(session),
                Ok(Err(error)) => Err(ended(&error)),
                Err(_) => Err(Ended::TimedOut),
            }
        }
        Err(error) => Err(Ended::Other(shown(error.to_string()))),
    };
    let chain = witness.chain.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Handshake { session, chain }
}

fn ended(error: &std::io::Error) -> Ended {
    let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return match Reach::of(error) {
            Reach::Lost => Ended::Lost,
            Reach::TimedOut => Ended::TimedOut,
            _ => Ended::Other(shown(error.to_string())),
        };
    };
    match inner {
        Error::AlertReceived(alert) => Ended::ByServer(snake(&format!("{alert:?}"))),
        Error::InvalidMessage(_) => Ended::NotTls,
        other => Ended::ByUs(shown(other.to_string())),
    }
}

/// `HandshakeFailure` as `handshake_failure`.
fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for character in camel.chars() {
        if character.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

#[derive(Debug)]
struct Witness {
    provider: Arc<CryptoProvider>,
    chain: Mutex<Vec<CertificateDer<'static>>>,
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let all = std::iter::once(leaf).chain(others).map(|der| der.clone().into_owned());
        *self.chain.lock().unwrap_or_else(PoisonError::into_inner) = all.collect();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if unreadable(leaf) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, leaf, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if unreadable(leaf) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, leaf, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Of a form that webpki does not read, such as version 1. It shall be seen, so it is let through
/// without a proof that the server holds its key: no bundle will trust it anyway.
fn unreadable(leaf: &CertificateDer<'_>) -> bool {
    ParsedCertificate::try_from(leaf).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_reads_as_in_the_standard() {
        assert_eq!(snake("HandshakeFailure"), "handshake_failure");
        let alert = Error::AlertReceived(rustls::AlertDescription::ProtocolVersion);
        assert_eq!(
            ended(&std::io::Error::other(alert)),
            Ended::ByServer("protocol_version".into())
        );
        assert_eq!(ended(&std::io::ErrorKind::UnexpectedEof.into()), Ended::Lost);
    }

    #[test]
    fn a_name_that_no_certificate_can_have_is_told() {
        assert!(server_name("api.lab.example.com").is_ok() && server_name("192.0.2.1").is_ok());
        assert!(server_name("").is_err() && server_name("two words").is_err());
    }
}
