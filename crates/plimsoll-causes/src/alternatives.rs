//! Runner-ups: what else could stand where a root stands, and what would tell the two apart.

use std::cmp::Reverse;

use crate::Alternative;
use crate::candidates::Component;
use crate::hypotheses::{chance_under, unknowns};
use crate::net::Net;
use crate::search::{Board, RootSet};
use crate::spread::{Place, Spread};
use crate::weights::{SHOWN_ODDS, TIE_ODDS, UNSEEN_ODDS, displaces, rounded};

/// Runner-ups shown for one root, and unknowns shown for one runner-up.
const MOST_ALTERNATIVES: usize = 5;
const MOST_SEPARATORS: usize = 5;

/// Difference of an unknown's chance between two explanations that makes it worth naming.
const TELLING: f64 = 0.3;

pub(crate) struct Rivals<'all, 'graph> {
    pub(crate) net: &'all Net<'graph>,
    pub(crate) base: &'all Spread,
    pub(crate) component: &'all Component,
    pub(crate) best: &'all RootSet,
}

impl Rivals<'_, '_> {
    /// `is_root` tells which nodes the explanation ended up with.
    pub(crate) fn alternatives(&self, is_root: impl Fn(usize) -> bool) -> Vec<Alternative> {
        let mut found = Vec::new();
        for at in 0..self.best.len() {
            found.extend(self.instead_of_chosen(at));
        }
        for slot in 0..self.component.slots.len() {
            let node = self.component.slots[slot].node;
            if self.base.place[node] == Place::Root && is_root(node) {
                found.extend(self.behind_seen(slot));
            }
        }
        found.retain(|alternative| is_root(alternative.instead_of) && !is_root(alternative.node));
        found
    }

    /// Candidates that solve a riddle of the chosen one, put in its place.
    fn instead_of_chosen(&self, at: usize) -> Vec<Alternative> {
        let chosen = self.best[at];
        let mut others = self.best.clone();
        others.remove(at);
        let mut board = Board::new(self.component);
        board.load(&others);
        let own_gain = board.gain(chosen);
        let riddles = self.riddles(chosen);
        let rivals = (0..self.component.candidates.len())
            .filter(|rival| !self.best.contains(rival))
            .filter(|&rival| self.riddles(rival).iter().any(|slot| riddles.contains(slot)))
            .map(|rival| (own_gain - board.gain(rival), rival));
        let instead_of = self.component.candidates[chosen].node;
        self.closest(rivals.collect(), instead_of, |rival| with(&others, rival))
    }

    /// Unknown causes that would make a seen root a mere effect. It is seen and they are not, so the
    /// price they paid for that is given back: the reader should know of them.
    fn behind_seen(&self, slot: usize) -> Vec<Alternative> {
        let node = self.component.slots[slot].node;
        let mut board = Board::new(self.component);
        board.load(self.best);
        let behind = |candidate: usize| {
            let hits = &self.component.candidates[candidate].hits;
            let chance = hits.iter().find(|hit| hit.0 == slot).map_or(0.0, |hit| hit.1);
            self.net.graph.prior(node).is_some_and(|prior| displaces(chance, prior))
        };
        let rivals = (0..self.component.candidates.len())
            .filter(|rival| !self.best.contains(rival) && behind(*rival))
            .filter(|&rival| self.net.graph.is_unknown(self.component.candidates[rival].node))
            .map(|rival| (-board.gain(rival) - UNSEEN_ODDS.ln(), rival));
        self.closest(rivals.collect(), node, |rival| with(self.best, rival))
    }

    fn riddles(&self, candidate: usize) -> Vec<usize> {
        let hits = self.component.candidates[candidate].hits.iter().map(|&(slot, _)| slot);
        hits.filter(|&slot| self.component.slots[slot].needy).collect()
    }

    fn closest(
        &self,
        mut rivals: Vec<(f64, usize)>,
        instead_of: usize,
        set_with: impl Fn(usize) -> RootSet,
    ) -> Vec<Alternative> {
        rivals.retain(|&(behind, _)| behind <= SHOWN_ODDS.ln());
        rivals.sort_by_key(|&(behind, rival)| (rounded(behind), rival));
        rivals.truncate(MOST_ALTERNATIVES);
        rivals
            .into_iter()
            .map(|(behind, rival)| Alternative {
                node: self.component.candidates[rival].node,
                instead_of,
                tie: behind <= TIE_ODDS.ln(),
                separated_by: self.separators(&set_with(rival)),
            })
            .collect()
    }

    fn separators(&self, other: &RootSet) -> Vec<usize> {
        let difference = |&node: &usize| {
            let one = chance_under(self.base, self.component, self.best, node);
            (one - chance_under(self.base, self.component, other, node)).abs()
        };
        let mut nodes = unknowns(self.net, self.component, [self.best, other].into_iter());
        nodes.retain(|node| difference(node) >= TELLING);
        nodes.sort_by_key(|node| (Reverse(rounded(difference(node))), *node));
        nodes.truncate(MOST_SEPARATORS);
        nodes
    }
}

fn with(set: &RootSet, candidate: usize) -> RootSet {
    let mut larger = set.clone();
    larger.push(candidate);
    larger.sort_unstable();
    larger
}
