//! Nodes and BMCs that are read beside the API of their cluster. `ssh` is a stand-in here that runs
//! the script on this machine, with stand-ins for the programs of a node; `tests/nodes.rs` has the
//! real one.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Trial;
use plimsoll_lab::parse_cases;
use plimsoll_rig::free_port;
use tempfile::TempDir;

use crate::cluster::{Cluster, Shared, trial};

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&Cluster)| {
        trial(format!("beside/{name}"), shared, move |cluster| {
            run(&cluster);
            Ok(())
        })
    };
    vec![
        with("ssh-that-fails-leaves-journals-to-kubelets", journals_of_kubelets),
        with("one-journal-of-an-alias", one_journal_of_an_alias),
        with("hosts-of-one-name", hosts_of_one_name),
    ]
}

fn script(file: &Path, text: &str) {
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(file, mode).unwrap();
}

/// How often each file stands in a capture, and what was told of it.
fn capture(
    cluster: &Cluster,
    folder: &TempDir,
    sources: &[&str],
) -> (BTreeMap<String, usize>, String) {
    let text = include_str!("../../../../fixtures/incidents/four-hours.md");
    cluster.load(&parse_cases(text).unwrap()[0].tree().unwrap());
    captured(cluster, folder, sources)
}

fn captured(
    cluster: &Cluster,
    folder: &TempDir,
    sources: &[&str],
) -> (BTreeMap<String, usize>, String) {
    let path = format!("{}:/usr/bin:/bin", folder.path().join("bin").display());
    let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["capture", "-o", "c.tar.gz", "--no-probe"])
        .args(sources)
        .current_dir(folder.path())
        .env("KUBECONFIG", cluster.server.admin().unwrap())
        .env("PATH", path)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let list = Command::new("tar").args(["tzf", "c.tar.gz"]).current_dir(folder.path()).output();
    let mut files = BTreeMap::new();
    for file in String::from_utf8(list.unwrap().stdout).unwrap().lines() {
        *files.entry(file.to_string()).or_default() += 1;
    }
    assert!(!files.is_empty(), "{told} {}", String::from_utf8_lossy(&output.stderr));
    (files, told)
}

const KUBELET: &str = "capture/nodes/master-1/journal/kubelet.log";

fn journals_of_kubelets(cluster: &Cluster) {
    let folder = TempDir::new().unwrap();
    let refuse = "echo 'Host key verification failed.' >&2; exit 255";
    script(&folder.path().join("bin/ssh"), refuse);
    let (files, told) = capture(cluster, &folder, &["kube:admin", "ssh:all"]);
    assert!(told.contains("Host key verification failed"), "{told}");
    assert_eq!(files.get(KUBELET), Some(&1), "{files:#?}");
}

/// Reached under a name that the API does not know, it says itself who it is.
fn one_journal_of_an_alias(cluster: &Cluster) {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    script(&at("node/hostname"), "echo master-1");
    script(
        &at("node/journalctl"),
        "[ \"$2\" = kubelet ] && echo 'Dec 03 18:40:00.000000 master-1 kubelet[1]: of the node itself'\nexit 0",
    );
    script(&at("bin/ssh"), &format!("PATH={}:$PATH exec sh", at("node").display()));
    let (files, _) = capture(cluster, &folder, &["kube:admin", "ssh:jump"]);
    let doubled: Vec<_> = files.iter().filter(|(_, count)| **count > 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    let journal = Command::new("tar")
        .args(["xzOf", "c.tar.gz", KUBELET])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&journal.stdout).contains("of the node itself"));
    // The others are read through their kubelets, as before.
    assert!(files.contains_key("capture/nodes/master-0/journal/kubelet.log"), "{files:#?}");
}

fn hosts_of_one_name(cluster: &Cluster) {
    let folder = TempDir::new().unwrap();
    let host = |namespace: &str| {
        let port = free_port().unwrap();
        let secret = if namespace == "hosts-a" { "none" } else { "''" };
        format!(
            "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {{name: twin, namespace: {namespace}}}\nspec: {{online: true, bmc: {{address: 'redfish+http://127.0.0.1:{port}/redfish/v1/Systems/1', credentialsName: {secret}}}}}\n---\n"
        )
    };
    cluster.load(&plimsoll_lab::Tree::default());
    for namespace in ["hosts-a", "hosts-b"] {
        cluster.server.kubectl(&["create", "namespace", namespace], "").ok();
        let applied = || cluster.server.kubectl(&["apply", "-f", "-"], &host(namespace)).is_ok();
        plimsoll_rig::wait_for("a host", std::time::Duration::from_secs(20), applied).unwrap();
    }
    let (files, told) = captured(cluster, &folder, &["kube:admin", "bmc:cluster"]);
    for file in ["capture/bmc/hosts-a_twin.json", "capture/bmc/hosts-b_twin.json"] {
        assert_eq!(files.get(file), Some(&1), "{files:#?} {told}");
    }
    let end = ["xzOf", "c.tar.gz", "capture/plimsoll-capture-end.json"];
    let end = Command::new("tar").args(end).current_dir(folder.path()).output().unwrap();
    let end = String::from_utf8_lossy(&end.stdout);
    assert!(end.contains("secret none of the BMC of twin"), "{end}");
    assert!(end.contains("the host names no secret"), "{end}");
}
