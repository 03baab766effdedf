//! The one API server of all trials. They take turns: each has its own objects in it.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libtest_mimic::{Failed, Trial};
use plimsoll_lab::Tree;
use plimsoll_live::{Live, Patience, Request, Silent, Vantage};
use plimsoll_model::{Diagnosis, Needs, Time};
use plimsoll_rig::{ApiServer, Objects, RealKubelet, definitions};
use plimsoll_sources::{Given, NoProgress};
use tempfile::TempDir;

use crate::support::{NEEDS, PACK, READER};

pub struct Cluster {
    pub server: ApiServer,
    _folder: TempDir,
}

pub type Shared = Arc<Mutex<Option<Cluster>>>;

pub struct Turn<'t>(MutexGuard<'t, Option<Cluster>>);

pub fn shared() -> Shared {
    Arc::default()
}

/// Starts the server with the first one who asks.
pub fn turn(shared: &Shared) -> Turn<'_> {
    let mut cluster = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if cluster.is_none() {
        let folder = TempDir::new().unwrap();
        let server = ApiServer::start(folder.path()).unwrap();
        server.define(&definitions().unwrap()).unwrap();
        *cluster = Some(Cluster { server, _folder: folder });
    }
    Turn(cluster)
}

impl std::ops::Deref for Turn<'_> {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.0.as_ref().unwrap()
    }
}

impl std::ops::DerefMut for Turn<'_> {
    fn deref_mut(&mut self) -> &mut Cluster {
        self.0.as_mut().unwrap()
    }
}

impl Cluster {
    pub fn load(&self, tree: &Tree) {
        let objects = Objects::of_gather(tree, &NEEDS).unwrap();
        self.server.load(objects).unwrap();
    }

    pub fn vantage(&self) -> Vantage {
        Vantage { kubeconfig: Some(self.server.admin().unwrap()), ..Vantage::default() }
    }
}

pub fn request(vantage: Vantage, now: Time) -> Request {
    Request {
        cluster: Some(vantage),
        nodes: Vec::new(),
        all_nodes_as: None,
        bmcs: Vec::new(),
        bmcs_of_cluster: false,
        watched: Default::default(),
        has_others: false,
        probes: false,
        time_servers: Vec::new(),
        patience: Patience::default(),
        now,
        clock: || Time::UNIX_EPOCH,
    }
}

pub fn live(vantage: Vantage) -> (Live, Needs) {
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    (Live::open(request(vantage, now), &Silent).unwrap(), NEEDS.clone())
}

/// The diagnosis of what is live, and the archive that it was made of.
pub fn diagnose_live(request: Request, needs: &Needs) -> (Diagnosis, Vec<u8>) {
    let live = Live::open(request, &Silent).unwrap();
    let name = live.name().to_string();
    let mut archive = Vec::new();
    live.stream(needs.clone(), Box::new(Silent)).read_to_end(&mut archive).unwrap();
    let stream = Box::new(std::io::Cursor::new(archive.clone()));
    let given = vec![Given::Stream { name, stream }];
    let snapshot = READER.read(given, &NoProgress).unwrap();
    (plimsoll_engine::diagnose(&PACK, &snapshot), archive)
}

/// Where `PLIMSOLL_HALF` is `1/2` or `2/2`, that half: trials take turns on one server, and two may run at once.
#[expect(clippy::disallowed_methods, reason = "who runs the tests says how")]
pub fn keep_half(trials: &mut Vec<Trial>) {
    let Ok(half) = std::env::var("PLIMSOLL_HALF") else { return };
    let mut turn = 0;
    trials.retain(|trial| {
        // There is one real kubelet at a time, and those take as long as a third of the others.
        let is_first = trial.name().contains("real-kubelet") || {
            turn += 1;
            turn % 3 == 0
        };
        is_first == (half == "1/2")
    });
}

/// A trial that starts a real kubelet, where one can run.
#[expect(clippy::print_stderr, reason = "what is not tried is told")]
pub fn on_a_real_kubelet(name: &str, run: fn()) -> Trial {
    let trial = Trial::test(name, move || {
        run();
        Ok::<(), Failed>(())
    });
    match RealKubelet::cannot_run() {
        Some(why) => {
            eprintln!("{name} is ignored: {why}");
            trial.with_ignored_flag(true)
        }
        None => trial,
    }
}

pub fn trial(
    name: impl Into<String>,
    shared: &Shared,
    run: impl FnOnce(Turn) -> Result<(), String> + Send + 'static,
) -> Trial {
    let shared = shared.clone();
    Trial::test(name, move || run(turn(&shared)).map_err(Failed::from))
}
