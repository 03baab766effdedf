//! CEL leaf predicates: compiled once, bounded before they ever run, three-valued when they do.
//!
//! The only place that knows the CEL crate. A pack is untrusted input, and the interpreter has no
//! budget of its own, so the cost of an expression is bounded from its shape: source length,
//! nesting, number of nodes, and nodes × list sizes for comprehensions. Time is limited by that
//! product rather than by a clock, so the same pack always behaves the same.

mod words;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Program, Value as Cel};
use plimsoll_model::Value;
use regex::Regex;

pub use words::{TELLING, Words, speaks};

const MAX_SOURCE: usize = 1500;
const MAX_NESTING: usize = 24;
const MAX_TOKENS: usize = 400;
const MAX_NODES: usize = 600;
/// Lists in facts are cut to this length, see `to_cel`.
pub const MAX_LIST: usize = 256;
/// Evaluated nodes an expression may need at worst.
const MAX_COST: usize = 40_000_000;

/// What an expression says of an entity. A missing fact makes it unknown, never false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    /// What was missing.
    Unknown(String),
}

#[derive(Debug)]
pub struct Predicate {
    program: Program,
    /// Fact paths read from each variable (`self` → `degraded.status`), for proofs and checks.
    pub reads: BTreeMap<String, BTreeSet<String>>,
    /// Variables of which it reads more than facts by their name.
    whole: BTreeSet<String>,
    pub source: String,
}

/// Why an expression was refused, and the column in its source where known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub message: String,
    pub line: u32,
    pub column: u32,
}

fn refuse(message: impl Into<String>) -> Refused {
    Refused { message: message.into(), line: 1, column: 1 }
}

/// Compiles `source`, which may name only `variables`.
pub fn compile(source: &str, variables: &[&str]) -> Result<Predicate, Refused> {
    check_shape(source)?;
    let program = Program::compile(source).map_err(|errors| {
        let first = errors.errors.first();
        let (line, column) = first.map_or((1, 1), |error| error.pos);
        Refused {
            message: first.map_or_else(|| errors.to_string(), |error| error.msg.clone()),
            line: u32::try_from(line.max(1)).unwrap_or(1),
            column: u32::try_from(column.max(1)).unwrap_or(1),
        }
    })?;
    let mut survey = Survey::default();
    survey.visit(program.expression(), variables, 1);
    if let Some(problem) = survey.problem {
        return Err(refuse(problem));
    }
    if survey.nodes > MAX_NODES {
        return Err(refuse(format!("more than {MAX_NODES} parts")));
    }
    if survey.cost > MAX_COST {
        return Err(refuse("nested list macros would take too long"));
    }
    for function in program.references().functions() {
        if !function_is_known(function) {
            return Err(refuse(format!("no function '{function}'")));
        }
    }
    let Survey { reads, whole, .. } = survey;
    Ok(Predicate { program, reads, whole, source: source.into() })
}

/// Before the parser sees it: its recursion follows the nesting of the source.
fn check_shape(source: &str) -> Result<(), Refused> {
    if source.len() > MAX_SOURCE {
        return Err(refuse(format!("longer than {MAX_SOURCE} bytes")));
    }
    let (mut depth, mut tokens, mut quote, mut in_word) = (0usize, 0usize, None, false);
    let mut escaped = false;
    for c in source.chars() {
        if let Some(open) = quote {
            if !escaped && c == open {
                quote = None;
            }
            escaped = c == '\\' && !escaped;
            continue;
        }
        let word = c.is_alphanumeric() || c == '_';
        if !c.is_whitespace() && (!word || !in_word) {
            tokens += 1;
        }
        in_word = word;
        match c {
            '"' | '\'' => quote = Some(c),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING || tokens > MAX_TOKENS {
            return Err(refuse("too long or nested too deep"));
        }
    }
    Ok(())
}

const OPERATORS: &[&str] = &["_", "@", "!"];
const FUNCTIONS: &[&str] = &[
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "size",
    "has",
    "all",
    "exists",
    "exists_one",
    "map",
    "filter",
    "int",
    "string",
    "double",
    "max",
    "min",
    "minutes",
    "hours",
    "lowerAscii",
    "split",
    "trim",
    "ip",
    "cidr",
    "containsIP",
    "isIP",
    "isCIDR",
    "semver",
    "isLessThan",
    "isGreaterThan",
    "compareTo",
    "indexOf",
    "replace",
    "substring",
    "find",
];

fn function_is_known(name: &str) -> bool {
    OPERATORS.iter().any(|operator| name.starts_with(operator)) || FUNCTIONS.contains(&name)
}

#[derive(Default)]
struct Survey<'e> {
    bound: Vec<&'e str>,
    nodes: usize,
    cost: usize,
    problem: Option<String>,
    reads: BTreeMap<String, BTreeSet<String>>,
    whole: BTreeSet<String>,
}

impl<'e> Survey<'e> {
    fn visit(&mut self, node: &'e IdedExpr, variables: &[&str], times: usize) {
        self.nodes += 1;
        self.cost = self.cost.saturating_add(times);
        if let Some((variable, path)) = fact_path(node)
            && variables.contains(&variable.as_str())
        {
            self.reads.entry(variable).or_default().insert(path.join("."));
        }
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => {
                self.whole.insert(name.clone());
                self.variable(name, variables);
            }
            Expr::Select(select) => self.holder(&select.operand, variables, times),
            Expr::Call(call) if call.func_name == "_[_]" && is_by_name(&call.args) => {
                self.holder(&call.args[0], variables, times);
            }
            Expr::Call(call) => {
                call.target.iter().for_each(|target| self.visit(target, variables, times));
                call.args.iter().for_each(|arg| self.visit(arg, variables, times));
            }
            Expr::List(list) => {
                list.elements.iter().for_each(|element| self.visit(element, variables, times));
            }
            Expr::Map(map) => {
                map.entries.iter().for_each(|e| self.entry(&e.expr, variables, times))
            }
            Expr::Struct(_) => {
                self.problem.get_or_insert("messages are not supported".into());
            }
            Expr::Comprehension(inner) => {
                self.visit(&inner.iter_range, variables, times);
                self.visit(&inner.accu_init, variables, times);
                let depth = self.bound.len();
                self.bound.push(&inner.iter_var);
                self.bound.extend(inner.iter_var2.as_deref());
                self.bound.push(&inner.accu_var);
                let times = times.saturating_mul(MAX_LIST);
                self.visit(&inner.loop_cond, variables, times);
                self.visit(&inner.loop_step, variables, times);
                self.visit(&inner.result, variables, times);
                self.bound.truncate(depth);
            }
        }
    }

    /// What has the fact that is read.
    fn holder(&mut self, node: &'e IdedExpr, variables: &[&str], times: usize) {
        match &node.expr {
            Expr::Ident(name) => {
                self.nodes += 1;
                self.cost = self.cost.saturating_add(times);
                self.variable(name, variables);
            }
            _ => self.visit(node, variables, times),
        }
    }

    fn variable(&mut self, name: &str, variables: &[&str]) {
        let known =
            variables.contains(&name) || self.bound.contains(&name) || name.starts_with('@');
        if !known {
            self.problem.get_or_insert(format!("no variable '{name}'"));
        }
    }

    fn entry(&mut self, entry: &'e EntryExpr, variables: &[&str], times: usize) {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value, variables, times),
            EntryExpr::MapEntry(entry) => {
                self.visit(&entry.key, variables, times);
                self.visit(&entry.value, variables, times);
            }
        }
    }
}

/// `self['logs']`, which is `self.logs`.
fn is_by_name(args: &[IdedExpr]) -> bool {
    let [_, by] = args else { return false };
    matches!(&by.expr, Expr::Literal(LiteralValue::String(name)) if !name.inner().contains('.'))
}

/// `self.logs['kubelet-anonymous'].count` → (`self`, [`logs`, `kubelet-anonymous`, `count`]).
fn fact_path(node: &IdedExpr) -> Option<(String, Vec<String>)> {
    match &node.expr {
        Expr::Ident(name) => Some((name.clone(), Vec::new())),
        Expr::Select(select) => {
            let (variable, mut path) = fact_path(&select.operand)?;
            path.push(select.field.clone());
            Some((variable, path))
        }
        Expr::Call(call) if call.func_name == "_[_]" => {
            let (variable, mut path) = fact_path(call.args.first()?)?;
            let Expr::Literal(LiteralValue::String(key)) = &call.args.get(1)?.expr else {
                return Some((variable, path));
            };
            path.push(key.inner().to_string());
            Some((variable, path))
        }
        _ => None,
    }
}

/// Functions are registered once; entities are bound in scopes below it.
pub fn root_context() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("minutes", |n: i64| n.saturating_mul(60));
    context.add_function("hours", |n: i64| n.saturating_mul(3600));
    context.add_function(
        "matches",
        |context: &FunctionContext, text: This<Arc<String>>, pattern: Arc<String>| {
            matches(&pattern, &text.0).map_err(|error| context.error(error))
        },
    );
    context
}

/// Patterns of rules, compiled once: a rule is asked of every entity of its kind, and the interpreter
/// would compile its pattern each time.
static PATTERNS: LazyLock<RwLock<HashMap<String, Regex>>> = LazyLock::new(RwLock::default);
/// Patterns are texts of rules; those that are made of facts must not fill the memory.
const MAX_PATTERNS: usize = 1024;

fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    let known = PATTERNS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.get(pattern) {
        return Ok(regex.is_match(text));
    }
    drop(known);
    let regex = Regex::new(pattern).map_err(|e| format!("'{pattern}' is no pattern: {e}"))?;
    let is_match = regex.is_match(text);
    let mut known = PATTERNS.write().unwrap_or_else(PoisonError::into_inner);
    if known.len() < MAX_PATTERNS {
        known.insert(pattern.into(), regex);
    }
    Ok(is_match)
}

impl Predicate {
    pub fn truth(&self, context: &Context<'_>) -> Truth {
        match self.program.execute(context) {
            Ok(Cel::Bool(true)) => Truth::True,
            Ok(Cel::Bool(false)) => Truth::False,
            Ok(_) => Truth::Unknown("a value that is not yes or no".into()),
            Err(error) => Truth::Unknown(missing(&error)),
        }
    }

    /// The expression's value as whole seconds, for onsets.
    pub fn seconds(&self, context: &Context<'_>) -> Option<i64> {
        match self.program.execute(context) {
            Ok(Cel::Int(seconds)) => Some(seconds),
            _ => None,
        }
    }

    /// The facts of `variable` that decide what it says; nothing where it may read any of them.
    pub fn facts_of(&self, variable: &str) -> Option<impl Iterator<Item = &str>> {
        let paths = (!self.whole.contains(variable)).then(|| self.reads_of(variable))?;
        Some(paths.into_iter().map(|path| path.split_once('.').map_or(path, |(fact, _)| fact)))
    }

    /// Fact paths read from `variable`, sorted.
    pub fn reads_of(&self, variable: &str) -> Vec<&str> {
        self.reads.get(variable).into_iter().flatten().map(String::as_str).collect()
    }
}

fn missing(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no {key}"),
        ExecutionError::UndeclaredReference(name) => format!("no {name}"),
        ExecutionError::FunctionError { .. } => plimsoll_model::clip(&error.to_string()),
        // The rest show values, and a map is shown in another order each time.
        _ => "a value that does not fit".into(),
    }
}

/// Facts as CEL sees them: times are seconds since 1970.
pub fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Int(value) => Cel::Int(*value),
        Value::UInt(value) => Cel::UInt(*value),
        Value::Float(value) => Cel::Float(*value),
        Value::Text(text) => Cel::String(Arc::new(text.clone())),
        Value::Time(time) => Cel::Int(time.as_second()),
        Value::List(items) => {
            Cel::List(Arc::new(items.iter().take(MAX_LIST).map(to_cel).collect()))
        }
        Value::Map(map) => facts_to_cel(map),
    }
}

pub fn facts_to_cel(map: &BTreeMap<String, Value>) -> Cel {
    facts_and_names_to_cel(map.iter(), std::iter::empty())
}

/// Facts, and names that stand for facts of the same name.
pub fn facts_and_names_to_cel<'n>(
    facts: impl Iterator<Item = (&'n String, &'n Value)>,
    names: impl Iterator<Item = (&'n str, &'n str)>,
) -> Cel {
    let facts = facts.map(|(key, value)| (Key::from(key.as_str()), to_cel(value)));
    let names = names.map(|(key, value)| (Key::from(key), Cel::String(Arc::new(value.into()))));
    let entries: HashMap<Key, Cel> = facts.chain(names).collect();
    Cel::Map(Map { map: Arc::new(entries) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(source: &str, facts: &[(&str, Value)]) -> Truth {
        let predicate = compile(source, &["self", "now"]).unwrap();
        let root = root_context();
        let mut scope = root.new_inner_scope();
        let facts = facts.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        scope.add_variable_from_value("self", facts_to_cel(&facts));
        scope.add_variable_from_value("now", Cel::Int(1000));
        predicate.truth(&scope)
    }

    #[test]
    fn a_missing_fact_is_unknown_and_known_parts_still_decide() {
        let yes = [("a", Value::Bool(true))];
        assert_eq!(eval("self.a", &yes), Truth::True);
        assert_eq!(eval("!self.a", &yes), Truth::False);
        assert!(matches!(eval("self.b", &yes), Truth::Unknown(_)));
        assert!(matches!(eval("self.b.c > 3", &yes), Truth::Unknown(_)));
        assert_eq!(eval("self.b || self.a", &yes), Truth::True);
        assert_eq!(eval("self.a || self.b", &yes), Truth::True);
        assert_eq!(eval("self.b && !self.a", &yes), Truth::False);
        assert_eq!(eval("!self.a && self.b", &yes), Truth::False);
        assert!(matches!(eval("self.b && self.a", &yes), Truth::Unknown(_)));
        assert!(matches!(eval("self.list.exists(x, x == 'a')", &yes), Truth::Unknown(_)));
    }

    #[test]
    fn times_are_seconds_and_helpers_make_them_readable() {
        let facts = [("since", Value::Int(100))];
        assert_eq!(eval("now - self.since >= minutes(15)", &facts), Truth::True);
        assert_eq!(eval("now - self.since >= hours(1)", &facts), Truth::False);
    }

    #[test]
    fn a_pattern_is_asked_again_and_a_bad_one_is_unknown() {
        let facts = [("name", Value::Text("worker-1".into()))];
        for _ in 0..2 {
            assert_eq!(eval("self.name.matches('^worker-[0-9]+$')", &facts), Truth::True);
            assert_eq!(eval("self.name.matches('^master-')", &facts), Truth::False);
            assert!(matches!(eval("self.name.matches('(')", &facts), Truth::Unknown(_)));
        }
    }

    #[test]
    fn reads_are_listed_for_the_proof() {
        let p = compile("self.logs['a-b'].count > 0 && self.degraded.status == 'True'", &["self"]);
        let p = p.unwrap();
        assert!(p.reads["self"].contains("logs.a-b.count"));
        assert!(p.reads["self"].contains("degraded.status"));
    }

    #[test]
    fn the_facts_that_decide_are_known_unless_any_may() {
        let facts = |source: &str| {
            let predicate = compile(source, &["self", "now"]).unwrap();
            predicate.facts_of("self").map(|all| all.map(str::to_string).collect::<Vec<_>>())
        };
        let some = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        assert_eq!(facts("now > 3"), some(&[]));
        assert_eq!(facts("has(self.b) && self.a.c == 1"), some(&["a", "a", "b"]));
        assert_eq!(facts("self.logs['x.y'].count > 0"), some(&["logs", "logs", "logs"]));
        assert_eq!(facts("self['a'] == 1"), some(&["a"]));
        assert_eq!(facts("self.list.exists(one, one.b == self.c)"), some(&["c", "list"]));
        for any in ["'a' in self", "self['a.b'] == 1", "self[self.a] == 1", "size(self) > 1"] {
            assert_eq!(facts(any), None, "{any}");
        }
    }

    #[test]
    fn what_could_cost_too_much_is_refused_at_load() {
        assert!(compile(&"(".repeat(3000), &[]).is_err());
        assert!(compile(&format!("1{}", "+1".repeat(700)), &[]).is_err());
        let nested = "self.a.all(x, self.a.all(y, self.a.all(z, self.a.all(w, true))))";
        assert!(compile(nested, &["self"]).is_err());
        assert!(compile("self.a.all(x, x)", &["self"]).is_ok());
        assert!(compile("slef.a", &["self"]).unwrap_err().message.contains("slef"));
        assert!(compile("frobnicate(self.a)", &["self"]).unwrap_err().message.contains("frob"));
        assert!(compile("self.a ==", &["self"]).is_err());
    }
}
