//! Two machines with one address, as network namespaces on a bridge.
//!
//! The test runs itself again in a namespace of its own, with its own `/run`, so that all it makes
//! is gone when it ends, however it ends.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_probe::{NeighbourProbe, Neighbours, Outcome, Probe, Reach, Target};
use support::real::{have, may_skip};
use support::{ask, ask_within};

const INSIDE: &str = "PLIMSOLL_TEST_INSIDE";
const TEST: &str = "two_machines_with_one_address_are_seen";

fn sh(script: &str) {
    let status = Command::new("sh").args(["-ec", script]).status().unwrap();
    assert!(status.success(), "{script}");
}

#[test]
fn two_machines_with_one_address_are_seen() {
    if std::env::var_os(INSIDE).is_some() {
        return inside();
    }
    if !have("iproute2", "ip")
        || !have("iputils-arping", "arping")
        || !have("util-linux", "unshare")
    {
        return;
    }
    let own = ["--net", "--mount", "--propagation", "private"];
    let may = Command::new("unshare").args(own).arg("true").output();
    if !may.is_ok_and(|output| output.status.success()) {
        may_skip("network namespaces take root");
        return;
    }
    let again = "mount -t tmpfs none /run && exec \"$0\" --exact --nocapture \"$1\"";
    let output = Command::new("unshare")
        .args(own)
        .args(["sh", "-ec", again])
        .arg(std::env::current_exe().unwrap())
        .arg(TEST)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
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
