//! Addresses that somebody has and that nobody has, as network namespaces on a bridge.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::time::Duration;

use plimsoll_probe::{Echo, Outcome, PortSaid, Probe, Reach, Silence, SilentProbe, Way};
use support::ask_within;
use support::namespace::{in_own_network, sh};
use support::real::have;

#[test]
fn who_has_an_address_is_heard() {
    if have("iputils-ping", "ping") && in_own_network("who_has_an_address_is_heard") {
        inside();
    }
}

fn inside() {
    // The second has no way back to us: it is heard on the link and nowhere else.
    sh("ip link set lo up
        ip link add br0 type bridge
        ip link set br0 up
        ip addr add 10.77.0.100/24 dev br0
        ip addr add fd77::100/64 dev br0 nodad
        for number in 1 2; do
          ip netns add n$number
          ip link add v$number type veth peer name e$number
          ip link set e$number netns n$number
          ip link set v$number master br0 up
          ip -n n$number link set e$number address 52:54:00:00:00:0$number up
        done
        ip -n n1 addr add 10.77.0.5/24 dev e1
        ip -n n1 addr add fd77::5/64 dev e1 nodad
        ip -n n2 addr add 10.77.0.6/32 dev e2
        ip neigh replace 10.77.0.8 lladdr 52:54:00:00:00:08 nud stale dev br0");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let _open = tokio::net::TcpListener::bind("10.77.0.100:6443").await.unwrap();
        let (there, six, mute, nobody, old, own, nowhere) = tokio::join!(
            heard("10.77.0.5"),
            heard("fd77::5"),
            heard("10.77.0.6"),
            heard("10.77.0.7"),
            heard("10.77.0.8"),
            heard("10.77.0.100"),
            heard("203.0.113.1"),
        );
        for (silence, mac) in [(&there, "01"), (&six, "01"), (&mute, "02")] {
            assert!(silence.heard(), "{silence:?}");
            assert_eq!(silence.way, Way::Link("br0".into()));
            let [neighbour] = &silence.neighbours[..] else { panic!("{silence:?}") };
            assert_eq!(neighbour.mac, format!("52:54:00:00:00:{mac}"));
            assert_eq!(neighbour.state, "REACHABLE");
        }
        for silence in [&there, &six] {
            assert!(
                silence.ports.iter().all(|tried| tried.said == PortSaid::Refused),
                "{silence:?}"
            );
            assert_eq!((silence.ports.len(), silence.echo), (4, Echo::Answered));
        }
        let timed_out = PortSaid::Nothing(Reach::TimedOut);
        assert!(mute.ports.iter().all(|tried| tried.said == timed_out), "{mute:?}");
        assert_eq!(mute.echo, Echo::Nothing);
        for silence in [&nobody, &old] {
            assert!(!silence.heard() && silence.neighbours.is_empty(), "{silence:?}");
            let no_route = PortSaid::Nothing(Reach::NoRoute);
            assert!(silence.ports.iter().all(|tried| tried.said == no_route), "{silence:?}");
        }
        assert!(own.heard() && own.way == Way::Own);
        assert_eq!(own.ports[3].said, PortSaid::Open);
        assert_eq!((nowhere.heard(), nowhere.way), (false, Way::Nowhere));
    });
}

async fn heard(address: &str) -> Silence {
    let probe = Probe::Silent(SilentProbe { address: address.parse().unwrap() });
    assert_eq!(probe.id(), format!("silent/{address}"));
    let answer = ask_within(probe, Duration::from_secs(15)).await;
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(serde_json::from_str::<plimsoll_probe::Answer>(&text).unwrap(), answer);
    match answer.result {
        Outcome::Silence(silence) => silence,
        other => panic!("{other:?}"),
    }
}
