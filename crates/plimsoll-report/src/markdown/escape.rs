//! Untrusted text in Markdown: as prose, as code, as a block that nothing can close from inside.

use crate::safe;

/// Text that reads as written wherever it stands, at the start of a line too.
pub fn prose(text: &str) -> String {
    let text = safe::line(text);
    let mut out = String::with_capacity(text.len());
    let mut numbered = true;
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, c)) = characters.next() {
        let special = matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '!' | '$'
        );
        let opens_block = at == 0 && matches!(c, '#' | '+' | '-' | '=' | ':');
        let opens_list = at > 0
            && numbered
            && matches!(c, '.' | ')')
            && characters.peek().is_none_or(|(_, next)| *next == ' ');
        if special || opens_block || opens_list {
            out.push('\\');
        }
        numbered &= c.is_ascii_digit();
        out.push(c);
    }
    out
}

/// A code span, longer than any run of backticks inside.
pub fn code(text: &str) -> String {
    let text = safe::line(text);
    if text.is_empty() {
        return "(none)".into();
    }
    let ticks = "`".repeat(longest_run(&text) + 1);
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

/// Inside a table even code gives way to a bar.
pub fn cell(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut escaped = false;
    for c in markdown.chars() {
        if c == '|' && !escaped {
            out.push('\\');
        }
        escaped = c == '\\' && !escaped;
        out.push(c);
    }
    out
}

pub fn fenced(text: &str) -> String {
    let text = safe::lines(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_no_markup() {
        assert_eq!(prose("<b> *x* [a](b)"), r"\<b\> \*x\* \[a\](b)");
        assert_eq!(prose("# title"), r"\# title");
        assert_eq!(prose("12. item"), r"12\. item");
        assert_eq!(prose("4.18 is fine"), "4.18 is fine");
        assert_eq!(prose("a-b. c"), "a-b. c");
    }

    #[test]
    fn code_cannot_be_closed_from_inside() {
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(fenced("x\n````\ny"), "`````text\nx\n````\ny\n`````");
        assert_eq!(cell(&code("a|b")), r"`a\|b`");
        assert_eq!(cell(&prose("a|b")), r"a\|b");
    }
}
