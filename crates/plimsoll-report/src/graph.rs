//! Places for the boxes and arrows of the cascade graph: causes left, effects right, every branch
//! in rows of its own. Numbers only; colours and fonts are in the template.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::Diagnosis;

use crate::cascade::{Cascade, Key, forest, key};
use crate::digest::{Digest, entities};
use crate::ring::ring;
use crate::wrap::{cut_end, cut_entity};
use crate::{safe, when};

/// More boxes than this no eye can follow; the table of states has the rest.
const MOST_BOXES: usize = 150;
const DEEPEST: usize = 20;

pub const BOX_WIDTH: usize = 250;
pub const BOX_HEIGHT: usize = 44;
const COLUMN: usize = BOX_WIDTH + 40;
const ROW: usize = BOX_HEIGHT + 14;
const MARGIN: usize = 8;
/// Below the last row, for the arrows that lead back.
const UNDERNEATH: usize = 40;
/// What fits into a box in the fonts of the template.
const LABEL_CHARACTERS: usize = 32;
const ENTITY_CHARACTERS: usize = 30;

pub struct Drawing {
    pub width: usize,
    pub height: usize,
    pub boxes: Vec<StateBox>,
    pub arrows: Vec<Arrow>,
    /// States without a box.
    pub hidden: usize,
}

pub struct StateBox {
    pub x: usize,
    pub y: usize,
    pub class: &'static str,
    pub label: String,
    pub entity: String,
    pub time: String,
    /// In full, for the pointer.
    pub title: String,
}

pub struct Arrow {
    pub path: String,
    /// Beside the tree: a second cause, or the way back in a ring.
    pub extra: bool,
    pub because: String,
}

/// Nothing where there is no cascade to draw.
pub fn drawing<'a>(d: &'a Diagnosis, digest: &Digest<'a>) -> Option<Drawing> {
    let entries: Vec<Key> = d
        .deadlocks
        .iter()
        .filter_map(|deadlock| ring(&digest.graph, deadlock).turn.first().copied())
        .collect();
    let forest = forest(&digest.graph, d, &entries);
    let keep = |at: usize| {
        at < MOST_BOXES && forest.nodes.get(at).is_some_and(|node| node.depth <= DEEPEST)
    };
    let order = forest.preorder(keep);
    if order.is_empty() {
        return None;
    }
    let places = places(&forest, &order);
    let states = |at: &usize| forest.nodes.get(*at).map_or(0, |node| node.members.len());
    let all: usize = forest.nodes.iter().map(|node| node.members.len()).sum();
    let held: BTreeSet<Key> =
        d.deadlocks.iter().flat_map(|deadlock| &deadlock.members).map(key).collect();
    let boxes = order
        .iter()
        .filter_map(|at| state_box(d, digest, &forest, *at, places.get(at)?, &held))
        .collect();
    let right = places.values().map(|(x, _)| *x).max().unwrap_or(0);
    let bottom = places.values().map(|(_, y)| *y).max().unwrap_or(0);
    Some(Drawing {
        width: right + BOX_WIDTH + MARGIN,
        height: bottom + BOX_HEIGHT + UNDERNEATH,
        boxes,
        arrows: arrows(d, digest, &forest, &places),
        hidden: all - order.iter().map(states).sum::<usize>(),
    })
}

type Places = BTreeMap<usize, (usize, usize)>;

/// Leaves get the rows from top to bottom, a cause the middle of its effects.
fn places(forest: &Cascade, order: &[usize]) -> Places {
    let drawn: BTreeSet<usize> = order.iter().copied().collect();
    let mut rows: Places = Places::new();
    let mut next_row = MARGIN;
    for at in order {
        let Some(node) = forest.nodes.get(*at) else { continue };
        if !node.children.iter().any(|child| drawn.contains(child)) {
            rows.insert(*at, (MARGIN + node.depth * COLUMN, next_row));
            next_row += ROW;
        }
    }
    for at in order.iter().rev() {
        let Some(node) = forest.nodes.get(*at) else { continue };
        let below = node.children.iter().filter_map(|child| rows.get(child)).map(|(_, y)| *y);
        let (low, high) = (below.clone().min(), below.max());
        if let (Some(low), Some(high)) = (low, high) {
            rows.insert(*at, (MARGIN + node.depth * COLUMN, usize::midpoint(low, high)));
        }
    }
    rows
}

fn state_box(
    d: &Diagnosis,
    digest: &Digest,
    forest: &Cascade,
    at: usize,
    (x, y): &(usize, usize),
    held: &BTreeSet<Key>,
) -> Option<StateBox> {
    let node = forest.nodes.get(at)?;
    let first = node.members.first()?;
    let (id, entity) = (safe::line(first.0), entities(&node.members));
    let time = node.since.map(|since| when::moment(since, d.generated_for)).unwrap_or_default();
    let label = match digest.roots.get(first) {
        Some(number) => format!("{number}. {id}"),
        None => id.clone(),
    };
    let class = match (digest.roots.contains_key(first), held.contains(first)) {
        (true, _) => "root",
        (_, true) => "held",
        _ => "symptom",
    };
    Some(StateBox {
        x: *x,
        y: *y,
        class,
        label: cut_end(&label, LABEL_CHARACTERS),
        entity: cut_entity(&entity, ENTITY_CHARACTERS),
        title: format!("{id} on {entity} {time}"),
        time,
    })
}

fn arrows(d: &Diagnosis, digest: &Digest, forest: &Cascade, places: &Places) -> Vec<Arrow> {
    let mut arrows = Vec::new();
    let mut drawn = BTreeSet::new();
    let mut node_of: BTreeMap<Key, usize> = BTreeMap::new();
    for at in places.keys() {
        let Some(node) = forest.nodes.get(*at) else { continue };
        node_of.extend(node.members.iter().map(|member| (*member, *at)));
        let Some((parent, from)) =
            node.parent.and_then(|parent| Some((parent, places.get(&parent)?)))
        else {
            continue;
        };
        drawn.insert((parent, *at));
        if let Some(to) = places.get(at) {
            let because = forest.because(&digest.graph, *at).map(safe::line).unwrap_or_default();
            arrows.push(Arrow { path: forward(from, to), extra: false, because });
        }
    }
    for edge in &d.edges {
        let (Some(from), Some(to)) = (node_of.get(&key(&edge.from)), node_of.get(&key(&edge.to)))
        else {
            continue;
        };
        if from == to || !drawn.insert((*from, *to)) {
            continue;
        }
        if let (Some(start), Some(end)) = (places.get(from), places.get(to)) {
            let path = if start.0 < end.0 { forward(start, end) } else { back(start, end) };
            arrows.push(Arrow { path, extra: true, because: safe::line(&edge.because) });
        }
    }
    arrows
}

fn forward((x1, y1): &(usize, usize), (x2, y2): &(usize, usize)) -> String {
    let (start, middle) = (x1 + BOX_WIDTH, usize::midpoint(x1 + BOX_WIDTH, *x2));
    let (y1, y2) = (y1 + BOX_HEIGHT / 2, y2 + BOX_HEIGHT / 2);
    format!("M{start},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}")
}

/// Underneath the boxes, since it runs against the reading direction.
fn back((x1, y1): &(usize, usize), (x2, y2): &(usize, usize)) -> String {
    let (x1, x2) = (x1 + BOX_WIDTH / 2, x2 + BOX_WIDTH / 2);
    let (y1, y2) = (y1 + BOX_HEIGHT, y2 + BOX_HEIGHT);
    let low = y1.max(y2) + UNDERNEATH;
    format!("M{x1},{y1} C{x1},{low} {x2},{low} {x2},{y2}")
}
