//! Journals of nodes, through their kubelets, as `oc adm node-logs` reads them.

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

/// Of control-plane nodes and of those that are not well, if anything is red.
/// Those that were read on the node itself are not read again.
pub async fn read(
    reading: &Reading<'_>,
    health: &Health,
    inside: &Inside,
    progress: &dyn Progress,
) {
    if !health.red {
        return;
    }
    let units: Vec<&str> = UNITS
        .into_iter()
        .filter(|unit| {
            let origin = LogOrigin::Unit { unit: (*unit).into(), node: None };
            let mut asked = reading.needs.signatures.iter().flat_map(|signature| &signature.logs);
            asked.any(|selector| origin.matches(selector))
        })
        .collect();
    let lacks = |name: &str, node: &NodeSeen, unit: &str| {
        (node.control_plane || !node.well) && !inside.has_journal(name, &node.address, unit)
    };
    let mut nodes: Vec<(bool, &str, Vec<&str>)> = health
        .nodes
        .iter()
        .map(|(name, node)| {
            let units = units.iter().copied().filter(|unit| lacks(name, node, unit));
            (node.well, name.as_str(), units.collect())
        })
        .filter(|(_, _, units): &(_, _, Vec<_>)| !units.is_empty())
        .collect();
    nodes.sort_unstable();
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
            reading.tell_missing_part(&format!("the journal of {unit} on {node}"), node, &log);
            Some(())
        }
        Err(trouble) if trouble.status == Some(403) => {
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
