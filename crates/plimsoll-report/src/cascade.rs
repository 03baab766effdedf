//! From the edges of a diagnosis to trees that can be drawn: every state once, under its
//! shallowest cause, many of a kind as one. Rings end by that; no recursion, so that a chain of
//! any length is safe.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::diagnosis::{Diagnosis, Root, State, StateRef};
use plimsoll_model::{EntityId, Time};

/// Up to this many siblings in the same state are worth a line each.
const SIBLINGS_SHOWN: usize = 3;

/// A state of an entity.
pub type Key<'a> = (&'a str, &'a EntityId);

pub fn key(state: &StateRef) -> Key<'_> {
    (&state.id, &state.entity)
}

pub fn root_key(root: &Root) -> Key<'_> {
    (&root.id, &root.entity)
}

pub struct Graph<'a> {
    pub states: BTreeMap<Key<'a>, &'a State>,
    /// With the mechanism of each.
    effects: BTreeMap<Key<'a>, BTreeMap<Key<'a>, &'a str>>,
    onsets: BTreeMap<Key<'a>, Time>,
}

impl<'a> Graph<'a> {
    pub fn of(diagnosis: &'a Diagnosis) -> Self {
        let mut graph =
            Self { states: BTreeMap::new(), effects: BTreeMap::new(), onsets: BTreeMap::new() };
        for root in &diagnosis.roots {
            graph.onsets.extend(root.since.map(|since| (root_key(root), since)));
        }
        for state in &diagnosis.states {
            let key = (state.id.as_str(), &state.entity);
            graph.states.insert(key, state);
            graph.onsets.extend(state.since.map(|since| (key, since)));
        }
        for edge in &diagnosis.edges {
            graph.effects.entry(key(&edge.from)).or_default().insert(key(&edge.to), &edge.because);
        }
        graph
    }

    pub fn effects(&self, cause: Key<'a>) -> impl Iterator<Item = Key<'a>> {
        self.effects.get(&cause).into_iter().flat_map(|effects| effects.keys()).copied()
    }

    pub fn because(&self, cause: Key<'a>, effect: Key<'a>) -> Option<&'a str> {
        self.effects.get(&cause)?.get(&effect).copied()
    }

    pub fn since(&self, state: Key<'a>) -> Option<Time> {
        self.onsets.get(&state).copied()
    }
}

pub struct Node<'a> {
    /// The same state on one entity, or on more than [`SIBLINGS_SHOWN`].
    pub members: Vec<Key<'a>>,
    /// Onset of the earliest member.
    pub since: Option<Time>,
    pub depth: usize,
    pub parent: Option<usize>,
    pub children: Vec<usize>,
}

/// Breadth first: a parent stands before its children, the shallow before the deep.
pub struct Cascade<'a> {
    pub nodes: Vec<Node<'a>>,
}

/// What one root produced. Other roots are not entered; they have a tree of their own.
pub fn cascade_of<'a>(graph: &Graph<'a>, diagnosis: &'a Diagnosis, root: &'a Root) -> Cascade<'a> {
    let others = diagnosis.roots.iter().map(root_key).filter(|other| *other != root_key(root));
    let mut seen: BTreeSet<Key> = others.collect();
    let mut caused = causes_first(graph, &[root_key(root)], &mut seen);
    attach_loose(root, &mut seen, &mut caused);
    fold(graph, &[root_key(root)], &caused)
}

/// All roots at once; a state that two roots reach stands under the nearer one. `more` are
/// further starting points, used as far as no root leads to them.
pub fn forest<'a>(graph: &Graph<'a>, diagnosis: &'a Diagnosis, more: &[Key<'a>]) -> Cascade<'a> {
    let mut tops: Vec<Key> = diagnosis.roots.iter().map(root_key).collect();
    let mut seen = BTreeSet::new();
    let mut caused = causes_first(graph, &tops, &mut seen);
    for root in &diagnosis.roots {
        attach_loose(root, &mut seen, &mut caused);
    }
    for top in more {
        if !seen.contains(top) {
            tops.push(*top);
            caused.extend(causes_first(graph, &[*top], &mut seen));
        }
    }
    fold(graph, &tops, &caused)
}

type Caused<'a> = BTreeMap<Key<'a>, Vec<Key<'a>>>;

/// Effects by their best cause, level by level from the tops.
fn causes_first<'a>(
    graph: &Graph<'a>,
    tops: &[Key<'a>],
    seen: &mut BTreeSet<Key<'a>>,
) -> Caused<'a> {
    let mut caused = Caused::new();
    let mut level: Vec<Key> = tops.iter().copied().filter(|top| seen.insert(*top)).collect();
    while !level.is_empty() {
        level.sort_unstable();
        let mut next = Vec::new();
        for cause in level {
            let new: Vec<Key> =
                graph.effects(cause).filter(|effect| seen.insert(*effect)).collect();
            next.extend_from_slice(&new);
            caused.entry(cause).or_default().extend(new);
        }
        level = next;
    }
    caused
}

/// What a root is said to explain though no edge leads there must not get lost.
fn attach_loose<'a>(root: &'a Root, seen: &mut BTreeSet<Key<'a>>, caused: &mut Caused<'a>) {
    let loose = root.explains.iter().map(key).filter(|state| seen.insert(*state));
    caused.entry(root_key(root)).or_default().extend(loose);
}

fn fold<'a>(graph: &Graph<'a>, tops: &[Key<'a>], caused: &Caused<'a>) -> Cascade<'a> {
    let mut placed = BTreeSet::new();
    let mut nodes: Vec<Node> = tops
        .iter()
        .filter(|top| placed.insert(**top))
        .map(|top| node(graph, vec![*top], None, 0))
        .collect();
    let mut at = 0;
    while let Some(parent) = nodes.get(at) {
        let depth = parent.depth + 1;
        let effects = parent.members.iter().filter_map(|member| caused.get(member)).flatten();
        let mut children: Vec<Node> = groups(effects.copied())
            .into_iter()
            .map(|members| node(graph, members, Some(at), depth))
            .collect();
        children.sort_by_key(|child| {
            (child.since.is_none(), child.since, child.members.first().copied())
        });
        let first = nodes.len();
        let indices = (first..first + children.len()).collect();
        if let Some(parent) = nodes.get_mut(at) {
            parent.children = indices;
        }
        nodes.append(&mut children);
        at += 1;
    }
    Cascade { nodes }
}

fn node<'a>(
    graph: &Graph<'a>,
    members: Vec<Key<'a>>,
    parent: Option<usize>,
    depth: usize,
) -> Node<'a> {
    let since = members.iter().filter_map(|member| graph.since(*member)).min();
    Node { members, since, depth, parent, children: Vec::new() }
}

/// States sorted by id, many of the same id in one group, few in a group each.
pub fn groups<'a>(states: impl IntoIterator<Item = Key<'a>>) -> Vec<Vec<Key<'a>>> {
    let mut by_id: BTreeMap<&str, BTreeSet<Key>> = BTreeMap::new();
    for state in states {
        by_id.entry(state.0).or_default().insert(state);
    }
    let mut groups = Vec::new();
    for members in by_id.into_values() {
        if members.len() > SIBLINGS_SHOWN {
            groups.push(members.into_iter().collect());
        } else {
            groups.extend(members.into_iter().map(|member| vec![member]));
        }
    }
    groups
}

impl<'a> Cascade<'a> {
    /// Why this node is where it is: the mechanism from a member of its parent.
    pub fn because(&self, graph: &Graph<'a>, at: usize) -> Option<&'a str> {
        let node = self.nodes.get(at)?;
        let effect = node.members.first()?;
        let parent = self.nodes.get(node.parent?)?;
        parent.members.iter().find_map(|cause| graph.because(*cause, *effect))
    }

    /// Parents before children, children in their order; `keep` tells which nodes to enter.
    pub fn preorder(&self, keep: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut order = Vec::new();
        let tops = (0..self.nodes.len())
            .take_while(|at| self.nodes.get(*at).is_some_and(|node| node.parent.is_none()));
        let mut stack: Vec<usize> = tops.collect();
        stack.reverse();
        while let Some(at) = stack.pop() {
            if !keep(at) {
                continue;
            }
            order.push(at);
            if let Some(node) = self.nodes.get(at) {
                stack.extend(node.children.iter().rev());
            }
        }
        order
    }
}
