//! The archive that is written while the cluster is read: files come from many tasks and stand in one
//! tar.

use std::collections::BTreeSet;
use std::io::{self, Write};

use plimsoll_model::Time;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Folder of everything in a capture.
pub const ROOT: &str = "capture";
/// What tells that it is a capture, and of what.
pub const HEAD: &str = "plimsoll-capture.json";
/// Files that wait to be written.
const WAITING: usize = 8;

pub struct Member {
    path: String,
    bytes: Vec<u8>,
}

/// Nobody reads on the other side any more.
#[derive(Debug)]
pub struct Closed;

/// Where every reader puts its files.
#[derive(Clone)]
pub struct Out {
    members: Sender<Member>,
}

pub fn out() -> (Out, Receiver<Member>) {
    let (sender, members) = channel(WAITING);
    (Out { members: sender }, members)
}

impl Out {
    pub async fn add(
        &self,
        path: impl Into<String>,
        text: impl Into<Vec<u8>>,
    ) -> Result<(), Closed> {
        let member = Member { path: path.into(), bytes: text.into() };
        self.members.send(member).await.map_err(|_| Closed)
    }

    /// For those who wait in a thread of their own.
    pub fn add_blocking(&self, path: String, bytes: Vec<u8>) -> Result<(), Closed> {
        self.members.blocking_send(Member { path, bytes }).map_err(|_| Closed)
    }
}

pub struct Archive<W: Write> {
    builder: tar::Builder<W>,
    now: Time,
    written: (u64, u64),
    machines: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    pub fn new(out: W, now: Time) -> Self {
        Self { builder: tar::Builder::new(out), now, written: (0, 0), machines: BTreeSet::new() }
    }

    /// A path with a part that leads elsewhere is nobody's: such a file is left out.
    pub fn add(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Ok(());
        }
        if let Some((folder, rest)) = path.split_once('/')
            && ["nodes", "bmc"].contains(&folder)
        {
            let name = rest.split('/').next().unwrap_or_default();
            self.machines.insert(name.trim_end_matches(".json").to_string());
        }
        self.written.0 += 1;
        self.written.1 += bytes.len() as u64;
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(u64::try_from(self.now.as_second()).unwrap_or_default());
        self.builder.append_data(&mut header, format!("{ROOT}/{path}"), bytes)
    }

    /// Files and their size.
    pub fn written(&self) -> (u64, u64) {
        self.written
    }

    /// Machines that have files of their own.
    pub fn machines(&self) -> BTreeSet<String> {
        self.machines.clone()
    }

    /// Writes what comes until nobody is left to send.
    pub fn drain(&mut self, mut members: Receiver<Member>) -> io::Result<()> {
        while let Some(member) = members.blocking_recv() {
            self.add(&member.path, &member.bytes)?;
        }
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.builder.finish()?;
        self.builder.into_inner()
    }
}
