//! Edits made by the simulator rather than written by a person.

use jiff::Timestamp;
use plimsoll_yaml::{Limits, parse};
use serde_json::Value as Json;

use crate::edit::{
    Condition, Edit, Event, FieldPath, Repeated, Target, Value, Verb, When, parse_target,
};

/// Edits in the order in which they are put in. What a target cannot be read from is left out; the
/// unit tests of the mechanisms see to it that there is none.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub edits: Vec<Edit>,
}

/// A line that is repeated, or said once when it has no end.
pub(super) struct Line<'a> {
    pub from: Timestamp,
    pub to: Option<Timestamp>,
    pub every_seconds: i64,
    /// None: the text is the whole line.
    pub klog: Option<char>,
    pub text: &'a str,
}

impl Script {
    fn push(&mut self, verb: Verb) {
        self.edits.push(Edit { line: 0, verb });
    }

    fn on(&mut self, target: &str, verb: impl FnOnce(Target) -> Option<Verb>) {
        if let Some(verb) = parse_target(target).ok().and_then(verb) {
            self.push(verb);
        }
    }

    pub fn set(&mut self, target: &str, path: &str, value: &Json) {
        let value = parse(&value.to_string(), &Limits::USER_FILE).ok();
        self.on(target, |target| {
            let path = FieldPath::parse(path).ok()?;
            Some(Verb::Set { target, path, value: Value::Yaml(value?) })
        });
    }

    pub fn delete(&mut self, target: &str) {
        self.on(target, |target| Some(Verb::Delete { target }));
    }

    pub fn create(&mut self, object: &Json) {
        if let Ok(object) = parse(&object.to_string(), &Limits::OBJECT) {
            self.push(Verb::Create { object });
        }
    }

    /// Status `True`, `False` or `Unknown`, with reason and message.
    pub fn condition(
        &mut self,
        target: &str,
        kind: &str,
        (status, reason, message): (&str, &str, &str),
        since: Timestamp,
    ) {
        let condition = Condition {
            name: kind.into(),
            status: status.into(),
            reason: Some(reason.into()),
            message: Some(message.into()),
            since: Some(When::At(since)),
        };
        self.on(target, |target| Some(Verb::Condition { target, condition }));
    }

    pub fn event(
        &mut self,
        namespace: &str,
        (kind, name): (&str, &str),
        (reason, message): (&str, &str),
        (since, until): (Timestamp, Timestamp),
        count: u32,
    ) {
        let severity =
            if reason == "NodeNotReady" && kind == "Node" { "Normal" } else { "Warning" };
        let event = Event {
            kind: kind.into(),
            name: name.into(),
            reason: reason.into(),
            severity: severity.into(),
            since: When::At(since),
            until: When::At(until),
            count,
            message: message.into(),
        };
        self.push(Verb::Event { namespace: namespace.into(), event });
    }

    pub fn journal(&mut self, unit: &str, node: &str, line: &Line<'_>) {
        let lines = repeated(line);
        self.push(Verb::Journal { unit: unit.into(), node: node.into(), lines });
    }

    pub fn log(&mut self, (namespace, pod, container): (&str, &str, &str), line: &Line<'_>) {
        self.push(Verb::Log {
            namespace: namespace.into(),
            pod: pod.into(),
            container: container.into(),
            previous: false,
            lines: repeated(line),
        });
    }

    pub fn file(&mut self, path: &str, content: String) {
        self.push(Verb::File { path: path.into(), content });
    }
}

fn repeated(line: &Line<'_>) -> Repeated {
    Repeated {
        from: When::At(line.from),
        to: line.to.map(When::At),
        every_seconds: line.every_seconds,
        klog: line.klog,
        text: line.text.into(),
    }
}
