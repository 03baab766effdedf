//! What every renderer wants to know of a diagnosis before it draws: who explains whom, what is
//! left, what is over. Counting and selecting only; the judgement was made by the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plimsoll_model::diagnosis::{Alternative, Check, Diagnosis, Root, Status, Suppressed};
use plimsoll_model::{EntityId, Time};

use crate::cascade::{Graph, Key, groups, key, root_key};
use crate::{safe, words};

/// Notes that are told in words.
const NOTES: usize = 3;
/// Symptoms without a cause that are told in words.
const LEFT: usize = 5;
/// Effects named beside an accepted state.
const ALONG: usize = 4;

pub struct Digest<'a> {
    pub graph: Graph<'a>,
    /// Roots with their numbers, from 1.
    pub roots: BTreeMap<Key<'a>, usize>,
    /// Numbers of the roots, from 1, that explain a state.
    pub explained_by: BTreeMap<Key<'a>, Vec<usize>>,
    pub symptoms: BTreeSet<Key<'a>>,
    /// Symptoms that nothing explains.
    pub left: BTreeSet<Key<'a>>,
    pub recovered: Vec<Key<'a>>,
    pub expected: Vec<Key<'a>>,
    pub unknown: Vec<Key<'a>>,
    pub noted: Vec<Key<'a>>,
    /// Known to the user, with the effects that nothing else caused.
    pub accepted: BTreeSet<Key<'a>>,
}

/// The part that a state plays in the answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Root(usize),
    SymptomOf(Vec<usize>),
    Unexplained,
    Held,
    Accepted,
    Note,
    Recovered,
    Expected,
    Unknown,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(number) => write!(f, "root {number}"),
            Self::SymptomOf(roots) => write!(f, "symptom of {}", numbers(roots)),
            Self::Unexplained => f.write_str("unexplained"),
            Self::Held => f.write_str("in a deadlock"),
            Self::Accepted => f.write_str("accepted"),
            Self::Note => f.write_str("note"),
            Self::Recovered => f.write_str("recovered"),
            Self::Expected => f.write_str("expected"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

pub fn numbers(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

pub fn digest(diagnosis: &Diagnosis) -> Digest<'_> {
    let graph = Graph::of(diagnosis);
    let roots: BTreeMap<Key, usize> = diagnosis.roots.iter().map(root_key).zip(1..).collect();
    let mut explained_by: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for (at, root) in diagnosis.roots.iter().enumerate() {
        let explained: BTreeSet<Key> = root.explains.iter().map(key).collect();
        for state in explained {
            explained_by.entry(state).or_default().push(at + 1);
        }
    }
    let with = |status: Status| -> Vec<Key> {
        graph
            .states
            .iter()
            .filter(|(_, state)| state.status == status)
            .map(|(key, _)| *key)
            .collect()
    };
    let is_note = |state: &Key| graph.states.get(state).is_some_and(|state| state.note);
    let (noted, active): (Vec<Key>, Vec<Key>) = with(Status::Active).into_iter().partition(is_note);

    let held: BTreeSet<Key> =
        diagnosis.deadlocks.iter().flat_map(|deadlock| &deadlock.members).map(key).collect();
    let suppressed = diagnosis.suppressed.iter();
    let accepted: BTreeSet<Key> = suppressed
        .flat_map(|state| {
            state.explains.iter().map(key).chain([(state.id.as_str(), &state.entity)])
        })
        .collect();
    let blamed = |state: &Key| !accepted.contains(state) || explained_by.contains_key(state);
    let mut symptoms: BTreeSet<Key> =
        active.into_iter().filter(|state| !roots.contains_key(state) && blamed(state)).collect();
    let mut left: BTreeSet<Key> = symptoms
        .iter()
        .copied()
        .filter(|state| !explained_by.contains_key(state) && !held.contains(state))
        .collect();
    left.extend(diagnosis.unexplained.iter().map(key));
    symptoms.extend(&left);

    let (recovered, expected) = (with(Status::Recovered), with(Status::Expected));
    let unknown = with(Status::Unknown);
    Digest {
        graph,
        roots,
        explained_by,
        symptoms,
        left,
        recovered,
        expected,
        unknown,
        noted,
        accepted,
    }
}

impl Digest<'_> {
    pub fn role(&self, state: Key) -> Role {
        if let Some(number) = self.roots.get(&state) {
            return Role::Root(*number);
        }
        if let Some(roots) = self.explained_by.get(&state) {
            return Role::SymptomOf(roots.clone());
        }
        if self.left.contains(&state) {
            return Role::Unexplained;
        }
        let known = self.graph.states.get(&state);
        match known.map(|state| (state.status, state.note)) {
            Some((Status::Active, _)) if self.accepted.contains(&state) => Role::Accepted,
            Some((_, true)) => Role::Note,
            Some((Status::Recovered, _)) => Role::Recovered,
            Some((Status::Expected, _)) => Role::Expected,
            Some((Status::Unknown, _)) | None => Role::Unknown,
            Some((Status::Active, _)) => Role::Held,
        }
    }

    /// States with a known onset, by time; many of a kind at one time are one row.
    pub fn timeline(&self) -> Vec<(Time, Role, Vec<Key<'_>>)> {
        let mut rows: BTreeMap<(Time, &str, Role), Vec<Key>> = BTreeMap::new();
        for state in self.graph.states.keys() {
            if let Some(since) = self.graph.since(*state) {
                rows.entry((since, state.0, self.role(*state))).or_default().push(*state);
            }
        }
        let rows = rows.into_iter().flat_map(|((since, _, role), members)| {
            groups(members).into_iter().map(move |members| (since, role.clone(), members))
        });
        rows.collect()
    }

    /// Symptoms with the numbers of their roots, unexplained ones last.
    pub fn symptoms_by_root(&self) -> Vec<(Vec<usize>, Vec<Key<'_>>)> {
        let mut by_root: BTreeMap<(bool, Vec<usize>), Vec<Key>> = BTreeMap::new();
        for symptom in &self.symptoms {
            let roots = self.explained_by.get(symptom).cloned().unwrap_or_default();
            by_root.entry((roots.is_empty(), roots)).or_default().push(*symptom);
        }
        let rows = by_root.into_iter().flat_map(|((_, roots), symptoms)| {
            groups(symptoms).into_iter().map(move |members| (roots.clone(), members))
        });
        rows.collect()
    }

    /// Every node that a state speaks of, with what is active on it.
    pub fn nodes(&self) -> BTreeMap<&EntityId, Vec<&str>> {
        let mut nodes: BTreeMap<&EntityId, Vec<&str>> = BTreeMap::new();
        for ((id, entity), state) in &self.graph.states {
            if entity.kind == "Node" {
                let active = nodes.entry(entity).or_default();
                active.extend((state.status == Status::Active).then_some(*id));
            }
        }
        nodes
    }

    /// What is there, or was, without being to blame; each with its title.
    pub fn blameless(&self) -> impl Iterator<Item = (&'static str, &[Key<'_>])> {
        let kinds: [(&str, &[Key]); 3] = [
            ("Recovered, not blamed", &self.recovered),
            ("Expected, part of planned work", &self.expected),
            ("Noted, not blamed", &self.noted),
        ];
        kinds.into_iter().filter(|(_, states)| !states.is_empty())
    }

    /// What is noted of that which is to blame, in words: it may say why it has a fault, and not its like.
    pub fn notes_that_bear(&self) -> Vec<String> {
        let faults = self.roots.keys().chain(&self.left);
        let faulty: BTreeSet<&EntityId> =
            faults.map(|(_, entity)| *entity).filter(|entity| entity.kind != "Cluster").collect();
        let bearing = self.noted.iter().filter(|(_, entity)| faulty.contains(entity));
        let said = bearing.filter_map(|note| self.graph.states.get(note));
        said.map(|state| safe::line(&state.summary)).take(NOTES).collect()
    }

    /// `Explained 31 of 32 symptoms.`; nothing where there was nothing to explain.
    pub fn explained(&self) -> Option<String> {
        let all = self.symptoms.len();
        (all > 0).then(|| {
            format!("Explained {} of {}.", all - self.left.len(), words::counted(all, "symptom"))
        })
    }
}

impl<'d> Digest<'d> {
    /// Symptoms without a cause, each with what was seen, and how many more there are. Those that
    /// follow from no other come first.
    pub fn left_in_words(&self) -> (Vec<String>, usize) {
        let following: BTreeSet<Key> =
            self.left.iter().flat_map(|state| self.graph.effects(*state)).collect();
        let (later, first): (Vec<Key>, Vec<Key>) =
            self.left.iter().copied().partition(|state| following.contains(state));
        let mut all = groups(first);
        all.extend(groups(later));
        let told = all.iter().take(LEFT).map(|members| {
            let name = mentions(members.iter().copied()).concat();
            let seen = members.first().and_then(|state| self.graph.states.get(state));
            match seen.map(|state| safe::line(&state.summary)).filter(|said| !said.is_empty()) {
                Some(summary) => format!("{name}: {summary}"),
                None => name,
            }
        });
        let more = all.iter().skip(LEFT).map(Vec::len).sum();
        (told.collect(), more)
    }
}

/// Why and until when a state is accepted, and what is accepted with it.
pub fn terms(suppressed: &Suppressed) -> String {
    let mut over = match suppressed.status {
        Status::Active => String::new(),
        _ => " (over or expected)".into(),
    };
    let along = mentions(suppressed.explains.iter().map(key));
    if !along.is_empty() {
        over.push_str(&format!("; with it {}", shortlist(&along, ALONG)));
    }
    let (until, reason) = (safe::line(&suppressed.until), safe::line(&suppressed.reason));
    format!("until {until}: {reason}{over}")
}

/// Checks whose answer bears on this root or on what competes with it.
pub fn checks_for<'a>(diagnosis: &'a Diagnosis, root: &Root) -> Vec<&'a Check> {
    let concerns =
        |state: Key| state == root_key(root) || root.ties.iter().any(|tie| key(tie) == state);
    let checks = diagnosis.next_checks.iter();
    checks
        .filter(|check| {
            concerns((&check.id, &check.entity)) || check.separates.iter().map(key).any(concerns)
        })
        .collect()
}

/// Ties of a root, with what would tell the two apart.
pub fn ties_of<'a>(
    diagnosis: &'a Diagnosis,
    root: &'a Root,
) -> Vec<(Key<'a>, Option<&'a Alternative>)> {
    let find = |tie: Key| {
        diagnosis.alternatives.iter().find(|other| {
            (other.id.as_str(), &other.entity) == tie && key(&other.instead_of) == root_key(root)
        })
    };
    root.ties.iter().map(|tie| (key(tie), find(key(tie)))).collect()
}

/// The entity of one, `14 pods` for many.
pub fn entities(members: &[Key]) -> String {
    match members {
        [(_, entity)] => safe::line(&entity.to_string()),
        _ => {
            let kinds: BTreeSet<&str> =
                members.iter().map(|(_, entity)| entity.kind.as_str()).collect();
            let noun = match kinds.first() {
                Some(kind) if kinds.len() == 1 => words::kind(kind),
                _ => "object".into(),
            };
            words::counted(members.len(), &noun)
        }
    }
}

/// `id (Entity)`, many of the same as `id (14 pods)`.
pub fn mentions<'a>(states: impl IntoIterator<Item = Key<'a>>) -> Vec<String> {
    groups(states)
        .iter()
        .filter_map(|members| {
            Some(format!("{} ({})", safe::line(members.first()?.0), entities(members)))
        })
        .collect()
}

/// The first few, and how many there are besides.
pub fn shortlist(items: &[String], most: usize) -> String {
    let shown = items.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => {
            format!("{shown} and {} more", words::count(u64::try_from(more).unwrap_or(u64::MAX)))
        }
    }
}
