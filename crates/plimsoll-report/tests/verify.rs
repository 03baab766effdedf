//! A verification as a person reads it.

#![allow(clippy::unwrap_used, reason = "times and names that are written here")]

use plimsoll_model::diagnosis::Cluster;
use plimsoll_model::plan::Verification;
use plimsoll_model::verify::{Criterion, Met, VERIFY_SCHEMA, Verified, Window};
use plimsoll_report::{TextOptions, json, verify_text};

fn criterion(id: &str, entity: &str, ok: Met, says: &str) -> Criterion {
    Criterion { id: id.into(), entity: entity.parse().unwrap(), ok, says: says.into() }
}

fn well() -> Verified {
    Verified {
        schema: VERIFY_SCHEMA.into(),
        generated_for: Some("2025-12-03T18:42:00Z".parse().unwrap()),
        cluster: Cluster {
            version: Some("4.18.14".into()),
            platform: Some("BareMetal".into()),
            control_plane_nodes: 3,
            worker_nodes: 2,
            ..Cluster::default()
        },
        sources: vec!["kube:lab".into()],
        verified: true,
        says: "everything held for 600 s".into(),
        window: Some(Window {
            dwell_seconds: 600,
            held_seconds: 612,
            looks: 21,
            failed_before: Vec::new(),
        }),
        criteria: vec![
            criterion("etcd-members", "ClusterOperator/etcd", Met::Yes, "3 members are available"),
            criterion("node-ready", "Node/master-0", Met::Yes, "Ready=True"),
            criterion("node-ready", "Node/master-1", Met::Yes, "Ready=True"),
        ],
        by_hand: Vec::new(),
        notes: Vec::new(),
    }
}

fn ill() -> Verified {
    let mut ill = well();
    ill.verified = false;
    ill.says = "2 criteria are not met, 1 is not known".into();
    ill.criteria = vec![
        criterion(
            "no-pending-requests",
            "Cluster/cluster",
            Met::Unknown,
            "signing requests were not listed",
        ),
        criterion("node-ready", "Node/master-0", Met::Yes, "Ready=True"),
        criterion(
            "node-ready",
            "Node/master-1",
            Met::No,
            "Ready=Unknown NodeStatusUnknown: Kubelet stopped posting node status.",
        ),
        criterion("of-a-later-version", "Node/x", Met::No, "a criterion without a name"),
        criterion(
            "operator-not-degraded",
            "ClusterOperator/network",
            Met::No,
            "Degraded=True VSphereError: VIP is in no machine network",
        ),
    ];
    ill.window = Some(Window {
        dwell_seconds: 600,
        held_seconds: 0,
        looks: 60,
        failed_before: vec!["etcd-members".into()],
    });
    ill.by_hand = vec![
        Verification { run: Some("oc get nodes".into()), expect: "all Ready".into() },
        Verification { run: None, expect: "the mirror pods of <name> are back".into() },
    ];
    ill.notes =
        vec!["The first hour ended 30 minutes ago: what is not well needs a look now.".into()];
    ill
}

#[test]
fn a_cluster_that_is_well_is_told_in_a_few_lines() {
    insta::assert_snapshot!(verify_text(&well(), &TextOptions::default()));
}

#[test]
fn what_is_not_met_is_told_one_by_one() {
    insta::assert_snapshot!(verify_text(&ill(), &TextOptions::default()));
}

#[test]
fn a_narrow_terminal_holds_it() {
    let options = TextOptions { width: 50, ..TextOptions::default() };
    let shown = verify_text(&ill(), &options);
    assert!(shown.lines().all(|line| line.chars().count() <= 50), "{shown}");
}

#[test]
fn json_follows_its_schema() {
    let schema = jsonschema::validator_for(&Verified::json_schema()).unwrap();
    for verified in [well(), ill()] {
        let shown: serde_json::Value = serde_json::from_str(&json(&verified)).unwrap();
        schema.validate(&shown).map_err(|error| error.to_string()).unwrap();
    }
    insta::assert_snapshot!(json(&ill()));
}
