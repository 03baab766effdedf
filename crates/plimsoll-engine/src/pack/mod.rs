//! Failure knowledge as data: states, causes, checks and recovery, loaded from `case.yaml` files.
//!
//! Loading compiles every expression and checks every name, so that a pack that loads cannot fail
//! later. What a pack may say is in `load`; what the words weigh is in the causes crate.

mod edges;
mod fields;
mod load;
mod names;
mod repairs;
mod tie;

use std::collections::BTreeMap;
use std::ops::Range;

use plimsoll_causes::{Likelihood, Prior};
use plimsoll_model::check::Severity;
use plimsoll_model::diagnosis::{Cost, Verdict};
use plimsoll_model::snapshot::Signature;

use crate::predicate::Predicate;

pub use repairs::value as json;
pub use repairs::{ConditionRule, ContentRule, Each, RepairRule, StepRule, VerbRule, VerifyRule};

/// One file of a pack, by its path below the pack's folder.
#[derive(Clone, Debug)]
pub struct PackFile {
    pub path: String,
    pub text: String,
}

/// The area of what is known of configs, before there is a cluster. Its cases have a form of their own.
pub const CHECKS: &str = "check/";

impl PackFile {
    pub fn is_of_a_check(&self) -> bool {
        self.path.starts_with(CHECKS)
    }

    /// Cases that `knowledge test` runs.
    pub fn has_cases(&self) -> bool {
        let is_in_tests = self.path.rsplit('/').nth(1) == Some("tests");
        self.path.ends_with(".md") && is_in_tests && !self.is_of_a_check()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{path}:{line}:{column}: {message}")]
pub struct LoadError {
    pub path: String,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// Where a rule is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub path: String,
    pub line: u32,
    pub column: u32,
}

#[derive(Debug, Default)]
pub struct Pack {
    pub cases: Vec<Case>,
    /// Sorted by id.
    pub states: Vec<StateRule>,
    /// Sorted by rule id.
    pub causes: Vec<CauseRule>,
    /// Sorted by id.
    pub signatures: Vec<SignatureRule>,
    pub breakers: Vec<BreakerRule>,
    pub checks: Vec<CheckRule>,
    /// Sorted by id.
    pub repairs: Vec<RepairRule>,
    /// ClusterOperator → the ones it cannot work without.
    operator_needs: BTreeMap<String, Vec<String>>,
    /// Namespace → ClusterOperator.
    namespaces: BTreeMap<String, String>,
}

/// One failure mode: a folder of the pack.
#[derive(Debug)]
pub struct Case {
    pub id: String,
    pub path: String,
    pub title: String,
    pub catalogue: Option<String>,
}

#[derive(Debug)]
pub struct StateRule {
    pub id: String,
    pub at: Place,
    pub case: usize,
    /// Kind of entity it is said of.
    pub on: String,
    /// Only of entities of these names; empty means all.
    pub named: Vec<String>,
    pub summary: String,
    /// Patterns of what people read when it is there, beside what its rules look for.
    pub says: Vec<String>,
    pub when: Predicate,
    pub since: Option<Predicate>,
    pub recovered: Option<Predicate>,
    pub root: Option<Prior>,
    pub role: Role,
    /// A weak sign alone convicts nobody.
    pub weak: bool,
    /// Where this does not hold, the data may lack the cause: probable, never confirmed.
    pub proven: Option<Predicate>,
    /// A more general state on the same entity that this one stands for.
    pub refines: Option<String>,
    pub applies: Applies,
    pub recovery: Vec<Recovery>,
    pub folklore: Vec<String>,
    /// Of a config that is checked before anything boots.
    pub finding: Option<FindingRule>,
}

/// How `plimsoll check` tells a state.
#[derive(Debug)]
pub struct FindingRule {
    pub severity: Severity,
    /// The fact whose place in the user's file is shown.
    pub at: Option<String>,
    /// What it would cost later, and where that is known from.
    pub why: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Fault,
    /// Planned work: explains, is never a fault.
    Expected,
    /// Worth showing, needs no explanation, blames nobody.
    Note,
}

/// Where a state, a cause or a recovery holds. Empty lists and open ends mean everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applies {
    pub from_minor: Option<i64>,
    pub to_minor: Option<i64>,
    pub platforms: Vec<String>,
    pub topologies: Vec<String>,
}

#[derive(Debug)]
pub struct Recovery {
    pub applies: Applies,
    pub when: Option<Predicate>,
    pub verdict: Verdict,
    pub repair: String,
    pub summary: String,
    pub minutes: Option<u64>,
    pub reinstall_minutes: Option<u64>,
    pub blast: Option<u8>,
}

#[derive(Debug)]
pub struct CauseRule {
    /// `<case>/<from>-><to>`
    pub id: String,
    pub at: Place,
    pub from: usize,
    pub to: usize,
    pub via: Via,
    pub likelihood: Likelihood,
    pub delay_min: Option<i64>,
    pub delay_max: Option<i64>,
    pub guard: Option<Predicate>,
    /// Does not start its effect, but keeps it from ending: what closes a deadlock.
    pub keeps: bool,
    pub applies: Applies,
    pub because: String,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    Same,
    /// Every pair of entities of the two kinds, narrowed by the guard.
    Any,
    /// Relations to follow; `true` walks one against its direction.
    Path(Vec<(String, bool)>),
}

#[derive(Debug)]
pub struct SignatureRule {
    pub at: Place,
    pub spec: Signature,
    pub on: String,
    /// Entity it speaks of, with `{capture}`; else the machine or pod whose log it is.
    pub entity: Option<String>,
    /// Signatures whose line, later in the same log, says that this one is over.
    pub over: Vec<String>,
    /// The line is there only if somebody happened to ask for it: its silence proves nothing.
    pub optional: bool,
}

#[derive(Debug)]
pub struct BreakerRule {
    pub state: usize,
    pub action: String,
}

#[derive(Debug)]
pub struct CheckRule {
    pub state: usize,
    pub how: String,
    pub cost: Cost,
}

impl LoadError {
    pub fn at(place: &Place, message: impl Into<String>) -> Self {
        let Place { path, line, column } = place.clone();
        Self { path, line, column, message: message.into() }
    }
}

/// Folder of the rules about what `check --live` sees.
const BEFORE_INSTALL: &str = "check/live/";

impl Pack {
    /// Loads and checks a whole pack; every error at once.
    pub fn load(files: &[PackFile]) -> Result<Pack, Vec<LoadError>> {
        // The same conditions as in a cluster, under the same names, seen before there is one.
        let of_a_cluster = files.iter().filter(|file| !file.path.contains(BEFORE_INSTALL));
        load::load(&of_a_cluster.cloned().collect::<Vec<_>>())
    }

    /// With what is seen only before an install.
    pub fn load_checks(files: &[PackFile]) -> Result<Pack, Vec<LoadError>> {
        load::load(files)
    }

    pub fn state(&self, id: &str) -> Option<usize> {
        self.states_named(id).next()
    }

    /// One failure may befall several kinds of things under one name.
    pub fn states_named(&self, id: &str) -> Range<usize> {
        let start = self.states.partition_point(|state| state.id.as_str() < id);
        let end = self.states.partition_point(|state| state.id.as_str() <= id);
        start..end
    }

    pub fn repair(&self, id: &str) -> Option<&RepairRule> {
        self.repairs.iter().find(|repair| repair.id == id)
    }

    pub fn operators_needed_by(&self, operator: &str) -> &[String] {
        self.operator_needs.get(operator).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn operator_of_namespace(&self, namespace: &str) -> Option<&str> {
        self.namespaces.get(namespace).map(String::as_str)
    }
}

impl Applies {
    /// False only when it is known not to apply.
    pub fn to(&self, minor: Option<i64>, platform: Option<&str>, topology: Option<&str>) -> bool {
        let within = minor.is_none_or(|minor| {
            self.from_minor.is_none_or(|from| minor >= from)
                && self.to_minor.is_none_or(|to| minor <= to)
        });
        let named = |list: &[String], value: Option<&str>| {
            list.is_empty()
                || value
                    .is_none_or(|value| list.iter().any(|item| item.eq_ignore_ascii_case(value)))
        };
        within && named(&self.platforms, platform) && named(&self.topologies, topology)
    }
}
