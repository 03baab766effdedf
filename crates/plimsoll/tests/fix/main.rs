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
    cluster::keep_half(&mut trials);
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(cluster);
    conclusion.exit();
}
