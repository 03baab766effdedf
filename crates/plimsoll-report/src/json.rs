use std::fmt::Write;

use serde::Serialize;

use crate::safe;

/// Any answer per contract, for scripts. Nothing is cut or replaced here; characters that a
/// terminal would obey are written as JSON escapes, which read back as the same characters.
pub fn json(answer: &impl Serialize) -> String {
    #[expect(
        clippy::expect_used,
        reason = "the model has string keys only and no failing serializer"
    )]
    let plain = serde_json::to_string_pretty(answer).expect("an answer is always JSON");
    let mut out = String::with_capacity(plain.len() + 1);
    for c in plain.chars() {
        if safe::is_unsafe(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.push('\n');
    out
}
