//! Prints how long an explanation takes as the number of active states grows.
//!
//! `cargo run --release -p plimsoll-causes --example scale`

#![expect(clippy::print_stdout, reason = "printing the curve is what it is for")]

use std::time::{Duration, Instant};

use plimsoll_causes::{
    Explanation, Graph, Likelihood, Link, Node, Observed, Prior, Role, Strength, explain,
};

const LINKS_PER_NODE: usize = 3;
const RUNS: usize = 5;

/// Share of the states in percent; what is left is seen.
struct Mix {
    name: &'static str,
    unknown: u64,
    absent: u64,
    can_be_root: u64,
    /// Whether links may lead back, so that rings form.
    rings: bool,
    /// States that have to do with each other.
    block: u64,
}

const CLEAR: Mix =
    Mix { name: "all seen", unknown: 0, absent: 0, can_be_root: 5, rings: false, block: u64::MAX };
const FOGGY: Mix =
    Mix { name: "a third unknown", unknown: 33, absent: 10, can_be_root: 20, ..CLEAR };
const MIXES: [Mix; 5] = [
    CLEAR,
    FOGGY,
    Mix { name: "a third unknown, rings", rings: true, ..FOGGY },
    Mix { name: "a third unknown, many small incidents", block: 20, ..FOGGY },
    Mix { name: "two thirds unknown, any can be a root", unknown: 66, can_be_root: 100, ..FOGGY },
];

fn main() {
    for mix in MIXES {
        println!("{}", mix.name);
        println!("  active   links      ms   µs/active   roots  unexplained  deadlocks");
        for active in [1000, 2000, 5000, 10_000, 20_000] {
            let graph = a_graph(active, &mix);
            let (spent, told) = quickest(&graph);
            let micros = spent.as_secs_f64() * 1e6;
            println!(
                "{active:>8} {:>7} {:>7.1} {:>11.2} {:>7} {:>12} {:>10}",
                graph.links.len(),
                micros / 1e3,
                micros / active as f64,
                told.roots.len(),
                told.unexplained.len(),
                told.deadlocks.len(),
            );
        }
    }
}

fn quickest(graph: &Graph) -> (Duration, Explanation) {
    let mut best = (Duration::MAX, Explanation::default());
    for _ in 0..RUNS {
        let start = Instant::now();
        let told = explain(graph);
        best = (best.0.min(start.elapsed()), told);
    }
    best
}

/// Links reach a little way back or (with rings) ahead, as the parts of a cluster do.
fn a_graph(active: usize, mix: &Mix) -> Graph {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut roll = move |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % bound
    };
    let mut graph = Graph::default();
    let mut seen = 0;
    while seen < active {
        let observed = match roll(100) {
            share if share < mix.unknown => Observed::Unknown,
            share if share < mix.unknown + mix.absent => Observed::False,
            _ => Observed::True,
        };
        seen += usize::from(observed == Observed::True);
        graph.nodes.push(Node {
            observed,
            strength: if roll(4) == 0 { Strength::Weak } else { Strength::Strong },
            provable: true,
            root: (roll(100) < mix.can_be_root).then_some(Prior::Uncommon),
            role: Role::Fault,
            since: None,
            since_exact: true,
        });
    }
    let count = graph.nodes.len() as u64;
    let farthest = mix.block.min(100);
    for effect in 0..count {
        for _ in 0..LINKS_PER_NODE {
            let back = effect.saturating_sub(1 + roll(farthest));
            let ahead = (effect + 1 + roll(farthest)).min(count - 1);
            let cause = if mix.rings && roll(50) == 0 { ahead } else { back };
            if cause == effect || cause / mix.block != effect / mix.block {
                continue;
            }
            graph.links.push(Link {
                cause: cause as usize,
                effect: effect as usize,
                likelihood: [Likelihood::Always, Likelihood::Usually, Likelihood::Sometimes]
                    [roll(3) as usize],
                delay_min: None,
                delay_max: None,
            });
        }
    }
    graph
}
