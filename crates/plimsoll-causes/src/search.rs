//! The best set of candidates of one component: a beam over small sets, then greedy additions.
//!
//! A set's score is the log of its prior times the chance of what was seen, against no candidate at
//! all. Every extra root pays its prior, so a set grows only while it explains more.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::candidates::{Candidate, Component, Slot};
use crate::weights::{SHIFTS, Shift, rounded};

/// Sets kept at each size, sizes tried in full breadth, and sets remembered for the runner-ups.
const BEAM: usize = 8;
const BROAD_SIZE: usize = 3;
const REMEMBERED: usize = 12;

/// Share of a candidate's expected effects that must be seen for the set cover to consider it.
const HIT_RATIO: f64 = 0.6;

/// Candidates by their place in the component, ascending.
pub(crate) type RootSet = Vec<usize>;

pub(crate) struct Found {
    pub(crate) best: RootSet,
    /// The best sets with their scores, best first; the empty set is always among them.
    pub(crate) ranked: Vec<(RootSet, f64)>,
}

/// The component with some candidates applied.
pub(crate) struct Board<'component> {
    component: &'component Component,
    miss: Vec<f64>,
    touched: Vec<usize>,
}

impl<'component> Board<'component> {
    pub(crate) fn new(component: &'component Component) -> Self {
        let miss = component.slots.iter().map(|slot| slot.miss).collect();
        Board { component, miss, touched: Vec::new() }
    }

    /// Starts over with the given candidates and returns their score.
    pub(crate) fn load(&mut self, set: &[usize]) -> f64 {
        for slot in self.touched.drain(..) {
            self.miss[slot] = self.component.slots[slot].miss;
        }
        set.iter().map(|&candidate| self.add(candidate)).sum()
    }

    fn add(&mut self, candidate: usize) -> f64 {
        let gain = self.gain(candidate);
        for &(slot, chance) in &self.component.candidates[candidate].hits {
            self.miss[slot] *= 1.0 - chance;
            self.touched.push(slot);
        }
        gain
    }

    /// What adding the candidate would do to the score.
    pub(crate) fn gain(&self, candidate: usize) -> f64 {
        let Candidate { log_prior, hits, .. } = &self.component.candidates[candidate];
        let evidence = |&(slot, chance): &(usize, f64)| {
            let of = &self.component.slots[slot];
            log_chance(of, self.miss[slot] * (1.0 - chance)) - log_chance(of, self.miss[slot])
        };
        log_prior + hits.iter().map(evidence).sum::<f64>()
    }
}

fn log_chance(slot: &Slot, miss: f64) -> f64 {
    let fires = slot.detector.fires(1.0 - miss);
    if slot.seen { fires.ln() } else { (1.0 - fires).ln() }
}

pub(crate) fn search(component: &Component) -> Found {
    let mut board = Board::new(component);
    let mut ranked: Vec<(RootSet, f64)> = vec![(Vec::new(), 0.0)];
    let mut beam = ranked.clone();
    for _ in 0..BROAD_SIZE {
        beam = widen(&mut board, &beam);
        ranked.extend(beam.iter().cloned());
    }
    sort(&mut ranked);
    let grown = grow(&mut board, &ranked[0].0);
    let best = prune(&mut board, grown);
    let score = board.load(&best);
    if !ranked.iter().any(|(set, _)| *set == best) {
        ranked.insert(0, (best.clone(), score));
    }
    let nothing = ranked.iter().find(|(set, _)| set.is_empty()).cloned();
    ranked.truncate(REMEMBERED);
    if !ranked.iter().any(|(set, _)| set.is_empty()) {
        ranked.extend(nothing);
    }
    Found { best, ranked }
}

fn sort(sets: &mut [(RootSet, f64)]) {
    sets.sort_by(|(set, score), (other, than)| {
        rounded(*than).cmp(&rounded(*score)).then_with(|| set.cmp(other))
    });
}

/// The best sets with one candidate more.
fn widen(board: &mut Board, beam: &[(RootSet, f64)]) -> Vec<(RootSet, f64)> {
    let mut tried = BTreeSet::new();
    let mut wider = Vec::new();
    for (set, _) in beam {
        let score = board.load(set);
        for candidate in 0..board.component.candidates.len() {
            let Err(at) = set.binary_search(&candidate) else { continue };
            let gain = board.gain(candidate);
            let mut larger = set.clone();
            larger.insert(at, candidate);
            if tried.insert(larger.clone()) {
                wider.push((larger, score + gain));
            }
        }
    }
    sort(&mut wider);
    wider.truncate(BEAM);
    wider
}

/// Adds whatever still pays. A gain only shrinks as others are added, so stale ones are upper bounds.
fn grow(board: &mut Board, start: &[usize]) -> RootSet {
    let mut set = start.to_vec();
    board.load(&set);
    let mut open: BinaryHeap<(i64, Reverse<usize>)> = (0..board.component.candidates.len())
        .filter(|candidate| !set.contains(candidate))
        .map(|candidate| (rounded(board.gain(candidate)), Reverse(candidate)))
        .collect();
    while let Some((_, Reverse(candidate))) = open.pop() {
        let gain = rounded(board.gain(candidate));
        let next = open.peek().map_or(i64::MIN, |&(bound, _)| bound);
        if gain <= 0 {
            continue;
        }
        if gain >= next {
            board.add(candidate);
            set.push(candidate);
        } else {
            open.push((gain, Reverse(candidate)));
        }
    }
    set.sort_unstable();
    set
}

/// Drops what no longer pays once the others are there.
fn prune(board: &mut Board, mut set: RootSet) -> RootSet {
    let mut at = 0;
    while at < set.len() {
        let mut fewer = set.clone();
        let candidate = fewer.remove(at);
        board.load(&fewer);
        if rounded(board.gain(candidate)) <= 0 {
            set = fewer;
        } else {
            at += 1;
        }
    }
    set
}

/// Whether moving all numbers of the table changes the best set.
pub(crate) fn is_sensitive(component: &Component, best: &RootSet) -> bool {
    SHIFTS.iter().any(|&shift| search(&shifted(component, shift)).best != *best)
}

fn shifted(component: &Component, shift: Shift) -> Component {
    let candidates = component
        .candidates
        .iter()
        .map(|candidate| Candidate {
            node: candidate.node,
            log_prior: candidate.log_prior + shift.prior.ln(),
            hits: candidate.hits.iter().map(|&(slot, p)| (slot, shift.chance(p))).collect(),
            hidden: Vec::new(),
        })
        .collect();
    Component { slots: component.slots.clone(), candidates }
}

/// The cruder method: of the candidates most of whose expected effects are seen, the one that covers
/// most riddles. It agrees when the best set holds such a candidate.
pub(crate) fn cover_agrees(component: &Component, best: &RootSet) -> bool {
    let covers: Vec<usize> = component
        .candidates
        .iter()
        .map(|candidate| {
            let expected = candidate.hits.iter().filter(|&&(_, chance)| chance >= 0.5);
            let seen = expected.clone().filter(|&&(slot, _)| component.slots[slot].seen).count();
            let riddles = candidate.hits.iter().filter(|&&(slot, _)| component.slots[slot].needy);
            if seen as f64 >= HIT_RATIO * expected.count() as f64 { riddles.count() } else { 0 }
        })
        .collect();
    let widest = covers.iter().max().copied().unwrap_or(0);
    best.is_empty() || best.iter().any(|&candidate| covers[candidate] == widest)
}
