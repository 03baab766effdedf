//! What a patch changes: one field after the other, and what stands there afterwards. An operation may name
//! a field, or anything above it; what is judged is the object before and after.

use serde_json::Value;

use crate::exact::patched;

/// One field that is not as it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// As a JSON pointer.
    pub path: String,
    /// `None` where it is taken away.
    pub becomes: Option<Value>,
}

impl Leaf {
    pub fn is_set_to(&self, value: bool) -> bool {
        self.becomes == Some(Value::Bool(value))
    }

    /// Whether it is there, below it or above it.
    pub fn is_about(&self, place: &str) -> bool {
        is_below(place, &self.path) || is_below(&self.path, place)
    }
}

fn is_below(outer: &str, inner: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// By the object before and after where it is seen, else by what the operations say.
pub fn leaves(operations: &[Value], before: Option<&Value>) -> Vec<Leaf> {
    let mut found = Vec::new();
    match before.and_then(|before| Some((before, patched(before, operations).ok()?))) {
        Some((before, after)) => differ(String::new(), Some(before), Some(&after), &mut found),
        None => operations.iter().for_each(|one| said(one, &mut found)),
    }
    found
}

fn said(operation: &Value, found: &mut Vec<Leaf>) {
    let text = |key: &str| operation[key].as_str().unwrap_or_default().to_string();
    match text("op").as_str() {
        "test" => {}
        "remove" => found.push(Leaf { path: text("path"), becomes: None }),
        "add" | "replace" => differ(text("path"), None, operation.get("value"), found),
        // What is copied or moved may be anything.
        _ => {
            found.push(Leaf { path: text("path"), becomes: Some(Value::Null) });
            found.push(Leaf { path: text("from"), becomes: None });
        }
    }
}

fn differ(path: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Leaf>) {
    if before == after {
        return;
    }
    let names = keys(before, after);
    if names.is_empty() {
        found.push(Leaf { path, becomes: after.cloned() });
        return;
    }
    for name in names {
        let of = |value: Option<&'_ Value>| -> Option<Value> { inner(value?, &name).cloned() };
        let escaped = name.replace('~', "~0").replace('/', "~1");
        differ(format!("{path}/{escaped}"), of(before).as_ref(), of(after).as_ref(), found);
    }
}

fn inner<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(name),
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Of both, where both are of the same form or one is not there.
fn keys(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let of = |value: &Value| -> Vec<String> {
        match value {
            Value::Object(map) => map.keys().cloned().collect(),
            Value::Array(items) => (0..items.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        }
    };
    let are_alike = match (before, after) {
        (Some(before), Some(after)) => {
            (before.is_object() && after.is_object()) || (before.is_array() && after.is_array())
        }
        _ => true,
    };
    if !are_alike {
        return Vec::new();
    }
    let mut names: Vec<String> = [before, after].into_iter().flatten().flat_map(of).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn changed(operations: Value, before: Option<&Value>) -> Vec<(String, Option<Value>)> {
        let found = leaves(operations.as_array().unwrap(), before);
        found.into_iter().map(|leaf| (leaf.path, leaf.becomes)).collect()
    }

    #[test]
    fn a_field_is_found_however_high_the_patch_begins() {
        let host =
            json!({"metadata": {"name": "a"}, "spec": {"online": true, "bmc": {"address": "x"}}});
        let off = ("/spec/online".to_string(), Some(json!(false)));
        for operations in [
            json!([{"op": "replace", "path": "/spec/online", "value": false}]),
            json!([{"op": "replace", "path": "/spec", "value": {"online": false, "bmc": {"address": "x"}}}]),
            json!([{"op": "replace", "path": "", "value":
                {"metadata": {"name": "a"}, "spec": {"online": false, "bmc": {"address": "x"}}}}]),
        ] {
            let seen = changed(operations.clone(), Some(&host));
            assert_eq!(seen, std::slice::from_ref(&off), "{operations}");
            let unseen = changed(operations, None);
            assert!(unseen.contains(&off), "{unseen:?}");
        }
        let gone = json!([{"op": "remove", "path": "/spec/bmc"}]);
        assert_eq!(changed(gone, Some(&host)), [("/spec/bmc/address".to_string(), None)]);
    }

    #[test]
    fn names_with_a_slash_are_told_as_pointers() {
        let mark =
            json!([{"op": "add", "path": "/metadata/annotations", "value": {"a.io/b": "c"}}]);
        let path = "/metadata/annotations/a.io~1b".to_string();
        assert_eq!(changed(mark.clone(), None), [(path.clone(), Some(json!("c")))]);
        assert_eq!(changed(mark, Some(&json!({"metadata": {}}))), [(path, Some(json!("c")))]);
    }
}
