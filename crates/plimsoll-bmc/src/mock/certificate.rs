//! Certificates as BMCs have them, good and bad. Their dates are fixed: the clock is the test's.

use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    /// Of the authority that `Server::ca_pem` gives.
    Good,
    Expired,
    NotYetValid,
    WrongName,
    SelfSigned,
}

/// The server's side, and the certificate to trust it by.
pub fn make(kind: Certificate) -> io::Result<(Arc<ServerConfig>, String)> {
    let (name, from, to) = match kind {
        Certificate::Expired => ("127.0.0.1", 2020, 2021),
        Certificate::NotYetValid => ("127.0.0.1", 2090, 2091),
        Certificate::WrongName => ("other.example.com", 2020, 2100),
        Certificate::Good | Certificate::SelfSigned => ("127.0.0.1", 2020, 2100),
    };
    let other = io::Error::other::<rcgen::Error>;
    let key = KeyPair::generate().map_err(other)?;
    let mut params = CertificateParams::new([name.to_string()]).map_err(other)?;
    params.distinguished_name.push(DnType::CommonName, "bmc");
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    let (certificate, trusted) = if kind == Certificate::SelfSigned {
        let certificate = params.self_signed(&key).map_err(other)?;
        let pem = certificate.pem();
        (certificate, pem)
    } else {
        let (issuer, pem) = authority().map_err(other)?;
        (params.signed_by(&key, &issuer).map_err(other)?, pem)
    };
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(io::Error::other)?;
    Ok((Arc::new(config), trusted))
}

fn authority() -> Result<(Issuer<'static, KeyPair>, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name.push(DnType::CommonName, "datacentre authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    let pem = params.self_signed(&key)?.pem();
    Ok((Issuer::new(params, key), pem))
}
