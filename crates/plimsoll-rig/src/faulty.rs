//! A proxy before the API server that gives the answers of a server in trouble.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

use crate::apiserver::ApiServer;
use crate::kubelet::head_of;
use crate::pki::{Identity, VALID};

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API server answers.
    None,
    /// This status in place of an answer.
    Status(u16),
    /// Nothing for so long, then the answer.
    Slow(Duration),
    /// So many bytes of the answer, then the connection ends.
    Cut(usize),
    /// The page of a list is gone, and another token is given to go on with.
    Gone,
    /// A page that asks for a login, as a portal on the way gives it.
    Portal,
    /// The head of the answer at once, its body in so many parts with a pause between each two.
    Slowly(usize, Duration),
}

type Rule = dyn Fn(&str) -> Fault + Send + Sync;

pub struct Faulty {
    pub port: u16,
}

impl Faulty {
    /// `rule` is asked for the path of every request, with its query.
    pub fn start(
        server: &ApiServer,
        serving: &Identity,
        rule: impl Fn(&str) -> Fault + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let (chain, key) = parts(serving)?;
        let inner = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(server.authority.pem.as_bytes())?)?;
        let admin = server.authority.sign(("admin", &["system:masters"]), &[], VALID)?;
        let (chain, key) = parts(&admin)?;
        let outer = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)?;
        let (inner, outer, rule) = (Arc::new(inner), Arc::new(outer), Arc::new(rule));
        let target = server.port;
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (inner, outer, rule) = (inner.clone(), outer.clone(), rule.clone());
                std::thread::spawn(move || serve(stream, inner, outer, target, &*rule));
            }
        });
        Ok(Self { port })
    }

    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }
}

fn parts(identity: &Identity) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())?;
    Ok((vec![certificate], PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?))
}

/// One request a connection: clients open another for the next.
fn serve(
    stream: TcpStream,
    inner: Arc<ServerConfig>,
    outer: Arc<ClientConfig>,
    target: u16,
    rule: &Rule,
) -> Option<()> {
    let mut client = StreamOwned::new(ServerConnection::new(inner).ok()?, stream);
    let head = head_of(&mut client)?;
    let path = head.split(' ').nth(1)?.to_string();
    let mut most = usize::MAX;
    let mut slowly = None;
    match rule(&path) {
        Fault::None => {}
        Fault::Status(status) => {
            let body = format!("{{\"kind\":\"Status\",\"message\":\"a fault\",\"code\":{status}}}");
            write!(client, "HTTP/1.1 {status} Fault\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).ok()?;
            return close(client);
        }
        Fault::Gone => {
            let body =
                r#"{"kind":"Status","message":"gone","code":410,"metadata":{"continue":"on"}}"#;
            write!(client, "HTTP/1.1 410 Gone\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).ok()?;
            return close(client);
        }
        Fault::Portal => {
            let page = "<html><body>Please log in.</body></html>";
            write!(client, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len()).ok()?;
            return close(client);
        }
        Fault::Slow(time) => std::thread::sleep(time),
        Fault::Cut(bytes) => most = bytes,
        Fault::Slowly(parts, pause) => slowly = Some((parts, pause)),
    }
    let name = "127.0.0.1".try_into().ok()?;
    let connection = ClientConnection::new(outer, name).ok()?;
    let upstream = TcpStream::connect(("127.0.0.1", target)).ok()?;
    let mut server = StreamOwned::new(connection, upstream);
    let head = head.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    server.write_all(head.as_bytes()).ok()?;
    server.flush().ok()?;
    if let Some((parts, pause)) = slowly {
        let head = head_of(&mut server)?;
        client.write_all(head.as_bytes()).ok()?;
        let mut body = Vec::new();
        let _ = server.read_to_end(&mut body);
        for at in 0..parts {
            std::thread::sleep(if at == 0 { Duration::ZERO } else { pause });
            let part = &body[body.len() * at / parts..body.len() * (at + 1) / parts];
            client.write_all(part).ok()?;
            client.flush().ok()?;
        }
        return close(client);
    }
    let mut rest = most;
    let mut chunk = [0; 16 << 10];
    while rest > 0 {
        let read = match server.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(read) => read.min(rest),
        };
        client.write_all(&chunk[..read]).ok()?;
        rest -= read;
    }
    client.flush().ok()?;
    if most < usize::MAX {
        // As a machine that loses its power: no word of farewell.
        let _ = client.sock.shutdown(std::net::Shutdown::Both);
        return Some(());
    }
    close(client)
}

fn close(mut client: StreamOwned<ServerConnection, TcpStream>) -> Option<()> {
    client.conn.send_close_notify();
    client.flush().ok()?;
    let _: io::Result<()> = client.sock.shutdown(std::net::Shutdown::Write);
    Some(())
}
