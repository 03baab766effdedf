//! Tabs in the indentation: YAML 1.2 lets some of them pass, go-yaml none.

use crate::place::Place;

/// The first line that begins with a tab outside of quotes and brackets.
pub(crate) fn leading_tab(text: &str) -> Option<Place> {
    if !text.contains("\n\t") && !text.starts_with('\t') {
        return None;
    }
    let mut state = State::default();
    for (index, line) in text.split('\n').enumerate() {
        if line.starts_with('\t') && state.quote.is_none() && state.brackets == 0 {
            return Some(Place { line: u32::try_from(index).ok()?.saturating_add(1), column: 1 });
        }
        let ends = |mark: &str| line == mark || line.starts_with(&format!("{mark} "));
        if ends("...") || ((ends("---") || line == "---\r") && state.seen_content) {
            return None;
        }
        state.read(line);
    }
    None
}

#[derive(Default)]
struct State {
    quote: Option<char>,
    brackets: usize,
    /// Lines deeper than this belong to a block of text.
    block: Option<usize>,
    seen_content: bool,
}

impl State {
    fn read(&mut self, line: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let blank = line.trim().is_empty();
        if let Some(outer) = self.block {
            if blank || indent > outer {
                return;
            }
            self.block = None;
        }
        self.seen_content |= !blank;
        let mut before = ' ';
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match self.quote {
                Some('"') if c == '\\' => {
                    chars.next();
                }
                Some(quote) if c == quote => {
                    if quote == '\'' && chars.peek() == Some(&'\'') {
                        chars.next();
                    } else {
                        self.quote = None;
                    }
                }
                Some(_) => {}
                None => {
                    let begins = before.is_whitespace() || matches!(before, '[' | '{' | ',');
                    match c {
                        '#' if before.is_whitespace() => return,
                        '"' | '\'' if begins => self.quote = Some(c),
                        '[' | '{' if begins || self.brackets > 0 => self.brackets += 1,
                        ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                        _ => {}
                    }
                }
            }
            before = c;
        }
        if self.quote.is_none() && self.brackets == 0 && begins_block(line) {
            self.block = Some(indent);
        }
    }
}

/// Whether the line ends in `|` or `>`, which begin a block of text.
pub(crate) fn begins_block(line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or_default().trim_end();
    let head = line.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'));
    matches!(head.strip_suffix(['|', '>']), Some(rest) if rest.is_empty() || rest.ends_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_are_found_where_go_minds_them() {
        for (text, line) in [
            ("\ta: 1\n", 1),
            ("a: 1\n\t\nb: 2\n", 2),
            ("a: |\n  x\n\ty\n", 3),
            ("a: 'x' # \"\n\tb: 1\n", 2),
        ] {
            assert_eq!(leading_tab(text).map(|place| place.line), Some(line), "{text}");
        }
        for text in ["a: 1\n", "a: [1,\n\t2]\n", "a: 'x\n\ty'\n", "a: \"x\\\"\n\ty\"\n", "a:\tb\n"]
        {
            assert_eq!(leading_tab(text), None, "{text}");
        }
    }
}
