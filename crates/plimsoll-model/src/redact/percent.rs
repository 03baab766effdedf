//! Texts that were made fit for a URL: `data:,%7B%22auths%22%3A…`, `?state=password%3Dx`.

use std::borrow::Cow;
use std::ops::Range;

/// `is_secret` is asked of the text that was encoded.
pub fn without_percent(text: &str, is_secret: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(escape) = next_escape(text.as_bytes(), at) {
        let word = word_around(text, at, escape);
        at = word.end;
        for part in parts(text, word) {
            if is_secret(&decoded(&text[part.clone()])) {
                out.push_str(&text[done..part.start]);
                out.push_str("[redacted]");
                done = part.end;
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn next_escape(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'%')?;
        if escaped(bytes, at).is_some() {
            return Some(at);
        }
        at += 1;
    }
}

/// The byte that `%7B` stands for.
fn escaped(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| (*bytes.get(at)? as char).to_digit(16);
    let byte = digit(at + 1)? * 16 + digit(at + 2)?;
    u8::try_from(byte).ok().filter(|_| bytes[at] == b'%')
}

/// Without quotes and spaces, which no URL has.
fn word_around(text: &str, from: usize, escape: usize) -> Range<usize> {
    let is_edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\');
    let start = text[from..escape].rfind(is_edge).map_or(from, |at| from + at);
    let end = text[escape..].find(is_edge).map_or(text.len(), |at| escape + at);
    start..end
}

/// All that a data URL holds, whatever stands in it; of other words what was encoded at a time.
fn parts(text: &str, word: Range<usize>) -> Vec<Range<usize>> {
    let own = &text[word.clone()];
    let comma = own.find("data:").and_then(|data| Some(data + own[data..].find(',')?));
    let (start, is_edge): (usize, fn(char) -> bool) = match comma {
        Some(comma) => (comma + 1, |_| false),
        None => (0, |c| !c.is_alphanumeric() && !"%._~*+!$-".contains(c)),
    };
    let mut parts = Vec::new();
    let mut at = word.start + start;
    for part in own[start..].split_inclusive(is_edge) {
        if part.contains('%') {
            parts.push(at..at + part.trim_end_matches(is_edge).len());
        }
        at += part.len();
    }
    parts
}

fn decoded(part: &str) -> String {
    let bytes = part.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escape = escaped(bytes, at);
        out.push(escape.unwrap_or(*byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}
