//! Whole must-gathers of healthy clusters, as they were published: read completely, no root, nobody
//! woken up. They are too large for this repository; without them the test says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a skipped test says so")]

mod support;

use std::path::{Path, PathBuf};

use plimsoll_model::diagnosis::Verdict;
use plimsoll_sources::NoProgress;

fn archive(name: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/testdata/must-gather")
        .join(format!("must-gather-{name}.tar.xz"));
    if !file.exists() {
        println!("skipped: {name} is not here");
    }
    file.exists().then_some(file)
}

fn is_healthy(name: &str) {
    let Some(file) = archive(name) else { return };
    let needs = plimsoll_engine::needs(&support::PACK);
    let snapshot = plimsoll_sources::read(&[file], &needs, &NoProgress).unwrap();
    let d = plimsoll_engine::diagnose(&support::PACK, &snapshot);
    let roots: Vec<_> = d.roots.iter().map(|root| format!("{} {}", root.id, root.entity)).collect();
    assert!(roots.is_empty(), "{name}: {roots:?}");
    assert!(d.unexplained.is_empty(), "{name}: {:?}", d.unexplained);
    assert!(d.sources.iter().all(|source| source.complete), "{name}: {:?}", d.sources);
    assert_eq!(d.verdict, Verdict::Healthy);
}

#[test]
fn metal_4_9_is_healthy() {
    is_healthy("metal");
}

#[test]
fn aws_4_8_is_healthy() {
    is_healthy("aws");
}

#[test]
fn gcp_4_18_is_healthy() {
    is_healthy("gcp-4.18");
}
