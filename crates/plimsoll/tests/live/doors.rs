//! Doors of a cluster that is none: a TLS server for each, and a way to the API server that is real.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_rig::Identity;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{
    ServerConfig, ServerConnection, StreamOwned, crypto::aws_lc_rs::default_provider,
};

/// A server of HTTPS that gives every request the same answer.
pub struct Door {
    config: Arc<Mutex<Arc<ServerConfig>>>,
}

impl Door {
    /// `answer`: status line, headers and body, made anew for each request.
    pub fn open(
        addresses: &[&str],
        identity: &Identity,
        answer: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let config = Arc::new(Mutex::new(config_of(identity)));
        let answer = Arc::new(answer);
        for address in addresses {
            let listener = TcpListener::bind(address).unwrap();
            let (config, answer) = (config.clone(), answer.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let config = config.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let answer = answer.clone();
                    std::thread::spawn(move || serve(stream, config, &*answer));
                }
            });
        }
        Self { config }
    }

    /// What it shows from now on.
    pub fn show(&self, identity: &Identity) {
        *self.config.lock().unwrap() = config_of(identity);
    }
}

fn config_of(identity: &Identity) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    Arc::new(config)
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>, answer: &dyn Fn() -> String) -> Option<()> {
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, stream);
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    stream.write_all(answer().as_bytes()).ok()?;
    stream.conn.send_close_notify();
    stream.flush().ok()
}

/// Passes on what comes to `address`, as a load balancer does. Without anybody behind it, connections
/// end at once.
pub fn relay(address: &str, port: u16) {
    let listener = TcpListener::bind(address).unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { continue };
            join(client, server);
        }
    });
}

/// What one says the other hears.
pub fn join(client: TcpStream, server: TcpStream) {
    let both = (client.try_clone(), server.try_clone());
    let (Ok(from_client), Ok(to_server)) = both else { return };
    std::thread::spawn(move || pass(from_client, to_server));
    std::thread::spawn(move || pass(server, client));
}

fn pass(mut from: TcpStream, mut to: TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(std::net::Shutdown::Write)
}
