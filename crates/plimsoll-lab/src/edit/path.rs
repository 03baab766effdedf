//! Fields of an object: `status.conditions[Degraded].message`, `metadata.annotations["a.b/c"]`.

use std::fmt;

use plimsoll_yaml::{Kind, Node};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    Key(String),
    Index(usize),
    /// The element whose type, name or node is this.
    Named(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(pub Vec<Segment>);

/// Fields that name an element of a Kubernetes list.
const NAMES: [&str; 4] = ["type", "name", "nodeName", "bundle"];

impl FieldPath {
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("'{text}' is no path of fields: {why}");
        let mut segments = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix("[\"") {
                let end = inner.find("\"]").ok_or_else(|| wrong("no end of [\""))?;
                segments.push(Segment::Key(inner[..end].into()));
                rest = &inner[end + 2..];
            } else if let Some(inner) = rest.strip_prefix('[') {
                let end = inner.find(']').ok_or_else(|| wrong("no end of ["))?;
                let word = &inner[..end];
                segments.push(match word.parse() {
                    Ok(index) => Segment::Index(index),
                    Err(_) if !word.is_empty() => Segment::Named(word.into()),
                    Err(_) => return Err(wrong("nothing between [ and ]")),
                });
                rest = &inner[end + 1..];
            } else {
                let word = rest.strip_prefix('.').filter(|_| !segments.is_empty()).unwrap_or(rest);
                let end = word.find(['.', '[']).unwrap_or(word.len());
                if end == 0 {
                    return Err(wrong("an empty field name"));
                }
                segments.push(Segment::Key(word[..end].into()));
                rest = &word[end..];
            }
        }
        if segments.is_empty() {
            return Err(wrong("it is empty"));
        }
        Ok(Self(segments))
    }

    /// Sets the field, making what is missing on the way.
    pub fn set(&self, object: &mut Node, value: Node) -> Result<(), String> {
        let mut node = object;
        for (at, segment) in self.0.iter().enumerate() {
            let list = matches!(segment, Segment::Index(_) | Segment::Named(_));
            make_container(node, list).map_err(|found| {
                format!(
                    "{}: expected a {} but found {found}",
                    self,
                    if list { "list" } else { "mapping" }
                )
            })?;
            let parent = at.checked_sub(1).and_then(|before| self.0.get(before));
            node = child(node, segment, parent)
                .ok_or_else(|| format!("{self}: the list is shorter than that"))?;
        }
        *node = value;
        Ok(())
    }

    /// Takes the field away; one that is not there is an error.
    pub fn unset(&self, object: &mut Node) -> Result<(), String> {
        let missing = || format!("{self}: no such field");
        let Some((last, way)) = self.0.split_last() else { return Err(missing()) };
        let mut node = object;
        for segment in way {
            node = existing(node, segment).ok_or_else(missing)?;
        }
        existing(node, last).ok_or_else(missing)?;
        match (last, &mut node.kind) {
            (Segment::Key(key), _) => node.remove(key),
            (Segment::Index(index), Kind::List(items)) => drop(items.remove(*index)),
            (Segment::Named(name), Kind::List(items)) => items.retain(|item| !is_named(item, name)),
            _ => return Err(missing()),
        }
        Ok(())
    }
}

fn is_named(item: &Node, name: &str) -> bool {
    NAMES.iter().any(|field| item.text_at(&[field]) == Some(name))
}

fn make_container(node: &mut Node, list: bool) -> Result<(), &'static str> {
    match (&node.kind, list) {
        (Kind::Null, true) => node.kind = Kind::List(Vec::new()),
        (Kind::Null, false) => node.kind = Kind::Map(Vec::new()),
        (Kind::List(_), true) | (Kind::Map(_), false) => {}
        // An emptied mapping and an emptied list look alike in some dumps.
        (Kind::Map(entries), true) if entries.is_empty() => node.kind = Kind::List(Vec::new()),
        _ => return Err(node.kind_name()),
    }
    Ok(())
}

fn existing<'n>(node: &'n mut Node, segment: &Segment) -> Option<&'n mut Node> {
    if let Segment::Key(key) = segment {
        return node.get_mut(key);
    }
    let Kind::List(items) = &mut node.kind else { return None };
    match segment {
        Segment::Index(index) => items.get_mut(*index),
        Segment::Named(name) => items.iter_mut().find(|item| is_named(item, name)),
        Segment::Key(_) => None,
    }
}

fn child<'n>(
    node: &'n mut Node,
    segment: &Segment,
    parent: Option<&Segment>,
) -> Option<&'n mut Node> {
    if existing(node, segment).is_none() {
        match (segment, &mut node.kind) {
            (Segment::Key(key), _) => node.insert(key, Node::new(Kind::Null)),
            (Segment::Index(index), Kind::List(items)) if *index == items.len() => {
                items.push(Node::new(Kind::Null));
            }
            (Segment::Named(name), Kind::List(items)) => {
                let mut item = Node::new(Kind::Map(Vec::new()));
                item.insert(naming_field(parent), Node::text_node(name));
                items.push(item);
            }
            _ => return None,
        }
    }
    existing(node, segment)
}

fn naming_field(list: Option<&Segment>) -> &'static str {
    match list {
        Some(Segment::Key(key)) if key.to_ascii_lowercase().ends_with("conditions") => "type",
        Some(Segment::Key(key)) if key == "nodeStatuses" => "nodeName",
        _ => "name",
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if key.contains(['.', '[']) => write!(f, "[\"{key}\"]")?,
                Segment::Key(key) if at == 0 => write!(f, "{key}")?,
                Segment::Key(key) => write!(f, ".{key}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Named(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_yaml::{Limits, emit, parse};

    use super::*;

    fn changed(text: &str, path: &str, value: &str) -> String {
        let mut object = parse(text, &Limits::OBJECT).unwrap();
        let value = parse(value, &Limits::OBJECT).unwrap();
        FieldPath::parse(path).unwrap().set(&mut object, value).unwrap();
        emit(&object)
    }

    #[test]
    fn a_path_reads_back_as_written() {
        for text in
            ["a", "a.b[0].c", "status.conditions[Ready].status", "m[\"a.b/c\"].d", "a[0][1]"]
        {
            assert_eq!(FieldPath::parse(text).map(|path| path.to_string()), Ok(text.to_string()));
        }
        for wrong in ["", ".", "a..b", "a[", "a[]", "a[\"b", ".a", "a."] {
            assert!(FieldPath::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_missing_is_made() {
        assert_eq!(changed("a: 1\n", "b.c", "x"), "a: 1\nb:\n  c: x\n");
        assert_eq!(changed("a: 1\n", "l[0].c", "[]"), "a: 1\nl:\n- c: []\n");
        assert_eq!(
            changed("s: {}\n", "s.conditions[Ready].status", "'True'"),
            "s:\n  conditions:\n  - type: Ready\n    status: \"True\"\n"
        );
        assert_eq!(
            changed("s: {}\n", "s.nodeStatuses[m].currentRevision", "3"),
            "s:\n  nodeStatuses:\n  - nodeName: m\n    currentRevision: 3\n"
        );
        assert_eq!(
            changed("c:\n- name: a\n  k: 1\n- name: b\n  k: 2\n", "c[b].k", "5"),
            "c:\n- name: a\n  k: 1\n- name: b\n  k: 5\n"
        );
    }

    #[test]
    fn a_value_in_the_way_is_an_error() {
        let mut object = parse("a: text\n", &Limits::OBJECT).unwrap();
        let value = Node::text_node("x");
        let set = |object: &mut Node, path: &str| {
            FieldPath::parse(path).unwrap().set(object, value.clone())
        };
        assert_eq!(
            set(&mut object, "a.b"),
            Err("a.b: expected a mapping but found text".to_string())
        );
        assert!(set(&mut object, "l[3]").is_err());
    }

    #[test]
    fn a_field_is_taken_away() {
        let mut object = parse("a:\n- type: x\n- type: y\nb: {c: 1}\n", &Limits::OBJECT).unwrap();
        FieldPath::parse("a[x]").unwrap().unset(&mut object).unwrap();
        FieldPath::parse("b.c").unwrap().unset(&mut object).unwrap();
        assert_eq!(emit(&object), "a:\n- type: \"y\"\nb: {}\n");
        assert!(FieldPath::parse("b.c").unwrap().unset(&mut object).is_err());
    }
}
