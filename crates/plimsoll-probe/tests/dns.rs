//! Questions to dnsmasq and PowerDNS, and to resolvers that lie or fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use plimsoll_probe::{
    DnsProbe, NameOf, Node, Outcome, Probe, Question, Reach, Resolver, Said, cluster_names,
};
use support::real::{Server, free_port, have};
use support::{ask, ask_within};
use tokio::net::UdpSocket;

const DOMAIN: &str = "lab.example.com";

fn probe(resolver: SocketAddr, question: Question) -> Probe {
    Probe::Dns(DnsProbe { question, resolver: Resolver::At(resolver) })
}

async fn said(resolver: SocketAddr, question: Question) -> Said {
    match ask(probe(resolver, question)).await.result {
        Outcome::Dns { said, .. } => said,
        other => panic!("{other:?}"),
    }
}

fn a(host: &str) -> Question {
    Question::A(format!("{host}.{DOMAIN}"))
}

fn addresses(addresses: &[&str]) -> Said {
    Said::Addresses(addresses.iter().map(|address| address.parse().unwrap()).collect())
}

/// Waits until it answers. A port that somebody else took in the meantime is given up.
async fn start(command: impl Fn(u16) -> Command) -> (Server, SocketAddr) {
    for _ in 0..5 {
        let port = free_port();
        let resolver = SocketAddr::from(([127, 0, 0, 1], port));
        let mut server = Server::start(&mut command(port));
        for _ in 0..600 {
            let answer = ask_within(probe(resolver, a("api")), Duration::from_millis(500)).await;
            if matches!(answer.result, Outcome::Dns { said: Said::Addresses(_), .. }) {
                return (server, resolver);
            }
            if server.has_ended() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    panic!("the resolver does not start");
}

#[tokio::test]
async fn dnsmasq_answers_for_a_cluster() {
    if !have("dnsmasq-base", "dnsmasq") {
        return;
    }
    let (_server, resolver) = start(|port| {
        let mut command = Command::new("dnsmasq");
        command
            .args(["-k", "-C", "/dev/null", "--no-resolv", "--no-hosts", "--bind-interfaces"])
            .args(["--pid-file", "--user=root", "--listen-address=127.0.0.1"])
            .arg(format!("--port={port}"))
            .arg(format!("--local=/{DOMAIN}/"))
            .arg(format!("--host-record=api.{DOMAIN},192.0.2.5,2001:db8::5"))
            .arg(format!("--host-record=master-0.{DOMAIN},192.0.2.10"))
            .arg(format!("--address=/apps.{DOMAIN}/192.0.2.6"));
        for number in 1..=60 {
            command.arg(format!("--host-record=many.{DOMAIN},192.0.2.{number}"));
        }
        command
    })
    .await;
    let address: IpAddr = "192.0.2.10".parse().unwrap();
    let node = Node { name: format!("master-0.{DOMAIN}"), addresses: vec![address] };
    let of_node = NameOf::Node(node.name.clone());
    let mut found = Vec::new();
    for name in cluster_names(DOMAIN, &[node], "x7f3") {
        found.push((name.of, said(resolver, name.question).await));
    }
    // Versions of dnsmasq differ in what they say of the other family of a wildcard.
    let other_family = found.remove(5);
    assert!(
        matches!(other_family, (NameOf::Apps, Said::NoData | Said::Nxdomain)),
        "{other_family:?}"
    );
    let name = Said::Names(vec![format!("master-0.{DOMAIN}")]);
    assert_eq!(
        found,
        [
            (NameOf::Api, addresses(&["192.0.2.5"])),
            (NameOf::Api, addresses(&["2001:db8::5"])),
            (NameOf::ApiInternal, Said::Nxdomain),
            (NameOf::ApiInternal, Said::Nxdomain),
            (NameOf::Apps, addresses(&["192.0.2.6"])),
            (NameOf::Nobody, Said::Nxdomain),
            (NameOf::Nobody, Said::Nxdomain),
            (of_node.clone(), addresses(&["192.0.2.10"])),
            (of_node.clone(), Said::NoData),
            (of_node, name),
        ]
    );
    assert_eq!(said(resolver, Question::A("api.elsewhere.test".into())).await, Said::Refused);
    let Said::Addresses(many) = said(resolver, a("many")).await else { panic!() };
    assert_eq!(many.len(), 60, "too long for UDP, so it came by TCP");
    assert!(many.is_sorted());
    let answer = ask(probe(resolver, a("api"))).await;
    assert_eq!(answer.id, format!("dns/api.{DOMAIN}/a/{resolver}"));
    assert_eq!((answer.target, answer.address), (format!("api.{DOMAIN}"), Some(resolver.ip())));
}

#[tokio::test]
async fn powerdns_answers_with_a_wildcard_that_it_should_not_have() {
    if !have("pdns-server pdns-backend-bind", "pdns_server") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let zone = "$TTL 60\n@ SOA ns hostmaster 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\n\
                api A 192.0.2.5\n* A 192.0.2.99\n";
    std::fs::write(folder.path().join("zone"), zone).unwrap();
    let path = folder.path().display();
    let named = format!("zone \"{DOMAIN}\" {{ type master; file \"{path}/zone\"; }};\n");
    std::fs::write(folder.path().join("named.conf"), named).unwrap();
    let (_server, resolver) = start(|port| {
        let mut command = Command::new("pdns_server");
        command
            .args(["--no-config", "--launch=bind", "--local-address=127.0.0.1"])
            .args(["--daemon=no", "--guardian=no", "--write-pid=no"])
            .arg(format!("--local-port={port}"))
            .arg(format!("--bind-config={path}/named.conf"))
            .arg(format!("--socket-dir={path}"));
        command
    })
    .await;
    assert_eq!(said(resolver, a("x7f3")).await, addresses(&["192.0.2.99"]));
    assert_eq!(said(resolver, Question::Aaaa(format!("api.{DOMAIN}"))).await, Said::NoData);
    assert_eq!(said(resolver, Question::A("api.elsewhere.test".into())).await, Said::Refused);
}

/// A resolver that answers each question by these changes of it, one packet for each.
async fn fake(changes: Vec<fn(&mut Vec<u8>)>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            for change in &changes {
                let mut reply = buffer[..length].to_vec();
                reply[2] |= 0x80;
                change(&mut reply);
                let _ = socket.send_to(&reply, from).await;
            }
        }
    });
    address
}

#[tokio::test]
async fn a_resolver_that_fails_or_lies_is_seen_through() {
    let failing = fake(vec![|reply| reply[3] = 2]).await;
    assert_eq!(said(failing, a("api")).await, Said::Servfail);
    let odd = fake(vec![|reply| reply[3] = 4]).await;
    assert_eq!(said(odd, a("api")).await, Said::Rcode(4));
    let forged_first: Vec<fn(&mut Vec<u8>)> =
        vec![|reply| reply[0] ^= 1, |reply| reply[13] ^= 1, |reply| reply.truncate(1), |reply| {
            reply[3] = 3
        }];
    assert_eq!(said(fake(forged_first).await, a("api")).await, Said::Nxdomain);
    let broken = fake(vec![|reply| reply.truncate(13)]).await;
    assert_eq!(said(broken, a("api")).await, Said::Nonsense);
}

#[tokio::test]
async fn a_resolver_that_is_not_there_is_no_answer() {
    let why = async |resolver: SocketAddr| {
        let limit = Duration::from_millis(300);
        match ask_within(probe(resolver, a("api")), limit).await.result {
            Outcome::Unreached { why } => why,
            other => panic!("{other:?}"),
        }
    };
    let silent = fake(vec![]).await;
    assert_eq!(why(silent).await, Reach::TimedOut);
    let unused = std::net::UdpSocket::bind("127.0.0.3:0").unwrap().local_addr().unwrap();
    assert_eq!(why(unused).await, Reach::Refused);
}
