//! Real servers, from packages of the distribution.

#![expect(clippy::print_stderr, reason = "a test that did not run says so")]

use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Whether the test can be run. It fails where the tool cannot be had, unless the one who runs it
/// has said that it may be left out.
pub fn have(packages: &str, binary: &str) -> bool {
    let found = || {
        let search = Command::new("sh").args(["-c", "command -v \"$0\"", binary]).output();
        search.is_ok_and(|output| output.status.success())
    };
    if found() {
        return true;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/real/apt.sh");
    let installed = Command::new(script).args(packages.split(' ')).status();
    if installed.is_ok_and(|status| status.success()) && found() {
        return true;
    }
    may_skip(&format!("{binary} is missing, and {packages} could not be installed"))
}

/// Always false, if it returns.
pub fn may_skip(why: &str) -> bool {
    let skip = std::env::var_os("PLIMSOLL_SKIP_REAL").is_some_and(|value| value == "1");
    assert!(skip, "{why}; PLIMSOLL_SKIP_REAL=1 leaves such tests out");
    eprintln!("skipped: {why}");
    false
}

/// A port that was free a moment ago, for servers that cannot choose one themselves.
pub fn free_port() -> u16 {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Ends with the test.
pub struct Server(Child);

impl Server {
    pub fn start(command: &mut Command) -> Self {
        Self(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
