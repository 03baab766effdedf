//! `encoding/json` behind `sigs.k8s.io/yaml`: a tree becomes values of known shape, and what does
//! not fit becomes Go's own sentence.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use plimsoll_yaml::{Key, Kind, Node};

use crate::go::address::Network;
use crate::go::scalar::json_number;
use crate::go::text::{float32, quote};
use crate::place::Place;
use crate::release::Release;
use crate::schema::{Field, Shape, Type};

/// A decoded value and where it stands.
#[derive(Debug)]
pub(crate) struct Value {
    pub place: Place,
    /// Where its key stands; an item of a list has none.
    pub key: Option<Place>,
    pub data: Data,
}

#[derive(Debug)]
pub(crate) enum Data {
    Null,
    Text(String),
    Bool(bool),
    Int(i64),
    Network(Network),
    List(Vec<Value>),
    Struct(Fields),
    /// Shared, for a config keeps it as it is.
    Raw(Arc<Node>),
    /// A mapping of which only its being there counts.
    Mapping,
    /// An item of a list that is not of its type: it is there, and nothing is known of it.
    Unread,
}

pub(crate) type Fields = BTreeMap<&'static str, Value>;

/// What stops the decoder, or would.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub text: String,
    pub path: String,
    pub place: Place,
    pub rule: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    pub key: String,
    /// Dotted, of the mapping's keys as written.
    pub path: String,
    pub place: Place,
}

/// A number or a boolean in a field of text, as the text that it becomes there.
pub(crate) struct BecameText {
    pub path: String,
    pub place: Place,
    pub text: String,
}

/// Two keys that differ in case and are one field: the second, in the order of Go, wins.
pub(crate) struct OneField {
    /// Of the second.
    pub path: String,
    pub first: (String, Place),
    pub second: (String, Place),
}

pub(crate) struct Decoded {
    pub root: Value,
    /// Every value that does not fit. Go names the first of these, and looks at nothing else then.
    pub errors: Vec<Fault>,
    /// Go's decoder names only the first, and only when no error came before it.
    pub unknown_first: bool,
    pub unknown: Vec<UnknownKey>,
    pub became_text: Vec<BecameText>,
    pub one_field: Vec<OneField>,
}

pub(crate) fn decode(root: Node, shape: &'static Shape, release: Release) -> Decoded {
    let mut decoder = Decoder {
        release,
        structs: Vec::new(),
        go_fields: Vec::new(),
        path: Vec::new(),
        saved: Vec::new(),
        fatal: Vec::new(),
        unknown: Vec::new(),
        unknown_first: false,
        became_text: Vec::new(),
        one_field: Vec::new(),
    };
    let place = place_of(&root);
    let data = decoder.value(root, &Type::Struct(shape), false).unwrap_or(Data::Null);
    let mut errors = decoder.fatal;
    errors.append(&mut decoder.saved);
    let root = Value { place, key: None, data };
    Decoded {
        root,
        errors,
        unknown_first: decoder.unknown_first,
        unknown: decoder.unknown,
        became_text: decoder.became_text,
        one_field: decoder.one_field,
    }
}

pub(crate) fn place_of(node: &Node) -> Place {
    Place { line: node.line.max(1), column: node.column.max(1) }
}

pub(crate) fn place_of_key(key: &Key, node: &Node) -> Place {
    // A key that a merge brought has no place of its own.
    if key.line == 0 { place_of(node) } else { Place { line: key.line, column: key.column } }
}

enum Part {
    Key(String),
    Index(usize),
}

struct Decoder {
    release: Release,
    structs: Vec<&'static str>,
    go_fields: Vec<&'static Field>,
    path: Vec<Part>,
    /// Errors that do not stop Go's decoder.
    saved: Vec<Fault>,
    /// An error of a type that reads itself stops it, and hides what was saved.
    fatal: Vec<Fault>,
    unknown: Vec<UnknownKey>,
    unknown_first: bool,
    became_text: Vec<BecameText>,
    one_field: Vec<OneField>,
}

/// The JSON word of a value.
pub(crate) fn word(node: &Node) -> &'static str {
    match node.kind {
        Kind::Null => "null",
        Kind::Bool(_) => "bool",
        Kind::Int(_) | Kind::UInt(_) | Kind::Float(_) => "number",
        Kind::Text(_) => "string",
        Kind::List(_) => "array",
        Kind::Map(_) => "object",
    }
}

impl Decoder {
    /// `None` where nothing was set.
    fn value(&mut self, node: Node, kind: &Type, embedded: bool) -> Option<Data> {
        if matches!(node.kind, Kind::Null) {
            return Some(Data::Null);
        }
        match kind {
            Type::Raw => Some(Data::Raw(Arc::new(node))),
            Type::Network => self.network(&node),
            Type::Text(go_type) => match as_text(&node).filter(|_| !embedded) {
                Some(text) => {
                    let (path, place) = (self.dotted(), place_of(&node));
                    self.became_text.push(BecameText { path, place, text: text.clone() });
                    Some(Data::Text(text))
                }
                None => match node.kind {
                    Kind::Text(text) => Some(Data::Text(text)),
                    _ => self.mismatch(&node, word(&node), go_type),
                },
            },
            Type::Bool => match node.kind {
                Kind::Bool(value) => Some(Data::Bool(value)),
                _ => self.mismatch(&node, word(&node), "bool"),
            },
            Type::Int(go_type, min, max) => self.int(&node, go_type, *min..=*max),
            Type::List(go_type, item) => match node.kind {
                Kind::List(nodes) => Some(Data::List(self.items(nodes, item))),
                _ => self.mismatch(&node, word(&node), go_type),
            },
            Type::Labels => match node.kind {
                Kind::Map(entries) => {
                    for (key, node) in sorted(entries) {
                        self.path.push(Part::Key(key.name));
                        self.value(node, &Type::Text("string"), false);
                        self.path.pop();
                    }
                    Some(Data::Mapping)
                }
                _ => self.mismatch(&node, word(&node), "map[string]string"),
            },
            Type::Foreign(go_type) => match node.kind {
                Kind::Map(_) => Some(Data::Mapping),
                _ => self.mismatch(&node, word(&node), go_type),
            },
            Type::Struct(shape) => match node.kind {
                Kind::Map(entries) => Some(Data::Struct(self.fields(entries, shape))),
                _ => self.mismatch(&node, word(&node), shape.go_type),
            },
        }
    }

    fn network(&mut self, node: &Node) -> Option<Data> {
        let fault = match &node.kind {
            Kind::Text(text) => match Network::parse(text) {
                Some(network) => return Some(Data::Network(network)),
                None => format!(
                    "failed to Parse cidr string to net.IPNet: invalid CIDR address: {text}"
                ),
            },
            _ => format!(
                "failed to Unmarshal string: json: cannot unmarshal {} into Go value of type string",
                word(node)
            ),
        };
        self.stop(node, "network-unreadable", fault)
    }

    fn int(&mut self, node: &Node, go_type: &str, range: RangeInclusive<i64>) -> Option<Data> {
        let text = match &node.kind {
            Kind::Int(value) => value.to_string(),
            Kind::UInt(value) => value.to_string(),
            Kind::Float(value) => json_number(*value),
            _ => return self.mismatch(node, word(node), go_type),
        };
        match text.parse::<i64>() {
            Ok(value) if range.contains(&value) => Some(Data::Int(value)),
            _ => self.mismatch(node, &format!("number {text}"), go_type),
        }
    }

    fn items(&mut self, nodes: Vec<Node>, item: &Type) -> Vec<Value> {
        let mut values = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.into_iter().enumerate() {
            let place = place_of(&node);
            self.path.push(Part::Index(index));
            let data = self.value(node, item, false).unwrap_or(Data::Unread);
            self.path.pop();
            values.push(Value { place, key: None, data });
        }
        values
    }

    fn fields(&mut self, entries: Vec<(Key, Node)>, shape: &'static Shape) -> Fields {
        let mut fields = Fields::new();
        let mut spelt: BTreeMap<&str, (String, Place)> = BTreeMap::new();
        for (key, node) in sorted(entries) {
            let key_place = place_of_key(&key, &node);
            let field = shape.field(&key.name, self.release);
            let key_name = key.name.clone();
            self.path.push(Part::Key(key.name));
            match field {
                None => self.note_unknown(key_place),
                Some(field) => {
                    let place = place_of(&node);
                    self.structs.push(shape.name);
                    self.go_fields.push(field);
                    let data = self.value(node, &field.kind, field.embedded);
                    self.go_fields.pop();
                    self.structs.pop();
                    if data.as_ref().is_some_and(|data| !matches!(data, Data::Null)) {
                        let second = (key_name, key_place);
                        let first = spelt.insert(field.name, second.clone());
                        self.note_one_field(first, second);
                    }
                    if let Some(data) = data {
                        store(&mut fields, field.name, Value { place, key: Some(key_place), data });
                    }
                }
            }
            self.path.pop();
        }
        fields
    }

    fn note_unknown(&mut self, place: Place) {
        if self.saved.is_empty() {
            self.unknown_first = true;
        }
        let Some(Part::Key(key)) = self.path.last() else { return };
        let key = key.clone();
        self.unknown.push(UnknownKey { key, path: self.dotted(), place });
    }

    /// The same key twice is an error of its own.
    fn note_one_field(&mut self, first: Option<(String, Place)>, second: (String, Place)) {
        if let Some(first) = first.filter(|(name, _)| *name != second.0) {
            self.one_field.push(OneField { path: self.dotted(), first, second });
        }
    }

    fn dotted(&self) -> String {
        let mut out = String::new();
        for part in &self.path {
            match part {
                Part::Index(index) => out.push_str(&format!("[{index}]")),
                Part::Key(key) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(key);
                }
            }
        }
        out
    }

    /// The fields from the outermost struct on, as Go names them.
    fn go_path(&self) -> String {
        let names = self.go_fields.iter().map(|field| {
            // Since Go 1.24 the name of an embedded struct is part of the path.
            let through = field.embedded && self.release >= Release::V4_20;
            format!("{}{}", if through { "TypeMeta." } else { "" }, field.name)
        });
        names.collect::<Vec<_>>().join(".")
    }

    fn mismatch(&mut self, node: &Node, word: &str, go_type: &str) -> Option<Data> {
        let target = match self.structs.last() {
            Some(name) => format!("Go struct field {name}.{}", self.go_path()),
            None => "Go value".to_string(),
        };
        self.saved.push(Fault {
            text: format!("json: cannot unmarshal {word} into {target} of type {go_type}"),
            path: self.dotted(),
            place: place_of(node),
            rule: "value-of-wrong-type",
        });
        None
    }

    fn stop(&mut self, node: &Node, rule: &'static str, text: String) -> Option<Data> {
        self.fatal.push(Fault { text, path: self.dotted(), place: place_of(node), rule });
        None
    }
}

/// The order in which Go meets the keys: YAML became JSON, and JSON of a map is sorted.
fn sorted(mut entries: Vec<(Key, Node)>) -> Vec<(Key, Node)> {
    entries.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    entries
}

/// Two keys that differ in case set one field: structs are filled up, everything else is replaced.
fn store(fields: &mut Fields, name: &'static str, value: Value) {
    if matches!(value.data, Data::Null) && fields.contains_key(name) {
        return;
    }
    if let Data::Struct(new) = value.data {
        match fields.get_mut(name) {
            Some(Value { data: Data::Struct(old), .. }) => {
                for (name, value) in new {
                    store(old, name, value);
                }
            }
            _ => {
                fields.insert(name, Value { data: Data::Struct(new), ..value });
            }
        }
        return;
    }
    fields.insert(name, value);
}

/// Numbers and booleans become text where text is wanted.
pub(crate) fn as_text(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Int(value) => Some(value.to_string()),
        Kind::UInt(value) => Some(value.to_string()),
        Kind::Float(value) => Some(float32(*value)),
        _ => None,
    }
}

/// The sentence for a key that no field has.
pub(crate) fn unknown_text(key: &str) -> String {
    format!("json: unknown field {}", quote(key))
}
