//! Snapshot → small typed facts about entities, and the relations between them.
//!
//! One file an area; each holds plain functions from one parsed object to facts. Facts never judge:
//! whether a fact is bad is for the packs to say. A fact that cannot be read is left out, which
//! makes every predicate on it unknown. `schema` lists every kind, fact and relation that packs may
//! name.

mod absence;
mod admission;
mod baremetal;
mod bmc;
mod bmc_parts;
mod certificates;
mod cluster;
mod etcd;
mod events;
mod hardware;
mod hosts;
mod ignition;
pub(crate) mod installer;
pub mod logs;
mod machine_config;
mod memory;
mod needs;
mod networks;
mod node_root;
mod nodes;
mod object;
mod operators;
mod pods;
mod probes;
mod pulls;
mod relations;
mod requests;
pub mod schema;
mod workloads;

use std::collections::BTreeSet;

use plimsoll_model::snapshot::{Gap, GapStatus};
use plimsoll_model::{Document, Entity, EntityId, FactBase, Snapshot, Value};
use rayon::prelude::*;

pub use absence::ALL_NAMESPACES;
use absence::Lists;
pub use memory::Memory;
pub use needs::needs;
use object::Object;
pub use relations::Walk;

use crate::pack::Pack;

/// What one object says: facts to be merged into entities.
type Facts = Vec<(EntityId, Entity)>;

/// Facts of the whole snapshot, and what could not be understood, by source index.
pub fn extract(
    pack: &Pack,
    snapshot: &Snapshot,
    memory: Option<&Memory>,
) -> (FactBase, Vec<(usize, Gap)>) {
    let understood = |document: &Document| {
        let object = Object::parse(snapshot, document).map_err(|error| {
            let gap = Gap {
                status: GapStatus::Unreadable,
                what: document.path.to_string(),
                why: error.to_string(),
            };
            (document.source, gap)
        })?;
        Ok(facts_of(&object))
    };
    if let Some(memory) = memory {
        memory.look();
    }
    let read: Vec<Result<Facts, (usize, Gap)>> = snapshot
        .documents
        .par_iter()
        .map(|document| match memory {
            None => understood(document),
            Some(memory) => {
                let source = snapshot.sources.get(document.source).map_or("", |of| &of.name);
                memory.recall(source, document, || understood(document))
            }
        })
        .collect();

    let mut base = FactBase { now: snapshot.now, ..FactBase::default() };
    let mut problems = Vec::new();
    for result in read {
        match result {
            Ok(facts) => facts.into_iter().for_each(|(id, entity)| merge(&mut base, id, entity)),
            Err(problem) => problems.push(problem),
        }
    }
    etcd::extract(snapshot, &mut base, &mut problems);
    node_root::extract(snapshot, &mut base);
    bmc::extract(snapshot, &mut base, &mut problems);
    base.entities.entry(EntityId::cluster()).or_default();
    let unread: BTreeSet<(usize, &str)> =
        problems.iter().map(|(of, gap)| (*of, gap.what.as_str())).collect();
    let doubtful: Vec<&Document> =
        snapshot.documents.iter().filter(|d| unread.contains(&(d.source, &*d.path))).collect();
    let lists = Lists::new(snapshot, &doubtful);
    absence::derive(snapshot, &lists, &mut base);
    operators::derive(&mut base);
    nodes::derive(&mut base);
    etcd::derive(&mut base);
    ignition::derive(&mut base);
    certificates::derive(&mut base);
    machine_config::derive(&mut base);
    baremetal::derive(&mut base);
    cluster::derive(&mut base);
    requests::derive(&lists, &mut base);
    admission::derive(&lists, &mut base);
    networks::derive(&mut base);
    hardware::derive(&mut base);
    probes::derive(snapshot, &mut base, &mut problems);
    pods::derive(snapshot, &lists, &mut base);
    events::derive(&lists, &mut base);
    pulls::derive(&mut base);
    problems.extend(logs::attach(pack, snapshot, &mut base));
    pods::complete(snapshot, &lists, &mut base);
    installer::derive(&mut base);
    hosts::derive(&lists, &mut base);
    operators::derive_messages(&mut base);
    relations::derive(pack, &lists, &mut base);
    workloads::derive(&mut base);
    (base, problems)
}

fn facts_of(object: &Object<'_>) -> Facts {
    match (object.group(), object.plural()) {
        ("config.openshift.io", "clusterversions") => cluster::cluster_version(object),
        ("config.openshift.io", "infrastructures") => cluster::infrastructure(object),
        ("config.openshift.io", "clusteroperators") => operators::cluster_operator(object),
        ("config.openshift.io", "networks") => networks::configured(object),
        ("operator.openshift.io", "networks") => {
            [operators::operand(object), networks::internal(object)].concat()
        }
        ("operator.openshift.io", _) => operators::operand(object),
        ("core", "nodes") => nodes::node(object),
        ("core", "pods") => pods::pod(object),
        ("core", "events") => events::event(object),
        ("core", "configmaps") => certificates::config_map(object),
        ("core", "secrets") => certificates::secret(object),
        ("certificates.k8s.io", "certificatesigningrequests") => requests::signing_request(object),
        ("machineconfiguration.openshift.io", "machineconfigpools") => machine_config::pool(object),
        ("machineconfiguration.openshift.io", "machineconfigs") => machine_config::config(object),
        ("metal3.io", "baremetalhosts") => {
            [baremetal::host(object), hardware::inspected(object)].concat()
        }
        ("metal3.io", "hardwaredata") => hardware::inspected(object),
        ("metal3.io", "hostfirmwarecomponents") => hardware::components(object),
        ("metal3.io", "hostfirmwaresettings") => {
            [baremetal::firmware_settings(object), hardware::settings(object)].concat()
        }
        ("metal3.io", "preprovisioningimages") => baremetal::preprovisioning_image(object),
        ("metal3.io", "provisionings") => baremetal::provisioning(object),
        ("machine.openshift.io", "machines") => baremetal::machine(object),
        ("core", "endpoints") => admission::endpoints(object),
        ("apiregistration.k8s.io", "apiservices") => admission::api_service(object),
        ("admissionregistration.k8s.io", _) => admission::webhooks(object),
        ("machine.openshift.io", "machinesets") => baremetal::machine_set(object),
        ("machine.openshift.io", "machinehealthchecks") => baremetal::health_check(object),
        ("apps", "deployments") => workloads::deployment(object),
        ("apps", "daemonsets") => workloads::daemon_set(object),
        ("core", "persistentvolumeclaims") => workloads::volume_claim(object),
        _ => Vec::new(),
    }
}

/// Later facts of the same name win; documents come sorted, so the result is stable.
fn merge(base: &mut FactBase, id: EntityId, entity: Entity) {
    let target = base.entities.entry(id).or_default();
    for (name, value) in entity.facts {
        match (target.facts.get_mut(&name), value) {
            // Maps grow: events and conditions of one entity come from several objects.
            (Some(Value::Map(old)), Value::Map(new)) if name == "events" => {
                for (reason, event) in new {
                    match old.get_mut(&reason) {
                        Some(known) => events::join(known, event),
                        None => drop(old.insert(reason, event)),
                    }
                }
            }
            (Some(Value::Map(old)), Value::Map(new)) => old.extend(new),
            (_, value) => {
                target.facts.insert(name, value);
            }
        }
    }
    target.provenance.extend(entity.provenance);
}
