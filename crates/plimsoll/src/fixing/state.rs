//! Plans, journals and copies of what was there, in a folder that only its owner can read:
//!
//! ```text
//! plans/DIGEST.json               every plan that was shown
//! sessions/DIGEST/plan.json       a plan that was carried out
//! sessions/DIGEST/journal.jsonl   what was done
//! sessions/DIGEST/kept/           what was there before
//! lock                            one writer on this machine
//! ```

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use plimsoll_act::{Journal, Log};
use plimsoll_model::plan::Plan;
use plimsoll_model::session::{Event, Outcome};

use crate::exit::Failure;

pub struct State {
    folder: PathBuf,
}

/// A plan that was begun.
pub struct Begun {
    pub plan: Plan,
    pub folder: PathBuf,
    pub journal: Journal,
}

impl State {
    pub fn open(given: Option<&Path>) -> Result<Self, Failure> {
        let usual = || {
            let named = std::env::var_os("XDG_STATE_HOME").filter(|named| !named.is_empty());
            let home = || std::env::home_dir().map(|home| home.join(".local/state"));
            named.map(PathBuf::from).or_else(home).map(|state| state.join("plimsoll"))
        };
        let folder = given.map(Path::to_path_buf).or_else(usual);
        let folder = folder.ok_or_else(|| {
            Failure::Usage("there is no home folder to keep plans in: give --state DIR".into())
        })?;
        Ok(Self { folder })
    }

    fn made(&self, below: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(below);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(unwritable)?;
        Ok(folder)
    }

    /// So that `--apply DIGEST` finds it.
    pub fn remember(&self, plan: &Plan) -> Result<(), Failure> {
        let file = self.made("plans")?.join(format!("{}.json", plan.digest));
        match write_new(&file, plan) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            other => other.map_err(unwritable),
        }
    }

    pub fn save(&self, plan: &Plan, file: &Path) -> Result<(), Failure> {
        write_new(file, plan).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                Failure::Usage(format!("{} exists already", file.display()))
            }
            _ => unwritable(error),
        })
    }

    /// The plan with this digest, or the one beginning of a digest that there is.
    pub fn plan(&self, digest: &str, file: Option<&Path>) -> Result<Plan, Failure> {
        let file = match file {
            Some(file) => file.to_path_buf(),
            None => self.only(&self.folder.join("plans"), digest, ".json")?,
        };
        let plan = read_plan(&file)?;
        match plan.digest.starts_with(digest) && digest.len() >= 8 {
            true => Ok(plan),
            false => Err(Failure::Usage(format!(
                "{} is plan {}, not {digest} (give at least 8 characters)",
                file.display(),
                plan.digest
            ))),
        }
    }

    fn only(&self, folder: &Path, digest: &str, end: &str) -> Result<PathBuf, Failure> {
        let is_digest = !digest.is_empty() && digest.bytes().all(|b| b.is_ascii_hexdigit());
        let found: Vec<PathBuf> = entries(folder)
            .into_iter()
            .filter(|path| {
                let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                is_digest && name.starts_with(digest) && name.ends_with(end)
            })
            .collect();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => Err(Failure::Usage(format!(
                "no plan {digest} was shown here; 'plimsoll fix' shows one"
            ))),
            _ => Err(Failure::Usage(format!("{digest} begins several digests: give more of it"))),
        }
    }

    /// A new session. A plan is carried out once.
    pub fn begin(&self, plan: &Plan, clock: fn() -> jiff::Timestamp) -> Result<Begun, Failure> {
        let sessions = self.made("sessions")?;
        let folder = sessions.join(&plan.digest);
        if folder.exists() {
            let short = plimsoll_report::short(plan);
            return Err(Failure::Usage(format!(
                "plan {short} was begun already: 'plimsoll fix --resume' goes on, \
                 'plimsoll fix --rollback' takes it back"
            )));
        }
        self.made(&format!("sessions/{}/kept", plan.digest))?;
        write_new(&folder.join("plan.json"), plan).map_err(unwritable)?;
        let journal = Journal::create(&folder, clock).map_err(unwritable)?;
        Ok(Begun { plan: plan.clone(), folder, journal })
    }

    /// One that was begun: by its digest, or the last.
    pub fn begun(
        &self,
        digest: Option<&str>,
        clock: fn() -> jiff::Timestamp,
    ) -> Result<Begun, Failure> {
        let sessions = self.folder.join("sessions");
        let folder = match digest {
            Some(digest) => self.only(&sessions, digest, "")?,
            None => entries(&sessions)
                .into_iter()
                .filter_map(|folder| {
                    let changed = fs_err::metadata(folder.join("journal.jsonl")).ok()?.modified();
                    Some((changed.ok()?, folder))
                })
                .max()
                .map(|(_, folder)| folder)
                .ok_or_else(|| Failure::Usage("no plan was begun here".into()))?,
        };
        let plan = read_plan(&folder.join("plan.json"))?;
        let journal = Journal::open(&folder, clock)
            .map_err(|error| Failure::Unreadable(error.to_string()))?;
        Ok(Begun { plan, folder, journal })
    }

    /// How the same repair of the same thing ended before, where it did not hold.
    pub fn failed_before(&self, plan: &Plan) -> Option<Outcome> {
        let sessions = entries(&self.folder.join("sessions"));
        let ended = sessions.iter().filter_map(|folder| {
            let known = read_plan(&folder.join("plan.json")).ok()?;
            if (&known.repair, &known.root) != (&plan.repair, &plan.root) {
                return None;
            }
            let journal = Journal::open(folder, crate::live::clock).ok()?;
            journal.entries().iter().rev().find_map(|entry| match &entry.event {
                Event::Ended { outcome, .. } => Some((entry.time, *outcome)),
                _ => None,
            })
        });
        let (_, outcome) = ended.max()?;
        let held = [Outcome::Fixed, Outcome::Untouched, Outcome::Stopped];
        (!held.contains(&outcome)).then_some(outcome)
    }

    /// Held until it is dropped, and let go of by the kernel if the process dies.
    pub fn lock(&self) -> Result<Option<File>, Failure> {
        let folder = self.made("")?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(folder.join("lock")).map_err(unwritable)?;
        match file.file().try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(unwritable(error)),
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs_err::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = read.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn read_plan(file: &Path) -> Result<Plan, Failure> {
    const LARGEST: u64 = 16 << 20;
    let unreadable = |why: String| Failure::Unreadable(format!("{}: {why}", file.display()));
    let size = fs_err::metadata(file).map_err(|error| Failure::Unreadable(error.to_string()))?;
    if size.len() > LARGEST {
        return Err(unreadable("too large for a plan".into()));
    }
    let text = fs_err::read(file).map_err(|error| Failure::Unreadable(error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| unreadable(format!("no plan: {error}")))
}

fn write_new(file: &Path, plan: &Plan) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut new = options.open(file)?;
    new.write_all(plimsoll_report::json(plan).as_bytes())?;
    new.sync_all()
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::Unreadable(format!("cannot write: {error}"))
}
