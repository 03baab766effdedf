//! Which unknown node, once looked at, would tell most. One step ahead; what a look costs is not
//! known here.

use crate::NextCheck;
use crate::candidates::Component;
use crate::hypotheses::{Hypothesis, chance_under, unknowns};
use crate::net::Net;
use crate::spread::Spread;
use crate::weights::{self, rounded};

/// Checks kept for one component, and the least information that makes one worthwhile.
const MOST_CHECKS: usize = 20;
const LEAST_GAIN_BITS: f64 = 0.01;

/// Change of a root's standing that counts as telling it apart.
const TELLING: f64 = 0.1;

pub(crate) fn next_checks(
    net: &Net,
    base: &Spread,
    component: &Component,
    hypotheses: &[Hypothesis],
    is_fancied: impl Fn(usize) -> bool,
) -> Vec<NextCheck> {
    let sets = hypotheses.iter().map(|hypothesis| &hypothesis.set);
    let mut checks: Vec<NextCheck> = unknowns(net, component, sets)
        .into_iter()
        .map(|node| {
            let detector = weights::detector(net.graph.nodes[node].strength);
            let fires = hypotheses.iter().map(|hypothesis| {
                detector.fires(chance_under(base, component, &hypothesis.set, node))
            });
            check(node, hypotheses, &fires.collect::<Vec<f64>>())
        })
        .collect();
    sort(&mut checks);
    let mut kept = 0;
    checks.retain(|check| {
        let worthwhile = check.gain >= LEAST_GAIN_BITS && kept < MOST_CHECKS;
        kept += usize::from(worthwhile);
        // Whoever is suspected must be told how to confirm it, however sure the numbers are.
        worthwhile || is_fancied(check.node)
    });
    checks
}

fn sort(checks: &mut [NextCheck]) {
    checks.sort_by_key(|check| (-rounded(check.gain), check.node));
}

/// A node that several components would look at counts once, by its largest gain.
pub(crate) fn keep_best(checks: &mut Vec<NextCheck>) {
    checks.sort_by_key(|check| (check.node, -rounded(check.gain)));
    checks.dedup_by_key(|check| check.node);
    sort(checks);
}

fn check(node: usize, hypotheses: &[Hypothesis], fires: &[f64]) -> NextCheck {
    let weights = || hypotheses.iter().map(|hypothesis| hypothesis.weight);
    let yes: Vec<f64> = weights().zip(fires).map(|(weight, fires)| weight * fires).collect();
    let no: Vec<f64> = weights().zip(fires).map(|(weight, fires)| weight * (1.0 - fires)).collect();
    let (if_yes, if_no): (f64, f64) = (yes.iter().sum(), no.iter().sum());
    let gain = entropy(weights(), 1.0)
        - if_yes * entropy(yes.iter().copied(), if_yes)
        - if_no * entropy(no.iter().copied(), if_no);
    let mut roots: Vec<usize> =
        hypotheses.iter().flat_map(|hypothesis| hypothesis.roots.iter().copied()).collect();
    roots.sort_unstable();
    roots.dedup();
    roots.retain(|root| {
        let standing = |given: &[f64], total: f64| -> f64 {
            let holding = hypotheses.iter().zip(given);
            let holding = holding.filter(|(hypothesis, _)| hypothesis.roots.contains(root));
            holding.map(|(_, weight)| weight).sum::<f64>() / total.max(f64::MIN_POSITIVE)
        };
        (standing(&yes, if_yes) - standing(&no, if_no)).abs() >= TELLING
    });
    NextCheck { node, gain, separates: roots }
}

/// In bits, of weights that add up to `total`.
fn entropy(weights: impl Iterator<Item = f64>, total: f64) -> f64 {
    weights
        .map(|weight| weight / total)
        .filter(|&share| share > 0.0)
        .map(|share| -share * share.log2())
        .sum()
}
