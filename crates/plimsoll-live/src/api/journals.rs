//! Journals of nodes, through their kubelets, as `oc adm node-logs` reads them.

use std::collections::BTreeSet;

use futures::StreamExt;
use plimsoll_model::LogOrigin;
use plimsoll_model::redact::redact;

use super::Reading;
use super::health::{Health, NodeSeen};
use super::logs::{LARGEST_LOG, LINES, LINES_OF_WELL};
use crate::Progress;
use crate::node::Inside;

/// Units of a node of a cluster that speak of what goes wrong there.
const UNITS: [&str; 6] =
    ["NetworkManager", "chronyd", "crio", "kubelet", "nodeip-configuration", "ovs-configuration"];
const NODES_AT_ONCE: usize = 4;
/// Ailing nodes whose journals are read; when all are, they tell the same.
const MOST_NODES: usize = 12;

/// Those that were read on the node itself are not read again.
pub async fn read(
    reading: &Reading<'_>,
    (health, watched): (&Health, &BTreeSet<String>),
    inside: &Inside,
    progress: &dyn Progress,
) {
    let units: Vec<&str> = UNITS
        .into_iter()
        .filter(|unit| {
            let origin = LogOrigin::Unit { unit: (*unit).into(), node: None };
            let mut asked = reading.needs.signatures.iter().flat_map(|signature| &signature.logs);
            asked.any(|selector| origin.matches(selector))
        })
        .collect();
    let mut nodes: Vec<(bool, &str, Vec<&str>)> = chosen(health, watched)
        .into_iter()
        .map(|(name, node)| {
            let lacks = |unit: &&str| !inside.has_journal(name, &node.address, unit);
            (node.well, name, units.iter().copied().filter(lacks).collect())
        })
        .filter(|(_, _, units): &(_, _, Vec<_>)| !units.is_empty())
        .collect();
    nodes.truncate(MOST_NODES);
    let reads = nodes.into_iter().map(|(well, node, units)| async move {
        for unit in units {
            progress.say(&format!("journal of {unit} on {node}"));
            if journal(reading, node, unit, well).await.is_none() {
                return;
            }
        }
    });
    futures::stream::iter(reads).buffer_unordered(NODES_AT_ONCE).collect::<()>().await;
}

/// Those that are watched; and if anything is red, those of the control plane, those that are not well and those
/// on which pods do not start.
fn chosen<'h>(health: &'h Health, watched: &BTreeSet<String>) -> Vec<(&'h str, &'h NodeSeen)> {
    let is_starting = |name: &str| health.starting.contains(name);
    let ails = |name: &str, node: &NodeSeen| {
        health.red && (node.control_plane || !node.well || is_starting(name))
    };
    let nodes = health.nodes.iter().map(|(name, node)| (name.as_str(), node));
    let mut nodes: Vec<_> =
        nodes.filter(|(name, node)| watched.contains(*name) || ails(name, node)).collect();
    nodes.sort_by_key(|(name, node)| (!watched.contains(*name), node.well, !is_starting(name)));
    nodes
}

/// `None` where the node does not let its journals be read at all.
async fn journal(reading: &Reading<'_>, node: &str, unit: &str, well: bool) -> Option<()> {
    let lines = if well { LINES_OF_WELL } else { LINES };
    // Older kubelets know `unit` and `tail`, newer ones `query` and `tailLines`.
    let path = format!(
        "/api/v1/nodes/{node}/proxy/logs/journal?unit={unit}&query={unit}&tail={lines}&tailLines={lines}"
    );
    if let Some(trouble) = reading.silent(node) {
        reading.gaps.add(format!("journals of {node}"), &trouble.why);
        return None;
    }
    match reading.asker.of_kubelet(&path, LARGEST_LOG).await {
        Ok(log) => {
            let clean = redact(&String::from_utf8_lossy(&log.text)).to_string();
            if !clean.trim().is_empty() {
                reading.out.add(format!("nodes/{node}/journal/{unit}.log"), clean).await.ok()?;
            }
            reading.tell_missing_part(&format!("the journal of {unit} on {node}"), &log);
            Some(())
        }
        Err(trouble) if trouble.status == Some(404) => {
            // Kubelets of other makers show no journals.
            reading.gaps.note(format!("journals of {node}"), &trouble.why);
            None
        }
        Err(trouble) if trouble.status == Some(403) && !trouble.of_kubelet => {
            reading.gaps.add("journals of nodes", &trouble.why);
            None
        }
        Err(trouble) => {
            reading.gaps.add(format!("journals of {node}"), &trouble.why);
            reading.notice_silence(node, &trouble);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_watched_is_read_however_well_all_is() {
        let node = |well: bool, control_plane: bool| NodeSeen {
            well,
            control_plane,
            ..NodeSeen::default()
        };
        let nodes = [
            ("master-0", node(true, true)),
            ("worker-0", node(true, false)),
            ("worker-1", node(false, false)),
            ("worker-2", node(true, false)),
        ];
        let nodes = nodes.map(|(name, node)| (name.to_string(), node)).into();
        let mut health = Health { nodes, ..Health::default() };
        let of = |health: &Health, watched: &[&str]| -> Vec<String> {
            let watched = watched.iter().map(|name| name.to_string()).collect();
            chosen(health, &watched).into_iter().map(|(name, _)| name.to_string()).collect()
        };
        assert_eq!(of(&health, &[]), Vec::<String>::new());
        assert_eq!(of(&health, &["worker-2", "gone"]), ["worker-2"]);
        health.red = true;
        assert_eq!(of(&health, &[]), ["worker-1", "master-0"]);
        health.starting.insert("worker-2".into());
        assert_eq!(of(&health, &[]), ["worker-1", "worker-2", "master-0"]);
        health.starting.clear();
        assert_eq!(of(&health, &["worker-2"]), ["worker-2", "worker-1", "master-0"]);
    }
}
