//! `case.yaml` → rules. Two passes: read every file, then tie the names together.

use std::collections::BTreeSet;

use plimsoll_causes::Prior;
use plimsoll_model::check::Severity;
use plimsoll_model::diagnosis::{Cost, Verdict};
use plimsoll_model::snapshot::Signature;
use plimsoll_yaml::{Limits, Node};

use super::fields::Fields;
use super::names::LogFact;
use super::{
    Applies, BreakerRule, Case, CheckRule, FindingRule, LoadError, Pack, PackFile, Recovery, Role,
    SignatureRule, StateRule, repairs,
};
use crate::facts::schema;
use crate::predicate::{self, Predicate};

const MAX_FILES: usize = 5000;
/// 0 read … 5 data or quorum.
const MAX_BLAST: u64 = 5;
const CASE_KEYS: &[&str] =
    &["id", "title", "catalogue", "signatures", "states", "causes", "checks", "breakers"];
const STATE_KEYS: &[&str] = &[
    "id",
    "on",
    "named",
    "summary",
    "says",
    "when",
    "since",
    "recovered",
    "root",
    "role",
    "sign",
    "proven",
    "refines",
    "applies",
    "recovery",
    "folklore",
    "severity",
    "at",
    "why",
];
const CAUSE_KEYS: &[&str] =
    &["from", "to", "via", "likelihood", "delay", "guard", "keeps", "applies", "because", "source"];

pub(super) struct Loader<'n> {
    pub(super) pack: Pack,
    /// The case that an edge stands in, and its text: its ends are tied when all states are known.
    causes: Vec<(usize, Fields<'n>)>,
    /// Same order as in the pack, until that is sorted.
    signatures: Vec<Fields<'n>>,
    /// The states that a check is for, how to do it, what it costs.
    checks: Vec<(Fields<'n>, Vec<String>, String, Cost)>,
    breakers: Vec<(Fields<'n>, String, String)>,
    /// Log facts that expressions and sentences name: checked when all signatures are known.
    pub(super) log_facts: Vec<LogFact>,
    /// Where each state was declared, for messages.
    places: Vec<(String, String, u32)>,
    pub(super) errors: Vec<LoadError>,
}

pub fn load(files: &[PackFile]) -> Result<Pack, Vec<LoadError>> {
    let mut errors = Vec::new();
    if files.len() > MAX_FILES {
        let message = format!("more than {MAX_FILES} files");
        return Err(vec![LoadError { path: String::new(), line: 1, column: 1, message }]);
    }
    let mut parsed: Vec<(&PackFile, Node)> = Vec::new();
    for file in files {
        let is_case = file.path.ends_with("/case.yaml") || file.path == "case.yaml";
        let is_pack = file.path == "pack.yaml" || file.path.ends_with("/pack.yaml");
        let is_repair = file.path == "repair.yaml" || file.path.ends_with("/repair.yaml");
        if !is_case && !is_pack && !is_repair {
            continue;
        }
        match plimsoll_yaml::parse(&file.text, &Limits::USER_FILE) {
            Ok(node) => parsed.push((file, node)),
            Err(error) => errors.push(LoadError {
                path: file.path.clone(),
                line: error.line,
                column: error.column,
                message: error.message,
            }),
        }
    }
    parsed.sort_by(|a, b| a.0.path.cmp(&b.0.path));
    let mut loader = Loader {
        pack: Pack::default(),
        causes: Vec::new(),
        signatures: Vec::new(),
        checks: Vec::new(),
        breakers: Vec::new(),
        log_facts: Vec::new(),
        places: Vec::new(),
        errors,
    };
    for (file, node) in &parsed {
        if file.path.ends_with("pack.yaml") {
            loader.pack_file(&file.path, node);
        } else if file.path.ends_with("repair.yaml") {
            loader.repair_file(&file.path, node);
        } else {
            loader.case_file(&file.path, node);
        }
    }
    let mut pack = loader.tie()?;
    let cases = files.iter().filter(|file| file.has_cases());
    let tried: BTreeSet<&str> = cases.flat_map(|file| repairs::tried(&file.text)).collect();
    for repair in &mut pack.repairs {
        repair.is_tried = tried.contains(repair.id.as_str());
    }
    Ok(pack)
}

impl<'n> Loader<'n> {
    fn pack_file(&mut self, path: &'n str, node: &'n Node) {
        let known = ["name", "format", "operators"];
        let Some(fields) = Fields::new(path, node, &known, &mut self.errors) else { return };
        if let Some(format) = fields.get("format")
            && format.as_int() != Some(1)
        {
            self.errors.push(fields.error(format, "this Plimsoll reads pack format 1"));
        }
        for item in fields.list("operators", &mut self.errors) {
            let known = ["name", "needs", "namespaces"];
            let Some(operator) = Fields::new(path, item, &known, &mut self.errors) else {
                continue;
            };
            let name = operator.required("name", &mut self.errors);
            let needs = operator.texts("needs", &mut self.errors);
            for namespace in operator.texts("namespaces", &mut self.errors) {
                self.pack.namespaces.insert(namespace, name.clone());
            }
            self.pack.operator_needs.entry(name).or_default().extend(needs);
        }
    }

    fn case_file(&mut self, path: &'n str, node: &'n Node) {
        let Some(fields) = Fields::new(path, node, CASE_KEYS, &mut self.errors) else { return };
        let id = fields.required("id", &mut self.errors);
        let folder = path.strip_suffix("/case.yaml").and_then(|p| p.rsplit('/').next());
        if let Some(folder) = folder
            && folder != id
        {
            self.errors
                .push(fields.here(format!("id '{id}' must be the folder's name, '{folder}'")));
        }
        let case = self.pack.cases.len();
        self.pack.cases.push(Case {
            path: path.into(),
            title: fields.required("title", &mut self.errors),
            catalogue: fields.text("catalogue", &mut self.errors).map(str::to_string),
            id,
        });
        for item in fields.list("signatures", &mut self.errors) {
            self.signature(path, item);
        }
        for item in fields.list("states", &mut self.errors) {
            self.state(path, case, item);
        }
        for item in fields.list("causes", &mut self.errors) {
            let Some(fields) = Fields::new(path, item, CAUSE_KEYS, &mut self.errors) else {
                continue;
            };
            self.causes.push((case, fields));
        }
        for item in fields.list("checks", &mut self.errors) {
            let Some(fields) = Fields::new(path, item, &["for", "how", "cost"], &mut self.errors)
            else {
                continue;
            };
            let states = fields.texts("for", &mut self.errors);
            if states.is_empty() {
                self.errors.push(fields.here("'for' is missing"));
            }
            let how = fields.required("how", &mut self.errors);
            let costs = [("low", Cost::Low), ("medium", Cost::Medium), ("high", Cost::High)];
            let cost = fields.word("cost", &costs, &mut self.errors).unwrap_or(Cost::Medium);
            self.checks.push((fields, states, how, cost));
        }
        for item in fields.list("breakers", &mut self.errors) {
            let Some(fields) = Fields::new(path, item, &["state", "action"], &mut self.errors)
            else {
                continue;
            };
            let state = fields.required("state", &mut self.errors);
            let action = fields.required("action", &mut self.errors);
            self.breakers.push((fields, state, action));
        }
    }

    fn signature(&mut self, path: &'n str, item: &'n Node) {
        let known = ["id", "on", "logs", "contains", "pattern", "entity", "over", "optional"];
        let Some(fields) = Fields::new(path, item, &known, &mut self.errors) else { return };
        let id = fields.required("id", &mut self.errors);
        let on = fields.required("on", &mut self.errors);
        self.kind_exists(&fields, "on", &on);
        let contains = fields.texts("contains", &mut self.errors);
        if contains.first().is_none_or(|literal| literal.len() < 6) {
            // A short literal would stop the scan on every other line of a log.
            self.errors.push(fields.here("'contains' needs a first text of at least 6 characters"));
        }
        let pattern = fields.text("pattern", &mut self.errors).map(str::to_string);
        if let Some(pattern) = &pattern {
            self.pattern(&fields, "pattern", pattern);
        }
        let logs = fields.texts("logs", &mut self.errors);
        for selector in &logs {
            let kind = selector.split('/').next().unwrap_or_default();
            if !["unit", "pod", "static", "console", "installer"].contains(&kind) {
                self.errors.push(fields.here(format!(
                    "log selector '{selector}' must start with unit/, pod/, static/, console \
                     or installer"
                )));
            }
        }
        if self.pack.signatures.iter().any(|known| known.spec.id == id) {
            self.errors.push(fields.here(format!("signature '{id}' is declared twice")));
        }
        let entity = fields.text("entity", &mut self.errors).map(str::to_string);
        if let Some(text) = &entity
            && text.parse::<plimsoll_model::EntityId>().map(|id| id.kind).ok().as_deref()
                != Some(on.as_str())
        {
            self.errors.push(fields.here(format!("entity '{text}' is not a {on}")));
        }
        let over = fields.texts("over", &mut self.errors);
        let optional = fields.flag("optional", &mut self.errors);
        self.pack.signatures.push(SignatureRule {
            at: fields.place(),
            spec: Signature { id, contains, pattern, logs },
            on,
            entity,
            over,
            optional,
        });
        self.signatures.push(fields);
    }

    fn state(&mut self, path: &'n str, case: usize, item: &'n Node) {
        let Some(fields) = Fields::new(path, item, STATE_KEYS, &mut self.errors) else { return };
        let id = fields.required("id", &mut self.errors);
        let on = fields.required("on", &mut self.errors);
        self.kind_exists(&fields, "on", &on);
        let is_known = self.pack.states.iter().any(|known| known.id == id && known.on == on);
        if let Some((_, file, line)) = self.places.iter().find(|(known, _, _)| *known == id)
            && is_known
        {
            self.errors
                .push(fields.here(format!("state '{id}' is declared already, {file}:{line}")));
        }
        self.places.push((id.clone(), path.into(), item.line));
        let Some(when) = self.predicate(&fields, "when", &[("self", &on), ("cluster", "Cluster")])
        else {
            if fields.get("when").is_none() {
                self.errors.push(fields.here("'when' is missing"));
            }
            return;
        };
        let scope = [("self", on.as_str()), ("cluster", "Cluster")];
        let since = self.predicate(&fields, "since", &scope);
        let recovered = self.predicate(&fields, "recovered", &scope);
        let proven = self.predicate(&fields, "proven", &scope);
        let transient = when
            .reads_of("self")
            .iter()
            .any(|p| p.starts_with("logs.") || p.starts_with("events."));
        if transient && fields.get("recovered").is_none() {
            self.errors.push(fields.here(
                "a state seen in logs or events needs 'recovered': a transient that is over must not be blamed",
            ));
        }
        let priors =
            [("common", Prior::Common), ("uncommon", Prior::Uncommon), ("rare", Prior::Rare)];
        let roles = [("fault", Role::Fault), ("expected", Role::Expected), ("note", Role::Note)];
        let signs = [("strong", false), ("weak", true)];
        let mut recovery = Vec::new();
        for item in fields.list("recovery", &mut self.errors) {
            recovery.extend(self.recovery(path, &on, item));
        }
        self.sentence(&fields, "summary", &[&on]);
        let role = fields.word("role", &roles, &mut self.errors).unwrap_or(Role::Fault);
        let root = fields.word("root", &priors, &mut self.errors);
        if root.is_some() && role != Role::Fault {
            self.errors.push(fields.here("only a fault can be a root"));
        }
        let finding = self.finding(&fields, &on);
        let rule = StateRule {
            at: fields.place(),
            case,
            named: fields.texts("named", &mut self.errors),
            says: self.says(&fields),
            summary: fields.required("summary", &mut self.errors),
            when,
            since,
            recovered,
            proven,
            root,
            role,
            weak: fields.word("sign", &signs, &mut self.errors).unwrap_or(false),
            refines: fields.text("refines", &mut self.errors).map(str::to_string),
            applies: self.applies(&fields),
            recovery,
            folklore: fields.texts("folklore", &mut self.errors),
            finding,
            id,
            on,
        };
        self.pack.states.push(rule);
    }

    /// How a state of a config is told: how bad it is, which fact it stands at, why it matters.
    fn finding(&mut self, fields: &Fields<'n>, on: &str) -> Option<FindingRule> {
        let severities = [("error", Severity::Error), ("warning", Severity::Warning)];
        let severity = fields.word("severity", &severities, &mut self.errors);
        let at = fields.text("at", &mut self.errors).map(str::to_string);
        let why = fields.text("why", &mut self.errors).map(|why| why.trim().to_string());
        if severity.is_none() && (at.is_some() || why.is_some()) {
            self.errors.push(fields.here("'at' and 'why' are for states with a 'severity'"));
        }
        if let Some(fact) = &at {
            self.fact(fields, "at", on, fact);
        }
        Some(FindingRule { severity: severity?, at, why })
    }

    fn recovery(&mut self, path: &'n str, on: &str, item: &'n Node) -> Option<Recovery> {
        let known = [
            "applies",
            "when",
            "verdict",
            "repair",
            "summary",
            "minutes",
            "reinstall_minutes",
            "blast",
        ];
        let fields = Fields::new(path, item, &known, &mut self.errors)?;
        let verdicts = [
            ("recoverable", Verdict::Recoverable),
            ("data-at-risk", Verdict::DataAtRisk),
            ("reinstall", Verdict::Reinstall),
            ("escalate", Verdict::Escalate),
        ];
        let when = self.predicate(&fields, "when", &[("self", on), ("cluster", "Cluster")]);
        let verdict = fields.word("verdict", &verdicts, &mut self.errors);
        if fields.get("verdict").is_none() {
            self.errors.push(fields.here("'verdict' is missing"));
        }
        self.sentence(&fields, "summary", &[on]);
        let blast = fields.number("blast", &mut self.errors);
        if blast.is_some_and(|level| level > MAX_BLAST) {
            self.errors
                .push(fields.at("blast", format!("'blast' is a level from 0 to {MAX_BLAST}")));
        }
        Some(Recovery {
            applies: self.applies(&fields),
            when,
            verdict: verdict.unwrap_or(Verdict::Escalate),
            repair: fields.required("repair", &mut self.errors),
            summary: fields.required("summary", &mut self.errors),
            minutes: fields.number("minutes", &mut self.errors),
            reinstall_minutes: fields.number("reinstall_minutes", &mut self.errors),
            blast: blast.and_then(|level| u8::try_from(level).ok()),
        })
    }

    /// Patterns of what people read when the state is there.
    fn says(&mut self, fields: &Fields<'n>) -> Vec<String> {
        let patterns = fields.texts("says", &mut self.errors);
        let is_short = |pattern: &&String| pattern.chars().count() < predicate::TELLING;
        if let Some(short) = patterns.iter().find(is_short) {
            self.errors.push(fields.at("says", format!("'{short}' is too short to tell anything")));
        }
        for pattern in &patterns {
            self.pattern(fields, "says", pattern);
        }
        patterns
    }

    fn pattern(&mut self, fields: &Fields<'n>, key: &str, pattern: &str) {
        if let Err(error) = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build() {
            let reason = error.to_string();
            let last = reason.lines().last().unwrap_or_default();
            self.errors.push(fields.at(key, format!("not a pattern: {last}")));
        }
    }

    pub(super) fn applies(&mut self, fields: &Fields<'n>) -> Applies {
        let Some(node) = fields.get("applies") else { return Applies::default() };
        let known = ["versions", "platforms", "topologies"];
        let Some(inner) = Fields::new(fields.path, node, &known, &mut self.errors) else {
            return Applies::default();
        };
        let mut applies = Applies {
            platforms: inner.texts("platforms", &mut self.errors),
            topologies: inner.texts("topologies", &mut self.errors),
            ..Applies::default()
        };
        if let Some(range) = inner.text("versions", &mut self.errors) {
            // `4.12..4.18`, `4.19..`, `..4.18`
            match minors(range) {
                Some((from, to)) => (applies.from_minor, applies.to_minor) = (from, to),
                None => self.errors.push(
                    inner.at("versions", "'versions' must look like 4.12..4.18, 4.19.. or ..4.18"),
                ),
            }
        }
        applies
    }

    fn kind_exists(&mut self, fields: &Fields<'n>, key: &str, kind: &str) {
        if !kind.is_empty() && !schema::has_kind(kind) {
            self.errors.push(fields.at(key, format!("no kind '{kind}' among the facts")));
        }
    }

    /// Compiles the expression at `key` and checks that it reads facts that exist.
    pub(super) fn predicate(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        scope: &[(&str, &str)],
    ) -> Option<Predicate> {
        let node = fields.get(key)?;
        let text = fields.text(key, &mut self.errors)?;
        let mut variables: Vec<&str> = scope.iter().map(|(variable, _)| *variable).collect();
        variables.push("now");
        match predicate::compile(text.trim(), &variables) {
            Ok(predicate) => {
                for (variable, kind) in scope {
                    for path in predicate.reads_of(variable) {
                        self.fact(fields, key, kind, path);
                    }
                }
                Some(predicate)
            }
            Err(refused) => {
                let mut error = fields.error(node, format!("in '{key}': {}", refused.message));
                error.line += refused.line - 1;
                error.column = if refused.line > 1 {
                    refused.column
                } else {
                    error.column + refused.column - 1
                };
                self.errors.push(error);
                None
            }
        }
    }

    /// Second pass: names to indices.
    fn tie(mut self) -> Result<Pack, Vec<LoadError>> {
        self.pack.states.sort_by(|a, b| (&a.id, &a.on).cmp(&(&b.id, &b.on)));
        self.check_endings();
        self.pack.signatures.sort_by(|a, b| a.spec.id.cmp(&b.spec.id));
        self.check_refined();
        for (case, fields) in std::mem::take(&mut self.causes) {
            self.edges(case, &fields);
        }
        self.pack.causes.sort_by(|a, b| a.id.cmp(&b.id));
        for (fields, named, how, cost) in std::mem::take(&mut self.checks) {
            for name in named {
                let states = self.states_meant(&name);
                self.sentence_about(&fields, "how", &states);
                if states.is_empty() {
                    self.errors.push(fields.here(format!("no state '{name}'")));
                }
                let check = |state| CheckRule { state, how: how.clone(), cost };
                self.pack.checks.extend(states.into_iter().map(check));
            }
        }
        for (fields, state, action) in std::mem::take(&mut self.breakers) {
            match self.pack.state(&state) {
                Some(state) => {
                    self.sentence_about(&fields, "action", &[state]);
                    self.pack.breakers.push(BreakerRule { state, action });
                }
                None => self.errors.push(fields.here(format!("no state '{state}'"))),
            }
        }
        self.check_log_facts();
        self.tie_repairs();
        if self.errors.is_empty() {
            return Ok(self.pack);
        }
        self.errors.sort();
        self.errors.dedup();
        Err(self.errors)
    }

    /// Signatures that end another one must exist.
    fn check_endings(&mut self) {
        let rules = &self.pack.signatures;
        for (rule, fields) in rules.iter().zip(&self.signatures) {
            let missing =
                rule.over.iter().filter(|id| !rules.iter().any(|other| other.spec.id == **id));
            self.errors.extend(missing.map(|id| fields.here(format!("no signature '{id}'"))));
        }
    }

    /// Refined states must exist.
    fn check_refined(&mut self) {
        let states = &self.pack.states;
        for state in states {
            let is_it = |general: &str| {
                states.iter().any(|other| other.id == general && other.on == state.on)
            };
            if let Some(general) = state.refines.as_deref().filter(|general| !is_it(general)) {
                let message = format!("refines '{general}', which is no state of a {}", state.on);
                self.errors.push(LoadError::at(&state.at, message));
            }
        }
    }

    /// `clock-skew`, or `Node/clock-skew` where several kinds of things have a state of that name.
    pub(super) fn states_meant(&self, name: &str) -> Vec<usize> {
        let (kind, id) = name.split_once('/').map_or((None, name), |(kind, id)| (Some(kind), id));
        let is_meant = |index: &usize| kind.is_none_or(|kind| self.pack.states[*index].on == kind);
        self.pack.states_named(id).filter(is_meant).collect()
    }
}

/// `4.12..4.18`, `4.19..`, `..4.18` → the minors at both ends; nothing if it is no such range.
fn minors(range: &str) -> Option<(Option<i64>, Option<i64>)> {
    let end = |text: &str| match text.trim() {
        "" => Some(None),
        text => text.strip_prefix("4.")?.parse::<i64>().ok().map(Some),
    };
    let (from, to) = range.split_once("..")?;
    let ends = (end(from)?, end(to)?);
    match ends {
        (None, None) => None,
        (Some(from), Some(to)) if from > to => None,
        _ => Some(ends),
    }
}
