//! A script on a node. Names, contents and the script itself go in over stdin: nothing of them is ever
//! part of a command line, where a shell would read it and everybody on the node could see it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Node, complaints, why};

/// Takes arguments line by line and then the script, and runs it. What follows on stdin is the script's.
/// It has to do without single quotes.
const START: &str = r#"IFS= read -r count || exit 97; set --; while [ "$count" -gt 0 ]; do IFS= read -r one || exit 97; set -- "$@" "$one"; count=$((count - 1)); done; IFS= read -r size || exit 97; script=$(head -c "$size"); eval "$script""#;
/// As root where that is possible without a password; else as far as the rights go.
const AS_ROOT: &str = "if sudo -n true < /dev/null 2> /dev/null; then exec sudo -n sh -c \"$start\"; else exec sh -c \"$start\"; fi";
/// Of what a script may say.
const LARGEST: u64 = 32 << 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// What a script said. It may hold what nobody else may see, so it cannot be shown.
pub struct Output {
    pub stdout: Vec<u8>,
    /// Its last complaint, in one line that may be shown.
    pub complaint: String,
    /// None if it was killed.
    pub status: Option<i32>,
}

/// The node did not answer, or not in time. What was asked may have been done or not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unanswered(pub String);

impl Node {
    /// Runs a script there, as root where that is possible, and waits for it.
    pub fn run(
        &self,
        script: &str,
        arguments: &[&str],
        stdin: &[u8],
        limit: Duration,
    ) -> Result<Output, Unanswered> {
        let end = Instant::now() + limit;
        let mut child = self.start(script, arguments, stdin)?;
        let late = || Unanswered(format!("no answer within {} s", limit.as_secs()));
        // In threads that are not waited for, as in `read`.
        let (said, hear) = mpsc::channel();
        let stdout = child.stdout.take();
        let told = said.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.map(|out| out.take(LARGEST + 1).read_to_end(&mut bytes));
            drop(read);
            told.send(Said::Bytes(bytes))
        });
        let stderr = child.stderr.take();
        std::thread::spawn(move || said.send(Said::Complaints(complaints(stderr))));
        let (mut bytes, mut text) = (None, None);
        while bytes.is_none() || text.is_none() {
            match hear.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Said::Bytes(all)) => bytes = Some(all),
                Ok(Said::Complaints(all)) => text = Some(all),
                Err(_) => {
                    stop(&mut child);
                    return Err(late());
                }
            }
        }
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status.code(),
                Ok(None) if Instant::now() < end => std::thread::sleep(BETWEEN_LOOKS),
                _ => {
                    stop(&mut child);
                    return Err(late());
                }
            }
        };
        let stdout = bytes.unwrap_or_default();
        if stdout.len() as u64 > LARGEST {
            return Err(Unanswered("it said more than any node has to say".into()));
        }
        let complaint = why(&text.unwrap_or_default());
        // 255 is what `ssh` itself ends with, and 97 a script that did not get there whole.
        match (self, status) {
            (Node::Ssh { .. }, Some(255)) | (_, Some(97)) => Err(Unanswered(complaint)),
            _ => Ok(Output { stdout, complaint, status }),
        }
    }

    /// The script has begun; its stdin is written behind the back of the caller.
    pub(super) fn start(
        &self,
        script: &str,
        arguments: &[&str],
        stdin: &[u8],
    ) -> Result<Child, Unanswered> {
        if arguments.iter().any(|argument| argument.contains(['\n', '\0'])) {
            return Err(Unanswered("a name has a line break in it".into()));
        }
        let mut child =
            self.command().spawn().map_err(|error| Unanswered(plimsoll_sources::plain(&error)))?;
        let mut sent = format!("{}\n", arguments.len()).into_bytes();
        for argument in arguments {
            sent.extend_from_slice(argument.as_bytes());
            sent.push(b'\n');
        }
        sent.extend_from_slice(format!("{}\n{script}", script.len()).as_bytes());
        sent.extend_from_slice(stdin);
        if let Some(input) = child.stdin.take() {
            std::thread::spawn(move || send(input, &sent));
        }
        Ok(child)
    }

    fn command(&self) -> Command {
        let mut command = match self {
            Node::Here { root } if root == Path::new("/") => {
                let mut command = Command::new("sh");
                command.args(["-c", START]);
                command
            }
            Node::Here { root } => {
                let mut command = Command::new("chroot");
                command.arg(root).args(["sh", "-c", START]);
                command
            }
            Node::Ssh { destination } => {
                let mut command = Command::new("ssh");
                command
                    .args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"])
                    .args(["-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"])
                    .args(["--", destination, &format!("start='{START}'; {AS_ROOT}")]);
                command
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
    }
}

enum Said {
    Bytes(Vec<u8>),
    Complaints(String),
}

/// A script that ends early reads no more; that is no fault of the sender's.
fn send(mut input: ChildStdin, bytes: &[u8]) {
    let _ = input.write_all(bytes);
}

/// The shell and what it started.
pub(super) fn stop(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = child.kill();
    }
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn here() -> Node {
        Node::Here { root: PathBuf::from("/") }
    }

    #[test]
    fn arguments_and_stdin_arrive_as_they_are() {
        let odd = "a'b\"c $(touch /tmp/never) `id` \\ *";
        let script = "printf '%s\\n' \"$#\" \"$@\"\ncat\nexit 7";
        let content = [0, 159, 146, 150, b'\n', b'x'];
        let output = here().run(script, &[odd, "", " two  words "], &content, LIMIT).unwrap();
        let mut expected = format!("3\n{odd}\n\n two  words \n").into_bytes();
        expected.extend_from_slice(&content);
        assert_eq!(output.stdout, expected);
        assert_eq!(output.status, Some(7));
    }

    #[test]
    fn a_name_with_a_line_break_is_not_sent_and_a_script_without_end_is_stopped() {
        assert!(here().run("true", &["a\nrm"], &[], LIMIT).is_err());
        let begun = Instant::now();
        let late = here().run("sleep 300", &[], &[], Duration::from_secs(1));
        assert!(late.is_err_and(|late| late.0.contains("within 1 s")));
        assert!(begun.elapsed() < LIMIT);
    }
}
