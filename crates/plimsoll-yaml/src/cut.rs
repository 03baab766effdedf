//! Work on the text of an object without parsing it.
//!
//! `oc` writes block style only, so indentation alone tells where an item or a subtree ends. Text in
//! another style is left as it is: these functions save work, they never decide what is true.

use memchr::memchr;

/// One item of a list file, dedented to stand alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListItem {
    /// Line of the list file at which the item starts, from 1.
    pub first_line: u64,
    pub text: String,
}

/// Lines of `text` without their line break.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let current = rest?;
        if current.is_empty() {
            rest = None;
            return None;
        }
        match memchr(b'\n', current.as_bytes()) {
            Some(end) => {
                rest = Some(&current[end + 1..]);
                Some(&current[..end])
            }
            None => {
                rest = None;
                Some(current)
            }
        }
    })
}

fn indent_of(line: &str) -> usize {
    line.bytes().take_while(|b| *b == b' ').count()
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|b| matches!(b, b' ' | b'\r' | b'\t'))
}

/// The items of a block-style `List` object, or `None` when `text` is no such list.
pub fn split_list(text: &str) -> Option<Vec<ListItem>> {
    let mut items: Vec<ListItem> = Vec::new();
    let mut in_items = false;
    let mut found = false;
    let mut dash = 0;
    for (number, line) in lines(text).enumerate() {
        let number = number as u64 + 1;
        if !in_items {
            if line == "items:" || line == "items:\r" {
                in_items = true;
                found = true;
            } else if line.trim_end() == "items: []" || line.trim_end() == "items: null" {
                found = true;
            }
            continue;
        }
        let indent = indent_of(line);
        let starts_item = line[indent..].starts_with("- ");
        if items.is_empty() && starts_item {
            dash = indent;
        }
        if starts_item && indent == dash {
            let mut item = String::with_capacity(4096);
            item.push_str(&line[dash + 2..]);
            item.push('\n');
            items.push(ListItem { first_line: number, text: item });
        } else if !is_blank(line) && indent <= dash {
            in_items = false;
        } else if let Some(item) = items.last_mut() {
            item.text.push_str(line.get(dash + 2..).unwrap_or_default());
            item.text.push('\n');
        }
    }
    found.then_some(items)
}

/// `text` with the subtrees at `paths` (`status.relatedObjects`) emptied. Line numbers stay.
pub fn blank_subtrees(text: &str, paths: &[String]) -> String {
    let deepest = paths.iter().map(|path| path.split('.').count()).max().unwrap_or(0);
    let mut out = String::with_capacity(text.len());
    let mut stack: Vec<(usize, &str)> = Vec::new();
    let mut skip: Option<usize> = None;
    for line in lines(text) {
        let indent = indent_of(line);
        if let Some(level) = skip {
            let inside = indent > level
                || (indent == level && line[indent..].starts_with("- "))
                || is_blank(line);
            if inside {
                out.push('\n');
                continue;
            }
            skip = None;
        }
        if let Some(key) = mapping_key(&line[indent..], deepest, indent) {
            while stack.last().is_some_and(|(level, _)| *level >= indent) {
                stack.pop();
            }
            stack.push((indent, key));
            if paths.iter().any(|path| path.split('.').eq(stack.iter().map(|(_, key)| *key))) {
                stack.pop();
                skip = Some(indent);
                out.push('\n');
                continue;
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The key of a mapping line that may lie on a path of `deepest` keys.
fn mapping_key(line: &str, deepest: usize, indent: usize) -> Option<&str> {
    if indent >= deepest * 4 || line.starts_with(['-', '#', '"', '\'']) {
        return None;
    }
    let end = line.find(':')?;
    let after = line.as_bytes().get(end + 1);
    after.is_none_or(|b| matches!(b, b' ' | b'\r')).then(|| &line[..end])
}

/// An object's identity, read without parsing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta<'t> {
    pub kind: Option<&'t str>,
    pub name: Option<&'t str>,
    pub namespace: Option<&'t str>,
    pub uid: Option<&'t str>,
    pub resource_version: Option<&'t str>,
}

pub fn peek_meta(text: &str) -> Meta<'_> {
    let mut meta = Meta::default();
    // The indent of what stands below `metadata:`, once it is known.
    let mut inside: Option<Option<usize>> = None;
    for line in lines(text) {
        let indent = indent_of(line);
        if indent == 0 && !is_blank(line) {
            inside = line.starts_with("metadata:").then_some(None);
            if let Some(value) = line.strip_prefix("kind: ") {
                meta.kind = Some(scalar(value));
            }
            if let Some(flow) = line.strip_prefix("metadata:").map(str::trim_start)
                && flow.starts_with('{')
            {
                // The braces may close on a later line.
                let start = flow.as_ptr().addr() - text.as_ptr().addr();
                meta.take_flow(&text[start..]);
                inside = None;
            }
        } else if let (Some(own), false) = (&mut inside, is_blank(line))
            && *own.get_or_insert(indent) == indent
            && let Some((key, value)) = line[indent..].split_once(": ")
        {
            meta.take(key, value);
        }
    }
    meta
}

impl<'t> Meta<'t> {
    fn take(&mut self, key: &str, value: &'t str) {
        let field = match scalar(key) {
            "name" => &mut self.name,
            "namespace" => &mut self.namespace,
            "uid" => &mut self.uid,
            "resourceVersion" => &mut self.resource_version,
            _ => return,
        };
        *field = Some(scalar(value));
    }

    /// `{name: a, labels: {b: c}}`: the pairs of the outer braces.
    fn take_flow(&mut self, text: &'t str) {
        let (mut depth, mut start, mut quote) = (0usize, 1, None);
        for (at, c) in text.char_indices() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), _) => {}
                (None, '"' | '\'') => quote = Some(c),
                (None, '{' | '[') => depth += 1,
                (None, ',' | '}' | ']') => {
                    if depth == 1
                        && let Some((key, value)) = text[start..at].split_once(':')
                    {
                        self.take(key, value);
                    }
                    if depth == 1 {
                        start = at + 1;
                    }
                    depth -= usize::from(c != ',');
                    if depth == 0 {
                        return;
                    }
                }
                _ => {}
            }
        }
    }
}

fn scalar(value: &str) -> &str {
    value.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    const LIST: &str = "---\napiVersion: v1\nitems:\n- kind: Pod\n  metadata:\n    name: a\n  data: |-\n    x\n\n    y\n- kind: Pod\n  metadata:\n    name: b\nkind: List\n";

    #[test]
    fn a_list_is_cut_into_objects_that_stand_alone() {
        let items = split_list(LIST).unwrap();
        assert_eq!(items.iter().map(|i| i.first_line).collect::<Vec<_>>(), [4, 11]);
        let first = parse(&items[0].text, &Limits::OBJECT).unwrap();
        assert_eq!(first.text_at(&["metadata", "name"]), Some("a"));
        assert_eq!(first.text_at(&["data"]), Some("x\n\ny"));
        assert_eq!(split_list("items: []\nkind: List\n"), Some(vec![]));
        assert_eq!(split_list("kind: Pod\n"), None);
    }

    #[test]
    fn an_identity_is_read_in_any_style() {
        for text in [
            "kind: Pod\nmetadata:\n  name: a\n  namespace: n\n",
            "kind: Pod\nmetadata:\n    labels:\n        name: x\n    name: a\n    namespace: 'n'\n",
            "kind: Pod\nmetadata: {labels: {name: x, b: [1, 2]}, name: a, \"namespace\": \"n\"}\nspec: {}\n",
            "kind: Pod\nmetadata: {note: 'x}, name: z',\n  name: a, namespace: n}\n",
        ] {
            let meta = peek_meta(text);
            assert_eq!(meta.kind, Some("Pod"), "{text}");
            assert_eq!((meta.name, meta.namespace), (Some("a"), Some("n")), "{text}");
        }
        assert_eq!(peek_meta("metadata: {name: a").name, None);
        assert_eq!(peek_meta("metadata: {]}}").name, None);
    }

    #[test]
    fn an_indented_list_is_cut_too() {
        let items = split_list("items:\n  - a: 1\n    b: 2\n  - a: 3\n").unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[0].text, "a: 1\nb: 2\n");
    }

    #[test]
    fn blanking_keeps_every_other_line_where_it_was() {
        let text = "metadata:\n  managedFields:\n  - a: 1\n    b: 2\n  name: x\nspec:\n  managedFields: 1\n";
        let blanked = blank_subtrees(text, &["metadata.managedFields".into()]);
        assert_eq!(blanked, "metadata:\n\n\n\n  name: x\nspec:\n  managedFields: 1\n");
        let node = parse(&blanked, &Limits::OBJECT).unwrap();
        assert_eq!(node.get("metadata").unwrap().get("name").unwrap().line, 5);
    }

    #[test]
    fn identity_is_read_without_parsing() {
        let text = "kind: Node\nmetadata:\n  labels:\n    name: no\n  name: n\n  resourceVersion: \"12\"\n  uid: u\nspec:\n  name: no\n";
        let meta = peek_meta(text);
        assert_eq!(meta.name, Some("n"));
        assert_eq!(meta.resource_version, Some("12"));
        assert_eq!(meta.uid, Some("u"));
    }
}
