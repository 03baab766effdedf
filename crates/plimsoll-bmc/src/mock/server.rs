//! The service on a port of loopback. It ends with the value that stands for it.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::{ALLOW, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use hyper::service::service_fn;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::certificate::{self, Certificate};
use super::fault::Fault;
use super::tree::{Tree, set};

type Body = BoxBody<Bytes, io::Error>;

/// One request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// With its query.
    pub path: String,
    pub has_credentials: bool,
    /// Null for a question.
    pub body: Value,
}

pub struct Server {
    address: SocketAddr,
    ca_pem: Option<String>,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

#[derive(Default)]
pub struct Builder {
    tree: Tree,
    credentials: Option<(String, String)>,
    certificate: Option<Certificate>,
    faults: Vec<(String, Fault, usize)>,
}

struct Shared {
    /// Actions change it.
    tree: Mutex<Tree>,
    authorization: Option<String>,
    /// Path, fault, and how often it still happens.
    faults: Mutex<Vec<(String, Fault, usize)>>,
    requests: Mutex<Vec<Request>>,
}

impl Builder {
    pub fn credentials(mut self, name: &str, password: &str) -> Self {
        self.credentials = Some((name.into(), password.into()));
        self
    }

    pub fn tls(mut self, certificate: Certificate) -> Self {
        self.certificate = Some(certificate);
        self
    }

    pub fn fault(self, path: &str, fault: Fault) -> Self {
        self.fault_times(path, fault, usize::MAX)
    }

    pub fn fault_times(mut self, path: &str, fault: Fault, times: usize) -> Self {
        self.faults.push((path.trim_end_matches('/').into(), fault, times));
        self
    }

    pub async fn start(self) -> io::Result<Server> {
        let authorization = self.credentials.map(|(name, password)| {
            format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
        });
        let shared = Arc::new(Shared {
            tree: Mutex::new(self.tree),
            authorization,
            faults: Mutex::new(self.faults),
            requests: Mutex::default(),
        });
        let (acceptor, ca_pem) = match self.certificate {
            Some(kind) => {
                let (config, pem) = certificate::make(kind)?;
                (Some(TlsAcceptor::from(config)), Some(pem))
            }
            None => (None, None),
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(accept(listener, acceptor, shared.clone()));
        Ok(Server { address, ca_pem, shared, task })
    }
}

impl Server {
    pub fn of(tree: Tree) -> Builder {
        Builder { tree, ..Builder::default() }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// As a BareMetalHost has it.
    pub fn address(&self, system: &str) -> String {
        let scheme = if self.ca_pem.is_some() { "https" } else { "http" };
        format!("redfish-virtualmedia+{scheme}://{}{system}", self.address)
    }

    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// As it is now.
    pub fn document(&self, path: &str) -> Option<Value> {
        self.shared.tree().get(path).cloned()
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (acceptor, shared) = (acceptor.clone(), shared.clone());
        tokio::spawn(async move {
            match acceptor {
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, shared).await;
                    }
                }
                None => serve(stream, shared).await,
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, shared: Arc<Shared>) {
    let service = service_fn(move |request| {
        let shared = shared.clone();
        async move { answer(&shared, request).await }
    });
    // A client that goes away in the middle is what some tests do.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn answer(shared: &Shared, request: hyper::Request<Incoming>) -> io::Result<Response<Body>> {
    let given = request.headers().get(AUTHORIZATION).and_then(|given| given.to_str().ok());
    let given = given.map(str::to_string);
    let given = given.as_deref();
    let path = request.uri().path().to_string();
    let query = request.uri().query().unwrap_or_default().to_string();
    let method = request.method().to_string();
    let uri = request.uri().to_string();
    let sent = request.into_body().collect().await.map(|body| body.to_bytes());
    let body: Value = serde_json::from_slice(&sent.unwrap_or_default()).unwrap_or_default();
    shared.requests.lock().unwrap_or_else(PoisonError::into_inner).push(Request {
        method: method.clone(),
        path: uri,
        has_credentials: given.is_some(),
        body: body.clone(),
    });
    let bare = path.trim_end_matches('/');
    let open = matches!(bare, "/redfish" | "/redfish/v1");
    if !open && shared.authorization.is_some() && shared.authorization.as_deref() != given {
        return Ok(error(401, "The credentials are not valid."));
    }
    let tree = shared.tree().clone();
    if tree.slashes && !path.ends_with('/') && tree.get(bare).is_some() {
        return Ok(redirect(&format!("{path}/{}{query}", if query.is_empty() { "" } else { "?" })));
    }
    let expand = tree.expands && query.contains("$expand");
    let mut document = match expand {
        true => tree.expanded(bare),
        false => tree.get(bare).cloned(),
    };
    for fault in shared.due(bare) {
        match fault {
            Fault::Status(status, message) => return Ok(error(status, &message)),
            Fault::Slow(time) => tokio::time::sleep(time).await,
            Fault::Cut => return Ok(cut(document.unwrap_or_default())),
            Fault::Reset => return Err(io::ErrorKind::ConnectionReset.into()),
            Fault::Set(pointer, value) => {
                if let Some(document) = &mut document {
                    set(document, &pointer, value);
                }
            }
            Fault::Raw(body) => return Ok(response(200, body)),
            Fault::Huge(size) => {
                return Ok(response(200, format!("{{\"a\":\"{}\"}}", "x".repeat(size))));
            }
            Fault::Deep(depth) => {
                return Ok(response(
                    200,
                    format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth)),
                ));
            }
            Fault::Endless => document = Some(endless(bare, &query)),
            Fault::Redirect(place) => return Ok(redirect(&place)),
            Fault::Echo(pointer) => {
                let said = given.unwrap_or_default().trim_start_matches("Basic ");
                let plain = STANDARD.decode(said).unwrap_or_default();
                let plain = String::from_utf8_lossy(&plain);
                if let Some(document) = &mut document {
                    set(document, &pointer, json!(format!("{said} {plain}")));
                }
            }
        }
    }
    if method != "GET" {
        return Ok(match shared.tree().change(&method, bare, &body) {
            true => response(204, String::new()),
            false => error(405, "It cannot be done here."),
        });
    }
    let Some(document) = document else { return Ok(error(404, "There is no such resource.")) };
    let mut response = response(200, document.to_string());
    if let Some(allow) = tree.allow
        && let Ok(allow) = allow.parse()
    {
        response.headers_mut().insert(ALLOW, allow);
    }
    Ok(response)
}

impl Shared {
    fn tree(&self) -> std::sync::MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn due(&self, path: &str) -> Vec<Fault> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let mut due = Vec::new();
        for (place, fault, left) in faults.iter_mut() {
            let fits =
                place == path || place.strip_suffix('*').is_some_and(|p| path.starts_with(p));
            if fits && *left > 0 {
                *left -= 1;
                due.push(fault.clone());
            }
        }
        due
    }
}

fn endless(path: &str, query: &str) -> Value {
    let page: u64 = query.strip_prefix("page=").and_then(|page| page.parse().ok()).unwrap_or(0);
    json!({
        "Members": [{"Id": page.to_string(), "Name": "one more", "Message": "one more"}],
        "Members@odata.nextLink": format!("{path}?page={}", page + 1),
    })
}

fn error(status: u16, message: &str) -> Response<Body> {
    let body = json!({"error": {"@Message.ExtendedInfo": [
        {"MessageId": "Base.1.12.GeneralError", "Message": message}]}});
    response(status, body.to_string())
}

fn redirect(place: &str) -> Response<Body> {
    let mut response = response(308, String::new());
    if let Ok(place) = place.parse() {
        response.headers_mut().insert(LOCATION, place);
    }
    response
}

fn response(status: u16, body: String) -> Response<Body> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Ok(kind) = "application/json".parse() {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn cut(document: Value) -> Response<Body> {
    let text = document.to_string();
    let half: String = text.chars().take(text.len() / 2).collect();
    let frames =
        [Ok(Frame::data(Bytes::from(half))), Err(io::Error::from(io::ErrorKind::ConnectionReset))];
    let mut response = Response::new(StreamBody::new(stream::iter(frames)).boxed());
    response.headers_mut().insert(CONTENT_LENGTH, text.len().into());
    response
}
