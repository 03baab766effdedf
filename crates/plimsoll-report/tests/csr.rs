//! Judged requests as a person reads them.

#![allow(clippy::unwrap_used, reason = "times and names that are written here")]

use plimsoll_model::Time;
use plimsoll_model::csr::{CSR_SCHEMA, Done, Judged, Requests, Verdict};
use plimsoll_model::plan::Signer;
use plimsoll_report::{TextOptions, csr_text, json};

fn at(text: &str) -> Time {
    text.parse().unwrap()
}

fn request(name: &str, node: &str, wave: Signer, verdict: Verdict, reasons: &[&str]) -> Judged {
    Judged {
        name: name.into(),
        uid: Some(format!("uid-of-{name}")),
        created: Some(at("2025-12-03T18:39:00Z")),
        node: Some(node.into()),
        wave: Some(wave),
        requestor: format!("system:node:{node}"),
        verdict,
        reasons: reasons.iter().map(|reason| (*reason).to_string()).collect(),
        done: None,
    }
}

fn some() -> Requests {
    let approved = Judged {
        done: Some(Done {
            approved: true,
            issued: false,
            says: "approved; no certificate yet".into(),
        }),
        ..request(
            "csr-aaaaa",
            "worker-1",
            Signer::Client,
            Verdict::Approve,
            &[
                "subject O=system:nodes, CN=system:node:worker-1",
                "asked by the node-bootstrapper",
                "Machine lab-worker-1 was made 27 minutes before",
            ],
        )
    };
    Requests {
        schema: CSR_SCHEMA.into(),
        generated_for: Some(at("2025-12-03T18:42:00Z")),
        sources: vec!["kube:lab".into()],
        approving: true,
        requests: vec![
            approved,
            request(
                "csr-bbbbb",
                "worker-2",
                Signer::Serving,
                Verdict::Hold,
                &[
                    "that these names are its own, only Node worker-2 itself says: an expected-nodes file that names it would decide (--expect)",
                ],
            ),
            request(
                "csr-ccccc",
                "worker-3",
                Signer::Serving,
                Verdict::Deny,
                &["'192.0.2.5' belongs to a VIP of the cluster", "\u{1b}[31m'x' is no name"],
            ),
        ],
        gaps: vec!["Machines: machines is forbidden (403)".into()],
    }
}

#[test]
fn each_request_has_its_verdict_and_reasons() {
    insta::assert_snapshot!(csr_text(&some(), &TextOptions::default()));
}

#[test]
fn nothing_to_say_is_said_in_a_line() {
    let none = Requests { requests: Vec::new(), gaps: Vec::new(), ..some() };
    assert_eq!(csr_text(&none, &TextOptions::default()), "No kubelet waits for a certificate.\n");
}

#[test]
fn json_follows_its_schema() {
    let schema = jsonschema::validator_for(&Requests::json_schema()).unwrap();
    let shown: serde_json::Value = serde_json::from_str(&json(&some())).unwrap();
    schema.validate(&shown).map_err(|error| error.to_string()).unwrap();
    assert_eq!(shown["requests"][0]["wave"], "client");
    assert_eq!(shown["requests"][2]["verdict"], "deny");
}

#[test]
fn a_narrow_terminal_holds_it() {
    let options = TextOptions { width: 50, ..TextOptions::default() };
    let shown = csr_text(&some(), &options);
    assert!(shown.lines().all(|line| line.chars().count() <= 50), "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}
