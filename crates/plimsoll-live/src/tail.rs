//! The end of something that may be long: what is wrong now stands there.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Keeps the last `most` bytes of what is written to it.
pub struct Tail {
    kept: VecDeque<u8>,
    most: usize,
    /// Of all that was written.
    total: u64,
}

impl Tail {
    pub fn new(most: usize) -> Self {
        Self { kept: VecDeque::new(), most, total: 0 }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let bytes = &bytes[bytes.len().saturating_sub(self.most)..];
        let over = (self.kept.len() + bytes.len()).saturating_sub(self.most);
        self.kept.drain(..over);
        self.kept.extend(bytes);
    }

    pub fn clear(&mut self) {
        self.kept.clear();
        self.total = 0;
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whole lines, and whether some before them were left out.
    pub fn lines(self) -> (Vec<u8>, bool) {
        let cut = self.total > self.kept.len() as u64;
        let mut kept = Vec::from(self.kept);
        if cut {
            let first = kept.iter().position(|byte| *byte == b'\n').map_or(kept.len(), |at| at + 1);
            kept.drain(..first);
        }
        (kept, cut)
    }
}

impl Write for Tail {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_text_its_last_whole_lines_are_kept() {
        let of = |most, parts: &[&str]| {
            let mut tail = Tail::new(most);
            parts.iter().for_each(|part| tail.push(part.as_bytes()));
            let (kept, cut) = tail.lines();
            (String::from_utf8(kept).unwrap(), cut)
        };
        assert_eq!(of(20, &["one\n", "two\n"]), ("one\ntwo\n".into(), false));
        assert_eq!(of(8, &["one\n", "two\n"]), ("one\ntwo\n".into(), false));
        assert_eq!(of(6, &["one\n", "two\n"]), ("two\n".into(), true));
        assert_eq!(of(6, &["one\ntwo\nthree\n4\n"]), ("4\n".into(), true));
        assert_eq!(of(3, &["a line without an end"]), (String::new(), true));
    }
}
