//! The one API server of all trials. They take turns: each has its own objects in it.

use std::io::Read;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libtest_mimic::{Failed, Trial};
use plimsoll_lab::Tree;
use plimsoll_live::{Live, Patience, Request, Silent, Vantage};
use plimsoll_model::{Diagnosis, Needs, Time};
use plimsoll_rig::{ApiServer, Objects};
use plimsoll_sources::{Given, NoProgress};
use tempfile::TempDir;

use crate::support::{NEEDS, PACK, READER};

/// Resources that the packs read and whose definitions are not among the recorded ones.
const PLAIN: [(&str, &str, &str, &str, &str); 4] = [
    ("metal3.io", "v1alpha1", "preprovisioningimages", "PreprovisioningImage", "Namespaced"),
    ("machine.openshift.io", "v1beta1", "machinehealthchecks", "MachineHealthCheck", "Namespaced"),
    ("operator.openshift.io", "v1", "openshiftapiservers", "OpenShiftAPIServer", "Cluster"),
    ("operator.openshift.io", "v1", "openshiftcontrollermanagers", "OpenShiftControllerManager", "Cluster"),
];

pub struct Cluster {
    pub server: ApiServer,
    pub folder: TempDir,
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
        server.define(&definitions()).unwrap();
        *cluster = Some(Cluster { server, folder });
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

fn definitions() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/crds");
    let mut files: Vec<_> =
        fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let recorded = files.iter().filter(|file| file.extension().is_some_and(|end| end == "yaml"));
    let recorded = recorded.map(|file| fs_err::read_to_string(file).unwrap());
    let plain = PLAIN.iter().map(|(group, version, plural, kind, scope)| {
        let singular = kind.to_lowercase();
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.{group}\n  annotations: {{api-approved.kubernetes.io: unapproved}}\nspec:\n  group: {group}\n  names: {{kind: {kind}, listKind: {kind}List, plural: {plural}, singular: {singular}}}\n  scope: {scope}\n  versions:\n  - name: {version}\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
        )
    });
    recorded.chain(plain).collect()
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
        probes: false,
        patience: Patience::default(),
        now,
    }
}

pub fn live(vantage: Vantage) -> (Live, Needs) {
    let now = "2025-12-03T18:42:00Z".parse().unwrap();
    (Live::open(request(vantage, now)).unwrap(), NEEDS.clone())
}

/// The diagnosis of what is live, and the archive that it was made of.
pub fn diagnose_live(request: Request, needs: &Needs) -> (Diagnosis, Vec<u8>) {
    let live = Live::open(request).unwrap();
    let name = live.name().to_string();
    let mut archive = Vec::new();
    live.stream(needs.clone(), Box::new(Silent), |_| ()).read_to_end(&mut archive).unwrap();
    let stream = Box::new(std::io::Cursor::new(archive.clone()));
    let given = vec![Given::Stream { name, stream }];
    let snapshot = READER.read(given, &NoProgress).unwrap();
    (plimsoll_engine::diagnose(&PACK, &snapshot), archive)
}

pub fn trial(
    name: impl Into<String>,
    shared: &Shared,
    run: impl FnOnce(Turn) -> Result<(), String> + Send + 'static,
) -> Trial {
    let shared = shared.clone();
    Trial::test(name, move || run(turn(&shared)).map_err(Failed::from))
}
