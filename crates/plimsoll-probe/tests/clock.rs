//! Time from chronyd, and from servers that lie.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use plimsoll_model::Time;
use plimsoll_probe::{
    Clock, NoClock, NtpProbe, Outcome, Patience, Plan, Probe, Reach, Target, run,
};
use support::real::{Server, free_port, have};
use support::{LONG, ask, ask_within};
use tokio::net::UdpSocket;

fn probe(server: SocketAddr) -> Probe {
    Probe::Ntp(NtpProbe { target: Target::new(server.ip().to_string(), server.port()) })
}

#[expect(clippy::disallowed_methods, reason = "chronyd serves the time of this machine")]
fn hour_ago() -> Time {
    Time::now() - jiff::SignedDuration::from_hours(1)
}

async fn ask_hour_ago(server: SocketAddr) -> Outcome {
    let plan = Plan { probes: vec![probe(server)], at_once: 1 };
    let patience = Patience { probe: Duration::from_secs(2), budget: LONG };
    run(&plan, patience, "workstation", hour_ago).await.remove(0).result
}

/// Until it answers at all.
async fn chronyd(extra: &str) -> (Server, tempfile::TempDir, Outcome) {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let server = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let config = format!(
            "port {}\nbindaddress 127.0.0.1\nallow 127.0.0.1\ncmdport 0\n\
             bindcmdaddress /\npidfile {}/pid\n{extra}\n",
            server.port(),
            folder.path().display()
        );
        let path = folder.path().join("chrony.conf");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new("chronyd");
        command.args(["-x", "-d", "-u", "root", "-f"]).arg(path);
        let mut process = Server::start(&mut command);
        for _ in 0..600 {
            match ask_hour_ago(server).await {
                Outcome::Unreached { .. } if process.has_ended() => break,
                Outcome::Unreached { .. } => tokio::time::sleep(Duration::from_millis(50)).await,
                outcome => return (process, folder, outcome),
            }
        }
    }
    panic!("chronyd does not start");
}

#[tokio::test]
async fn chronyd_tells_how_far_we_are_behind() {
    if !have("chrony", "chronyd") {
        return;
    }
    let (_server, _folder, outcome) = chronyd("local stratum 10").await;
    let Outcome::Clock(clock) = outcome else { panic!("{outcome:?}") };
    assert!((clock.offset_seconds - 3600.0).abs() < 3.0, "{clock:?}");
    assert_eq!((clock.stratum, clock.reference.as_deref()), (Some(10), Some("127.127.1.1")));
}

#[tokio::test]
async fn chronyd_without_a_source_says_so() {
    if !have("chrony", "chronyd") {
        return;
    }
    let (_server, _folder, outcome) = chronyd("").await;
    assert_eq!(outcome, Outcome::NoClock { why: NoClock::NotSynchronised });
}

/// Ten seconds ahead of the time of the tests, after these changes.
async fn fake(changes: Vec<fn(&mut [u8; 48])>) -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut request = [0; 48];
        while let Ok((_, from)) = socket.recv_from(&mut request).await {
            let seconds = support::now().as_second() + 2_208_988_800 + 10;
            let seconds = u32::try_from(seconds).unwrap().to_be_bytes();
            let mut reply = [0; 48];
            (reply[0], reply[1]) = (4 << 3 | 4, 1);
            reply[12..15].copy_from_slice(b"PPS");
            reply[24..32].copy_from_slice(&request[40..48]);
            reply[32..36].copy_from_slice(&seconds);
            reply[40..44].copy_from_slice(&seconds);
            for change in &changes {
                let mut reply = reply;
                change(&mut reply);
                let _ = socket.send_to(&reply, from).await;
            }
        }
    });
    address
}

#[tokio::test]
async fn a_server_that_lies_is_seen_through() {
    let of = async |changes| ask(probe(fake(changes).await)).await.result;
    let no_clock = |why| Outcome::NoClock { why };
    let forged_first: Vec<fn(&mut [u8; 48])> = vec![|reply| reply[31] ^= 1, |_| {}];
    let Outcome::Clock(Clock { offset_seconds, reference, .. }) = of(forged_first).await else {
        panic!()
    };
    assert!((offset_seconds - 10.0).abs() < 5.0, "{offset_seconds}");
    assert_eq!(reference.as_deref(), Some("PPS"));
    let kiss: Vec<fn(&mut [u8; 48])> = vec![|reply| {
        reply[1] = 0;
        reply[12..16].copy_from_slice(b"DENY");
    }];
    assert_eq!(of(kiss).await, no_clock(NoClock::Kiss("DENY".into())));
    assert_eq!(of(vec![|reply| reply[0] |= 0xc0]).await, no_clock(NoClock::NotSynchronised));
    let client: Vec<fn(&mut [u8; 48])> = vec![|reply| reply[0] = 4 << 3 | 3];
    assert!(matches!(of(client).await, Outcome::NoClock { why: NoClock::Nonsense(_) }));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_no_clock() {
    let mute = fake(vec![]).await;
    let answer = ask_within(probe(mute), Duration::from_millis(200)).await;
    assert_eq!(answer.result, Outcome::Unreached { why: Reach::TimedOut });
}
