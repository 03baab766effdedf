use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Options, Parser, ScalarStyle, Span};

use crate::node::{Key, Kind, Node};

/// What an input may cost. Aliases count as often as they are used.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub bytes: usize,
    pub nodes: usize,
    pub depth: usize,
    pub duplicate_keys: DuplicateKeys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateKeys {
    Reject,
    /// What Kubernetes' own JSON decoding does.
    KeepLast,
    /// Every entry, in the order of the file, and the document to its end: for a caller that judges
    /// the file itself.
    KeepAll,
}

impl Limits {
    /// One object of an archive.
    pub const OBJECT: Limits = Limits {
        bytes: 64 << 20,
        nodes: 2_000_000,
        depth: 128,
        duplicate_keys: DuplicateKeys::KeepLast,
    };
    /// A file that a person wrote.
    pub const USER_FILE: Limits =
        Limits { bytes: 4 << 20, nodes: 200_000, depth: 64, duplicate_keys: DuplicateKeys::Reject };
}

/// Lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct YamlError {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// The first document of `text`; an empty text is null.
pub fn parse(text: &str, limits: &Limits) -> Result<Node, YamlError> {
    if text.len() > limits.bytes {
        return Err(YamlError {
            line: 1,
            column: 1,
            message: format!("larger than {} bytes", limits.bytes),
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = Options::default();
    options.block_nesting_limit = limits.depth;
    options.flow_nesting_limit = limits.depth;
    let mut builder =
        Builder { limits, stack: Vec::new(), anchors: BTreeMap::new(), nodes: 0, result: None };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| YamlError {
            line: to_u32(error.marker().line()),
            column: to_u32(error.marker().col() + 1),
            message: error.info().to_string(),
        })?;
        let ended = matches!(event, Event::DocumentEnd);
        builder.take(event, span)?;
        // Who judges a file wants to know what is wrong behind its last value, too.
        let whole = limits.duplicate_keys == DuplicateKeys::KeepAll;
        if builder.result.is_some() && (ended || !whole) {
            break;
        }
    }
    Ok(builder.result.unwrap_or(Node::new(Kind::Null)))
}

fn to_u32(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

enum Frame {
    List { node: Node, anchor: usize, items: Vec<Node> },
    Map { node: Node, anchor: usize, entries: Vec<(Key, Node)>, key: Option<Key>, merge: bool },
}

struct Builder<'l> {
    limits: &'l Limits,
    stack: Vec<Frame>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    result: Option<Node>,
}

impl Builder<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        let line = to_u32(span.start.line());
        let column = to_u32(span.start.col() + 1);
        let at = |kind| Node { line, column, kind };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, line, column)?;
                let plain = matches!(style, ScalarStyle::Plain) && tag.is_none();
                let kind = if plain { resolve(&text) } else { Kind::Text(text.into_owned()) };
                let node = at(kind);
                self.remember(anchor, &node, 1);
                self.place(node)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(line, column)?;
                self.stack.push(Frame::List { node: at(Kind::Null), anchor, items: Vec::new() });
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(line, column)?;
                self.stack.push(Frame::Map {
                    node: at(Kind::Null),
                    anchor,
                    entries: Vec::new(),
                    key: None,
                    merge: false,
                });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(frame) = self.stack.pop() else { return Ok(()) };
                let (node, anchor) = match frame {
                    Frame::List { mut node, anchor, items } => {
                        node.kind = Kind::List(items);
                        (node, anchor)
                    }
                    Frame::Map { mut node, anchor, entries, .. } => {
                        node.kind = Kind::Map(entries);
                        (node, anchor)
                    }
                };
                if anchor != 0 {
                    let size = size_of(&node);
                    self.remember(anchor, &node, size);
                }
                self.place(node)
            }
            Event::Alias(id) => {
                let Some((node, size)) = self.anchors.get(&id).cloned() else {
                    return Err(YamlError {
                        line,
                        column,
                        message: "an alias inside the value it names".into(),
                    });
                };
                self.count(size, line, column)?;
                self.place(Node { line, column, ..node })
            }
            Event::DocumentEnd if self.result.is_none() && self.stack.is_empty() => {
                self.result = Some(at(Kind::Null));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node, size: usize) {
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
    }

    fn open(&mut self, line: u32, column: u32) -> Result<(), YamlError> {
        if self.stack.len() >= self.limits.depth {
            let message = format!("nested deeper than {} levels", self.limits.depth);
            return Err(YamlError { line, column, message });
        }
        self.count(1, line, column)
    }

    fn count(&mut self, nodes: usize, line: u32, column: u32) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > self.limits.nodes {
            let message = format!("more than {} values", self.limits.nodes);
            return Err(YamlError { line, column, message });
        }
        Ok(())
    }

    fn place(&mut self, node: Node) -> Result<(), YamlError> {
        match self.stack.last_mut() {
            None => self.result = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, key, merge, .. }) => match key.take() {
                None => {
                    let (line, column) = (node.line, node.column);
                    *merge = matches!(&node.kind, Kind::Text(text) if text == "<<");
                    let name = match node.kind {
                        Kind::Text(text) => text,
                        Kind::Bool(value) => value.to_string(),
                        Kind::Int(value) => value.to_string(),
                        Kind::UInt(value) => value.to_string(),
                        Kind::Float(value) => value.to_string(),
                        Kind::Null => "null".into(),
                        Kind::List(_) | Kind::Map(_) => {
                            let message = "a key must be a plain value".into();
                            return Err(YamlError { line, column, message });
                        }
                    };
                    *key = Some(Key { name, line, column });
                }
                Some(_) if std::mem::take(merge) => {
                    let all = self.limits.duplicate_keys == DuplicateKeys::KeepAll;
                    // All that is there is compared with what comes, as often as something comes.
                    self.nodes = self.nodes.saturating_add(if all { 0 } else { entries.len() });
                    merge_into(entries, &node, all);
                }
                Some(key) if self.limits.duplicate_keys == DuplicateKeys::KeepAll => {
                    entries.push((key, node));
                }
                Some(key) => {
                    if let Some(old) = entries.iter_mut().find(|(k, _)| k.name == key.name) {
                        if self.limits.duplicate_keys == DuplicateKeys::Reject && old.0.line != 0 {
                            return Err(YamlError {
                                line: key.line,
                                column: key.column,
                                message: format!(
                                    "'{}' is set twice, first on line {}",
                                    key.name, old.0.line
                                ),
                            });
                        }
                        *old = (key, node);
                    } else {
                        entries.push((key, node));
                    }
                }
            },
        }
        Ok(())
    }
}

/// `<<`: keys that the mapping does not have itself, or all of them. Line 0 marks them as replaceable.
fn merge_into(entries: &mut Vec<(Key, Node)>, node: &Node, all: bool) {
    let sources = match &node.kind {
        Kind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let brought = sources.iter().flat_map(|source| source.entries());
    let brought: Vec<&(Key, Node)> = match all {
        true => brought.collect(),
        false => {
            let mut known: BTreeSet<&str> =
                entries.iter().map(|(key, _)| key.name.as_str()).collect();
            brought.filter(|(key, _)| known.insert(&key.name)).collect()
        }
    };
    let replaceable = |key: &Key| Key { name: key.name.clone(), line: 0, column: 0 };
    entries.extend(brought.into_iter().map(|(key, value)| (replaceable(key), value.clone())));
}

fn size_of(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::List(items) => items.iter().map(size_of).sum(),
        Kind::Map(entries) => entries.iter().map(|(_, value)| size_of(value)).sum(),
        _ => 0,
    }
}

/// Plain scalars by the core schema, as Kubernetes' tools write and read them.
fn resolve(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" => return Kind::Bool(true),
        "false" | "False" | "FALSE" => return Kind::Bool(false),
        _ => {}
    }
    let numeric = text
        .as_bytes()
        .first()
        .is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.'));
    if numeric {
        if let Ok(value) = text.parse::<i64>() {
            return Kind::Int(value);
        }
        if let Ok(value) = text.parse::<u64>() {
            return Kind::UInt(value);
        }
        let digits = text
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
        if digits
            && text.bytes().any(|b| b.is_ascii_digit())
            && let Ok(value) = text.parse::<f64>()
            && value.is_finite()
        {
            return Kind::Float(value);
        }
    }
    Kind::Text(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Result<Node, YamlError> {
        parse(text, &Limits::USER_FILE)
    }

    #[test]
    fn every_value_knows_its_line_and_column() {
        let node = user("a: 1\nb:\n- x: yes\n  y: 18446744073709551615\n").unwrap();
        let y = node.get("b").unwrap().items()[0].get("y").unwrap();
        assert_eq!((y.line, y.column), (4, 6));
        assert_eq!(y.kind, Kind::UInt(u64::MAX));
        assert_eq!(node.get("b").unwrap().items()[0].text_at(&["x"]), Some("yes"));
    }

    #[test]
    fn quoted_scalars_stay_text() {
        let node = user("a: \"1\"\nb: 'true'\nc: 1.5\nd: 10.0.0.1\ne: 2025-01-01\n").unwrap();
        assert_eq!(node.text_at(&["a"]), Some("1"));
        assert_eq!(node.text_at(&["b"]), Some("true"));
        assert_eq!(node.get("c").unwrap().kind, Kind::Float(1.5));
        assert_eq!(node.text_at(&["d"]), Some("10.0.0.1"));
        assert_eq!(node.text_at(&["e"]), Some("2025-01-01"));
    }

    #[test]
    fn a_duplicate_key_is_refused_in_a_users_file_and_the_last_wins_in_an_archive() {
        let error = user("a: 1\na: 2\n").unwrap_err();
        assert_eq!((error.line, error.column), (2, 1));
        let node = parse("a: 1\na: 2\n", &Limits::OBJECT).unwrap();
        assert_eq!(node.get("a").unwrap().as_int(), Some(2));
    }

    #[test]
    fn all_entries_stay_where_the_caller_judges_doubled_keys() {
        let limits = Limits { duplicate_keys: DuplicateKeys::KeepAll, ..Limits::USER_FILE };
        let node = parse("a: 1\nb: 2\na: 3\n", &limits).unwrap();
        let names: Vec<_> = node.entries().iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "a"]);
        assert!(parse("a\nb: 1\n", &limits).is_err());
        assert_eq!(parse("a: 1\n---\n]", &limits).unwrap().get("a").unwrap().as_int(), Some(1));
    }

    #[test]
    fn an_alias_bomb_ends_at_the_node_limit() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for i in 1..12 {
            let alias = format!("*a{}", i - 1);
            let list = vec![alias; 10].join(", ");
            text.push_str(&format!("a{i}: &a{i} [{list}]\n"));
        }
        assert!(user(&text).unwrap_err().message.contains("more than"));
    }

    #[test]
    fn deep_nesting_ends_at_the_depth_limit() {
        assert!(user(&"[".repeat(10_000)).is_err());
        assert!(user(&"- ".repeat(10_000)).is_err());
    }

    #[test]
    fn a_merge_key_brings_what_the_mapping_lacks() {
        let node = user("b: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n").unwrap();
        let c = node.get("c").unwrap();
        assert_eq!(c.get("x").and_then(Node::as_int), Some(1));
        assert_eq!(c.get("y").and_then(Node::as_int), Some(3));
    }

    #[test]
    fn an_error_has_a_place() {
        let error = user("a: [1, 2\nb: 3\n").unwrap_err();
        assert!(error.line >= 1 && !error.message.is_empty(), "{error}");
    }
}
