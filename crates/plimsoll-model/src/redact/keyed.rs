//! What only the surroundings of a find tell: whether a short key is one, and whether the word behind
//! `password`, or behind another key, is its value.

use regex::Captures;

use super::keys::{is_abbreviated, is_compound, is_harmless};

/// Whether a find is a secret; all that was found in, and its groups.
pub type Judge = fn(&str, &Captures<'_>) -> bool;

/// What is longer is encoded, and no key.
const LONGEST_KEY: usize = 60;
/// As far back as anyone looks for where a line begins: one line may be a whole log.
const LONGEST_LOOK: usize = 200;

/// `pwd=x`, `"psk": "x"`. Groups: all up to the value, the quote behind the key, the sign, the value.
pub fn is_entry(text: &str, found: &Captures<'_>) -> bool {
    Entry::of(text, found).is_some_and(|entry| entry.is_secret())
}

/// `user_pw: x y` is a line of its own. Groups: all up to the value, the key, the value.
pub fn is_line(_: &str, found: &Captures<'_>) -> bool {
    let (Some(key), Some(value)) = (found.get(2), found.get(3)) else { return false };
    let (key, value) = (key.as_str(), value.as_str());
    is_abbreviated(key) && is_compound(key) && !is_harmless(key, value)
}

/// A block below its key. Groups: all up to the value, the key.
pub fn is_block(_: &str, found: &Captures<'_>) -> bool {
    found.get(2).is_some_and(|key| is_abbreviated(key.as_str()))
}

struct Entry<'t> {
    /// Of the same line.
    before: &'t str,
    key: &'t str,
    quote: &'t str,
    sign: &'t str,
    value: &'t str,
    after: &'t str,
}

impl<'t> Entry<'t> {
    fn of(text: &'t str, found: &Captures<'t>) -> Option<Self> {
        let (quote, sign, value) = (found.get(2)?, found.get(3)?, found.get(4)?);
        let head = &text[..found.get(0)?.start()];
        let is_key = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let length = head.chars().rev().take(LONGEST_KEY + 1).take_while(is_key).count();
        let mut start = head.len() - length;
        // The `n` of a line end that was quoted belongs to no key.
        if text[..start].ends_with('\\') && text[start..].starts_with(['n', 't']) {
            start += 1;
        }
        let look = text.floor_char_boundary(start.saturating_sub(LONGEST_LOOK));
        let before = text[look..start].rsplit('\n').next()?;
        (length <= LONGEST_KEY).then(|| Self {
            before,
            key: &text[start..quote.start()],
            quote: quote.as_str(),
            sign: sign.as_str(),
            value: value.as_str(),
            after: &text[value.end()..],
        })
    }

    fn is_secret(&self) -> bool {
        let is_structure = self.value.starts_with(['{', '[', '=']);
        if !is_abbreviated(self.key) || is_harmless(self.key, self.value) || is_structure {
            return false;
        }
        if self.sign.contains('=') { self.is_assigned() } else { self.is_told() }
    }

    /// What is encoded may end in the same way: `c2VjcmV0psk= next`, `"c2VjcmV0psk=", "x"`.
    fn is_assigned(&self) -> bool {
        let is_end = self.sign.len() > 1 && self.sign.starts_with('=');
        let is_quoted = self.before.ends_with(['"', '\'']) && self.quote.is_empty();
        let is_end_of_quoted = is_quoted && self.value.starts_with(['"', '\'']);
        !is_end && !is_end_of_quoted
    }

    /// Behind a colon sentences go on as well: `no credentials: denied`, `pwd: command not found`.
    fn is_told(&self) -> bool {
        if !self.quote.is_empty() {
            return true;
        }
        if self.begins_its_line() && self.ends_its_line() {
            return !self.value.starts_with(['#', '*', '!']);
        }
        if self.key.to_ascii_lowercase().ends_with("credentials") {
            return false;
        }
        let is_close = self.sign == ":";
        let is_word = self.value.bytes().all(|byte| !byte.is_ascii_digit());
        let is_count_of_passes = self.key.eq_ignore_ascii_case("pass");
        is_compound(self.key) || is_close || !(is_word || is_count_of_passes)
    }

    /// As in YAML, in block style or within braces.
    fn begins_its_line(&self) -> bool {
        let before = self.before.trim_end_matches([' ', '\t', '-', '"', '\'']);
        before.is_empty()
            || before.ends_with("\\n")
            || before.ends_with('{')
            || (before.ends_with(',') && before.contains('{'))
    }

    fn ends_its_line(&self) -> bool {
        let after = self.after.trim_start_matches([' ', '\t']);
        after.is_empty() || after.starts_with(['\n', '\r', ',', '}', ']', '"', '\'', '\\', '#'])
    }
}

/// What a sentence says of a password, not which one it is.
const SAID: [&str; 21] = [
    "and",
    "auth",
    "authentication",
    "been",
    "change",
    "check",
    "for",
    "has",
    "hash",
    "login",
    "not",
    "of",
    "policy",
    "prompt",
    "reset",
    "rotation",
    "validation",
    "verification",
    "was",
    "were",
    "will",
];
/// What becomes of a password stands behind it.
const BECOMES: [&str; 10] = [
    "accepted",
    "denied",
    "did",
    "does",
    "failed",
    "incorrect",
    "invalid",
    "is",
    "refused",
    "rejected",
];
/// What a password is or comes to where none is given.
const NONE_GIVEN: [&str; 15] = [
    "blank", "correct", "default", "disabled", "empty", "expire", "expired", "missing", "never",
    "none", "null", "required", "unset", "weak", "wrong",
];
/// What stands behind a name and a slash, and is no password: `root/tty1`.
const PLACES: [&str; 6] = ["tty", "pts", "ssh", "console", "password", "kubeconfig"];
/// What is shorter is a version or a number.
const SHORTEST_RANDOM: usize = 7;

/// `user root password hunter2 rejected`, but not `user root password authentication failed`. Groups: all up to
/// the value, the value.
pub fn is_spoken(text: &str, found: &Captures<'_>) -> bool {
    Spoken::of(text, found).is_some_and(|spoken| spoken.is_odd() || spoken.is_judged())
}

/// `Setting password for user root to calvin`, but not `to expire`. Groups: all up to the value, the value.
pub fn is_given(text: &str, found: &Captures<'_>) -> bool {
    Spoken::of(text, found).is_some_and(|spoken| spoken.is_odd() || spoken.is_last())
}

/// `login admin/calvin`. Groups: all up to the value, the value.
pub fn is_of_pair(_: &str, found: &Captures<'_>) -> bool {
    let Some(value) = found.get(2) else { return false };
    let value = value.as_str().to_ascii_lowercase();
    !PLACES.iter().any(|place| value.starts_with(place))
}

/// `agent_token 4e9f2c1b`, but not `api-key v1 is gone`. Groups: all up to the value, the value.
pub fn is_random(_: &str, found: &Captures<'_>) -> bool {
    let Some(value) = found.get(2) else { return false };
    let value = value.as_str().trim_matches(['"', '\'']);
    // With a colon it is a time.
    value.len() >= SHORTEST_RANDOM
        && !value.contains(|c: char| c == ':' || c.is_whitespace())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// `PrivateKey = yAnz5TF…`, but not the path of its file. Groups: all up to the value, the value.
pub fn is_key_itself(_: &str, found: &Captures<'_>) -> bool {
    let Some(value) = found.get(2) else { return false };
    let plain = value.as_str().trim_matches(['"', '\'']);
    let is_path = plain.starts_with('/') && !plain.ends_with('=');
    !is_path && !is_harmless("", plain)
}

/// A value, and the word that follows it on its line.
struct Spoken<'t> {
    value: &'t str,
    next: &'t str,
}

impl<'t> Spoken<'t> {
    fn of(text: &'t str, found: &Captures<'t>) -> Option<Self> {
        let value = found.get(2)?;
        let near = text.floor_char_boundary(value.end() + LONGEST_LOOK);
        let after = text[value.end()..near].split('\n').next()?;
        let next = after.split_whitespace().next().unwrap_or_default();
        let next = next.trim_end_matches(|c: char| c.is_ascii_punctuation());
        Some(Self { value: value.as_str(), next })
    }

    /// No word of a sentence.
    fn is_odd(&self) -> bool {
        let value = self.bare();
        let is_sign = |c: char| c.is_ascii_digit() || "!#$%&*+=@^~".contains(c);
        let is_count = value.len() < 4 && value.bytes().all(|byte| byte.is_ascii_digit());
        self.value.starts_with(['"', '\'', '\\']) || (value.contains(is_sign) && !is_count)
    }

    /// What is told of it follows.
    fn is_judged(&self) -> bool {
        is_among(&BECOMES, self.next) && self.is_free()
    }

    fn is_last(&self) -> bool {
        self.next.is_empty() && self.is_free() && !is_among(&NONE_GIVEN, self.bare())
    }

    fn is_free(&self) -> bool {
        !is_among(&SAID, self.bare()) && !is_among(&BECOMES, self.bare())
    }

    fn bare(&self) -> &'t str {
        self.value.trim_end_matches(['.', ':', '!', '?'])
    }
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}
