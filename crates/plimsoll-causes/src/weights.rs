//! The one table from words to numbers, and the margins that go with it.

use crate::{Likelihood, Prior, Strength};

/// Chance that a symptom appears for a reason outside the graph.
pub(crate) const LEAK: f64 = 1e-4;

/// Odds by which a seen cause must win before it takes the place of a strongly seen root.
pub(crate) const CLEAR_ODDS: f64 = 10.0;

/// Odds by which something unseen must beat "some other reason" before it is suspected. A guess
/// is only worth showing when it is a good one.
pub(crate) const UNSEEN_ODDS: f64 = 10.0;

/// Odds within which two explanations are as good as each other.
pub(crate) const TIE_ODDS: f64 = 2.0;

/// Odds within which a runner-up is worth showing.
pub(crate) const SHOWN_ODDS: f64 = 20.0;

/// A hidden path less likely than this explains nothing.
pub(crate) const FAINT: f64 = 0.02;

pub(crate) fn prior(word: Prior) -> f64 {
    match word {
        Prior::Common => 0.02,
        Prior::Uncommon => 0.005,
        Prior::Rare => 0.0005,
    }
}

pub(crate) fn likelihood(word: Likelihood) -> f64 {
    match word {
        Likelihood::Always => 0.98,
        Likelihood::Usually => 0.8,
        Likelihood::Sometimes => 0.4,
        Likelihood::Rarely => 0.1,
    }
}

/// How often a detector fires when the state is real, and when it is not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detector {
    pub(crate) hit: f64,
    pub(crate) alarm: f64,
}

pub(crate) fn detector(word: Strength) -> Detector {
    match word {
        Strength::Strong => Detector { hit: 0.99, alarm: 1e-4 },
        Strength::Weak => Detector { hit: 0.9, alarm: 0.02 },
    }
}

impl Detector {
    /// Chance that the detector fires on a state that is real with chance `real`.
    pub(crate) fn fires(self, real: f64) -> f64 {
        self.alarm + (self.hit - self.alarm) * real
    }

    /// Chance that a state is real once its detector has fired.
    pub(crate) fn after_firing(self, real: f64) -> f64 {
        self.hit * real / self.fires(real)
    }
}

/// Whether causes that produce a node with chance `support` take the place of its own prior.
pub(crate) fn displaces(support: f64, word: Prior) -> bool {
    support >= CLEAR_ODDS * prior(word)
}

/// One way of moving every number of the table at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shift {
    pub(crate) prior: f64,
    pub(crate) odds: f64,
}

pub(crate) const SHIFTS: [Shift; 4] = [
    Shift { prior: 0.5, odds: 1.0 },
    Shift { prior: 2.0, odds: 1.0 },
    Shift { prior: 1.0, odds: 0.5 },
    Shift { prior: 1.0, odds: 2.0 },
];

impl Shift {
    pub(crate) fn chance(self, chance: f64) -> f64 {
        let scaled = chance * self.odds;
        scaled / (scaled + 1.0 - chance)
    }
}

/// A sort key for scores that ignores rounding noise, so that equal sums in another order stay equal.
pub(crate) fn rounded(score: f64) -> i64 {
    (score * 1e9).round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cause_but_a_rare_one_displaces_a_common_root() {
        assert!(displaces(likelihood(Likelihood::Sometimes), Prior::Common));
        assert!(!displaces(likelihood(Likelihood::Rarely), Prior::Common));
        assert!(displaces(likelihood(Likelihood::Rarely), Prior::Uncommon));
    }

    #[test]
    fn a_firing_detector_raises_belief_and_a_strong_one_more() {
        let weak = detector(Strength::Weak).after_firing(0.1);
        let strong = detector(Strength::Strong).after_firing(0.1);
        assert!(0.1 < weak && weak < strong && strong < 1.0);
    }
}
