//! Reads a cluster through its API, with reading verbs only, and hands over files as a must-gather
//! would hold them. What cannot be read is a gap; one refusal does not stop the rest.

mod ask;
mod authorities;
mod cluster_seen;
mod config;
mod definitions;
mod discovery;
mod health;
mod journals;
mod lists;
mod logs;
mod plan;
mod proxy;
mod rbac;
mod shape;
mod vantage;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::{StreamExt, TryStreamExt};
use plimsoll_bmc::{HostBmc, Target};
use plimsoll_model::snapshot::Needs;
use serde_json::Value;

pub use ask::{Deadline, Patience};
pub use authorities::authorities;
pub use proxy::Proxies;
pub use rbac::manifests;
pub use vantage::{Cluster, Connection, Purpose, Unusable, Vantage, client, connect, place};

use crate::Progress;
use crate::archive::Out;
use crate::gaps::Gaps;
use crate::node::Inside;
use crate::probes::NodeAt;
use ask::{Asker, Log};
pub use cluster_seen::ClusterSeen;
use health::Health;
use logs::PodSeen;
use plan::Want;
use words::Trouble;

const LISTS_AT_ONCE: usize = 4;
/// Where the installer puts BareMetalHosts. The role that `capture --rbac` prints is for those.
const HOSTS: &str = "openshift-machine-api";
const LOGS_AT_ONCE: usize = 8;

/// What the API told, for those who read on from there.
#[derive(Default)]
pub struct Told {
    pub nodes: Vec<NodeAt>,
    pub cluster: ClusterSeen,
    health: Health,
}

/// What became of a reading.
#[derive(Default)]
pub struct Ended {
    /// `GROUP/PLURAL` of what was listed everywhere and to the end.
    pub lists: BTreeSet<String>,
    /// The API was lost while it was read.
    pub lost: bool,
    pub requests: u64,
}

/// Node, status and reason of a log that could not be read.
type Unread = (String, Option<u16>, String);

pub struct Reading<'r> {
    asker: Asker,
    needs: &'r Needs,
    out: Out,
    gaps: &'r Gaps,
    pods: Mutex<Vec<PodSeen>>,
    health: Mutex<Health>,
    cluster: Mutex<ClusterSeen>,
    lists: Mutex<BTreeSet<String>>,
    /// Logs that could not be read, by their node and the reason.
    unread: Mutex<BTreeMap<Unread, usize>>,
    /// Namespaces whose logs may not be read.
    refused: Mutex<BTreeSet<String>>,
    /// Nodes whose kubelets do not answer, and how that showed: they are asked once.
    silent: Mutex<BTreeMap<String, Trouble>>,
}

impl<'r> Reading<'r> {
    pub fn new(
        cluster: &Cluster,
        (patience, deadline): (Patience, Deadline),
        needs: &'r Needs,
        out: Out,
        gaps: &'r Gaps,
    ) -> Self {
        Self {
            asker: Asker::new(cluster.client.clone(), patience, deadline),
            needs,
            out,
            gaps,
            pods: Mutex::default(),
            health: Mutex::default(),
            cluster: Mutex::default(),
            lists: Mutex::default(),
            unread: Mutex::default(),
            refused: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    /// Objects first; then the logs of what does not look well, and of all that there is few of.
    pub async fn objects_and_logs(&self, progress: &dyn Progress) -> Told {
        let wants = plan::plan(self.needs);
        progress.say("what the cluster offers");
        let offers = discovery::offers(&self.asker, &wants, self.gaps).await;
        // Who listens no more is found out by the lists.
        let _ = definitions::write(&offers, &self.out).await;
        let offered = wants.iter().filter_map(|want| {
            Some((want, offers.get(&(want.group.clone(), want.plural.clone()))?))
        });
        let lists = offered.map(|(want, offer)| async {
            progress.say(&want.title());
            lists::read(self, want, offer).await;
        });
        futures::stream::iter(lists).buffer_unordered(LISTS_AT_ONCE).collect::<()>().await;
        let pods = std::mem::take(&mut *lock(&self.pods));
        let health = std::mem::take(&mut *lock(&self.health));
        let logs = logs::wanted(self.needs, &pods, &health);
        let reads = logs.iter().map(|log| async {
            progress.say(&format!("log of {}/{}", log.namespace, log.pod));
            logs::read(self, log).await
        });
        // Who listens no more wants no more.
        let _ = futures::stream::iter(reads)
            .buffer_unordered(LOGS_AT_ONCE)
            .try_for_each(|()| std::future::ready(Ok(())))
            .await;
        self.tell_unread_logs();
        let nodes = health.nodes.iter().filter(|(_, node)| !node.address.is_empty());
        let nodes = nodes.map(|(name, node)| NodeAt {
            name: name.clone(),
            address: node.address.clone(),
            full_name: node.full_name.clone(),
            control_plane: node.control_plane,
        });
        let nodes = nodes.collect();
        let cluster = std::mem::take(&mut *lock(&self.cluster));
        Told { nodes, cluster, health }
    }

    /// Those that were not read on the nodes themselves.
    pub async fn journals(
        &self,
        told: &Told,
        inside: &Inside,
        watched: &BTreeSet<String>,
        progress: &dyn Progress,
    ) {
        journals::read(self, (&told.health, watched), inside, progress).await;
    }

    pub fn is_lost(&self) -> bool {
        self.asker.is_lost()
    }

    pub fn end(self) -> Ended {
        Ended {
            lists: self.lists.into_inner().unwrap_or_else(PoisonError::into_inner),
            lost: self.asker.is_lost(),
            requests: self.asker.requests.into_inner(),
        }
    }

    fn tell_unread_logs(&self) {
        let refused = std::mem::take(&mut *lock(&self.refused));
        if let Some(first) = refused.first() {
            let place = match refused.len() {
                1 => first.clone(),
                all => format!("{first} and {} more namespaces", all - 1),
            };
            self.gaps.add(format!("logs of pods in {place}"), words::NO_LOGS);
        }
        for ((node, status, why), count) in std::mem::take(&mut *lock(&self.unread)) {
            let what =
                if count == 1 { "1 log of a pod".into() } else { format!("{count} logs of pods") };
            match status {
                // The pod went while it was read, or its node did long ago.
                Some(404) => self.gaps.note(format!("{what} on {node}"), &why),
                _ => self.gaps.add(format!("{what} on {node}"), &why),
            }
        }
    }

    /// The targets behind BareMetalHosts. Credentials are read for this and kept nowhere.
    pub async fn bmc_targets(&self, hosts: &[HostBmc]) -> Vec<Target> {
        let mut targets = Vec::new();
        for host in hosts {
            let HostBmc { name, namespace, .. } = host;
            let secret = self.bmc_secret(host).await;
            let alike = hosts.iter().filter(|other| other.name == *name).count();
            let name = if alike > 1 { format!("{namespace}/{name}") } else { name.clone() };
            targets.push(Target { name, ..host.target(secret.as_ref()) });
        }
        targets
    }

    async fn bmc_secret(&self, host: &HostBmc) -> Option<Value> {
        let HostBmc { name, namespace, credentials, .. } = host;
        let what = format!("secret {credentials} of the BMC of {name}");
        if credentials.is_empty() {
            // Its path would be that of all secrets of the namespace.
            self.gaps.note(format!("credentials of the BMC of {name}"), "the host names no secret");
            return None;
        }
        if self.asker.is_lost() {
            self.gaps.add(what, "the API was lost before it was read");
            return None;
        }
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{credentials}");
        let why = match self.asker.json::<Value>(&path, "application/json").await {
            Ok(secret) => return Some(secret),
            Err(trouble) if trouble.status == Some(403) && namespace != HOSTS => {
                format!("no permission: grant 'get' of secrets in {namespace}")
            }
            Err(trouble) => trouble.why,
        };
        self.gaps.add(what, &why);
        None
    }

    /// Notes that all of a resource was listed.
    fn listed(&self, want: &Want) {
        lock(&self.lists).insert(format!("{}/{}", want.group, want.plural));
    }

    fn silent(&self, node: &str) -> Option<Trouble> {
        lock(&self.silent).get(node).cloned()
    }

    /// Nothing came of it, or the API server says that it does not reach its port.
    fn notice_silence(&self, node: &str, trouble: &Trouble) {
        if trouble.silent || (trouble.passing && trouble.why.contains(":10250")) {
            lock(&self.silent).entry(node.into()).or_insert_with(|| trouble.clone());
        }
    }

    /// One right lacks, in however many namespaces: it is told once.
    fn refused_log(&self, namespace: &str) {
        lock(&self.refused).insert(namespace.into());
    }

    fn unread_log(&self, node: &str, trouble: Trouble) {
        self.notice_silence(node, &trouble);
        let key = (node.into(), trouble.status, trouble.why);
        *lock(&self.unread).entry(key).or_default() += 1;
    }

    fn tell_missing_part(&self, what: &str, log: &Log) {
        if log.cut {
            let why = "it is too long: only its newest part is kept";
            self.gaps.note(format!("the beginning of {what}"), why);
        }
        if let Some(trouble) = &log.trouble {
            // Its kubelet answered: the next log of it may be well.
            self.gaps.add(format!("the end of {what}"), &trouble.why);
        }
    }

    /// Remembers whose logs may be worth reading.
    fn notice(&self, want: &Want, item: &Value) {
        if want.group == "core" && want.plural == "pods" {
            let pod = PodSeen::of(item);
            if let Some(pod) = &pod {
                lock(&self.health).pod(pod);
            }
            lock(&self.pods).extend(pod);
        }
        lock(&self.health).object(&want.group, &want.plural, item);
        lock(&self.cluster).object(&want.group, &want.plural, item);
    }
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_string()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
