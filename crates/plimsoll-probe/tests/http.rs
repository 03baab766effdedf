//! Requests to servers that answer well, badly and too much.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plimsoll_probe::{
    Answer, Body, Ended, Headers, Http, HttpProbe, IGNITION, NoClock, Outcome, Probe, Reach, Target,
};
use support::pki::{Authority, NAME};
use support::{ask, ask_within, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

fn probe(target: Target, tls: bool, path: &str) -> HttpProbe {
    let headers = Headers(vec![(IGNITION.0.into(), IGNITION.1.into())]);
    HttpProbe { target, name: tls.then(|| NAME.into()), tls, path: path.into(), headers }
}

/// Reads the head of a request and answers with these bytes.
async fn says(words: impl Into<Vec<u8>>) -> Target {
    let words: Arc<Vec<u8>> = Arc::new(words.into());
    serve(move |_, mut stream| {
        let words = words.clone();
        async move {
            head(&mut stream).await;
            let _ = stream.write_all(&words).await;
            let _ = stream.shutdown().await;
            let _ = stream.read(&mut [0; 64]).await;
        }
    })
    .await
}

async fn head(stream: &mut (impl AsyncReadExt + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

async fn got(target: Target) -> Http {
    match ask(Probe::Http(probe(target, false, "/x"))).await.result {
        Outcome::Http(http) => http,
        other => panic!("{other:?}"),
    }
}

fn why(answer: Answer) -> Reach {
    match answer.result {
        Outcome::Unreached { why } => why,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_config_is_recognised_over_tls_and_nothing_of_it_is_kept() {
    let config =
        r#"{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/hunter2"}]}}"#;
    let identity = Authority::new("root-ca", (2020, 2030)).issue(&[NAME], (2020, 2030)).config();
    let identity = Arc::new(identity);
    let target = serve(move |_, stream| {
        let acceptor = TlsAcceptor::from(identity.clone());
        async move {
            let mut session = acceptor.accept(stream).await.unwrap();
            let head = head(&mut session).await.to_ascii_lowercase();
            let asked_well = head.starts_with("get /config/worker?key=sesame ")
                && head.contains(&format!("accept: {}\r\n", IGNITION.1))
                && head.contains(&format!("\r\nhost: {NAME}:"));
            let status = if asked_well { "200 OK" } else { "400 Bad Request" };
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nSet-Cookie: hunter2\r\n\
                 Content-Length: {}\r\n\r\n{config}",
                config.len()
            );
            session.write_all(answer.as_bytes()).await.unwrap();
            let _ = session.shutdown().await;
        }
    })
    .await;
    let answer = ask(Probe::Http(probe(target.clone(), true, "/config/worker?key=sesame"))).await;
    assert_eq!(answer.id, format!("https/{target}/{NAME}/config/worker"));
    let text = serde_json::to_string(&answer).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("sesame"), "{text}");
    let Outcome::Http(http) = answer.result else { panic!("{text}") };
    assert_eq!((http.status, http.bytes, http.cut), (200, config.len(), false));
    assert_eq!(http.body, Some(Body::Ignition("3.2.0".into())));
    assert_eq!(http.headers.keys().collect::<Vec<_>>(), ["content-length", "content-type"]);
}

#[tokio::test]
async fn a_redirect_is_told_and_not_followed() {
    let hits = Arc::new(AtomicUsize::new(0));
    let counter = hits.clone();
    let elsewhere = serve(move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async {}
    })
    .await;
    let words =
        format!("HTTP/1.1 302 Found\r\nLocation: http://{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(got(says(words).await).await.status, 302);
    assert_eq!(hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn health_is_told_by_its_checks() {
    let body = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n";
    let words = format!(
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let http = got(says(words).await).await;
    let lines = vec!["[-]etcd failed: reason withheld".into(), "[+]ping ok".into()];
    assert_eq!((http.status, http.body), (500, Some(Body::Checks(lines))));
}

#[tokio::test]
async fn too_much_is_cut() {
    let mut endless =
        b"HTTP/1.1 200 OK\r\n\r\n{\"ignition\":{\"version\":\"3.2.0\"},\"x\":\"".to_vec();
    endless.resize(12 << 20, b'x');
    let http = got(says(endless).await).await;
    assert_eq!((http.cut, http.bytes, http.body), (true, 8 << 20, None));
    let short = got(says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok").await).await;
    assert!(short.cut && short.bytes == 2);
    let mut heads = b"HTTP/1.1 200 OK\r\n".to_vec();
    heads.extend(b"X-Filler: 0123456789012345678901234567890123456789\r\n".repeat(4000));
    let heads = says(heads).await;
    assert!(matches!(why(ask(Probe::Http(probe(heads, false, "/"))).await), Reach::Other(_)));
}

#[tokio::test]
async fn each_way_not_to_answer_is_told_apart() {
    let of = async |target| why(ask(Probe::Http(probe(target, false, "/"))).await);
    assert!(matches!(of(says("SSH-2.0-OpenSSH_9.2\r\n\r\n").await).await, Reach::Other(_)));
    assert_eq!(of(says("").await).await, Reach::Lost);
    let (closed, _held) = support::closed().await;
    assert_eq!(of(closed).await, Reach::Refused);
    let silent = serve(async |_, mut stream: tokio::net::TcpStream| {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let patience = Duration::from_millis(200);
    let answer = ask_within(Probe::Http(probe(silent, false, "/")), patience).await;
    assert_eq!(why(answer), Reach::TimedOut);
    let plain = serve(async |_, mut stream: tokio::net::TcpStream| {
        let _ = stream.read(&mut [0; 4096]).await;
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.read(&mut [0; 4096]).await;
    })
    .await;
    let answer = ask(Probe::Http(probe(plain, true, "/"))).await;
    assert_eq!(answer.result, Outcome::NoSession { ended: Ended::NotTls });
}

#[tokio::test]
async fn the_date_of_an_answer_tells_the_clock() {
    let of =
        async |words: &str| ask(Probe::HttpDate(probe(says(words).await, false, "/"))).await.result;
    let hour_ahead = "HTTP/1.1 403 Forbidden\r\nDate: Sun, 01 Mar 2026 13:00:00 GMT\r\nContent-Length: 0\r\n\r\n";
    let Outcome::Clock(clock) = of(hour_ahead).await else { panic!() };
    assert!((clock.offset_seconds - 3600.0).abs() <= clock.within_seconds);
    let dateless = of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(dateless, Outcome::NoClock { why: NoClock::NoDate });
}
