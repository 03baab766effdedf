//! Sources of an installation that never got as far as a must-gather.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Tree, file, gaps, gzip, need, read_bytes, signature, tar, tree, write, xz};
use plimsoll_model::snapshot::{Form, GapStatus, LogOrigin, Needs, Snapshot};
use plimsoll_sources::{NoProgress, read, read_tree};

const INSTALL_LOG: &str = "time=\"2025-12-03T14:00:00Z\" level=debug msg=\"OpenShift Installer 4.18.14\"\ntime=\"2025-12-03T14:00:00Z\" level=info msg=\"Waiting up to 20m0s (until 2:20PM UTC) for the Kubernetes API at https://api.demo.example.com:6443...\"\ntime=\"2025-12-03T14:20:00Z\" level=error msg=\"Bootstrap failed to complete: NEEDLE\"\n";

fn needs() -> Needs {
    Needs {
        now: None,
        resources: vec![
            need("core", "nodes"),
            need("core", "pods"),
            need("config.openshift.io", "clusteroperators"),
        ],
        signatures: vec![
            signature("installer", &["NEEDLE"], None, &["installer"]),
            signature("kubelet", &["NEEDLE"], None, &["unit/kubelet"]),
            signature("bootkube", &["NEEDLE"], None, &["unit/bootkube"]),
            signature("etcd", &["NEEDLE"], None, &["pod/openshift-etcd/etcd"]),
            signature("console", &["NEEDLE"], None, &["console"]),
        ],
        files: vec!["etc/kubernetes/kubeconfig".into()],
    }
}

const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn log_bundle() -> Tree {
    let root = "log-bundle-20251203142000";
    let at = |path: &str| format!("{root}/{path}");
    let mut bundle = Tree::new();
    let mut put = |path: String, text: &[u8]| drop(bundle.insert(path, text.to_vec()));
    put(at("bootstrap/network/hostname.txt"), b"localhost.localdomain\n");
    put(
        at("bootstrap/journals/bootkube.log"),
        b"Dec 03 14:10:00 localhost bootkube.sh[9]: NEEDLE\n",
    );
    put(at("bootstrap/journals/approve-csr.log"), b"-- No entries --\n");
    put(
        at("bootstrap/journals/journal.log.gz"),
        &gzip(b"Wed 2025-12-03 14:00:00 UTC localhost init.scope[1]: Starting bootkube.service\nWed 2025-12-03 14:10:00 UTC localhost bootkube.service[9]: NEEDLE\nWed 2025-12-03 14:11:00 UTC localhost kubelet.service[8]: NEEDLE\n"),
    );
    put(
        at(&format!("bootstrap/containers/etcd-{ID}.log")),
        b"{\"level\":\"warn\",\"ts\":\"2025-12-03T14:12:00Z\",\"msg\":\"NEEDLE\"}\n",
    );
    put(at(&format!("bootstrap/containers/etcd-{ID}.inspect")), br#"{"status": {"labels": {"io.kubernetes.pod.name": "etcd-bootstrap", "io.kubernetes.pod.namespace": "openshift-etcd"}}, "info": {"env": ["TOKEN=NEEDLE"]}}"#);
    put(at(&format!("bootstrap/pods/etcd-{}.log", &ID[..12])), b"NEEDLE\n");
    put(
        at(&format!("bootstrap/pods/etcd-{}.inspect", &ID[..12])),
        br#"{"io.kubernetes.pod.namespace": "other", "io.kubernetes.pod.name": "x"}"#,
    );
    put(at("control-plane/192.0.2.11/network/hostname.txt"), b"master-1\n");
    put(
        at("control-plane/192.0.2.11/journals/kubelet.log"),
        b"Dec 03 14:12:00 master-1 kubenswrapper[1]: NEEDLE\n",
    );
    put(
        at("control-plane/192.0.2.11/unit-status/node-image.service.log"),
        b"Dec 03 14:12:00 master-1 x[1]: y\n",
    );
    put(at("resources/nodes.json"), b"{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        {\n            \"kind\": \"Node\",\n            \"metadata\": {\"name\": \"master-1\", \"uid\": \"u\"}\n        }\n    ],\n    \"kind\": \"List\"\n}\n");
    put(at("resources/pods.json"), b"");
    put(at("serial/master-1-serial.log"), b"[    1.5] NEEDLE\n");
    put(at("rendered-assets/openshift/manifests/secret.yaml"), b"NEEDLE");
    bundle
}

fn hits(snapshot: &Snapshot) -> Vec<String> {
    let needs = needs();
    let shown = |hit: &plimsoll_model::LogHits| {
        let log = &snapshot.logs[hit.log];
        let path = log.path.rsplit_once('/').map_or(&*log.path, |(_, file)| file);
        let machine = log.machine.as_deref().unwrap_or("-");
        let id = &needs.signatures[hit.signature].id;
        format!("{id} {machine} {}:{}", path.replace(ID, "ID"), hit.first.line)
    };
    snapshot.hits.iter().map(shown).collect()
}

fn check_bundle(snapshot: &Snapshot, form: &str) {
    assert_eq!(snapshot.sources[0].kind, "log-bundle", "{form}");
    assert_eq!(
        hits(snapshot),
        [
            "kubelet bootstrap journal.log.gz:3",
            "kubelet master-1 kubelet.log:1",
            "bootkube bootstrap journal.log.gz:2",
            "etcd bootstrap etcd-ID.log:1",
            "console - master-1-serial.log:1",
        ],
        "{form}"
    );
    let nodes: Vec<_> = snapshot.documents.iter().map(|d| (&*d.plural, d.first_line)).collect();
    assert_eq!(nodes, [("nodes", 4)], "{form}");
    let listed = snapshot.collected.iter().find(|c| c.plural == "nodes").unwrap();
    assert_eq!((listed.form, listed.namespace.as_deref()), (Form::List, None), "{form}");
    assert_eq!(snapshot.now.unwrap().to_string(), "2025-12-03T14:20:00Z", "{form}");
    let not_there: Vec<_> =
        snapshot.sources[0].gaps.iter().map(|gap| (gap.status, &*gap.why)).collect();
    let why = "oc could not read it from the API";
    assert_eq!(not_there, [(GapStatus::NotCollected, why)], "{form}");
}

#[test]
fn a_log_bundle_is_read_in_every_form() {
    let bundle = log_bundle();
    check_bundle(&read_tree("x", &bundle, &needs()), "tree");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &bundle);
    let path = folder.path().join("log-bundle-20251203142000");
    check_bundle(&read(&[path], &needs(), &NoProgress).unwrap(), "folder");
    for (name, bytes) in [("a.tar.gz", gzip(&tar(&bundle))), ("b.tar.xz", xz(&tar(&bundle)))] {
        let (_folder, path) = file(name, &bytes);
        check_bundle(&read(&[path], &needs(), &NoProgress).unwrap(), name);
    }
    let outer = Tree::from([
        ("dir/auth/kubeconfig".into(), b"NEEDLE".to_vec()),
        ("dir/log-bundle-20251203142000.tar.gz".into(), gzip(&tar(&bundle))),
    ]);
    check_bundle(&read_tree("dir", &outer, &needs()), "nested");
}

#[test]
fn the_log_of_the_installer_is_known_by_name_and_by_content() {
    for (path, found) in [
        ("dir/.openshift_install.log", true),
        ("dir/renamed.txt", true),
        ("dir/auth/renamed.txt", false),
        ("dir/renamed.bin", false),
    ] {
        let snapshot = read_tree("dir", &tree(&[(path, INSTALL_LOG)]), &needs());
        assert_eq!(!hits(&snapshot).is_empty(), found, "{path}");
        if found {
            assert_eq!(snapshot.sources[0].kind, "installer");
            assert_eq!(snapshot.logs[0].origin, LogOrigin::Installer);
            assert_eq!(snapshot.now.unwrap().to_string(), "2025-12-03T14:20:00Z");
        }
    }
    let (_folder, path) = file("anything", INSTALL_LOG.as_bytes());
    let snapshot = read(&[path], &needs(), &NoProgress).unwrap();
    assert_eq!(snapshot.sources[0].kind, "installer");
    assert_eq!(hits(&snapshot), ["installer - anything:3"]);
}

#[test]
fn the_folder_of_the_installer_gives_its_log_and_no_credential() {
    let files = tree(&[
        (".openshift_install.log", INSTALL_LOG),
        (".openshift_install_state.json", "{\"password\": \"NEEDLE\"}"),
        ("auth/kubeconfig", "users: [{user: {token: NEEDLE}}]"),
        ("auth/kubeadmin-password", "NEEDLE"),
    ]);
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &files);
    let snapshot = read(&[folder.path().into()], &needs(), &NoProgress).unwrap();
    assert_eq!(snapshot.sources[0].kind, "installer");
    assert_eq!(hits(&snapshot), ["installer - .openshift_install.log:3"]);
    assert!(snapshot.files.is_empty() && snapshot.documents.is_empty());
    assert!(gaps(&snapshot).is_empty());
}

#[test]
fn a_list_that_is_cut_proves_nothing_and_keeps_its_whole_objects() {
    let mut bundle = log_bundle();
    let path = "log-bundle-20251203142000/resources/nodes.json";
    let whole = bundle[path].clone();
    bundle.insert(path.into(), whole[..whole.len() - 20].to_vec());
    let snapshot = read_tree("x", &bundle, &needs());
    assert_eq!(snapshot.documents.len(), 1);
    assert!(snapshot.collected.iter().all(|c| c.form == Form::Objects));
    assert!(gaps(&snapshot).iter().any(|gap| gap.starts_with("Cut")));
}

#[test]
fn a_huge_object_in_one_line_is_a_gap() {
    let huge = format!(
        "{{\"items\":[{{\"metadata\":{{\"name\":\"m\"}},\"x\":\"{}\"}},{{\"metadata\":{{\"name\":\"n\"}}}}]}}",
        "y".repeat(30 << 20)
    );
    let bundle = tree(&[("log-bundle-1/resources/nodes.json", &huge)]);
    let snapshot = read_bytes("x.tar.gz", &gzip(&tar(&bundle))).unwrap();
    assert_eq!(snapshot.documents.len(), 1);
    assert!(gaps(&snapshot).iter().any(|gap| gap.contains("larger than 8 MiB")));
    assert!(snapshot.collected.iter().all(|c| c.form == Form::Objects));
}

#[test]
fn files_with_secrets_are_kept_only_in_part_and_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let secret = "apiVersion: v1\nusers:\n- name: kubelet\n  user:\n    token: sesame\n";
    let files = tree(&[
        ("etc/hostname", "m-0\n"),
        ("etc/kubernetes/kubelet.conf", "x"),
        ("elsewhere", secret),
        ("home/core/NEEDLE.log", "NEEDLE"),
    ]);
    write(folder.path(), &files);
    let kubeconfig = folder.path().join("etc/kubernetes/kubeconfig");
    std::fs::write(&kubeconfig, secret).unwrap();
    let kept = |location: &str| {
        let path = format!("{location}{}", folder.path().display());
        let snapshot = read(&[path.into()], &needs(), &NoProgress).unwrap();
        assert_eq!(snapshot.sources[0].kind, "node");
        assert_eq!(snapshot.machines[&(0, String::new())].name.as_deref(), Some("m-0"));
        assert!(gaps(&snapshot).is_empty(), "{:?}", gaps(&snapshot));
        assert!(snapshot.sources[0].files < 4, "only what is known is looked at");
        let text = snapshot.files.values().next().unwrap().clone();
        String::from_utf8(text).unwrap()
    };
    for location in ["", "node:"] {
        let text = kept(location);
        assert!(text.contains("token: removed") && !text.contains("sesame"));
    }
    #[cfg(unix)]
    {
        std::fs::remove_file(&kubeconfig).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &kubeconfig).unwrap();
        assert_eq!(kept("node:"), "", "it is there, and that is all");
    }
}

#[test]
fn a_node_that_is_no_folder_is_refused_with_a_reason() {
    let (_folder, path) = file("x", b"y");
    let refused = |path: String| read(&[path.into()], &needs(), &NoProgress).unwrap_err().reason;
    assert_eq!(refused(format!("node:{}", path.display())), "the root of a node is a folder");
    assert_eq!(refused("node:/there/is/none".into()), "there is no such file or folder");
}

#[test]
fn sources_of_strangers_cannot_break_the_reading() {
    let deep = "[".repeat(100_000);
    let nested = format!("{{\"items\": [{{\"metadata\": {{\"name\": \"x\"}}, \"a\": {deep}");
    let hostile = tree(&[
        ("log-bundle-1/resources/nodes.json", nested.as_str()),
        ("log-bundle-1/bootstrap/network/hostname.txt", "../../../../etc/passwd\u{1b}[2J\n"),
        ("log-bundle-1/bootstrap/journals/kubelet.log", "Dec 03 14:12:00 m-0 kubelet[1]: NEEDLE\n"),
        (
            "log-bundle-1/bootstrap/containers/x-0123456789abcdef.inspect",
            "{\"io.kubernetes.pod.name\":",
        ),
        (
            "agent-gather/journal.export",
            "MESSAGE\n\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}NEEDLE",
        ),
        ("sosreport-a-2025-12-03-b/sos_commands/logs/journalctl_--no-pager", "\u{0}\u{0}NEEDLE"),
        ("etc/kubernetes/kubeconfig", "users: &a [*a, *a]\n"),
        ("config/node/x.json", "{\"metadata\": {\"name\": 5}}"),
    ]);
    let snapshot = read_tree("x", &hostile, &needs());
    assert_eq!(hits(&snapshot), ["kubelet bootstrap kubelet.log:1"]);
    assert!(snapshot.documents.is_empty());
    assert!(gaps(&snapshot).iter().any(|gap| gap.contains("journal.export")));
}

/// A sosreport has only its day in its name; what it holds knows the time better.
#[test]
fn the_day_in_a_name_is_the_last_resort_for_the_time() {
    let at = |path: &str| format!("sosreport-a-2025-12-03-b/{path}");
    let journal = at("sos_commands/logs/journalctl_--no-pager");
    let line = "Dec 03 10:59:07 a kubelet[1]: NEEDLE\n";
    let now = |files: &[(String, &str)]| {
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), *t)).collect();
        read_tree("x", &tree(&files), &needs()).now.unwrap().to_string()
    };
    assert_eq!(now(&[(journal.clone(), line)]), "2025-12-03T10:59:07Z");
    let date = "Wed Dec  3 11:02:00 UTC 2025\n";
    for path in ["date", "sos_commands/date/date"] {
        assert_eq!(now(&[(journal.clone(), line), (at(path), date)]), "2025-12-03T11:02:00Z");
    }
    assert_eq!(now(&[(journal, "no time in this\n")]), "2025-12-03T23:59:59Z");
}
