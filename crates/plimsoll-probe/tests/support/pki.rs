//! Authorities and servers with certificates of every kind.

use std::sync::Arc;

use plimsoll_probe::{Bundle, Target};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::AsyncReadExt;
use tokio_rustls::{TlsAcceptor, rustls};

pub const NAME: &str = "api-int.lab.example.com";

pub struct Authority(pub CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key and whatever is sent along.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: KeyPair,
}

pub fn params(common_name: &str, names: &[&str], years: (i32, i32)) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    params
}

impl Authority {
    pub fn new(common_name: &str, years: (i32, i32)) -> Self {
        let mut params = params(common_name, &[], years);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub fn issue(&self, names: &[&str], years: (i32, i32)) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = params("system:machine-config-server", names, years);
        let leaf = params.signed_by(&key, &self.0).unwrap();
        Identity { chain: vec![leaf.der().clone()], key }
    }

    pub fn bundle(&self, name: &str) -> Bundle {
        Bundle::from_pem(name, self.0.pem().as_bytes())
    }
}

impl Identity {
    pub fn self_signed(names: &[&str], years: (i32, i32)) -> (Self, String) {
        let key = KeyPair::generate().unwrap();
        let made = params("by itself", names, years).self_signed(&key).unwrap();
        let pem = made.pem();
        (Self { chain: vec![made.der().clone()], key }, pem)
    }

    pub fn key(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.key.serialize_der()).into()
    }

    pub fn config(&self) -> ServerConfig {
        builder().with_no_client_auth().with_single_cert(self.chain.clone(), self.key()).unwrap()
    }
}

pub fn builder() -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap()
}

/// Hands out the configurations in turn.
pub async fn serve_tls(configs: Vec<ServerConfig>) -> Target {
    let configs: Vec<Arc<ServerConfig>> = configs.into_iter().map(Arc::new).collect();
    super::serve(move |number, stream| {
        let config = configs[number % configs.len()].clone();
        async move {
            if let Ok(mut session) = TlsAcceptor::from(config).accept(stream).await {
                let _ = session.read(&mut [0; 1]).await;
            }
        }
    })
    .await
}
