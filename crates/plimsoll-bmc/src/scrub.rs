//! A BMC could say the password back. Then it is not in the reading.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::reading::Reading;
use crate::target::Target;

/// A shorter password would be found in innocent words.
const SHORTEST: usize = 6;
const HIDDEN: &str = "(hidden)";

pub fn scrub(reading: Reading, target: &Target) -> Reading {
    let secrets = secrets(target);
    let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
    if secrets.is_empty() {
        return reading;
    }
    let Ok(mut value) = serde_json::to_value(&reading) else { return reading };
    if !hide(&mut value, &secrets) {
        return reading;
    }
    serde_json::from_value(value).unwrap_or_else(|_| Reading {
        name: target.shown_name(),
        schema: reading.schema,
        time: reading.time,
        ..Reading::default()
    })
}

/// One sentence of a BMC.
pub fn scrub_text(mut text: String, target: &Target) -> String {
    let secrets = secrets(target);
    hide_text(&mut text, &secrets.iter().map(String::as_str).collect::<Vec<_>>());
    text
}

fn secrets(target: &Target) -> Vec<String> {
    let Some(password) = target.password.as_ref().map(|password| password.reveal()) else {
        return Vec::new();
    };
    let name = target.username.as_deref().unwrap_or_default();
    let basic = STANDARD.encode(format!("{name}:{password}"));
    let long = (password.len() >= SHORTEST).then(|| password.to_string());
    std::iter::once(basic).chain(long).collect()
}

fn hide(value: &mut Value, secrets: &[&str]) -> bool {
    match value {
        Value::String(text) => hide_text(text, secrets),
        Value::Array(items) => {
            items.iter_mut().fold(false, |hidden, item| hide(item, secrets) | hidden)
        }
        Value::Object(fields) => {
            let telling: Vec<String> = fields
                .keys()
                .filter(|name| secrets.iter().any(|secret| name.contains(secret)))
                .cloned()
                .collect();
            for name in &telling {
                fields.remove(name);
            }
            let hidden = !telling.is_empty();
            fields.values_mut().fold(hidden, |hidden, field| hide(field, secrets) | hidden)
        }
        _ => false,
    }
}

fn hide_text(text: &mut String, secrets: &[&str]) -> bool {
    let found = secrets.iter().any(|secret| text.contains(secret));
    for secret in secrets {
        *text = text.replace(secret, HIDDEN);
    }
    found
}
