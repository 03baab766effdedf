//! Sources that go on from what the API tells, or stand beside it: every node over `ssh`, the BMCs of
//! the cluster's hosts, and the node that this runs on.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use libtest_mimic::{Failed, Trial};
use plimsoll_bmc::mock::{Server, dell_r750};
use plimsoll_lab::sources_of::node_root;
use plimsoll_lab::{Tree, parse_cases};
use plimsoll_rig::{Running, free_port, real, wait_for};
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{Cluster, Shared, trial};
use crate::namespace::{in_own_network, sh};

const BEHIND: &str = "sources/a-node-behind-a-folder";
const NOW: &str = "2025-12-03T18:42:00Z";
const LIMIT: Duration = Duration::from_secs(20);
const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const PASSWORD: &str = "secret-of-the-bmc";
const NODES: [(&str, &str); 4] = [
    ("master-0", "192.168.111.20"),
    ("master-1", "192.168.111.21"),
    ("worker-0", "192.168.111.23"),
    ("worker-1", "192.168.111.24"),
];
/// For longer than it takes.
const REGISTERING: &str = "set BareMetalHost/worker-0 status.provisioning.state = registering
set BareMetalHost/worker-0 status.operationHistory.register = {start: \"2025-12-03T17:00:00Z\", end: null}
set BareMetalHost/worker-1 status.provisioning.state = registering
set BareMetalHost/worker-1 status.operationHistory.register = {start: \"2025-12-03T17:00:00Z\", end: null}
";
const DISKS: &str = "echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'
cat \"$PLIMSOLL_ROOT/disk\"";

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&Cluster)| {
        trial(format!("sources/{name}"), shared, move |cluster| {
            run(&cluster);
            Ok(())
        })
    };
    let alone = |name: &str, run: fn()| {
        Trial::test(format!("sources/{name}"), move || {
            run();
            Ok::<(), Failed>(())
        })
    };
    vec![
        with("every-node-over-ssh", every_node_over_ssh),
        with("bmcs-of-the-cluster", bmcs_of_the_cluster),
        alone("the-node-itself", the_node_itself),
        alone("a-signal-ends-what-was-started", a_signal_ends_what_was_started),
        alone(BEHIND.trim_start_matches("sources/"), a_node_behind_a_folder),
    ]
}

/// The anonymous kubelet of master-1.
fn incident() -> Tree {
    let text = include_str!("../../../../fixtures/incidents/four-hours.md");
    parse_cases(text).unwrap()[0].tree().unwrap()
}

fn script(file: &Path, text: &str) {
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(file, mode).unwrap();
}

/// What stands on the disks of a node, with its kubelet's journal beside it.
fn lay_out(gather: &Tree, node: &str, root: &Path) {
    plimsoll_lab::write_folder(&node_root(gather, node), root).unwrap();
    let journals = gather.iter().filter(|(path, _)| path.ends_with("kubelet_service.log"));
    let own: String = journals
        .flat_map(|(_, text)| {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().map(str::to_string).collect::<Vec<_>>()
        })
        .filter(|line| line.contains(&format!(" {node} ")))
        .map(|line| format!("{line}\n"))
        .collect();
    fs_err::write(root.join("kubelet.log"), own).unwrap();
    let used = if node == "worker-0" { 99 } else { 40 };
    fs_err::write(root.join("disk"), format!("/dev/sda4 100 {used} 1 {used}% /var\n")).unwrap();
}

/// Programs that only a node has.
fn tools(folder: &Path) {
    script(&folder.join("sudo"), "exit 1");
    script(&folder.join("hostname"), "cat \"$PLIMSOLL_ROOT/etc/hostname\"");
    script(&folder.join("df"), DISKS);
    script(
        &folder.join("journalctl"),
        "[ \"$2\" = kubelet ] && cat \"$PLIMSOLL_ROOT/kubelet.log\"\nexit 0",
    );
    for absent in ["ip", "chronyc", "crictl", "systemctl"] {
        script(&folder.join(absent), "exit 1");
    }
}

fn plimsoll(folder: &Path, environment: &[(&str, String)], arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(folder)
        .envs(environment.iter().cloned())
        .output()
        .unwrap()
}

/// The answer; what was kept of it gives the same, byte for byte.
fn diagnose(folder: &Path, environment: &[(&str, String)], sources: &[&str]) -> Value {
    let how = ["--keep", "kept.tar.gz", "--output", "json", "--now", NOW, "--no-probe"];
    let live = plimsoll(folder, environment, &[&["diagnose"][..], sources, &how].concat());
    let kept = plimsoll(folder, environment, &["diagnose", "kept.tar.gz", "--output", "json"]);
    let text = |output: &Output| String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text(&kept), text(&live), "{}", String::from_utf8_lossy(&live.stderr));
    serde_json::from_str(&text(&live)).unwrap()
}

fn is_active(answer: &Value, state: &str, entity: &str) -> bool {
    let mut states = answer["states"].as_array().unwrap().iter();
    states.any(|one| one["status"] == "active" && one["id"] == state && one["entity"] == entity)
}

/// Names and text of all that was kept.
fn unpacked(folder: &Path) -> (String, String) {
    let tar = |how: &str| {
        let output = Command::new("tar").args([how, "kept.tar.gz"]).current_dir(folder).output();
        String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
    };
    (tar("tzf"), tar("xzOf"))
}

struct Sshd {
    folder: TempDir,
    _sshd: Running,
}

impl Sshd {
    /// One server for all nodes; the client says which of them it means, and one is switched off.
    fn start(gather: &Tree, off: &str) -> Self {
        real("apt.sh", &["openssh-server", "openssh-client"]).unwrap();
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let show = |path: PathBuf| path.display().to_string();
        tools(&at("remote"));
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(key))
                .status();
            assert!(made.unwrap().success());
        }
        let port = free_port().unwrap();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nAcceptEnv PLIMSOLL_ROOT\nSetEnv PATH={}:/usr/bin:/bin\n",
            show(at("host")),
            show(at("user.pub")),
            show(at("remote")),
        );
        fs_err::write(at("sshd_config"), config).unwrap();
        fs_err::create_dir_all("/run/sshd").unwrap();
        let mut command = Command::new("/usr/sbin/sshd");
        command.arg("-D").arg("-e").arg("-f").arg(at("sshd_config"));
        let sshd = Running::start(&mut command, &at("sshd.log")).unwrap();
        let mut client = String::new();
        for (node, address) in NODES {
            lay_out(gather, node, &at(node));
            let port = if node == off { free_port().unwrap() } else { port };
            client.push_str(&format!(
                "Host {address}\n  HostName 127.0.0.1\n  Port {port}\n  SetEnv PLIMSOLL_ROOT={}\n",
                show(at(node))
            ));
        }
        client.push_str(&format!(
            "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n",
            show(at("user"))
        ));
        fs_err::write(at("ssh_config"), client).unwrap();
        let ssh = format!("exec /usr/bin/ssh -F {} \"$@\"", show(at("ssh_config")));
        script(&at("bin/ssh"), &ssh);
        let (bin, address) = (at("bin/ssh"), NODES[0].1);
        wait_for("sshd", LIMIT, || {
            let mut ssh = Command::new(&bin);
            ssh.args(["-o", "BatchMode=yes", &format!("root@{address}"), "true"]);
            ssh.output().is_ok_and(|output| output.status.success())
        })
        .unwrap();
        Self { folder, _sshd: sshd }
    }
}

fn every_node_over_ssh(cluster: &Cluster) {
    let gather = incident();
    cluster.load(&gather);
    let sshd = Sshd::start(&gather, "worker-1");
    let folder = sshd.folder.path();
    let environment = [
        ("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display())),
        ("KUBECONFIG", cluster.server.admin().unwrap().display().to_string()),
    ];
    let answer = diagnose(folder, &environment, &["ssh:root@all"]);
    assert!(is_active(&answer, "kubelet-anonymous", "Node/master-1"), "{answer:#}");
    assert!(is_active(&answer, "node-disk-full", "Node/worker-0"), "only its disk is full");
    assert!(!is_active(&answer, "node-disk-full", "Node/master-0"));
    let (names, text) = unpacked(folder);
    for (node, _) in NODES {
        let is_there = names.contains(&format!("capture/nodes/{node}/commands/df\n"));
        assert_eq!(is_there, node != "worker-1", "{node}: {names}");
    }
    assert!(!text.contains("PRIVATE KEY") && !text.contains("not-a-real-token"));
    let gaps = answer["sources"][0]["gaps"].to_string();
    assert!(gaps.contains("node root@192.168.111.24") && gaps.contains("refused"), "{gaps}");
    // Without an API nobody says which nodes there are.
    let environment = [("PATH", environment[0].1.clone()), ("KUBECONFIG", "/nowhere".into())];
    let nothing = plimsoll(folder, &environment, &["diagnose", "ssh:all"]);
    assert_eq!(nothing.status.code(), Some(66));
}

fn bmcs_of_the_cluster(cluster: &Cluster) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let good =
        runtime.block_on(Server::of(dell_r750()).credentials("admin", PASSWORD).start()).unwrap();
    let strict = runtime
        .block_on(Server::of(dell_r750()).credentials("admin", "another-one").start())
        .unwrap();
    let hosts = ["master-0", "master-1", "master-2", "worker-0", "worker-1"];
    let edits: String = hosts
        .iter()
        .map(|host| {
            let server = if *host == "worker-0" { &strict } else { &good };
            let address = server.address(SYSTEM);
            format!("set BareMetalHost/{host} spec.bmc.address = \"{address}\"\n")
        })
        .collect();
    let case = format!(
        "# hosts\n\n## quiet: they have BMCs\n\n```edits base=metal-3-2\n{edits}{REGISTERING}```\n\n```expect\nno roots\n```\n"
    );
    cluster.load(&parse_cases(&case).unwrap()[0].tree().unwrap());
    cluster.server.kubectl(&["create", "namespace", "openshift-machine-api"], "").ok();
    for host in &hosts[..4] {
        let secret = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: {host}-bmc-secret, namespace: openshift-machine-api}}\nstringData: {{username: admin, password: {PASSWORD}}}\n"
        );
        wait_for("the secret", LIMIT, || {
            cluster.server.kubectl(&["apply", "-f", "-"], &secret).is_ok()
        })
        .unwrap();
    }
    let without = ["delete", "secret", "-n", "openshift-machine-api", "worker-1-bmc-secret"];
    cluster.server.kubectl(&without, "").unwrap();
    let folder = TempDir::new().unwrap();
    let config = cluster.server.admin().unwrap().display().to_string();
    let answer = diagnose(folder.path(), &[("KUBECONFIG", config)], &["bmc:cluster"]);
    let refused = "BareMetalHost/worker-0";
    assert!(is_active(&answer, "bmc-auth-failed", refused), "{:#}", answer["states"]);
    // Without its secret nobody was let in by any password.
    assert!(!is_active(&answer, "bmc-auth-failed", "BareMetalHost/worker-1"), "{answer:#}");
    let gaps = answer["sources"][0]["gaps"].to_string();
    assert!(gaps.contains("BMC of worker-1: no credentials were given"), "{gaps}");
    assert!(gaps.contains("secret worker-1-bmc-secret of the BMC of worker-1"), "{gaps}");
    let (names, text) = unpacked(folder.path());
    for host in hosts {
        assert!(names.contains(&format!("capture/bmc/{host}.json\n")), "{names}");
    }
    assert!(text.contains("\"status\": \"accepted\"") && !text.contains(PASSWORD));
    assert!(good.requests().iter().all(|request| request.method == "GET"), "nothing is written");
    drop((good, strict));
    runtime.shutdown_background();
}

fn the_node_itself() {
    let gather = incident();
    let folder = TempDir::new().unwrap();
    let root = folder.path().join("root");
    lay_out(&gather, "master-1", &root);
    tools(&folder.path().join("bin"));
    let environment = [
        ("PATH", format!("{}:/usr/bin:/bin", folder.path().join("bin").display())),
        ("PLIMSOLL_ROOT", root.display().to_string()),
        ("KUBECONFIG", "/nowhere".into()),
    ];
    let answer = diagnose(folder.path(), &environment, &["node:/"]);
    assert!(is_active(&answer, "kubelet-anonymous", "Node/master-1"), "{answer:#}");
    assert!(!unpacked(folder.path()).1.contains("not-a-real-token"));
}

fn a_signal_ends_what_was_started() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    let ssh = format!("echo $$ > {}\nexec sleep 300", at("pid").display());
    script(&at("bin/ssh"), &ssh);
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["capture", "ssh:nobody", "-o", "c.tar.gz", "--no-probe"])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", at("bin").display()))
        .env("KUBECONFIG", "/nowhere")
        .spawn()
        .unwrap();
    let pid = || -> Option<u32> { fs_err::read_to_string(at("pid")).ok()?.trim().parse().ok() };
    let started = wait_for("ssh", LIMIT, || pid().is_some());
    let told = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    let status = child.wait().unwrap();
    started.unwrap();
    assert!(told.unwrap().success());
    assert_eq!(status.code(), Some(143));
    assert!(!at("c.tar.gz.part").exists());
    // One that ended and that nobody asked for has no command line any more.
    let line = format!("/proc/{}/cmdline", pid().unwrap());
    let is_over =
        || fs_err::read(&line).is_ok_and(|line| line.is_empty()) || !Path::new(&line).exists();
    wait_for("the end of ssh", LIMIT, is_over).unwrap();
}

/// As in a debug pod: the root of the node is a folder, and commands run in it.
fn a_node_behind_a_folder() {
    if !in_own_network(BEHIND) {
        return;
    }
    let gather = incident();
    // In memory of the namespace, which nobody cleans up: what is mounted below it is this machine's.
    let host = Path::new("/run/host");
    lay_out(&gather, "master-1", host);
    sh("cd /run/host
        mkdir -p usr dev proc tools
        mount --bind /usr usr
        mount -o remount,bind,ro usr
        mount -t proc -o ro none proc
        mknod dev/null c 1 3
        for link in bin sbin lib lib64; do [ ! -e /$link ] || ln -s usr/$link $link; done");
    // Its own programs are run, not ours: in there, the folder is the root.
    script(&host.join("tools/hostname"), "cat /etc/hostname");
    script(&host.join("tools/df"), "cat /disk");
    script(&host.join("tools/journalctl"), "[ \"$2\" = kubelet ] && cat /kubelet.log\nexit 0");
    let environment = [("PATH", "/tools:/usr/sbin:/usr/bin:/sbin:/bin".into())];
    let folder = TempDir::new().unwrap();
    let answer = diagnose(folder.path(), &environment, &["node:/run/host"]);
    assert!(is_active(&answer, "kubelet-anonymous", "Node/master-1"), "{answer:#}");
    let (names, _) = unpacked(folder.path());
    assert!(names.contains("capture/nodes/master-1/commands/df\n"), "{names}");
}
