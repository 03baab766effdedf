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
mod tail;

use std::collections::BTreeSet;
use std::io::{self, Write};

use futures::{FutureExt, StreamExt};

use plimsoll_bmc::Target;
use plimsoll_disguise::Names;
use plimsoll_model::Time;
use plimsoll_model::capture::{Attempt, Missing};
use plimsoll_model::snapshot::Needs;
use serde_json::json;

use crate::api::{ClusterSeen, Connection, Deadline, Ended, Reading, Told};
use crate::archive::{Archive, HEAD, Out};
use crate::bmcs::{Bmcs, Files};
use crate::gaps::Gaps;
use crate::node::{Inside, Whom};
use crate::probes::{NodeAt, Outside};

pub use api::{Patience, Proxies, Unusable, Vantage, client, manifests, place};
pub use disguised::write_disguised;
pub use node::{Node, Output as NodeOutput, Unanswered};
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
    /// Nodes whose journals are read however well they look: somebody wants to see that what stood there is
    /// over.
    pub watched: BTreeSet<String>,
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

#[derive(Default)]
struct Read {
    cluster: ClusterSeen,
    ended: Ended,
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
                match runtime.block_on(api::connect(
                    wish,
                    request.patience,
                    deadline,
                    api::Purpose::Read,
                )) {
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
        let (read, written) = std::thread::scope(|scope| {
            let gaps = &gaps;
            let read = move || match &self.runtime {
                Some(runtime) => runtime.block_on(self.read(needs, out, gaps, progress)),
                None => Read::default(),
            };
            let reading = scope.spawn(read);
            // Whoever still reads when nobody listens any more finds that out, and ends.
            let written = archive.drain(members);
            (reading.join(), written)
        });
        written?;
        let read = read.map_err(|_| io::Error::other("the reading ended in a fault"))?;
        let gaps = gaps.take();
        let end = json!({"gaps": gaps, "lists": read.ended.lists});
        archive.add("plimsoll-capture-end.json", format!("{end:#}\n").as_bytes())?;
        let (files, size) = archive.written();
        let archive_names = archive.machines();
        archive.finish()?.flush()?;
        let names = self.names(read.cluster, archive_names);
        Ok(Account { gaps, files, size, requests: read.ended.requests, names })
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
        let proxy = self.connection.as_ref().and_then(|connection| connection.proxy.as_deref());
        names.hosts.extend(proxy.map(bare));
        let server = self.connection.as_ref().and_then(|connection| connection.server.clone());
        let servers = host(&seen.api_url).into_iter().chain(server.map(|(host, _)| host));
        for server in servers {
            names.domains.extend(probes::domain_of(&server));
            names.hosts.insert(server);
        }
        names
    }

    /// What was named is read beside the API, which may be half dead and eat all the time.
    async fn read(&self, needs: &Needs, out: Out, gaps: &Gaps, progress: &dyn Progress) -> Read {
        if let Some(unusable) = &self.unusable {
            gaps.add("the API", &unusable.0);
        }
        let inside = Inside::default();
        let named = self.request.nodes.iter().cloned();
        let named = named.map(|node| Whom { node, known_as: None }).collect();
        let nodes = self.read_nodes(named, (&out, gaps, &inside), progress).boxed_local().shared();
        let limits = (self.request.patience, self.deadline);
        let bmcs = Bmcs {
            limits,
            clock: self.request.clock,
            out: &out,
            gaps,
            progress,
            files: Files::default(),
        };
        let api = async {
            let cluster = self.connection.as_ref().and_then(|found| found.cluster.as_ref());
            let reading =
                cluster.map(|cluster| Reading::new(cluster, limits, needs, out.clone(), gaps));
            let told = match &reading {
                Some(reading) => reading.objects_and_logs(progress).await,
                None => Told::default(),
            };
            let all = self.all_nodes(&told, gaps);
            let all = self.read_nodes(all, (&out, gaps, &inside), progress);
            let journals = async {
                futures::join!(nodes.clone(), all);
                if let Some(reading) = &reading {
                    let watched = &self.request.watched;
                    reading.journals(&told, &inside, watched, progress).await;
                }
            };
            let of_cluster = async {
                let targets = self.bmcs_of_cluster(reading.as_ref(), &told, gaps).await;
                bmcs.read(&targets).await
            };
            let lost = reading.as_ref().is_some_and(Reading::is_lost);
            let outside = self.outside(&told, lost, gaps).await;
            let probes = self.probe(outside.as_ref(), &out, gaps, progress);
            let ((), of_cluster, ()) = futures::join!(journals, of_cluster, probes);
            self.probe_clocks(outside.as_ref(), (&out, gaps, &inside), progress).await;
            let ended = reading.map(Reading::end).unwrap_or_default();
            self.tell_ways(&ended, &out, gaps).await;
            (told, ended, of_cluster)
        };
        let named = bmcs.read(&self.request.bmcs);
        let ((told, ended, of_cluster), (), mut read) = futures::join!(api, nodes.clone(), named);
        read.extend(of_cluster);
        bmcs.compare(read).await;
        Read { cluster: told.cluster, ended }
    }

    async fn read_nodes(
        &self,
        nodes: Vec<Whom>,
        (out, gaps, inside): (&Out, &Gaps, &Inside),
        progress: &dyn Progress,
    ) {
        let deadline = self.deadline;
        let reads = nodes.into_iter().map(|whom| {
            let (out, gaps, inside) = (out.clone(), gaps.clone(), inside.clone());
            async move {
                progress.say(&format!("node {}", whom.node.name()));
                let read = move || node::read(&whom, deadline, &out, &gaps, &inside);
                tokio::task::spawn_blocking(read).await
            }
        });
        futures::stream::iter(reads)
            .buffer_unordered(NODES_AT_ONCE)
            .for_each(|_| std::future::ready(()))
            .await;
    }

    /// Every node that the API names, but for those that are read anyway.
    fn all_nodes(&self, told: &Told, gaps: &Gaps) -> Vec<Whom> {
        let Some(user) = &self.request.all_nodes_as else { return Vec::new() };
        if told.nodes.is_empty() {
            gaps.add("nodes over ssh", "the API named none; give each as ssh:HOST");
        }
        let is_named = |at: &NodeAt| {
            self.request.nodes.iter().any(|node| {
                let host = node.host();
                host == Some(&at.name)
                    || host == Some(&at.address)
                    || node.host_name().as_ref() == Some(&at.name)
            })
        };
        let others = told.nodes.iter().filter(|at| !is_named(at));
        let whom = |at: &NodeAt| Whom {
            node: Node::Ssh { destination: format!("{user}@{}", at.address) },
            known_as: Some(at.name.clone()),
        };
        others.map(whom).collect()
    }

    async fn bmcs_of_cluster(
        &self,
        reading: Option<&Reading<'_>>,
        told: &Told,
        gaps: &Gaps,
    ) -> Vec<Target> {
        let hosts = &told.cluster.hosts;
        match reading {
            _ if !self.request.bmcs_of_cluster => Vec::new(),
            Some(reading) if !hosts.is_empty() => reading.bmc_targets(hosts).await,
            _ => {
                gaps.add("BMCs of the cluster", "the API named none; give them as bmc:FILE");
                Vec::new()
            }
        }
    }

    /// Of the time servers that the nodes name, which are known when those are read.
    async fn probe_clocks(
        &self,
        outside: Option<&Outside>,
        (out, gaps, inside): (&Out, &Gaps, &Inside),
        progress: &dyn Progress,
    ) {
        let Some(outside) = outside else { return };
        let clock = self.request.clock;
        let clocks = probes::read_clocks(outside, inside.time_servers(), clock, out, progress);
        if tokio::time::timeout(self.deadline.left(), clocks).await.is_err() {
            gaps.add("probes of time servers", OVER);
        }
    }

    /// What probes go by; nothing where none are wanted.
    async fn outside(&self, told: &Told, lost: bool, gaps: &Gaps) -> Option<Outside> {
        let connection = self.connection.as_ref().filter(|_| self.request.probes)?;
        let seen = &told.cluster;
        let mut bundles: Vec<(String, String)> = Vec::new();
        bundles.extend(connection.trusted.clone().map(|pem| ("kubeconfig".to_string(), pem)));
        if let Some(cluster) = connection.cluster.as_ref().filter(|_| !lost) {
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

    /// Which ways to the API were tried, and what became of the one that was taken.
    async fn tell_ways(&self, ended: &Ended, out: &Out, gaps: &Gaps) {
        let Some(connection) = &self.connection else { return };
        let mut attempts = connection.attempts.clone();
        if ended.lost {
            let lost = "it answered first and was lost while it was read";
            attempts.last_mut().into_iter().for_each(|last| last.why = Some(lost.into()));
        }
        let tried = json!({"schema": "plimsoll.api/v1", "attempts": attempts});
        let _ = out.add("probes/api.json", format!("{tried:#}\n")).await;
        if let Some(attempt) = attempts.first().filter(|attempt| attempt.why.is_some()) {
            let why = attempt.why.as_deref().unwrap_or_default();
            gaps.add(format!("the API at {}", attempt.server), why);
        }
    }

    /// The archive, to be read while it is made.
    pub fn stream(self, needs: Needs, progress: Box<dyn Progress>) -> Box<dyn io::Read + Send> {
        let (writer, reader) = pipe::pipe();
        std::thread::spawn(move || {
            let writer = io::BufWriter::with_capacity(64 << 10, writer);
            // A reader that went away needs no news of it; one that reads finds the end missing.
            let _ = self.write(&needs, &*progress, writer);
        });
        Box::new(reader)
    }
}
