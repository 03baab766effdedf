//! Certificates right and wrong, shown by servers on the loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use plimsoll_probe::{
    Bundle, Ended, NoLeaf, Outcome, Probe, Reach, Target, Tls, TlsProbe, TlsTries, TlsTriesProbe,
    Trust,
};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use support::pki::{Authority, Identity, NAME, builder, serve_tls};
use support::real::{Server, free_port, have};
use support::{ask, ask_within, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::rustls;

const GOOD: (i32, i32) = (2020, 2030);
const PAST: (i32, i32) = (2020, 2025);
const FUTURE: (i32, i32) = (2027, 2030);

async fn shown(target: Target, name: &str, bundles: Vec<Bundle>) -> Tls {
    let probe = TlsProbe { target, name: Some(name.into()), bundles: bundles.into() };
    match ask(Probe::Tls(probe)).await.result {
        Outcome::Tls(tls) => *tls,
        other => panic!("{other:?}"),
    }
}

async fn ended(target: Target) -> Ended {
    let tls = shown(target, NAME, vec![]).await;
    assert!(tls.chain.is_empty() && tls.leaf.is_none() && tls.version.is_none());
    tls.ended.unwrap()
}

#[tokio::test]
async fn each_certificate_gets_the_verdict_of_each_bundle() {
    let authority = Authority::new("root-ca", GOOD);
    let stale = Authority::new("old-root-ca", PAST);
    let stranger = Authority::new("ingress-operator", GOOD);
    let names = [NAME, "127.0.0.1"];
    let (own, own_pem) = Identity::self_signed(&names, GOOD);
    let (old_own, old_own_pem) = Identity::self_signed(&names, PAST);
    let with_root = {
        let mut identity = authority.issue(&names, GOOD);
        identity.chain.push(authority.0.der().clone());
        identity
    };
    let bundles = || {
        vec![
            authority.bundle("root-ca"),
            stale.bundle("old-root-ca"),
            Bundle::from_pem("own", [own_pem.as_str(), &old_own_pem].concat().as_bytes()),
            Bundle::from_pem("empty", b"nothing in it"),
        ]
    };
    use Trust::{Expired, NotYetValid, Trusted, UnknownIssuer, WrongName};
    for (what, identity, name, expected) in [
        ("right", authority.issue(&names, GOOD), NAME, [Trusted, UnknownIssuer, UnknownIssuer]),
        (
            "by address",
            authority.issue(&names, GOOD),
            "127.0.0.1",
            [Trusted, UnknownIssuer, UnknownIssuer],
        ),
        ("root sent along", with_root, NAME, [Trusted, UnknownIssuer, UnknownIssuer]),
        ("expired", authority.issue(&names, PAST), NAME, [Expired, Expired, Expired]),
        (
            "too early",
            authority.issue(&names, FUTURE),
            NAME,
            [NotYetValid, NotYetValid, NotYetValid],
        ),
        (
            "wrong name",
            authority.issue(&names, GOOD),
            "api.lab.example.com",
            [WrongName, UnknownIssuer, UnknownIssuer],
        ),
        (
            "wrong address",
            authority.issue(&names, GOOD),
            "192.0.2.1",
            [WrongName, UnknownIssuer, UnknownIssuer],
        ),
        (
            "common name only",
            authority.issue(&[], GOOD),
            NAME,
            [WrongName, UnknownIssuer, UnknownIssuer],
        ),
        (
            "expired authority",
            stale.issue(&names, GOOD),
            NAME,
            [UnknownIssuer, Expired, UnknownIssuer],
        ),
        (
            "other authority",
            stranger.issue(&names, GOOD),
            NAME,
            [UnknownIssuer, UnknownIssuer, UnknownIssuer],
        ),
        ("self-signed", own, NAME, [UnknownIssuer, UnknownIssuer, Trusted]),
        ("self-signed, expired", old_own, NAME, [Expired, Expired, Expired]),
    ] {
        let sent = identity.chain.len();
        let target = serve_tls(vec![identity.config()]).await;
        let tls = shown(target, name, bundles()).await;
        let verdicts = ["root-ca", "old-root-ca", "own"].map(|bundle| tls.trust[bundle].clone());
        assert_eq!(verdicts, expected, "{what}");
        assert!(matches!(tls.trust["empty"], Trust::Bad(_)));
        assert_eq!((tls.version.as_deref(), tls.ended, tls.chain.len()), (Some("1.3"), None, sent));
    }
}

#[tokio::test]
async fn the_answer_tells_who_issued_what_to_whom() {
    let authority = Authority::new("root-ca", GOOD);
    let target = serve_tls(vec![authority.issue(&[NAME, "127.0.0.1"], GOOD).config()]).await;
    let probe = TlsProbe {
        target: target.clone(),
        name: None,
        bundles: [authority.bundle("root-ca")].into(),
    };
    let answer = ask(Probe::Tls(probe)).await;
    assert_eq!(answer.id, format!("tls/{target}"));
    assert_eq!(answer.address, target.address());
    let Outcome::Tls(tls) = answer.result else { panic!() };
    let leaf = tls.leaf.unwrap();
    assert_eq!(leaf.issuer, "CN=root-ca");
    assert_eq!(leaf.subject, "CN=system:machine-config-server");
    assert_eq!(leaf.dns_names, [NAME]);
    assert_eq!(leaf.not_after, "2030-01-01T00:00:00Z".parse().unwrap());
    assert!(!Bundle::from_pem("again", tls.chain[0].as_bytes()).is_empty());
}

#[tokio::test]
async fn a_chain_that_is_too_long_is_cut_and_says_so() {
    let authority = Authority::new("root-ca", GOOD);
    let mut identity = authority.issue(&[NAME], GOOD);
    identity.chain.extend((0..14).map(|_| authority.0.der().clone()));
    let tls = shown(serve_tls(vec![identity.config()]).await, NAME, vec![]).await;
    assert_eq!((tls.chain.len(), tls.left_out), (10, 5));
}

#[tokio::test]
async fn a_server_that_wants_our_certificate_still_shows_its_own() {
    let authority = Authority::new("etcd-signer", GOOD);
    let identity = authority.issue(&[NAME], GOOD);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.0.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        .unwrap();
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(identity.chain.clone(), identity.key())
        .unwrap();
    let tls = shown(serve_tls(vec![config]).await, NAME, vec![authority.bundle("etcd")]).await;
    assert!(matches!(tls.ended, Some(Ended::ByServer(_))), "{:?}", tls.ended);
    assert_eq!(tls.trust["etcd"], Trust::Trusted);
}

#[tokio::test]
async fn a_server_without_the_key_of_its_certificate_gets_no_session() {
    #[derive(Debug)]
    struct Thief(Arc<CertifiedKey>);
    impl rustls::server::ResolvesServerCert for Thief {
        fn resolve(&self, _: rustls::server::ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(self.0.clone())
        }
    }
    let authority = Authority::new("root-ca", GOOD);
    let (victim, thief) = (authority.issue(&[NAME], GOOD), authority.issue(&[NAME], GOOD));
    let key = rustls::crypto::aws_lc_rs::sign::any_supported_type(&thief.key()).unwrap();
    let stolen = Thief(Arc::new(CertifiedKey::new(victim.chain, key)));
    let config = builder().with_no_client_auth().with_cert_resolver(Arc::new(stolen));
    let tls = shown(serve_tls(vec![config]).await, NAME, vec![]).await;
    assert!(matches!(tls.ended, Some(Ended::ByUs(_))), "{:?}", tls.ended);
}

#[tokio::test]
async fn a_handshake_that_fails_says_how() {
    let closing = serve(async |_, mut stream: tokio::net::TcpStream| {
        let _ = stream.read(&mut [0; 64]).await;
    });
    assert_eq!(ended(closing.await).await, Ended::Lost);
    let says = |words: &'static [u8]| {
        serve(move |_, mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(words).await;
            let _ = stream.read(&mut [0; 4096]).await;
        })
    };
    let plain = says(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n").await;
    assert_eq!(ended(plain).await, Ended::NotTls);
    let alert = says(&[21, 3, 3, 0, 2, 2, 40]).await;
    assert_eq!(ended(alert).await, Ended::ByServer("handshake_failure".into()));
    let silent = says(b"").await;
    let probe = TlsProbe { target: silent, name: None, bundles: [].into() };
    let answer = ask_within(Probe::Tls(probe), Duration::from_millis(200)).await;
    let Outcome::Tls(tls) = answer.result else { panic!() };
    assert_eq!(tls.ended, Some(Ended::TimedOut));
}

#[tokio::test]
async fn who_is_not_reached_is_told_apart_from_who_fails() {
    let (target, _held) = support::closed().await;
    let ask_of = async |target: Target, name: Option<&str>| {
        let probe = TlsProbe { target, name: name.map(Into::into), bundles: [].into() };
        ask(Probe::Tls(probe)).await.result
    };
    let unreached = |why| Outcome::Unreached { why };
    assert_eq!(ask_of(target.clone(), None).await, unreached(Reach::Refused));
    let nowhere = Target::new("nobody.invalid", 6443);
    assert_eq!(ask_of(nowhere, None).await, unreached(Reach::Unresolved));
    let odd = ask_of(target, Some("two words")).await;
    assert!(matches!(odd, Outcome::Unreached { why: Reach::Other(_) }));
}

#[tokio::test]
async fn two_machines_on_one_address_show_two_issuers() {
    let authorities = ["root-ca", "other-root-ca"].map(|name| Authority::new(name, GOOD));
    let configs = authorities.each_ref().map(|one| one.issue(&[NAME], GOOD).config());
    let bundles: Arc<[Bundle]> =
        Arc::new([Bundle::from_pem("own", authorities[0].0.pem().as_bytes())]);
    let tries = async |target, tries| {
        let probe = TlsTriesProbe {
            target,
            name: Some(NAME.into()),
            tries,
            pause: Duration::from_millis(1),
            bundles: bundles.clone(),
        };
        match ask(Probe::TlsTries(probe)).await.result {
            Outcome::TlsTries(tries) => tries,
            other => panic!("{other:?}"),
        }
    };
    let two: TlsTries = tries(serve_tls(configs.into()).await, 6).await;
    assert_eq!(
        two.issuers().into_iter().collect::<Vec<_>>(),
        [("CN=other-root-ca", 3), ("CN=root-ca", 3)]
    );
    assert_eq!((two.tries, two.leaves.len(), two.without.len()), (6, 2, 0));
    assert!(two.leaves.is_sorted());
    let trusted = two.leaves.iter().filter(|leaf| leaf.trust["own"] == Trust::Trusted);
    let trusted: Vec<&str> = trusted.map(|leaf| leaf.issuer.as_str()).collect();
    assert_eq!(trusted, ["CN=root-ca"], "each is held against who is trusted");
    let (closed, _held) = support::closed().await;
    let none = tries(closed, 2).await;
    assert_eq!(none.without[0].why, NoLeaf::Unreached(Reach::Refused));
    assert_eq!((none.without[0].count, none.leaves.len()), (2, 0));
}

/// OpenSSL still makes and serves what other libraries refuse to.
#[tokio::test]
async fn a_certificate_of_version_1_is_seen_and_trusted_by_nobody() {
    if !have("openssl", "openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let openssl = |arguments: &str| {
        let mut command = std::process::Command::new("openssl");
        command.args(arguments.split(' ')).current_dir(&folder);
        command
    };
    let made = |arguments: &str| {
        let output = openssl(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    made(&format!("req -new -newkey rsa:2048 -nodes -keyout key -out request -subj /CN={NAME}"));
    made("x509 -req -in request -signkey key -days 36500 -out certificate");
    let pem = std::fs::read(folder.path().join("certificate")).unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        let port = free_port();
        let serve = format!(
            "s_server -quiet {version} -accept 127.0.0.1:{port} -key key -cert certificate"
        );
        let mut server = Server::start(&mut openssl(&serve));
        let target = Target::new("127.0.0.1", port);
        while ask(Probe::Tcp(target.clone())).await.result != Outcome::Open {
            assert!(!server.has_ended());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let tls = shown(target, NAME, vec![Bundle::from_pem("own", &pem)]).await;
        assert_eq!((tls.ended, tls.trust["own"].clone()), (None, Trust::WrongName), "{version}");
        assert_eq!(tls.leaf.unwrap().subject, format!("CN={NAME}"));
    }
}
