//! Repairs on a real API server, from the plan to the end: what users type, with the operators that
//! would react played by an actor of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

#[path = "../support/mod.rs"]
mod support;

mod actor;
#[allow(dead_code, reason = "trials of readings use more of it")]
#[path = "../live/cluster.rs"]
mod cluster;
mod machine_network;
mod site;

use libtest_mimic::Arguments;

fn main() {
    let arguments = Arguments::from_args();
    let cluster = cluster::shared();
    let trials = machine_network::trials(&cluster);
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(cluster);
    conclusion.exit();
}
