//! Who does which step of a plan, and what makers read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use plimsoll_act::{
    Api, ApiTarget, ApproveTarget, BmcTarget, NodeTarget, Reads, Target, Targets, Trouble, World,
};
use plimsoll_live::{Node, Request};
use plimsoll_model::plan::{Action, Content, Object, Plan, Step, Target as Where, UnitVerb};
use plimsoll_model::{EntityId, FactBase, Time, Value as Fact};
use serde_json::Value;

use crate::files::read_limited;
use crate::fixing::world::Site;
use crate::live;

/// For the request of a kubelet that was just started.
const REQUEST_COMES: Duration = Duration::from_secs(300);

/// The cluster and its nodes, as makers read them.
pub struct Reader<'a> {
    api: Option<&'a Api>,
    nodes: BTreeMap<String, Node>,
}

impl<'a> Reader<'a> {
    /// Nodes of the plan, each by the way that was given to it.
    pub fn new(api: Option<&'a Api>, plan: &Plan, request: Option<&Request>, site: &Site) -> Self {
        let named: Vec<String> = plan.steps.iter().flat_map(nodes_of).collect();
        let mut nodes = BTreeMap::new();
        if let (Some(request), false) = (request, named.is_empty()) {
            let base = site.glance().unwrap_or_default();
            let given: Vec<Node> = request.nodes.iter().cloned().chain(site.roots()).collect();
            for name in named {
                if let Some(node) = way_to(&name, &given, request, &base) {
                    nodes.insert(name, node);
                }
            }
        }
        Self { api, nodes }
    }
}

fn nodes_of(step: &Step) -> Vec<String> {
    let mut names = Vec::new();
    if let Where::Node { name } = &step.target {
        names.push(name.clone());
    }
    let content = match &step.action {
        Action::Create { content } | Action::Fill { content } => Some(content),
        Action::WriteFile { content, .. } => Some(content),
        _ => None,
    };
    if let Some(Content::Maker { inputs, .. }) = content {
        names.extend(inputs["node"].as_str().map(str::to_string));
    }
    names
}

/// A node that was named, or one of all.
fn way_to(name: &str, given: &[Node], request: &Request, base: &FactBase) -> Option<Node> {
    let entity = base.entities.get(&EntityId::cluster_scoped("Node", name));
    let addresses: Vec<String> = entity
        .and_then(|node| node.facts.get("addresses"))
        .map(|all: &Fact| all.texts().map(str::to_string).collect())
        .unwrap_or_default();
    let is_it = |node: &&Node| match node {
        Node::Here { root } => {
            node.host_name().as_deref() == Some(name)
                // The mounted root of a machine that does not run tells its name in /etc/hostname.
                || root.file_name().is_some_and(|folder| folder == name)
        }
        Node::Ssh { destination } => {
            let host = destination.rsplit('@').next().unwrap_or_default();
            host == name || addresses.iter().any(|address| address == host)
        }
    };
    given.iter().find(is_it).cloned().or_else(|| {
        let user = request.all_nodes_as.as_ref()?;
        let host = addresses.first().map_or(name, String::as_str);
        Some(Node::Ssh { destination: format!("{user}@{host}") })
    })
}

impl Reads for Reader<'_> {
    fn object(&self, object: &Object) -> Result<Option<Value>, Trouble> {
        match self.api {
            Some(api) => api.get(object),
            None => Err(Trouble::Failed(format!("{}: no API is given", object.entity()))),
        }
    }

    fn file(&self, node: &str, path: &str) -> Result<Vec<u8>, Trouble> {
        plimsoll_act::read_file(self.way(node)?, path)
    }

    fn local(&self, path: &str) -> Result<Vec<u8>, Trouble> {
        const LARGEST: u64 = 1 << 20;
        read_limited(Path::new(path), LARGEST).map_err(|error| Trouble::Failed(error.to_string()))
    }

    fn now(&self) -> Time {
        live::clock()
    }
}

/// Nodes and BMCs of the plan that nobody gave a way to: told before the first step, not half-way.
pub fn without_a_way(plan: &Plan, reader: &Reader, request: Option<&Request>) -> Vec<String> {
    let mut missing = BTreeSet::new();
    for step in &plan.steps {
        let lost = |name: &String| !reader.nodes.contains_key(name);
        missing.extend(nodes_of(step).iter().filter(|name| lost(name)).map(|name| no_way_to(name)));
        let given = |host: &str| {
            request.is_some_and(|request| {
                request.bmcs_of_cluster || request.bmcs.iter().any(|bmc| bmc.name == host)
            })
        };
        if let Where::Bmc { host, .. } = &step.target
            && !given(host)
        {
            missing.insert(no_bmc_of(host));
        }
    }
    missing.into_iter().collect()
}

fn no_way_to(node: &str) -> String {
    format!("no way to {node} is given: add ssh:{node} or ssh:all")
}

fn no_bmc_of(host: &str) -> String {
    format!("no BMC of {host} is given: add bmc:FILE that names it, or bmc:cluster")
}

impl Reader<'_> {
    fn way(&self, node: &str) -> Result<&Node, Trouble> {
        self.nodes.get(node).ok_or_else(|| Trouble::Failed(no_way_to(node)))
    }
}

/// The targets of one session.
pub struct Hands<'a> {
    api: Option<ApiTarget<'a>>,
    approve: Option<ApproveTarget<'a>>,
    nodes: BTreeMap<String, NodeTarget<'a>>,
    bmcs: BTreeMap<String, BmcTarget>,
}

impl<'a> Hands<'a> {
    pub fn new(
        api: Option<&'a Api>,
        plan: &Plan,
        folder: &Path,
        request: Option<&Request>,
        reader: &'a Reader<'a>,
        poll: Duration,
    ) -> Result<Self, Trouble> {
        let session = plan.digest.clone();
        let repairing = (plan.root.entity.kind == "Node").then(|| plan.root.entity.name.clone());
        let starts_it = plan.steps.iter().any(|step| {
            let is_kubelet = matches!(&step.action, Action::Unit { unit, verb }
                if unit == "kubelet" && matches!(verb, UnitVerb::Start | UnitVerb::Restart));
            let of_root = matches!(&step.target, Where::Node { name }
                if repairing.as_ref() == Some(name));
            is_kubelet && of_root
        });
        let approve = api.map(|api| ApproveTarget {
            api,
            clock: live::clock,
            repairing,
            starts_it,
            since: plan.made_for,
            patience: REQUEST_COMES,
            poll,
        });
        let kept = folder.join("kept");
        let short: String = session.chars().take(12).collect();
        let api = api.map(|api| ApiTarget { api, kept, session, reads: reader });
        let node = |(name, node): (&String, &Node)| {
            Ok((name.clone(), NodeTarget::new(name, node.clone(), &short, reader)?))
        };
        let named = request.iter().flat_map(|request| &request.bmcs).cloned();
        let mut known: Vec<plimsoll_bmc::Target> = named.collect();
        if let (Some(request), Some(api)) = (request, api.as_ref())
            && request.bmcs_of_cluster
        {
            for (host, _) in bmcs_of(plan) {
                if known.iter().all(|target| target.name != host) {
                    known.extend(plimsoll_act::bmc_of_cluster(api.api, host)?);
                }
            }
        }
        let bmc = |target: &plimsoll_bmc::Target| {
            let patience = plimsoll_bmc::Patience::default();
            let name = target.name.clone();
            let own = BmcTarget::new(&name, target.clone(), patience, live::clock);
            let of_host = bmcs_of(plan).filter(|(host, _)| *host == name);
            let serial = of_host.filter_map(|(_, serial)| serial).next();
            (name, serial.into_iter().fold(own, BmcTarget::expecting))
        };
        Ok(Self {
            api,
            approve,
            nodes: reader.nodes.iter().map(node).collect::<Result<_, Trouble>>()?,
            bmcs: known.iter().map(bmc).collect(),
        })
    }
}

/// Hosts whose BMC the plan needs, with the serial number that it knows them by.
fn bmcs_of(plan: &Plan) -> impl Iterator<Item = (&str, Option<&str>)> {
    plan.steps.iter().filter_map(|step| match &step.target {
        Where::Bmc { host, serial } => Some((host.as_str(), serial.as_deref())),
        _ => None,
    })
}

impl Targets for Hands<'_> {
    fn of(&self, step: &Step) -> Result<&dyn Target, Trouble> {
        let missing = |what: String| Trouble::Failed(what);
        let no_api = || missing("no live cluster is given: add kube:CONTEXT".into());
        if matches!(step.action, Action::Approve { .. }) {
            let target = self.approve.as_ref().map(|target| target as &dyn Target);
            return target.ok_or_else(no_api);
        }
        match &step.target {
            Where::Api(_) => {
                self.api.as_ref().map(|target| target as &dyn Target).ok_or_else(no_api)
            }
            Where::Node { name } => {
                let found = self.nodes.get(name).map(|target| target as &dyn Target);
                found.ok_or_else(|| missing(no_way_to(name)))
            }
            Where::Bmc { host, .. } => {
                let found = self.bmcs.get(host).map(|target| target as &dyn Target);
                found.ok_or_else(|| missing(no_bmc_of(host)))
            }
            Where::Nothing => Err(missing("nobody is there to do it".into())),
        }
    }
}
