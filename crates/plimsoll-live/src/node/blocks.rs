//! What the script on a node writes: blocks of packed text. The node is not trusted to keep to it.

use std::io::{self, BufRead, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzDecoder;

use crate::tail::Tail;

const LONGEST_LINE: u64 = 64 << 10;
const MOST: usize = 5000;

/// How much is taken, unpacked.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Of one block; its end is kept.
    pub block: usize,
    /// Of one node.
    pub node: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block: 32 << 20, node: 1 << 30 }
    }
}

/// One thing that was found on a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Below the root of the node.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Of the command that found it.
    pub status: Option<i32>,
    /// Lines at its beginning were left out.
    pub cut: bool,
}

impl Found {
    /// A file, or a folder, that is there and could not be read.
    pub fn is_denied(&self) -> bool {
        let is_file = self.path.starts_with("etc/") || self.path.starts_with("var/");
        is_file && self.status != Some(0)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    Found(Found),
    /// What stood in it cannot be unpacked; this is its path.
    Damaged(String),
}

/// Gives every block to `take` until that wants no more. Whether the script came to its end.
pub fn read(
    input: impl Read,
    limits: Limits,
    mut take: impl FnMut(Block) -> bool,
) -> io::Result<bool> {
    let mut input = io::BufReader::new(input);
    let mut open: Option<Packed> = None;
    let mut count = 0;
    let mut before = 0;
    loop {
        let mut line = Vec::new();
        if (&mut input).take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        let line = line.trim_ascii_end();
        if line == b"@done" {
            return Ok(true);
        }
        if let Some(path) = line.strip_prefix(b"@file ") {
            open = safe_path(path).map(|path| Packed::new(path, limits.block));
        } else if line == b"@end" {
            let Some(packed) = open.take() else { continue };
            before += packed.size();
            count += 1;
            if count > MOST {
                return Err(too_much());
            }
            if !take(packed.block()) {
                return Ok(false);
            }
        } else if let Some(packed) = &mut open {
            packed.add(line);
            if before + packed.size() > limits.node {
                return Err(too_much());
            }
        }
    }
}

fn too_much() -> io::Error {
    io::Error::other("the node sent more than any node has")
}

/// A path that leads nowhere else.
fn safe_path(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    let parts: Vec<&str> = path.split('/').collect();
    let is_safe = !parts.iter().any(|part| matches!(*part, "" | "." | ".."));
    (is_safe && path.len() < 500 && path.chars().all(plain)).then(|| path.to_string())
}

/// A block that is unpacked while it comes.
struct Packed {
    path: String,
    /// Characters that do not make whole bytes yet.
    rest: Vec<u8>,
    /// Nothing any more once something in it was wrong.
    unpacker: Option<GzDecoder<Tail>>,
}

impl Packed {
    fn new(path: String, most: usize) -> Self {
        Self { path, rest: Vec::new(), unpacker: Some(GzDecoder::new(Tail::new(most))) }
    }

    fn size(&self) -> u64 {
        self.unpacker.as_ref().map_or(0, |unpacker| unpacker.get_ref().total())
    }

    fn add(&mut self, line: &[u8]) {
        let Some(unpacker) = &mut self.unpacker else { return };
        self.rest.extend_from_slice(line);
        let whole = self.rest.len() / 4 * 4;
        let decoded = STANDARD.decode(&self.rest[..whole]).ok();
        if decoded.and_then(|bytes| unpacker.write_all(&bytes).ok()).is_none() {
            self.unpacker = None;
        }
        self.rest.drain(..whole);
    }

    fn block(self) -> Block {
        let unpacked = self.unpacker.filter(|_| self.rest.is_empty());
        let Some(tail) = unpacked.and_then(|unpacker| unpacker.finish().ok()) else {
            return Block::Damaged(self.path);
        };
        let (mut bytes, cut) = tail.lines();
        let mut status = None;
        // The last line tells how the command ended.
        if let Some(at) = bytes.windows(3).rposition(|window| window == b"\n@@") {
            let told = std::str::from_utf8(&bytes[at + 3..]).ok();
            status = told.and_then(|text| text.trim().parse().ok());
            bytes.truncate(at);
            if !bytes.is_empty() && !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
        }
        Block::Found(Found { path: self.path, bytes, status, cut })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn block(path: &str, text: &str) -> String {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        format!("@file {path}\n{}\n@end\n", STANDARD.encode(packer.finish().unwrap()))
    }

    fn blocks(text: &[u8], limits: Limits) -> (Vec<Block>, bool) {
        let mut all = Vec::new();
        let take = |block| {
            all.push(block);
            true
        };
        let whole = read(text, limits, take).unwrap();
        (all, whole)
    }

    fn found(text: &[u8]) -> (Vec<Found>, bool) {
        let (all, whole) = blocks(text, Limits::default());
        let found = all.into_iter().map(|block| match block {
            Block::Found(found) => found,
            Block::Damaged(path) => panic!("{path} is damaged"),
        });
        (found.collect(), whole)
    }

    #[test]
    fn blocks_are_unpacked_with_how_the_command_ended() {
        let text = block("commands/date", "2025\n\n@@0\n") + &block("etc/x", "\n@@1\n") + "@done\n";
        let (all, whole) = found(text.as_bytes());
        assert!(whole);
        assert_eq!((all[0].path.as_str(), all[0].status), ("commands/date", Some(0)));
        assert_eq!(all[0].bytes, b"2025\n");
        assert_eq!((all[1].bytes.as_slice(), all[1].status), (&b""[..], Some(1)));
    }

    #[test]
    fn a_node_that_lies_gets_nowhere() {
        for path in ["../../etc/passwd", "/etc/passwd", "a//b", "a/\u{1b}[2J"] {
            assert_eq!(found(block(path, "x").as_bytes()).0, [], "{path}");
        }
    }

    #[test]
    fn a_banner_in_another_alphabet_is_passed_over() {
        let own = block("etc/x", "a");
        let text = [&b"Willkommen auf dem Rechner f\xfcr alle\n"[..], own.as_bytes()];
        let (all, _) = found(&text.concat());
        assert_eq!(all[0].path, "etc/x");
    }

    #[test]
    fn a_damaged_block_is_told_and_the_next_one_is_read() {
        let text = "@file a\n%%%not base64\n@end\n@file b\nQUJD\n@end\n".to_string();
        let mut half = block("c", "of this only the beginning came\n");
        half.replace_range(half.len() - 17..half.len() - 6, "");
        let (all, whole) = blocks(
            (text + &half + &block("d", "x\n@@0\n") + "noise").as_bytes(),
            Limits::default(),
        );
        assert!(!whole);
        let damaged = |path: &str| Block::Damaged(path.into());
        assert_eq!(all[..3], [damaged("a"), damaged("b"), damaged("c")]);
        assert!(matches!(&all[3], Block::Found(found) if found.bytes == b"x\n"), "{all:?}");
    }

    #[test]
    fn of_a_block_that_is_too_long_the_newest_lines_are_kept() {
        let lines: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        let text = block("journal/kubelet.log", &format!("{lines}\n@@0\n"));
        let limits = Limits { block: 1000, ..Limits::default() };
        let (all, _) = blocks(text.as_bytes(), limits);
        let Block::Found(found) = &all[0] else { panic!("{all:?}") };
        assert!(found.cut && found.status == Some(0) && found.bytes.len() <= 1000);
        let kept = String::from_utf8_lossy(&found.bytes);
        assert!(kept.starts_with("line 4") && kept.ends_with("line 4999\n"), "{kept}");
    }

    #[test]
    fn a_node_that_never_ends_is_left() {
        let bomb = block("a", &"\0".repeat(1 << 20));
        let limits = Limits { block: 1000, node: 1 << 18 };
        assert!(read(bomb.as_bytes(), limits, |_| true).is_err());
    }

    proptest! {
        /// Bytes that are nearly right get further than noise.
        #[test]
        fn whatever_a_node_sends_comes_to_an_end(
            noise in proptest::collection::vec(any::<u8>(), 0..400),
            wrong in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let mut text = block("etc/a", "first\n\n@@0\n") + &block("var/b", "second\n\n@@1\n");
            text.push_str("@file c\n");
            let mut text = [text.as_bytes(), &noise, b"\n@end\n@done\n"].concat();
            for (index, byte) in wrong {
                let at = index.index(text.len());
                text[at] = byte;
            }
            let limits = Limits { block: 64, node: 1 << 20 };
            let _ = read(text.as_slice(), limits, |block| {
                assert!(!matches!(block, Block::Found(found) if found.bytes.len() > 64));
                true
            });
        }
    }
}
