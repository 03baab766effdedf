//! The reader of archives takes every base for what it is: a complete gather.

use plimsoll_lab::base::{NAMES, base};
use plimsoll_lab::edit::gather_time;
use plimsoll_lab::tree::Tree;
use plimsoll_model::snapshot::{GapStatus, Needs, ResourceNeed, Signature, Snapshot};

fn needs() -> Needs {
    let resource = |group: &str, plural: &str| ResourceNeed {
        group: group.into(),
        plural: plural.into(),
        namespaces: Vec::new(),
        names: Vec::new(),
        drop: Vec::new(),
    };
    Needs {
        now: None,
        resources: vec![
            resource("config.openshift.io", "clusteroperators"),
            resource("core", "nodes"),
            resource("core", "pods"),
            resource("machineconfiguration.openshift.io", "machineconfigpools"),
        ],
        signatures: vec![Signature {
            id: "node-not-found".into(),
            contains: vec!["not found".into()],
            pattern: None,
            logs: vec!["unit/kubelet".into()],
        }],
        files: vec!["etcd_info/member_list.json".into()],
    }
}

fn read(name: &str, tree: &Tree) -> Snapshot {
    plimsoll_sources::read_tree(name, tree, &needs())
}

#[test]
fn every_base_reads_without_a_cut_or_an_unreadable_file() {
    for name in NAMES {
        let tree = base(name).unwrap();
        let snapshot = read(name, &tree);
        assert_eq!(snapshot.now, gather_time(&tree), "{name}");
        let gaps = &snapshot.sources[0].gaps;
        assert!(gaps.iter().all(|gap| gap.status == GapStatus::NotCollected), "{name}: {gaps:?}");
        let count =
            |plural: &str| snapshot.documents.iter().filter(|d| &*d.plural == plural).count();
        assert!(count("clusteroperators") >= 33, "{name}");
        assert!(count("nodes") > 0 && count("pods") > 50, "{name}");
        assert_eq!(snapshot.files.len(), 1, "{name}");
    }
}

#[test]
fn the_noise_of_the_first_boot_is_found_in_the_journal() {
    let snapshot = read("metal-3-2", &base("metal-3-2").unwrap());
    let hosts: Vec<_> = snapshot.hits.iter().filter_map(|hit| hit.host.as_deref()).collect();
    assert_eq!(hosts, ["master-0", "master-1", "master-2"]);
    let first = snapshot.hits[0].first.time.unwrap();
    assert_eq!(first.to_string().get(..16), Some("2025-12-02T19:02"));
}
