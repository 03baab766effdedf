//! A look into an answer that may be anything: a wrong type is the same as nothing.

use serde_json::Value;

use crate::address;

/// A longer text of a BMC is cut.
const LONGEST: usize = 400;

/// What stands for nothing in the fields of some vendors.
const NOTHING: &[&str] = &["", "N/A", "NA", "null", "Not Available", "Not Specified"];

pub fn at<'v>(value: &'v Value, pointer: &str) -> &'v Value {
    value.pointer(pointer).unwrap_or(&Value::Null)
}

/// A number is taken as text, too: vendors do not agree on ports, versions and identifiers.
pub fn text(value: &Value, pointer: &str) -> Option<String> {
    plain(at(value, pointer))
}

pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => clean(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The first that is there.
pub fn first(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(value, pointer))
}

/// No control characters, no end without end, and nothing that opens what a URL leads to.
pub fn clean(text: &str) -> Option<String> {
    let kept: String = text
        .trim()
        .chars()
        .take(LONGEST)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let kept = if kept.contains("://") { without_secrets(&kept) } else { kept };
    let kept = kept.trim();
    (!NOTHING.contains(&kept)).then(|| kept.to_string())
}

/// An event may tell the whole URL of an image.
fn without_secrets(text: &str) -> String {
    let shown = |word| if str::contains(word, "://") { address::shown(word) } else { word.into() };
    text.split(' ').map(shown).collect::<Vec<String>>().join(" ")
}

pub fn number(value: &Value, pointer: &str) -> Option<f64> {
    let found = match at(value, pointer) {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    found.filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

pub fn whole(value: &Value, pointer: &str) -> Option<u64> {
    if let Some(exact) = at(value, pointer).as_u64() {
        return Some(exact);
    }
    // Beyond this a float no longer counts in ones.
    number(value, pointer).filter(|number| *number < 9e15).map(|number| number as u64)
}

pub fn flag(value: &Value, pointer: &str) -> Option<bool> {
    match at(value, pointer) {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

pub fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    at(value, pointer).as_array().map_or(&[], Vec::as_slice)
}

pub fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let mut all: Vec<_> = list(value, pointer).iter().filter_map(plain).collect();
    all.sort();
    all.dedup();
    all
}

/// Where a resource is, given by an object with `@odata.id` or, by some, as a text.
pub fn link(value: &Value) -> Option<&str> {
    let link = value.as_str().or_else(|| value["@odata.id"].as_str())?;
    // What stands behind # is a place inside the document.
    let link = link.split('#').next().unwrap_or_default();
    (!link.is_empty()).then_some(link)
}

pub fn link_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    link(at(value, pointer))
}

/// The last part of a path, by which resources name each other.
pub fn last_part(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// `Id`, or the last part of its path.
pub fn id(value: &Value) -> Option<String> {
    text(value, "/Id").or_else(|| link(value).and_then(|path| clean(last_part(path))))
}

pub fn same_path(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_types_are_nothing() {
        let odd = json!({"a": [], "b": {"c": 3}, "d": " x\u{7}y ", "e": "N/A", "f": "12", "g": -1});
        assert_eq!(text(&odd, "/a"), None);
        assert_eq!(text(&odd, "/b"), None);
        assert_eq!(text(&odd, "/b/c").as_deref(), Some("3"));
        assert_eq!(text(&odd, "/d").as_deref(), Some("x y"));
        assert_eq!(text(&odd, "/e"), None);
        assert_eq!(whole(&odd, "/f"), Some(12));
        assert_eq!(whole(&odd, "/g"), None);
        assert_eq!(flag(&odd, "/f"), None);
        assert_eq!(
            clean("Attached \"http://u:p@h/x.iso?token=1\" by root").as_deref(),
            Some("Attached \"http://h/x.iso by root")
        );
        assert_eq!(clean(&"x".repeat(9000)).unwrap().len(), LONGEST);
    }

    #[test]
    fn links_are_objects_or_texts() {
        assert_eq!(link(&json!({"@odata.id": "/a/b#/c/0"})), Some("/a/b"));
        assert_eq!(link(&json!("/a")), Some("/a"));
        assert_eq!(link(&json!({"@odata.id": 3})), None);
        assert_eq!(id(&json!({"@odata.id": "/a/b/"})).as_deref(), Some("b"));
    }
}
