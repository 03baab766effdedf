//! Makes untrusted text harmless to look at: no control characters, nothing invisible, nothing
//! that reorders what stands around it, nothing endless. Not here: the escapes of a format.

/// Longer than any name Kubernetes allows and any quotation the model keeps.
const MAX_CHARACTERS: usize = 600;

/// One line: every run of white space is a blank, what must not be shown is `\u{FFFD}`.
pub fn line(text: &str) -> String {
    let mut out = String::new();
    let mut characters = 0;
    for word in text.split(|c: char| c.is_whitespace()).filter(|word| !word.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
            characters += 1;
        }
        for c in word.chars() {
            if characters >= MAX_CHARACTERS {
                out.push('…');
                return out;
            }
            out.push(if is_unsafe(c) { char::REPLACEMENT_CHARACTER } else { c });
            characters += 1;
        }
    }
    out
}

/// A command on one line, as it is typed: blanks inside quotes count, and half of it would be another one.
pub fn command(text: &str) -> String {
    let kept = text.trim().chars().map(|c| match c {
        '\t' | '\n' | '\r' => ' ',
        c if is_unsafe(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    });
    kept.collect()
}

/// As [`line`], with line breaks and indentation kept: for quotations.
pub fn lines(text: &str) -> String {
    let cut: String = text.chars().take(MAX_CHARACTERS).collect();
    let mut out = Vec::new();
    for text in cut.lines() {
        let kept = text.trim_end().chars().map(|c| match c {
            '\t' => ' ',
            c if is_unsafe(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        });
        out.push(kept.collect::<String>());
    }
    out.join("\n")
}

/// A whole document with its lines and columns kept; its length was bounded where it was read.
pub fn document(text: &str) -> String {
    let kept = text.chars().filter(|c| *c != '\r').map(|c| match c {
        '\t' => ' ',
        c if is_unsafe(c) && c != '\n' => char::REPLACEMENT_CHARACTER,
        c => c,
    });
    kept.collect()
}

/// Controls (C0, DEL, C1), and the invisible: soft hyphen, zero-width and direction marks, line
/// separators, variation selectors, tags, byte order mark.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_direction_marks_do_not_survive() {
        assert_eq!(line("a\u{1b}[31mred\r\n\tb\u{202e}c"), "a\u{fffd}[31mred b\u{fffd}c");
        assert_eq!(line("  \n"), "");
    }

    #[test]
    fn an_endless_word_ends() {
        assert_eq!(line(&"x".repeat(100_000)).chars().count(), MAX_CHARACTERS + 1);
        assert_eq!(lines(&"x".repeat(100_000)).chars().count(), MAX_CHARACTERS);
    }

    #[test]
    fn a_command_is_neither_cut_nor_closed_up() {
        let long = format!("oc patch x -p '{{\"a\":  \"{}\"}}'", "y".repeat(2 * MAX_CHARACTERS));
        assert_eq!(command(&long), long);
        assert_eq!(command(" a\n\u{1b}[31m b "), "a \u{fffd}[31m b");
    }

    #[test]
    fn a_quotation_keeps_its_lines() {
        assert_eq!(lines("a:\r\n  b: \u{7}c\n"), "a:\n  b: \u{fffd}c");
    }
}
