//! Requests of kubelets and the health of a cluster, on a real API server: who asks is decided by real
//! client certificates, and what is approved by real rights.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

#[path = "../support/mod.rs"]
mod support;

mod cluster;
mod requests;
mod verify;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let cluster = cluster::shared();
    let mut trials: Vec<Trial> = requests::trials(&cluster);
    trials.extend(verify::trials(&cluster));
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Programs that were started end with it.
    drop(cluster);
    conclusion.exit();
}
