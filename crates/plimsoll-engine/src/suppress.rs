//! Findings that the user knows of and accepts.
//!
//! Suppression acts on the finished explanation, never on the inference: an accepted state is still
//! seen, still explains its effects, and is still part of the chain of whatever caused it. So taking it
//! out of sight can make no other root appear. What it changes:
//!
//! - an accepted state is no root and needs no cause;
//! - an effect is accepted with it when everything that caused it is accepted, and is listed under it;
//! - a suspected root that nothing but accepted states called for is not offered;
//! - a ring is no deadlock to report when all of it is accepted;
//! - the verdict is made of what is left.
//!
//! Only what was seen can be accepted. A suspicion is a guess about the data, and stays one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_model::Time;
use plimsoll_model::diagnosis::{Edge, Root, State, StateRef, Status, Suppressed};

/// One entry of the user's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    pub id: String,
    /// `Kind/name`, with `*` for any text; absent means every entity.
    pub entity: Option<String>,
    pub reason: String,
    /// The last day on which it holds, in UTC.
    pub until: Date,
}

/// What of an answer is accepted.
#[derive(Debug, Default)]
pub struct Accepted {
    pub suppressed: Vec<Suppressed>,
    /// Entries that were not applied, or met nothing.
    pub notes: Vec<String>,
    /// Accepted states, and effects that nothing else caused.
    states: BTreeSet<StateRef>,
    /// Roots that are not offered any more.
    roots: BTreeSet<StateRef>,
}

impl Accepted {
    pub fn covers(&self, state: &StateRef) -> bool {
        self.states.contains(state)
    }

    /// Not offered as a root, so nothing should compete with it or look for it.
    pub fn drops(&self, root: &StateRef) -> bool {
        self.roots.contains(root)
    }
}

/// What the list accepts of an explanation. `knows` tells whether any rule has that id.
pub fn accept(
    list: &[Suppression],
    now: Option<Time>,
    (states, edges, roots): (&[State], &[Edge], &[Root]),
    knows: impl Fn(&str) -> bool,
) -> Accepted {
    let mut done = Accepted::default();
    let mut seeds: BTreeMap<StateRef, (&Suppression, &State)> = BTreeMap::new();
    for entry in list {
        if let Some(note) = expired(entry, now) {
            done.notes.push(note);
            continue;
        }
        let met = states.iter().filter(|state| state.status != Status::Unknown);
        let met: Vec<&State> = met.filter(|state| entry.meets(state)).collect();
        if met.is_empty() {
            let why = if knows(&entry.id) { "" } else { "; no rule has that id" };
            done.notes.push(format!("{} met nothing in this data{why}", entry.named()));
        }
        for state in met {
            seeds.entry(state.state()).or_insert((entry, state));
        }
    }
    let active = seeds.iter().filter(|(_, (_, state))| state.status == Status::Active);
    done.states = closure(active.map(|(state, _)| state.clone()).collect(), edges);
    for root in roots {
        let own = root.state();
        let seen =
            states.iter().any(|state| state.status == Status::Active && state.state() == own);
        let idle = !seen && root.explains.iter().all(|state| done.states.contains(state));
        if done.states.contains(&own) || (idle && !root.explains.is_empty()) {
            done.roots.insert(own);
        }
    }
    done.suppressed = seeds
        .iter()
        .map(|(own, (entry, state))| Suppressed {
            id: own.id.clone(),
            entity: own.entity.clone(),
            reason: entry.reason.clone(),
            until: entry.until.to_string(),
            status: state.status,
            evidence: state.evidence.clone(),
            explains: below(own, &done.states, edges),
        })
        .collect();
    done
}

fn expired(entry: &Suppression, now: Option<Time>) -> Option<String> {
    let Some(now) = now else {
        let named = entry.named();
        return Some(format!(
            "{named} is not applied: the time of the gather is unknown, give --now"
        ));
    };
    let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
    (today > entry.until)
        .then(|| format!("{} is not applied: it ended on {}", entry.named(), entry.until))
}

impl Suppression {
    /// Whether it holds on that day, of that finding of a check.
    pub fn covers(&self, id: &str, entity: &str, now: Option<Time>) -> bool {
        self.id == id
            && expired(self, now).is_none()
            && self.entity.as_ref().is_none_or(|glob| fits(glob, entity))
    }

    fn meets(&self, state: &State) -> bool {
        self.id == state.id
            && self.entity.as_ref().is_none_or(|glob| fits(glob, &state.entity.to_string()))
    }

    fn named(&self) -> String {
        match &self.entity {
            Some(entity) => format!("suppression of {} on {entity}", self.id),
            None => format!("suppression of {}", self.id),
        }
    }
}

/// `*` stands for any text. Greedy from the left is enough: only the parts' order matters.
fn fits(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The states, and everything that has no cause outside of them.
fn closure(mut states: BTreeSet<StateRef>, edges: &[Edge]) -> BTreeSet<StateRef> {
    let mut causes: BTreeMap<&StateRef, Vec<&StateRef>> = BTreeMap::new();
    for edge in edges {
        causes.entry(&edge.to).or_default().push(&edge.from);
    }
    loop {
        let joined: Vec<StateRef> = causes
            .iter()
            .filter(|(to, from)| !states.contains(to) && from.iter().all(|f| states.contains(f)))
            .map(|(to, _)| (*to).clone())
            .collect();
        if joined.is_empty() {
            return states;
        }
        states.extend(joined);
    }
}

/// Accepted states that `from` led to, sorted.
fn below(from: &StateRef, accepted: &BTreeSet<StateRef>, edges: &[Edge]) -> Vec<StateRef> {
    let mut found: BTreeSet<&StateRef> = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(at) = todo.pop() {
        for edge in edges.iter().filter(|edge| edge.from == *at && accepted.contains(&edge.to)) {
            if edge.to != *from && found.insert(&edge.to) {
                todo.push(&edge.to);
            }
        }
    }
    found.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::diagnosis::Confidence;

    fn at(id: &str) -> StateRef {
        StateRef { id: id.into(), entity: "Node/m".parse().unwrap() }
    }

    fn state(id: &str, status: Status) -> State {
        let StateRef { id, entity } = at(id);
        State {
            id,
            entity,
            status,
            since: None,
            summary: String::new(),
            evidence: Vec::new(),
            note: false,
        }
    }

    fn edge(from: &str, to: &str) -> Edge {
        Edge { from: at(from), to: at(to), rule: String::new(), because: String::new() }
    }

    fn root(id: &str, explains: &[&str]) -> Root {
        let StateRef { id, entity } = at(id);
        Root {
            id,
            entity,
            confidence: Confidence::Confirmed,
            since: None,
            summary: String::new(),
            explains: explains.iter().map(|id| at(id)).collect(),
            evidence: Vec::new(),
            repairs: Vec::new(),
            folklore: Vec::new(),
            ties: Vec::new(),
        }
    }

    fn entry(id: &str) -> Suppression {
        Suppression {
            id: id.into(),
            entity: None,
            reason: "known".into(),
            until: "2027-01-31".parse().unwrap(),
        }
    }

    fn now() -> Option<Time> {
        Some("2026-11-16T00:00:00Z".parse().unwrap())
    }

    #[test]
    fn an_accepted_root_takes_its_effects_along_but_not_those_of_others() {
        let states = ["a", "b", "c", "d"].map(|id| state(id, Status::Active));
        let edges = [edge("a", "b"), edge("b", "c"), edge("d", "c")];
        let roots = [root("a", &["b", "c"]), root("d", &["c"])];
        let done = accept(&[entry("a")], now(), (&states, &edges, &roots), |_| true);
        assert!(done.drops(&at("a")) && !done.drops(&at("d")));
        assert!(done.covers(&at("b")) && !done.covers(&at("c")));
        assert_eq!(done.suppressed[0].explains, [at("b")]);
        assert!(done.notes.is_empty());
    }

    #[test]
    fn an_accepted_symptom_leaves_its_cause_to_blame_unless_that_was_a_guess() {
        let edges = [edge("a", "b"), edge("b", "c")];
        let roots = [root("a", &["b", "c"])];
        let seen = ["a", "b", "c"].map(|id| state(id, Status::Active));
        let done = accept(&[entry("b")], now(), (&seen, &edges, &roots), |_| true);
        assert!(!done.drops(&at("a")));
        let guessed =
            [state("a", Status::Unknown), state("b", Status::Active), state("c", Status::Active)];
        let done = accept(&[entry("b")], now(), (&guessed, &edges, &roots), |_| true);
        assert!(done.drops(&at("a")));
        assert_eq!(done.suppressed[0].explains, [at("c")]);
        let done = accept(&[entry("a")], now(), (&guessed, &edges, &roots), |_| true);
        assert!(done.suppressed.is_empty() && !done.drops(&at("a")));
    }

    #[test]
    fn what_is_over_matched_nothing_or_has_no_time_is_told() {
        let states = [state("a", Status::Active)];
        let told = |entry: Suppression, now| {
            accept(&[entry], now, (&states, &[], &[]), |id| id != "q").notes
        };
        assert!(told(entry("a"), Some("2027-01-31T23:59:59Z".parse().unwrap())).is_empty());
        let late = Some("2027-02-01T00:00:00Z".parse().unwrap());
        assert_eq!(
            told(entry("a"), late),
            ["suppression of a is not applied: it ended on 2027-01-31"]
        );
        assert!(told(entry("a"), None)[0].contains("the time of the gather is unknown"));
        assert_eq!(told(entry("b"), now()), ["suppression of b met nothing in this data"]);
        assert!(told(entry("q"), now())[0].ends_with("; no rule has that id"));
        let elsewhere = Suppression { entity: Some("Node/x*".into()), ..entry("a") };
        assert_eq!(
            told(elsewhere, now()),
            ["suppression of a on Node/x* met nothing in this data"]
        );
    }

    #[test]
    fn globs_fit_whole_names() {
        for (glob, text, fit) in [
            ("Node/m", "Node/m", true),
            ("Node/m", "Node/m1", false),
            ("Node/*", "Node/m1", true),
            ("*", "Pod/a/b", true),
            ("Pod/*/etcd-*", "Pod/openshift-etcd/etcd-m", true),
            ("Pod/*/etcd-*-x", "Pod/openshift-etcd/etcd-m", false),
            ("*aba", "ab", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(glob, text), fit, "{glob} {text}");
        }
    }
}
