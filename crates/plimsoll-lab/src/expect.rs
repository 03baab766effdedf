//! What a case expects of a diagnosis, one thing a line.
//!
//! ```text
//! root ID Kind/name [confirmed|probable|suspected]
//! active|recovered|expected|unknown ID Kind/name
//! chain ID Kind/name -> ID Kind/name [-> …]     each step is an edge of the answer
//! quiet ID [Kind/name]                          active nowhere, blamed nowhere
//! no roots | no other roots                     no root but those in `root` lines
//! verdict recoverable
//! deadlock ID Kind/name, ID Kind/name           one deadlock holds all of these
//! unexplained none | unexplained ID Kind/name
//! next ID Kind/name                             is among the next checks
//! ruled-out ID Kind/name
//! repair ID holds [KEY=VALUE …]                 its plan is carried out, killed and taken back, in memory
//! ```

use std::collections::BTreeMap;

use plimsoll_model::diagnosis::{Confidence, StateRef, Status, Verdict};
use plimsoll_model::entity::EntityId;

#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    Root { state: StateRef, confidence: Option<Confidence> },
    State { state: StateRef, status: Status },
    Chain(Vec<StateRef>),
    Quiet { id: String, entity: Option<EntityId> },
    NoRoots,
    NoOtherRoots,
    Verdict(Verdict),
    Deadlock(Vec<StateRef>),
    NothingUnexplained,
    Unexplained(StateRef),
    Next(StateRef),
    RuledOut(StateRef),
    Repair(Trial),
}

/// A repair of what the case shows, and what only the user knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    pub repair: String,
    pub answers: BTreeMap<String, String>,
}

pub fn parse_expect(line: &str) -> Result<Expect, String> {
    let line = line.trim();
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    match verb {
        "root" => root(rest),
        "active" => with_status(rest, Status::Active),
        "recovered" => with_status(rest, Status::Recovered),
        "expected" => with_status(rest, Status::Expected),
        "unknown" => with_status(rest, Status::Unknown),
        "chain" => several(rest, "->").map(Expect::Chain),
        "deadlock" => several(rest, ",").map(Expect::Deadlock),
        "quiet" => quiet(rest),
        "no" if rest == "roots" => Ok(Expect::NoRoots),
        "no" if rest == "other roots" => Ok(Expect::NoOtherRoots),
        "verdict" => verdict(rest).map(Expect::Verdict),
        "unexplained" if rest == "none" => Ok(Expect::NothingUnexplained),
        "unexplained" => state(rest).map(Expect::Unexplained),
        "next" => state(rest).map(Expect::Next),
        "ruled-out" => state(rest).map(Expect::RuledOut),
        "repair" => trial(rest).map(Expect::Repair),
        _ => Err(format!(
            "'{line}' is no expectation; there are root, active, recovered, expected, unknown, \
             chain, quiet, no roots, no other roots, verdict, deadlock, unexplained, next, ruled-out, \
             repair"
        )),
    }
}

fn id(text: &str) -> Result<String, String> {
    let kebab = !text.is_empty()
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if kebab { Ok(text.into()) } else { Err(format!("'{text}' is no id in kebab-case")) }
}

fn entity(text: &str) -> Result<EntityId, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn state(text: &str) -> Result<StateRef, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [name, of] => Ok(StateRef { id: id(name)?, entity: entity(of)? }),
        _ => Err(format!("'{text}' is not: some-state Kind/name")),
    }
}

fn several(text: &str, between: &str) -> Result<Vec<StateRef>, String> {
    let states: Vec<StateRef> =
        text.split(between).map(|part| state(part.trim())).collect::<Result<_, _>>()?;
    if states.len() < 2 {
        return Err(format!("at least two states are needed, with '{between}' between them"));
    }
    Ok(states)
}

fn with_status(text: &str, status: Status) -> Result<Expect, String> {
    Ok(Expect::State { state: state(text)?, status })
}

fn root(text: &str) -> Result<Expect, String> {
    let (of, confidence) = match text.rsplit_once(' ') {
        Some((of, "confirmed")) => (of, Some(Confidence::Confirmed)),
        Some((of, "probable")) => (of, Some(Confidence::Probable)),
        Some((of, "suspected")) => (of, Some(Confidence::Suspected)),
        _ => (text, None),
    };
    Ok(Expect::Root { state: state(of)?, confidence })
}

fn trial(text: &str) -> Result<Trial, String> {
    let wrong = || format!("'{text}' is not: some-repair holds [KEY=VALUE …]");
    let mut words = text.split_whitespace();
    let repair = id(words.next().unwrap_or_default())?;
    if words.next() != Some("holds") {
        return Err(wrong());
    }
    let one = |word: &str| {
        let (key, value) = word.split_once('=').filter(|(key, _)| !key.is_empty())?;
        Some((key.to_string(), value.to_string()))
    };
    let answers = words.map(|word| one(word).ok_or_else(wrong)).collect::<Result<_, _>>()?;
    Ok(Trial { repair, answers })
}

fn quiet(text: &str) -> Result<Expect, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        [name] => Ok(Expect::Quiet { id: id(name)?, entity: None }),
        [name, of] => Ok(Expect::Quiet { id: id(name)?, entity: Some(entity(of)?) }),
        _ => Err("expected: quiet some-state [Kind/name]".into()),
    }
}

fn verdict(text: &str) -> Result<Verdict, String> {
    Ok(match text {
        "healthy" => Verdict::Healthy,
        "recoverable" => Verdict::Recoverable,
        "data-at-risk" => Verdict::DataAtRisk,
        "reinstall" => Verdict::Reinstall,
        "escalate" => Verdict::Escalate,
        "not-provable" => Verdict::NotProvable,
        _ => {
            return Err(format!(
                "'{text}' is no verdict; there are healthy, recoverable, data-at-risk, reinstall, \
                 escalate, not-provable"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_may_say_how_sure() {
        let with = parse_expect("root kubelet-anonymous Node/master-1 confirmed").unwrap();
        let Expect::Root { state, confidence } = with else { panic!("{with:?}") };
        assert_eq!(state.entity.to_string(), "Node/master-1");
        assert_eq!(confidence, Some(Confidence::Confirmed));
        let without = parse_expect("root kubelet-anonymous Node/master-1").unwrap();
        assert!(matches!(without, Expect::Root { confidence: None, .. }));
    }

    #[test]
    fn a_line_that_says_nothing_is_an_error() {
        for wrong in [
            "",
            "root x",
            "root X_y Node/a",
            "active a",
            "active a Node",
            "chain a Node/a",
            "deadlock a Node/a",
            "no",
            "no noise",
            "verdict fine",
            "quiet",
            "next a",
            "roots",
            "unexplained",
            "repair a",
            "repair a fails",
            "repair a holds b",
        ] {
            assert!(parse_expect(wrong).is_err(), "{wrong}");
        }
    }
}
