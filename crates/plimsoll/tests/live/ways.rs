//! Ways to the API: those that do not work are told by name, and others are tried.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Trial;
use plimsoll_live::{Proxies, Vantage};
use plimsoll_rig::{Authority, Fault, Faulty, VALID, free_port};

use crate::cluster::{Cluster, Shared, live, trial};
use crate::trouble::{base, read, reason, refused, trusting};

const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster)| {
        trial(format!("ways/{name}"), shared, move |mut cluster| {
            run(&mut cluster);
            Ok(())
        })
    };
    vec![
        with("nothing-listens", nothing_listens),
        with("nothing-answers", nothing_answers),
        with("certificates", certificates),
        with("strange-credential", strange_credential),
        with("something-else-answers", something_else_answers),
        with("control-plane-directly", control_plane_directly),
        with("kubeconfigs-of-a-master", kubeconfigs_of_a_master),
        with("nodes-that-were-named", nodes_that_were_named_are_tried),
        with("behind-a-proxy", behind_a_proxy),
    ]
}

fn nothing_listens(cluster: &mut Cluster) {
    let server = format!("https://127.0.0.1:{}", free_port().unwrap());
    assert!(reason(trusting(cluster, &server)).contains("connection refused"));
    let nowhere = reason(trusting(cluster, "https://api.nowhere.invalid:6443"));
    assert!(nowhere.contains("does not resolve"), "{nowhere}");
}

fn nothing_answers(cluster: &mut Cluster) {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("https://{}", silent.local_addr().unwrap());
    let why = reason(trusting(cluster, &server));
    assert!(why.contains("no answer"), "{why}");
}

fn certificates(cluster: &mut Cluster) {
    let own = &cluster.server.authority;
    let other = Authority::new("another-cluster").unwrap();
    let ended = own.sign(("kube-apiserver", &[]), &NAMES, (2020, 2021)).unwrap();
    let early = own.sign(("kube-apiserver", &[]), &NAMES, (2080, 2081)).unwrap();
    let misnamed = own.sign(("kube-apiserver", &[]), &["api.else.example.com"], VALID).unwrap();
    let strange = other.sign(("kube-apiserver", &[]), &NAMES, VALID).unwrap();
    for (serving, told) in [
        (ended, "has expired"),
        (early, "not valid yet"),
        (misnamed, "not for this name"),
        (strange, "authority that the kubeconfig does not trust"),
    ] {
        let proxy = Faulty::start(&cluster.server, &serving, |_| Fault::None).unwrap();
        let why = reason(trusting(cluster, &proxy.server()));
        assert!(why.contains(told), "{told}: {why}");
    }
}

fn strange_credential(cluster: &mut Cluster) {
    let other = Authority::new("another-cluster").unwrap();
    let admin = other.sign(("admin", &["system:masters"]), &[], VALID).unwrap();
    let server = &cluster.server;
    let file =
        server.kubeconfig("strange", &server.server(), &admin, &server.authority.pem).unwrap();
    let why = reason(Vantage { kubeconfig: Some(file), ..Vantage::default() });
    assert!(why.contains("does not know the credential"), "{why}");
}

fn something_else_answers(cluster: &mut Cluster) {
    let serving = cluster.server.authority.sign(("proxy", &[]), &NAMES, VALID).unwrap();
    for (fault, told) in [
        (Fault::Status(503), "the API server failed (503)"),
        (Fault::Status(502), "the API server failed (502)"),
        (Fault::Portal, "something answers there that is no API server"),
        (Fault::Cut(0), "lost in the middle"),
    ] {
        let proxy = Faulty::start(&cluster.server, &serving, move |_| fault).unwrap();
        let why = reason(trusting(cluster, &proxy.server()));
        assert!(why.contains(told), "{told}: {why}");
    }
}

fn control_plane_directly(cluster: &mut Cluster) {
    cluster.load(&base());
    let dead = format!("https://localhost:{}", free_port().unwrap());
    let endpoints = vec![
        format!("127.0.0.1:{}", free_port().unwrap()),
        format!("127.0.0.1:{}", cluster.server.port),
    ];
    let (live, _) = live(Vantage { endpoints, ..trusting(cluster, &dead) });
    assert!(!live.is_without_api());
    let why: Vec<bool> = live.attempts().iter().map(|attempt| attempt.why.is_some()).collect();
    assert_eq!(why.iter().filter(|failed| !**failed).count(), 1, "{:?}", live.attempts());
    // That the usual way is closed is news, and the only gap.
    let refused = refused(&read(&live));
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("connection refused"), "{refused:?}");
}

/// A node that was named to be read over `ssh` may be of the control plane. The port is not ours to choose,
/// so nothing answers; that it was asked is told.
fn nodes_that_were_named_are_tried(cluster: &mut Cluster) {
    let dead = format!("https://localhost:{}", free_port().unwrap());
    let nodes = vec!["127.0.0.77".into(), "no-such-host.invalid".into()];
    let (live, _) = live(Vantage { nodes, ..trusting(cluster, &dead) });
    let servers: Vec<&str> =
        live.attempts().iter().map(|attempt| attempt.server.as_str()).collect();
    assert!(servers.contains(&"https://127.0.0.77:6443"), "{servers:?}");
    assert!(!servers.iter().any(|server| server.contains("invalid")), "{servers:?}");
}

fn kubeconfigs_of_a_master(cluster: &mut Cluster) {
    let root = tempfile::TempDir::new().unwrap();
    let folder = root
        .path()
        .join("etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs");
    fs_err::create_dir_all(&folder).unwrap();
    let dead = format!("https://127.0.0.1:{}", free_port().unwrap());
    for (name, vantage) in
        [("localhost", trusting(cluster, &dead)), ("localhost-recovery", cluster.vantage())]
    {
        let file = folder.join(format!("{name}.kubeconfig"));
        fs_err::copy(vantage.kubeconfig.unwrap(), file).unwrap();
    }
    let roots = vec![root.path().to_path_buf()];
    let (live, _) = live(Vantage { roots, ..trusting(cluster, &dead) });
    let vantages: Vec<&str> =
        live.attempts().iter().map(|attempt| attempt.vantage.as_str()).collect();
    assert!(!live.is_without_api(), "{vantages:?}");
    assert_eq!(vantages.last(), Some(&"localhost-recovery.kubeconfig of this node"));
}

/// What comes for a name of the cluster is passed on to the API server, whatever the name.
fn proxy_to(port: u16) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let served = count.clone();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if client.read_exact(&mut byte).is_err() {
                    break;
                }
                head.push(byte[0]);
            }
            if !head.starts_with(b"CONNECT api.lab.example.com:6443 ") {
                continue;
            }
            served.fetch_add(1, Ordering::Relaxed);
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            crate::doors::join(client, TcpStream::connect(("127.0.0.1", port)).unwrap());
        }
    });
    (own, count)
}

/// As on a jump host: some servers are reached by a proxy alone, and others by none.
fn behind_a_proxy(cluster: &mut Cluster) {
    cluster.load(&base());
    let (port, served) = proxy_to(cluster.server.port);
    let proxies =
        |https: String, except: &str| Proxies { https: Some(https), except: except.into() };
    let far = trusting(cluster, "https://api.lab.example.com:6443");
    let by_proxy =
        Vantage { proxies: proxies(format!("127.0.0.1:{port}"), "127.0.0.0/8,"), ..far.clone() };
    let (reached, _) = live(by_proxy);
    assert!(!reached.is_without_api(), "{:?}", reached.attempts());
    assert!(refused(&read(&reached)).is_empty() && served.load(Ordering::Relaxed) > 0);
    // The one that the kubeconfig names is taken whatever the environment says.
    let named = cluster.server.folder.join("named.kubeconfig");
    let text = fs_err::read_to_string(far.kubeconfig.as_ref().unwrap()).unwrap();
    let proxy = format!("\"proxy-url\": \"http://127.0.0.1:{port}\", \"server\":");
    fs_err::write(&named, text.replace("\"server\":", &proxy)).unwrap();
    let by_name =
        Vantage { kubeconfig: Some(named), proxies: proxies("dead:1".into(), "*"), ..far };
    let (reached, _) = live(by_name);
    assert!(!reached.is_without_api(), "{:?}", reached.attempts());
    // One that is down is blamed itself, and its password stays with us.
    let dead = format!("127.0.0.1:{}", free_port().unwrap());
    let down = Vantage {
        proxies: proxies(format!("http://joe:PXFSECRET@{dead}"), ""),
        ..trusting(cluster, "https://192.0.2.10:6443")
    };
    let why = reason(down);
    let told = format!("the proxy {dead} does not answer: connection refused");
    assert!(why.starts_with(&told) && !why.contains("SECRET"), "{why}");
    // From the command line, with a proxy that does not answer and a server that is excepted.
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["diagnose", "--no-probe", "--output", "json", "--now", "2025-12-03T18:42:00Z"])
        .env("KUBECONFIG", cluster.server.admin().unwrap())
        .env("HTTPS_PROXY", format!("http://127.0.0.1:{}", free_port().unwrap()))
        .env("NO_PROXY", ".example.com,")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}
