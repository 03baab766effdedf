//! Every exit code, in one place. They are a contract with scripts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A file that is being written: half of it is worth nothing.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

type Cleanup = Box<dyn FnOnce() + Send>;
/// What has to be put right elsewhere.
static CLEANUP: Mutex<Option<Cleanup>> = Mutex::new(None);

/// How a command ended when it did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 0: healthy, nothing to say.
    Fine,
    /// 1: root causes were found.
    Found,
    /// 3: not provable from this data, or not all of it could be read.
    NotProvable,
    /// 4: the plan is not true any more.
    Stale,
    /// 5: a guard, a right or a lock does not allow it.
    Refused,
    /// 130: somebody asked it to stop, and it did so in order.
    Interrupted,
}

/// How a command ended when it could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// 2: the call makes no sense as it is.
    Usage(String),
    /// 66: an input that cannot be read; names it and says why.
    Unreadable(String),
    /// 70: a fault of our own.
    Internal(anyhow::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Unreadable(message) => f.write_str(message),
            Failure::Internal(error) => write!(f, "internal fault: {error:#}"),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Internal(error)
    }
}

/// While something is being changed, the first Ctrl-C only asks.
static CHANGING: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);

/// From here on, or from here on no more, a step is finished before the program ends.
pub fn changing(is: bool) {
    CHANGING.store(is, Ordering::SeqCst);
}

/// Somebody wants it to end.
pub fn is_asked_to_stop() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Notes what has to go when the program is interrupted; `None` when it is done.
pub fn unfinished(file: Option<&Path>) {
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = file.map(Path::to_path_buf);
}

/// What is done before an interrupted program ends; `None` when there is nothing to do any more.
pub fn on_interrupt(cleanup: Option<Cleanup>) {
    *CLEANUP.lock().unwrap_or_else(PoisonError::into_inner) = cleanup;
}

/// 130: Ctrl-C, and so 143 and 129 for TERM and HUP, after what is unfinished was taken away and what was started
/// was told to end.
pub fn end_on_interrupt() {
    std::thread::spawn(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        while let Some(code) = runtime.block_on(interrupted()) {
            if CHANGING.load(Ordering::SeqCst) && !ASKED.swap(true, Ordering::SeqCst) {
                anstream::eprintln!("\nthis step is finished first; once more ends it at once");
                continue;
            }
            let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(file) = unfinished.take() {
                let _ = fs_err::remove_file(file);
            }
            let cleanup = CLEANUP.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(cleanup) = cleanup {
                cleanup();
            }
            anstream::eprintln!();
            // Last: who waits for them would start others.
            end_children();
            #[expect(clippy::exit, clippy::disallowed_methods, reason = "the one place for it")]
            std::process::exit(code);
        }
    });
}

/// Programs that were started are not left behind. Nobody waits here for their end.
fn end_children() {
    let children = children(std::process::id());
    if children.is_empty() {
        return;
    }
    let mut kill = Command::new("kill");
    kill.args(["-TERM", "--"]).args(children);
    kill.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = kill.spawn();
}

/// As `kill` takes them: who leads a group is ended with what it started.
fn children(parent: u32) -> Vec<String> {
    let Ok(all) = fs_err::read_dir("/proc") else { return Vec::new() };
    let child = |entry: fs_err::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs_err::read(entry.path().join("stat")).ok()?;
        let (of, group) = parent_and_group(&String::from_utf8_lossy(&stat))?;
        let leads = group == pid;
        (of == parent).then(|| if leads { format!("-{pid}") } else { pid.to_string() })
    };
    all.flatten().filter_map(child).collect()
}

/// Of `/proc/PID/stat`: what stands behind the name, which may hold anything.
fn parent_and_group(stat: &str) -> Option<(u32, u32)> {
    let (_, after) = stat.rsplit_once(')')?;
    let mut words = after.split_whitespace().skip(1);
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The exit code that belongs to the signal.
async fn interrupted() -> Option<i32> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut ended = signal(SignalKind::terminate()).ok()?;
    let mut hung_up = signal(SignalKind::hangup()).ok()?;
    tokio::select! {
        pressed = tokio::signal::ctrl_c() => pressed.ok().map(|()| 130),
        _ = ended.recv() => Some(143),
        _ = hung_up.recv() => Some(129),
    }
}

pub fn finish(result: Result<Outcome, Failure>) -> ExitCode {
    match result {
        Ok(Outcome::Fine) => ExitCode::from(0),
        Ok(Outcome::Found) => ExitCode::from(1),
        Ok(Outcome::NotProvable) => ExitCode::from(3),
        Ok(Outcome::Stale) => ExitCode::from(4),
        Ok(Outcome::Refused) => ExitCode::from(5),
        Ok(Outcome::Interrupted) => ExitCode::from(130),
        Err(failure) => {
            crate::output::complain(&failure.to_string());
            ExitCode::from(match failure {
                Failure::Usage(_) => 2,
                Failure::Unreadable(_) => 66,
                Failure::Internal(_) => 70,
            })
        }
    }
}

/// Help and version are no errors; everything else that clap refuses is usage.
pub fn usage(error: &clap::Error) -> ExitCode {
    let shown = error.print();
    match error.kind() {
        clap::error::ErrorKind::DisplayHelp | clap::error::ErrorKind::DisplayVersion
            if shown.is_ok() =>
        {
            ExitCode::from(0)
        }
        _ => ExitCode::from(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_children_are_found_and_nobody_elses() {
        let mut plain = Command::new("sleep").arg("600").spawn().unwrap();
        let mut group = Command::new("sleep");
        let group = std::os::unix::process::CommandExt::process_group(&mut group, 0);
        let mut leader = group.arg("600").spawn().unwrap();
        let found = children(std::process::id());
        let pids = (plain.id(), leader.id());
        for child in [&mut plain, &mut leader] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(found.contains(&pids.0.to_string()), "{pids:?} {found:?}");
        assert!(found.contains(&format!("-{}", pids.1)), "{pids:?} {found:?}");
        assert!(!found.contains(&std::process::id().to_string()));
        assert_eq!(parent_and_group("7 (odd ) name) S 3 5 5 0"), Some((3, 5)));
        assert_eq!(parent_and_group("7 (cut"), None);
    }
}
