//! The signatures of a log, as one automaton.
//!
//! A log is searched for the first literal of every signature that is meant for it. Only a line
//! that holds one is looked at more closely: which literals stand in it, then the pattern.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use plimsoll_model::LogOrigin;
use plimsoll_model::snapshot::{Gap, GapStatus, Signature};
use regex::bytes::Regex;

/// All signatures, and the automata made of them so far: one for each set of signatures that some
/// log asks for, so that a log pays only for what is meant for it.
pub struct Matchers<'n> {
    signatures: &'n [Signature],
    /// `None` where the signature has no pattern.
    patterns: Vec<Option<Arc<Pattern>>>,
    usable: Vec<usize>,
    /// Each selector once, with the signatures that name it.
    selectors: BTreeMap<&'n str, Vec<usize>>,
    /// Signatures that mean every log.
    everywhere: Vec<usize>,
    made: Mutex<BTreeMap<Vec<usize>, Option<Arc<Matcher>>>>,
}

pub struct Matcher {
    /// Finds the first literal of any signature.
    any: AhoCorasick,
    /// Finds every literal of a line, overlapping ones too.
    every: AhoCorasick,
    /// By literal of `every`: the signatures that it is the first literal of.
    starts: Vec<Vec<usize>>,
    rules: Vec<Rule>,
}

struct Rule {
    /// Index into `Needs::signatures`.
    signature: usize,
    literals: Vec<usize>,
    pattern: Option<Arc<Pattern>>,
}

/// Compiled when a line first holds every literal of its signature: most never do.
struct Pattern {
    text: String,
    made: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// `None` when it is not a regular expression.
    fn new(text: &str) -> Option<Self> {
        let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(text);
        parsed.is_ok().then(|| Self { text: text.into(), made: OnceLock::new() })
    }

    /// `None` when it is too large to be compiled: it matches nothing.
    fn regex(&self) -> Option<&Regex> {
        self.made.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }
}

/// A signature that matched a line.
pub struct Match {
    /// Index into `Needs::signatures`.
    pub signature: usize,
    /// Named groups of its pattern, sorted by name.
    pub captures: Vec<(String, String)>,
}

impl<'n> Matchers<'n> {
    /// Signatures that cannot be searched for are left out, and said so.
    pub fn new(signatures: &'n [Signature]) -> (Self, Vec<Gap>) {
        let mut patterns = Vec::with_capacity(signatures.len());
        let mut usable = Vec::with_capacity(signatures.len());
        let mut gaps = Vec::new();
        for (index, signature) in signatures.iter().enumerate() {
            let pattern = signature.pattern.as_deref().map(Pattern::new);
            let why = match &pattern {
                Some(None) => Some("its pattern is not a regular expression"),
                _ if signature.contains.first().is_none_or(String::is_empty) => {
                    Some("it names no text to look for")
                }
                _ => None,
            };
            match why {
                None => usable.push(index),
                Some(why) => gaps.push(Gap {
                    status: GapStatus::NotCollected,
                    what: format!("log signature {}", signature.id),
                    why: why.into(),
                }),
            }
            patterns.push(pattern.flatten().map(Arc::new));
        }
        let mut selectors: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &index in &usable {
            for selector in &signatures[index].logs {
                selectors.entry(selector).or_default().push(index);
            }
        }
        let means_all = |index: &usize| signatures[*index].logs.is_empty();
        let everywhere = usable.iter().copied().filter(means_all).collect();
        let made = Mutex::default();
        (Self { signatures, patterns, usable, selectors, everywhere, made }, gaps)
    }

    /// `None` when no signature is meant for this log.
    pub fn for_log(&self, origin: &LogOrigin) -> Option<Arc<Matcher>> {
        let named = self.selectors.iter().filter(|(selector, _)| origin.matches(selector));
        let meant = named.flat_map(|(_, signatures)| signatures).chain(&self.everywhere);
        let meant: BTreeSet<usize> = meant.copied().collect();
        self.of(meant.into_iter().collect())
    }

    /// For text of which the log is not known.
    pub fn for_any_log(&self) -> Option<Arc<Matcher>> {
        self.of(self.usable.clone())
    }

    fn of(&self, set: Vec<usize>) -> Option<Arc<Matcher>> {
        if set.is_empty() {
            return None;
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let matcher = made.entry(set).or_insert_with_key(|set| self.make(set).map(Arc::new));
        matcher.clone()
    }

    fn make(&self, set: &[usize]) -> Option<Matcher> {
        let mut literals: Vec<&str> = Vec::new();
        let mut rules = Vec::new();
        for &signature in set {
            let mut own = Vec::new();
            for literal in &self.signatures[signature].contains {
                if literal.is_empty() {
                    continue;
                }
                let known = literals.iter().position(|known| known == literal);
                own.push(known.unwrap_or(literals.len()));
                if known.is_none() {
                    literals.push(literal);
                }
            }
            let pattern = self.patterns[signature].clone();
            rules.push(Rule { signature, literals: own, pattern });
        }
        let mut starts = vec![Vec::new(); literals.len()];
        for (index, rule) in rules.iter().enumerate() {
            starts[*rule.literals.first()?].push(index);
        }
        let firsts = (0..literals.len()).filter(|at| !starts[*at].is_empty());
        let any = AhoCorasickBuilder::new()
            .match_kind(MatchKind::LeftmostFirst)
            .build(firsts.map(|at| literals[at]))
            .ok()?;
        let every = AhoCorasick::new(&literals).ok()?;
        Some(Matcher { any, every, starts, rules })
    }
}

impl Matcher {
    /// Where the first literal of any signature starts.
    pub fn find(&self, text: &[u8]) -> Option<usize> {
        self.any.find(text).map(|found| found.start())
    }

    /// Every signature that matches `line`.
    pub fn check(&self, line: &[u8], found: &mut Vec<Match>) {
        let mut seen = vec![false; self.starts.len()];
        for literal in self.every.find_overlapping_iter(line) {
            seen[literal.pattern().as_usize()] = true;
        }
        let starting = seen.iter().zip(&self.starts).filter(|(seen, _)| **seen);
        for rule in starting.flat_map(|(_, rules)| rules).map(|index| &self.rules[*index]) {
            if rule.literals.iter().all(|literal| seen[*literal])
                && let Some(captures) = rule.captures(line)
            {
                found.push(Match { signature: rule.signature, captures });
            }
        }
    }
}

impl Rule {
    fn captures(&self, line: &[u8]) -> Option<Vec<(String, String)>> {
        let Some(pattern) = &self.pattern else { return Some(Vec::new()) };
        let pattern = pattern.regex()?;
        if pattern.captures_len() == 1 {
            return pattern.is_match(line).then(Vec::new);
        }
        let groups = pattern.captures(line)?;
        let mut captures: Vec<(String, String)> = pattern
            .capture_names()
            .flatten()
            .filter_map(|name| {
                Some((name.to_string(), crate::hits::shown(groups.name(name)?.as_bytes())))
            })
            .collect();
        captures.sort();
        Some(captures)
    }
}
