//! The terminal answer, as a tired engineer reads it.

mod support;

use plimsoll_report::{EvidenceShown, TextOptions, text};

fn plain(d: &plimsoll_model::Diagnosis) -> String {
    text(d, &TextOptions::default())
}

fn assert_fits(shown: &str, width: usize) {
    for line in shown.lines() {
        assert!(line.chars().count() <= width, "more than {width} columns: {line}");
    }
}

#[test]
fn three_roots_fit_on_one_screen() {
    let shown = plain(&support::example());
    assert_fits(&shown, 80);
    insta::assert_snapshot!(shown);
    let mut without_deadlock = support::example();
    without_deadlock.deadlocks.clear();
    let lines = plain(&without_deadlock).lines().count();
    assert!(lines <= 59, "{lines} lines");
}

#[test]
fn a_healthy_cluster_takes_five_lines() {
    let shown = plain(&support::healthy());
    assert!(shown.lines().filter(|line| !line.is_empty()).count() <= 4);
    insta::assert_snapshot!(shown);
}

#[test]
fn not_provable_says_what_is_missing_and_what_to_do() {
    let shown = plain(&support::not_provable());
    assert_fits(&shown, 80);
    insta::assert_snapshot!(shown);
}

#[test]
fn evidence_on_demand_is_complete() {
    let options = TextOptions { evidence: EvidenceShown::Root(1), ..TextOptions::default() };
    let shown = text(&support::example(), &options);
    assert_fits(&shown, 80);
    assert_eq!(shown.matches("kubelet_service.log:").count(), 6);
    assert!(!shown.contains("--evidence 1"));
    let all = TextOptions { evidence: EvidenceShown::All, ..TextOptions::default() };
    let joined: String = text(&support::example(), &all).split_whitespace().collect();
    assert!(joined.contains("/config.openshift.io/infrastructures/cluster.yaml"));
}

#[test]
fn colour_changes_nothing_but_colour() {
    let example = support::example();
    let colored = text(&example, &TextOptions { color: true, ..TextOptions::default() });
    assert!(colored.contains("\u{1b}["));
    let mut bare = String::new();
    for (at, part) in colored.split("\u{1b}[").enumerate() {
        bare.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(bare, plain(&example));
}

#[test]
fn a_narrow_terminal_is_respected() {
    let options = TextOptions { width: 50, ..TextOptions::default() };
    let shown = text(&support::example(), &options);
    assert_fits(&shown, 50);
    insta::assert_snapshot!(shown);
}

#[test]
fn a_state_with_two_causes_is_drawn_once_under_the_shallower() {
    let mut d = support::example();
    let kubelet = ("kubelet-anonymous", "Node/master-1");
    let etcd = ("etcd-operand-missing", "ClusterOperator/etcd");
    d.edges.push(support::edge(kubelet, etcd, "Directly as well."));
    let shown = plain(&d);
    assert_eq!(shown.matches("etcd-operand-missing").count(), 1);
    assert!(shown.contains("\n   ├─ etcd-operand-missing "), "{shown}");
}

#[test]
fn a_tree_that_is_too_large_is_cut_and_says_so() {
    let mut d = support::example();
    let name = |n: usize| format!("effect-number-{n:02}");
    for n in 0..30 {
        let (from, to) = (name(n), name(n + 1));
        d.edges.push(support::edge((&from, "Node/master-1"), (&to, "Node/master-1"), ""));
    }
    d.edges.push(support::edge(
        ("kubelet-anonymous", "Node/master-1"),
        (&name(0), "Node/master-1"),
        "",
    ));
    let shown = plain(&d);
    assert_fits(&shown, 80);
    assert!(shown.contains("… and 27 more (--output html shows all)"), "{shown}");
    assert!(plimsoll_report::html(&d).contains(&name(30)));
}

#[test]
fn a_root_that_nobody_saw_says_so() {
    let mut d = support::example();
    d.roots[2].evidence.clear();
    assert!(plain(&d).contains("proof  not seen itself; it explains best what is seen"));
}
