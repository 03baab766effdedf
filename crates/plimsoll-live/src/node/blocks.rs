//! What the script on a node writes: blocks of packed text. The node is not trusted to keep to it.

use std::io::{self, BufRead, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

/// Of one file, unpacked and packed.
const LARGEST: u64 = 64 << 20;
const LARGEST_PACKED: usize = 32 << 20;
const LONGEST_LINE: u64 = 64 << 10;
const MOST: usize = 5000;
/// Of one node, unpacked.
const LARGEST_NODE: u64 = 256 << 20;

/// One thing that was found on a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Below the root of the node.
    pub path: String,
    pub bytes: Vec<u8>,
    /// Of the command that found it.
    pub status: Option<i32>,
}

impl Found {
    /// A file, or a folder, that is there and could not be read.
    pub fn is_denied(&self) -> bool {
        let is_file = self.path.starts_with("etc/") || self.path.starts_with("var/");
        is_file && self.status != Some(0)
    }
}

/// Gives every block to `take`. Whether the script came to its end.
pub fn read(input: impl Read, mut take: impl FnMut(Found)) -> io::Result<bool> {
    let mut input = io::BufReader::new(input);
    let mut open: Option<(String, String)> = None;
    let mut count = 0;
    let mut left = LARGEST_NODE;
    loop {
        let mut line = String::new();
        if (&mut input).take(LONGEST_LINE).read_line(&mut line)? == 0 {
            return Ok(false);
        }
        let line = line.trim_end();
        if line == "@done" {
            return Ok(true);
        }
        if let Some(path) = line.strip_prefix("@file ") {
            open = safe_path(path).map(|path| (path, String::new()));
        } else if line == "@end" {
            let limit = LARGEST.min(left);
            let unpacked = open.take().and_then(|(path, packed)| unpacked(path, &packed, limit));
            if let Some(found) = unpacked {
                count += 1;
                left = left.saturating_sub(found.bytes.len() as u64);
                if count > MOST || left == 0 {
                    return Err(io::Error::other("the node sent more than any node has"));
                }
                take(found);
            }
        } else if let Some((_, packed)) = &mut open {
            if packed.len() + line.len() > LARGEST_PACKED {
                open = None;
            } else {
                packed.push_str(line);
            }
        }
    }
}

/// A path that leads nowhere else.
fn safe_path(path: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    let parts: Vec<&str> = path.split('/').collect();
    let is_safe = !parts.iter().any(|part| matches!(*part, "" | "." | ".."));
    (is_safe && path.len() < 500 && path.chars().all(plain)).then(|| path.to_string())
}

fn unpacked(path: String, packed: &str, limit: u64) -> Option<Found> {
    let packed = STANDARD.decode(packed).ok()?;
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).take(limit).read_to_end(&mut bytes).ok()?;
    let mut status = None;
    // The last line tells how the command ended.
    if let Some(at) = bytes.windows(3).rposition(|window| window == b"\n@@") {
        status =
            std::str::from_utf8(&bytes[at + 3..]).ok().and_then(|text| text.trim().parse().ok());
        bytes.truncate(at);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
    }
    Some(Found { path, bytes, status })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn block(path: &str, text: &str) -> String {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        format!("@file {path}\n{}\n@end\n", STANDARD.encode(packer.finish().unwrap()))
    }

    fn found(text: &str) -> (Vec<Found>, bool) {
        let mut all = Vec::new();
        let whole = read(text.as_bytes(), |found| all.push(found)).unwrap();
        (all, whole)
    }

    #[test]
    fn blocks_are_unpacked_with_how_the_command_ended() {
        let text = block("commands/date", "2025\n\n@@0\n") + &block("etc/x", "\n@@1\n") + "@done\n";
        let (all, whole) = found(&text);
        assert!(whole);
        assert_eq!((all[0].path.as_str(), all[0].status), ("commands/date", Some(0)));
        assert_eq!(all[0].bytes, b"2025\n");
        assert_eq!((all[1].bytes.as_slice(), all[1].status), (&b""[..], Some(1)));
    }

    #[test]
    fn a_node_that_lies_gets_nowhere() {
        for path in ["../../etc/passwd", "/etc/passwd", "a//b", "a/\u{1b}[2J"] {
            assert_eq!(found(&block(path, "x")).0, [], "{path}");
        }
        let (all, whole) = found("@file a\n%%%not base64\n@end\n@file b\nQUJD\n@end\nnoise");
        assert!(all.is_empty() && !whole);
    }
}
