//! The same gather says the same, whatever form it comes in.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::collections::BTreeSet;
use std::path::PathBuf;

use common::*;
use plimsoll_model::snapshot::{Collected, Form, GapStatus, ResourceNeed};
use plimsoll_model::{LogOrigin, Snapshot};
use plimsoll_sources::{NoProgress, Progress, read, read_tree};

/// All of a snapshot but the names of its sources, to be compared.
fn fingerprint(snapshot: &Snapshot) -> String {
    let mut snapshot = snapshot.clone();
    for source in &mut snapshot.sources {
        source.name = String::new();
    }
    format!("{snapshot:#?}")
}

#[test]
fn every_form_gives_the_same_snapshot() {
    let expected = fingerprint(&read_tree("x", &sample(), &needs()));
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &sample());
    let of_folder = read(&[folder.path().into()], &needs(), &NoProgress).unwrap();
    assert_eq!(fingerprint(&of_folder), expected);
    let tar = tar(&sample());
    for (form, data) in [
        ("tar", tar.clone()),
        ("gzip", gzip(&tar)),
        ("xz", xz(&tar)),
        ("zstd", zstd::encode_all(tar.as_slice(), 3).unwrap()),
    ] {
        // The name says nothing, or lies.
        for name in ["must-gather", "must-gather.tar.gz", "must-gather.log"] {
            let snapshot = read_bytes(name, &data).unwrap();
            assert_eq!(fingerprint(&snapshot), expected, "{form} as {name}");
        }
    }
}

#[test]
fn a_gather_is_read_as_it_is() {
    let snapshot = read_tree("must-gather", &sample(), &needs());
    assert_eq!(gaps(&snapshot), [""; 0]);
    let source = &snapshot.sources[0];
    assert!(source.complete);
    assert_eq!((source.kind.as_str(), source.files), ("must-gather", sample().len() as u64));
    assert_eq!(snapshot.now.unwrap().to_string(), "2024-10-24T14:45:15Z");
    let documents: Vec<_> =
        snapshot.documents.iter().map(|d| (&*d.plural, &*d.path, d.first_line)).collect();
    assert_eq!(
        documents,
        [
            ("nodes", "image/cluster-scoped-resources/core/nodes/m-0.yaml", 1),
            ("pods", "image/namespaces/n/core/pods.yaml", 14),
            ("pods", "image/namespaces/n/pods/p/p.yaml", 1),
        ]
    );
    assert!(snapshot.documents.iter().all(|d| !d.text.contains("manager: x")));
    assert_eq!(snapshot.logs.len(), 4);
    assert_eq!(snapshot.logs.iter().filter(|log| log.start.is_none()).count(), 1, "the empty one");
    let files: Vec<_> = snapshot.files.keys().map(|(_, path)| path.as_str()).collect();
    assert_eq!(files, ["image/etcd_info/member_list.json", "image/version"]);
    let list = |group: &str, plural: &str, namespace: Option<&str>, path: &str| Collected {
        group: group.into(),
        plural: plural.into(),
        namespace: namespace.map(Into::into),
        form: if path.is_empty() { Form::Objects } else { Form::List },
        source: 0,
        path: path.into(),
    };
    let operators = "image/cluster-scoped-resources/config.openshift.io/clusteroperators.yaml";
    assert_eq!(
        snapshot.collected,
        BTreeSet::from([
            list("core", "nodes", None, ""),
            list("core", "pods", Some("n"), ""),
            list("core", "pods", Some("n"), "image/namespaces/n/core/pods.yaml"),
            list("config.openshift.io", "clusteroperators", None, operators),
        ])
    );
}

#[test]
fn hits_know_line_time_host_and_captures() {
    let snapshot = read_tree("must-gather", &sample(), &needs());
    let hits: Vec<_> = snapshot
        .hits
        .iter()
        .map(|hit| {
            let captures: Vec<_> = hit.captures.iter().map(|(k, v)| format!("{k}={v}")).collect();
            (
                needs().signatures[hit.signature].id.clone(),
                snapshot.logs[hit.log].path.rsplit('/').next().unwrap().to_string(),
                hit.host.clone().unwrap_or_default(),
                captures.join(" "),
                (hit.count, hit.first.line, hit.last.line),
                hit.last.time.unwrap().to_string(),
            )
        })
        .collect();
    let hit = |id: &str, log: &str, host: &str, captures: &str, lines, time: &str| {
        (id.into(), log.into(), host.into(), captures.into(), lines, time.into())
    };
    assert_eq!(
        hits,
        [
            hit("anonymous", "current.log", "", "", (1, 3, 3), "2024-10-24T14:00:02Z"),
            hit("anonymous", "0.log.20241024-130000.gz", "", "", (1, 1, 1), "2024-10-24T13:00:00Z"),
            hit(
                "refused",
                "current.log",
                "",
                "address=10.0.0.1 port=6443",
                (2, 2, 4),
                "2024-10-24T14:00:03Z"
            ),
            hit(
                "kubelet-only",
                "kubelet_service.log",
                "m-0",
                "",
                (1, 1, 1),
                "2024-10-24T12:57:27.5Z"
            ),
            hit(
                "kubelet-only",
                "kubelet_service.log",
                "m-1",
                "",
                (1, 3, 3),
                "2024-10-24T12:50:00.5Z"
            ),
        ]
    );
    let kubelet = snapshot.logs.iter().find(|log| !log.hosts.is_empty()).unwrap();
    assert_eq!(kubelet.hosts, ["m-0", "m-1"]);
}

#[test]
fn leading_folders_and_several_images_are_merged() {
    let files = tree(&[
        (
            "a/b/c/image-1/cluster-scoped-resources/core/nodes/m-0.yaml",
            "kind: Node\nmetadata:\n  name: m-0\n  uid: a\n",
        ),
        (
            "a/b/c/image-2/cluster-scoped-resources/core/nodes/m-1.yaml",
            "kind: Node\nmetadata:\n  name: m-1\n  uid: b\n",
        ),
        (
            "a/b/c/image-2/cluster-scoped-resources/core/nodes/m-0.yaml",
            "kind: Node\nmetadata:\n  name: m-0\n  uid: a\n",
        ),
    ]);
    let snapshot = read_tree("x", &files, &needs());
    let paths: Vec<_> = snapshot.documents.iter().map(|d| &*d.path).collect();
    assert_eq!(
        paths,
        [
            "a/b/c/image-1/cluster-scoped-resources/core/nodes/m-0.yaml",
            "a/b/c/image-2/cluster-scoped-resources/core/nodes/m-1.yaml",
        ]
    );
}

#[test]
fn of_duplicates_the_newest_is_kept_and_then_the_file_of_its_own() {
    let texts = |files: &[(&str, String)]| {
        let files = files.iter().map(|(p, t)| ((*p).to_string(), t.clone().into())).collect();
        let snapshot = read_tree("x", &files, &needs());
        snapshot.documents.iter().map(|d| d.path.to_string()).collect::<Vec<_>>()
    };
    let list = "namespaces/n/core/pods.yaml";
    let own = "namespaces/n/pods/p/p.yaml";
    assert_eq!(texts(&[(list, pod_list(&[("p", "u", 5)])), (own, pod("p", "u", 5))]), [own]);
    assert_eq!(texts(&[(list, pod_list(&[("p", "u", 10)])), (own, pod("p", "u", 9))]), [list]);
    let nameless = "kind: Pod\nmetadata:\n  name: p\n".to_string();
    assert_eq!(texts(&[(list, pod_list(&[("p", "u", 5)])), (own, nameless.clone())]), [list]);
    assert_eq!(
        texts(&[
            ("a/namespaces/n/pods/p/p.yaml", nameless.clone()),
            ("b/namespaces/n/pods/p/p.yaml", nameless)
        ]),
        ["a/namespaces/n/pods/p/p.yaml"]
    );
}

#[test]
fn duplicates_are_resolved_across_sources_too() {
    let old = tar(&tree(&[("namespaces/n/pods/p/p.yaml", &pod("p", "u", 9))]));
    let new = tar(&tree(&[("namespaces/n/pods/p/p.yaml", &pod("p", "u", 10))]));
    let (_a, old) = file("old.tar", &old);
    let (_b, new) = file("new.tar", &new);
    let snapshot = read(&[old, new], &needs(), &NoProgress).unwrap();
    assert_eq!(snapshot.sources.len(), 2);
    assert_eq!(snapshot.documents.iter().map(|d| d.source).collect::<Vec<_>>(), [1]);
}

#[test]
fn names_and_namespaces_narrow_what_is_kept() {
    let mut needs = needs();
    needs.resources = vec![
        ResourceNeed { names: vec!["q".into()], drop: vec!["spec".into()], ..need("core", "pods") },
        ResourceNeed { namespaces: vec!["other".into()], ..need("core", "configmaps") },
    ];
    let map = "kind: ConfigMap\nmetadata:\n  name: c\n";
    let mut files = sample();
    files.insert("image/namespaces/n/core/configmaps/c.yaml".into(), map.into());
    files.insert("image/namespaces/other/core/configmaps/c.yaml".into(), map.into());
    let snapshot = read_tree("x", &files, &needs);
    let kept: Vec<_> =
        snapshot.documents.iter().map(|d| (&*d.plural, d.namespace.as_deref())).collect();
    assert_eq!(kept, [("pods", Some("n")), ("configmaps", Some("other"))]);
    assert!(!snapshot.documents[0].text.contains("spec"));
}

#[test]
fn a_list_in_the_place_of_an_object_and_an_object_in_that_of_a_list() {
    let files = tree(&[
        (
            "cluster-scoped-resources/core/nodes/all.yaml",
            "items:\n- kind: Node\n  metadata:\n    name: a\n- kind: Node\n  metadata:\n    name: b\nkind: List\n",
        ),
        (
            "cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
            "kind: ClusterOperator\nmetadata:\n  name: etcd\n",
        ),
    ]);
    let snapshot = read_tree("x", &files, &needs());
    assert_eq!(snapshot.documents.len(), 3);
    assert!(snapshot.collected.iter().all(|c| c.form == Form::Objects), "neither proves absence");
}

#[test]
fn archives_inside_are_walked() {
    let inner = gzip(&tar(&sample()));
    let middle = tar(&Tree::from([("inner.tgz".to_string(), inner)]));
    let files = Tree::from([("insights-data/insights-1.tar".to_string(), middle)]);
    let snapshot = read_tree("x", &files, &needs());
    assert_eq!(gaps(&snapshot), [""; 0]);
    assert_eq!(snapshot.documents.len(), 3);
    assert_eq!(
        &*snapshot.documents[2].path,
        "insights-data/insights-1.tar!/inner.tgz!/image/namespaces/n/pods/p/p.yaml"
    );
    assert_eq!(snapshot.hits.len(), 5);
}

#[test]
fn archives_are_walked_three_deep_and_no_deeper() {
    let mut data = tar(&sample());
    for _ in 0..4 {
        data = tar(&Tree::from([("in.tar".to_string(), data)]));
    }
    let files = Tree::from([("a/namespaces/n/in.tar".to_string(), data)]);
    let snapshot = read_tree("x", &files, &needs());
    assert!(snapshot.documents.is_empty());
    assert!(has_gap(&snapshot, GapStatus::Unreadable, "nested more than 3 deep"));
}

#[test]
fn a_text_file_is_a_console_log() {
    let text = "Oct 24 12:00:00 m-0 kernel: User \"system:anonymous\"\n";
    for (name, data) in [
        ("m-0.console.log", text.as_bytes().to_vec()),
        ("m-0.console.log.gz", gzip(text.as_bytes())),
    ] {
        let snapshot = read_bytes(name, &data).unwrap();
        assert_eq!(snapshot.sources[0].kind, "console");
        assert_eq!(snapshot.logs[0].origin, LogOrigin::Console { name: "m-0.console".into() });
        assert_eq!(snapshot.hits[0].host.as_deref(), Some("m-0"));
        assert_eq!(snapshot.hits[0].first.time, None, "no year without a gather");
    }
}

#[test]
fn a_text_file_in_the_form_of_a_journal_is_one() {
    let text = "-- Logs begin at Thu 2024-10-24. --\nOct 24 12:00:00 m-0 systemd[1]: kubelet.service: NEEDLE\n";
    for snapshot in [
        read_bytes("m-0.log", text.as_bytes()).unwrap(),
        read_tree("x", &tree(&[("m-0.log", text)]), &needs()),
    ] {
        assert_eq!(snapshot.sources[0].kind, "journal");
        let hit = &snapshot.hits[0];
        let kubelet = LogOrigin::Unit { unit: "kubelet".into(), node: None };
        assert_eq!(snapshot.logs[hit.log].origin, kubelet);
        assert_eq!(hit.host.as_deref(), Some("m-0"));
    }
}

#[test]
fn now_is_the_end_of_the_newest_log_when_there_is_no_timestamp() {
    let mut files = sample();
    files.remove("timestamp");
    let snapshot = read_tree("x", &files, &needs());
    assert_eq!(snapshot.now.unwrap().to_string(), "2024-10-24T14:00:03Z");
}

#[test]
fn a_year_turns_between_the_log_and_the_gather() {
    let files = tree(&[
        ("timestamp", "2025-01-01 00:10:00 +0000 UTC m=+0.34\n"),
        (
            "host_service_logs/masters/kubelet_service.log",
            "Dec 31 23:59:00.0 m-0 kubelet[1]: NEEDLE\nJan  1 00:01:00.0 m-0 kubelet[1]: NEEDLE\n",
        ),
    ]);
    let hit = &read_tree("x", &files, &needs()).hits[0];
    assert_eq!(hit.first.time.unwrap().to_string(), "2024-12-31T23:59:00Z");
    assert_eq!(hit.last.time.unwrap().to_string(), "2025-01-01T00:01:00Z");
}

#[test]
fn too_many_sets_of_captures_end_in_one_bucket() {
    let log: String =
        (0..100).map(|n| format!("dial tcp 10.0.0.{n}:80: connection refused\n")).collect();
    let files = tree(&[("namespaces/n/pods/p/c/c/logs/current.log", &log)]);
    let hits = read_tree("x", &files, &needs()).hits;
    assert_eq!(hits.len(), 65);
    assert_eq!((hits[0].captures.len(), hits[0].count, hits[0].first.line), (0, 36, 65));
    assert_eq!(hits.iter().map(|hit| hit.count).sum::<u64>(), 100);
}

#[test]
fn a_fallback_inspect_is_a_cut_gather_and_a_plain_inspect_is_not() {
    let files = tree(&[
        ("must-gather.local.1/timestamp", ""),
        (
            "must-gather.local.1/inspect.local.2/namespaces/n/core/pods.yaml",
            "items: []\nkind: List\n",
        ),
    ]);
    let snapshot = read_tree("x.tar.gz", &files, &needs());
    assert!(has_gap(&snapshot, GapStatus::Cut, "fell back to a partial inspect"));
    assert!(!snapshot.sources[0].complete);
    let files = tree(&[("inspect.local.2/namespaces/n/core/pods.yaml", "items: []\nkind: List\n")]);
    let snapshot = read_tree("x.tar.gz", &files, &needs());
    assert_eq!(gaps(&snapshot), [""; 0]);
    assert_eq!(snapshot.sources[0].kind, "inspect");
}

#[test]
fn a_part_of_a_gather_is_read_by_the_name_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &sample());
    let part = folder.path().join("image/namespaces");
    let snapshot = read(&[part], &needs(), &NoProgress).unwrap();
    assert_eq!(snapshot.documents.len(), 2);
    assert_eq!(&*snapshot.documents[1].path, "n/pods/p/p.yaml");
}

#[test]
fn progress_reaches_its_total() {
    use std::sync::atomic::{AtomicU64, Ordering};
    #[derive(Default)]
    struct Bar(AtomicU64, AtomicU64);
    impl Progress for Bar {
        fn start(&self, total: Option<u64>) {
            self.0.store(total.unwrap(), Ordering::Relaxed);
        }
        fn advance(&self, bytes: u64) {
            self.1.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &sample());
    let (_kept, archive) = file("x.tar.gz", &gzip(&tar(&sample())));
    let bar = Bar::default();
    read(&[folder.path().into(), archive], &needs(), &bar).unwrap();
    assert_eq!(bar.0.into_inner(), bar.1.into_inner());
}

#[test]
fn real_gathers_are_read_completely() {
    let folder =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/testdata/must-gather");
    if !folder.is_dir() {
        println!("skipped: the real samples are not on this machine");
        return;
    }
    for (name, now, pods, nodes, logs) in [
        ("must-gather-metal.tar.xz", "2021-09-14T14:44:22.408322048Z", 200, 6, 1200),
        ("must-gather-aws.tar.xz", "2021-08-03T10:14:13.632016778Z", 200, 6, 1100),
        ("must-gather-gcp-4.18.tar.xz", "2024-10-24T14:45:15.249541038Z", 300, 6, 1700),
    ] {
        let snapshot = read(&[folder.join(name)], &needs(), &NoProgress).unwrap();
        assert_eq!(gaps(&snapshot), [""; 0], "{name}");
        assert!(snapshot.sources[0].complete);
        assert!(snapshot.now.unwrap().to_string().starts_with(now), "{name}: {:?}", snapshot.now);
        let count =
            |plural: &str| snapshot.documents.iter().filter(|d| &*d.plural == plural).count();
        assert!(count("pods") >= pods, "{name}: {} pods", count("pods"));
        assert_eq!(count("nodes"), nodes, "{name}");
        assert!(count("clusteroperators") >= 28, "{name}");
        assert!(snapshot.logs.len() >= logs, "{name}: {} logs", snapshot.logs.len());
        assert!(!snapshot.hits.is_empty(), "{name}");
        let late = snapshot.now.unwrap() + jiff::SignedDuration::from_hours(1);
        assert!(snapshot.logs.iter().filter_map(|log| log.end).all(|end| end <= late), "{name}");
    }
}
