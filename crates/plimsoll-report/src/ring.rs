//! The order in which the members of a deadlock wait for each other. Members come sorted by name;
//! only edges say who holds whom.

use std::collections::BTreeSet;

use plimsoll_model::diagnosis::Deadlock;

use crate::cascade::{Graph, Key, key};

/// Knots of many crossing rings have too many turns to try them all.
const STEPS: usize = 20_000;

pub struct Ring<'a> {
    /// Each causes the next, the last the first. Empty when the edges show no ring.
    pub turn: Vec<Key<'a>>,
    /// Members beside that turn.
    pub beside: Vec<Key<'a>>,
}

pub fn ring<'a>(graph: &Graph<'a>, deadlock: &'a Deadlock) -> Ring<'a> {
    let members: BTreeSet<Key> = deadlock.members.iter().map(key).collect();
    let turn = start(graph, deadlock, &members)
        .map(|start| longest_turn(graph, start, &members))
        .unwrap_or_default();
    let drawn: BTreeSet<Key> = turn.iter().copied().collect();
    let beside = members.difference(&drawn).copied().collect();
    Ring { turn, beside }
}

/// Where the ring was entered, else its oldest member.
fn start<'a>(
    graph: &Graph<'a>,
    deadlock: &'a Deadlock,
    members: &BTreeSet<Key<'a>>,
) -> Option<Key<'a>> {
    let entry = deadlock.entry.as_ref().map(key);
    let entered = entry.and_then(|entry| {
        if members.contains(&entry) {
            return Some(entry);
        }
        graph.effects(entry).find(|effect| members.contains(effect))
    });
    entered.or_else(|| {
        members.iter().copied().min_by_key(|member| {
            let since = graph.since(*member);
            (since.is_none(), since, *member)
        })
    })
}

fn longest_turn<'a>(
    graph: &Graph<'a>,
    start: Key<'a>,
    members: &BTreeSet<Key<'a>>,
) -> Vec<Key<'a>> {
    let next = |state: Key<'a>| -> Vec<Key<'a>> {
        let mut effects: Vec<Key> =
            graph.effects(state).filter(|effect| members.contains(effect)).collect();
        effects.reverse();
        effects
    };
    let mut longest = Vec::new();
    let mut path = vec![start];
    let mut on_path = BTreeSet::from([start]);
    let mut choices = vec![next(start)];
    for _ in 0..STEPS {
        let Some(open) = choices.last_mut() else { break };
        match open.pop() {
            Some(effect) if effect == start && path.len() > longest.len() => {
                longest.clone_from(&path);
                if longest.len() == members.len() {
                    break;
                }
            }
            Some(effect) if on_path.insert(effect) => {
                path.push(effect);
                choices.push(next(effect));
            }
            Some(_) => {}
            None => {
                choices.pop();
                if let Some(done) = path.pop() {
                    on_path.remove(&done);
                }
            }
        }
    }
    longest
}
