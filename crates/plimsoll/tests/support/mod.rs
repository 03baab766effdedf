//! The built-in pack, loaded once, and a diagnosis of a tree in memory.

#![allow(clippy::unwrap_used, dead_code, reason = "set-up of tests; every file uses another part")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use plimsoll_engine::{Memory, Pack, PackFile};
use plimsoll_lab::Tree;
use plimsoll_model::diagnosis::{Cluster, Confidence, StateRef};
use plimsoll_model::snapshot::Needs;
use plimsoll_model::{Diagnosis, FactBase};
use plimsoll_sources::Reader;

pub static PACK: LazyLock<Pack> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
    Pack::load(&files).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|e| format!("{e}\n")).collect::<String>())
    })
});

pub static NEEDS: LazyLock<Needs> = LazyLock::new(|| plimsoll_engine::needs(&PACK));
/// The files of a base are the same in a thousand cases.
static MEMORY: LazyLock<Memory> = LazyLock::new(Memory::default);
pub static READER: LazyLock<Reader> = LazyLock::new(|| Reader::new(&NEEDS));

fn collect(root: &Path, folder: &Path, files: &mut Vec<PackFile>) {
    for entry in fs_err::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What is known of configs is no part of a diagnosis.
        if path == root.join("check") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|e| e == "yaml") || folder.ends_with("tests") {
            let shown = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            files.push(PackFile { path: shown, text: fs_err::read_to_string(&path).unwrap() });
        }
    }
}

/// Rules on configs.
pub fn checks() -> Vec<PackFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../knowledge");
    let mut files = Vec::new();
    collect(&root, &root.join("check"), &mut files);
    files
}

pub fn examine(tree: &Tree) -> (FactBase, Diagnosis) {
    let snapshot = READER.read_tree("must-gather", tree);
    plimsoll_engine::examine(&PACK, &snapshot, &[], Some(&MEMORY))
}

pub fn diagnose(tree: &Tree) -> Diagnosis {
    examine(tree).1
}

pub fn confirmed(diagnosis: &Diagnosis) -> BTreeSet<StateRef> {
    let roots = diagnosis.roots.iter().filter(|root| root.confidence == Confidence::Confirmed);
    roots.map(|root| root.state()).collect()
}

/// Whether the rule of a state is meant for this cluster.
pub fn applies(state: &str, cluster: &Cluster) -> bool {
    let minor = cluster.version.as_deref().and_then(|version| version.split('.').nth(1));
    PACK.state(state).is_some_and(|rule| {
        PACK.states[rule].applies.to(
            minor.and_then(|minor| minor.parse().ok()),
            cluster.platform.as_deref(),
            cluster.topology.as_deref(),
        )
    })
}
