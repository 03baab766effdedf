//! The Markdown of a page on a terminal: paragraphs and lists are wrapped, code is not touched, so
//! that a command can be copied as it is. Emphasis and code spans stay as they are written.

use crate::safe;
use crate::text::page::{INDENT, Page};
use crate::wrap::wrap;

/// A paragraph or list item that is still being read.
struct Open {
    indent: usize,
    marker: String,
    text: String,
}

pub fn draw(page: &mut Page, markdown: &str) {
    let text = safe::document(markdown);
    let mut open: Option<Open> = None;
    let mut fence = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            close(page, &mut open);
            fence = !fence;
            continue;
        }
        if fence || line.starts_with('|') {
            close(page, &mut open);
            let margin = if fence { INDENT + 2 } else { INDENT };
            page.line(&format!("{}{line}", " ".repeat(margin)));
        } else if line.trim().is_empty() {
            close(page, &mut open);
            page.blank();
        } else if let Some((indent, marker, rest)) = item(line) {
            close(page, &mut open);
            open = Some(Open { indent, marker, text: rest.into() });
        } else {
            let paragraph = open.get_or_insert_with(|| Open {
                indent: 0,
                marker: String::new(),
                text: String::new(),
            });
            paragraph.text.push(' ');
            paragraph.text.push_str(line.trim());
        }
    }
    close(page, &mut open);
}

/// `  - text`, `1. text`: its indentation, its marker with the blank behind it, its text.
fn item(line: &str) -> Option<(usize, String, &str)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match text.as_bytes() {
        [b'-' | b'*', b' ', ..] => 2,
        bytes if digits > 0 && bytes[digits..].starts_with(b". ") => digits + 2,
        _ => return None,
    };
    let (marker, rest) = text.split_at(marker);
    Some((indent, marker.into(), rest))
}

fn close(page: &mut Page, open: &mut Option<Open>) {
    let Some(Open { indent, marker, text }) = open.take() else { return };
    let margin = INDENT + indent.min(INDENT * 2);
    let room = page.width.saturating_sub(margin + marker.len());
    for (at, line) in wrap(&text, room).iter().enumerate() {
        let lead = if at == 0 { marker.clone() } else { " ".repeat(marker.len()) };
        page.line(&format!("{}{lead}{line}", " ".repeat(margin)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_and_code_is_not() {
        let mut page = Page::new(40, false);
        let long = "x".repeat(60);
        draw(
            &mut page,
            &format!(
                "One two three four five six seven eight nine.\n\n- a point that runs over\n  two lines of it\n  1. inner\n\n```\noc get {long}\n```\n"
            ),
        );
        assert_eq!(
            page.finish(),
            format!(
                "   One two three four five six seven\n   eight nine.\n\n   - a point that runs over two lines of\n     it\n     1. inner\n\n     oc get {long}\n"
            )
        );
    }
}
