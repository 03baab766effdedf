//! What compiles ends in good time and says yes, no or unknown, whatever the facts hold.
#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use plimsoll_engine::predicate::{Truth, compile, facts_to_cel, root_context, to_cel};
use plimsoll_model::Value;

static FACTS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let numbers: Vec<i64> = (0..300).collect();
    let condition = BTreeMap::from([
        ("status".to_string(), Value::from("False")),
        ("message".to_string(), Value::from("no ü\n".repeat(50))),
        ("since".to_string(), Value::Int(900)),
    ]);
    BTreeMap::from([
        ("ready".to_string(), Value::Map(condition)),
        ("list".to_string(), Value::from(numbers)),
        ("id".to_string(), Value::UInt(u64::MAX)),
        ("share".to_string(), Value::Float(f64::NAN)),
        ("none".to_string(), Value::Null),
    ])
});

fuzz_target!(|source: &str| {
    let Ok(predicate) = compile(source, &["self", "cluster", "now"]) else { return };
    let root = root_context();
    let mut scope = root.new_inner_scope();
    scope.add_variable_from_value("self", facts_to_cel(&FACTS));
    scope.add_variable_from_value("now", to_cel(&Value::Int(1000)));
    let truth = predicate.truth(&scope);
    let _ = predicate.seconds(&scope);
    assert!(!matches!(truth, Truth::Unknown(reason) if reason.is_empty()), "unknown, but not why");
});
