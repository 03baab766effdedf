//! A pipe between the thread that writes an archive and the one that reads it. What waits in it is
//! bounded: who writes faster than the other reads has to wait.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

const WAITING: usize = 16;

pub fn pipe() -> (PipeWriter, PipeReader) {
    let (sender, receiver) = sync_channel(WAITING);
    (PipeWriter(sender), PipeReader { receiver, chunk: Vec::new(), at: 0 })
}

pub struct PipeWriter(SyncSender<Vec<u8>>);

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.send(bytes.to_vec()) {
            Ok(()) => Ok(bytes.len()),
            Err(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub struct PipeReader {
    receiver: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for PipeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            match self.receiver.recv() {
                Ok(chunk) => (self.chunk, self.at) = (chunk, 0),
                Err(_) => return Ok(0),
            }
        }
        let count = out.len().min(self.chunk.len() - self.at);
        out[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_and_a_reader_that_is_gone_is_an_error() {
        let (mut writer, mut reader) = pipe();
        let sent: Vec<u8> = (0..50_000u32).flat_map(u32::to_le_bytes).collect();
        let expected = sent.clone();
        let thread = std::thread::spawn(move || {
            for chunk in sent.chunks(777) {
                writer.write_all(chunk).unwrap();
            }
        });
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        thread.join().unwrap();
        assert_eq!(got, expected);
        let (mut writer, reader) = pipe();
        drop(reader);
        assert!(writer.write_all(b"x").is_err());
    }
}
