//! The picture in the README is what the binary prints for the case that ships with the project.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn answer(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["diagnose", "fixtures/four-hours.tar.gz"])
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_readme_shows_real_output() {
    let readme = fs_err::read_to_string(root().join("README.md")).unwrap();
    let shown = answer(&[]);
    assert!(readme.contains(&shown), "put this into README.md:\n{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
}

/// The shipped archive is the first case of its incident file, byte for byte.
#[test]
fn the_shipped_archive_is_the_incident() {
    let text = fs_err::read_to_string(root().join("fixtures/incidents/four-hours.md")).unwrap();
    let cases = plimsoll_lab::parse_cases(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("four-hours.tar.gz");
    plimsoll_lab::write_tar_gz(&cases[0].tree().unwrap(), "must-gather.local.5512", &file).unwrap();
    let same = fs_err::read(&file).unwrap()
        == fs_err::read(root().join("fixtures/four-hours.tar.gz")).unwrap();
    assert!(
        same,
        "run: cargo run -p plimsoll-lab --example case -- fixtures/incidents/four-hours.md:1 fixtures/four-hours.tar.gz"
    );
}

#[test]
fn every_format_is_an_answer() {
    let json: serde_json::Value = serde_json::from_str(&answer(&["--output", "json"])).unwrap();
    assert_eq!(json["schema"], "plimsoll.diagnosis/v1");
    assert_eq!(json["roots"].as_array().map(Vec::len), Some(3));
    let schema = plimsoll_model::Diagnosis::json_schema();
    assert!(jsonschema::is_valid(&schema, &json));
    assert!(answer(&["--output", "markdown"]).contains("kubelet-anonymous"));
    assert!(answer(&["--output", "html"]).contains("<svg"));
    assert!(answer(&["--evidence", "1"]).len() > answer(&[]).len());
}

/// What the answer tells to run next is taken as it stands there.
#[test]
fn every_hint_is_a_command_that_fix_takes() {
    let state = tempfile::tempdir().unwrap();
    let shown = answer(&[]);
    let hints: Vec<&str> =
        shown.lines().filter_map(|line| line.split("plimsoll fix ").nth(1)).collect();
    assert_eq!(hints.len(), 3, "{shown}");
    for hint in hints {
        let root = hint.split_whitespace().next().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["fix", root, "fixtures/four-hours.tar.gz", "--state"])
            .arg(state.path())
            .current_dir(self::root())
            .output()
            .unwrap();
        let plan = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{root}");
        assert_eq!(hint.contains("by hand"), !plan.contains("It cannot be carried out"), "{plan}");
    }
}

/// Folder or archive, in any form: the same diagnosis but for the name of the source.
#[test]
fn the_form_of_the_source_does_not_change_the_answer() {
    let text = fs_err::read_to_string(root().join("fixtures/incidents/four-hours.md")).unwrap();
    let tree = plimsoll_lab::parse_cases(&text).unwrap()[0].tree().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("gather");
    plimsoll_lab::write_folder(&tree, &plain.join("must-gather.local.5512")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["diagnose", "--output", "json"])
        .arg(&plain)
        .output()
        .unwrap();
    let from_folder = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        from_folder.replace("\"gather\"", "\"four-hours.tar.gz\""),
        answer(&["--output", "json"])
    );
}
