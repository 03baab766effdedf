//! A live cluster as a stream: the tar of a must-gather, written while it is read.
//!
//! `diagnose` reads the stream as it reads any archive, and `capture` writes the same bytes to disk.
//! So what a live run finds and what its capture tells later are the same by construction. Only
//! reading verbs are used, only what the packs need is asked for, and no secret is in the stream.

mod gather;
mod logs;
mod pipe;
mod plan;
mod rbac;
mod shape;
mod words;

use std::io::{self, Read, Write};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use plimsoll_model::Time;
use plimsoll_model::snapshot::{Gap, Needs};
use serde_json::json;

use crate::gather::{Gathering, Member};

pub use gather::Patience;
pub use rbac::manifests;

/// Files that wait to be written.
const WAITING: usize = 8;
const CONNECT: Duration = Duration::from_secs(10);

/// A cluster whose API answered.
pub struct Cluster {
    runtime: tokio::runtime::Runtime,
    client: kube::Client,
    /// `kube:CONTEXT`
    name: String,
}

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// On this side: no kubeconfig, no such context, no runtime.
    #[error("{0}")]
    Here(String),
    /// The API does not answer, which says something of the cluster.
    #[error("the API at {server} does not answer: {why}")]
    Api { server: String, why: String },
}

impl Cluster {
    /// By the kubeconfig that `oc` would take; the current context where none is named.
    pub fn connect(context: Option<&str>) -> Result<Self, Unreachable> {
        let here = |error: &dyn std::fmt::Display| Unreachable::Here(error.to_string());
        let config = Kubeconfig::read().map_err(|error| here(&error))?;
        let context = match context.or(config.current_context.as_deref()) {
            Some(context) => context.to_string(),
            None => return Err(Unreachable::Here("the kubeconfig has no current context".into())),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| here(&error))?;
        let options = KubeConfigOptions { context: Some(context.clone()), ..Default::default() };
        let mut config = runtime
            .block_on(kube::Config::from_custom_kubeconfig(config, &options))
            .map_err(|error| here(&error))?;
        config.connect_timeout = Some(CONNECT);
        config.default_retry = false;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_string();
        let client = {
            let _inside = runtime.enter();
            kube::Client::try_from(config).map_err(|error| here(&error))?
        };
        let asked = runtime.block_on(async {
            tokio::time::timeout(CONNECT, client.apiserver_version()).await
        });
        let why = match asked {
            Ok(Ok(_)) => return Ok(Self { runtime, client, name: format!("kube:{context}") }),
            Ok(Err(error)) => words::refusal(&error).why,
            Err(_) => format!("no answer within {} s", CONNECT.as_secs()),
        };
        Err(Unreachable::Api { server, why })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the archive. What could not be read is in it, and given back.
    pub fn write(
        &self,
        needs: &Needs,
        patience: Patience,
        now: Time,
        out: impl Write,
    ) -> io::Result<Vec<Gap>> {
        let mut archive = Archive { builder: tar::Builder::new(out), now };
        let about = json!({
            "schema": "plimsoll.capture/v1",
            "kind": "cluster",
            "name": self.name,
            "now": now.to_string(),
        });
        archive.add("plimsoll-capture.json", format!("{about:#}\n").as_bytes())?;
        let (sender, mut members) = tokio::sync::mpsc::channel::<Member>(WAITING);
        let gathering = Gathering::new(self.client.clone(), needs, patience, sender);
        let (gaps, written) = std::thread::scope(|scope| {
            let reading = scope.spawn(|| self.runtime.block_on(gathering.run()));
            let mut written = Ok(());
            while let Some(member) = members.blocking_recv() {
                written = archive.add(&member.path, &member.bytes);
                if written.is_err() {
                    break;
                }
            }
            // Whoever still reads finds that nobody listens, and ends.
            drop(members);
            (reading.join(), written)
        });
        written?;
        let gaps = gaps.map_err(|_| io::Error::other("the reading of the API ended in a fault"))?;
        let told: Vec<_> = gaps.iter().map(|gap| json!({"what": gap.what, "why": gap.why})).collect();
        let told = format!("{:#}\n", json!(told));
        archive.add("plimsoll-gaps.json", told.as_bytes())?;
        archive.builder.finish()?;
        Ok(gaps)
    }

    /// The archive, to be read while it is made.
    pub fn stream(self, needs: Needs, patience: Patience, now: Time) -> Box<dyn Read + Send> {
        let (writer, reader) = pipe::pipe();
        std::thread::spawn(move || {
            // A reader that has gone away needs no news of it.
            let _ = self.write(&needs, patience, now, io::BufWriter::with_capacity(64 << 10, writer));
        });
        Box::new(reader)
    }
}

struct Archive<W: Write> {
    builder: tar::Builder<W>,
    now: Time,
}

impl<W: Write> Archive<W> {
    fn add(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(u64::try_from(self.now.as_second()).unwrap_or_default());
        self.builder.append_data(&mut header, path, bytes)
    }
}
