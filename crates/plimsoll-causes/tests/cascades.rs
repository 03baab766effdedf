//! How often the right roots are found in simulated cascades: six layers of forty states, real
//! strengths drawn at random around the words, and only the words given to the inference.

mod support;

use plimsoll_causes::{Graph, Likelihood, Node, Observed, Prior, Strength, explain};
use support::{Dice, link, roots, seen};

const LAYERS: usize = 6;
const WIDTH: usize = 40;
const WITHOUT_DETECTOR: f64 = 0.15;
const CASES: usize = 150;
const FEWEST_SYMPTOMS: usize = 4;

struct View {
    unknown: f64,
    miss: f64,
    alarm: f64,
    strength: Strength,
}

const CLEAR: View = View { unknown: 0.0, miss: 0.0, alarm: 0.0, strength: Strength::Strong };
const FOGGY: View = View { unknown: 0.3, miss: 0.05, alarm: 0.01, strength: Strength::Weak };

struct World {
    graph: Graph,
    /// The real strength of every link.
    strengths: Vec<f64>,
}

fn a_world(dice: &mut Dice) -> World {
    let mut graph = Graph::default();
    let mut strengths = Vec::new();
    for state in 0..LAYERS * WIDTH {
        let layer = state / WIDTH;
        let can_be_root = layer == 0 || dice.chance(0.3);
        let prior = [Prior::Common, Prior::Uncommon, Prior::Rare][dice.below(3)];
        graph.nodes.push(Node { root: can_be_root.then_some(prior), ..seen() });
        if layer == 0 {
            continue;
        }
        for _ in 0..1 + dice.below(3) {
            let cause = (layer - 1) * WIDTH + dice.below(WIDTH);
            let (word, low, high) = match dice.below(10) {
                0..3 => (Likelihood::Always, 0.95, 1.0),
                3..7 => (Likelihood::Usually, 0.65, 0.95),
                7..9 => (Likelihood::Sometimes, 0.25, 0.6),
                _ => (Likelihood::Rarely, 0.03, 0.2),
            };
            graph.links.push(link(cause, state, word));
            strengths.push(dice.between(low, high));
        }
    }
    World { graph, strengths }
}

/// Lets the roots take their course, and returns who is hit. Links lead to later states only.
fn cascade(world: &World, roots: &[usize], dice: &mut Dice) -> Vec<bool> {
    let mut hit = vec![false; world.graph.nodes.len()];
    for &root in roots {
        hit[root] = true;
    }
    for (link, &strength) in world.graph.links.iter().zip(&world.strengths) {
        if hit[link.cause] && dice.chance(strength) {
            hit[link.effect] = true;
        }
    }
    hit
}

fn look(graph: &mut Graph, hit: &[bool], view: &View, dice: &mut Dice) -> usize {
    let mut symptoms = 0;
    for (node, &hit) in graph.nodes.iter_mut().zip(hit) {
        let fires = if hit { !dice.chance(view.miss) } else { dice.chance(view.alarm) };
        let blind = dice.chance(WITHOUT_DETECTOR) || dice.chance(view.unknown);
        node.strength = view.strength;
        node.observed = match (blind, fires) {
            (true, _) => Observed::Unknown,
            (false, true) => Observed::True,
            (false, false) => Observed::False,
        };
        symptoms += usize::from(hit && node.observed == Observed::True);
    }
    symptoms
}

fn weighted_root(graph: &Graph, dice: &mut Dice) -> usize {
    loop {
        let node = dice.below(graph.nodes.len());
        let keep = match graph.nodes[node].root {
            Some(Prior::Common) => 1.0,
            Some(Prior::Uncommon) => 0.25,
            Some(Prior::Rare) => 0.025,
            None => 0.0,
        };
        if dice.chance(keep) {
            return node;
        }
    }
}

/// Share of cases with exactly the right root set.
fn accuracy(view: &View, faults: usize) -> f64 {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut cases, mut right) = (0, 0);
    while cases < CASES {
        let world = a_world(&mut dice);
        let mut truth: Vec<usize> =
            (0..faults).map(|_| weighted_root(&world.graph, &mut dice)).collect();
        truth.sort_unstable();
        truth.dedup();
        let hit = cascade(&world, &truth, &mut dice);
        let mut graph = world.graph;
        if look(&mut graph, &hit, view, &mut dice) < FEWEST_SYMPTOMS {
            continue;
        }
        cases += 1;
        right += usize::from(roots(&explain(&graph)) == truth);
    }
    right as f64 / cases as f64
}

#[test]
fn one_fault_in_plain_view_is_found() {
    let share = accuracy(&CLEAR, 1);
    println!("one fault, plain view: {share:.2}");
    assert!(share >= 0.9, "{share}");
}

#[test]
fn one_fault_in_fog_is_found_more_often_than_not() {
    let share = accuracy(&FOGGY, 1);
    println!("one fault, fog: {share:.2}");
    assert!(share >= 0.55, "{share}");
}

#[test]
fn two_faults_in_plain_view_are_told_apart() {
    let share = accuracy(&CLEAR, 2);
    println!("two faults, plain view: {share:.2}");
    assert!(share >= 0.6, "{share}");
}
