//! The direction of dependencies. A new edge is a change of architecture: it belongs into this table
//! and into ARCHITECTURE.md, together.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell;

/// Crate, and the crates of ours that it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    (
        "plimsoll",
        &[
            "plimsoll-act",
            "plimsoll-bmc",
            "plimsoll-causes",
            "plimsoll-disguise",
            "plimsoll-engine",
            "plimsoll-install",
            "plimsoll-lab",
            "plimsoll-live",
            "plimsoll-model",
            // Its tests share the real parts of the probes' own.
            "plimsoll-probe",
            "plimsoll-repair",
            "plimsoll-report",
            "plimsoll-rig",
            "plimsoll-sources",
            "plimsoll-yaml",
        ],
    ),
    (
        "plimsoll-live",
        &[
            "plimsoll-bmc",
            "plimsoll-disguise",
            "plimsoll-install",
            "plimsoll-model",
            "plimsoll-probe",
            "plimsoll-sources",
            "plimsoll-yaml",
        ],
    ),
    (
        "plimsoll-act",
        &[
            "plimsoll-bmc",
            "plimsoll-live",
            "plimsoll-model",
            "plimsoll-probe",
            "plimsoll-repair",
            "plimsoll-yaml",
            // Its tests need a real sshd.
            "plimsoll-rig",
        ],
    ),
    ("plimsoll-repair", &["plimsoll-engine", "plimsoll-model", "plimsoll-yaml"]),
    ("plimsoll-rig", &["plimsoll-model", "plimsoll-sources", "plimsoll-yaml"]),
    ("plimsoll-lab", &["plimsoll-model", "plimsoll-sources", "plimsoll-yaml"]),
    (
        "plimsoll-score",
        &[
            "plimsoll-causes",
            "plimsoll-engine",
            "plimsoll-lab",
            "plimsoll-model",
            "plimsoll-sources",
        ],
    ),
    ("plimsoll-probe", &["plimsoll-model"]),
    ("plimsoll-report", &["plimsoll-model"]),
    (
        "plimsoll-engine",
        &["plimsoll-causes", "plimsoll-install", "plimsoll-model", "plimsoll-yaml"],
    ),
    ("plimsoll-sources", &["plimsoll-model", "plimsoll-yaml"]),
    // Its own tests use its mock, which is behind a feature, and the real emulator.
    ("plimsoll-bmc", &["plimsoll-bmc", "plimsoll-probe", "plimsoll-rig"]),
    ("plimsoll-install", &["plimsoll-model", "plimsoll-yaml"]),
    ("plimsoll-yaml", &[]),
    ("plimsoll-model", &[]),
    ("plimsoll-causes", &[]),
    ("plimsoll-disguise", &[]),
    ("xtask", &["plimsoll-model"]),
];

/// Crates that touch no file, no network, no terminal and no clock.
pub const PURE: &[&str] = &[
    "plimsoll-model",
    "plimsoll-yaml",
    "plimsoll-causes",
    "plimsoll-disguise",
    "plimsoll-engine",
    "plimsoll-install",
    "plimsoll-repair",
    "plimsoll-report",
];

/// Libraries whose whole point is the outside world.
const IMPURE: &[&str] = &[
    "anstream",
    "axum",
    "clap",
    "flate2",
    "fs-err",
    "hyper",
    "ignore",
    "indicatif",
    "k8s-openapi",
    "kube",
    "liblzma",
    "memmap2",
    "reqwest",
    "rustls",
    "tar",
    "tempfile",
    "tokio",
    "ureq",
    "walkdir",
    "zstd",
];

pub fn metadata() -> Result<Value> {
    let args = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let text = shell::output(shell::cargo().args(args))?;
    serde_json::from_str(&text).context("cargo metadata did not print JSON")
}

pub fn problems(metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for package in list(metadata, "packages") {
        let name = text(package, "name");
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            problems.push(format!("{name}: not in the table of xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in list(package, "dependencies") {
            let used = text(dependency, "name");
            let ours = ALLOWED.iter().any(|(known, _)| *known == used);
            if ours && !allowed.contains(&used) {
                problems.push(format!("{name} must not use {used}"));
            }
            // Tests of a pure crate may well use a temporary folder.
            let in_tests = dependency["kind"] == "dev";
            if PURE.contains(&name) && IMPURE.contains(&used) && !in_tests {
                problems.push(format!("{name} is pure and must not use {used}"));
            }
        }
    }
    problems
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dependencies_of_this_workspace_point_one_way() {
        let metadata = metadata().unwrap();
        assert!(list(&metadata, "packages").len() >= ALLOWED.len());
        assert_eq!(problems(&metadata), Vec::<String>::new());
    }

    #[test]
    fn a_wrong_edge_an_impure_library_and_an_unknown_crate_are_named() {
        let metadata = json!({"packages": [
            {"name": "plimsoll-model", "dependencies": [
                {"name": "plimsoll-yaml", "kind": null},
                {"name": "tokio", "kind": null},
                {"name": "tempfile", "kind": "dev"},
            ]},
            {"name": "plimsoll-nowhere", "dependencies": []},
        ]});
        let problems = problems(&metadata);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("plimsoll-yaml"));
        assert!(problems[1].contains("tokio"));
        assert!(problems[2].starts_with("plimsoll-nowhere"));
    }
}
