//! Lines of a fixed width, painted or not. Fits first and paints last, so that colour never
//! counts as a column.

use anstyle::{AnsiColor, Style};

use crate::wrap::{columns, wrap_at_most};

pub const STRONG: Style = Style::new().bold();
pub const FAINT: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default().bold();
pub const BAD: Style = AnsiColor::Red.on_default().bold();
pub const CAREFUL: Style = AnsiColor::Yellow.on_default().bold();
pub const LABEL: Style = AnsiColor::Cyan.on_default();

/// Of what belongs to a root or a deadlock.
pub const INDENT: usize = 3;
/// Longest label and two blanks.
const LABEL_COLUMNS: usize = 7;
/// Below this nothing can be read anyway.
const NARROWEST: usize = 40;

pub struct Page {
    pub width: usize,
    color: bool,
    out: String,
}

impl Page {
    pub fn new(width: usize, color: bool) -> Self {
        Self { width: width.max(NARROWEST), color, out: String::new() }
    }

    pub fn finish(self) -> String {
        self.out
    }

    pub fn paint(&self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.into() }
    }

    pub fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    pub fn paragraph(&mut self, indent: usize, text: &str, most: usize) {
        for line in wrap_at_most(text, self.width - indent, most) {
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// A paragraph behind its mark, with the other lines below its text.
    pub fn hanging(&mut self, mark: &str, text: &str, most: usize) {
        let indent = columns(mark);
        let room = self.width.saturating_sub(indent);
        for (at, line) in wrap_at_most(text, room, most).iter().enumerate() {
            let margin = if at == 0 { mark.to_string() } else { " ".repeat(indent) };
            self.line(&format!("{margin}{line}"));
        }
    }

    /// Painted as a whole, however many lines it takes.
    pub fn heading(&mut self, style: Style, text: &str, most: usize) {
        for line in wrap_at_most(text, self.width, most) {
            let painted = self.paint(style, &line);
            self.line(&painted);
        }
    }

    /// Never wrapped: what is pasted has to be one line. The text has passed [`crate::safe::command`].
    pub fn command(&mut self, indent: usize, text: &str) {
        self.line(&format!("{}{text}", " ".repeat(indent)));
    }

    /// An indented paragraph that shows where the next one begins.
    pub fn item(&mut self, text: &str, most: usize) {
        for (at, line) in wrap_at_most(text, self.width - INDENT - 2, most).iter().enumerate() {
            let indent = if at == 0 { INDENT } else { INDENT + 2 };
            self.line(&format!("{}{line}", " ".repeat(indent)));
        }
    }

    /// A paragraph whose first words are painted: they must open the text.
    pub fn opening(&mut self, style: Style, opening: &str, text: &str, most: usize) {
        let full = format!("{opening} {text}");
        for (at, line) in wrap_at_most(&full, self.width, most).into_iter().enumerate() {
            match line.strip_prefix(opening) {
                Some(rest) if at == 0 => {
                    let painted = self.paint(style, opening);
                    self.line(&format!("{painted}{rest}"));
                }
                _ => self.line(&line),
            }
        }
    }

    /// Columns beside a label.
    pub fn room(&self) -> usize {
        self.width - INDENT - LABEL_COLUMNS
    }

    pub fn labelled(&mut self, label: &str, text: &str, most: usize) {
        let lines = wrap_at_most(text, self.room(), most);
        self.labelled_lines(label, &lines);
    }

    /// Lines that already fit, the first of them beside the label.
    pub fn labelled_lines(&mut self, label: &str, lines: &[String]) {
        for (at, line) in lines.iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let gap = " ".repeat(LABEL_COLUMNS.saturating_sub(columns(label)));
            let painted = self.paint(LABEL, label);
            self.line(&format!("{}{painted}{gap}{line}", " ".repeat(INDENT)));
        }
    }

    /// Left and right on one line where both fit, else one below the other.
    pub fn sides(&mut self, style: Style, left: &str, right: &str) {
        let used = columns(left) + columns(right);
        let painted = self.paint(style, left);
        if used < self.width {
            let gap = " ".repeat(self.width - used);
            self.line(&format!("{painted}{gap}{right}"));
        } else {
            self.line(&painted);
            self.paragraph(INDENT, right, 2);
        }
    }
}
