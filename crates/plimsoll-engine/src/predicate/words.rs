//! The literal words that an expression looks for, so that a line from a terminal can be asked which
//! states it speaks for. Only tests of messages, reasons and texts count: a name or a status says
//! nothing outside its object.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::{Predicate, fact_path};

/// Shorter words stand in every other line.
const TELLING: usize = 9;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// Part of a message.
    Part(String),
    /// Regular expression over a message.
    Pattern(String),
    /// A whole reason, or the reason of an event.
    Whole(String),
}

impl Words {
    pub fn text(&self) -> &str {
        match self {
            Words::Part(text) | Words::Pattern(text) | Words::Whole(text) => text,
        }
    }

    fn is_telling(&self) -> bool {
        self.text().chars().count() >= TELLING
    }

    /// What a line says of this test. A message is pasted as a whole, so words that are not in it
    /// are not there; a reason may just not have been pasted.
    fn judge(&self, line: &str) -> Option<bool> {
        match self {
            Words::Part(text) => Some(line.contains(text.as_str())),
            Words::Pattern(pattern) => {
                let built = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
                Some(built.is_ok_and(|pattern| pattern.is_match(line)))
            }
            Words::Whole(text) => {
                let part_of_word = |c: char| c.is_alphanumeric();
                let whole = line.match_indices(text.as_str()).any(|(at, _)| {
                    !line[..at].ends_with(part_of_word)
                        && !line[at + text.len()..].starts_with(part_of_word)
                });
                whole.then_some(true)
            }
        }
    }
}

impl Predicate {
    /// Every telling text that speaks for this expression, sorted.
    pub fn words(&self) -> Vec<Words> {
        let mut found = Vec::new();
        collect(self.program.expression(), &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// The telling words of `line` that speak for this expression, unless the line speaks against it.
    pub fn spoken_for_by(&self, line: &str) -> Vec<Words> {
        let mut reading = Reading { line, accumulators: Vec::new(), heard: Vec::new() };
        if reading.judge(self.program.expression()) == Some(false) {
            return Vec::new();
        }
        reading.heard.retain(Words::is_telling);
        reading.heard.sort();
        reading.heard.dedup();
        reading.heard
    }
}

/// The words that one call tests, if it is a test of words.
fn words_of(node: &IdedExpr) -> Option<Words> {
    let Expr::Call(call) = &node.expr else { return None };
    let literal = |node: &IdedExpr| match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_string()),
        _ => None,
    };
    match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
        ("contains" | "startsWith" | "endsWith", Some(of), [text]) if is_prose(of) => {
            literal(text).map(Words::Part)
        }
        ("matches", Some(of), [text]) if is_prose(of) => literal(text).map(Words::Pattern),
        (operators::EQUALS, None, [of, text]) if is_prose(of) => literal(text).map(Words::Whole),
        (operators::IN, None, [text, of]) if field(of).as_deref() == Some("events") => {
            literal(text).map(Words::Whole)
        }
        _ => None,
    }
    .filter(|words| !words.text().is_empty())
}

fn field(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Select(select) => Some(select.field.clone()),
        _ => fact_path(node).and_then(|(_, path)| path.last().cloned()),
    }
}

/// Whether the fact is something that people paste: a message, a reason, a text.
fn is_prose(node: &IdedExpr) -> bool {
    // `x.message.lowerAscii()` is still the message.
    if let Expr::Call(call) = &node.expr
        && let ("lowerAscii" | "trim", Some(of)) = (call.func_name.as_str(), &call.target)
    {
        return is_prose(of);
    }
    field(node).is_some_and(|field| {
        let field = field.to_lowercase();
        ["message", "reason", "text", "error"].iter().any(|word| field.ends_with(word))
    })
}

fn collect(node: &IdedExpr, found: &mut Vec<Words>) {
    if let Some(words) = words_of(node) {
        found.extend(words.is_telling().then_some(words));
        return;
    }
    match &node.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_NOT => {}
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, found));
            call.args.iter().for_each(|arg| collect(arg, found));
        }
        Expr::Comprehension(inner) => collect(&inner.loop_step, found),
        _ => {}
    }
}

/// The expression read against one line: words are there or not, everything else is unknown.
struct Reading<'l> {
    line: &'l str,
    /// What `exists` and `all` start from, by the name they give it.
    accumulators: Vec<(String, Option<bool>)>,
    heard: Vec<Words>,
}

impl Reading<'_> {
    fn judge(&mut self, node: &IdedExpr) -> Option<bool> {
        if let Some(words) = words_of(node) {
            let judged = words.judge(self.line);
            self.heard.extend((judged == Some(true)).then_some(words));
            return judged;
        }
        match &node.expr {
            Expr::Literal(LiteralValue::Boolean(value)) => Some(*value.inner()),
            Expr::Ident(name) => self
                .accumulators
                .iter()
                .rev()
                .find(|(known, _)| known == name)
                .and_then(|(_, v)| *v),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::LOGICAL_AND, [one, two]) => self.both(one, two),
                (operators::LOGICAL_OR, [one, two]) => match (self.judge(one), self.judge(two)) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                },
                (operators::LOGICAL_NOT, [inner]) => {
                    let before = self.heard.len();
                    let judged = self.judge(inner);
                    self.heard.truncate(before);
                    judged.map(|judged| !judged)
                }
                (operators::CONDITIONAL, [_, yes, no]) => match (self.judge(yes), self.judge(no)) {
                    (Some(false), Some(false)) => Some(false),
                    _ => None,
                },
                _ => None,
            },
            Expr::Comprehension(inner) => {
                let start = self.judge(&inner.accu_init);
                self.accumulators.push((inner.accu_var.clone(), start));
                let judged = self.judge(&inner.loop_step);
                self.accumulators.pop();
                judged
            }
            _ => None,
        }
    }

    /// What half of a conjunction heard counts only if the other half does not deny it.
    fn both(&mut self, one: &IdedExpr, two: &IdedExpr) -> Option<bool> {
        let before = self.heard.len();
        match (self.judge(one), self.judge(two)) {
            (Some(false), _) | (_, Some(false)) => {
                self.heard.truncate(before);
                Some(false)
            }
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::compile;

    fn heard(source: &str, line: &str) -> Vec<String> {
        let predicate = compile(source, &["self"]).unwrap();
        predicate.spoken_for_by(line).iter().map(|words| words.text().to_string()).collect()
    }

    #[test]
    fn words_of_messages_and_reasons_are_heard() {
        let rule = "self.degraded.status == 'True' && self.degraded.message.contains('no machine network')";
        assert_eq!(heard(rule, "VIP is in no machine network"), ["no machine network"]);
        assert!(heard(rule, "VIP is fine, status True").is_empty());
        assert_eq!(
            heard("'FailedMount' in self.events", "Warning FailedMount 3m"),
            ["FailedMount"]
        );
        assert!(heard("'FailedMount' in self.events", "NotFailedMounts").is_empty());
        assert!(heard("self.name == 'machine-config-server'", "machine-config-server").is_empty());
    }

    #[test]
    fn every_part_of_a_conjunction_must_be_there_and_one_of_a_choice() {
        let both =
            "self.a.message.contains('required pools') && self.a.message.contains('timed out')";
        assert_eq!(heard(both, "required pools: timed out"), ["required pools", "timed out"]);
        assert!(heard(both, "required pools are fine").is_empty());
        let either = "self.a.message.contains('required pools') || self.a.message.matches('pool .* is late')";
        assert_eq!(heard(either, "the pool w is late"), ["pool .* is late"]);
    }

    #[test]
    fn what_speaks_against_is_obeyed_and_short_words_tell_nothing() {
        let rule =
            "self.a.message.contains('Missing operand') && !self.a.message.contains('installer')";
        assert_eq!(heard(rule, "Missing operand on node"), ["Missing operand"]);
        assert!(heard(rule, "Missing operand, see installer").is_empty());
        assert!(heard("self.a.message.contains('network')", "the network").is_empty());
    }

    #[test]
    fn lists_are_looked_into() {
        let rule = "self.conditions.exists(c, c.message.contains('unexpected on-disk state'))";
        assert_eq!(
            heard(rule, "unexpected on-disk state validating"),
            ["unexpected on-disk state"]
        );
        assert!(heard(rule, "all is well").is_empty());
        let words = compile(rule, &["self"]).unwrap().words();
        assert_eq!(words, [Words::Part("unexpected on-disk state".into())]);
    }
}
