//! A cluster told by other sources than a must-gather: each alone, and mixed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::path::Path;

use plimsoll_lab::base::{SOURCE_NAMES, base};
use plimsoll_lab::edit::{apply, parse_edits};
use plimsoll_lab::{Tree, sources_of, write_folder};
use plimsoll_model::diagnosis::{Confidence, Verdict};
use plimsoll_model::snapshot::{GapStatus, Snapshot};
use plimsoll_model::{Diagnosis, EntityId, FactBase, Value};
use plimsoll_sources::{NoProgress, read, read_tree};
use support::PACK;

/// Base, what it is recognised as, and the cluster that it tells.
const KINDS: [(&str, &str, &str); 5] = [
    ("bootstrap-bundle", "log-bundle", "metal-installing"),
    ("agent-gather", "agent-gather", "metal-installing"),
    ("sosreport", "sosreport", "metal-3-2"),
    ("node-root", "node", "metal-3-2"),
    ("insights", "insights", "metal-3-2"),
];

/// The kubelet of master-1 has lost who it is.
const ANONYMOUS: &str = "journal kubelet master-1 from=-3h to=-1m every=30s klog=E \"reflector.go:158] \\\"Unhandled Error\\\" err=\\\"k8s.io/client-go/informers/factory.go:160: Failed to watch *v1.Node: failed to list *v1.Node: nodes \\\\\\\"master-1\\\\\\\" is forbidden: User \\\\\\\"system:anonymous\\\\\\\" cannot list resource \\\\\\\"nodes\\\\\\\" in API group \\\\\\\"\\\\\\\" at the cluster scope\\\"\"\n";

fn snapshot(name: &str, tree: &Tree) -> Snapshot {
    read_tree(name, tree, &plimsoll_engine::needs(&PACK))
}

fn facts(snapshot: &Snapshot) -> FactBase {
    plimsoll_engine::facts::extract(&PACK, snapshot, None).0
}

fn broken() -> Tree {
    let mut gather = base("metal-3-2").unwrap();
    apply(&mut gather, &parse_edits(ANONYMOUS, 1).unwrap()).unwrap();
    gather
}

fn roots(diagnosis: &Diagnosis) -> Vec<String> {
    diagnosis.roots.iter().map(|root| format!("{} {}", root.id, root.entity)).collect()
}

#[test]
fn every_source_is_known_for_what_it_is_and_blames_nothing_that_the_must_gather_does_not() {
    assert_eq!(KINDS.map(|(name, _, _)| name), SOURCE_NAMES);
    for (name, kind, cluster) in KINDS {
        // Only its name says when an insights archive was made.
        let saved_as = if name == "insights" { "insights-2025-12-03-184231" } else { name };
        let read = snapshot(saved_as, &base(name).unwrap());
        assert_eq!(read.sources[0].kind, kind);
        let bad: Vec<_> = read.sources[0]
            .gaps
            .iter()
            .filter(|gap| gap.status != GapStatus::NotCollected)
            .collect();
        assert!(bad.is_empty(), "{name}: {bad:?}");
        let diagnosis = plimsoll_engine::diagnose(&PACK, &read);
        let of_gather = support::diagnose(&base(cluster).unwrap());
        let known = roots(&of_gather);
        let seen = diagnosis.roots.iter().filter(|root| root.confidence != Confidence::Suspected);
        let seen: Vec<String> = seen.map(|root| format!("{} {}", root.id, root.entity)).collect();
        assert!(seen.iter().all(|root| known.contains(root)), "{name}: {seen:?}");
        // Journals alone are no proof of health; these two have the objects of the API as well.
        let has_objects = matches!(name, "insights" | "bootstrap-bundle");
        let expected = if has_objects { of_gather.verdict } else { Verdict::NotProvable };
        assert_eq!(diagnosis.verdict, expected, "{name}: {}", diagnosis.reason);
    }
}

/// A log can name anything. What it invents is bounded, and drives out nothing that is known.
#[test]
fn a_thousand_names_in_a_log_hide_no_known_host() {
    let line = |host: &str| {
        format!(
            "time=\"2025-12-03T17:50:00Z\" level=warning msg=\"  baremetalhost: {host}: registration error: x\"\n"
        )
    };
    let log = |hosts: &mut dyn Iterator<Item = String>| {
        let first =
            "time=\"2025-12-03T17:00:00Z\" level=debug msg=\"OpenShift Installer 4.18.14\"\n";
        first.to_string() + &hosts.map(|host| line(&host)).collect::<String>()
    };
    let mut tree = base("metal-3-2").unwrap();
    for try_number in 0..20 {
        let mut hosts = (0..50).map(|number| format!("a{try_number:02}{number:02}"));
        let path = format!("try-{try_number:02}/.openshift_install.log");
        tree.insert(path, log(&mut hosts).into_bytes());
    }
    let last = log(&mut ["worker-1".to_string()].into_iter());
    tree.insert("try-99/.openshift_install.log".into(), last.into_bytes());
    let (facts, problems) = plimsoll_engine::facts::extract(&PACK, &snapshot("x", &tree), None);
    let hosts: Vec<_> =
        facts.entities.iter().filter(|(id, _)| id.kind == "BareMetalHost").collect();
    assert!((500..600).contains(&hosts.len()), "{}", hosts.len());
    let (_, known) = hosts.iter().find(|(id, _)| id.name == "worker-1").unwrap();
    let said = known.facts["logs"].get("installer-names-host-error").unwrap();
    assert_eq!(said.get("count"), Some(&plimsoll_model::Value::Int(1)));
    assert_eq!(problems.iter().filter(|(_, gap)| gap.why.contains("more than 500")).count(), 1);
}

/// The installer's gather leaves the lists out, or empty, when no API answered it.
#[test]
fn a_log_bundle_without_objects_of_the_api_is_no_proof_of_health() {
    let whole = base("bootstrap-bundle").unwrap();
    let is_object = |path: &str| path.contains("/resources/");
    let without = |drop: &dyn Fn(&str) -> bool| -> Tree {
        whole.iter().filter(|(path, _)| !drop(path)).map(|(p, b)| (p.clone(), b.clone())).collect()
    };
    let journals = without(&is_object);
    let bootstrap = without(&|path| is_object(path) || path.contains("/control-plane/"));
    let mut emptied = bootstrap.clone();
    emptied.extend(whole.keys().filter(|path| is_object(path)).map(|p| (p.clone(), Vec::new())));
    for (name, tree) in [("journals", journals), ("bootstrap", bootstrap), ("emptied", emptied)] {
        let diagnosis = plimsoll_engine::diagnose(&PACK, &snapshot(name, &tree));
        assert_eq!(diagnosis.verdict, Verdict::NotProvable, "{name}: {}", diagnosis.reason);
        if name != "journals" {
            let said = "nothing is wrong in what could be read, but it lacks the ClusterVersion";
            assert!(diagnosis.reason.starts_with(said), "{name}: {}", diagnosis.reason);
        }
    }
}

#[test]
fn a_fault_in_a_journal_is_found_in_every_source_that_has_the_journal() {
    let gather = broken();
    for (name, tree) in [
        ("log-bundle", sources_of::log_bundle(&gather)),
        ("agent-gather", sources_of::agent_gather(&gather, "master-1")),
        ("sosreport", sources_of::sosreport(&gather, "master-1")),
    ] {
        let diagnosis = plimsoll_engine::diagnose(&PACK, &snapshot(name, &tree));
        assert_eq!(roots(&diagnosis), ["kubelet-anonymous Node/master-1"], "{name}");
        let proof = &diagnosis.roots[0].evidence[0];
        assert_eq!(proof.source, name);
        let file = tree.get(&proof.path);
        let is_gzip = proof.path.ends_with(".gz");
        if let Some(text) = file.filter(|_| !is_gzip) {
            let line = usize::try_from(proof.line.unwrap()).unwrap() - 1;
            let text = String::from_utf8_lossy(text);
            assert!(text.lines().nth(line).unwrap().contains("system:anonymous"), "{name}");
        }
    }
    let of_other = sources_of::sosreport(&gather, "master-0");
    let none = roots(&plimsoll_engine::diagnose(&PACK, &snapshot("s", &of_other)));
    assert_eq!(none, Vec::<String>::new());
}

#[test]
fn a_node_root_tells_what_is_on_the_disk() {
    let base = facts(&snapshot("node", &base("node-root").unwrap()));
    let node = &base.entities[&EntityId::cluster_scoped("Node", "master-0")];
    let fact = |path: &str| {
        let mut keys = path.split('.');
        let first = node.facts.get(keys.next().unwrap());
        first.and_then(|value| keys.try_fold(value, |value, key| value.get(key))).cloned()
    };
    let text = |path: &str| fact(path).and_then(|value| value.text().map(str::to_string));
    assert_eq!(fact("kubeletCert.exists"), Some(Value::Bool(true)));
    assert!(text("kubeletCert.subject").unwrap().contains("system:node:master-0"));
    assert!(matches!(fact("kubeletCert.notAfter"), Some(Value::Time(_))));
    assert_eq!(text("kubeletUser").unwrap(), "system:node:master-0");
    assert_eq!(fact("bootstrapKubeconfig.exists"), Some(Value::Bool(true)));
    assert_eq!(fact("apiserverUrlEnv.exists"), Some(Value::Bool(true)));
    assert!(fact("manifests").unwrap().texts().any(|name| name == "etcd-pod.yaml"));
    assert_eq!(fact("cni"), Some(vec!["00-multus.conf"].into()));
    assert!(text("diskConfig").unwrap().starts_with("rendered-master-"));
    assert_eq!(fact("mcsContent"), fact("diskConfig"));
    assert!(node.provenance["kubeletCert"][0].path.starts_with("var/lib/kubelet/pki/"));
}

#[test]
fn a_certificate_on_a_disk_is_judged_by_a_time_that_must_be_known() {
    let mut root = base("node-root").unwrap();
    root.retain(|path, _| path != "etc/kubernetes/kubeconfig" && !path.starts_with("var/log"));
    let read = snapshot("node", &root);
    assert_eq!(read.now, None);
    let diagnosis = plimsoll_engine::diagnose(&PACK, &read);
    assert_eq!(diagnosis.verdict, Verdict::NotProvable);
    assert!(diagnosis.reason.contains("--now"), "{}", diagnosis.reason);
    assert!(diagnosis.sources[0].gaps.iter().any(|gap| gap.contains("--now")));

    let mut needs = plimsoll_engine::needs(&PACK);
    needs.now = Some("2027-01-01T00:00:00Z".parse().unwrap());
    let diagnosis = plimsoll_engine::diagnose(&PACK, &read_tree("node", &root, &needs));
    let both = ["bootstrap-credential-missing Node/master-0", "kubelet-cert-expired Node/master-0"];
    let mut found = roots(&diagnosis);
    found.sort();
    assert_eq!(found, both);
}

#[test]
fn what_is_not_on_the_disk_is_told_only_where_all_of_it_was_seen() {
    let mut root = base("node-root").unwrap();
    root.retain(|path, _| !path.contains("pki/") && !path.contains("cni/"));
    let node = EntityId::cluster_scoped("Node", "master-0");
    let of = |tree: &Tree| facts(&snapshot("node", tree)).entities[&node].facts.clone();
    let seen = of(&root);
    assert_eq!(seen["kubeletCert"].get("exists"), Some(&Value::Bool(false)));
    assert_eq!(seen["cni"], Value::List(vec![]));
    root.retain(|path, _| !path.starts_with("var/lib/kubelet/"));
    assert!(!of(&root).contains_key("kubeletCert"));
    let report = of(&base("sosreport").unwrap());
    assert!(!report.contains_key("cni") && !report.contains_key("bootstrapKubeconfig"));
    assert_eq!(report["clock"].get("synchronised"), Some(&Value::Bool(true)));
    assert!(format!("{:?}", report["disks"]).contains("/var"));
}

#[test]
fn no_credential_is_kept() {
    for name in SOURCE_NAMES {
        let read = snapshot(name, &base(name).unwrap());
        for (path, bytes) in &read.files {
            let text = String::from_utf8_lossy(bytes);
            assert!(!text.contains("PRIVATE KEY") && !text.contains("not-a-real"), "{path:?}");
        }
    }
}

#[test]
fn several_sources_describe_one_cluster() {
    let gather = broken();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, tree: &Tree| {
        let path = folder.path().join(name);
        write_folder(tree, &path).unwrap();
        path
    };
    let mut healthy_journals = gather.clone();
    healthy_journals.retain(|path, _| !path.starts_with("host_service_logs/"));
    let root = write("root", &sources_of::node_root(&gather, "master-1"));
    let node = Path::new(&format!("node:{}", root.display())).to_path_buf();
    let paths = [
        write("must-gather.local.1", &healthy_journals),
        write("sos", &sources_of::sosreport(&gather, "master-1")),
        node,
    ];
    let read = read(&paths, &plimsoll_engine::needs(&PACK), &NoProgress).unwrap();
    let kinds: Vec<&str> = read.sources.iter().map(|source| source.kind.as_str()).collect();
    assert_eq!(kinds, ["must-gather", "sosreport", "node"]);
    let master = &facts(&read).entities[&EntityId::cluster_scoped("Node", "master-1")];
    assert!(
        ["ready", "clock", "kubeletCert", "logs"].iter().all(|f| master.facts.contains_key(*f))
    );
    let diagnosis = plimsoll_engine::diagnose(&PACK, &read);
    assert_eq!(roots(&diagnosis), ["kubelet-anonymous Node/master-1"]);
}
