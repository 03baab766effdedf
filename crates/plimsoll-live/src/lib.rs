//! Everything live as a stream: the tar of a must-gather, written while it is read.
//!
//! `diagnose` reads the stream as it reads any archive, and `capture` writes the same bytes to disk.
//! So what a live run finds and what its capture tells later are the same by construction. Only
//! reading verbs are used, only what the packs need is asked for, and no secret is in the stream.

mod api;
mod archive;
mod bmcs;
mod disguised;
mod gaps;
mod node;
mod pipe;
mod preflight;
mod probes;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};

use futures::StreamExt;

use plimsoll_bmc::Target;
use plimsoll_disguise::Names;
use plimsoll_model::Time;
use plimsoll_model::capture::{Attempt, Missing};
use plimsoll_model::snapshot::Needs;
use serde_json::json;

use crate::api::{ClusterSeen, Connection, Deadline, Given, Told};
use crate::archive::{Archive, HEAD, Out};
use crate::gaps::Gaps;
use crate::probes::Outside;

pub use api::{Patience, Unusable, Vantage, manifests, place};
pub use disguised::write_disguised;
pub use node::Node;
pub use preflight::{BadImage, Part, Preflight};
pub use probes::is_host;

const NODES_AT_ONCE: usize = 8;
const OVER: &str = "the time that was given for the whole reading is over";

/// Where the time of day comes from.
pub type Clock = fn() -> Time;

/// Told what is being read. Called from several threads.
pub trait Progress: Send + Sync {
    fn say(&self, what: &str);
}

/// Nobody is watching.
pub struct Silent;

impl Progress for Silent {
    fn say(&self, _: &str) {}
}

/// What is to be read.
#[derive(Clone, Debug)]
pub struct Request {
    pub cluster: Option<Vantage>,
    pub nodes: Vec<Node>,
    /// As this user, every node that the API names is read over `ssh`.
    pub all_nodes_as: Option<String>,
    pub bmcs: Vec<Target>,
    /// The BMCs of the cluster's BareMetalHosts, by the secrets that they name.
    pub bmcs_of_cluster: bool,
    /// There is more to read than the API: one that cannot even be asked is a gap then.
    pub has_others: bool,
    /// Whether names and ports of the cluster are probed from here.
    pub probes: bool,
    /// Servers of NTP that are asked as well; those of nodes that are read are known from there.
    pub time_servers: Vec<String>,
    pub patience: Patience,
    /// Time of the reading.
    pub now: Time,
    /// What the clocks of others are held against.
    pub clock: Clock,
}

/// What became of a reading.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub gaps: Vec<Missing>,
    /// Files of the archive and their size.
    pub files: u64,
    pub size: u64,
    /// To the API.
    pub requests: u64,
    /// Of machines and the site, as far as they became known.
    pub names: Names,
}

/// Live sources, found and named, and ready to be read.
pub struct Live {
    runtime: Option<tokio::runtime::Runtime>,
    request: Request,
    deadline: Deadline,
    connection: Option<Connection>,
    /// Why the API could not even be asked.
    unusable: Option<Unusable>,
}

/// Whatever still waits for somebody who does not answer is not waited for.
impl Drop for Live {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Live {
    /// Finds out what can be reached. Only what is wrong on this side is an error.
    pub fn open(request: Request, progress: &dyn Progress) -> Result<Self, Unusable> {
        let deadline = Deadline::after(request.patience.budget);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Unusable(error.to_string()))?;
        let connection = match &request.cluster {
            Some(wish) => {
                progress.say("the way to the API");
                match runtime.block_on(api::connect(wish, request.patience, deadline)) {
                    Ok(connection) => Ok(Some(connection)),
                    Err(unusable) if request.has_others => Err(unusable),
                    Err(unusable) => {
                        // A plugin that hangs is not waited for.
                        runtime.shutdown_background();
                        return Err(unusable);
                    }
                }
            }
            None => Ok(None),
        };
        let (connection, unusable) = match connection {
            Ok(connection) => (connection, None),
            Err(unusable) => (None, Some(unusable)),
        };
        Ok(Self { runtime: Some(runtime), request, deadline, connection, unusable })
    }

    /// `kube:CONTEXT`
    pub fn name(&self) -> &str {
        match (&self.connection, self.request.nodes.first()) {
            (Some(connection), _) => &connection.name,
            (None, Some(Node::Ssh { .. })) => "ssh",
            (None, Some(Node::Here { .. })) => "node",
            (None, None) if !self.request.bmcs.is_empty() => "bmc",
            (None, None) => "live",
        }
    }

    /// Every way to the API that was tried.
    pub fn attempts(&self) -> &[Attempt] {
        self.connection.as_ref().map_or(&[], |connection| &connection.attempts)
    }

    /// Whether an API was asked for and none answers.
    pub fn is_without_api(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.cluster.is_none())
    }

    /// Writes the archive. What could not be read is in it, and given back.
    pub fn write(
        &self,
        needs: &Needs,
        progress: &dyn Progress,
        out: impl Write,
    ) -> io::Result<Account> {
        let mut archive = Archive::new(out, self.request.now);
        let head = json!({
            "schema": "plimsoll.capture/v1",
            "name": self.name(),
            "now": self.request.now.to_string(),
        });
        archive.add(HEAD, format!("{head:#}\n").as_bytes())?;
        let gaps = Gaps::default();
        let (out, members) = archive::out();
        let (told, written) = std::thread::scope(|scope| {
            let gaps = &gaps;
            let read = move || match &self.runtime {
                Some(runtime) => runtime.block_on(self.read(needs, out, gaps, progress)),
                None => Told::default(),
            };
            let reading = scope.spawn(read);
            // Whoever still reads when nobody listens any more finds that out, and ends.
            let written = archive.drain(members);
            (reading.join(), written)
        });
        written?;
        let told = told.map_err(|_| io::Error::other("the reading ended in a fault"))?;
        let gaps = gaps.take();
        let end = json!({"gaps": gaps, "lists": told.lists});
        archive.add("plimsoll-capture-end.json", format!("{end:#}\n").as_bytes())?;
        let (files, size) = archive.written();
        let archive_names = archive.machines();
        archive.finish()?.flush()?;
        let names = self.names(told.cluster, archive_names);
        Ok(Account { gaps, files, size, requests: told.requests, names })
    }

    /// All that is known of names, from wherever it was read.
    fn names(&self, seen: ClusterSeen, machines: BTreeSet<String>) -> Names {
        let bare = |host: &str| host.trim_matches(['[', ']']).to_string();
        let host = |url: &str| url.parse::<http::Uri>().ok()?.host().map(bare);
        let mut names = seen.names;
        names.hosts.extend(machines);
        let of_hosts = seen.hosts.iter().map(|host| &host.address);
        let given = self.request.bmcs.iter().map(|target| &target.address);
        names.hosts.extend(of_hosts.chain(given).filter_map(|address| host(address)));
        for node in &self.request.nodes {
            if let Node::Ssh { destination } = node {
                names.hosts.extend(destination.rsplit('@').next().map(str::to_string));
            }
        }
        let endpoints = self.request.cluster.iter().flat_map(|vantage| &vantage.endpoints);
        names.hosts.extend(endpoints.filter_map(|endpoint| Some(bare(&place(endpoint)?.0))));
        let server = self.connection.as_ref().and_then(|connection| connection.server.clone());
        let servers = host(&seen.api_url).into_iter().chain(server.map(|(host, _)| host));
        for server in servers {
            names.domains.extend(probes::domain_of(&server));
            names.hosts.insert(server);
        }
        names
    }

    async fn read(&self, needs: &Needs, out: Out, gaps: &Gaps, progress: &dyn Progress) -> Told {
        if let Some(unusable) = &self.unusable {
            gaps.add("the API", &unusable.0);
        }
        let told = self.read_api(needs, &out, gaps, progress).await;
        let mut nodes = self.request.nodes.clone();
        if let Some(user) = &self.request.all_nodes_as {
            nodes.extend(
                told.nodes
                    .iter()
                    .map(|node| Node::Ssh { destination: format!("{user}@{}", node.address) }),
            );
            if told.nodes.is_empty() {
                gaps.add("nodes over ssh", "the API named none; give each as ssh:HOST");
            }
        }
        let deadline = self.deadline;
        let reads = nodes.into_iter().map(|node| {
            let (out, gaps) = (out.clone(), gaps.clone());
            progress.say(&format!("node {}", node.name()));
            async move {
                tokio::task::spawn_blocking(move || node::read(&node, deadline, &out, &gaps)).await
            }
        });
        let nodes = futures::stream::iter(reads).buffer_unordered(NODES_AT_ONCE);
        let bmcs = self.read_bmcs(&told, &out, gaps, progress);
        let outside = self.outside(&told, gaps).await;
        let probes = self.probe(outside.as_ref(), &out, gaps, progress);
        futures::join!(nodes.collect::<Vec<_>>(), bmcs, probes);
        if let Some(outside) = &outside {
            let clock = self.request.clock;
            let clocks = probes::read_clocks(outside, out.time_servers(), clock, &out, progress);
            if tokio::time::timeout(self.deadline.left(), clocks).await.is_err() {
                gaps.add("probes of time servers", OVER);
            }
        }
        told
    }

    /// Its journals come from the node itself.
    fn is_read_inside(&self, name: &str, address: &str) -> bool {
        let is_it = |node: &Node| match node {
            Node::Here { .. } => node.host_name().as_deref() == Some(name),
            Node::Ssh { destination } => {
                let host = destination.rsplit('@').next().unwrap_or_default();
                host == name || host == address
            }
        };
        self.request.all_nodes_as.is_some() || self.request.nodes.iter().any(is_it)
    }

    async fn read_bmcs(&self, told: &Told, out: &Out, gaps: &Gaps, progress: &dyn Progress) {
        let mut targets = self.request.bmcs.clone();
        let cluster = self.connection.as_ref().and_then(|connection| connection.cluster.as_ref());
        let hosts = &told.cluster.hosts;
        match cluster {
            Some(cluster) if self.request.bmcs_of_cluster && !hosts.is_empty() => {
                let limits = (self.request.patience, self.deadline);
                targets.extend(api::bmc_targets(cluster, limits, hosts, gaps).await);
            }
            _ if self.request.bmcs_of_cluster => {
                gaps.add("BMCs of the cluster", "the API named none; give them as bmc:FILE");
            }
            _ => {}
        }
        let limits = (self.request.patience, self.deadline);
        bmcs::read(&targets, limits, self.request.clock, out, gaps, progress).await;
    }

    /// What probes go by; nothing where none are wanted.
    async fn outside(&self, told: &Told, gaps: &Gaps) -> Option<Outside> {
        let connection = self.connection.as_ref().filter(|_| self.request.probes)?;
        let seen = &told.cluster;
        let mut bundles: Vec<(String, String)> = Vec::new();
        bundles.extend(connection.trusted.clone().map(|pem| ("kubeconfig".to_string(), pem)));
        if let Some(cluster) = connection.cluster.as_ref().filter(|_| !told.lost) {
            let limits = (self.request.patience, self.deadline);
            bundles.extend(api::authorities(cluster, limits, gaps).await);
        }
        for (name, pem) in &seen.bundles {
            if !bundles.iter().any(|(known, _)| known == name) {
                bundles.push((name.clone(), pem.clone()));
            }
        }
        let url: Option<http::Uri> = seen.api_url.parse().ok();
        let host = url.as_ref().and_then(http::Uri::host);
        let host = host.or(connection.server.as_ref().map(|(host, _)| host.as_str()));
        Some(Outside {
            domain: host.and_then(probes::domain_of),
            server: connection.server.clone(),
            api_vips: seen.api_vips.clone(),
            ingress_vips: seen.ingress_vips.clone(),
            nodes: told.nodes.clone(),
            here: self.request.nodes.iter().find_map(Node::host_name),
            bundles,
            time_servers: self.request.time_servers.clone(),
        })
    }

    async fn probe(
        &self,
        outside: Option<&Outside>,
        out: &Out,
        gaps: &Gaps,
        progress: &dyn Progress,
    ) {
        let Some(outside) = outside else { return };
        let probes = probes::read(outside, self.request.clock, out, progress);
        if tokio::time::timeout(self.deadline.left(), probes).await.is_err() {
            gaps.add("probes", OVER);
        }
    }

    async fn read_api(
        &self,
        needs: &Needs,
        out: &Out,
        gaps: &Gaps,
        progress: &dyn Progress,
    ) -> Told {
        let Some(connection) = &self.connection else { return Told::default() };
        let mut attempts = connection.attempts.clone();
        let told = match &connection.cluster {
            Some(cluster) => {
                let given = Given {
                    patience: self.request.patience,
                    deadline: self.deadline,
                    inside: &|name, address| self.is_read_inside(name, address),
                };
                let told = api::read(cluster, needs, given, out.clone(), gaps, progress).await;
                if told.lost {
                    let lost = "it answered first and was lost while it was read";
                    attempts.last_mut().into_iter().for_each(|last| last.why = Some(lost.into()));
                }
                told
            }
            None => Told::default(),
        };
        let tried = json!({"schema": "plimsoll.api/v1", "attempts": attempts});
        let _ = out.add("probes/api.json", format!("{tried:#}\n")).await;
        if let Some(attempt) = attempts.first().filter(|attempt| attempt.why.is_some()) {
            let why = attempt.why.as_deref().unwrap_or_default();
            gaps.add(format!("the API at {}", attempt.server), why);
        }
        told
    }

    /// The archive, to be read while it is made.
    pub fn stream(self, needs: Needs, progress: Box<dyn Progress>) -> Box<dyn Read + Send> {
        let (writer, reader) = pipe::pipe();
        std::thread::spawn(move || {
            let writer = io::BufWriter::with_capacity(64 << 10, writer);
            // A reader that went away needs no news of it; one that reads finds the end missing.
            let _ = self.write(&needs, &*progress, writer);
        });
        Box::new(reader)
    }
}
