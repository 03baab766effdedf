//! The literal words that an expression looks for, so that a line from a terminal can be asked which
//! states it speaks for. Only tests of messages, reasons and texts count: a name or a status says
//! nothing outside its object.

use kube_cel::cel::common::ast::{Expr, IdedExpr, LiteralValue, operators};

use super::{Predicate, fact_path};

/// Shorter words stand in every other line.
pub const TELLING: usize = 9;

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
            Words::Part(text) => Some(line.to_lowercase().contains(&text.to_lowercase())),
            Words::Pattern(pattern) => Some(speaks(pattern, line)),
            Words::Whole(text) => {
                let (line, text) = (line.to_lowercase(), text.to_lowercase());
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
    /// How many lines of a signature this wants at least.
    pub fn lines_wanted(&self, signature: &str) -> i64 {
        lines_wanted(self.program.expression(), signature).unwrap_or(1)
    }

    /// Every telling text that speaks for this expression, sorted.
    pub fn words(&self) -> Vec<Words> {
        let mut found = Vec::new();
        collect(self.program.expression(), &mut Vec::new(), &mut found);
        found.sort();
        found.dedup();
        found
    }

    /// The telling words of `line` that speak for this expression, unless the line speaks against it.
    pub fn spoken_for_by<'l>(&'l self, line: &'l str) -> Vec<Words> {
        let mut reading =
            Reading { line, accumulators: Vec::new(), texts: Vec::new(), heard: Vec::new() };
        if reading.judge(self.program.expression()) == Some(false) {
            return Vec::new();
        }
        reading.heard.retain(Words::is_telling);
        reading.heard.sort();
        reading.heard.dedup();
        reading.heard
    }
}

/// Whether a pattern is in a line that a person typed or pasted, in whatever case.
pub fn speaks(pattern: &str, line: &str) -> bool {
    let built =
        regex::RegexBuilder::new(pattern).case_insensitive(true).size_limit(1 << 20).build();
    built.is_ok_and(|pattern| pattern.is_match(line))
}

/// The words that one call tests, any of which will do; none if it is no test of words. `texts` are
/// the names by which a list macro calls the messages it looks through.
fn words_of(node: &IdedExpr, texts: &[&str]) -> Vec<Words> {
    let Expr::Call(call) = &node.expr else { return Vec::new() };
    let literal = |node: &IdedExpr| match &node.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_string()),
        _ => None,
    };
    let is_prose = |node: &IdedExpr| is_prose(node, texts);
    let mut found: Vec<Words> =
        match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
            ("contains" | "startsWith" | "endsWith", Some(of), [text]) if is_prose(of) => {
                literal(text).map(Words::Part).into_iter().collect()
            }
            ("matches", Some(of), [text]) if is_prose(of) => {
                literal(text).map(Words::Pattern).into_iter().collect()
            }
            (operators::EQUALS, None, [of, text]) if is_prose(of) => {
                literal(text).map(Words::Whole).into_iter().collect()
            }
            (operators::IN, None, [of, list]) if is_prose(of) => match &list.expr {
                Expr::List(list) => {
                    list.elements.iter().filter_map(literal).map(Words::Whole).collect()
                }
                _ => Vec::new(),
            },
            (operators::IN, None, [text, of]) if field(of).as_deref() == Some("events") => {
                literal(text).map(Words::Whole).into_iter().collect()
            }
            _ => Vec::new(),
        };
    found.retain(|words| !words.text().is_empty());
    found
}

/// The least number of lines that some comparison with a number asks for.
fn lines_wanted(node: &IdedExpr, signature: &str) -> Option<i64> {
    match &node.expr {
        Expr::Call(call) => {
            let number = |node: &IdedExpr| match &node.expr {
                Expr::Literal(LiteralValue::Int(number)) => Some(*number.inner()),
                _ => None,
            };
            let more = match call.func_name.as_str() {
                operators::GREATER => Some(1),
                operators::GREATER_EQUALS => Some(0),
                _ => None,
            };
            if let (Some(more), [left, right]) = (more, call.args.as_slice())
                && let Some(number) = number(right)
                && counts(left, signature)
            {
                return Some(number.saturating_add(more));
            }
            let parts = call.target.as_deref().into_iter().chain(&call.args);
            parts.filter_map(|part| lines_wanted(part, signature)).min()
        }
        Expr::Comprehension(inner) => lines_wanted(&inner.loop_step, signature),
        _ => None,
    }
}

/// Whether a number is the lines of a signature, or made of them.
fn counts(node: &IdedExpr, signature: &str) -> bool {
    if let Some((_, path)) = fact_path(node) {
        return matches!(path.as_slice(), [logs, id, field]
            if logs == "logs" && id == signature && matches!(field.as_str(), "count" | "recent" | "open"));
    }
    match &node.expr {
        Expr::Call(call) => call.args.iter().any(|part| counts(part, signature)),
        _ => false,
    }
}

fn field(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Select(select) => Some(select.field.clone()),
        _ => fact_path(node).and_then(|(_, path)| path.last().cloned()),
    }
}

/// Whether the fact is something that people paste: a message, a reason, a text.
fn is_prose(node: &IdedExpr, texts: &[&str]) -> bool {
    // `x.message.lowerAscii()` is still the message.
    if let Expr::Call(call) = &node.expr
        && let ("lowerAscii" | "trim", Some(of)) = (call.func_name.as_str(), &call.target)
    {
        return is_prose(of, texts);
    }
    if let Expr::Ident(name) = &node.expr {
        return texts.contains(&name.as_str());
    }
    field(node).is_some_and(|field| {
        let field = field.to_lowercase();
        let field = field.strip_suffix('s').unwrap_or(&field);
        ["message", "reason", "text", "error", "waiting"].iter().any(|word| field.ends_with(word))
    })
}

fn collect<'e>(node: &'e IdedExpr, texts: &mut Vec<&'e str>, found: &mut Vec<Words>) {
    let words = words_of(node, texts);
    if !words.is_empty() {
        found.extend(words.into_iter().filter(Words::is_telling));
        return;
    }
    match &node.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_NOT => {}
        Expr::Call(call) => {
            call.target.iter().for_each(|target| collect(target, texts, found));
            call.args.iter().for_each(|arg| collect(arg, texts, found));
        }
        Expr::Comprehension(inner) => {
            let before = texts.len();
            texts.extend(is_prose(&inner.iter_range, texts).then_some(inner.iter_var.as_str()));
            collect(&inner.loop_step, texts, found);
            texts.truncate(before);
        }
        _ => {}
    }
}

/// The expression read against one line: words are there or not, everything else is unknown.
struct Reading<'l> {
    line: &'l str,
    /// What `exists` and `all` start from, by the name they give it.
    accumulators: Vec<(String, Option<bool>)>,
    /// What they call the messages that they look through.
    texts: Vec<&'l str>,
    heard: Vec<Words>,
}

impl<'l> Reading<'l> {
    fn judge(&mut self, node: &'l IdedExpr) -> Option<bool> {
        let words = words_of(node, &self.texts);
        if !words.is_empty() {
            let judged: Vec<Option<bool>> =
                words.iter().map(|words| words.judge(self.line)).collect();
            let there = judged.iter().zip(words).filter(|(judged, _)| **judged == Some(true));
            self.heard.extend(there.map(|(_, words)| words));
            return judged.into_iter().max().flatten();
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
                let before = self.texts.len();
                let is_text = is_prose(&inner.iter_range, &self.texts);
                self.texts.extend(is_text.then_some(inner.iter_var.as_str()));
                let judged = self.judge(&inner.loop_step);
                self.texts.truncate(before);
                self.accumulators.pop();
                judged
            }
            _ => None,
        }
    }

    /// What half of a conjunction heard counts only if the other half does not deny it.
    fn both(&mut self, one: &'l IdedExpr, two: &'l IdedExpr) -> Option<bool> {
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
    fn case_does_not_matter_and_one_of_several_reasons_will_do() {
        let rule = "self.waiting in ['ErrImagePull', 'ImagePullBackOff']";
        assert_eq!(heard(rule, "Pod x: errimagepull"), ["ErrImagePull"]);
        assert!(heard(rule, "NoErrImagePullAtAll").is_empty());
        let rule = "self.pullErrors.exists(e, e.matches('signed by unknown authority'))";
        assert_eq!(
            heard(rule, "X509: SIGNED BY UNKNOWN AUTHORITY"),
            ["signed by unknown authority"]
        );
        assert!(
            heard("self.names.exists(e, e.matches('signed by unknown'))", "signed by unknown")
                .is_empty()
        );
    }

    #[test]
    fn a_rule_may_want_more_than_one_line() {
        let lines = |source: &str| compile(source, &["self"]).unwrap().lines_wanted("a");
        assert_eq!(lines("self.logs['a'].count > 0"), 1);
        assert_eq!(lines("self.logs['a'].count > 4 || self.logs['a'].recent > 9"), 5);
        assert_eq!(lines("self.logs['a'].count >= 3 && self.logs['b'].count > 7"), 3);
        assert_eq!(lines("self.logs['a'].count - self.logs['b'].count > 2"), 3);
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
