//! A text by lines and columns, and edits of it.

use std::ops::Range;

/// Bytes of the text, and what stands there afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub at: Range<usize>,
    pub with: String,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    Quoted,
}

pub struct Source<'t> {
    pub text: &'t str,
    /// Where each line begins; a mark of the byte order is no part of the first.
    starts: Vec<usize>,
    /// What ends a line here.
    pub newline: &'static str,
}

impl<'t> Source<'t> {
    pub fn new(text: &'t str) -> Self {
        let first = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, starts: std::iter::once(first).chain(breaks).collect(), newline }
    }

    pub fn line_start(&self, line: u32) -> Option<usize> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.starts.get(index).copied()
    }

    /// Without what ends it.
    pub fn line(&self, line: u32) -> Option<&'t str> {
        let rest = self.text.get(self.line_start(line)?..)?;
        let end = rest.find('\n').unwrap_or(rest.len());
        let line = &rest[..end];
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    pub fn offset(&self, line: u32, column: u32) -> Option<usize> {
        let text = self.line(line)?;
        let skipped = usize::try_from(column).ok()?.checked_sub(1)?;
        let within = match text.is_ascii() {
            true => Some(skipped).filter(|skipped| *skipped <= text.len()),
            false => text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(skipped),
        };
        Some(self.line_start(line)? + within?)
    }

    /// What stands in front of a place, on its line.
    pub fn before(&self, line: u32, column: u32) -> Option<&'t str> {
        self.text.get(self.line_start(line)?..self.offset(line, column)?)
    }

    /// The bytes of a scalar that is written on one line without escapes; anything else is left alone.
    pub fn token(&self, line: u32, column: u32, value: &str) -> Option<(Range<usize>, Style)> {
        let start = self.offset(line, column)?;
        let rest = &self.text[start..];
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let end = start + value.len();
            let after = rest.strip_prefix(value)?.chars().next();
            let ends =
                after.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ':'));
            return (!value.is_empty() && ends).then_some((start..end, Style::Plain));
        };
        let inner = rest[1..].strip_prefix(value)?;
        let whole = inner.starts_with(quote) && !value.contains([quote, '\\', '\n']);
        whole.then(|| (start..start + value.len() + 2, Style::Quoted))
    }
}

/// Edits that would touch the same bytes are made once, in the order of the text.
pub fn apply<'e>(text: &str, edits: impl Iterator<Item = &'e Edit>) -> String {
    let mut edits: Vec<&Edit> = edits.collect();
    edits.sort_by_key(|edit| (edit.at.start, edit.at.end));
    let mut out = String::with_capacity(text.len() + 64);
    let mut done = 0;
    let mut last: Option<&Edit> = None;
    for edit in edits {
        let fits = edit.at.start >= done && text.get(edit.at.clone()).is_some();
        if fits && last != Some(edit) {
            out.push_str(&text[done..edit.at.start]);
            out.push_str(&edit.with);
            done = edit.at.end;
            last = Some(edit);
        }
    }
    out.push_str(&text[done..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_behind_a_mark_in_any_line_end_and_beside_any_letters() {
        let text = "\u{feff}a: x\r\nü: 'y' # z\r\nb: [p, \"q\"]\r\n";
        let source = Source::new(text);
        let found = |line, column, value: &str| {
            source.token(line, column, value).map(|(at, style)| (&text[at], style))
        };
        assert_eq!(found(1, 4, "x"), Some(("x", Style::Plain)));
        assert_eq!(found(2, 4, "y"), Some(("'y'", Style::Quoted)));
        assert_eq!(found(3, 5, "p"), Some(("p", Style::Plain)));
        assert_eq!(found(3, 8, "q"), Some(("\"q\"", Style::Quoted)));
        assert_eq!(source.newline, "\r\n");
        for (line, column, value) in
            [(1, 4, "y"), (9, 1, "x"), (1, 99, "x"), (3, 5, ""), (0, 0, "x")]
        {
            assert_eq!(found(line, column, value), None);
        }
    }

    #[test]
    fn an_edit_is_made_once_and_one_that_overlaps_not_at_all() {
        let edit = |at: Range<usize>, with: &str| Edit { at, with: with.into() };
        let edits = [
            edit(4..5, "X"),
            edit(0..1, "A"),
            edit(4..5, "X"),
            edit(0..2, "no"),
            edit(99..100, "no"),
        ];
        assert_eq!(apply("abcde\n", edits.iter()), "AbcdX\n");
    }
}
