//! JSON is the contract with scripts: it is what the schema says and reads back as it was.

mod support;

use plimsoll_model::Diagnosis;
use plimsoll_report::json;

#[test]
fn the_published_schema_holds() {
    let schema = Diagnosis::json_schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for d in [support::example(), support::healthy(), support::not_provable()] {
        let written: serde_json::Value = serde_json::from_str(&json(&d)).unwrap();
        let faults: Vec<String> = validator.iter_errors(&written).map(|e| e.to_string()).collect();
        assert!(faults.is_empty(), "{faults:?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "schema": "plimsoll.diagnosis/v1" })));
}

#[test]
fn it_reads_back_as_it_was() {
    let mut d = support::example();
    d.reason = "bell \u{7}, delete \u{7f}, C1 \u{9b}, right-to-left \u{202e}, tag \u{e0041}".into();
    let written = json(&d);
    assert!(written.ends_with("}\n"));
    assert!(!written.contains(|c: char| c != '\n' && c.is_control()));
    assert_eq!(serde_json::from_str::<Diagnosis>(&written).unwrap(), d);
}

#[test]
fn an_incident() {
    insta::assert_snapshot!(json(&support::example()));
}
