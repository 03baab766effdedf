//! What was done: the journal of a repair and what became of it, `plimsoll.session/v1`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;
use crate::diagnosis::StateRef;
use crate::plan::sha256;

pub const SESSION_SCHEMA: &str = "plimsoll.session/v1";

/// One line of the journal. Each holds the hash of the one before it, so that none can be changed or
/// taken out without a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    pub number: u64,
    pub time: Time,
    pub event: Event,
    /// Of the line before; empty in the first.
    pub before: String,
    /// Of this line without this field.
    pub hash: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Event {
    /// The plan lies beside the journal.
    Began {
        plan: String,
        by: String,
        /// What was wrong before the first step, in whichever life of the session it is asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Baseline>,
    },
    /// Somebody typed the name of what is touched.
    Confirmed {
        step: usize,
        name: String,
    },
    /// What was there before is kept: where, and its hash.
    Kept {
        step: usize,
        place: String,
        sha256: String,
    },
    /// It is going to be done. What was there has this hash.
    Intends {
        step: usize,
        before: String,
    },
    Did {
        step: usize,
        after: String,
        says: String,
    },
    /// It was not needed any more.
    Skipped {
        step: usize,
        says: String,
    },
    /// It was found to be done already.
    Found {
        step: usize,
        after: String,
    },
    Failed {
        step: usize,
        why: String,
    },
    /// What was expected of it holds.
    Holds {
        step: usize,
    },
    /// A guard or a condition does not let it go on.
    Refused {
        step: usize,
        why: Vec<String>,
    },
    IntendsUndo {
        step: usize,
    },
    Undid {
        step: usize,
        says: String,
    },
    CannotUndo {
        step: usize,
        why: String,
    },
    Ended {
        outcome: Outcome,
        says: String,
    },
}

/// What was wrong when a session began: what is wrong beside it later is new.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Roots that were more than suspected.
    pub roots: BTreeSet<StateRef>,
    /// Everything that was active and no mere note.
    pub active: BTreeSet<StateRef>,
    /// What the root of the plan explained.
    pub explained: BTreeSet<StateRef>,
    /// Whether anything could be proven.
    pub provable: bool,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The root is gone, what it caused is gone, and it stayed so.
    Fixed,
    /// The root is gone, some of what it caused is not.
    Improved,
    Unchanged,
    /// Something is wrong that was not before.
    Worse,
    /// Taken back: all as it was.
    RolledBack,
    /// Taken back in part only.
    PartlyRolledBack,
    /// Stopped before the end, with steps done.
    Stopped,
    /// Stopped before anything was done.
    Untouched,
}

/// A repair as it went, for people and scripts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// Always `plimsoll.session/v1`.
    pub schema: String,
    /// Digest of the plan.
    pub plan: String,
    pub title: String,
    pub root: StateRef,
    pub outcome: Outcome,
    /// In one sentence.
    pub says: String,
    pub entries: Vec<Entry>,
    /// The commands to go on with.
    pub next: Vec<String>,
}

impl Session {
    pub fn json_schema() -> serde_json::Value {
        crate::diagnosis::titled(schemars::schema_for!(Session), SESSION_SCHEMA, "Plimsoll session")
    }
}

impl Entry {
    /// The next line after `last`.
    pub fn after(last: Option<&Entry>, time: Time, event: Event) -> Self {
        let mut entry = Self {
            number: last.map_or(1, |last| last.number + 1),
            time,
            event,
            before: last.map(|last| last.hash.clone()).unwrap_or_default(),
            hash: String::new(),
        };
        entry.hash = entry.computed();
        entry
    }

    fn computed(&self) -> String {
        let bare = Entry { hash: String::new(), ..self.clone() };
        sha256(&serde_json::to_vec(&bare).unwrap_or_default())
    }

    /// Whether it is as it was written, and follows `last`.
    pub fn follows(&self, last: Option<&Entry>) -> bool {
        self.hash == self.computed()
            && self.number == last.map_or(1, |last| last.number + 1)
            && self.before == last.map(|last| last.hash.as_str()).unwrap_or_default()
    }
}

/// Lines of a journal that are whole and follow each other, and how many bytes they take; or the number of
/// the first line that was changed. A last line that was cut off in writing is left out.
pub fn read_entries(text: &[u8]) -> Result<(Vec<Entry>, usize), u64> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut good = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let number = entries.len() as u64 + 1;
        let Some(whole) = line.strip_suffix(b"\n") else { break };
        let entry: Entry = serde_json::from_slice(whole).map_err(|_| number)?;
        if !entry.follows(entries.last()) {
            return Err(number);
        }
        entries.push(entry);
        good += line.len();
    }
    Ok((entries, good))
}
