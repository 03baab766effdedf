//! Two machines with one address, as network namespaces on a bridge.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_probe::{NeighbourProbe, Neighbours, Outcome, Probe, Reach, Target};
use support::namespace::{in_own_network, sh};
use support::real::have;
use support::{ask, ask_within};

#[test]
fn two_machines_with_one_address_are_seen() {
    if have("iputils-arping", "arping") && in_own_network("two_machines_with_one_address_are_seen")
    {
        inside();
    }
}

fn inside() {
    sh("ip link set lo up
        ip link add br0 type bridge
        ip link set br0 up
        ip addr add 10.77.0.100/24 dev br0
        for number in 1 2 3; do
          ip netns add n$number
          ip link add v$number type veth peer name e$number
          ip link set e$number netns n$number
          ip link set v$number master br0 up
          ip -n n$number link set e$number address 52:54:00:00:00:0$number up
        done
        ip -n n1 addr add 10.77.0.5/24 dev e1
        ip -n n2 addr add 10.77.0.5/24 dev e2
        ip -n n3 addr add 10.77.0.6/24 dev e3");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let alone = seen("10.77.0.6", 3).await;
        assert_eq!(macs(&alone), ["52:54:00:00:00:03"]);
        assert!(!alone.conflict() && alone.tries == 3 && alone.seen[0].count == 3);
        assert!(seen("10.77.0.7", 1).await.seen.is_empty(), "nobody has this address");
        for (nobody, why) in [("10.77.0.7", "on the link"), ("203.0.113.1", "behind no router")] {
            let outcome = ask(Probe::Tcp(Target::new(nobody, 6443))).await.result;
            assert_eq!(outcome, Outcome::Unreached { why: Reach::NoRoute }, "{why}");
        }
        // Both of them announce themselves, as machines do when they start or get a lease.
        let over = Arc::new(AtomicBool::new(false));
        let until = over.clone();
        let announcing = tokio::task::spawn_blocking(move || {
            for number in [1, 2].into_iter().cycle().take_while(|_| !until.load(Ordering::SeqCst)) {
                let announce = format!("arping -q -U -c 1 -w 1 -I e{number} 10.77.0.5");
                sh(&format!("ip netns exec n{number} {announce} || true"));
            }
        });
        let both = seen("10.77.0.5", 100).await;
        over.store(true, Ordering::SeqCst);
        announcing.await.unwrap();
        assert_eq!(macs(&both), ["52:54:00:00:00:01", "52:54:00:00:00:02"]);
        assert!(both.conflict());
    });
}

fn macs(neighbours: &Neighbours) -> Vec<&str> {
    neighbours.seen.iter().map(|seen| seen.mac.as_str()).collect()
}

async fn seen(address: &str, tries: u32) -> Neighbours {
    let address = address.parse().unwrap();
    let pause = Duration::from_millis(200);
    let probe = NeighbourProbe { address, touch: 6443, tries, pause, forget: tries == 3 };
    match ask_within(Probe::Neighbour(probe), Duration::from_secs(4)).await.result {
        Outcome::Neighbours(neighbours) => neighbours,
        other => panic!("{other:?}"),
    }
}
