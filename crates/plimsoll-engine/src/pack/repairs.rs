//! `repair.yaml` → repairs: what a recovery means step by step. Data in the packs, verbs in code: a step
//! names one verb, and its texts name facts of the thing that is repaired.

use plimsoll_model::diagnosis::DoneBy;
use plimsoll_model::plan::{LONGEST_BREAK, MAKERS, Maker, Power, Signer, UnitVerb, least_blast};
use plimsoll_yaml::{Kind, Node};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::load::Loader;
use super::{LoadError, Place};
use crate::predicate::{self, Predicate};
use crate::summary;

/// 0 read … 5 data or quorum.
const MAX_BLAST: u64 = 5;
const REPAIR_KEYS: &[&str] = &[
    "id",
    "title",
    "steps",
    "none",
    "verify",
    "never",
    "escalate",
    "source",
    "during",
    "break-glass",
    "for",
];
const VERBS: &[&str] = &[
    "hand",
    "wait",
    "patch",
    "create",
    "fill",
    "delete",
    "approve",
    "write-file",
    "retire",
    "unit",
    "power",
    "eject-media",
];
/// What a step of any verb may have.
const STEP_KEYS: &[&str] = &[
    "title", "each", "of", "where", "when", "require", "unless", "expect", "blast", "minutes",
    "commands", "decides",
];

/// How a root is put right.
#[derive(Debug)]
pub struct RepairRule {
    pub id: String,
    pub at: Place,
    pub title: String,
    /// Kinds of the things that it is for; known when all states are.
    pub kinds: Vec<String>,
    pub steps: Vec<StepRule>,
    /// There is no repair, and why.
    pub none: Option<String>,
    pub verify: Vec<VerifyRule>,
    pub never: Vec<String>,
    pub escalate: String,
    pub source: String,
    /// It may be done while an update or a rollout is going on.
    pub during_rollout: bool,
    /// Minutes after which it is taken back by itself. No recovery may name it; the user does.
    pub break_glass: Option<u64>,
    /// States that it is for when the user names it, beside those that propose it.
    pub states: Vec<String>,
    /// A case of a pack has it carried out. Until then it only informs.
    pub is_tried: bool,
}

/// Repairs that the cases in this text have carried out: `repair ID holds`, and what only the user knows, among
/// what a case that fires expects.
pub(super) fn tried(text: &str) -> Vec<&str> {
    let mut fires = false;
    // How long the fence around this line is, and whether expectations are in it.
    let mut block: Option<(usize, bool)> = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match block {
            Some((fence, _)) if ticks >= fence && line[ticks..].trim().is_empty() => block = None,
            Some((_, true)) => {
                if let ["repair", id, "holds", ..] = line.split_whitespace().collect::<Vec<_>>()[..]
                {
                    found.push(id);
                }
            }
            Some(_) => {}
            None if ticks >= 3 => block = Some((ticks, fires && line[ticks..].trim() == "expect")),
            None => {
                if let Some(heading) = line.strip_prefix("## ") {
                    fires = heading.trim_start().starts_with("fires:");
                }
            }
        }
    }
    found
}

impl RepairRule {
    /// Some step is one that the program would do.
    pub fn acts(&self) -> bool {
        self.steps.iter().any(|step| !matches!(step.verb, VerbRule::Hand { .. }))
    }

    pub fn done_by(&self) -> DoneBy {
        match () {
            () if self.steps.is_empty() => DoneBy::Nobody,
            () if self.acts() && self.is_tried => DoneBy::Plimsoll,
            () => DoneBy::Hand,
        }
    }
}

#[derive(Debug)]
pub struct VerifyRule {
    pub run: Option<String>,
    pub expect: String,
}

#[derive(Debug)]
pub struct StepRule {
    pub at: Place,
    pub title: String,
    pub verb: VerbRule,
    pub each: Option<Each>,
    /// Only where this holds.
    pub when: Option<Predicate>,
    pub require: Vec<ConditionRule>,
    /// Where all of these hold by then, the step is left out.
    pub unless: Vec<ConditionRule>,
    pub expect: Vec<ConditionRule>,
    pub blast: u8,
    pub minutes: Option<u64>,
    pub commands: Vec<String>,
    /// Fields of the object that the decision rests on; empty for all.
    pub decides: Vec<String>,
}

/// One step for each item of a fact, or for each thing of a kind; `{each}` is its text or name.
#[derive(Debug)]
pub enum Each {
    Item { fact: String },
    Thing { kind: String, wanted: Option<Predicate> },
}

#[derive(Debug)]
pub struct ConditionRule {
    /// `self`, `each`, or `Kind/name` with facts in braces.
    pub on: String,
    pub that: String,
    pub says: String,
    pub within: u64,
}

#[derive(Debug)]
pub enum VerbRule {
    Hand { run: Vec<String>, expect: String },
    Wait,
    Patch { object: String, subresource: Option<String>, operations: Vec<Value> },
    Create { object: String, content: ContentRule },
    Fill { object: String, content: ContentRule },
    Delete { object: String },
    Approve { node: String, signer: Signer },
    WriteFile { node: String, path: String, mode: u32, content: ContentRule },
    Retire { node: String, paths: Vec<String> },
    Unit { node: String, unit: String, verb: UnitVerb },
    Power { host: String, serial: Option<String>, to: Power },
    EjectMedia { host: String, serial: Option<String> },
}

impl VerbRule {
    /// Of the object that it is done to. One that only the data tells is none that is known.
    fn kind(&self) -> &str {
        match self {
            VerbRule::Patch { object, .. }
            | VerbRule::Create { object, .. }
            | VerbRule::Fill { object, .. }
            | VerbRule::Delete { object } => object.split('/').next().unwrap_or_default(),
            _ => "",
        }
    }
}

#[derive(Debug)]
pub enum ContentRule {
    Value(Value),
    Maker { maker: String, inputs: Value },
}

impl<'n> Loader<'n> {
    pub(super) fn repair_file(&mut self, path: &'n str, node: &'n Node) {
        let Some(fields) = Fields::new(path, node, &["repairs"], &mut self.errors) else { return };
        for item in fields.list("repairs", &mut self.errors) {
            if let Some(repair) = self.repair(path, item) {
                if let Some(known) = self.pack.repairs.iter().find(|known| known.id == repair.id) {
                    let message =
                        format!("repair '{}' is declared already, {}", known.id, known.at.path);
                    self.errors.push(LoadError::at(&repair.at, message));
                }
                self.pack.repairs.push(repair);
            }
        }
    }

    fn repair(&mut self, path: &'n str, item: &'n Node) -> Option<RepairRule> {
        let fields = Fields::new(path, item, REPAIR_KEYS, &mut self.errors)?;
        let mut steps = Vec::new();
        for step in fields.list("steps", &mut self.errors) {
            steps.extend(self.step(path, step));
        }
        let none = fields.text("none", &mut self.errors).map(|text| text.trim().to_string());
        if steps.is_empty() == none.is_none() {
            let message = "a repair has 'steps', or says in 'none' why there are none";
            self.errors.push(fields.here(message));
        }
        let mut verify = Vec::new();
        for item in fields.list("verify", &mut self.errors) {
            let Some(inner) = Fields::new(path, item, &["run", "expect"], &mut self.errors) else {
                continue;
            };
            verify.push(VerifyRule {
                run: inner.text("run", &mut self.errors).map(str::to_string),
                expect: inner.required("expect", &mut self.errors),
            });
        }
        let break_glass = fields.number("break-glass", &mut self.errors);
        let states = fields.texts("for", &mut self.errors);
        if break_glass.is_some_and(|minutes| !(1..=LONGEST_BREAK).contains(&minutes)) {
            let message = format!("'break-glass' is 1 to {LONGEST_BREAK} minutes");
            self.errors.push(fields.at("break-glass", message));
        }
        if break_glass.is_some() && states.is_empty() {
            self.errors.push(fields.here("a 'break-glass' says in 'for' which states it is for"));
        }
        Some(RepairRule {
            break_glass,
            states,
            is_tried: false,
            id: fields.required("id", &mut self.errors),
            at: fields.place(),
            title: fields.required("title", &mut self.errors),
            kinds: Vec::new(),
            steps,
            none,
            verify,
            never: fields.texts("never", &mut self.errors),
            escalate: fields.required("escalate", &mut self.errors),
            source: fields.required("source", &mut self.errors),
            during_rollout: fields
                .word("during", &[("rollout", true)], &mut self.errors)
                .unwrap_or(false),
        })
    }

    fn step(&mut self, path: &'n str, item: &'n Node) -> Option<StepRule> {
        let named: Vec<&str> =
            VERBS.iter().copied().filter(|verb| item.get(verb).is_some()).collect();
        let [verb] = named.as_slice() else {
            let here = Place { path: path.into(), line: item.line, column: item.column };
            let message = format!("a step names one verb: {}", VERBS.join(", "));
            self.errors.push(LoadError::at(&here, message));
            return None;
        };
        let own: &[&str] = match *verb {
            "hand" => &["run"],
            "patch" => &["operations", "subresource"],
            "create" | "fill" => &["content", "maker", "inputs"],
            "approve" => &["signer"],
            "write-file" => &["node", "mode", "content", "maker", "inputs"],
            "retire" => &["node"],
            "unit" => &["node", "verb"],
            "power" => &["to", "serial"],
            "eject-media" => &["serial"],
            _ => &[],
        };
        let mut known: Vec<&str> = STEP_KEYS.to_vec();
        known.push(verb);
        known.extend(own);
        let fields = Fields::new(path, item, &known, &mut self.errors)?;
        // Of a step by hand `expect` is a sentence; of the others, conditions.
        let rule = self.verb(verb, &fields)?;
        let title = match rule {
            VerbRule::Hand { .. } | VerbRule::Wait => fields.required(verb, &mut self.errors),
            _ => fields.required("title", &mut self.errors),
        };
        let expect = match rule {
            VerbRule::Hand { .. } => Vec::new(),
            _ => self.conditions(&fields, "expect"),
        };
        let blast = fields.number("blast", &mut self.errors);
        let usual = least_blast(verb, rule.kind());
        if blast.is_some_and(|level| level > MAX_BLAST) {
            let message = format!("'blast' is a level from 0 to {MAX_BLAST}");
            self.errors.push(fields.at("blast", message));
        }
        // A pack may call a step more dangerous than its verb is, never less.
        let blast = blast.and_then(|level| u8::try_from(level).ok()).unwrap_or(usual).max(usual);
        let each = self.each(&fields);
        Some(StepRule {
            at: fields.place(),
            title,
            verb: rule,
            each,
            when: self.condition_of(&fields, "when", &["self", "cluster"]),
            require: self.conditions(&fields, "require"),
            unless: self.conditions(&fields, "unless"),
            expect,
            blast,
            minutes: fields.number("minutes", &mut self.errors),
            commands: fields.texts("commands", &mut self.errors),
            decides: fields.texts("decides", &mut self.errors),
        })
    }

    fn verb(&mut self, verb: &str, fields: &Fields<'n>) -> Option<VerbRule> {
        let main = |loader: &mut Self| fields.required(verb, &mut loader.errors);
        let node = |loader: &mut Self| fields.required("node", &mut loader.errors);
        let serial =
            |loader: &mut Self| fields.text("serial", &mut loader.errors).map(str::to_string);
        Some(match verb {
            "hand" => VerbRule::Hand {
                run: fields.texts("run", &mut self.errors),
                expect: fields.required("expect", &mut self.errors),
            },
            "wait" => VerbRule::Wait,
            "patch" => VerbRule::Patch {
                object: main(self),
                subresource: fields.text("subresource", &mut self.errors).map(str::to_string),
                operations: {
                    let items = fields.list("operations", &mut self.errors);
                    if items.is_empty() {
                        self.errors.push(fields.here("'operations' is missing"));
                    }
                    items.iter().map(value).collect()
                },
            },
            "create" => VerbRule::Create { object: main(self), content: self.content(fields)? },
            "fill" => VerbRule::Fill { object: main(self), content: self.content(fields)? },
            "delete" => VerbRule::Delete { object: main(self) },
            "approve" => {
                let signers = [("client", Signer::Client), ("serving", Signer::Serving)];
                let signer = fields.word("signer", &signers, &mut self.errors);
                if fields.get("signer").is_none() {
                    self.errors.push(fields.here("'signer' is missing"));
                }
                VerbRule::Approve { node: main(self), signer: signer? }
            }
            "write-file" => {
                let mode = fields.required("mode", &mut self.errors);
                let mode = u32::from_str_radix(&mode, 8).ok().filter(|mode| *mode <= 0o7777);
                if mode.is_none() {
                    self.errors.push(fields.here("'mode' must be octal, as \"0600\""));
                }
                VerbRule::WriteFile {
                    path: main(self),
                    node: node(self),
                    mode: mode?,
                    content: self.content(fields)?,
                }
            }
            "retire" => {
                VerbRule::Retire { node: node(self), paths: fields.texts(verb, &mut self.errors) }
            }
            "unit" => {
                let verbs = [UnitVerb::Start, UnitVerb::Stop, UnitVerb::Restart];
                let verbs = verbs.map(|verb| (verb.word(), verb));
                let done = fields.word("verb", &verbs, &mut self.errors);
                VerbRule::Unit {
                    unit: main(self),
                    node: node(self),
                    verb: done.unwrap_or(UnitVerb::Restart),
                }
            }
            "power" => {
                let ways = [("on", Power::On), ("off", Power::Off)];
                let to = fields.word("to", &ways, &mut self.errors);
                if fields.get("to").is_none() {
                    self.errors.push(fields.here("'to' is missing"));
                }
                VerbRule::Power { host: main(self), serial: serial(self), to: to? }
            }
            _ => VerbRule::EjectMedia { host: main(self), serial: serial(self) },
        })
    }

    fn content(&mut self, fields: &Fields<'n>) -> Option<ContentRule> {
        match (fields.get("content"), fields.text("maker", &mut self.errors)) {
            (Some(content), None) => Some(ContentRule::Value(value(content))),
            (None, Some(maker)) => {
                if Maker::named(maker).is_none() {
                    let known: Vec<&str> = MAKERS.iter().map(|one| one.name).collect();
                    let message = format!("nobody makes '{maker}'; makers: {}", known.join(", "));
                    self.errors.push(fields.at("maker", message));
                }
                Some(ContentRule::Maker {
                    maker: maker.into(),
                    inputs: fields.get("inputs").map(value).unwrap_or_default(),
                })
            }
            _ => {
                self.errors
                    .push(fields.here("what is written is in 'content', or a 'maker' makes it"));
                None
            }
        }
    }

    fn each(&mut self, fields: &Fields<'n>) -> Option<Each> {
        let wanted = self.condition_of(fields, "where", &["self", "each", "cluster"]);
        match (fields.text("each", &mut self.errors), fields.text("of", &mut self.errors)) {
            (Some(fact), None) => Some(Each::Item { fact: fact.into() }),
            (None, Some(kind)) => {
                if !crate::facts::schema::has_kind(kind) {
                    self.errors.push(fields.at("of", format!("no kind '{kind}' among the facts")));
                }
                Some(Each::Thing { kind: kind.into(), wanted })
            }
            (None, None) => None,
            (Some(_), Some(_)) => {
                self.errors.push(fields.here("a step is for 'each' item of a fact or 'of' a kind"));
                None
            }
        }
    }

    fn condition_of(
        &mut self,
        fields: &Fields<'n>,
        key: &str,
        variables: &[&str],
    ) -> Option<Predicate> {
        let text = fields.text(key, &mut self.errors)?;
        let mut variables = variables.to_vec();
        variables.push("now");
        predicate::compile(text.trim(), &variables)
            .map_err(|refused| {
                self.errors.push(fields.at(key, format!("in '{key}': {}", refused.message)));
            })
            .ok()
    }

    fn conditions(&mut self, fields: &Fields<'n>, key: &str) -> Vec<ConditionRule> {
        let mut rules = Vec::new();
        for item in fields.list(key, &mut self.errors) {
            let known = ["on", "that", "says", "within"];
            let Some(inner) = Fields::new(fields.path, item, &known, &mut self.errors) else {
                continue;
            };
            let that = inner.required("that", &mut self.errors);
            // What is in braces is filled in before it is compiled again.
            let variables = ["self", "cluster", "now"];
            if let Err(refused) = predicate::compile(&summary::in_general(&that), &variables) {
                self.errors.push(inner.at("that", format!("in 'that': {}", refused.message)));
            }
            rules.push(ConditionRule {
                on: inner.required("on", &mut self.errors),
                says: inner.required("says", &mut self.errors),
                within: inner.number("within", &mut self.errors).unwrap_or(0),
                that,
            });
        }
        rules
    }
}

/// YAML as the API takes it.
pub fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(plain) => (*plain).into(),
        Kind::Int(plain) => (*plain).into(),
        Kind::UInt(plain) => (*plain).into(),
        Kind::Float(plain) => (*plain).into(),
        Kind::Text(text) => text.clone().into(),
        Kind::List(items) => items.iter().map(value).collect(),
        Kind::Map(map) => {
            let entries = map.iter().map(|(key, inner)| (key.name.clone(), value(inner)));
            Value::Object(entries.collect::<Map<String, Value>>())
        }
    }
}

#[cfg(test)]
mod tests;
