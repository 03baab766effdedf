//! Registries that cut, lie, never end, send astray or are none.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use plimsoll_probe::registry::{
    Auth, Credential, Deep, Digest, Fault, Image, List, Ping, Redirect, Registry, Seen,
};
use plimsoll_probe::{Outcome, Probe, Reach, RegistryProbe, Target, Trust};
use serde_json::json;
use support::mirror::layer;
use support::pki::{Authority, Identity};
use support::{LONG, ask_within, serve};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;

const GOOD: (i32, i32) = (2020, 2030);
const CONFIG: &str = r#"{"config":{"Labels":{"io.openshift.release":"4.18.14"}}}"#;

/// How one request is answered.
#[derive(Clone)]
enum Says {
    Words(Vec<u8>),
    /// These, and then the same again without an end.
    Endless(Vec<u8>),
    /// The first at once, and of the others one byte in a while.
    Slowly(Vec<u8>, Vec<u8>),
}

/// What was asked, with all headers.
type Heard = Arc<Mutex<Vec<String>>>;
type Script = Arc<dyn Fn(&str) -> Says + Send + Sync>;

struct Fake {
    target: Target,
    heard: Heard,
}

impl Fake {
    async fn plain(script: impl Fn(&str) -> Says + Send + Sync + 'static) -> Self {
        Self::new(None, Arc::new(script)).await
    }

    async fn tls(
        identity: &Identity,
        script: impl Fn(&str) -> Says + Send + Sync + 'static,
    ) -> Self {
        Self::new(Some(identity), Arc::new(script)).await
    }

    async fn new(identity: Option<&Identity>, script: Script) -> Self {
        let heard = Heard::default();
        let (all, acceptor) = (
            heard.clone(),
            identity.map(|identity| TlsAcceptor::from(Arc::new(identity.config()))),
        );
        let target = serve(move |_, stream| {
            let (script, all, acceptor) = (script.clone(), all.clone(), acceptor.clone());
            async move {
                match acceptor {
                    None => talk(stream, script, all).await,
                    Some(acceptor) => {
                        if let Ok(session) = acceptor.accept(stream).await {
                            talk(session, script, all).await;
                        }
                    }
                }
            }
        })
        .await;
        Self { target, heard }
    }

    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// One request to a connection, though nothing in the answer says that it ends after it.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, script: Script, heard: Heard) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        // The first byte of TLS.
        if head == [22] {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            return;
        }
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    heard.lock().unwrap().push(head.clone());
    let request = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_string();
    match script(&request) {
        Says::Words(words) => {
            let _ = stream.write_all(&words).await;
        }
        Says::Endless(words) => while stream.write_all(&words).await.is_ok() {},
        Says::Slowly(start, words) => {
            let _ = stream.write_all(&start).await;
            for byte in words {
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
                let _ = stream.flush().await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
    let _ = stream.shutdown().await;
}

fn says(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Says {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    Says::Words([head.as_bytes(), body].concat())
}

fn moved(to: &str) -> Says {
    says("307 Temporary Redirect", &format!("Location: {to}\r\n"), "")
}

fn manifest(layer: &[u8]) -> String {
    let of = |bytes: &[u8]| json!({"digest": Digest::of(bytes), "size": bytes.len()});
    json!({"config": of(CONFIG.as_bytes()), "layers": [of(layer)]}).to_string()
}

/// An honest registry with one image, of one layer.
fn honest(layer: Vec<u8>) -> impl Fn(&str) -> Says + Send + Sync + Clone + 'static {
    move |request: &str| {
        let manifest = manifest(&layer);
        let blob = |bytes: &[u8]| match request.starts_with("HEAD") {
            true => Says::Words(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len()).into(),
            ),
            false => says("200 OK", "", bytes),
        };
        let digest = |bytes: &[u8]| Digest::of(bytes).to_string();
        match request {
            "GET /v2/" => says("200 OK", "", "{}"),
            path if path.contains("/manifests/") => says("200 OK", "", manifest),
            path if path.ends_with(&digest(&layer)) => blob(&layer),
            path if path.ends_with(&digest(CONFIG.as_bytes())) => blob(CONFIG.as_bytes()),
            _ => says("404 Not Found", "", ""),
        }
    }
}

/// The same, but for requests that begin so.
fn but(
    layer: &[u8],
    start: &'static str,
    with: Says,
) -> impl Fn(&str) -> Says + Send + Sync + 'static {
    let honest = honest(layer.to_vec());
    move |request: &str| match request.starts_with(start) {
        true => with.clone(),
        false => honest(request),
    }
}

fn probe(target: &Target) -> RegistryProbe {
    RegistryProbe {
        image: Image::parse(&format!("{target}/a/b:c"), 80).unwrap(),
        plain: true,
        credential: Some(Credential::new("mirror", "hunter2").unwrap()),
        bundles: [].into(),
        components: None,
        within: LONG,
    }
}

async fn found(probe: RegistryProbe, limit: Duration) -> Registry {
    let answer = ask_within(Probe::Registry(Box::new(probe)), limit).await;
    let text = serde_json::to_string(&answer).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("sesame"), "{text}");
    match answer.result {
        Outcome::Registry(registry) => *registry,
        other => panic!("{other:?}"),
    }
}

async fn of(fake: &Fake) -> Registry {
    found(probe(&fake.target), LONG).await
}

/// What is wrong with the layer, where all else is well.
async fn of_layer(fake: &Fake) -> Vec<Fault> {
    let registry = of(fake).await;
    assert!(matches!(registry.manifest, Seen::Found { .. }), "{registry:?}");
    registry.blobs.flaws.into_iter().map(|flaw| flaw.how).collect()
}

const LAYER: &[u8] = b"a layer";

#[tokio::test]
async fn an_honest_registry_that_closes_every_connection_is_whole() {
    let registry = of(&Fake::plain(honest(LAYER.into())).await).await;
    assert_eq!((registry.auth, registry.blobs.checked), (Auth::NoneNeeded, 2));
    assert_eq!((registry.blobs.flaws, registry.release.as_deref()), (vec![], Some("4.18.14")));
}

#[tokio::test]
async fn what_is_no_registry_is_told_by_its_status() {
    for (says, status) in [
        (says("200 OK", "Content-Type: text/html\r\n", "<html>It works!</html>"), 200),
        (says("404 Not Found", "", "<html>"), 404),
        (says("503 Service Unavailable", "", ""), 503),
        (says("401 Unauthorized", "", ""), 401),
        (Says::Endless(b"HTTP/1.1 200 OK\r\n\r\n[".to_vec()), 200),
    ] {
        let fake = Fake::plain(move |_| says.clone()).await;
        let registry = of(&fake).await;
        assert_eq!(registry.ping, Some(Ping::Other(status)));
        assert_eq!((registry.auth, registry.manifest), (Auth::NotAsked, Seen::NotAsked));
        assert_eq!(fake.heard().len(), 1);
        assert!(!fake.heard()[0].to_lowercase().contains("authorization"), "nobody asked for it");
    }
    let fake = Fake::plain(|_| says("403 Forbidden", "", "")).await;
    assert_eq!(of(&fake).await.auth, Auth::Forbidden);
}

#[tokio::test]
async fn a_manifest_that_is_cut_or_a_lie_or_without_end_is_none() {
    let of =
        async |says: Says| of(&Fake::plain(but(LAYER, "GET /v2/a/b/manifests", says)).await).await;
    let cut = Says::Words(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec());
    assert_eq!(of(cut).await.manifest, Seen::Failed(Fault::Cut));
    let endless = Says::Endless(b"HTTP/1.1 200 OK\r\n\r\n{\"layers\":[".to_vec());
    assert_eq!(of(endless).await.manifest, Seen::Failed(Fault::TooLarge));
    let page = says("200 OK", "", "<html>");
    assert_eq!(of(page).await.manifest, Seen::Failed(Fault::Unreadable));
    let broken = says("500 Internal Server Error", "", "token=sesame");
    assert_eq!(of(broken).await.manifest, Seen::Failed(Fault::Get(500)));
    let forbidden = of(says("403 Forbidden", "", "")).await;
    assert_eq!(
        (forbidden.auth, forbidden.manifest),
        (Auth::Forbidden, Seen::Failed(Fault::Get(403)))
    );
    let header = format!("Docker-Content-Digest: {}\r\n", Digest::of(b"another"));
    let got = Digest::of(manifest(LAYER).as_bytes());
    let lie = of(says("200 OK", &header, manifest(LAYER))).await;
    assert_eq!(lie.manifest, Seen::Mismatch { got: got.clone() }, "by its own word");
    let fake = Fake::plain(honest(LAYER.into())).await;
    let mut by_digest = probe(&fake.target);
    let image = format!("{}/a/b@{}", fake.target, Digest::of(b"another"));
    by_digest.image = Image::parse(&image, 80).unwrap();
    assert_eq!(found(by_digest, LONG).await.manifest, Seen::Mismatch { got }, "by ours");
}

#[tokio::test]
async fn a_layer_shows_by_one_byte_what_its_head_hides() {
    let one_byte = |says: Says| {
        let honest = honest(LAYER.into());
        let layer = Digest::of(LAYER).to_string();
        Fake::plain(move |request: &str| {
            match request.starts_with("GET") && request.ends_with(&layer) {
                true => says.clone(),
                false => honest(request),
            }
        })
    };
    let part = |range: &str, body: &str| {
        says("206 Partial Content", &format!("Content-Range: bytes {range}\r\n"), body)
    };
    for (says, flaws) in [
        (part("6-6/7", "r"), vec![]),
        (part("6-6/8", "r"), vec![Fault::Size { expected: 7, said: 8 }]),
        (part("6-6/7", ""), vec![Fault::Cut]),
        (says("404 Not Found", "", ""), vec![Fault::Get(404)]),
        (says("500 Internal Server Error", "", ""), vec![Fault::Get(500)]),
        (says("200 OK", "", "short"), vec![Fault::Size { expected: 7, said: 5 }]),
        (Says::Words(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".to_vec()), vec![Fault::Cut]),
        (Says::Endless(b"HTTP/1.1 200 OK\r\n\r\n".repeat(100)), vec![]),
        (Says::Words(vec![]), vec![Fault::Unreached(Reach::Lost)]),
    ] {
        let fake = one_byte(says).await;
        assert_eq!(of_layer(&fake).await, flaws);
        assert!(
            fake.heard().iter().any(|head| head.to_lowercase().contains("range: bytes=6-6\r\n"))
        );
    }
}

#[tokio::test]
async fn redirects_are_followed_by_the_rule_and_without_the_key() {
    let authority = Authority::new("mirror-ca", GOOD);
    let here = authority.issue(&["127.0.0.1"], GOOD);
    let storage = Fake::tls(&here, honest(LAYER.into())).await;
    let stranger =
        Fake::tls(&Authority::new("other", GOOD).issue(&["127.0.0.1"], GOOD), honest(LAYER.into()))
            .await;
    let open = Fake::plain(honest(LAYER.into())).await;
    let digest = Digest::of(LAYER);
    let cases = [
        (format!("https://{}/{digest}", storage.target), vec![]),
        (
            format!("https://{}/{digest}", stranger.target),
            vec![Fault::Untrusted(Trust::UnknownIssuer)],
        ),
        (format!("http://{}/{digest}", open.target), vec![Fault::Redirect(Redirect::Plain)]),
        (format!("/v2/a/b/blobs/{digest}"), vec![Fault::Redirect(Redirect::TooMany)]),
        ("two words".into(), vec![Fault::Redirect(Redirect::Unusable)]),
        ("file:///etc/passwd".into(), vec![Fault::Redirect(Redirect::Unusable)]),
    ];
    for (location, flaws) in cases {
        let honest = honest(LAYER.into());
        let layer = digest.to_string();
        let wants = says("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n", "");
        let registry = Fake::tls(&here, move |request: &str| match request {
            "GET /v2/" => wants.clone(),
            request if request.ends_with(&layer) => moved(&location),
            request => honest(request),
        })
        .await;
        let asked = RegistryProbe {
            plain: false,
            bundles: [authority.bundle("additional")].into(),
            ..probe(&registry.target)
        };
        let seen = found(asked, LONG).await;
        assert_eq!(seen.auth, Auth::Accepted);
        assert_eq!(seen.blobs.flaws.into_iter().map(|flaw| flaw.how).collect::<Vec<_>>(), flaws);
        let heard = registry.heard();
        assert!(heard.iter().any(|head| head.to_lowercase().contains("authorization: basic")));
        assert!(heard.len() < 20, "{}", heard.len());
    }
    assert_eq!(storage.heard().len(), 2);
    assert!(storage.heard().iter().all(|head| !head.to_lowercase().contains("authorization")));
    assert!(stranger.heard().is_empty() && open.heard().is_empty());
}

#[tokio::test]
async fn tokens_come_from_the_host_itself_or_by_https_and_are_not_asked_for_without_end() {
    let bearer = |realm: &str| {
        let header = format!("WWW-Authenticate: Bearer realm=\"{realm}\"\r\n");
        says("401 Unauthorized", &header, "")
    };
    let of = async |realm: &str| {
        let wants = bearer(realm);
        let fake = Fake::plain(move |_| wants.clone()).await;
        (of(&fake).await.auth, fake.heard().len())
    };
    let tokens = Fake::plain(|_| says("200 OK", "", r#"{"token":"sesame"}"#)).await;
    let port = tokens.target.port;
    let (auth, asked) = of(&format!("http://127.0.0.1:{port}/token")).await;
    assert_eq!(auth, Auth::Forbidden, "the registry does not take the token");
    assert!(asked <= 4 && tokens.heard().len() <= 2, "{asked}");
    assert!(tokens.heard()[0].starts_with("GET /token?scope=repository:a/b:pull HTTP/1.1"));
    let heard = tokens.heard().len();
    assert!(matches!(of(&format!("http://localhost:{port}/token")).await.0, Auth::Unusable(_)));
    assert_eq!(tokens.heard().len(), heard, "another name is another host");
    let page = Fake::plain(|_| says("200 OK", "", "<html>")).await;
    let (auth, _) = of(&format!("http://{}/", page.target)).await;
    assert_eq!(auth, Auth::TokenServer(Fault::Unreadable));
    let astray = Fake::plain(|_| moved("/elsewhere")).await;
    let (auth, _) = of(&format!("http://{}/", astray.target)).await;
    assert_eq!((auth, astray.heard().len()), (Auth::TokenServer(Fault::Get(307)), 1));
    let (closed, _held) = support::closed().await;
    let (auth, _) = of(&format!("http://{closed}/")).await;
    assert_eq!(auth, Auth::TokenServer(Fault::Unreached(Reach::Refused)));
    let negotiate = says("401 Unauthorized", "WWW-Authenticate: Negotiate\r\n", "");
    let fake = Fake::plain(move |_| negotiate.clone()).await;
    assert!(matches!(self::of(&fake).await.auth, Auth::Unusable(_)));
}

#[tokio::test]
async fn a_token_that_grew_old_is_fetched_anew() {
    let tokens = Fake::plain(|_| says("200 OK", "", r#"{"token":"sesame"}"#)).await;
    let header = format!("WWW-Authenticate: Bearer realm=\"http://{}/\"\r\n", tokens.target);
    let honest = honest(LAYER.into());
    let count = Mutex::new(0);
    let registry = Fake::plain(move |request: &str| {
        let mut count = count.lock().unwrap();
        *count += 1;
        // The third request that comes with a token finds it too old.
        match *count {
            1 | 4 => says("401 Unauthorized", &header, ""),
            _ => honest(request),
        }
    })
    .await;
    let seen = of(&registry).await;
    assert_eq!((seen.auth, seen.blobs.checked, seen.blobs.flaws), (Auth::Accepted, 2, vec![]));
    assert_eq!(tokens.heard().len(), 2);
}

#[tokio::test]
async fn who_is_slow_is_not_waited_for() {
    let short = Duration::from_millis(300);
    let timed_out = || Fault::Unreached(Reach::TimedOut);
    let silent = Fake::plain(|_| Says::Slowly(vec![], b"HTTP/1.1 200 OK\r\n\r\n".to_vec())).await;
    let registry = found(probe(&silent.target), short).await;
    assert_eq!(registry.ping, Some(Ping::Failed(timed_out())));
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n".to_vec();
    let slow = Says::Slowly(head.clone(), vec![b' '; 100]);
    let fake = Fake::plain(but(LAYER, "GET /v2/a/b/manifests", slow)).await;
    let registry = found(probe(&fake.target), Duration::from_secs(2)).await;
    assert_eq!(registry.manifest, Seen::Failed(timed_out()));
    // The time for all is over, and that is nobody's flaw.
    let fake = Fake::plain(but(LAYER, "HEAD", Says::Slowly(vec![], head))).await;
    let within = Duration::from_secs(4);
    let registry = found(RegistryProbe { within, ..probe(&fake.target) }, LONG).await;
    assert!(matches!(registry.manifest, Seen::Found { .. }), "{registry:?}");
    let blobs = registry.blobs;
    assert_eq!((blobs.checked, blobs.flaws.len(), blobs.left_out), (0, 0, 2));
}

#[tokio::test]
async fn a_list_that_cannot_be_had_says_why() {
    let list = |layer: Vec<u8>| async move {
        let fake = Fake::plain(honest(layer)).await;
        let components = Some(Deep::default());
        let seen = found(RegistryProbe { components, ..probe(&fake.target) }, LONG).await;
        seen.components.unwrap().list
    };
    let name = "release-manifests/image-references";
    assert_eq!(list(layer(&[("a", b"b")])).await, List::None);
    for broken in [layer(&[(name, b"{}")]), b"neither tar nor gzip, just text ".repeat(40)] {
        let digest = Digest::of(&broken);
        assert_eq!(list(broken).await, List::Failed { layer: digest, how: Fault::Unreadable });
    }
    let large = layer(&[(name, &vec![b' '; 5 << 20])]);
    assert!(matches!(list(large).await, List::Failed { how: Fault::TooLarge, .. }));
    // A layer that says it is small, and does not end.
    let small = layer(&[("a", b"b")]);
    let digest = Digest::of(&small).to_string();
    let honest = honest(small);
    let fake = Fake::plain(move |request: &str| {
        match request.starts_with("GET") && request.ends_with(&digest) {
            true => Says::Endless([b"HTTP/1.1 200 OK\r\n\r\n".as_slice(), &[0x1f; 65536]].concat()),
            false => honest(request),
        }
    })
    .await;
    let components = Some(Deep::default());
    let seen = found(RegistryProbe { components, ..probe(&fake.target) }, LONG).await;
    let list = seen.components.unwrap().list;
    assert!(matches!(list, List::Failed { how: Fault::TooLarge, .. }), "{list:?}");
}

#[tokio::test]
async fn who_is_not_reached_is_told_as_by_other_probes() {
    let (closed, _held) = support::closed().await;
    let answer = ask_within(Probe::Registry(Box::new(probe(&closed))), LONG).await;
    assert_eq!(answer.result, Outcome::Unreached { why: Reach::Refused });
    let fake = Fake::plain(honest(LAYER.into())).await;
    let asked = RegistryProbe { plain: false, ..probe(&fake.target) };
    let registry = found(asked, LONG).await;
    assert_eq!(registry.tls.unwrap().ended, Some(plimsoll_probe::Ended::NotTls));
    let ssh = Fake::plain(|_| Says::Words(b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec())).await;
    let registry = of(&ssh).await;
    assert!(matches!(registry.ping, Some(Ping::Failed(Fault::Unreached(Reach::Other(_))))));
}
