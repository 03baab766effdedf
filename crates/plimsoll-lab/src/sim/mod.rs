//! How a cluster reacts to what breaks: a small forward model, from cause to effect.
//!
//! A fault starts events; each event on an entity starts later ones, by mechanisms of Kubernetes and
//! of OpenShift's operators, with delays that they really have. What has happened by the time of the
//! gather is put into the tree as a must-gather would show it. The causes of the events are the truth
//! that a diagnosis is measured against. What is not here: the packs, the engine, any rule.

mod control_plane;
mod joins;
mod machine_config;
mod nodes;
mod operators;
mod script;
mod workloads;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use plimsoll_model::diagnosis::StateRef;
use plimsoll_model::entity::EntityId;

use crate::base::BaseParams;
use crate::dice::Dice;
use crate::edit::{self, Edit, EditError};
use crate::fault::{Bound, Break};
use crate::tree::Tree;
use operators::Complaint;
use script::Script;
use world::World;

/// Something that happens to one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The fault itself, under the name of a root.
    Fault(StateRef),
    KubeletSilent(String),
    /// The node controller gave up waiting for the kubelet.
    NodeUnknown(String),
    NoCni(String),
    /// The kubelet itself reports that it is not ready.
    NodeNotReady(String),
    /// A pod that the API shows as not ready, because its node does not speak.
    PodMarked(PodName),
    /// A pod that is being taken off a lost node.
    PodEvicted(PodName),
    PodCrashing(PodName),
    PodPulling(PodName, String),
    /// What would stand in for a lost pod finds no node.
    PodUnscheduled(PodName),
    /// What would stand in for a lost pod is seen by no scheduler.
    PodIgnored(PodName),
    PodWithoutNetwork(PodName),
    PodGone(PodName),
    MirrorGone(PodName),
    InstallerStuck {
        component: String,
        node: String,
    },
    MemberDown(String),
    EtcdSlow,
    ConfigStuck {
        node: String,
        reason: String,
    },
    PoolDegraded(String),
    Draining(String),
    HostNotJoined(String),
    MachineWaits(String),
    MasterMissing(String),
    Complains(Complaint),
    VersionFailing,
    InstallStalled,
    RequestNotIssued,
    WorkloadDown {
        namespace: String,
        name: String,
    },
    WorkloadMissing {
        namespace: String,
        name: String,
    },
    ControllersStopped,
    SchedulerStopped,
    IngressUnreachable(String),
    PullsFail {
        node: String,
        error: String,
    },
    MirrorPodsGone(String),
    StaticPodCrashing {
        component: String,
        node: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodName {
    pub namespace: String,
    pub name: String,
}

impl What {
    fn pod(&self) -> Option<&PodName> {
        match self {
            What::PodMarked(pod)
            | What::PodCrashing(pod)
            | What::PodPulling(pod, _)
            | What::PodUnscheduled(pod)
            | What::PodIgnored(pod)
            | What::PodWithoutNetwork(pod)
            | What::PodGone(pod) => Some(pod),
            _ => None,
        }
    }
}

/// Something that happened, when, and because of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    pub what: What,
    pub at: Timestamp,
    /// Positions of the events that brought it about.
    pub causes: Vec<usize>,
}

/// What a diagnosis of the cluster should come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    pub roots: Vec<StateRef>,
    /// What is visibly red, under the catalogue's general names.
    pub symptoms: BTreeSet<StateRef>,
    /// From cause to effect, between roots and symptoms.
    pub links: BTreeSet<(StateRef, StateRef)>,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    pub happenings: Vec<Happening>,
    pub truth: Truth,
}

/// A window of seconds after the cause, and what may happen in it.
type Next = ((i64, i64), What);

/// Puts the faults into the tree, with everything that has followed by the time of the gather.
pub fn run(
    params: &BaseParams,
    tree: &mut Tree,
    faults: &[Bound],
    seed: u64,
) -> Result<Outcome, EditError> {
    for fault in faults {
        edit::apply(tree, &fault.edits)?;
    }
    let world = World::new(params, tree);
    let happenings = happen(&world, faults, seed);
    edit::apply(tree, &shown(&world, &happenings))?;
    Ok(Outcome { truth: truth(&world, &happenings), happenings })
}

fn happen(world: &World<'_>, faults: &[Bound], seed: u64) -> Vec<Happening> {
    let mut dice = Dice::new(seed);
    let mut waiting: BTreeMap<(Timestamp, usize), (What, Option<usize>)> = BTreeMap::new();
    let mut done: Vec<Happening> = Vec::new();
    let mut known: BTreeMap<What, usize> = BTreeMap::new();
    let mut count = 0;
    let mut wait = |waiting: &mut BTreeMap<_, _>, at, what, cause| {
        count += 1;
        waiting.insert((at, count), (what, cause));
    };
    let cancelled: BTreeSet<&str> =
        faults.iter().flat_map(|fault| &fault.cancels).map(String::as_str).collect();
    for fault in faults {
        for root in &fault.roots {
            known.insert(What::Fault(root.clone()), done.len());
            done.push(Happening {
                what: What::Fault(root.clone()),
                at: fault.onset,
                causes: Vec::new(),
            });
        }
        let own = done.len() - 1;
        for broken in fault.breaks.iter().filter(|found| !cancelled.contains(found.word)) {
            for (window, what) in started(broken) {
                let at = later(fault.onset, dice.within(window));
                wait(&mut waiting, at, what, Some(own));
            }
        }
    }
    while let Some(((at, _), (what, cause))) = waiting.pop_first() {
        if at > world.now {
            break;
        }
        if let Some(&again) = known.get(&what) {
            let causes = &mut done[again].causes;
            causes.extend(cause.filter(|cause| !causes.contains(cause)));
            continue;
        }
        let number = done.len();
        known.insert(what.clone(), number);
        done.push(Happening { what: what.clone(), at, causes: cause.into_iter().collect() });
        for (window, next) in follows(world, &known, &what, &mut dice) {
            wait(&mut waiting, later(at, dice.within(window)), next, Some(number));
        }
    }
    done
}

fn later(time: Timestamp, seconds: i64) -> Timestamp {
    time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(time)
}

/// The first event of a word below `breaks:`.
fn started(broken: &Break) -> Vec<Next> {
    let at = |n: usize| broken.arguments.get(n).cloned().unwrap_or_default();
    let now = (0, 0);
    let (namespace, name) = match broken.arguments.first().and_then(|text| text.split_once('/')) {
        Some((namespace, name)) => (namespace.to_string(), name.to_string()),
        None => (String::new(), at(0)),
    };
    vec![match broken.word {
        "kubelet-silent" => (now, What::KubeletSilent(at(0))),
        "mirror-pods-gone" => (now, What::MirrorPodsGone(at(0))),
        "node-network-down" => ((5, 60), What::NoCni(at(0))),
        "node-never-joins" => (now, What::HostNotJoined(at(0))),
        "workload-down" => (now, What::WorkloadDown { namespace, name }),
        "workload-missing" => (now, What::WorkloadMissing { namespace, name }),
        "static-pod-crashing" => (now, What::StaticPodCrashing { component: at(0), node: at(1) }),
        "static-pod-stuck" => ((5, 60), What::InstallerStuck { component: at(0), node: at(1) }),
        "etcd-member-down" => ((1, 30), What::MemberDown(at(0))),
        "etcd-slow" => (now, What::EtcdSlow),
        "config-stuck" => ((1, 60), What::ConfigStuck { node: at(0), reason: at(1) }),
        "controllers-stopped" => (now, What::ControllersStopped),
        "scheduler-stopped" => (now, What::SchedulerStopped),
        "ingress-unreachable" => (now, What::IngressUnreachable(at(0))),
        "operator-degraded" => ((60, 240), What::Complains(operators::said(true, broken))),
        "operator-unavailable" => ((10, 120), What::Complains(operators::said(false, broken))),
        "drain-blocked" => ((1, 60), What::Draining(at(0))),
        "pulls-fail" => (now, What::PullsFail { node: at(0), error: at(1) }),
        "install-stalls" => ((1_800, 2_400), What::InstallStalled),
        // The parser knows every word of the table; a test holds both against each other.
        _ => return Vec::new(),
    }]
}

/// What an event brings about, by the mechanism that it belongs to.
fn follows(
    world: &World<'_>,
    known: &BTreeMap<What, usize>,
    what: &What,
    dice: &mut Dice,
) -> Vec<Next> {
    match what {
        What::KubeletSilent(node) => nodes::silent(world, node),
        What::NodeUnknown(node) => nodes::unknown(world, node),
        What::NoCni(node) => nodes::no_cni(world, node, dice),
        What::NodeNotReady(node) => nodes::not_ready(world, node),
        What::PodMarked(pod) => workloads::marked(world, known, pod),
        What::PodEvicted(pod) => workloads::evicted(world, pod),
        What::WorkloadDown { namespace, name } => workloads::down(world, namespace, name),
        What::WorkloadMissing { namespace, name } => workloads::missing(world, namespace, name),
        What::PodCrashing(pod)
        | What::PodGone(pod)
        | What::PodUnscheduled(pod)
        | What::PodIgnored(pod)
        | What::PodPulling(pod, _) => workloads::lost(world, known, pod),
        What::PullsFail { node, error } => workloads::pulls_fail(world, node, error, dice),
        What::ControllersStopped => control_plane::controllers_stopped(world, dice),
        What::SchedulerStopped => control_plane::scheduler_stopped(world, dice),
        What::MirrorPodsGone(node) => control_plane::mirrors_gone(world, node),
        What::MirrorGone(pod) => control_plane::mirror_gone(world, known, pod),
        What::StaticPodCrashing { component, node } => {
            control_plane::crashing(world, component, node)
        }
        What::InstallerStuck { component, node } => control_plane::stuck(component, node),
        What::MemberDown(node) => control_plane::member_down(world, node),
        What::ConfigStuck { node, .. } => machine_config::stuck(world, node),
        What::PoolDegraded(pool) => machine_config::pool_degraded(world, pool),
        What::Draining(node) => machine_config::draining(node),
        What::HostNotJoined(node) => joins::never(world, node),
        What::MasterMissing(node) => joins::master_missing(world, node),
        What::IngressUnreachable(error) => operators::ingress_unreachable(world, error),
        What::Complains(complaint) => operators::heard(world, complaint),
        What::Fault(_)
        | What::PodWithoutNetwork(_)
        | What::EtcdSlow
        | What::MachineWaits(_)
        | What::VersionFailing
        | What::InstallStalled
        | What::RequestNotIssued => Vec::new(),
    }
}

/// How the events show in a must-gather.
fn shown(world: &World<'_>, happenings: &[Happening]) -> Vec<Edit> {
    let mut script = Script::default();
    nodes::show(world, happenings, &mut script);
    workloads::show(world, happenings, &mut script);
    control_plane::show(world, happenings, &mut script);
    machine_config::show(world, happenings, &mut script);
    operators::show(world, happenings, &mut script);
    script.edits
}

/// The catalogue's name for what an event looks like; nothing for what cannot be seen.
fn sign(world: &World<'_>, what: &What) -> Option<StateRef> {
    let cluster_scoped = |id: &str, kind: &str, name: &str| {
        Some(StateRef { id: id.into(), entity: EntityId::cluster_scoped(kind, name) })
    };
    let of_pod = |id: &str, pod: &PodName| {
        let entity = EntityId::namespaced("Pod", &pod.namespace, &pod.name);
        Some(StateRef { id: id.into(), entity })
    };
    match what {
        What::Fault(root) => Some(root.clone()),
        What::NodeUnknown(node) | What::NodeNotReady(node) => {
            cluster_scoped("node-not-ready", "Node", node)
        }
        What::NoCni(node) => cluster_scoped("cni-not-ready", "Node", node),
        What::PodCrashing(pod) => of_pod("pod-crash-looping", pod),
        What::PodPulling(pod, _) => of_pod("image-pull-failing", pod),
        What::PodUnscheduled(pod) => of_pod("pod-unschedulable", &workloads::replacement(pod)),
        What::PodIgnored(pod) => of_pod("pod-unscheduled", &workloads::replacement(pod)),
        What::PodWithoutNetwork(pod) => of_pod("pod-not-starting", pod),
        What::MirrorGone(pod) => of_pod("mirror-pod-missing", pod),
        What::InstallerStuck { component, node } => {
            of_pod("pod-not-starting", &control_plane::installer(component, node)?)
        }
        What::MemberDown(node) => cluster_scoped("etcd-member-unhealthy", "EtcdMember", node),
        What::ConfigStuck { node, .. } => cluster_scoped("node-config-degraded", "Node", node),
        What::PoolDegraded(pool) => cluster_scoped("pool-degraded", "MachineConfigPool", pool),
        What::MachineWaits(machine) => cluster_scoped("machine-without-node", "Machine", machine),
        What::MasterMissing(_) => {
            cluster_scoped("control-plane-node-missing", "Cluster", "cluster")
        }
        What::Complains(complaint) => complaint.sign(),
        What::VersionFailing if !world.installing() => {
            cluster_scoped("cluster-version-failing", "Cluster", "cluster")
        }
        What::InstallStalled => cluster_scoped("install-stalled", "Cluster", "cluster"),
        _ => None,
    }
}

/// Links between what can be seen; what cannot is passed through.
fn truth(world: &World<'_>, happenings: &[Happening]) -> Truth {
    let mut truth = Truth::default();
    // For every event, what is seen of it, or of the nearest events behind it.
    let mut seen: Vec<BTreeSet<StateRef>> = Vec::new();
    for happening in happenings {
        let Some(sign) = sign(world, &happening.what) else {
            let before = happening.causes.iter().filter_map(|&cause| seen.get(cause));
            let behind = before.flatten().cloned().collect();
            seen.push(behind);
            continue;
        };
        match happening.what {
            What::Fault(_) => truth.roots.push(sign.clone()),
            _ => {
                truth.symptoms.insert(sign.clone());
            }
        }
        seen.push(BTreeSet::from([sign]));
    }
    // What lasts may get a second cause later: that one keeps it up as well.
    for (number, happening) in happenings.iter().enumerate() {
        let Some(sign) = sign(world, &happening.what) else { continue };
        let behind = happening.causes.iter().filter(|&&cause| cause != number);
        for cause in behind.flat_map(|&cause| &seen[cause]).filter(|cause| **cause != sign) {
            truth.links.insert((cause.clone(), sign.clone()));
        }
    }
    truth
}
