//! Every failure mode of the built-in pack can be explained, in every form.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

mod support;

use std::process::Command;

use plimsoll_model::knowledge::{Explained, Knowledge};

fn answer(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_failure_mode_and_every_state_has_a_page() {
    let states: Vec<&str> = support::PACK.states.iter().map(|state| state.id.as_str()).collect();
    let json = answer(&[&["explain", "--output", "json"], &states[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(jsonschema::is_valid(&Explained::json_schema(), &json));
    let modes = json["failure_modes"].as_array().unwrap();
    assert!(modes.iter().all(|mode| mode["page"]["how_to_fix"].as_str().is_some()));
    let list: serde_json::Value =
        serde_json::from_str(&answer(&["knowledge", "list", "--output", "json"])).unwrap();
    assert!(jsonschema::is_valid(&Knowledge::json_schema(), &list));
    assert_eq!(list["failure_modes"].as_array().unwrap().len(), support::PACK.cases.len());
}

/// Code is never broken, and stands five columns in; everything else fits a terminal.
#[test]
fn pages_fit_a_terminal_but_for_their_code() {
    let ids: Vec<&str> = support::PACK.cases.iter().map(|case| case.id.as_str()).collect();
    let text = answer(&[&["explain"], &ids[..]].concat());
    let is_code = |line: &str| line.starts_with("     ") || line.starts_with("   |");
    for line in text.lines().filter(|line| !is_code(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let list = answer(&["knowledge", "list"]);
    assert!(list.lines().all(|line| line.chars().count() <= 80));
}

/// The lines of the cases speak for the states that the cases say they do.
#[test]
fn a_line_speaks_for_what_it_confirms() {
    let line = r#"pods is forbidden: User "system:anonymous" cannot list resource "pods""#;
    let shown = answer(&["explain", "--log", line]);
    assert!(shown.contains("kubelet-anonymous"), "{shown}");
    let message = "VIP '10.0.0.9' cannot be found in any machine network";
    assert!(answer(&["explain", "--log", message]).contains("network-operator-degraded"));
}

#[test]
fn a_line_from_the_field_names_its_failure() {
    let missing = r#"missing MachineConfig rendered-master-abc: machineconfig.machineconfiguration.openshift.io "rendered-master-abc" not found"#;
    assert!(answer(&["explain", "--log", missing]).contains("rendered-config-missing"));
    let dial = "dial tcp 172.30.0.1:443: i/o timeout";
    assert!(answer(&["explain", "--log", dial]).contains("service-vip-unroutable"));
}
