//! Repairs on a real API server, from the plan to the end: what users type, with the operators that
//! would react played by an actor of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

#[path = "../support/mod.rs"]
mod support;

mod actor;
mod bmcs;
#[allow(dead_code, reason = "trials of readings use more of it")]
#[path = "../live/cluster.rs"]
mod cluster;
mod control;
mod faults;
mod glass;
mod handshake;
mod hosts;
mod identity;
mod machine_network;
mod mcs;
mod objects;
mod pools;
mod repair;
mod requests;
mod site;
mod webhooks;

use libtest_mimic::Arguments;

/// `1/2` or `2/2`: the trials take turns on one server, and two may run at once.
#[expect(clippy::disallowed_methods, reason = "who runs the tests says how")]
fn half() -> Option<String> {
    std::env::var("PLIMSOLL_HALF").ok()
}

fn main() {
    let arguments = Arguments::from_args();
    let cluster = cluster::shared();
    let mut trials = machine_network::trials(&cluster);
    for repairs in [
        control::REPAIRS,
        hosts::REPAIRS,
        mcs::REPAIRS,
        pools::REPAIRS,
        requests::REPAIRS,
        webhooks::REPAIRS,
    ] {
        trials.extend(repair::trials(&cluster, repairs));
    }
    trials.extend(bmcs::trials(&cluster));
    trials.extend(mcs::trials(&cluster));
    trials.extend(webhooks::trials(&cluster));
    trials.extend(faults::trials(&cluster));
    trials.extend(glass::trials());
    trials.extend(identity::trials());
    if let Some(half) = half() {
        let mut turn = 0;
        trials.retain(|trial| {
            // There is one real kubelet at a time, and those take as long as a third of the others.
            let is_first = trial.name().contains("real-kubelet") || {
                turn += 1;
                turn % 3 == 0
            };
            is_first == (half == "1/2")
        });
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(cluster);
    conclusion.exit();
}
