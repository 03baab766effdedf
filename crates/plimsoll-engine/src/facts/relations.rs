//! How entities hang together. Causes in packs run along these.

use std::collections::BTreeMap;

use plimsoll_model::{EntityId, FactBase, Relation, Value};

use super::absence::Lists;
use super::machine_config::pool_of;
use super::pods::{PLACE, STATIC_PODS};
use crate::pack::Pack;

pub fn derive(pack: &Pack, lists: &Lists, base: &mut FactBase) {
    base.entities.retain(|id, _| id.kind != PLACE);
    if !lists.prove("config.openshift.io", "clusteroperators", None) {
        add_needed_operators(pack, base);
    }
    let mut found: Vec<Relation> = Vec::new();
    for (id, entity) in &base.entities {
        let fact = |name: &str| entity.facts.get(name).and_then(Value::text);
        let mut link = |name: &str, to: EntityId| {
            found.push(Relation { name: name.into(), from: id.clone(), to });
        };
        match id.kind.as_str() {
            "Pod" => {
                if let Some(node) = fact("node").filter(|node| !node.is_empty()) {
                    link("pod-on-node", EntityId::cluster_scoped("Node", node));
                }
                if let Some(operator) = operator_of_pod(pack, id) {
                    link("operand-of", EntityId::cluster_scoped("ClusterOperator", operator));
                }
                if let Some((kind, owner)) = fact("owner").and_then(|owner| owner.split_once('/')) {
                    let namespace = id.namespace.as_deref().unwrap_or_default();
                    match kind {
                        "DaemonSet" => {
                            link("pod-of-daemonset", EntityId::namespaced(kind, namespace, owner))
                        }
                        "ReplicaSet" => {
                            let deployment = owner.rsplit_once('-').map_or(owner, |(name, _)| name);
                            link(
                                "pod-of-deployment",
                                EntityId::namespaced("Deployment", namespace, deployment),
                            );
                        }
                        _ => {}
                    }
                }
            }
            "Deployment" | "DaemonSet" => {
                if let Some(operator) =
                    id.namespace.as_deref().and_then(|n| pack.operator_of_namespace(n))
                {
                    link("workload-of", EntityId::cluster_scoped("ClusterOperator", operator));
                }
            }
            "Node" => {
                let mco = entity.facts.get("mco");
                let config = |key| mco.and_then(|mco| mco.get(key)).and_then(Value::text);
                let pool =
                    config("desired").and_then(pool_of).or(config("current").and_then(pool_of));
                if let Some(pool) = pool {
                    link("node-in-pool", EntityId::cluster_scoped("MachineConfigPool", pool));
                }
            }
            "BareMetalHost" => {
                if let Some(node) = fact("node") {
                    link("host-is-node", EntityId::cluster_scoped("Node", node));
                }
            }
            "Machine" => {
                if let Some(host) = fact("host") {
                    link("machine-on-host", EntityId::cluster_scoped("BareMetalHost", host));
                }
                if let Some(node) = fact("node") {
                    link("machine-is-node", EntityId::cluster_scoped("Node", node));
                }
                if let Some(set) = fact("set") {
                    link("machine-of-set", EntityId::cluster_scoped("MachineSet", set));
                }
            }
            "CertificateSigningRequest" => {
                if let Some(node) = fact("node") {
                    link("request-of-node", EntityId::cluster_scoped("Node", node));
                    link("request-of-host", host_named(base, node));
                }
            }
            "EtcdMember" => {
                let node = fact("node").unwrap_or(&id.name);
                link("member-on-node", EntityId::cluster_scoped("Node", node));
            }
            "ClusterOperator" => {
                for needed in pack.operators_needed_by(&id.name) {
                    link("operator-needs", EntityId::cluster_scoped("ClusterOperator", needed));
                }
            }
            _ => {}
        }
    }
    base.relations.extend(found);
}

/// Operators that others need are there. Of one that was not collected nothing is known.
fn add_needed_operators(pack: &Pack, base: &mut FactBase) {
    let operators = base.entities.keys().filter(|id| id.kind == "ClusterOperator");
    let needed: Vec<EntityId> = operators
        .flat_map(|id| pack.operators_needed_by(&id.name))
        .map(|name| EntityId::cluster_scoped("ClusterOperator", name))
        .collect();
    for id in needed {
        base.entities.entry(id).or_default();
    }
}

fn host_named(base: &FactBase, node: &str) -> EntityId {
    let short = node.split('.').next().unwrap_or(node);
    let exact = EntityId::cluster_scoped("BareMetalHost", node);
    if base.entities.contains_key(&exact) {
        exact
    } else {
        EntityId::cluster_scoped("BareMetalHost", short)
    }
}

fn operator_of_pod<'p>(pack: &'p Pack, id: &EntityId) -> Option<&'p str> {
    let namespace = id.namespace.as_deref()?;
    STATIC_PODS
        .iter()
        .find(|(ns, prefix, _)| *ns == namespace && id.name.starts_with(prefix))
        .map(|(_, _, operator)| *operator)
        .or_else(|| pack.operator_of_namespace(namespace))
}

/// Relations by name and direction, for walking.
pub struct Walk<'b> {
    forward: Index<'b>,
    backward: Index<'b>,
}

type Index<'b> = BTreeMap<&'b str, BTreeMap<&'b EntityId, Vec<&'b EntityId>>>;

impl<'b> Walk<'b> {
    pub fn new(base: &'b FactBase) -> Self {
        let mut walk = Self { forward: Index::new(), backward: Index::new() };
        for Relation { name, from, to } in &base.relations {
            walk.forward.entry(name).or_default().entry(from).or_default().push(to);
            walk.backward.entry(name).or_default().entry(to).or_default().push(from);
        }
        walk
    }

    pub fn step(&self, from: &EntityId, relation: &str, inverse: bool) -> &[&'b EntityId] {
        let index = if inverse { &self.backward } else { &self.forward };
        index.get(relation).and_then(|ends| ends.get(from)).map(Vec::as_slice).unwrap_or_default()
    }
}
