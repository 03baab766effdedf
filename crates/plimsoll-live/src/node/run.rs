//! A script on a node. Names, contents and the script itself go in over stdin: nothing of them is ever
//! part of a command line, where a shell would read it and everybody on the node could see it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
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
/// How long complaints may come after the end of the output.
const LAST_WORDS: Duration = Duration::from_secs(1);
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
        let listen = |stdout: ChildStdout, _: &mut dyn FnMut(()) -> bool| {
            let mut bytes = Vec::new();
            let _ = stdout.take(LARGEST + 1).read_to_end(&mut bytes);
            bytes
        };
        let heard = hear(&mut child, end, listen, |()| true);
        let Some(stdout) = heard.end else {
            stop(&mut child);
            return Err(late());
        };
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
        if stdout.len() as u64 > LARGEST {
            return Err(Unanswered("it said more than any node has to say".into()));
        }
        let complaint = why(&heard.complaints);
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

enum Said<Part, End> {
    Part(Part),
    End(End),
    Complaints(String),
}

pub(super) struct Heard<End> {
    /// Nothing where the time was over before it, or nobody wanted more.
    pub end: Option<End>,
    pub complaints: String,
}

/// Hears a child out: what `listen` makes of its output goes to `take`, part by part.
///
/// In threads that are not waited for: a command on a dead disk ends for nobody and holds its output open,
/// and an `ssh` that others share goes on behind the one that was asked for, with its complaints open.
pub(super) fn hear<Part: Send + 'static, End: Send + 'static>(
    child: &mut Child,
    mut until: Instant,
    listen: impl FnOnce(ChildStdout, &mut dyn FnMut(Part) -> bool) -> End + Send + 'static,
    mut take: impl FnMut(Part) -> bool,
) -> Heard<End> {
    // Each part waits for the one before it to be taken.
    let (said, hear) = mpsc::sync_channel(1);
    if let Some(stdout) = child.stdout.take() {
        let said = said.clone();
        std::thread::spawn(move || {
            let end = listen(stdout, &mut |part| said.send(Said::Part(part)).is_ok());
            let _ = said.send(Said::End(end));
        });
    }
    let stderr = child.stderr.take();
    std::thread::spawn(move || said.send(Said::Complaints(complaints(stderr))));
    let (mut end, mut text) = (None, None);
    while end.is_none() || text.is_none() {
        match hear.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Said::Part(part)) => {
                if !take(part) {
                    break;
                }
            }
            Ok(Said::End(reached)) => {
                end = Some(reached);
                until = until.min(Instant::now() + LAST_WORDS);
            }
            Ok(Said::Complaints(all)) => text = Some(all),
            Err(_) => break,
        }
    }
    Heard { end, complaints: text.unwrap_or_default() }
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

    /// As an `ssh` does that stays behind for the next one (`ControlPersist`).
    #[test]
    fn who_holds_the_complaints_open_is_not_waited_for() {
        let begun = Instant::now();
        let script = "sleep 20 > /dev/null < /dev/null &\necho done";
        let output = here().run(script, &[], &[], LIMIT).unwrap();
        assert_eq!((output.stdout.as_slice(), output.status), (&b"done\n"[..], Some(0)));
        assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
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
