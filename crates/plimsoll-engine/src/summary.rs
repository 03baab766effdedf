//! Fills `{fact.path}` in a pack's sentences with what is known of the entity. `{a|b}` is the first
//! of two facts that is known: the same thing seen from two sides.

use plimsoll_model::{Entity, EntityId, Value, clip};

const UNKNOWN: &str = "(unknown)";
const NONE: &str = "(none)";

pub fn fill(template: &str, id: &EntityId, entity: Option<&Entity>) -> String {
    let text = replace(template, |path| lookup(path, id, entity));
    // A sentence that ends with the words of an error says as much without them.
    let bare = [UNKNOWN, NONE].iter().find_map(|word| text.strip_suffix(word)?.strip_suffix(": "));
    let text = bare.map(str::to_string).unwrap_or(text);
    without_empty_asides(without_empty_sentences(text))
}

/// And without one that only says that something else is not known.
fn without_empty_sentences(mut text: String) -> String {
    for word in [UNKNOWN, NONE] {
        let end = format!(": {word}.");
        while let Some(at) = text.find(&end)
            && let Some(before) = text[..at].rfind(". ")
        {
            text.replace_range(before + 1..at + end.len(), "");
        }
    }
    text
}

/// So does one without an aside that begins with something unknown.
fn without_empty_asides(mut text: String) -> String {
    let aside = format!(" ({UNKNOWN}");
    while let Some(from) = text.find(&aside)
        && let Some(length) = text[from + aside.len()..].find(')')
    {
        text.replace_range(from..from + aside.len() + length + 1, "");
    }
    text
}

/// For what is going to be done: every fact known, or the name of the first that is not. `other` knows
/// what is no fact of the entity.
pub fn fill_known(
    template: &str,
    id: &EntityId,
    entity: Option<&Entity>,
    other: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut missing = None;
    let text = replace(template, |path| {
        let known = other(path).or_else(|| fact(path, id, entity));
        known.unwrap_or_else(|| {
            missing.get_or_insert_with(|| path.to_string());
            String::new()
        })
    });
    missing.map_or(Ok(text), Err)
}

/// A fact of an entity as a text; `None` where it is not known or empty.
pub fn fact(path: &str, id: &EntityId, entity: Option<&Entity>) -> Option<String> {
    Some(lookup(path, id, entity)).filter(|text| text != UNKNOWN && text != NONE)
}

/// Where no entity is meant: `<name>` for `{name}`.
pub fn in_general(template: &str) -> String {
    replace(template, |path| format!("<{}>", path.split('|').next().unwrap_or(path)))
}

/// The paths in braces that `fill` would look up, in their order.
pub fn placeholders(template: &str) -> Vec<String> {
    let mut found = Vec::new();
    replace(template, |path| {
        found.push(path.to_string());
        String::new()
    });
    found
}

fn replace(template: &str, mut value: impl FnMut(&str) -> String) -> String {
    let mut out = String::with_capacity(template.len() + 32);
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let after = &rest[open + 1..];
        // `%{http_code}` and `${HOME}` belong to the command that is shown.
        if out.ends_with(['%', '$']) {
            out.push('{');
            rest = after;
            continue;
        }
        match after.split_once('}').filter(|(path, _)| is_path(path)) {
            Some((path, left)) => {
                out.push_str(&value(path));
                rest = left;
            }
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// `{.spec.request}` of a jsonpath and `{"spec": …}` of a patch are none.
fn is_path(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || ".|-_".contains(c))
}

fn lookup(path: &str, id: &EntityId, entity: Option<&Entity>) -> String {
    match path {
        "name" => return id.name.clone(),
        "kind" => return id.kind.clone(),
        "namespace" => return id.namespace.clone().unwrap_or_default(),
        _ => {}
    }
    let fact = |path: &str| {
        let mut parts = path.split('.');
        let first = parts.next().and_then(|key| entity?.facts.get(key))?;
        parts.try_fold(first, |value, key| value.get(key)).map(show)
    };
    path.split('|').find_map(fact).unwrap_or_else(|| UNKNOWN.into())
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => NONE.into(),
        Value::Bool(value) => (if *value { "yes" } else { "no" }).into(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) if text.is_empty() => NONE.into(),
        // Messages of operators run over many lines; a sentence does not.
        Value::Text(text) => clip(&text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Time(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Value::List(items) if items.is_empty() => NONE.into(),
        Value::List(items) => items.iter().map(show).collect::<Vec<_>>().join(", "),
        Value::Map(_) => "(several)".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn facts_are_filled_in_and_missing_ones_are_said_to_be_unknown() {
        let id = EntityId::cluster_scoped("Node", "master-1");
        let mut entity = Entity::default();
        let ready = BTreeMap::from([("status".to_string(), Value::from("False"))]);
        entity.facts.insert("ready".into(), Value::Map(ready));
        entity.facts.insert("addresses".into(), vec!["10.0.0.1", "::1"].into());
        let text = "{name}: {ready.status}, {nodeIp|addresses}, {mco.state} %{http_code} {open";
        let filled = fill(text, &id, Some(&entity));
        assert_eq!(in_general("{name} at %{time}"), "<name> at %{time}");
        assert_eq!(fill("{name} fails: {error}", &id, Some(&entity)), "master-1 fails");
        let command = "oc get csr -o jsonpath='{.spec.request}'";
        assert_eq!(fill(command, &id, Some(&entity)), command);
        for aside in ["({nothing})", "({nothing} say so)"] {
            let said = fill(&format!("{{name}} {aside} is up"), &id, None);
            assert_eq!(said, "master-1 is up");
        }
        assert_eq!(filled, "master-1: False, 10.0.0.1, ::1, (unknown) %{http_code} {open");
    }
}
