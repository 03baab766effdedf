//! What is known of the nodes that were read from the inside, by all who read them at the same time.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Clone, Default)]
pub struct Inside(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// Folders below `nodes/`.
    names: BTreeSet<String>,
    /// Node, or where it was reached, and unit.
    journals: BTreeSet<(String, String)>,
    /// Who tells them the time.
    time_servers: BTreeSet<String>,
}

impl Inside {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first of the names that no other node has. Never two nodes in one folder.
    pub fn claim(&self, names: &[String]) -> Option<String> {
        let mut known = self.lock();
        let free = names.iter().find(|name| !known.names.contains(*name))?;
        known.names.insert(free.clone());
        Some(free.clone())
    }

    pub fn time_told_by(&self, servers: impl IntoIterator<Item = String>) {
        self.lock().time_servers.extend(servers);
    }

    pub fn time_servers(&self) -> BTreeSet<String> {
        self.lock().time_servers.clone()
    }

    pub fn journal(&self, node: &str, unit: &str) {
        self.lock().journals.insert((node.into(), unit.into()));
    }

    /// Whether the journal of a node, by its name or its address, was read there.
    pub fn has_journal(&self, name: &str, address: &str, unit: &str) -> bool {
        let known = self.lock();
        [name, address].iter().any(|node| known.journals.contains(&((*node).into(), unit.into())))
    }
}
