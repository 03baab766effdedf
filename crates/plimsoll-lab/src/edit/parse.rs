//! The text of edits.

use std::collections::BTreeMap;

use plimsoll_yaml::{Limits, Node, YamlError, parse};

use super::time::{When, duration};
use super::token::{Token, tokens};
use super::{Condition, Edit, EditError, Event, FieldPath, Repeated, Target, Value, Verb};
use crate::kinds;

/// `first_line` is the line of the file at which `text` starts.
pub fn parse_edits(text: &str, first_line: u32) -> Result<Vec<Edit>, EditError> {
    let mut edits = Vec::new();
    let mut lines = (first_line..).zip(text.lines()).peekable();
    while let Some((line, content)) = lines.next() {
        if content.trim().is_empty() || content.trim_start().starts_with('#') {
            continue;
        }
        let error = |message: String| EditError { line, message };
        if content.starts_with([' ', '\t']) {
            return Err(error("an indented line that belongs to no create or file".into()));
        }
        let (verb, rest) = content.split_once(' ').unwrap_or((content, ""));
        let mut block = || {
            let mut block = Vec::new();
            while let Some((_, next)) =
                lines.next_if(|(_, next)| next.trim().is_empty() || next.starts_with([' ', '\t']))
            {
                block.push(next);
            }
            dedent(&block)
        };
        let verb = match verb {
            "create" | "create:" => {
                let (block, object) = (block(), |error: YamlError| EditError {
                    line: line + error.line,
                    message: format!("column {}: {}", error.column, error.message),
                });
                create(parse(&block, &Limits::USER_FILE).map_err(object)?)
            }
            "file" => Ok(Verb::File { path: rest.trim().into(), content: block() }),
            _ => one_line(verb, rest),
        };
        edits.push(Edit { line, verb: verb.map_err(error)? });
    }
    Ok(edits)
}

fn dedent(block: &[&str]) -> String {
    let indent = block
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    let end = block.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
    block[..end]
        .iter()
        .map(|line| format!("{}\n", line.get(indent..).unwrap_or_default()))
        .collect()
}

fn create(object: Node) -> Result<Verb, String> {
    let kind = object.text_at(&["kind"]).ok_or("the object has no kind")?;
    let version = object.text_at(&["apiVersion"]).ok_or("the object has no apiVersion")?;
    kinds::of_object(version, kind)
        .ok_or_else(|| format!("'{kind}' of {version} is not in the table of kinds"))?;
    Ok(Verb::Create { object })
}

fn one_line(verb: &str, rest: &str) -> Result<Verb, String> {
    match verb {
        "set" => set(rest),
        "unset" => {
            let (target, path) =
                rest.trim().split_once(' ').ok_or("expected: unset Kind/name path")?;
            Ok(Verb::Unset { target: parse_target(target)?, path: FieldPath::parse(path.trim())? })
        }
        "delete" => Ok(Verb::Delete { target: parse_target(rest.trim())? }),
        "remove" if !rest.trim().is_empty() => Ok(Verb::Remove { glob: rest.trim().into() }),
        "condition" => condition(Line::parse(rest)?),
        "journal" => journal(Line::parse(rest)?),
        "log" => log(Line::parse(rest)?),
        "event" => event(Line::parse(rest)?),
        _ => Err(format!(
            "'{verb}' is no edit; there are set, unset, condition, delete, create, journal, log, \
             event, file, remove"
        )),
    }
}

fn set(rest: &str) -> Result<Verb, String> {
    let usage = "expected: set Kind/name path = value";
    let (target, rest) = rest.trim().split_once(' ').ok_or(usage)?;
    let (path, value) = rest.split_once(" = ").ok_or(usage)?;
    let value = match value.trim().strip_prefix('@') {
        Some(time) => Value::Time(When::parse(time)?),
        None => Value::Yaml(flow_value(value.trim())?),
    };
    Ok(Verb::Set { target: parse_target(target)?, path: FieldPath::parse(path.trim())?, value })
}

fn flow_value(text: &str) -> Result<Node, String> {
    parse(text, &Limits::USER_FILE).map_err(|error| format!("value '{text}', {error}"))
}

pub(crate) fn parse_target(text: &str) -> Result<Target, String> {
    let parts: Vec<&str> = text.splitn(3, '/').collect();
    let kind = parts.first().copied().unwrap_or_default();
    let resource =
        kinds::by_alias(kind).ok_or_else(|| format!("'{kind}' is not in the table of kinds"))?;
    let (namespace, name) = match (parts.as_slice(), resource.namespaced, resource.home()) {
        ([_, name], false, _) => (None, *name),
        ([_, namespace, name], true, _) => (Some((*namespace).to_string()), *name),
        ([_, name], true, Some(home)) => (Some(home.to_string()), *name),
        ([_, _], true, None) => return Err(format!("a {kind} is written {kind}/namespace/name")),
        _ => return Err(format!("'{text}' is not {kind}/name")),
    };
    if name.is_empty() || namespace.as_deref() == Some("") {
        return Err(format!("'{text}' has an empty part"));
    }
    Ok(Target { resource, namespace, name: name.into() })
}

/// The parts of a line, each taken once; what is left over is an error.
struct Line {
    words: Vec<String>,
    pairs: BTreeMap<String, String>,
    text: Option<String>,
}

impl Line {
    fn parse(rest: &str) -> Result<Self, String> {
        let mut line = Line { words: Vec::new(), pairs: BTreeMap::new(), text: None };
        for token in tokens(rest)? {
            match token {
                Token::Word(word) => line.words.push(word),
                Token::Quoted(text) if line.text.is_none() => line.text = Some(text),
                Token::Quoted(_) => return Err("more than one quoted text".into()),
                Token::Pair(key, value) => {
                    if line.pairs.insert(key.clone(), value).is_some() {
                        return Err(format!("'{key}' is given twice"));
                    }
                }
            }
        }
        Ok(line)
    }

    fn words<const N: usize>(&mut self, usage: &str) -> Result<[String; N], String> {
        std::mem::take(&mut self.words).try_into().map_err(|_| format!("expected: {usage}"))
    }

    fn take(&mut self, key: &str) -> Option<String> {
        self.pairs.remove(key)
    }

    fn need(&mut self, key: &str) -> Result<String, String> {
        self.take(key).ok_or_else(|| format!("{key}= is missing"))
    }

    fn when(&mut self, key: &str) -> Result<Option<When>, String> {
        self.take(key).map(|text| When::parse(&text)).transpose()
    }

    fn end(self) -> Result<(), String> {
        if let Some(key) = self.pairs.keys().next() {
            return Err(format!("'{key}=' is not known here"));
        }
        match (self.words.first(), self.text) {
            (Some(word), _) => Err(format!("'{word}' is not expected here")),
            (None, Some(text)) => Err(format!("the text \"{text}\" is not expected here")),
            (None, None) => Ok(()),
        }
    }

    fn repeated(mut self) -> Result<Repeated, String> {
        let from = self.when("from")?.ok_or("from= is missing")?;
        let to = self.when("to")?;
        let every = self.take("every").map(|text| duration(&text)).transpose()?;
        let klog = self.take("klog").map(|text| severity(&text)).transpose()?;
        let text = self.text.take().ok_or("the \"text\" of the line is missing")?;
        self.end()?;
        let every_seconds = every.map_or(60, |every| every.as_secs());
        if every_seconds < 1 {
            return Err("every= is less than a second".into());
        }
        Ok(Repeated { from, to, every_seconds, klog, text })
    }
}

fn severity(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) if "IWEF".contains(c) => Ok(c),
        _ => Err(format!("klog='{text}' is none of I, W, E, F")),
    }
}

fn condition(mut line: Line) -> Result<Verb, String> {
    let [target] = line.words("condition Kind/name Type=Status …")?;
    let (reason, message) = (line.take("reason"), line.take("message"));
    let since = line.when("since")?;
    let (name, status) = line.pairs.pop_first().ok_or("Type=Status is missing")?;
    line.end()?;
    if !["True", "False", "Unknown"].contains(&status.as_str()) {
        return Err(format!("{name}={status}: a status is True, False or Unknown"));
    }
    let condition = Condition { name, status, reason, message, since };
    Ok(Verb::Condition { target: parse_target(&target)?, condition })
}

fn journal(mut line: Line) -> Result<Verb, String> {
    let [unit, node] = line.words("journal <unit> <node> from=… \"text\"")?;
    Ok(Verb::Journal { unit, node, lines: line.repeated()? })
}

fn log(mut line: Line) -> Result<Verb, String> {
    let usage = "log ns/pod/container[/previous] from=… \"text\"";
    let [place] = line.words(usage)?;
    let (namespace, pod, container, previous) = match place.split('/').collect::<Vec<_>>()[..] {
        [namespace, pod, container] => (namespace, pod, container, false),
        [namespace, pod, container, "previous"] => (namespace, pod, container, true),
        _ => return Err(format!("expected: {usage}")),
    };
    Ok(Verb::Log {
        namespace: namespace.into(),
        pod: pod.into(),
        container: container.into(),
        previous,
        lines: line.repeated()?,
    })
}

fn event(mut line: Line) -> Result<Verb, String> {
    let [namespace, object] = line.words("event ns Kind/name reason=… message=\"…\"")?;
    let (kind, name) = object.split_once('/').ok_or("an event is about Kind/name")?;
    let event = Event {
        kind: kind.into(),
        name: name.into(),
        reason: line.need("reason")?,
        severity: line.take("type").unwrap_or_else(|| "Warning".into()),
        since: line.when("since")?.ok_or("since= is missing")?,
        until: match line.when("until")? {
            Some(until) => until,
            None => When::parse("-1m")?,
        },
        count: match line.take("count") {
            Some(count) => count.parse().map_err(|_| format!("count='{count}' is no number"))?,
            None => 1,
        },
        message: line.need("message")?,
    };
    line.end()?;
    if !["Normal", "Warning"].contains(&event.severity.as_str()) {
        return Err(format!("type={}: an event is Normal or Warning", event.severity));
    }
    Ok(Verb::Event { namespace, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse_edits(text, 1).unwrap_err().to_string()
    }

    #[test]
    fn every_verb_is_read() {
        let text = r#"# a comment
set Etcd/cluster status.nodeStatuses[master-1].currentRevision = 3
set Node/master-1 metadata.annotations["a.b/c"] = {x: [1, "2"]}
set BareMetalHost/worker-0 status.operationHistory.inspect.start = @-9h
unset Infrastructure/cluster status.controlPlaneTopology
condition ClusterOperator/etcd Degraded=True reason=X since=-2h30m message="a b"
delete Pod/openshift-etcd/etcd-master-1

create
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: x
    namespace: y
journal kubelet master-1 from=-4h to=-1m every=30s klog=E "kubelet.go:1] no"
log a/b/c from=-1h "t"
log a/b/c/previous from=-1h "t"
event default Node/master-1 reason=NodeNotReady since=-1h count=12 message="m"
file a/b
  one
    two
remove namespaces/*/core/**
"#;
        let edits = parse_edits(text, 10).unwrap();
        assert_eq!(edits.len(), 13);
        assert_eq!(edits[0].line, 11);
        assert!(matches!(&edits[2].verb, Verb::Set { value: Value::Time(_), .. }));
        let Verb::Set { target, .. } = &edits[2].verb else { panic!("{:?}", edits[2]) };
        assert_eq!(target.namespace.as_deref(), Some("openshift-machine-api"));
        let Verb::File { content, .. } = &edits[11].verb else { panic!("{:?}", edits[11]) };
        assert_eq!(content, "one\n  two\n");
        assert!(matches!(&edits[9].verb, Verb::Log { previous: true, .. }));
    }

    #[test]
    fn errors_say_line_and_remedy() {
        assert_eq!(
            error("\nfoo x"),
            "line 2: 'foo' is no edit; there are set, unset, condition, delete, create, journal, log, event, file, remove"
        );
        assert_eq!(error("delete Pod/etcd"), "line 1: a Pod is written Pod/namespace/name");
        assert_eq!(error("delete Frob/x"), "line 1: 'Frob' is not in the table of kinds");
        assert_eq!(error("set Node/x a.b"), "line 1: expected: set Kind/name path = value");
        assert_eq!(
            error("condition Node/x Ready=Maybe"),
            "line 1: Ready=Maybe: a status is True, False or Unknown"
        );
        assert_eq!(error("condition Node/x Ready=True why=x"), "line 1: 'why=' is not known here");
        assert_eq!(error("journal kubelet m \"x\""), "line 1: from= is missing");
        assert_eq!(
            error("journal kubelet m from=-1h"),
            "line 1: the \"text\" of the line is missing"
        );
        assert_eq!(
            error("log a/b from=-1h \"x\""),
            "line 1: expected: log ns/pod/container[/previous] from=… \"text\""
        );
        assert_eq!(
            error("log a/b/c from=-1h klog=Q \"x\""),
            "line 1: klog='Q' is none of I, W, E, F"
        );
        assert_eq!(error("create\n  kind: X"), "line 1: the object has no apiVersion");
        assert_eq!(error("\ncreate\n  kind: X\n  a: [1"), "line 4: column 4: unclosed bracket '['");
        assert_eq!(error("  x"), "line 1: an indented line that belongs to no create or file");
        assert_eq!(
            error("event default Node/x since=-1h message=\"m\""),
            "line 1: reason= is missing"
        );
        assert_eq!(
            error("remove "),
            "line 1: 'remove' is no edit; there are set, unset, condition, delete, create, journal, log, event, file, remove"
        );
    }
}
