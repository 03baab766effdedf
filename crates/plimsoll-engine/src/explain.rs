//! What a pack knows, in words: one failure mode, or the list of all. Nothing is judged here, and no
//! cluster is needed.

use plimsoll_causes::{Likelihood, Prior};
use plimsoll_model::knowledge::{
    CheckInfo, EdgeInfo, FailureMode, Listed, RecoveryInfo, Scope, StateInfo, StateRole,
};

use crate::pack::{Applies, Case, CauseRule, Pack, Role, StateRule};
use crate::summary::in_general;
use crate::{page, symptoms};

/// Names offered for one that does not exist, and how far they may be from it.
const NEAR: usize = 5;
const NEAR_ENOUGH: f64 = 0.6;

/// The folder that a name leads to: its id, a state or repair of it, or its catalogue number.
pub fn find(pack: &Pack, name: &str) -> Option<usize> {
    let repairs = |state: &StateRule| state.recovery.iter().any(|known| known.repair == name);
    let number =
        |case: &Case| case.catalogue.as_ref().is_some_and(|n| n.eq_ignore_ascii_case(name));
    (pack.cases.iter().position(|case| case.id == name))
        .or_else(|| pack.state(name).map(|state| pack.states[state].case))
        .or_else(|| pack.states.iter().find(|state| repairs(state)).map(|state| state.case))
        .or_else(|| {
            let state = pack.repair(name)?.states.first()?;
            pack.state(state).map(|state| pack.states[state].case)
        })
        .or_else(|| pack.cases.iter().position(number))
}

/// Names that may have been meant, nearest first.
pub fn near(pack: &Pack, name: &str) -> Vec<String> {
    let known = pack.cases.iter().map(|case| &*case.id).chain(pack.states.iter().map(|s| &*s.id));
    let rules = plimsoll_install::rules().iter().map(|rule| rule.id);
    let mut scored: Vec<(f64, &str)> = known
        .chain(rules)
        .map(|known| {
            let part = known.contains(name) || known.split('-').any(|word| word == name);
            let score = if part && name.len() > 2 {
                1.0
            } else {
                strsim::normalized_damerau_levenshtein(name, known)
            };
            (score, known)
        })
        .filter(|(score, _)| *score >= NEAR_ENOUGH)
        .collect();
    scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    scored.dedup();
    scored.into_iter().take(NEAR).map(|(_, name)| name.to_string()).collect()
}

/// Every failure mode in one line, by area and id.
pub fn list(pack: &Pack) -> Vec<Listed> {
    let mut listed: Vec<Listed> = (pack.cases.iter().enumerate())
        .map(|(index, case)| {
            let states: Vec<&StateRule> = states_of(pack, index).collect();
            let mut applies: Vec<Scope> = states.iter().map(|s| scope(&s.applies)).collect();
            applies.sort();
            applies.dedup();
            // A folder with a state that holds everywhere holds everywhere.
            if applies.contains(&Scope::default()) {
                applies.clear();
            }
            Listed {
                id: case.id.clone(),
                title: case.title.clone(),
                area: area(case),
                catalogue: case.catalogue.clone(),
                root: states.iter().any(|state| state.root.is_some()),
                applies,
            }
        })
        .collect();
    listed.sort_by(|a, b| (&a.area, &a.id).cmp(&(&b.area, &b.id)));
    listed
}

/// One failure mode with its page, where it has one.
pub fn failure_mode(pack: &Pack, index: usize, page: Option<&str>) -> Option<FailureMode> {
    let case = pack.cases.get(index)?;
    let of_case = |state: usize| pack.states[state].case == index;
    let edges = |wanted: &dyn Fn(&CauseRule) -> bool| -> Vec<EdgeInfo> {
        let mut rules: Vec<&CauseRule> = pack.causes.iter().filter(|rule| wanted(rule)).collect();
        rules.sort_by_key(|rule| (rule.likelihood, rule.from, rule.to));
        rules.into_iter().map(|rule| edge(pack, rule)).collect()
    };
    let checks = pack.checks.iter().filter(|check| of_case(check.state));
    Some(FailureMode {
        id: case.id.clone(),
        title: case.title.clone(),
        area: area(case),
        catalogue: case.catalogue.clone(),
        page: page.map(|text| page::read(text, pack)),
        states: states_of(pack, index).map(state).collect(),
        caused_by: edges(&|rule| of_case(rule.to) && !of_case(rule.from)),
        causes: edges(&|rule| of_case(rule.from)),
        checks: checks.map(|rule| check(pack, rule.state, rule)).collect(),
        symptoms: symptoms::of_case(pack, index),
        repairs: Vec::new(),
    })
}

fn states_of(pack: &Pack, case: usize) -> impl Iterator<Item = &StateRule> {
    pack.states.iter().filter(move |state| state.case == case)
}

/// The folder above the failure mode's own.
fn area(case: &Case) -> String {
    case.path.rsplit('/').nth(2).unwrap_or_default().into()
}

pub(crate) fn check(pack: &Pack, state: usize, rule: &crate::pack::CheckRule) -> CheckInfo {
    CheckInfo { state: pack.states[state].id.clone(), how: in_general(&rule.how), cost: rule.cost }
}

fn state(rule: &StateRule) -> StateInfo {
    let root = rule.root.map(|prior| match prior {
        Prior::Common => "common",
        Prior::Uncommon => "uncommon",
        Prior::Rare => "rare",
    });
    let recovery = rule.recovery.iter().map(|recovery| RecoveryInfo {
        verdict: recovery.verdict,
        repair: recovery.repair.clone(),
        summary: in_general(&recovery.summary),
        when: recovery.when.as_ref().map(|when| when.source.clone()),
        applies: scope(&recovery.applies),
        minutes: recovery.minutes,
        blast: recovery.blast,
    });
    StateInfo {
        id: rule.id.clone(),
        on: rule.on.clone(),
        summary: in_general(&rule.summary),
        root: root.map(str::to_string),
        role: match rule.role {
            Role::Fault => StateRole::Fault,
            Role::Expected => StateRole::Expected,
            Role::Note => StateRole::Note,
        },
        weak: rule.weak,
        refines: rule.refines.clone(),
        applies: scope(&rule.applies),
        recovery: recovery.collect(),
        folklore: rule.folklore.clone(),
    }
}

fn edge(pack: &Pack, rule: &CauseRule) -> EdgeInfo {
    let likelihood = match rule.likelihood {
        Likelihood::Always => "always",
        Likelihood::Usually => "usually",
        Likelihood::Sometimes => "sometimes",
        Likelihood::Rarely => "rarely",
    };
    let end = |seconds: Option<i64>| seconds.map(duration).unwrap_or_default();
    let known = rule.delay_min.is_some() || rule.delay_max.is_some();
    EdgeInfo {
        from: pack.states[rule.from].id.clone(),
        to: pack.states[rule.to].id.clone(),
        likelihood: likelihood.into(),
        keeps: rule.keeps,
        delay: known.then(|| format!("{}..{}", end(rule.delay_min), end(rule.delay_max))),
        because: rule.because.clone(),
        source: rule.source.clone(),
    }
}

/// In the largest unit that divides it, as packs write it.
fn duration(seconds: i64) -> String {
    let units = [("d", 86400), ("h", 3600), ("m", 60), ("s", 1)];
    let fits = units.into_iter().find(|(_, size)| seconds != 0 && seconds % size == 0);
    let (unit, size) = fits.unwrap_or(("s", 1));
    format!("{}{unit}", seconds / size)
}

fn scope(applies: &Applies) -> Scope {
    let end = |minor: Option<i64>| minor.map(|minor| format!("4.{minor}")).unwrap_or_default();
    let bounded = applies.from_minor.is_some() || applies.to_minor.is_some();
    Scope {
        versions: bounded
            .then(|| format!("{}..{}", end(applies.from_minor), end(applies.to_minor))),
        platforms: applies.platforms.clone(),
        topologies: applies.topologies.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_packs_write_them() {
        for text in ["90s", "15m", "2h", "3d", "-1d", "0s"] {
            let seconds: i64 = match text {
                "90s" => 90,
                "15m" => 900,
                "2h" => 7200,
                "3d" => 259_200,
                "-1d" => -86_400,
                _ => 0,
            };
            assert_eq!(duration(seconds), text);
        }
    }
}
