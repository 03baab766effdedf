//! Incidents with known truth, made from a seed: every fault alone, pairs of faults, noise, deleted
//! evidence, and clusters with nothing wrong.
//!
//! A plan is cheap and says what to make; a scenario is made when it is asked for. What is not here:
//! diagnosing, judging.

mod clusters;
mod noise;
mod plan;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::base::{self, Absent, BaseParams, Phase};
use crate::dice::Dice;
use crate::edit::{self, EditError};
use crate::fault::{Bindings, Bound, Fault, FaultError, Pick};
use crate::sim::{self, Truth};
use crate::tree::Tree;

pub use clusters::{Cluster, all as clusters};
pub use plan::{plan, unknown_names};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One fault, all evidence.
    Single,
    /// One fault, minutes ago: little has followed yet.
    Late,
    /// One fault among remains of others that are over.
    Noisy,
    /// One fault, 30 % of the files deleted.
    Deleted30,
    /// One fault, another share of the files deleted.
    Deleted,
    Pair,
    /// Two faults, some of the files deleted.
    PairDeleted,
    /// Two faults on one machine, of which the second could have caused the first, and came later.
    Order,
    Healthy,
    Upgrading,
    Installing,
    /// A fault that is over, and nothing wrong now.
    Recovered,
}

impl Class {
    pub const ALL: [Class; 12] = [
        Class::Single,
        Class::Late,
        Class::Noisy,
        Class::Deleted30,
        Class::Deleted,
        Class::Pair,
        Class::PairDeleted,
        Class::Order,
        Class::Healthy,
        Class::Upgrading,
        Class::Installing,
        Class::Recovered,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Class::Single => "single",
            Class::Late => "late",
            Class::Noisy => "noisy",
            Class::Deleted30 => "deleted-30",
            Class::Deleted => "deleted",
            Class::Pair => "pair",
            Class::PairDeleted => "pair-deleted",
            Class::Order => "order",
            Class::Healthy => "healthy",
            Class::Upgrading => "upgrading",
            Class::Installing => "installing",
            Class::Recovered => "recovered",
        }
    }

    /// Nothing is wrong: every root is a false one.
    pub fn is_well(self) -> bool {
        matches!(self, Class::Healthy | Class::Upgrading | Class::Installing | Class::Recovered)
    }
}

/// One scenario that can be made.
#[derive(Clone, Debug)]
pub struct Spec<'f> {
    pub number: usize,
    pub class: Class,
    pub faults: Vec<&'f Fault>,
    pub cluster: &'static Cluster,
    pub seed: u64,
    /// Percent of the files to delete.
    pub deleted: u64,
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub tree: Tree,
    pub truth: Truth,
    /// A file that the faults' own evidence stands in is left.
    pub evidence_left: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    #[error(transparent)]
    Fault(#[from] FaultError),
    #[error("{fault}, on {cluster}: {error}")]
    Edit { fault: String, cluster: String, error: EditError },
    #[error("{cluster}: the base could not be made")]
    Base { cluster: String },
}

impl Spec<'_> {
    /// The faults' ids, for people.
    pub fn faults_named(&self) -> String {
        let names: Vec<&str> = self.faults.iter().map(|fault| fault.id.as_str()).collect();
        if names.is_empty() { "-".into() } else { names.join(" + ") }
    }

    pub fn make(&self) -> Result<Scenario, ScenarioError> {
        let mut dice = Dice::new(self.seed);
        let installing = match self.class {
            Class::Installing => Some(dice.within((20, 28))),
            _ => self.faults.iter().any(|fault| fault.installing).then_some(130),
        };
        let mut params = self.cluster.params(installing);
        let mut picked = pick(&params, &self.faults, &mut dice);
        let mut onsets: Vec<Timestamp> =
            self.faults.iter().map(|_| self.onset(&params, &mut dice)).collect();
        if self.class == Class::Order {
            (picked, onsets) = one_after_the_other(&params, &picked, &mut dice);
        }
        for ((fault, node), onset) in self.faults.iter().zip(&picked).zip(&onsets) {
            // Where the fault is over, the machine has joined after all.
            if never_joins(fault) && self.class != Class::Recovered {
                leave_out(&mut params, node, *onset);
            }
        }
        let mut bound = Vec::new();
        for ((fault, node), onset) in self.faults.iter().zip(picked).zip(onsets) {
            bound.push(fault.bind(&Bindings { params: &params, node, onset })?);
        }
        let mut tree = self.base(&params)?;
        let wrong = |error: EditError| ScenarioError::Edit {
            fault: self.faults_named(),
            cluster: self.cluster.name.into(),
            error,
        };
        if self.class == Class::Recovered {
            noise::remains(&params, &mut tree, &bound, &mut dice).map_err(wrong)?;
            return Ok(Scenario { tree, truth: Truth::default(), evidence_left: true });
        }
        if self.class == Class::Noisy {
            noise::background(&params, &mut tree, &mut dice).map_err(wrong)?;
        }
        let before = tree.clone();
        let outcome = sim::run(&params, &mut tree, &bound, self.seed).map_err(wrong)?;
        let own = own_files(&before, &bound);
        delete(&mut tree, self.deleted, &mut dice);
        let evidence_left = own.iter().any(|path| tree.contains_key(path));
        Ok(Scenario { tree, truth: outcome.truth, evidence_left })
    }

    fn base(&self, params: &BaseParams) -> Result<Tree, ScenarioError> {
        let made = match (self.class, params.phase) {
            (Class::Upgrading, _) => base::upgrading(params),
            (_, Phase::Installing) => base::installing(params),
            (_, Phase::Installed) => Some(base::metal(params)),
        };
        made.ok_or_else(|| ScenarioError::Base { cluster: self.cluster.name.into() })
    }

    /// Hours ago, so that everything has followed; in a late case minutes.
    fn onset(&self, params: &BaseParams, dice: &mut Dice) -> Timestamp {
        let age = params.now.duration_since(params.installed).as_secs();
        let window = match (self.class, params.phase) {
            (Class::Late, _) => (6 * 60, 25 * 60),
            (_, Phase::Installing) => (age / 2, age * 3 / 4),
            (_, Phase::Installed) => (2 * 3_600, 13 * 1_800),
        };
        let ago = SignedDuration::from_secs(dice.within(window).min(age * 3 / 4));
        params.now.checked_sub(ago).unwrap_or(params.now)
    }
}

/// The same machine for both faults, and the second hours after the first.
fn one_after_the_other(
    params: &BaseParams,
    picked: &[String],
    dice: &mut Dice,
) -> (Vec<String>, Vec<Timestamp>) {
    let machine = picked.iter().find(|node| !node.is_empty()).cloned().unwrap_or_default();
    let mut ago = |hours: (i64, i64)| {
        let ago = SignedDuration::from_mins(dice.within((hours.0 * 60, hours.1 * 60)));
        params.now.checked_sub(ago).unwrap_or(params.now)
    };
    (vec![machine; picked.len()], vec![ago((8, 11)), ago((2, 4))])
}

fn never_joins(fault: &Fault) -> bool {
    fault.pick == Pick::Host || fault.breaks.iter().any(|found| found.word == "node-never-joins")
}

/// A machine for every fault, no machine twice.
fn pick(params: &BaseParams, faults: &[&Fault], dice: &mut Dice) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for fault in faults {
        let among: Vec<&String> = match fault.pick {
            Pick::Master => params.masters.iter().collect(),
            Pick::Worker | Pick::Host => params.workers.iter().collect(),
            Pick::Node => params.masters.iter().chain(&params.workers).collect(),
            Pick::None => Vec::new(),
        };
        let free: Vec<&String> =
            among.iter().copied().filter(|node| !taken.contains(node)).collect();
        let found = dice.pick(if free.is_empty() { &among } else { &free });
        taken.push(found.map(|node| (*node).clone()).unwrap_or_default());
    }
    taken
}

/// The machine was written some minutes before its trouble shows.
fn leave_out(params: &mut BaseParams, host: &str, onset: Timestamp) {
    let master = params.is_master(host);
    params.masters.retain(|name| name != host);
    params.workers.retain(|name| name != host);
    let provisioned = onset.checked_sub(SignedDuration::from_mins(4)).unwrap_or(onset);
    params.absent.push(Absent { host: host.into(), master, provisioned });
}

/// The files that the faults' own edits change.
fn own_files(before: &Tree, bound: &[Bound]) -> BTreeSet<String> {
    let mut after = before.clone();
    for fault in bound {
        // The simulator has put the same edits in before, without an error.
        if edit::apply(&mut after, &fault.edits).is_err() {
            return BTreeSet::new();
        }
    }
    let changed = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes));
    changed.map(|(path, _)| path.clone()).collect()
}

/// The gather's own time stays: without it nothing is recent and nothing is old.
fn delete(tree: &mut Tree, percent: u64, dice: &mut Dice) {
    tree.retain(|path, _| path == "timestamp" || path == "version" || !dice.chance(percent));
}
