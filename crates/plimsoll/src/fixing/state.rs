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
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use fs_err::os::unix::fs::OpenOptionsExt;
use fs_err::{File, OpenOptions};
use plimsoll_act::{Journal, Log};
use plimsoll_model::plan::Plan;
use plimsoll_model::session::{Entry, Event, Outcome};

use crate::exit::Failure;
use crate::files::read_limited;

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
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| {
            Failure::Unreadable(format!("cannot make {}: {error}", folder.display()))
        })?;
        Ok(folder)
    }

    /// A name for whoever works from this folder, the same in every session.
    pub fn identity(&self) -> Result<String, Failure> {
        let file = self.made("")?.join("id");
        let made = format!("{:016x}", RandomState::new().hash_one(0));
        match write_private(&file, made.as_bytes()) {
            Ok(()) => Ok(made),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let known = fs_err::read_to_string(&file).map_err(unwritable)?;
                Ok(known.trim().chars().take(32).collect())
            }
            Err(error) => Err(unwritable(error)),
        }
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

    /// A new session, or one that ended before its first act. A plan is carried out once.
    pub fn begin(&self, plan: &Plan, clock: fn() -> jiff::Timestamp) -> Result<Begun, Failure> {
        let sessions = self.made("sessions")?;
        let folder = sessions.join(&plan.digest);
        if folder.exists() {
            let journal = Journal::open(&folder, clock)
                .map_err(|error| Failure::Unreadable(error.to_string()))?;
            if !is_touched(journal.entries()) {
                return Ok(Begun { plan: plan.clone(), folder, journal });
            }
            let short = plimsoll_report::short(plan);
            return Err(Failure::Usage(format!(
                "plan {short} was begun already: 'plimsoll fix --resume' goes on, \
                 'plimsoll fix --rollback' takes it back"
            )));
        }
        // There with everything, or not at all: what was killed in between was never begun.
        let hidden = format!("sessions/.{}", plan.digest);
        let half = self.folder.join(&hidden);
        if half.exists() {
            fs_err::remove_dir_all(&half).map_err(unwritable)?;
        }
        self.made(&format!("{hidden}/kept"))?;
        write_new(&half.join("plan.json"), plan).map_err(unwritable)?;
        let journal = Journal::create(&half, clock).map_err(unwritable)?;
        fs_err::rename(&half, &folder).map_err(unwritable)?;
        File::open(&sessions).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
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
            // The same names in another cluster are other things.
            let of =
                |plan: &Plan| (plan.repair.clone(), plan.root.clone(), plan.cluster.id.clone());
            let entries = Journal::read(folder).ok()?;
            (of(&known) == of(plan)).then(|| last_end(&entries)).flatten()
        });
        let last = ended.max_by_key(|end| end.time)?;
        (!last.held(plan.made_for)).then_some(last.outcome)
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

/// A root that is back before this did not stay away.
const HELD_FOR: i64 = 24 * 60 * 60;

/// How a session ended.
struct End {
    time: jiff::Timestamp,
    outcome: Outcome,
    /// A step was tried and did not do what it is for.
    failed: bool,
}

/// Whether anything may have been done.
pub fn is_touched(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry.event, Event::Intends { .. }))
}

fn last_end(entries: &[Entry]) -> Option<End> {
    let failed = entries.iter().any(|entry| matches!(entry.event, Event::Failed { .. }));
    entries.iter().rev().find_map(|entry| match &entry.event {
        // What was never begun and is taken back was no try.
        Event::Ended { outcome: Outcome::RolledBack, .. } if !is_touched(entries) => {
            Some(End { time: entry.time, outcome: Outcome::Untouched, failed })
        }
        Event::Ended { outcome, .. } => Some(End { time: entry.time, outcome: *outcome, failed }),
        _ => None,
    })
}

impl End {
    /// Seen from a plan for the same root that is made at this time.
    fn held(&self, now: Option<jiff::Timestamp>) -> bool {
        match self.outcome {
            Outcome::Untouched => true,
            Outcome::Stopped => !self.failed,
            Outcome::Fixed => {
                now.is_none_or(|now| (now.as_second() - self.time.as_second()).abs() >= HELD_FOR)
            }
            _ => false,
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs_err::read_dir(folder) else { return Vec::new() };
    // What is hidden is half made.
    let is_whole = |path: &PathBuf| {
        path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."))
    };
    let all = read.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = all.filter(is_whole).collect();
    paths.sort();
    paths
}

fn read_plan(file: &Path) -> Result<Plan, Failure> {
    const LARGEST: u64 = 16 << 20;
    let text =
        read_limited(file, LARGEST).map_err(|error| Failure::Unreadable(error.to_string()))?;
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Unreadable(format!("{}: no plan: {error}", file.display())))
}

fn write_new(file: &Path, plan: &Plan) -> std::io::Result<()> {
    write_private(file, plimsoll_report::json(plan).as_bytes())
}

/// A new file that only its owner can read.
fn write_private(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut new = options.open(file)?;
    new.write_all(bytes)?;
    new.sync_all()
}

fn unwritable(error: std::io::Error) -> Failure {
    Failure::Unreadable(format!("cannot write: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_do_what_it_is_for_did_not_hold() {
        let time = |second: i64| jiff::Timestamp::from_second(second).ok();
        let held = |outcome: Outcome, failed: bool, now: i64| {
            End { time: jiff::Timestamp::UNIX_EPOCH, outcome, failed }.held(time(now))
        };
        assert!(held(Outcome::Stopped, false, 60), "somebody stopped it");
        assert!(!held(Outcome::Stopped, true, 60), "what it is for never came");
        assert!(!held(Outcome::Fixed, false, 3600), "the root is back an hour later");
        assert!(held(Outcome::Fixed, false, 7 * 24 * 3600), "it stayed away for a week");
        assert!(!held(Outcome::PartlyRolledBack, false, 60) && held(Outcome::Untouched, true, 60));
    }

    #[test]
    fn a_failure_in_another_cluster_says_nothing_of_this_one() {
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let state = State { folder: folder.path().into() };
        let plan = |id: &str| -> Plan {
            let plan = serde_json::json!({
                "schema": "plimsoll.plan/v1", "digest": "", "made_for": null,
                "cluster": {"id": id}, "root": {"id": "ill", "entity": "Node/master-1"},
                "confidence": "confirmed", "repair": "r", "title": "", "roots": [], "blast": 2,
                "steps": [], "verify": [],
                "reason": {"summary": "", "explains": [], "evidence": []},
            });
            serde_json::from_value::<Plan>(plan).unwrap_or_else(|error| panic!("{error}")).sealed()
        };
        let failed = plan("a");
        let begun = state.begin(&failed, || jiff::Timestamp::UNIX_EPOCH);
        let mut begun = begun.unwrap_or_else(|_| panic!("it cannot be begun"));
        let ended = Event::Ended { outcome: Outcome::Unchanged, says: String::new() };
        plimsoll_act::Log::append(&mut begun.journal, ended)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(state.failed_before(&plan("a")), Some(Outcome::Unchanged));
        assert_eq!(state.failed_before(&plan("b")), None);
    }
}
