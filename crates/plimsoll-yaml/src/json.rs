//! Work on the text of a JSON object without parsing it, as `cut` does for block YAML.
//!
//! Strings, brackets and commas are all that is looked at. Nothing here recurses, so no nesting is
//! too deep, and whatever is no JSON is left to the parser to refuse.

use std::ops::Range;

use memchr::{memchr_iter, memchr2};

use crate::cut::{ListItem, Meta};

/// The items of a list, each as it stands in `text`, and whether the list goes to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonList {
    pub items: Vec<ListItem>,
    pub whole: bool,
}

pub fn is_json(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// The items of a `List` object, or `None` when `text` is no such list.
pub fn split_json_list(text: &str) -> Option<JsonList> {
    let mut walk = Walk::into(text.as_bytes(), start_of(text)?, b'{')?;
    let mut list = None;
    while let Some((key, value)) = walk.next_member() {
        if key == b"items" {
            list = Some(items(text, value.start));
        }
    }
    let mut list = list?;
    list.whole &= walk.closed;
    Some(list)
}

fn items(text: &str, start: usize) -> JsonList {
    let mut items = Vec::new();
    let Some(mut walk) = Walk::into(text.as_bytes(), start, b'[') else {
        // `null` is how Go writes a list of nothing.
        return JsonList { items, whole: true };
    };
    let (mut counted, mut line) = (0, 1);
    while let Some(range) = walk.next_value() {
        let Some(item) = text.get(range.clone()) else { break };
        line += memchr_iter(b'\n', &text.as_bytes()[counted..range.start]).count() as u64;
        counted = range.start;
        items.push(ListItem { first_line: line, text: item.to_string() });
    }
    JsonList { items, whole: walk.closed }
}

pub fn peek_json_meta(text: &str) -> Meta<'_> {
    let mut meta = Meta::default();
    let Some(mut walk) = start_of(text).and_then(|at| Walk::into(text.as_bytes(), at, b'{')) else {
        return meta;
    };
    while let Some((key, value)) = walk.next_member() {
        match key {
            b"kind" => meta.kind = string(text, &value),
            b"metadata" => {
                let Some(mut inner) = Walk::into(text.as_bytes(), value.start, b'{') else {
                    continue;
                };
                while let Some((key, value)) = inner.next_member() {
                    let found = string(text, &value);
                    match key {
                        b"name" => meta.name = found,
                        b"namespace" => meta.namespace = found,
                        b"uid" => meta.uid = found,
                        b"resourceVersion" => meta.resource_version = found,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    meta
}

/// `text` with the values at `paths` (`status.images`) replaced by `null`. Line numbers stay.
pub fn blank_json_subtrees(text: &str, paths: &[String]) -> String {
    let mut ranges: Vec<Range<usize>> =
        paths.iter().filter_map(|path| value_at(text, path)).collect();
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in ranges {
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        out.push_str("null");
        let lines = memchr_iter(b'\n', &text.as_bytes()[range.clone()]).count();
        out.extend(std::iter::repeat_n('\n', lines));
        at = range.end;
    }
    out.push_str(&text[at..]);
    out
}

fn value_at(text: &str, path: &str) -> Option<Range<usize>> {
    let mut at = start_of(text)?;
    let mut found = None;
    for name in path.split('.') {
        let mut walk = Walk::into(text.as_bytes(), at, b'{')?;
        let range = std::iter::from_fn(|| walk.next_member())
            .find_map(|(key, value)| (key == name.as_bytes()).then_some(value))?;
        at = range.start;
        found = Some(range);
    }
    found
}

fn start_of(text: &str) -> Option<usize> {
    text.find('{').filter(|_| is_json(text))
}

/// The text of a string value that needs no unescaping.
fn string<'t>(text: &'t str, range: &Range<usize>) -> Option<&'t str> {
    let inner = text.get(range.clone())?.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains('\\')).then_some(inner)
}

/// Goes through the members of an object or the items of a list.
struct Walk<'t> {
    text: &'t [u8],
    at: usize,
    /// The closing bracket was reached.
    closed: bool,
}

impl<'t> Walk<'t> {
    fn into(text: &'t [u8], at: usize, open: u8) -> Option<Self> {
        (text.get(at) == Some(&open)).then_some(Self { text, at: at + 1, closed: false })
    }

    fn next_member(&mut self) -> Option<(&'t [u8], Range<usize>)> {
        let key = self.next_value()?;
        self.skip_space();
        if self.text.get(self.at) != Some(&b':') {
            return None;
        }
        self.at += 1;
        let value = self.value()?;
        let inner = self.text.get(key.start + 1..key.end.checked_sub(1)?)?;
        Some((inner, value))
    }

    fn next_value(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        if self.text.get(self.at) == Some(&b',') {
            self.at += 1;
        }
        self.value()
    }

    /// `None` at the closing bracket, and where the text ends before the value does.
    fn value(&mut self) -> Option<Range<usize>> {
        self.skip_space();
        let start = self.at;
        let end = match self.text.get(start)? {
            b'}' | b']' => {
                self.closed = true;
                return None;
            }
            b'"' => string_end(self.text, start)?,
            b'{' | b'[' => nested_end(self.text, start)?,
            _ => {
                let is_end =
                    |b: &u8| matches!(b, b',' | b'}' | b']' | b':') || b.is_ascii_whitespace();
                let length = self.text[start..].iter().position(is_end)?;
                start + length
            }
        };
        if end == start {
            return None;
        }
        self.at = end;
        Some(start..end)
    }

    fn skip_space(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
    }
}

/// Just behind the string that starts at `start`.
fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let found = at + memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

fn nested_end(text: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    loop {
        match text.get(at)? {
            b'"' => {
                at = string_end(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Limits, parse};

    const LIST: &str = "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n    {\n      \"kind\": \"Pod\",\n      \"metadata\": {\"name\": \"a\", \"x\": \"]}\\\"\"}\n    },\n    {\"metadata\": {\"name\": \"b\"}}\n  ],\n  \"kind\": \"List\"\n}\n";

    #[test]
    fn a_list_is_cut_into_objects_that_stand_alone() {
        let list = split_json_list(LIST).unwrap();
        assert!(list.whole);
        assert_eq!(list.items.iter().map(|i| i.first_line).collect::<Vec<_>>(), [4, 8]);
        assert_eq!(peek_json_meta(&list.items[0].text).name, Some("a"));
        let parsed = parse(&list.items[0].text, &Limits::OBJECT).unwrap();
        assert_eq!(parsed.text_at(&["metadata", "x"]), Some("]}\""));
        assert_eq!(split_json_list("{\"kind\": \"Pod\"}"), None);
        assert_eq!(split_json_list("{\"items\":null}").unwrap().items.len(), 0);
        assert!(split_json_list("{\"items\":[]}").unwrap().whole);
    }

    #[test]
    fn a_list_that_is_cut_keeps_its_whole_items() {
        for end in 0..LIST.len() - 1 {
            let Some(list) = split_json_list(&LIST[..end]) else { continue };
            assert!(!list.whole, "{end}");
            assert!(list.items.iter().all(|item| item.text.ends_with('}')), "{end}");
        }
    }

    #[test]
    fn blanking_keeps_every_other_line_where_it_was() {
        let text =
            "{\"metadata\": {\n \"managedFields\": [\n {}\n],\n \"name\": \"x\"},\n\"spec\": 1}";
        let paths = ["metadata.managedFields".to_string(), "metadata.absent".into()];
        let blanked = blank_json_subtrees(text, &paths);
        assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
        let node = parse(&blanked, &Limits::OBJECT).unwrap();
        assert_eq!(node.at(&["metadata", "name"]).unwrap().line, 5);
        assert_eq!(peek_json_meta(&blanked).name, Some("x"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in r#"[ \n{}\[\]":,\\aé0]{0,80}"#) {
            let list = split_json_list(&text);
            let _ = peek_json_meta(&text);
            let blanked = blank_json_subtrees(&text, &["a".into(), "a.a".into(), "".into()]);
            prop_assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
            prop_assert!(list.is_none_or(|l| l.items.iter().all(|i| text.contains(&i.text))));
        }
    }
}
