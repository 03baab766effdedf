//! A check in every form: what a person reads, and what a pipeline reads.

mod support;

use plimsoll_model::check::{Check, CheckVerdict, InstallerVerdict, Severity};
use plimsoll_report::{
    CheckShown, TextOptions, check_html, check_junit, check_markdown, check_sarif, check_text, json,
};
use support::check::{FILE, blocked, finding, ready};

fn plain(check: &Check) -> String {
    check_text(check, &TextOptions::default(), CheckShown::default())
}

fn explained(check: &Check) -> String {
    check_text(check, &TextOptions::default(), CheckShown { explain: true })
}

#[test]
fn text_names_each_finding_at_its_line() {
    insta::assert_snapshot!(plain(&blocked()));
}

#[test]
fn text_explains_on_demand() {
    insta::assert_snapshot!(explained(&blocked()));
}

#[test]
fn text_of_what_is_ready_is_short() {
    insta::assert_snapshot!(plain(&ready()));
}

#[test]
fn text_on_a_narrow_terminal_gives_the_place_a_line_of_its_own() {
    let options = TextOptions { width: 50, ..TextOptions::default() };
    let shown = check_text(&blocked(), &options, CheckShown::default());
    assert!(shown.lines().all(|line| line.chars().count() <= 50), "{shown}");
    assert!(shown.contains("\ninstall-config.yaml:27:7\n    error  vip-outside"), "{shown}");
}

#[test]
fn text_in_colour_changes_nothing_but_colour() {
    let options = TextOptions { color: true, ..TextOptions::default() };
    let colored = check_text(&blocked(), &options, CheckShown { explain: true });
    assert!(colored.contains("\u{1b}["));
    let mut bare = String::new();
    for (at, part) in colored.split("\u{1b}[").enumerate() {
        bare.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, explained(&blocked()));
}

#[test]
fn text_tells_errors_first_and_orders_by_file_and_line() {
    let mut check = ready();
    check.files = vec!["b.yaml".into(), "a.yaml".into()];
    let at = |id: &str, file: &str, line: u32, severity: Severity| {
        let mut finding = finding(id, severity, line, "It is bad.");
        finding.file = file.into();
        finding
    };
    check.findings = vec![
        at("seventh", "", 0, Severity::Warning),
        at("fifth", "other.yaml", 1, Severity::Error),
        at("fourth", "a.yaml", 1, Severity::Error),
        at("third", "b.yaml", 9, Severity::Error),
        at("second", "b.yaml", 2, Severity::Warning),
        at("first", "b.yaml", 2, Severity::Error),
        at("sixth", "", 0, Severity::Error),
    ];
    check.findings[1].column = 1;
    let shown = plain(&check);
    let ids = ["first", "third", "fourth", "fifth", "sixth", "second", "seventh"];
    let found: Vec<usize> =
        ids.iter().map(|id| shown.find(&format!("  {id}\n")).unwrap()).collect();
    assert!(found.is_sorted(), "{shown}");
    assert!(shown.contains("5 errors, 2 warnings for b.yaml and a.yaml"), "{shown}");
}

#[test]
fn text_folds_what_is_found_a_thousand_times() {
    let mut check = blocked();
    check.findings.extend(
        (100..1_099).map(|line| finding("duplicate-mac", Severity::Error, line, "The same MAC.")),
    );
    let shown = plain(&check);
    assert!(shown.starts_with("BLOCKED: 1,002 errors, 1 warning for "), "{shown}");
    assert_eq!(shown.matches("  error  duplicate-mac\n").count(), 3);
    assert!(shown.contains("… and 997 more of duplicate-mac (--output html shows all)\n"));
    assert!(shown.contains("bmc-privilege"), "what else is wrong is still told");
    check.findings.truncate(8);
    assert_eq!(plain(&check).matches("  error  duplicate-mac\n").count(), 5);
    assert_eq!(check_html(&check).matches("<section class=\"card\">").count(), 8);
}

#[test]
fn text_says_that_the_installer_disagrees() {
    let mut check = blocked();
    check.installer_verdict = InstallerVerdict::Accept;
    let flat = |check: &Check| plain(check).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat(&check).contains("The installer would accept it."));
    check.findings.clear();
    check.verdict = CheckVerdict::Ready;
    check.installer_verdict = InstallerVerdict::Reject;
    let shown = flat(&check);
    assert!(shown.starts_with("READY: 0 errors in install-config.yaml (OpenShift 4.18)."));
    assert!(shown.ends_with("hint: what was suppressed still stops the installer"), "{shown}");
}

#[test]
fn markdown_of_a_blocked_install() {
    insta::assert_snapshot!(check_markdown(&blocked()));
}

#[test]
fn markdown_of_a_ready_install() {
    insta::assert_snapshot!(check_markdown(&ready()));
}

#[test]
fn html_of_a_blocked_install() {
    insta::assert_snapshot!(check_html(&blocked()));
}

#[test]
fn html_of_a_ready_install() {
    let shown = check_html(&ready());
    assert!(shown.contains("<div class=\"verdict good\"><strong>Ready</strong>"));
    assert!(!shown.contains("<section") && !shown.contains("<h2>"));
}

#[test]
fn json_is_what_the_published_schema_says_and_reads_back() {
    let schema = Check::json_schema();
    let published = include_str!("../../../docs/schema/check.v1.schema.json");
    assert_eq!(serde_json::from_str::<serde_json::Value>(published).unwrap(), schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    for check in [blocked(), ready()] {
        let written = json(&check);
        let value: serde_json::Value = serde_json::from_str(&written).unwrap();
        let faults: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(serde_json::from_str::<Check>(&written).unwrap(), check);
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema": "plimsoll.check/v1" })));
}

#[test]
fn json_of_a_blocked_install() {
    insta::assert_snapshot!(json(&blocked()));
}

#[test]
fn junit_of_a_blocked_install() {
    insta::assert_snapshot!(check_junit(&blocked()));
}

#[test]
fn junit_of_a_ready_install_has_a_test() {
    insta::assert_snapshot!(check_junit(&ready()));
}

#[test]
fn junit_is_one_test_an_id() {
    let mut check = blocked();
    check.findings.push(finding("duplicate-mac", Severity::Error, 70, "The same MAC."));
    check.findings.push(finding("duplicate-mac", Severity::Warning, 80, "Nearly the same."));
    check.not_checked[0].id = "duplicate-mac".into();
    let shown = check_junit(&check);
    assert_eq!(shown.matches("name=\"duplicate-mac\"").count(), 1);
    assert!(shown.contains("differs. (and 1 more)\">install-config.yaml:61:25: error: "));
    assert!(shown.contains("\ninstall-config.yaml:70:7: error: The same MAC."));
    assert!(shown.contains("<system-out>install-config.yaml:80:7: warning: Nearly"));
    assert!(shown.contains("tests=\"6\" failures=\"3\" errors=\"0\" skipped=\"2\""), "{shown}");
}

#[test]
fn sarif_of_a_blocked_install() {
    insta::assert_snapshot!(check_sarif(&blocked(), "0.1.0"));
}

#[test]
fn sarif_of_a_ready_install_is_empty_and_complete() {
    let log: serde_json::Value = serde_json::from_str(&check_sarif(&ready(), "0.1.0")).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(log["runs"][0]["tool"]["driver"]["version"], "0.1.0");
}

#[test]
fn sarif_points_at_the_file_where_there_is_one() {
    let log: serde_json::Value = serde_json::from_str(&check_sarif(&blocked(), "0.1.0")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let first = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(first["artifactLocation"]["uri"], FILE);
    assert_eq!(first["region"], serde_json::json!({ "startLine": 27, "startColumn": 7 }));
    let live = results.iter().find(|result| result["ruleId"] == "bmc-privilege").unwrap();
    assert!(live.get("locations").is_none());
    assert!(live["message"]["text"].as_str().unwrap().starts_with("BareMetalHost/master-2: "));
}
