//! A file as go-yaml would hand it on: one tree whose plain scalars follow YAML 1.1.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plimsoll_yaml::{DuplicateKeys, Key, Kind, Limits, Node, YamlError, parse};

use crate::Unreadable;
use crate::decode::place_of_key;
use crate::go::scalar;
use crate::indentation::{begins_block, refused_by_go, with_continuations_indented};
use crate::place::Place;
use crate::refusal::File;

const LIMITS: Limits = Limits { duplicate_keys: DuplicateKeys::KeepAll, ..Limits::USER_FILE };

pub(crate) struct Document {
    pub root: Node,
    pub doubled: Vec<DoubledKey>,
    /// A key that is nothing, which JSON cannot have, and its value as Go shows it.
    pub null_key: Option<(Place, String)>,
}

/// A key that stands twice in one mapping, and the value that came second.
pub(crate) struct DoubledKey {
    pub key: String,
    /// Dotted, of the keys as written.
    pub path: String,
    pub place: Place,
    pub value_line: u32,
    /// One of the two came by a merge (`<<`).
    pub merged: bool,
}

pub(crate) fn read(text: &str, file: File) -> Result<Document, Unreadable> {
    let mut root = written(text).map_err(|error| Unreadable {
        file,
        line: error.line,
        column: error.column,
        message: error.message,
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some((Place { line, column }, message)) = refused_by_go(text) {
        return Err(Unreadable { file, line, column, message: message.into() });
    }
    let source = Source::new(text);
    let mut faults = Faults::default();
    source.resolve(&mut root, &mut faults);
    Ok(Document { root, doubled: faults.doubled, null_key: faults.null_key })
}

/// The tree before plain scalars follow YAML 1.1: texts are as they stand in the file.
pub(crate) fn written(text: &str) -> Result<Node, YamlError> {
    parse(text, &LIMITS).or_else(|error| parse_as_go(text).ok_or(error))
}

/// A pull secret that was printed over several lines ends at the left edge, and go-yaml takes that.
fn parse_as_go(text: &str) -> Option<Node> {
    let (moved_text, moved) = with_continuations_indented(text);
    let mut root = parse(&moved_text, &LIMITS).ok()?;
    move_back(&mut root, &moved);
    Some(root)
}

fn move_back(node: &mut Node, moved: &[u32]) {
    let by = |line: u32| line.checked_sub(1).and_then(|at| moved.get(at as usize)).unwrap_or(&0);
    node.column = node.column.saturating_sub(*by(node.line));
    match &mut node.kind {
        Kind::List(items) => items.iter_mut().for_each(|item| move_back(item, moved)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                key.column = key.column.saturating_sub(*by(key.line));
                move_back(value, moved);
            }
        }
        _ => {}
    }
}

#[derive(Default)]
struct Faults {
    doubled: Vec<DoubledKey>,
    null_key: Option<(Place, String)>,
    /// Of the node that is looked at.
    path: String,
}

/// The text by lines: the tree says what a scalar is, only the text says whether it was quoted.
pub(crate) struct Source<'t> {
    lines: Vec<&'t str>,
    /// Most files have none, and need not be searched for them.
    may_have_tags: bool,
}

impl<'t> Source<'t> {
    /// Without a mark of the byte order, which is no column.
    pub fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { lines: text.split('\n').collect(), may_have_tags: text.contains('!') }
    }

    /// What stands at a place, up to the end of its line.
    fn at(&self, line: u32, column: u32) -> Option<&'t str> {
        let line = self.lines.get(line.checked_sub(1)? as usize)?;
        let skipped = column.checked_sub(1)? as usize;
        if line.is_ascii() {
            return line.get(skipped..);
        }
        let (offset, _) = line.char_indices().nth(skipped)?;
        line.get(offset..)
    }

    fn is_plain(&self, line: u32, column: u32) -> bool {
        let first = self.at(line, column).and_then(|text| text.chars().next());
        first.is_some_and(|c| !matches!(c, '"' | '\'' | '|' | '>' | '!' | '&' | '*'))
    }

    /// A plain number or word as it was typed: `010` is not ten.
    pub fn token(&self, line: u32, column: u32) -> Option<&'t str> {
        let text = self.at(line, column)?;
        let end = text
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_')))
            .unwrap_or(text.len());
        (end > 0).then(|| &text[..end])
    }

    /// A tag written in front of a value, such as `!!str`.
    fn tag(&self, line: u32, column: u32) -> Option<&'t str> {
        if !self.may_have_tags {
            return None;
        }
        let line_text = self.lines.get(line.checked_sub(1)? as usize)?;
        let rest = self.at(line, column)?;
        let before = line_text.get(..line_text.len() - rest.len())?.trim_end();
        let token = before.rsplit([' ', '\t']).next()?;
        token.starts_with('!').then_some(token)
    }

    /// Where go-yaml says that a value begins: a block of text begins at its `|`.
    fn line_of_value(&self, key_line: u32, value: &Node) -> u32 {
        let key_text = self.at(key_line, 1).unwrap_or_default();
        if value.line > key_line && begins_block(key_text) { key_line } else { value.line }
    }

    fn resolve(&self, node: &mut Node, faults: &mut Faults) {
        match &mut node.kind {
            Kind::Text(text) if let Some(tag) = self.tag(node.line, node.column) => match tag {
                "!!int" | "!!float" | "!!bool" | "!!null" => node.kind = scalar::resolve(text),
                "!!binary" => {
                    if let Ok(bytes) = STANDARD.decode(text.as_bytes()) {
                        *text = String::from_utf8_lossy(&bytes).into_owned();
                    }
                }
                _ => {}
            },
            Kind::Text(text) => {
                let suspect = may_be_no_text(text);
                if suspect && self.is_plain(node.line, node.column) {
                    node.kind = scalar::resolve(text);
                }
            }
            Kind::Int(_) | Kind::UInt(_) | Kind::Float(_) => {
                if let Some(token) = self.token(node.line, node.column) {
                    node.kind = scalar::resolve(token);
                }
            }
            Kind::Null | Kind::Bool(_) => {}
            Kind::List(items) => {
                let above = faults.path.len();
                for (index, item) in items.iter_mut().enumerate() {
                    let _ = write!(faults.path, "[{index}]");
                    self.resolve(item, faults);
                    faults.path.truncate(above);
                }
            }
            Kind::Map(entries) => {
                for (key, value) in entries.iter_mut() {
                    self.resolve_key(key, value, faults);
                }
                let doubled = doubled(entries);
                let by_merge = brought_by_merge(entries, &doubled);
                let above = faults.path.len();
                for (i, (key, value)) in entries.iter_mut().enumerate() {
                    faults.path.push_str(if above == 0 { "" } else { "." });
                    faults.path.push_str(&key.name);
                    self.resolve(value, faults);
                    if doubled.contains(&i) {
                        let place = place_of_key(key, value);
                        let value_line = self.line_of_value(key.line, value);
                        let (key, path) = (key.name.clone(), faults.path.clone());
                        let merged = by_merge.contains(&i);
                        faults.doubled.push(DoubledKey { key, path, place, value_line, merged });
                    }
                    faults.path.truncate(above);
                }
            }
        }
    }

    fn resolve_key(&self, key: &mut Key, value: &Node, faults: &mut Faults) {
        let suspect = key.line != 0 && may_be_no_text(&key.name);
        if !suspect || !self.is_plain(key.line, key.column) {
            return;
        }
        if matches!(scalar::resolve(&key.name), Kind::Null) {
            let place = Place { line: key.line, column: key.column };
            faults.null_key.get_or_insert((place, shown(value)));
        }
        key.name = key_name(&key.name);
    }
}

/// Which entries have a key that stood before. Almost always none, and almost always few.
fn doubled(entries: &[(Key, Node)]) -> BTreeSet<usize> {
    let twice = |i: &usize| entries[..*i].iter().any(|(key, _)| key.name == entries[*i].0.name);
    if entries.len() <= 12 {
        return (0..entries.len()).filter(twice).collect();
    }
    let mut seen = HashSet::with_capacity(entries.len());
    let names = entries.iter().map(|(key, _)| key.name.as_str()).enumerate();
    names.filter(|(_, name)| !seen.insert(*name)).map(|(i, _)| i).collect()
}

/// Which of the keys that stand twice a merge has brought once. Such keys have no line.
fn brought_by_merge(entries: &[(Key, Node)], doubled: &BTreeSet<usize>) -> BTreeSet<usize> {
    let merged = entries.iter().filter(|(key, _)| key.line == 0 && !doubled.is_empty());
    let merged: HashSet<&str> = merged.map(|(key, _)| key.name.as_str()).collect();
    doubled.iter().copied().filter(|i| merged.contains(entries[*i].0.name.as_str())).collect()
}

/// Numbers begin with a digit, a sign or a dot; words that are no text are short.
fn may_be_no_text(text: &str) -> bool {
    let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
    text.len() <= 5 || (numeric && text.len() < 64)
}

/// A value as `%#v` prints it.
fn shown(node: &Node) -> String {
    match &node.kind {
        Kind::Null => "interface {}(nil)".into(),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::Text(text) => crate::go::text::quote(text),
        _ => "…".into(),
    }
}

/// Keys become text again behind YAML: `yes:` is the key `true`.
fn key_name(name: &str) -> String {
    match scalar::resolve(name) {
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::UInt(value) => value.to_string(),
        Kind::Float(value) => crate::go::text::float32(value),
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node {
        read(text, File::Install).unwrap().root
    }

    #[test]
    fn a_word_is_a_boolean_only_without_quotes() {
        let node = root("a: yes\nb: 'yes'\nc: \"no\"\nd: |\n  on\ne: [off, 'off']\n");
        assert_eq!(node.get("a").unwrap().kind, Kind::Bool(true));
        assert_eq!(node.text_at(&["b"]), Some("yes"));
        assert_eq!(node.text_at(&["c"]), Some("no"));
        assert_eq!(node.text_at(&["d"]), Some("on\n"));
        assert_eq!(node.get("e").unwrap().items()[0].kind, Kind::Bool(false));
        assert_eq!(node.get("e").unwrap().items()[1].as_text(), Some("off"));
    }

    #[test]
    fn a_number_keeps_the_base_it_was_written_in() {
        let node = root("a: 010\nb: 0x10\n'é': [ 012, 3 ]\n");
        assert_eq!(node.get("a").unwrap().as_int(), Some(8));
        assert_eq!(node.get("b").unwrap().as_int(), Some(16));
        assert_eq!(node.get("é").unwrap().items()[0].as_int(), Some(10));
    }

    #[test]
    fn a_tag_says_what_a_value_is() {
        let node = root("a: !!str yes\nb: !!int \"3\"\nc: !!binary YWJj\nd: !mine on\n");
        assert_eq!(node.text_at(&["a"]), Some("yes"));
        assert_eq!(node.get("b").unwrap().as_int(), Some(3));
        assert_eq!(node.text_at(&["c"]), Some("abc"));
        assert_eq!(node.text_at(&["d"]), Some("on"));
    }

    #[test]
    fn quotes_may_go_on_at_the_left_edge() {
        let node = root("a:\n  b: '{\n\"c\": 1,\n\n}'\n  d: {\ne: 010, f: x\n}\n");
        assert_eq!(node.text_at(&["a", "b"]), Some("{ \"c\": 1,\n}"));
        let f = node.at(&["a", "d", "f"]).unwrap();
        assert_eq!((f.line, f.column), (7, 12));
        assert_eq!(node.at(&["a", "d", "e"]).unwrap().as_int(), Some(8));
        assert!(read("a: 'x\n---\ny'\n", File::Install).is_err(), "a mark ends the document");
    }

    #[test]
    fn a_key_over_one_of_a_merge_is_told_apart() {
        let text = "a: &a {x: 1, w: 2}\nb:\n  <<: *a\n  w: 3\nc: {z: 1, z: 2}\n";
        let document = read(text, File::Install).unwrap();
        let found: Vec<_> =
            document.doubled.iter().map(|d| (d.path.as_str(), d.merged, d.place.line)).collect();
        assert_eq!(found, [("b.w", true, 4), ("c.z", false, 5)]);
    }

    #[test]
    fn every_second_key_is_found() {
        let document = read("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n", File::Install).unwrap();
        let found: Vec<_> =
            document.doubled.iter().map(|d| (d.path.as_str(), d.place.line)).collect();
        assert_eq!(found, [("b.c", 4), ("a", 5)]);
    }
}
