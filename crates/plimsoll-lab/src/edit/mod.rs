//! Faults, written one a line, put into a tree by object rather than by file.
//!
//! ```text
//! set Kind/ns/name path.to.field = <YAML flow value>     list elements [2], [Type] or [name],
//!                                                        keys with dots ["a.b/c"], times @-2h
//! unset Kind/ns/name path
//! condition Kind/name Type=Status reason=X since=-2h30m message="…"
//! delete Kind/ns/name
//! create                       followed by an indented object
//! journal <unit> <node> from=-4h to=-1m every=30s klog=E "text"
//! log ns/pod/container[/previous] from=-4h to=-1m every=30s klog=W "text"
//! event ns Kind/name reason=X type=Warning since=-1h until=-1m count=12 message="…"
//! file PATH                    followed by indented lines
//! remove PATH-GLOB             `*` within a path segment, `**` any
//! ```
//! Times are RFC 3339 or relative to the gather. `klog=E` puts severity, time and process before a
//! text that starts at `file.go:123]`. Names may hold `*`. An edit that finds nothing is an error:
//! a fault that was not put in would make its case pass for the wrong reason.

mod apply;
mod lines;
mod parse;
mod path;
mod time;
mod token;

use jiff::SignedDuration;
use plimsoll_yaml::Node;

pub use apply::{apply, gather_time};
pub use parse::parse_edits;
pub use path::{FieldPath, Segment};
pub use time::When;

pub(crate) use parse::parse_target;
pub(crate) use time::duration;
pub(crate) use token::{Token, tokens};

pub(crate) use lines::{container_time, journal_time, klog_header, read_journal_time};

use crate::kinds::Resource;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct EditError {
    /// Line in the file or text that the edits were parsed from.
    pub line: u32,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    pub line: u32,
    pub verb: Verb,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    pub resource: &'static Resource,
    pub namespace: Option<String>,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    Set { target: Target, path: FieldPath, value: Value },
    Unset { target: Target, path: FieldPath },
    Condition { target: Target, condition: Condition },
    Delete { target: Target },
    Create { object: Node },
    Journal { unit: String, node: String, lines: Repeated },
    Log { namespace: String, pod: String, container: String, previous: bool, lines: Repeated },
    Event { namespace: String, event: Event },
    File { path: String, content: String },
    Remove { glob: String },
}

/// Moves every relative time of an edit further into the past.
pub(crate) fn set_back(verb: &mut Verb, by: SignedDuration) {
    let back = |when: &mut When| {
        if let When::Relative(distance) = when {
            *distance = distance.saturating_sub(by);
        }
    };
    match verb {
        Verb::Set { value: Value::Time(when), .. } => back(when),
        Verb::Condition { condition: Condition { since: Some(when), .. }, .. } => back(when),
        Verb::Journal { lines, .. } | Verb::Log { lines, .. } => {
            back(&mut lines.from);
            lines.to.iter_mut().for_each(back);
        }
        Verb::Event { event, .. } => {
            back(&mut event.since);
            back(&mut event.until);
        }
        _ => {}
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Yaml(Node),
    Time(When),
}

/// What is not given stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub name: String,
    pub status: String,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub since: Option<When>,
}

/// The same text, from `from` to `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    pub from: When,
    pub to: Option<When>,
    pub every_seconds: i64,
    pub klog: Option<char>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub kind: String,
    pub name: String,
    pub reason: String,
    pub severity: String,
    pub since: When,
    pub until: When,
    pub count: u32,
    pub message: String,
}
