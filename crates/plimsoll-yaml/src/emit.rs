use std::fmt::Write;

use crate::node::{Kind, Node};

/// Block style as `oc` writes it: list items at their key's indent, long texts as blocks.
pub fn emit(node: &Node) -> String {
    let mut out = String::new();
    match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => map(&mut out, node, 0),
        Kind::List(items) if !items.is_empty() => list(&mut out, node, 0),
        _ => {
            out.push_str(&scalar(node, 0));
            out.push('\n');
        }
    }
    out
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn map(out: &mut String, node: &Node, indent: usize) {
    for (index, (key, value)) in node.entries().iter().enumerate() {
        if index > 0 {
            pad(out, indent);
        }
        out.push_str(&word(&key.name));
        out.push(':');
        value_after_key(out, value, indent);
    }
}

fn value_after_key(out: &mut String, value: &Node, indent: usize) {
    match &value.kind {
        Kind::Map(entries) if !entries.is_empty() => {
            out.push('\n');
            pad(out, indent + 2);
            map(out, value, indent + 2);
        }
        Kind::List(items) if !items.is_empty() => {
            out.push('\n');
            pad(out, indent);
            list(out, value, indent);
        }
        _ => {
            let _ = writeln!(out, " {}", scalar(value, indent + 2));
        }
    }
}

fn list(out: &mut String, node: &Node, indent: usize) {
    for (index, item) in node.items().iter().enumerate() {
        if index > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        match &item.kind {
            Kind::Map(entries) if !entries.is_empty() => map(out, item, indent + 2),
            Kind::List(items) if !items.is_empty() => list(out, item, indent + 2),
            _ => {
                let _ = writeln!(out, "{}", scalar(item, indent + 2));
            }
        }
    }
}

fn scalar(node: &Node, indent: usize) -> String {
    match &node.kind {
        Kind::Null => "null".into(),
        Kind::Bool(value) => value.to_string(),
        Kind::Int(value) => value.to_string(),
        Kind::UInt(value) => value.to_string(),
        Kind::Float(value) => float(*value),
        Kind::List(_) => "[]".into(),
        Kind::Map(_) => "{}".into(),
        Kind::Text(text) => long_text(text, indent).unwrap_or_else(|| word(text)),
    }
}

/// With a point or an exponent, so that it reads back as what it is.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// A literal block, where the text can be one without loss.
fn long_text(text: &str, indent: usize) -> Option<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    // At the top a line of the text could end the document.
    let plain = indent > 0
        && body.contains('\n')
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && body.chars().all(|c| c == '\n' || !c.is_control());
    if !plain {
        return None;
    }
    let mut out = String::from(if body.len() == text.len() { "|-" } else { "|" });
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(&mut out, indent);
            out.push_str(line);
        }
    }
    Some(out)
}

fn word(text: &str) -> String {
    let safe = !text.is_empty()
        && !text.starts_with([
            ' ', '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"',
            '%', '@', '`', '~', '=', '<', '.', '+',
        ])
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && text.chars().all(|c| {
            !c.is_control()
                && c != '\u{feff}'
                && c != '\u{2028}'
                && c != '\u{2029}'
                && c != '\u{85}'
        })
        && !matches!(
            text.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
        );
    if safe { text.into() } else { quoted(text) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() || c == '\u{feff}' || c == '\u{2028}' || c == '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Key, Limits, parse};

    fn value() -> impl Strategy<Value = Node> {
        let leaf = prop_oneof![
            Just(Kind::Null),
            any::<bool>().prop_map(Kind::Bool),
            any::<i64>().prop_map(Kind::Int),
            any::<i32>().prop_map(|n| Kind::Float(f64::from(n) / 4.0)),
            "[ -~\n]{0,20}".prop_map(Kind::Text),
            "\\PC{0,8}".prop_map(Kind::Text),
        ]
        .prop_map(Node::new);
        leaf.prop_recursive(4, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(|v| Node::new(Kind::List(v))),
                prop::collection::btree_map("[a-z ]{1,6}", inner, 0..5).prop_map(|map| {
                    let entries = map
                        .into_iter()
                        .map(|(name, node)| (Key { name, line: 0, column: 0 }, node))
                        .collect();
                    Node::new(Kind::Map(entries))
                }),
            ]
        })
    }

    fn without_places(node: &Node) -> Node {
        Node::new(match &node.kind {
            Kind::List(items) => Kind::List(items.iter().map(without_places).collect()),
            Kind::Map(entries) => Kind::Map(
                entries
                    .iter()
                    .map(|(key, node)| {
                        (Key { name: key.name.clone(), line: 0, column: 0 }, without_places(node))
                    })
                    .collect(),
            ),
            other => other.clone(),
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(node in value()) {
            let text = emit(&node);
            let back = parse(&text, &Limits::OBJECT).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(without_places(&back), node, "{}", text);
        }
    }
}
