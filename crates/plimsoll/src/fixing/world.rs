//! The cluster as it is now, read as `diagnose` reads it.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use plimsoll_act::{Api, Look, World};
use plimsoll_engine::{Memory, Pack, Suppression};
use plimsoll_live::{Live, Node, Request, Silent};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::plan::{Plan, Target};
use plimsoll_model::{Diagnosis, FactBase, Needs, Snapshot};
use plimsoll_repair::Observed;
use plimsoll_sources::{Given, NoProgress};

use crate::args::{Fix, Reach};
use crate::exit::Failure;
use crate::live::{self, Sorted};

pub struct Site {
    pub pack: Pack,
    needs: Needs,
    suppressions: Vec<Suppression>,
    /// How far an unnamed step may reach while nobody is there.
    pub unattended: u8,
    /// Before every step all is looked at again, and most of it is as it was.
    memory: Memory,
    pub sources: Vec<PathBuf>,
    reach: Reach,
    now: Option<jiff::Timestamp>,
    /// The node that is repaired, if its journals told of it.
    watched: OnceLock<String>,
}

impl Site {
    pub fn new(args: &Fix, sources: Vec<PathBuf>) -> Result<Self, Failure> {
        let pack = crate::knowledge::load(&args.pack)?;
        let needs = Needs { now: args.now, ..plimsoll_engine::needs(&pack) };
        let config = crate::config::read(args.config.as_deref())?;
        let (suppressions, unattended) = (config.accepted, config.unattended);
        let reach = args.reach.clone();
        let memory = Memory::default();
        let (now, watched) = (args.now, OnceLock::new());
        Ok(Self { pack, needs, suppressions, unattended, memory, sources, reach, now, watched })
    }

    /// From here on the journals that told of the root are read on.
    pub fn watch(&self, plan: &Plan) {
        let root = &plan.root.entity;
        if live::told_by_journals(root, &plan.reason.evidence) {
            let _ = self.watched.set(root.name.clone());
        }
    }

    fn sorted(&self) -> Result<Sorted, Failure> {
        live::sorted(&self.sources, &self.reach, self.now)
    }

    /// What is live of the sources.
    pub fn request(&self) -> Result<Option<Request>, Failure> {
        Ok(self.sorted()?.live)
    }

    /// Roots of machines that do not run: read like an archive, and worked in like a node.
    pub fn roots(&self) -> Vec<Node> {
        let root = |source: &PathBuf| {
            let root = Path::new(source.to_str()?.strip_prefix("node:")?);
            (!Node::is_running(root)).then(|| Node::Here { root: root.into() })
        };
        self.sources.iter().filter_map(root).collect()
    }

    fn read(&self, needs: &Needs, only_api: bool) -> Result<Snapshot, Failure> {
        let Sorted { paths, live } = self.sorted()?;
        let mut given: Vec<Given> = paths.into_iter().map(Given::Path).collect();
        if let Some(mut request) = live {
            request.watched = self.watched.get().cloned().into_iter().collect();
            if only_api && request.cluster.is_some() {
                // Nodes that were named are few, and guards ask what is on their disks.
                request.all_nodes_as = None;
                request.bmcs.clear();
                request.bmcs_of_cluster = false;
                request.probes = false;
            }
            let live = live::open(request, &Silent)?;
            let name = live.name().to_string();
            given.push(Given::Stream {
                name,
                stream: Live::stream(live, needs.clone(), Box::new(Silent)),
            });
        }
        plimsoll_sources::read_given(given, needs, &NoProgress)
            .map_err(|error| Failure::Unreadable(error.to_string()))
    }

    /// Facts and diagnosis of everything.
    pub fn examine(&self) -> Result<(FactBase, Diagnosis), Failure> {
        let snapshot = self.read(&self.needs, false)?;
        Ok(plimsoll_engine::examine(&self.pack, &snapshot, &self.suppressions, Some(&self.memory)))
    }

    /// The API for those who change something; `None` where no live cluster is among the sources.
    pub fn connect(&self) -> Result<Option<Api>, Failure> {
        let Some(request) = self.request()? else { return Ok(None) };
        let Some(vantage) = request.cluster else { return Ok(None) };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Failure::Internal(error.into()))?;
        let client = runtime.block_on(plimsoll_live::client(&vantage, request.patience));
        let client = client.map_err(|error| Failure::Unreadable(error.to_string()))?;
        let patience = request.patience.request.max(Duration::from_secs(1));
        Ok(Some(Api::new(runtime, client, patience)))
    }
}

impl World for Site {
    fn look(&self) -> Result<Look, String> {
        let (base, diagnosis) = self.examine().map_err(|failure| failure.to_string())?;
        Ok(Look { base, diagnosis })
    }

    fn would_show(&self, base: &FactBase, state: &StateRef) -> bool {
        plimsoll_repair::would_show(&self.pack, base, state)
    }

    fn drawn_again(&self, look: &Look, plan: &Plan) -> Option<Plan> {
        let Look { base, diagnosis } = look;
        let root = diagnosis.roots.iter().find(|root| root.state() == plan.root)?;
        let (pack, answers) = (&self.pack, &plan.answers);
        let drawn = match plan.break_glass_minutes {
            Some(_) => plimsoll_repair::draft_break_glass(pack, base, diagnosis, root, answers),
            None => {
                plimsoll_repair::draft_named(pack, base, diagnosis, root, answers, &plan.repair)
            }
        };
        let (drawn, api) = (drawn.ok()?, self.connect().ok()??);
        let observed = observe(&api, &drawn);
        Some(plimsoll_repair::exact(drawn, &observed))
    }

    fn glance(&self) -> Result<FactBase, String> {
        let needs = Needs { signatures: Vec::new(), ..self.needs.clone() };
        let snapshot = self.read(&needs, true).map_err(|failure| failure.to_string())?;
        Ok(plimsoll_engine::facts::extract(&self.pack, &snapshot, Some(&self.memory)).0)
    }
}

/// Objects of the plan as they are. What cannot be read is missing, and becomes a hindrance.
pub fn observe(api: &Api, plan: &Plan) -> Observed {
    let mut observed = Observed::new();
    for step in &plan.steps {
        if let Target::Api(object) = &step.target
            && let Ok(found) = api.get(object)
        {
            observed.insert(object.entity(), found);
        }
    }
    observed
}
