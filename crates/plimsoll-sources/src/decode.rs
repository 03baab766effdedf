//! Compressed streams, told apart by their first bytes and never by their names.
//!
//! Every decompressor runs under a `Meter`, which stops what expands without end.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

use crate::Progress;

/// Bytes that are enough to tell every form apart, a tar header among them.
pub const HEAD: usize = 512;

/// Large enough for `xz -9`, small enough to stay within the memory we promise.
const XZ_MEMORY: u64 = 100 << 20;
const BUFFER: usize = 128 << 10;

pub const BOMB: &str = "it expands like an archive bomb";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

pub fn packing(head: &[u8]) -> Packing {
    if head.starts_with(&[0x1f, 0x8b]) {
        Packing::Gzip
    } else if head.starts_with(b"\xfd7zXZ\0") {
        Packing::Xz
    } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Packing::Zstd
    } else {
        Packing::Plain
    }
}

/// Input and output of one source, for the progress bar and against bombs.
pub struct Meter<'p> {
    pub progress: &'p dyn Progress,
    /// Bytes taken from the location.
    taken: AtomicU64,
    /// Bytes that came out of any decompressor, nested ones too.
    made: AtomicU64,
    /// Output is free up to here; beyond, at most `ratio` bytes for each byte taken.
    free: u64,
    ratio: u64,
}

impl<'p> Meter<'p> {
    pub fn new(progress: &'p dyn Progress) -> Self {
        Self { progress, taken: 0.into(), made: 0.into(), free: 2 << 30, ratio: 300 }
    }

    pub fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.progress.advance(bytes);
    }

    fn make(&self, bytes: u64) -> io::Result<()> {
        let made = self.made.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if made > self.free && made / self.ratio > self.taken.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, BOMB));
        }
        Ok(())
    }
}

/// Reads from the location itself.
pub struct Taken<'m, R> {
    pub inner: R,
    pub meter: &'m Meter<'m>,
}

impl<R: Read> Read for Taken<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.take(read as u64);
        Ok(read)
    }
}

struct Made<'m, R> {
    inner: R,
    meter: &'m Meter<'m>,
}

impl<R: Read> Read for Made<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.meter.make(read as u64)?;
        Ok(read)
    }
}

/// Gives an error once, then nothing: stands for the part of a stream that could not be read.
pub struct Broken(pub Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// The first `HEAD` bytes, and the stream as if they had not been read.
pub fn peek<'r>(mut reader: impl Read + 'r) -> (Vec<u8>, Box<dyn BufRead + 'r>) {
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    let mut broken = Broken(None);
    while filled < HEAD {
        match reader.read(&mut head[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                broken = Broken(Some(error));
                break;
            }
        }
    }
    head.truncate(filled);
    let whole = io::Cursor::new(head.clone()).chain(broken).chain(reader);
    (head, Box::new(BufReader::with_capacity(BUFFER, whole)))
}

/// The stream inside `reader`, which is packed as `packing` says.
pub fn unpack<'r>(
    reader: Box<dyn BufRead + 'r>,
    packing: Packing,
    meter: &'r Meter<'r>,
) -> io::Result<Box<dyn Read + 'r>> {
    Ok(match packing {
        Packing::Plain => Box::new(reader),
        Packing::Gzip => {
            Box::new(Made { inner: Gunzip { member: Some(GzDecoder::new(reader)) }, meter })
        }
        Packing::Xz => {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Box::new(Made { inner: XzDecoder::new_stream(reader, stream), meter })
        }
        Packing::Zstd => Box::new(Made { inner: zstd::Decoder::with_buffer(reader)?, meter }),
    })
}

/// All members of a gzip file. Like gzip, and unlike flate2, it takes what is no member after the
/// last one for padding.
struct Gunzip<R> {
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Gunzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            // One byte is enough of a sign: no padding starts with it.
            if rest.fill_buf()?.first() == Some(&0x1f) {
                self.member = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::NoProgress;

    fn gzip(data: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(packed: &[u8], meter: &Meter) -> io::Result<Vec<u8>> {
        let (head, reader) = peek(Taken { inner: packed, meter });
        let mut out = Vec::new();
        unpack(reader, packing(&head), meter)?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn all_members_of_a_gzip_file_are_read_and_padding_is_not() {
        let mut packed = gzip(b"one ");
        packed.extend(gzip(b"two"));
        packed.extend([0; 100]);
        assert_eq!(read_all(&packed, &Meter::new(&NoProgress)).unwrap(), b"one two");
    }

    #[test]
    fn what_expands_too_far_is_stopped() {
        let packed = gzip(&vec![0; 4 << 20]);
        let strict = Meter { free: 1 << 20, ..Meter::new(&NoProgress) };
        let error = read_all(&packed, &strict).map(|all| all.len()).unwrap_err();
        assert_eq!(error.to_string(), BOMB);
        assert_eq!(read_all(&packed, &Meter::new(&NoProgress)).unwrap().len(), 4 << 20);
    }

    #[test]
    fn text_of_any_length_passes_unchanged() {
        for length in [0, 1, HEAD - 1, HEAD, HEAD + 1, 3 * BUFFER] {
            let text = vec![b'x'; length];
            assert!(read_all(&text, &Meter::new(&NoProgress)).unwrap() == text, "{length}");
        }
    }
}
