//! A real registry, with a release in it that is whole, and with parts of it gone.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use plimsoll_probe::registry::{
    Auth, Components, Credential, Deep, Digest, Fault, Flaw, Image, List, Piece, Ping, Registry,
    Seen,
};
use plimsoll_probe::{Bundle, Outcome, Probe, RegistryProbe, Target, Trust};
use serde_json::json;
use support::mirror::{
    COMPONENTS, Mirror, PASSWORD, REPOSITORY, USER, VERSION, Wants, can_run, pem,
};
use support::pki::{Authority, Identity};
use support::{ask, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

const GOOD: (i32, i32) = (2020, 2030);

fn probe(target: &Target, reference: &str, bundles: Vec<Bundle>) -> RegistryProbe {
    RegistryProbe {
        image: Image::parse(&format!("{target}/{REPOSITORY}{reference}"), 443).unwrap(),
        plain: bundles.is_empty(),
        credential: None,
        bundles: bundles.into(),
        components: None,
        within: Duration::from_secs(100),
    }
}

async fn found(probe: RegistryProbe) -> Registry {
    let answer = ask(Probe::Registry(Box::new(probe))).await;
    let text = serde_json::to_string(&answer).unwrap();
    let pair = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    assert!(!text.contains("hunter2") && !text.contains(&pair), "{text}");
    let back: plimsoll_probe::Answer = serde_json::from_str(&text).unwrap();
    assert_eq!(back, answer);
    match answer.result {
        Outcome::Registry(registry) => *registry,
        other => panic!("{other:?}"),
    }
}

fn components(registry: Registry) -> Components {
    registry.components.unwrap()
}

fn flaw(digest: &Digest, piece: Piece, of: &str, how: Fault) -> Flaw {
    Flaw { digest: digest.clone(), piece, of: of.into(), how }
}

fn credential(password: &str) -> Option<Credential> {
    Some(Credential::new(USER, password).unwrap())
}

#[tokio::test]
async fn a_release_that_is_whole_is_seen_to_be() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let identity = mirror.authority.issue(&["127.0.0.1"], GOOD);
    let (_server, target) = mirror.serve(&identity, &Wants::Password).await;
    let bundles = || vec![Bundle::system(), mirror.authority.bundle("additional")];
    let by_digest = format!("@{}", mirror.release.digest);
    let mut asked = probe(&target, &by_digest, bundles());
    asked.credential = credential(PASSWORD);
    asked.components = Some(Deep { repository: None, blobs: true });
    let shown = format!("{asked:?}");
    assert!(!shown.contains(PASSWORD), "{shown}");
    let id = Probe::Registry(Box::new(asked.clone())).id();
    assert_eq!(id, format!("registry/{target}/{REPOSITORY}{by_digest}"));
    let registry = found(asked).await;
    assert_eq!(registry.tls.as_ref().unwrap().trust["additional"], Trust::Trusted);
    assert_eq!(
        (registry.ping.clone(), registry.auth.clone()),
        (Some(Ping::Registry), Auth::Accepted)
    );
    let Seen::Found { digest, media_type, platforms } = &registry.manifest else {
        panic!("{registry:?}")
    };
    assert_eq!((digest, platforms.len()), (&mirror.release.digest, 0));
    assert_eq!(media_type.as_deref(), Some("application/vnd.oci.image.manifest.v1+json"));
    assert_eq!(registry.release.as_deref(), Some(VERSION));
    assert_eq!((registry.blobs.checked, registry.blobs.flaws.len()), (3, 0));
    let seen = components(registry);
    assert_eq!((seen.list, seen.count), (List::Read, COMPONENTS.len()));
    assert_eq!((seen.manifests.checked, seen.manifests.flaws.len()), (4, 0));
    let blobs = seen.blobs.unwrap();
    assert_eq!(
        (blobs.checked, blobs.flaws.len()),
        (9, 0),
        "a config and a layer each, and one for all"
    );

    let mut by_list = probe(&target, ":multi", bundles());
    by_list.credential =
        Some(Credential::from_auth(&STANDARD.encode(format!("{USER}:{PASSWORD}"))).unwrap());
    by_list.components = Some(Deep::default());
    let registry = found(by_list).await;
    let Seen::Found { digest, platforms, .. } = &registry.manifest else { panic!("{registry:?}") };
    assert_eq!(
        (digest, &platforms[..]),
        (&mirror.list, &["linux/amd64".into(), "linux/arm64".into()][..])
    );
    assert_eq!((registry.blobs.checked, registry.blobs.flaws.len()), (8, 0), "{registry:?}");
    assert_eq!(components(registry).count, COMPONENTS.len());
}

#[tokio::test]
async fn a_blob_that_is_gone_is_found_whether_the_registry_knows_it_or_not() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let (_server, target) = mirror.serve_plain().await;
    let asked = || probe(&target, &format!("@{}", mirror.release.digest), vec![]);
    let flaws = async || found(asked()).await.blobs.flaws;
    let (lower, upper) = (&mirror.release.layers[0], &mirror.release.layers[1]);

    let gone = mirror.file(lower);
    let bytes = std::fs::read(&gone).unwrap();
    std::fs::remove_file(&gone).unwrap();
    let unknown = flaws().await;
    assert_eq!(unknown, [flaw(lower, Piece::Layer, "", Fault::Head(404))]);

    std::fs::write(&gone, &bytes).unwrap();
    assert_eq!(flaws().await, [], "the registry now has all of them in its cache");
    std::fs::remove_file(&gone).unwrap();
    let known = flaws().await;
    assert_eq!(known.len(), 1, "{known:?}");
    assert!(matches!(known[0].how, Fault::Cut | Fault::Get(_)), "HEAD was well: {known:?}");

    std::fs::write(&gone, &bytes[..bytes.len() - 1]).unwrap();
    let short = flaws().await;
    assert_eq!(short.len(), 1, "{short:?}");
    assert!(matches!(short[0].how, Fault::Cut | Fault::Get(_)), "{short:?}");
    std::fs::write(&gone, &bytes).unwrap();

    // The layer with the list: there, and not what it was.
    let file = mirror.file(upper);
    let mut wrong = std::fs::read(&file).unwrap();
    *wrong.last_mut().unwrap() ^= 1;
    std::fs::write(&file, wrong).unwrap();
    let registry = found(RegistryProbe { components: Some(Deep::default()), ..asked() }).await;
    assert_eq!(registry.blobs.flaws, [], "one byte does not tell");
    assert_eq!(registry.release.as_deref(), Some(VERSION), "by the label");
    let List::Failed { layer, how: Fault::Digest { .. } } = components(registry).list else {
        panic!()
    };
    assert_eq!(&layer, upper);
}

#[tokio::test]
async fn connections_are_few_for_many_questions() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let (_server, behind) = mirror.serve_plain().await;
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let front = serve(move |_, mut stream| {
        counter.fetch_add(1, Ordering::SeqCst);
        let behind = behind.clone();
        async move {
            let to = TcpStream::connect((behind.host.as_str(), behind.port)).await;
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut to.unwrap()).await;
        }
    })
    .await;
    let mut asked = probe(&front, ":multi", vec![]);
    asked.components = Some(Deep { repository: None, blobs: true });
    let registry = found(asked).await;
    assert_eq!((registry.blobs.checked, registry.blobs.flaws.len()), (8, 0));
    assert!(components(registry).blobs.unwrap().flaws.is_empty());
    let count = count.load(Ordering::SeqCst);
    assert!(count <= 12, "{count} connections for some fifty questions");
}

#[tokio::test]
async fn a_registry_that_was_started_anew_knows_the_size_on_its_disk() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let layer = &mirror.release.layers[0];
    let file = mirror.file(layer);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..20]).unwrap();
    let (_server, target) = mirror.serve_plain().await;
    let registry = found(probe(&target, &format!(":{VERSION}"), vec![])).await;
    let how = Fault::Size { expected: whole.len() as u64, said: 20 };
    assert_eq!(registry.blobs.flaws, [flaw(layer, Piece::Layer, "", how)]);
    assert_eq!(registry.auth, Auth::NoneNeeded);
}

#[tokio::test]
async fn what_was_never_mirrored_is_told_by_name() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let (_server, target) = mirror.serve_plain().await;
    let nobody = format!("@{}", Digest::of(b"nobody"));
    for reference in [nobody.as_str(), ":4.99.1"] {
        let registry = found(probe(&target, reference, vec![])).await;
        let code = Some("MANIFEST_UNKNOWN".into());
        assert_eq!(registry.manifest, Seen::Missing { code });
    }
    let etcd = &mirror.components[1].digest;
    std::fs::remove_file(mirror.file(etcd)).unwrap();
    let installer = &mirror.components[2];
    std::fs::remove_file(mirror.file(&installer.config)).unwrap();
    let mut asked = probe(&target, &format!(":{VERSION}"), vec![]);
    asked.components = Some(Deep { repository: None, blobs: true });
    let seen = components(found(asked.clone()).await);
    assert_eq!((seen.count, seen.manifests.checked), (4, 4));
    assert_eq!(seen.manifests.flaws, [flaw(etcd, Piece::Manifest, "etcd", Fault::Get(404))]);
    let config = flaw(&installer.config, Piece::Config, "installer", Fault::Head(404));
    assert_eq!(seen.blobs.unwrap().flaws, [config]);

    let elsewhere = Some("ocp4/release".parse().unwrap());
    asked.components = Some(Deep { repository: elsewhere, blobs: false });
    let seen = components(found(asked.clone()).await);
    assert_eq!((seen.manifests.flaws.len(), seen.blobs), (4, None), "that repository is empty");

    asked.image = Image::parse(&format!("{target}/{REPOSITORY}:cli"), 443).unwrap();
    let seen = components(found(asked).await);
    assert_eq!((seen.list, seen.count), (List::None, 0), "that is no release");

    std::fs::remove_file(mirror.file(&mirror.release.digest)).unwrap();
    let registry = found(probe(&target, &format!("@{}", mirror.release.digest), vec![])).await;
    assert!(matches!(registry.manifest, Seen::Missing { .. }), "{:?}", registry.manifest);
    let registry = found(probe(&target, ":multi", vec![])).await;
    let amd64 = flaw(&mirror.release.digest, Piece::Manifest, "linux/amd64", Fault::Get(404));
    assert_eq!(registry.blobs.flaws, [amd64]);
}

#[tokio::test]
async fn who_may_not_read_is_told_why() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let identity = mirror.authority.issue(&["127.0.0.1"], GOOD);
    let (_server, target) = mirror.serve(&identity, &Wants::Password).await;
    for (credential, auth) in [(credential("wrong"), Auth::Refused), (None, Auth::NoCredential)] {
        let bundles = vec![mirror.authority.bundle("additional")];
        let asked = RegistryProbe { credential, ..probe(&target, ":multi", bundles) };
        let registry = found(asked).await;
        assert_eq!((registry.ping, registry.auth), (Some(Ping::Registry), auth));
        assert!(matches!(registry.manifest, Seen::NotAsked | Seen::Failed(Fault::Get(401))));
        assert_eq!(registry.blobs.checked, 0);
    }
}

#[tokio::test]
async fn a_registry_that_nobody_trusts_gets_no_question() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let stranger = Authority::new("stranger", GOOD);
    let ours = &mirror.authority;
    for (identity, host, verdict) in [
        (stranger.issue(&["127.0.0.1"], GOOD), "127.0.0.1", Trust::UnknownIssuer),
        (ours.issue(&["127.0.0.1"], (2020, 2025)), "127.0.0.1", Trust::Expired),
        (ours.issue(&["127.0.0.1"], GOOD), "localhost", Trust::WrongName),
    ] {
        let (_server, target) = mirror.serve(&identity, &Wants::Password).await;
        let target = Target::new(host, target.port);
        let mut asked = probe(&target, ":multi", vec![ours.bundle("additional")]);
        asked.credential = credential(PASSWORD);
        let registry = found(asked).await;
        assert_eq!(registry.tls.unwrap().trust["additional"], verdict);
        assert_eq!((registry.ping, registry.auth), (None, Auth::NotAsked), "{verdict:?}");
        assert_eq!(registry.manifest, Seen::NotAsked);
    }
}

#[tokio::test]
async fn a_token_is_fetched_from_whom_the_registry_names() {
    if !can_run() {
        return;
    }
    let mirror = Mirror::filled().await;
    let issued = Arc::new(AtomicUsize::new(0));
    let signer = Identity::self_signed(&["tokens"], GOOD).0;
    let certificate = pem("CERTIFICATE", &signer.chain[0]);
    let realm = tokens(&mirror.authority, signer, issued.clone()).await;
    let identity = mirror.authority.issue(&["127.0.0.1"], GOOD);
    let wants = Wants::Token(format!("https://{realm}/token"), certificate);
    let (_server, target) = mirror.serve(&identity, &wants).await;
    let by = |credential| {
        let bundles = vec![mirror.authority.bundle("additional")];
        let components = Some(Deep { repository: None, blobs: true });
        RegistryProbe { credential, components, ..probe(&target, &format!(":{VERSION}"), bundles) }
    };
    let registry = found(by(credential(PASSWORD))).await;
    assert_eq!(
        (registry.auth.clone(), registry.blobs.flaws.len()),
        (Auth::Accepted, 0),
        "{registry:?}"
    );
    assert_eq!(registry.blobs.checked, 3);
    assert!(components(registry).manifests.flaws.is_empty());
    assert_eq!(issued.load(Ordering::SeqCst), 1, "one token does for all");
    assert_eq!(found(by(credential("wrong"))).await.auth, Auth::Refused);
    // Anybody gets a token, and it opens nothing.
    assert_eq!(found(by(None)).await.auth, Auth::NoCredential);

    // In the open, on a registry that is not: nobody is told the password.
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    let open = serve(move |_, _| {
        counter.fetch_add(1, Ordering::SeqCst);
        async {}
    })
    .await;
    let signer = Identity::self_signed(&["tokens"], GOOD).0;
    let wants = Wants::Token(format!("http://{open}/token"), pem("CERTIFICATE", &signer.chain[0]));
    let (_server, target) = mirror.serve(&identity, &wants).await;
    let mut asked = probe(&target, ":multi", vec![mirror.authority.bundle("additional")]);
    asked.credential = credential(PASSWORD);
    assert!(matches!(found(asked).await.auth, Auth::Unusable(_)));
    assert_eq!(heard.load(Ordering::SeqCst), 0);
}

/// Hands out tokens that let the one with the password read, and others do nothing.
async fn tokens(authority: &Authority, signer: Identity, issued: Arc<AtomicUsize>) -> Target {
    let config = Arc::new(authority.issue(&["127.0.0.1"], GOOD).config());
    let key =
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &signer.key.serialize_der());
    let (key, x5c) = (Arc::new(key.unwrap()), STANDARD.encode(&signer.chain[0]));
    serve(move |_, stream| {
        let acceptor = TlsAcceptor::from(config.clone());
        let (key, x5c, issued) = (key.clone(), x5c.clone(), issued.clone());
        async move {
            let Ok(mut session) = acceptor.accept(stream).await else { return };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                match session.read_u8().await {
                    Ok(byte) => head.push(byte),
                    Err(_) => return,
                }
            }
            let head = String::from_utf8(head).unwrap();
            assert!(head.contains("service=mirror"), "{head}");
            let basic = |password: &str| STANDARD.encode(format!("{USER}:{password}"));
            let known = head.contains(&basic(PASSWORD));
            let answer = if head.contains(&basic("wrong")) {
                "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".into()
            } else {
                let scope = format!("scope=repository:{REPOSITORY}:pull");
                assert!(head.contains(&scope), "{head}");
                issued.fetch_add(1, Ordering::SeqCst);
                let access =
                    json!([{"type": "repository", "name": REPOSITORY, "actions": ["pull"]}]);
                let claims = json!({
                    "iss": "lab", "sub": "", "aud": "mirror", "jti": "1", "iat": 0, "nbf": 0,
                    "exp": 4_102_444_800_u64,
                    "access": if known { access } else { json!([]) },
                });
                let body = json!({"token": signed(&key, &x5c, &claims)}).to_string();
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            };
            let _ = session.write_all(answer.as_bytes()).await;
            let _ = session.shutdown().await;
        }
    })
    .await
}

fn signed(key: &EcdsaKeyPair, x5c: &str, claims: &serde_json::Value) -> String {
    let head = json!({"typ": "JWT", "alg": "ES256", "x5c": [x5c]});
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&head), part(claims));
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}
