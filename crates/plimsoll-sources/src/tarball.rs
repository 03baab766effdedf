//! A tar archive as a stream of members.
//!
//! The `tar` crate knows the header; the loop around it is ours, because its own one reads long
//! names and extended headers of any length into memory and cannot tell a finished archive from one
//! that was cut between two members. Nothing here touches the file system.

use std::io::{self, BufRead, Read};

use tar::{EntryType, Header};

const BLOCK: usize = 512;
/// Longest name or extended header that is read; real ones hold a path.
const MAX_EXTENSION: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    File,
    Folder,
    Link,
    /// Devices, pipes, sparse files.
    Other,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    pub path: Vec<u8>,
    pub kind: MemberKind,
    pub size: u64,
}

/// Reads as the content of the member that `next_member` gave last.
pub struct Tarball<R> {
    reader: R,
    left: u64,
    padding: u64,
    /// Set when the archive itself could not be read on, so that the cause of an error inside a
    /// member can be told from the archive's own.
    pub failed: bool,
}

/// Whether `head` can be the start of a tar archive.
pub fn looks_like_tar(head: &[u8]) -> bool {
    head.len() >= BLOCK && (has_valid_sum(head) || head[257..].starts_with(b"ustar"))
}

impl<R: BufRead> Tarball<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, left: 0, padding: 0, failed: false }
    }

    pub fn next_member(&mut self) -> io::Result<Option<Member>> {
        let next = self.advance();
        self.failed |= next.is_err();
        next
    }

    fn advance(&mut self) -> io::Result<Option<Member>> {
        let mut long_name = None;
        let mut extended = Extended::default();
        loop {
            self.skip()?;
            let mut block = [0; BLOCK];
            self.reader.read_exact(&mut block)?;
            if block.iter().all(|b| *b == 0) {
                // The checksum of a compressed archive stands at its very end.
                io::copy(&mut self.reader, &mut io::sink())?;
                return Ok(None);
            }
            if !has_valid_sum(&block) {
                return Err(damaged("a header is damaged"));
            }
            let header = Header::from_byte_slice(&block);
            let size = header.entry_size().map_err(|_| damaged("a header is damaged"))?;
            self.enter(size);
            match header.entry_type() {
                EntryType::GNULongName => long_name = Some(self.extension()?),
                EntryType::GNULongLink => drop(self.extension()?),
                EntryType::XHeader => extended = Extended::parse(&self.extension()?),
                EntryType::XGlobalHeader => drop(self.extension()?),
                entry_type => {
                    if entry_type == EntryType::GNUSparse {
                        self.skip_sparse_map(&block)?;
                    }
                    let size = extended.size.unwrap_or(size);
                    self.enter(size);
                    let mut path = extended
                        .path
                        .or(long_name)
                        .unwrap_or_else(|| header.path_bytes().into_owned());
                    while path.last() == Some(&0) {
                        path.pop();
                    }
                    let kind = kind_of(entry_type, &path);
                    return Ok(Some(Member { path, kind, size }));
                }
            }
        }
    }

    fn enter(&mut self, size: u64) {
        self.left = size;
        self.padding = (BLOCK as u64 - size % BLOCK as u64) % BLOCK as u64;
    }

    fn extension(&mut self) -> io::Result<Vec<u8>> {
        if self.left > MAX_EXTENSION {
            return Err(damaged("a name is longer than any real one"));
        }
        let mut data = vec![0; usize::try_from(self.left).unwrap_or_default()];
        self.read_exact(&mut data)?;
        Ok(data)
    }

    /// An old sparse header goes on in further blocks while a flag in it says so.
    fn skip_sparse_map(&mut self, header: &[u8; BLOCK]) -> io::Result<()> {
        let mut more = header[482] != 0;
        while more {
            let mut block = [0; BLOCK];
            self.reader.read_exact(&mut block)?;
            more = block[504] != 0;
        }
        Ok(())
    }

    fn skip(&mut self) -> io::Result<()> {
        let mut left = self.left.saturating_add(self.padding);
        while left > 0 {
            let ready = self.reader.fill_buf()?.len();
            if ready == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let step = left.min(ready as u64);
            self.reader.consume(usize::try_from(step).unwrap_or(ready));
            left -= step;
        }
        (self.left, self.padding) = (0, 0);
        Ok(())
    }
}

impl<R: BufRead> Read for Tarball<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let read = match self.reader.read(&mut buffer[..most]) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            other => other,
        };
        match &read {
            Ok(read) => self.left -= *read as u64,
            Err(error) => self.failed |= error.kind() != io::ErrorKind::Interrupted,
        }
        read
    }
}

#[derive(Default)]
struct Extended {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Extended {
    /// Records are `<length> <key>=<value>\n`; a record that is not is the end.
    fn parse(mut data: &[u8]) -> Self {
        let mut found = Self::default();
        while let Some((record, rest)) = split_record(data) {
            if let Some(path) = record.strip_prefix(b"path=") {
                found.path = Some(path.to_vec());
            } else if let Some(size) = record.strip_prefix(b"size=") {
                found.size = std::str::from_utf8(size).ok().and_then(|text| text.parse().ok());
            }
            data = rest;
        }
        found
    }
}

fn split_record(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = memchr::memchr(b' ', data)?;
    let length: usize = std::str::from_utf8(&data[..space]).ok()?.parse().ok()?;
    let record = data.get(space + 1..length)?;
    Some((record.strip_suffix(b"\n")?, &data[length..]))
}

fn kind_of(entry_type: EntryType, path: &[u8]) -> MemberKind {
    match entry_type {
        // Archives older than POSIX mark a folder by the slash alone.
        EntryType::Regular if path.ends_with(b"/") => MemberKind::Folder,
        EntryType::Regular | EntryType::Continuous => MemberKind::File,
        EntryType::Directory => MemberKind::Folder,
        EntryType::Symlink | EntryType::Link => MemberKind::Link,
        _ => MemberKind::Other,
    }
}

fn has_valid_sum(block: &[u8]) -> bool {
    let Some(block) = block.get(..BLOCK) else { return false };
    let Ok(stated) = Header::from_byte_slice(block).cksum() else { return false };
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
        .sum();
    sum == stated
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(paths: &[&str]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for path in paths {
            let mut header = Header::new_gnu();
            header.set_size(3);
            header.set_cksum();
            builder.append_data(&mut header, path, &b"abc"[..]).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn members(data: &[u8]) -> (Vec<String>, Option<String>) {
        let mut tarball = Tarball::new(data);
        let mut found = Vec::new();
        loop {
            match tarball.next_member() {
                Ok(Some(member)) => found.push(String::from_utf8(member.path).unwrap()),
                Ok(None) => return (found, None),
                Err(error) => return (found, Some(error.to_string())),
            }
        }
    }

    #[test]
    fn long_names_are_put_together() {
        let long = "a/".repeat(120) + "end";
        assert_eq!(members(&archive(&["short", &long])), (vec!["short".into(), long], None));
    }

    #[test]
    fn an_archive_cut_between_two_members_is_not_finished() {
        let whole = archive(&["one", "two"]);
        assert!(members(&whole[..1024]).1.is_some());
        assert_eq!(members(&whole[..1024]).0, ["one"]);
        assert!(members(&[]).1.is_some());
    }

    #[test]
    fn a_name_without_end_is_refused() {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        assert_eq!(members(header.as_bytes()).1.unwrap(), "a name is longer than any real one");
    }

    #[test]
    fn extended_headers_give_path_and_size() {
        let extended = Extended::parse(b"14 path=a/b/c\n11 size=12\nrubbish");
        assert_eq!(extended.path.unwrap(), b"a/b/c");
        assert_eq!(extended.size, Some(12));
    }
}
