//! One connection that speaks HTTP, and what is the same in every request.

use http::header::{ACCEPT, HOST, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Empty;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::reach::{Reach, shown};
use crate::target::Target;

/// No head of an answer may be longer.
const HEAD_BYTES: usize = 32 << 10;

pub type Question = Request<Empty<Bytes>>;

/// Ends when it is dropped, whatever the other side does.
pub struct Connection {
    sender: http1::SendRequest<Empty<Bytes>>,
    _driver: JoinSet<()>,
}

impl Connection {
    pub async fn open(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        deadline: Instant,
    ) -> Result<Self, Reach> {
        let shaken = http1::Builder::new().max_buf_size(HEAD_BYTES).handshake(TokioIo::new(stream));
        let (sender, connection) = in_time(deadline, shaken).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { sender, _driver: driver })
    }

    /// The body is still to be read, while the connection lives.
    pub async fn send(
        &mut self,
        question: Question,
        deadline: Instant,
    ) -> Result<Response<Incoming>, Reach> {
        in_time(deadline, self.sender.send_request(question)).await
    }

    /// Whether it can be asked again, once the last body was read to its end.
    pub async fn is_free(&mut self, deadline: Instant) -> bool {
        in_time(deadline, self.sender.ready()).await.is_ok()
    }
}

/// Nothing for a path that no request can have.
pub fn question(method: Method, tls: bool, host: &Target, path: &str) -> Option<Question> {
    let mut question = Request::builder().method(method).uri(path).body(Empty::new()).ok()?;
    let usual = if tls { 443 } else { 80 };
    let authority = match host {
        Target { host, port } if *port == usual && !host.contains(':') => host.clone(),
        target => target.to_string(),
    };
    let headers: &mut HeaderMap = question.headers_mut();
    headers.insert(HOST, authority.parse().ok()?);
    headers.insert(USER_AGENT, HeaderValue::from_static("plimsoll"));
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    Some(question)
}

async fn in_time<T>(
    deadline: Instant,
    work: impl Future<Output = Result<T, hyper::Error>>,
) -> Result<T, Reach> {
    match timeout_at(deadline, work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(reach(&error)),
        Err(_) => Err(Reach::TimedOut),
    }
}

fn reach(error: &hyper::Error) -> Reach {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            return Reach::of(error);
        }
        source = inner.source();
    }
    if error.is_parse() {
        Reach::Other("it does not speak HTTP".into())
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Reach::Lost
    } else {
        Reach::Other(shown(error.to_string()))
    }
}
