use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Time;

/// Longest quotation of a source; the rest is one `grep` away by path and line.
pub const MAX_TEXT: usize = 400;

/// Where a claim can be checked: a file and a line, or a field of an object in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the source, as in `sources[].name`.
    pub source: String,
    /// Path inside the source.
    pub path: String,
    /// Line in that file, from 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u64>,
    /// JSON pointer into the object.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pointer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<Time>,
    /// What stands there, redacted and cut to 400 characters.
    #[schemars(length(max = 400))]
    pub text: String,
}

/// Cuts to `MAX_TEXT` characters, on character borders, and marks the cut. It is made in the middle:
/// who complains stands at the start of an error, and what is wrong at its end.
pub fn clip(text: &str) -> String {
    let text = text.trim();
    let length = text.chars().count();
    if length <= MAX_TEXT {
        return text.to_string();
    }
    let head = MAX_TEXT / 2;
    let tail = MAX_TEXT - 1 - head;
    let characters = text.chars();
    characters.clone().take(head).chain(['…']).chain(characters.skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_on_a_character_border() {
        let cut = clip(&"é".repeat(1000));
        assert_eq!(cut.chars().count(), MAX_TEXT);
        assert!(cut.contains('…'));
        let error = format!("cannot sync: {}: no space left on device", "x".repeat(900));
        let cut = clip(&error);
        assert!(cut.starts_with("cannot sync") && cut.ends_with("no space left on device"));
        assert_eq!(clip("  short "), "short");
    }
}
