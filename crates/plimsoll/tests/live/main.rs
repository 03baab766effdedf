//! A real API server with the objects of the cases in it, read as a user's cluster would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

#[path = "../support/mod.rs"]
mod support;

#[allow(dead_code, reason = "tests of probes use more of it")]
#[path = "../../../plimsoll-probe/tests/support/namespace.rs"]
mod namespace;
#[allow(dead_code, reason = "tests of probes use more of it")]
#[path = "../../../plimsoll-probe/tests/support/real.rs"]
mod real;

mod beside;
mod captured;
mod cluster;
mod doors;
mod equal;
mod omc;
mod probes;
mod real_kubelet;
mod sources;
mod trouble;
mod ways;

use libtest_mimic::{Arguments, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let cluster = cluster::shared();
    let mut trials: Vec<Trial> = trouble::trials(&cluster);
    trials.extend(ways::trials(&cluster));
    trials.extend(captured::trials(&cluster));
    trials.extend(omc::trials(&cluster));
    trials.extend(beside::trials(&cluster));
    trials.extend(equal::trials(&cluster));
    trials.extend(real_kubelet::trials());
    trials.extend(probes::trials());
    trials.extend(sources::trials(&cluster));
    cluster::keep_half(&mut trials);
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Programs that were started end with it.
    drop(cluster);
    conclusion.exit();
}
