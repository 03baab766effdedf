//! A whole plan: in order, within its time, and without a null.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use plimsoll_probe::{
    Outcome, Patience, Plan, Probe, Reach, Record, SCHEMA, Target, TlsProbe, run,
};
use serde_json::Value;
use support::pki::{Authority, NAME, serve_tls};
use support::{LONG, now, serve};
use tokio::io::AsyncReadExt;

fn tls(target: Target) -> Probe {
    Probe::Tls(TlsProbe { target, name: None, bundles: [].into() })
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

#[tokio::test]
async fn answers_come_sorted_and_survive_json() {
    let authority = Authority::new("root-ca", (2020, 2030));
    let open = serve_tls(vec![authority.issue(&[NAME], (2020, 2030)).config()]).await;
    let (closed, _held) = support::closed().await;
    let probes = vec![tls(open.clone()), Probe::Tcp(open), Probe::Tcp(closed.clone())];
    let patience = Patience { probe: LONG, budget: LONG };
    let answers = run(&Plan { probes, at_once: 2 }, patience, "node/master-0", now).await;
    assert_eq!(answers.len(), 3);
    assert!(answers.is_sorted_by_key(|answer| answer.id.clone()));
    assert!(answers.iter().all(|answer| answer.vantage == "node/master-0" && answer.time == now()));
    let of_closed = answers.iter().find(|answer| answer.target == closed.to_string()).unwrap();
    assert_eq!(of_closed.result, Outcome::Unreached { why: Reach::Refused });
    let json = serde_json::to_value(Record::new(answers.clone())).unwrap();
    assert_eq!(json["schema"], SCHEMA);
    assert_eq!(json["answers"][2]["result"]["is"], "tls");
    assert!(!has_null(&json), "{json}");
    let back: Record = serde_json::from_value(json).unwrap();
    assert_eq!(back.answers, answers);
}

#[tokio::test]
async fn what_the_budget_does_not_cover_is_not_done() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let silent = serve(move |_, mut stream| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    })
    .await;
    let plan = Plan { probes: vec![tls(silent.clone()), tls(silent)], at_once: 1 };
    let patience = Patience { probe: LONG, budget: Duration::from_millis(500) };
    let answers = run(&plan, patience, "workstation", now).await;
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(|answer| answer.result == Outcome::NotDone));
    assert!(asked.load(Ordering::SeqCst) <= 1, "the second was never begun");
    let none = run(&Plan { probes: vec![], at_once: 0 }, patience, "workstation", now).await;
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_plan_can_be_carried_out_on_any_thread() {
    let patience = Patience { probe: LONG, budget: LONG };
    let plan = Plan { probes: vec![], at_once: 1 };
    let work = async move { run(&plan, patience, "workstation", now).await };
    assert!(tokio::spawn(work).await.unwrap().is_empty());
}
