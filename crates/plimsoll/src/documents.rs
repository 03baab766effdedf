//! One file that holds both configs, as `check --example` prints them.

/// A document of a file: its text behind as many empty lines as stand in front of it, so that places in
/// it are places in the file, and where it begins there.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    pub text: String,
    pub start: usize,
    padding: usize,
}

impl Part {
    /// The one document of a file.
    pub fn whole(text: &str) -> Self {
        Self { text: text.into(), start: 0, padding: 0 }
    }

    /// A byte of the text as a byte of the file.
    pub fn in_file(&self, offset: usize) -> usize {
        (offset + self.start).saturating_sub(self.padding)
    }
}

/// There are two configs. Each document is kept behind the lines before it, so more of them are not read on.
const MOST: usize = 3;

/// The documents of a text that hold something, if there are at least two.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let (mut start, mut line) = (0, 0);
    let mut at = 0;
    let mut lines = 0;
    let mut close = |start: usize, end: usize, line: usize| {
        let own = &text[start..end];
        if parts.len() < MOST && own.lines().any(|line| !is_idle(line)) {
            let text = format!("{}{own}", "\n".repeat(line));
            parts.push(Part { text, start, padding: line });
        }
    };
    for each in text.split_inclusive('\n') {
        lines += 1;
        let next = at + each.len();
        if is_marker(each) {
            close(start, at, line);
            (start, line) = (next, lines);
        }
        at = next;
    }
    close(start, text.len(), line);
    if parts.len() > 1 { parts } else { Vec::new() }
}

/// A block or a text in quotes cannot hold such a line: it would be indented.
fn is_marker(line: &str) -> bool {
    if !line.starts_with(['-', '\u{feff}']) {
        return false;
    }
    let line = line.trim_start_matches('\u{feff}').trim_end();
    line == "---" || line.starts_with("--- #")
}

fn is_idle(line: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim();
    line.is_empty() || line.starts_with('#') || line == "..." || line.starts_with('%')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_part_are_places_of_the_file() {
        let text = "# head\na: 1\n---\n# second\nb: 2\n";
        let parts = parts(text);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0].text, "# head\na: 1\n");
        assert_eq!(parts[1].text, "\n\n\n# second\nb: 2\n");
        let at = parts[1].text.find("b: 2").unwrap();
        assert_eq!(&text[parts[1].in_file(at)..], "b: 2\n");
    }

    #[test]
    fn one_document_is_no_part_of_anything() {
        for text in ["", "a: 1\n", "---\na: 1\n", "# x\n---\na: 1\n---\n", "a: |\n  ---\n  b\n"] {
            assert_eq!(parts(text), [], "{text}");
        }
        assert_eq!(parts("\u{feff}---\r\na: 1\r\n---\r\nb: 2\r\n").len(), 2);
    }

    #[test]
    fn many_documents_are_not_each_kept_behind_all_lines_before_them() {
        let kept: usize = parts(&"a\n---\n".repeat(100_000)).iter().map(|it| it.text.len()).sum();
        assert!(kept < 1000, "{kept}");
    }
}
