use plimsoll_model::snapshot::SourceInfo;
use plimsoll_model::{Entity, EntityId, FactBase, Snapshot, Value};

use super::derive;

fn facts(files: &[(&str, &str)]) -> (FactBase, Vec<String>) {
    let mut snapshot = Snapshot { sources: vec![SourceInfo::default()], ..Snapshot::default() };
    for (path, text) in files {
        snapshot.files.insert((0, (*path).into()), text.as_bytes().to_vec());
    }
    let mut base = FactBase::default();
    for (name, address) in [("m0", "192.0.2.20"), ("m1", "192.0.2.21"), ("m2", "192.0.2.22")] {
        let node: &mut Entity =
            base.entities.entry(EntityId::cluster_scoped("Node", name)).or_default();
        node.derive("addresses", vec![address], Vec::new());
        node.derive("subnets", vec!["192.0.2.0/24"], Vec::new());
    }
    let mut problems = Vec::new();
    derive(&snapshot, &mut base, &mut problems);
    (base, problems.into_iter().map(|(_, gap)| gap.what).collect())
}

fn fact<'b>(base: &'b FactBase, kind: &str, name: &str, fact: &str) -> Option<&'b Value> {
    base.entities.get(&EntityId::cluster_scoped(kind, name))?.facts.get(fact)
}

fn probes(answers: &[&str]) -> String {
    let all = answers.join(",\n");
    format!("{{\"schema\": \"plimsoll.probes/v1\",\n\"answers\": [\n{all}]}}")
}

fn tcp(target: &str, vantage: &str, result: &str) -> String {
    format!(
        r#"{{"id": "tcp/{target}", "target": "{target}", "vantage": "{vantage}",
        "time": "2026-03-01T12:00:00Z", "result": {result}}}"#
    )
}

const OPEN: &str = r#"{"is": "open"}"#;
const SILENT: &str = r#"{"is": "unreached", "why": "timed-out"}"#;

#[test]
fn ports_of_etcd_are_told_of_masters_that_answer_otherwise() {
    let blocked = |answers: &[String]| {
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let (base, _) = facts(&[("c/probes/probes.json", &probes(&answers))]);
        fact(&base, "Node", "m1", "etcdPortsBlocked").cloned()
    };
    let m1 = |port: u16, vantage: &str, result: &str| {
        let mut answer = tcp(&format!("192.0.2.21:{port}"), vantage, result);
        answer.insert_str(1, r#""address": "192.0.2.21", "#);
        answer
    };
    let refused = r#"{"is": "unreached", "why": "refused"}"#;
    let (master, outside) = ("node/m0", "workstation");
    let kubelet = m1(10250, master, OPEN);
    let peer = m1(2380, master, SILENT);
    let expected = Some(vec!["2380 from m0: timed-out"].into());
    assert_eq!(blocked(&[kubelet.clone(), peer.clone(), m1(2379, master, OPEN)]), expected);
    assert_eq!(blocked(&[peer]), None, "it may be away");
    assert_eq!(
        blocked(&[kubelet.clone(), m1(2380, master, refused)]),
        Some(Value::List(Vec::new()))
    );
    let from_outside = [m1(10250, outside, OPEN), m1(2380, outside, SILENT)];
    assert_eq!(blocked(&from_outside), None, "nobody outside has to reach it");
    assert_eq!(blocked(&[kubelet]), None);
}

#[test]
fn the_last_word_of_a_way_counts() {
    let api = |attempts: &str| {
        let text = format!(r#"{{"schema": "plimsoll.api/v1", "attempts": [{attempts}]}}"#);
        let (base, _) = facts(&[("c/probes/api.json", &text)]);
        let of = |key: &str| fact(&base, "Cluster", "cluster", "api")?.get(key).cloned();
        (of("answers"), of("usual"), of("why").and_then(|why| why.text().map(str::to_string)))
    };
    let usual = r#"{"vantage": "kube:lab", "server": "https://a:6443"}"#;
    let failed = r#"{"vantage": "kube:lab", "server": "https://a:6443", "why": "no"}"#;
    let other = r#"{"vantage": "control plane at b", "server": "https://b:6443"}"#;
    let told = |answers: bool, usual: bool, why: &str| {
        (Some(answers.into()), Some(usual.into()), Some(why.to_string()))
    };
    assert_eq!(api(usual), told(true, true, ""));
    assert_eq!(api(failed), told(false, false, "no"));
    assert_eq!(api(&format!("{failed}, {other}")), told(true, false, "no"));
    assert_eq!(api(&format!("{usual}, {failed}")), told(false, false, "no"));
    assert_eq!(api(&format!("{failed}, {usual}")), told(true, true, "no"));
    assert_eq!(api(""), (None, None, None));
}

#[test]
fn a_machine_is_silent_only_where_another_is_heard() {
    let heard = |answers: &[String]| {
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let (base, _) = facts(&[("probes/probes.json", &probes(&answers))]);
        fact(&base, "Node", "m0", "answers").cloned()
    };
    let m0 = |port: u16, result| tcp(&format!("192.0.2.20:{port}"), "workstation", result);
    let m1 = |result| tcp("192.0.2.21:22", "workstation", result);
    let both = [m0(10250, SILENT), m0(22, SILENT)];
    assert_eq!(heard(&[m0(10250, OPEN)]), Some(true.into()));
    assert_eq!(heard(&[m0(10250, r#"{"is": "unreached", "why": "refused"}"#)]), Some(true.into()));
    assert_eq!(heard(&both), None);
    assert_eq!(heard(&[m0(22, SILENT), m1(OPEN)]), None, "one port may be closed on purpose");
    assert_eq!(heard(&[both.to_vec(), vec![m1(OPEN)]].concat()), Some(false.into()));
    assert_eq!(heard(&[both.to_vec(), vec![m1(SILENT)]].concat()), None);
    let inside = |target: &str, result| tcp(target, "node/m1", result);
    let silent = inside("192.0.2.20:10250", SILENT);
    let own = inside("192.0.2.21:22", OPEN);
    assert_eq!(heard(&[silent.clone(), own]), None, "m1 may be cut off itself");
    assert_eq!(heard(&[silent, inside("192.0.2.22:22", OPEN)]), Some(false.into()));
}

#[test]
fn evidence_has_line_time_and_vantage() {
    let (base, _) = facts(&[("probes/probes.json", &probes(&[&tcp("192.0.2.20:22", "w", OPEN)]))]);
    let node = &base.entities[&EntityId::cluster_scoped("Node", "m0")];
    let at = &node.provenance["answers"][0];
    assert_eq!(at.line, Some(3));
    assert!(at.time.is_some() && at.text.contains("from w: tcp/192.0.2.20:22"), "{}", at.text);
}

#[test]
fn what_is_no_such_thing_is_a_gap_and_odd_answers_are_left_out() {
    for text in ["", "{", "[]", r#"{"schema": "x"}"#, r#"{"schema": "plimsoll.probes/v1"}"#] {
        let (base, gaps) = facts(&[("probes/probes.json", text)]);
        assert_eq!(gaps, ["probes/probes.json"], "{text}");
        assert_eq!(fact(&base, "Cluster", "cluster", "probes"), None);
    }
    let odd = probes(&[
        "7",
        "{}",
        r#"{"id": "x", "target": "[", "vantage": "w", "result": {"is": "news"}}"#,
        r#"{"id": "x", "target": "h:99999", "vantage": "w", "result": {"is": "tls", "trust": []}}"#,
        r#"{"id": "x", "target": "h:6443", "vantage": "w", "result": {"is": "unreached", "why": {"other": "é"}}}"#,
    ]);
    let (base, gaps) = facts(&[("probes/probes.json", &odd), ("other/x.json", "{")]);
    assert!(gaps.is_empty());
    let api = fact(&base, "Cluster", "cluster", "probes").and_then(|probes| probes.get("api"));
    assert_eq!(api.and_then(|api| api.get("reach")?.text()), Some("other"));
}

#[test]
fn an_ingress_vip_is_known_by_the_name_it_was_asked_for() {
    let tls = |id: &str, target: &str| {
        format!(
            r#"{{"id": "tls/{id}", "target": "{target}", "vantage": "w", "result": {{"is": "tls",
            "leaf": {{"subject": "CN=*.apps.lab.example.com", "issuer": "CN=ingress-operator"}},
            "trust": {{"ingress-ca": "trusted"}}}}}}"#
        )
    };
    let name = tcp("api-int.lab.example.com:6443", "w", OPEN);
    let vip = tls("192.0.2.6:443/console.apps.lab.example.com", "192.0.2.6:443");
    let other = tls("192.0.2.7:443/registry.example.com", "192.0.2.7:443");
    let (base, _) = facts(&[("probes/probes.json", &probes(&[&name, &vip, &other]))]);
    let ingress = fact(&base, "Cluster", "cluster", "probes").and_then(|all| all.get("ingress"));
    let Some(Value::List(all)) = ingress.and_then(|door| door.get("endpoints")) else { panic!() };
    let hosts: Vec<_> = all.iter().filter_map(|one| one.get("host")?.text()).collect();
    assert_eq!(hosts, ["192.0.2.6"], "another site on 443 is no ingress");
    let trusted = all[0].get("tls").and_then(|tls| tls.get("trustedBy")).map(Value::texts);
    assert_eq!(trusted.map(Iterator::collect::<Vec<_>>), Some(vec!["ingress-ca"]));
}
