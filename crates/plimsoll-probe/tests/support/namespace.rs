//! Networks of machines that are none: network namespaces on a bridge.

use std::process::Command;

use super::real::{have, may_skip};

const INSIDE: &str = "PLIMSOLL_TEST_INSIDE";

/// Runs the test of this name again, in a namespace of its own and with its own `/run`, so that all
/// it makes is gone when it ends, however it ends. True in there, and false out here.
pub fn in_own_network(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if !have("iproute2", "ip") || !have("util-linux", "unshare") {
        return false;
    }
    let own = ["--net", "--mount", "--propagation", "private"];
    let may = Command::new("unshare").args(own).arg("true").output();
    if !may.is_ok_and(|output| output.status.success()) {
        return may_skip("network namespaces take root");
    }
    let again = "mount -t tmpfs none /run && exec \"$0\" --exact --nocapture \"$1\"";
    let output = Command::new("unshare")
        .args(own)
        .args(["sh", "-ec", again])
        .arg(std::env::current_exe().unwrap())
        .arg(test)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
    false
}

pub fn sh(script: &str) {
    let status = Command::new("sh").args(["-ec", script]).status().unwrap();
    assert!(status.success(), "{script}");
}
