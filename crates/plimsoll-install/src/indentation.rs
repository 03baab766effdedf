//! What go-yaml, a reader of YAML 1.1, refuses and YAML 1.2 lets pass, and the reverse: tabs, directives,
//! line separators, escapes, question marks, and quotes that go on at the left edge.

use std::borrow::Cow;

use crate::place::Place;

const TAB: &str = "a tab in the indentation";
const DIRECTIVE: &str = "a directive that the installer does not read: only %YAML 1.1 and %TAG";
const SEPARATOR: &str =
    "a line separator of Unicode, which the installer takes for the end of a line";
const CONTROL: &str = "a control character";
const ESCAPE: &str =
    "\\/ in double quotes, an escape that the installer does not read: write / alone";
const QUESTION: &str = "a question mark in a value without quotes between brackets, where the installer ends the value";

/// The first thing that go-yaml does not take.
pub(crate) fn refused_by_go(text: &str) -> Option<(Place, &'static str)> {
    let may_be_odd = text.contains("\\/") || (text.contains('?') && text.contains(['[', '{']));
    if !may_be_odd && text.bytes().all(is_common) {
        return None;
    }
    if let Some(at) = text.find(is_control) {
        return Some((place_at(text, at), CONTROL));
    }
    if !may_be_odd && !text.contains(['\t', '%', '\u{85}', '\u{2028}', '\u{2029}']) {
        return None;
    }
    let mut state = State::default();
    for (index, line) in text.split('\n').enumerate() {
        let place = |column: usize| Place {
            line: u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1),
            column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1),
        };
        if let Some((column, message)) = state.fault_at_start(line) {
            return Some((place(column), message));
        }
        if state.ends_document(line) {
            return None;
        }
        if let Some((column, message)) = state.read(line) {
            return Some((place(column), message));
        }
    }
    None
}

/// The text with those lines moved to the right that go on inside of quotes or brackets: YAML 1.2 wants
/// them deeper than what they belong to, go-yaml does not care. Beside it, by how much each line moved.
/// An apostrophe in double quotes loses the backslash, which go-yaml takes and YAML 1.2 does not.
pub(crate) fn with_continuations_indented(text: &str) -> (String, Vec<u32>) {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut moved = Vec::new();
    let mut state = State::default();
    let mut done = false;
    let mut column = 0;
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let inside = state.quote.is_some() || state.brackets > 0;
        let is_mark = line.starts_with("---") || line.starts_with("...");
        let by = if inside && !done && !is_mark && !line.trim().is_empty() { column } else { 0 };
        out.extend(std::iter::repeat_n(' ', by));
        out.push_str(&state.without_escaped_apostrophes(line));
        moved.push(u32::try_from(by).unwrap_or(u32::MAX));
        done |= state.ends_document(line);
        if !inside {
            column = line.len() - line.trim_start_matches([' ', '-', '?']).len() + 1;
        }
        state.read(line);
    }
    (out, moved)
}

/// Nothing that is looked for here begins with it: most files have no other bytes.
fn is_common(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r') && byte != b'%'
}

/// What go-yaml's reader takes is tab, line ends and what can be printed.
fn is_control(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}'))
        || matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn place_at(text: &str, at: usize) -> Place {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Place { line: number(line), column: number(column) }
}

#[derive(Clone, Default)]
struct State {
    quote: Option<char>,
    brackets: usize,
    /// Lines deeper than this belong to a block of text.
    block: Option<usize>,
    seen_content: bool,
    /// The last line ended in a scalar without quotes, which may go on in the next one...
    plain: bool,
    /// ... if that is deeper than this: the column of its key, or of its dash.
    owner: usize,
}

impl State {
    fn ends_document(&self, line: &str) -> bool {
        let is = |mark: &str| {
            line.strip_prefix(mark)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\r']))
        };
        is("...") || (is("---") && self.seen_content)
    }

    /// Of a line that is read next.
    fn without_escaped_apostrophes<'l>(&self, line: &'l str) -> Cow<'l, str> {
        if !line.contains("\\'") {
            return Cow::Borrowed(line);
        }
        let mut state = self.clone();
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some((before, behind)) = rest.split_once("\\'") {
            state.read(before);
            let is_escape = state.quote == Some('"') && !ends_in_escape(before);
            out.push_str(before);
            out.push_str(if is_escape { "'" } else { "\\'" });
            rest = behind;
        }
        out.push_str(rest);
        Cow::Owned(out)
    }

    fn goes_on(&self, indent: usize) -> bool {
        self.plain && indent > self.owner
    }

    /// In the blanks before the first word of a line, and in those behind its dashes.
    fn fault_at_start(&self, line: &str) -> Option<(usize, &'static str)> {
        if self.quote.is_some() {
            return None;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let rest = &line[indent..];
        if let Some(outer) = self.block
            && (indent > outer || line.trim().is_empty())
        {
            return (indent <= outer && rest.starts_with('\t')).then_some((indent, TAB));
        }
        if line.starts_with('%') {
            let known = line.starts_with("%TAG ") || line.trim_end() == "%YAML 1.1";
            return (self.seen_content || !known).then_some((0, DIRECTIVE));
        }
        if self.brackets > 0 || self.goes_on(indent) {
            return None;
        }
        if rest.starts_with('\t') {
            return Some((indent, TAB));
        }
        let mut rest = rest;
        while let Some(behind) = rest.strip_prefix(['-', '?']).filter(|it| it.starts_with(BLANKS)) {
            let next = behind.trim_start_matches(BLANKS);
            if let Some(tab) = behind[..behind.len() - next.len()].find('\t') {
                return Some((line.len() - behind.len() + tab, TAB));
            }
            rest = next;
        }
        None
    }

    /// Gives the first column that go-yaml minds.
    fn read(&mut self, line: &str) -> Option<(usize, &'static str)> {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let blank = line.trim().is_empty();
        let separator = || line.chars().position(is_separator).map(|column| (column, SEPARATOR));
        if let Some(outer) = self.block {
            if blank || indent > outer {
                return separator();
            }
            self.block = None;
        }
        if blank {
            return if self.quote.is_some() { None } else { separator() };
        }
        self.seen_content |= !line.starts_with('%');
        if self.quote.is_none() && self.brackets == 0 && !self.goes_on(indent) {
            self.owner = owner(line, indent);
        }
        let mut before = ' ';
        let mut closed = false;
        let mut found = None;
        let mut chars = line.chars().enumerate().peekable();
        while let Some((column, c)) = chars.next() {
            match self.quote {
                Some('"') if c == '\\' => {
                    if chars.next().is_some_and(|(_, escaped)| escaped == '/') {
                        found.get_or_insert((column, ESCAPE));
                    }
                }
                Some(quote) if c == quote => {
                    if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == '\'') {
                        chars.next();
                    } else {
                        self.quote = None;
                        closed = true;
                    }
                }
                Some(_) => {}
                None => {
                    closed &= c.is_whitespace();
                    if is_separator(c) {
                        found.get_or_insert((column, SEPARATOR));
                    }
                    let begins = before.is_whitespace()
                        || matches!(before, '[' | '{' | ',')
                        || (before == ':' && self.brackets > 0);
                    match c {
                        '#' if before.is_whitespace() => {
                            self.plain = false;
                            let rest = line.chars().skip(column).position(is_separator);
                            return found.or(rest.map(|behind| (column + behind, SEPARATOR)));
                        }
                        '?' if self.brackets > 0 && !begins => {
                            found.get_or_insert((column, QUESTION));
                        }
                        '"' | '\'' if begins => self.quote = Some(c),
                        '[' | '{' if begins || self.brackets > 0 => self.brackets += 1,
                        ']' | '}' if self.brackets > 0 => {
                            self.brackets -= 1;
                            closed = true;
                        }
                        _ => {}
                    }
                }
            }
            before = c;
        }
        let open = self.quote.is_some() || self.brackets > 0;
        if !open && begins_block(line) {
            self.block = Some(indent);
        }
        self.plain = !open && !closed && self.block.is_none() && ends_plain(line);
        found
    }
}

const BLANKS: [char; 2] = [' ', '\t'];

/// The backslash that comes next is escaped itself.
fn ends_in_escape(text: &str) -> bool {
    (text.len() - text.trim_end_matches('\\').len()) % 2 == 1
}

fn is_separator(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Where the key of a line stands, or the last dash of one without.
fn owner(line: &str, indent: usize) -> usize {
    let mut rest = &line[indent..];
    let mut dash = indent;
    while let Some(behind) = rest.strip_prefix(['-', '?']).filter(|it| it.starts_with(BLANKS)) {
        dash = line.len() - rest.len();
        rest = behind.trim_start_matches(BLANKS);
    }
    let has_key = rest.contains(": ") || rest.contains(":\t") || rest.trim_end().ends_with(':');
    if has_key { line.len() - rest.len() } else { dash }
}

/// Whether a line without a comment ends in a scalar without quotes.
fn ends_plain(line: &str) -> bool {
    let line = line.trim_end();
    let last = line.rsplit(BLANKS).next().unwrap_or_default();
    !line.ends_with(':') && !matches!(last, "-" | "?" | "---") && !last.starts_with(['&', '*', '!'])
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
    fn what_go_minds_is_found_where_it_stands() {
        for (text, line, column) in [
            ("\ta: 1\n", 1, 1),
            ("a: 1\n\t\nb: 2\n", 2, 1),
            ("a: |\n  x\n\ty\n", 3, 1),
            ("a: 'x' # \"\n\tb: 1\n", 2, 1),
            ("a:\n  \tb: 1\n", 2, 3),
            ("a:\n  b: 'x'\n  \tc: 1\n", 3, 3),
            ("a:\n- b: 1 # c\n  \t\n", 3, 3),
            ("-\ta\n", 1, 2),
            ("a:\n- -\tb\n", 2, 4),
            ("a: 1\n? \tb\n", 2, 3),
            ("%YAML 1.2\n---\na: 1\n", 1, 1),
            ("%FOO bar\n---\na: 1\n", 1, 1),
            ("a: 1\n%b: 2\n", 2, 1),
            ("a: x\u{2028}y\n", 1, 5),
            ("a: x # y\u{2029}z\n", 1, 9),
            ("a: x\u{7}\n", 1, 5),
            ("a: 1\nb: \"x\\/y\"\n", 2, 6),
            ("a: {b: ipmi://192.0.2.1?c=d, e: f}\n", 1, 24),
            ("a: [b?]\n", 1, 6),
        ] {
            let found = refused_by_go(text).map(|(place, _)| (place.line, place.column));
            assert_eq!(found, Some((line, column)), "{text:?}");
        }
        for text in [
            "a: 1\n",
            "a: [1,\n\t2]\n",
            "a: 'x\n\ty'\n",
            "a: \"x\\\"\n\ty\"\n",
            "a:\tb\n",
            "a: b\t# c\n",
            "a: b\n  \tc\n",
            "a: b\n \t\nc: d\n",
            "a: |\n  x\n  \ty\n",
            "%YAML 1.1\n---\na: 100%\n",
            "a: '\n%b'\n",
            "a: \"x\u{2028}y\"\n",
            "a: 1\n--- \n\tb\n",
            "a: '\\/'\n",
            "a: \"\\\\/\"\n",
            "a: b\\/c\n",
            "a: b?c\nd: [e]\n",
            "a: ['b?c', \"d?e\"] # [f?\n",
            "a: {? b : c}\n",
        ] {
            assert_eq!(refused_by_go(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_goes_on_at_the_left_edge_is_moved() {
        let (text, moved) =
            with_continuations_indented("a:\n- b: '{\n\n}'\nc: [\n1]\nd: 'x\n---\n'\n");
        assert_eq!(text, "a:\n- b: '{\n\n   }'\nc: [\n 1]\nd: 'x\n---\n'\n");
        assert_eq!(moved, [0, 0, 0, 3, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn an_apostrophe_needs_no_backslash_in_double_quotes() {
        for (text, plain) in [
            ("a: \"it\\'s\"\n", "a: \"it's\"\n"),
            ("a: \"x\\'y\\'z\"\n", "a: \"x'y'z\"\n"),
            ("a: \"x\\\\'y\"\n", "a: \"x\\\\'y\"\n"),
            ("a: x\\'y\n", "a: x\\'y\n"),
        ] {
            assert_eq!(with_continuations_indented(text).0, plain);
        }
    }
}
