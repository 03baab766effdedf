//! Why a BMC did not answer, in words for the one who has to mend it.

use std::error::Error as _;

use serde_json::Value;

use crate::value::{at, clean, list, text};

/// A path as it may be shown: no query.
pub fn shown_path(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    clean(path.rsplit('@').next().unwrap_or_default()).unwrap_or_default()
}

/// A status other than 200, with what the BMC says about it.
pub fn refusal(status: u16, body: &Value) -> String {
    let word = match status {
        400 => "it does not understand the question",
        401 => "it does not take the credentials",
        403 => "it does not permit it",
        404 => "it has no such thing",
        405 | 501 => "it does not offer it",
        429 => "it is asked too often",
        500 => "it failed inside",
        503 => "it is busy",
        _ => "it refused",
    };
    let message = extended(body).find_map(|info| text(info, "/Message"));
    if needs_licence(body) {
        return format!("{word} ({status}): it wants a licence");
    }
    match message {
        Some(message) => format!("{word} ({status}): {message}"),
        None => format!("{word} ({status})"),
    }
}

pub fn is_locked(why: &str) -> bool {
    let lower = why.to_ascii_lowercase();
    lower.contains("locked") || lower.contains("lockout")
}

/// Supermicro gates parts of Redfish by a product key, and answers with OemLicenseNotPassed.
fn needs_licence(body: &Value) -> bool {
    extended(body).any(|info| {
        let id = text(info, "/MessageId").unwrap_or_default().to_ascii_lowercase();
        id.contains("license")
    })
}

/// The messages of an error, at either of the two places where vendors put them.
fn extended(body: &Value) -> impl Iterator<Item = &Value> {
    let inner = list(at(body, "/error"), "/@Message.ExtendedInfo");
    inner
        .iter()
        .chain(list(body, "/@Message.ExtendedInfo"))
        .chain(std::iter::once(at(body, "/error")))
}

/// A request without an answer. The text of the library would hold the URL.
pub fn unanswered(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".into();
    }
    let mut last = String::new();
    let mut inner = error.source();
    while let Some(error) = inner {
        last = error.to_string();
        inner = error.source();
    }
    let lower = last.to_ascii_lowercase();
    let has = |part: &str| lower.contains(part);
    if error.is_connect() && has("refused") {
        "nothing listens on its port any more".into()
    } else if has("certificate") {
        "its certificate is another one now, and not trusted".into()
    } else if has("reset") || has("closed") || has("eof") || has("broken pipe") {
        "the connection was lost in the middle".into()
    } else {
        clean(&last).unwrap_or_else(|| "the connection failed".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_says_what_the_bmc_said() {
        let licence = json!({"error": {"@Message.ExtendedInfo": [
            {"MessageId": "Base.1.0.0.OemLicenseNotPassed", "Message": "Not licensed"}]}});
        assert!(refusal(403, &licence).ends_with("it wants a licence"));
        let told = json!({"error": {"@Message.ExtendedInfo": [{"Message": "Account is locked."}]}});
        assert!(is_locked(&refusal(401, &told)));
        let flat = json!({"@Message.ExtendedInfo": [{"Message": "Nope"}]});
        assert_eq!(refusal(403, &flat), "it does not permit it (403): Nope");
        assert_eq!(refusal(418, &json!([])), "it refused (418)");
        assert_eq!(shown_path("/a/b?token=x"), "/a/b");
        assert_eq!(shown_path("https://u:p@evil/a"), "evil/a");
    }
}
