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
    let list = list["failure_modes"].as_array().unwrap();
    let (checks, others): (Vec<_>, Vec<_>) = list.iter().partition(|mode| mode["area"] == "check");
    assert_eq!(others.len(), support::PACK.cases.len());
    assert!(checks.len() > 30);
    let page = answer(&["explain", "gateway-off-link"]);
    assert!(page.contains("host-routes-wrong"), "{page}");
}

/// Whatever id `check` prints can be asked for.
#[test]
fn every_id_of_a_check_has_a_page() {
    let knowledge = plimsoll_engine::check::Knowledge::load(&support::checks()).unwrap();
    let ids: Vec<&str> = knowledge.ids().into_iter().collect();
    assert!(ids.len() > plimsoll_install::rules().len() + 80, "{}", ids.len());
    let json = answer(&[&["explain", "--output", "json"], &ids[..]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(jsonschema::is_valid(&Explained::json_schema(), &json));
    for mode in json["failure_modes"].as_array().unwrap() {
        let told = ["why", "how_to_fix"].map(|key| mode["page"][key].as_str().unwrap_or_default());
        assert!(told.iter().any(|text| !text.is_empty()), "{mode:#}");
    }
    let text = answer(&[&["explain"], &ids[..]].concat());
    let is_code = |line: &str| line.starts_with("     ") || line.starts_with("   |");
    for line in text.lines().filter(|line| !is_code(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
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

/// What people paste is rarely the line that a rule was written for.
#[test]
fn what_people_paste_is_recognised() {
    let asked = |line: &str| {
        let json = answer(&["explain", "--output", "json", "--log", line]);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let matches = json["lines"][0]["matches"].as_array().cloned().unwrap_or_default();
        matches.iter().map(|found| found["id"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let lines = [
        ("duplicate entry defined", "ignition-duplicate-path"),
        ("A start job is running for Ignition (fetch) (3min 20s / no limit)", "mcs-unreachable"),
        ("ErrImagePull", "image-pull-failing"),
        ("ImagePullBackOff", "image-pull-failing"),
        ("Kubelet stopped posting node status.", "node-not-ready"),
        ("Cannot evict pod as it would violate the pod's disruption budget.", "drain-blocked"),
        ("the cluster operator authentication is not available", "operator-unavailable"),
    ];
    for (line, state) in lines {
        let found = asked(line);
        assert!(found.iter().any(|id| id == state), "{line}: {found:?}");
    }
    for line in [
        "x509: certificate signed by unknown authority",
        "X509: CERTIFICATE SIGNED BY UNKNOWN AUTHORITY",
    ] {
        let found = asked(line);
        for state in [
            "image-pull-untrusted",
            "mcs-ca-mismatch",
            "registry-ca-mismatch",
            "apiserver-serving-cert-bad",
        ] {
            assert!(found.iter().any(|id| id == state), "{line}: {found:?}");
        }
    }
}

#[test]
fn no_text_is_no_question() {
    let run = Command::new(env!("CARGO_BIN_EXE_plimsoll")).args(["explain", "--log", " "]).output();
    assert_eq!(run.unwrap().status.code(), Some(2));
}
