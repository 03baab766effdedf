//! Every id that the user may name: those of findings, and those of fixes.

use std::collections::BTreeSet;

use super::{Knowledge, fix, readings};

/// How far a name may be from the one that was meant.
const NEAR_ENOUGH: f64 = 0.5;

impl Knowledge {
    pub fn ids(&self) -> BTreeSet<&str> {
        let rules = plimsoll_install::rules().iter().map(|rule| rule.id);
        let states = self.pack.states.iter().filter(|state| state.finding.is_some());
        let states = states.map(|state| state.id.as_str());
        let readings = readings::RULES.iter().map(|(id, _)| *id);
        rules.chain(readings).chain(states).chain(fix::TIDY.iter().copied()).collect()
    }

    /// The id that may have been meant by one that there is not.
    pub fn nearest_id(&self, name: &str) -> Option<&str> {
        let scored = self.ids().into_iter().map(|id| {
            let part = name.len() > 3 && id.contains(name);
            let score = strsim::normalized_damerau_levenshtein(name, id);
            (if part { score.max(NEAR_ENOUGH) } else { score }, id)
        });
        let best = scored.max_by(|(a, x), (b, y)| a.total_cmp(b).then_with(|| y.cmp(x)));
        best.filter(|(score, _)| *score >= NEAR_ENOUGH).map(|(_, id)| id)
    }
}
