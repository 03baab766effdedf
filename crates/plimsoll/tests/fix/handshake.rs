//! Whether a new machine would take what the machine-config server shows it, by a real handshake: whom it
//! trusts stands in its pointer ignition, what it is shown in the server's Secret.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

use crate::actor::Kubectl;

const SERVER: [&str; 4] =
    ["secret", "machine-config-server-tls", "-n", "openshift-machine-config-operator"];

/// Of the machine that is given this Secret, under the name that its pointer says and every other one.
pub fn is_taken(hands: &Kubectl, user_data: &str, names: &[&str]) -> Result<(), String> {
    let words = ["get", "secret", user_data, "-n", "openshift-machine-api"];
    let pointer = hands.json(&words).ok_or_else(|| format!("no {user_data}"))?;
    let pointer: Value =
        serde_json::from_str(&text(&pointer, "userData")).map_err(|error| error.to_string())?;
    let ignition = &pointer["ignition"];
    let url = ignition["config"]["merge"][0]["source"].as_str().unwrap_or_default();
    let asked = url.trim_start_matches("https://").split(':').next().unwrap_or_default();
    let trusted = &ignition["security"]["tls"]["certificateAuthorities"];
    let trusted = trusted[0]["source"].as_str().unwrap_or_default();
    let trusted = unpacked(trusted.rsplit(',').next().unwrap_or_default());
    let server = hands.json(&[&["get"][..], &SERVER].concat()).ok_or("no certificate")?;
    let (chain, key) = (text(&server, "tls.crt"), text(&server, "tls.key"));
    for name in [asked].iter().chain(names) {
        shake(&trusted, (&chain, &key), name).map_err(|why| format!("{name}: {why}"))?;
    }
    Ok(())
}

/// One value of a Secret.
pub fn text(secret: &Value, key: &str) -> String {
    unpacked(secret["data"][key].as_str().unwrap_or_default())
}

fn unpacked(packed: &str) -> String {
    String::from_utf8_lossy(&STANDARD.decode(packed).unwrap_or_default()).into_owned()
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    all.map_err(|error| error.to_string())
}

/// Both sides in memory. It is by the clock of this machine, as certificates are issued.
fn shake(trusted: &str, (chain, key): (&str, &str), name: &str) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(trusted)? {
        roots.add(authority).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(default_provider());
    let client = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| error.to_string())?;
    let server = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        // A key of another certificate is refused here.
        .with_single_cert(certificates(chain)?, key)
        .map_err(|error| error.to_string())?;
    let name = ServerName::try_from(name.to_string()).map_err(|error| error.to_string())?;
    let client =
        ClientConnection::new(Arc::new(client), name).map_err(|error| error.to_string())?;
    let server = ServerConnection::new(Arc::new(server)).map_err(|error| error.to_string())?;
    let (mut client, mut server) = (Connection::Client(client), Connection::Server(server));
    while client.is_handshaking() || server.is_handshaking() {
        pass(&mut client, &mut server)?;
        pass(&mut server, &mut client)?;
    }
    Ok(())
}

fn pass(from: &mut Connection, to: &mut Connection) -> Result<(), String> {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).map_err(|error| error.to_string())?;
    }
    let mut wire = wire.as_slice();
    while !wire.is_empty() {
        to.read_tls(&mut wire).map_err(|error| error.to_string())?;
        to.process_new_packets().map_err(|error| error.to_string())?;
    }
    Ok(())
}
