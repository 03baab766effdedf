//! Nodes over the system's `ssh`, from a real `sshd` on loopback. What stands on the node is a folder,
//! and the programs that only a node has are stand-ins that say what theirs would.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up has to stop")]

#[path = "support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plimsoll_lab::sources_of::node_root;
use plimsoll_model::{Entity, EntityId};
use plimsoll_rig::{EtcdCluster, Running, free_port, real, wait_for};
use plimsoll_sources::{Given, NoProgress};
use serde_json::Value;
use support::{PACK, READER};
use tempfile::TempDir;

struct Node {
    folder: TempDir,
    _sshd: Running,
}

fn script(file: &Path, text: &str) {
    fs_err::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(file, mode).unwrap();
}

fn key(file: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(file)
        .status()
        .unwrap();
    assert!(made.success());
}

impl Node {
    fn start() -> Self {
        Self::start_with("")
    }

    /// With these lines in the config of its `sshd`.
    fn start_with(more: &str) -> Self {
        real("apt.sh", &["openssh-server", "openssh-client"]).unwrap();
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let show = |path: PathBuf| path.display().to_string();
        fs_err::create_dir_all(at("remote")).unwrap();
        fs_err::create_dir_all(at("bin")).unwrap();
        key(&at("host"));
        key(&at("user"));
        let port = free_port().unwrap();
        let path = format!("{}:/usr/bin:/bin", show(at("remote")));
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nSetEnv PLIMSOLL_ROOT={} PLIMSOLL_SECONDS=2 PATH={path}\n{more}\n",
            show(at("host")),
            show(at("user.pub")),
            show(at("root")),
        );
        fs_err::write(at("sshd_config"), config).unwrap();
        fs_err::create_dir_all("/run/sshd").unwrap();
        let mut command = Command::new("/usr/sbin/sshd");
        command.arg("-D").arg("-e").arg("-f").arg(at("sshd_config"));
        let sshd = Running::start(&mut command, &at("sshd.log")).unwrap();
        let client = format!(
            "Host master-1 spare\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\nHost nowhere\n  HostName 127.0.0.1\n  Port {}\n",
            show(at("user")),
            free_port().unwrap()
        );
        fs_err::write(at("ssh_config"), client).unwrap();
        // The one of the system, with the config of the test in place of the user's.
        let ssh = format!("exec /usr/bin/ssh -F {} \"$@\"", show(at("ssh_config")));
        script(&at("bin/ssh"), &ssh);
        script(&at("remote/sudo"), "exit 1");
        script(&at("remote/hostname"), "echo master-1");
        script(
            &at("remote/chronyc"),
            "[ \"$1\" = tracking ] || exit 1\necho 'Leap status     : Not synchronised'",
        );
        script(
            &at("remote/df"),
            "echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'\necho '/dev/sda4 1000 990 10 99% /var'",
        );
        script(
            &at("remote/crictl"),
            "[ \"$2\" = -a ] || exit 0\necho '{\"containers\": [{\"metadata\": {\"name\": \"kube-apiserver\"}, \"state\": \"CONTAINER_RUNNING\"}, {\"metadata\": {\"name\": \"etcd\"}, \"state\": \"CONTAINER_EXITED\"}]}'",
        );
        script(
            &at("remote/journalctl"),
            "[ \"$2\" = kubelet ] && cat \"$PLIMSOLL_ROOT/kubelet.log\"\nexit 0",
        );
        let node = Self { folder, _sshd: sshd };
        wait_for("sshd", Duration::from_secs(20), || node.ssh(&["true"])).unwrap();
        node
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ssh(&self, command: &[&str]) -> bool {
        let mut ssh = Command::new(self.at("bin/ssh"));
        ssh.args(["-o", "BatchMode=yes", "master-1"]).args(command);
        ssh.output().is_ok_and(|output| output.status.success())
    }

    /// Exit code and answer of `plimsoll`, with this `ssh` before the system's.
    fn plimsoll(&self, arguments: &[&str]) -> (i32, String) {
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let output = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(arguments)
            .current_dir(self.folder.path())
            .env("PATH", path)
            .env("KUBECONFIG", "/nowhere")
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    /// What stands on the disk of master-1 in the incident of the anonymous kubelet.
    fn lay_out(&self) {
        let text = include_str!("../../../fixtures/incidents/four-hours.md");
        let gather = plimsoll_lab::parse_cases(text).unwrap()[0].tree().unwrap();
        plimsoll_lab::write_folder(&node_root(&gather, "master-1"), &self.at("root")).unwrap();
        let journal = gather
            .iter()
            .find(|(path, _)| path.ends_with("masters/kubelet_service.log"))
            .map(|(_, text)| String::from_utf8_lossy(text).into_owned())
            .unwrap();
        let own: String = journal
            .lines()
            .filter(|line| line.contains(" master-1 "))
            .map(|line| format!("{line}\n"))
            .collect();
        fs_err::write(self.at("root/kubelet.log"), own).unwrap();
        let manifests = self.at("root/etc/kubernetes/manifests");
        fs_err::create_dir_all(&manifests).unwrap();
        for name in ["etcd-pod.yaml", "kube-apiserver-pod.yaml"] {
            fs_err::write(manifests.join(name), "password: hunter2\n").unwrap();
        }
    }
}

/// Paths below the node's folder of all that a capture holds of master-1.
fn members(node: &Node, archive: &str) -> BTreeSet<String> {
    let list = Command::new("tar").args(["tzf", archive]).current_dir(node.folder.path()).output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    let below = |path: &str| Some(path.strip_prefix("capture/nodes/master-1/")?.to_string());
    list.lines().filter_map(below).collect()
}

/// What the engine understands of the node in a capture.
fn facts(node: &Node, archive: &str) -> Entity {
    let given = vec![Given::Path(node.at(archive))];
    let snapshot = READER.read(given, &NoProgress).unwrap();
    let (base, _) = plimsoll_engine::facts::extract(&PACK, &snapshot, None);
    let id = EntityId::cluster_scoped("Node", "master-1");
    base.entities.get(&id).cloned().unwrap_or_default()
}

/// What the parts of a node's network, clock and runtime say in their own words.
const TOOLS: [(&str, &str); 4] = [
    (
        "ip",
        r#"case "$*" in
"-j address") echo '[{"ifname":"br-ex","addr_info":[{"local":"192.168.111.21","scope":"global"}]}]' ;;
"-j route") echo '[{"dst":"default","gateway":"192.168.111.1","dev":"br-ex"}]' ;;
"-6 -j route") echo '[]' ;;
"-j neighbour") echo '[{"dst":"192.168.111.1","lladdr":"52:54:00:00:00:01"}]' ;;
*) exit 1 ;;
esac"#,
    ),
    (
        "chronyc",
        r#"case "$*" in
tracking) echo 'Leap status     : Normal' ;;
"-n sources") echo '^* 192.168.111.1' ;;
*) exit 1 ;;
esac"#,
    ),
    (
        "systemctl",
        r#"case $1 in
list-units) echo 'crio.service loaded failed failed' ;;
show) echo 'Id=kubelet.service' ;;
*) exit 1 ;;
esac"#,
    ),
    (
        "journalctl",
        r#"case $1 in
-u) echo "Dec 03 18:40:00.000000 master-1 of[1]: the journal of $2" ;;
-k) echo 'Dec 03 18:40:00.000000 master-1 kernel: the journal of the kernel' ;;
esac"#,
    ),
];

/// Everything that a diagnosis may need of a node, by its file; each would be missed.
const ITEMS: [&str; 40] = [
    "etc/hostname",
    "commands/hostname",
    "commands/uid",
    "commands/date",
    "commands/uptime",
    "commands/df",
    "commands/ip_addr",
    "commands/ip_route",
    "commands/ip6_route",
    "commands/ip_neigh",
    "commands/chronyc_tracking",
    "commands/chronyc_sources",
    "commands/crictl_ps",
    "commands/failed_units",
    "commands/kubelet_show",
    "etc/kubernetes/kubeconfig",
    "etc/kubernetes/apiserver-url.env",
    "etc/kubernetes/manifests/etcd-pod.yaml",
    "etc/kubernetes/cni/net.d/00-multus.conf",
    "etc/kubernetes/.seen",
    "etc/machine-config-daemon/currentconfig",
    "etc/machine-config-daemon/.seen",
    "etc/mcs-machine-config-content.json",
    "etc/resolv.conf",
    "etc/chrony.conf",
    "etc/.ignition-result.json",
    "var/lib/kubelet/kubeconfig",
    "var/lib/kubelet/.seen",
    "journal/kubelet.log",
    "journal/crio.log",
    "journal/NetworkManager.log",
    "journal/chronyd.log",
    "journal/nodeip-configuration.log",
    "journal/ovs-configuration.log",
    "journal/machine-config-daemon-firstboot.log",
    "journal/machine-config-daemon-pull.log",
    "journal/bootkube.log",
    "journal/release-image.log",
    "journal/node-image-pull.log",
    "journal/kernel.log",
];

#[test]
fn every_item_of_a_node_is_read_and_understood() {
    let node = Node::start();
    node.lay_out();
    for (tool, text) in TOOLS {
        script(&node.at(&format!("remote/{tool}")), text);
    }
    let ignition = r#"{"provisioningDate": "2025-12-01T00:00:00Z", "userConfigProvided": true}"#;
    for (path, text) in [
        ("etc/resolv.conf", "nameserver 192.168.111.1\n"),
        ("etc/chrony.conf", "server 192.168.111.1 iburst\n"),
        ("etc/.ignition-result.json", ignition),
    ] {
        fs_err::write(node.at("root").join(path), text).unwrap();
    }
    let (code, account) = node.plimsoll(&["capture", "ssh:master-1", "-o", "whole.tar.gz"]);
    assert_eq!(code, 0, "{account}");
    let members = members(&node, "whole.tar.gz");
    let missing: Vec<&str> =
        ITEMS.iter().filter(|item| !members.contains(**item)).copied().collect();
    assert!(missing.is_empty(), "{missing:?} of {members:#?}");
    let certificate = "var/lib/kubelet/pki/kubelet-client-";
    assert!(members.iter().any(|member| member.starts_with(certificate)), "{members:#?}");
    let facts = facts(&node, "whole.tar.gz").facts;
    for fact in [
        "kubeletCert",
        "kubeletUser",
        "bootstrapKubeconfig",
        "apiserverUrlEnv",
        "manifests",
        "cni",
        "diskConfig",
        "mcsContent",
        "disks",
        "clock",
        "containers",
        "manifestsDown",
        "nameservers",
        "defaultRoutes",
        "ownAddresses",
        "ignitionConfigGiven",
    ] {
        assert!(facts.contains_key(fact), "{fact}: {:?}", facts.keys());
    }
    assert_eq!(facts["nameservers"], vec!["192.168.111.1"].into());
    let down = vec!["etcd-pod.yaml", "kube-controller-manager-pod.yaml"];
    assert_eq!(facts["manifestsDown"], down.into(), "criometricsproxy.yaml is none of them");
    assert_eq!(facts["clock"].get("synchronised"), Some(&true.into()));
}

/// Some of it may be read by root alone, and nobody is made root there.
#[test]
fn what_a_user_may_not_read_is_a_gap_and_unknown() {
    let nobody = "ForceCommand setpriv --reuid=65534 --regid=65534 --clear-groups sh -c \"$SSH_ORIGINAL_COMMAND\"";
    let node = Node::start_with(nobody);
    node.lay_out();
    let permit = |path: &str, mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs_err::set_permissions(node.at(path), mode).unwrap();
    };
    permit("", 0o755);
    permit("root/etc/kubernetes/kubeconfig", 0o600);
    permit("root/var/lib/kubelet/pki", 0o700);
    permit("root/kubelet.log", 0o600);
    let (code, account) = node.plimsoll(&["capture", "ssh:master-1", "-o", "part.tar.gz"]);
    assert_eq!(code, 3, "{account}");
    for gap in [
        "part of node master-1: it was not read as root",
        "etc/kubernetes/kubeconfig of node master-1: no permission to read it",
        "var/lib/kubelet/pki of node master-1: no permission to read it",
        "journal/kubelet.log of node master-1: it is empty: lost, or no right to it",
    ] {
        assert!(account.contains(gap), "{gap}: {account}");
    }
    let members = members(&node, "part.tar.gz");
    for unseen in ["etc/kubernetes/.seen", "var/lib/kubelet/.seen", "etc/kubernetes/kubeconfig"] {
        assert!(!members.contains(unseen), "{unseen}: {members:#?}");
    }
    assert!(members.contains("etc/machine-config-daemon/.seen"), "{members:#?}");
    let facts = facts(&node, "part.tar.gz").facts;
    for unknown in ["kubeletCert", "bootstrapKubeconfig"] {
        assert!(!facts.contains_key(unknown), "{unknown}: {:?}", facts[unknown]);
    }
    assert!(facts.contains_key("apiserverUrlEnv"), "{:?}", facts.keys());
}

fn active(answer: &Value) -> Vec<String> {
    let states = answer["states"].as_array().unwrap().iter();
    let states = states.filter(|state| state["status"] == "active");
    states
        .map(|state| {
            format!("{} {}", state["id"].as_str().unwrap(), state["entity"].as_str().unwrap())
        })
        .collect()
}

#[test]
fn a_node_is_read_over_ssh_and_its_capture_tells_the_same() {
    let node = Node::start();
    node.lay_out();
    let now = ["--now", "2025-12-03T18:42:00Z"];
    let (code, live) = node.plimsoll(
        &[&["diagnose", "ssh:master-1", "--keep", "kept.tar.gz", "--output", "json"][..], &now]
            .concat(),
    );
    assert_eq!(code, 1, "{live}");
    let answer: Value = serde_json::from_str(&live).unwrap();
    let active = active(&answer);
    for state in ["kubelet-anonymous Node/master-1", "node-disk-full Node/master-1"] {
        assert!(active.iter().any(|is| is == state), "{state}: {active:#?}");
    }
    let (_, kept) = node.plimsoll(&["diagnose", "kept.tar.gz", "--output", "json"]);
    assert_eq!(kept, live, "what was kept tells the same, byte for byte");
    let (code, account) =
        node.plimsoll(&[&["capture", "ssh:master-1", "-o", "captured.tar.gz"][..], &now].concat());
    assert_eq!(code, 0, "{account}");
    let (_, captured) = node.plimsoll(&["diagnose", "captured.tar.gz", "--output", "json"]);
    assert_eq!(captured, live);
    let unpacked = Command::new("tar")
        .args(["xzOf", "captured.tar.gz"])
        .current_dir(node.folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&unpacked.stdout);
    assert!(!text.contains("PRIVATE KEY") && !text.contains("hunter2"), "no secret is in it");
    assert!(text.contains("BEGIN CERTIFICATE"));
}

#[test]
fn a_node_that_does_not_answer_is_a_gap_and_says_why() {
    let node = Node::start();
    let (code, answer) = node.plimsoll(&["diagnose", "ssh:nowhere", "--output", "json"]);
    assert_eq!(code, 3, "{answer}");
    assert!(
        answer.contains("node nowhere: ssh: connect to host 127.0.0.1")
            && answer.contains("Connection refused"),
        "{answer}"
    );
}

#[test]
fn nodes_without_a_name_or_with_the_same_are_told_apart() {
    let node = Node::start();
    node.lay_out();
    let files = |archive: &str| {
        let list =
            Command::new("tar").args(["tzf", archive]).current_dir(node.folder.path()).output();
        String::from_utf8(list.unwrap().stdout).unwrap()
    };
    script(&node.at("remote/hostname"), "echo localhost");
    fs_err::write(node.at("root/etc/hostname"), "localhost\n").unwrap();
    let (_, told) = node.plimsoll(&["capture", "ssh:spare", "-o", "nameless.tar.gz"]);
    let nameless = files("nameless.tar.gz");
    assert!(nameless.contains("capture/nodes/spare/journal/kubelet.log"), "{nameless} {told}");
    assert!(!nameless.contains("nodes/localhost"), "{nameless}");
    script(&node.at("remote/hostname"), "echo master-1");
    let sources = ["capture", "ssh:master-1", "ssh:root@spare", "-o", "two.tar.gz"];
    let (_, told) = node.plimsoll(&sources);
    let two = files("two.tar.gz");
    let journals: Vec<&str> =
        two.lines().filter(|file| file.ends_with("/journal/kubelet.log")).collect();
    assert_eq!(journals.len(), 2, "{two} {told}");
    assert!(journals.contains(&"capture/nodes/master-1/journal/kubelet.log"), "{journals:?}");
    let mut sorted: Vec<&str> = two.lines().collect();
    let all = sorted.len();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), all, "no file is there twice");
    let end = ["xzOf", "two.tar.gz", "capture/plimsoll-capture-end.json"];
    let end = Command::new("tar").args(end).current_dir(node.folder.path()).output().unwrap();
    let end = String::from_utf8_lossy(&end.stdout);
    assert!(end.contains("it says that it is master-1, as another does"), "{end}");
}

#[test]
fn a_command_that_hangs_is_left_and_the_rest_is_read() {
    let node = Node::start();
    node.lay_out();
    script(&node.at("remote/df"), "exec sleep 600");
    let begun = std::time::Instant::now();
    let (_, answer) = node.plimsoll(&["diagnose", "ssh:master-1", "--output", "json"]);
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(
        answer.contains("commands/df of node master-1: the command did not end in time"),
        "{answer}"
    );
    let active = active(&serde_json::from_str(&answer).unwrap());
    assert!(active.contains(&"kubelet-anonymous Node/master-1".into()), "{active:#?}");
    let (code, account) = node.plimsoll(&["capture", "ssh:master-1", "-o", "hung.tar.gz"]);
    assert_eq!(code, 3, "not all that was asked for is there: {account}");
}

/// Three members with TLS; the one that the node's `etcdctl` container would ask them by is real too.
#[test]
fn etcd_is_asked_on_a_master_and_the_member_that_is_down_is_named() {
    let node = Node::start();
    node.lay_out();
    let folder = TempDir::new().unwrap();
    let mut etcd = EtcdCluster::start(folder.path(), ["master-0", "master-1", "master-2"]).unwrap();
    let asked = etcd.client().join("' '");
    let crictl = format!(
        "case $1 in\nps) [ \"$2\" = -a ] || echo client ;;\nexec) shift 3; ETCDCTL_API=3 exec '{asked}' \"$@\" ;;\nesac"
    );
    script(&node.at("remote/crictl"), &crictl);
    let diagnose = || {
        let (_, answer) = node.plimsoll(&["diagnose", "ssh:master-1", "--output", "json"]);
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let etcd_states = |answer: &Value| -> Vec<String> {
        active(answer).into_iter().filter(|state| state.starts_with("etcd")).collect()
    };
    assert_eq!(etcd_states(&diagnose()), [""; 0], "three that answer");
    etcd.kill(2);
    assert_eq!(etcd_states(&diagnose()), ["etcd-member-unhealthy EtcdMember/master-2"]);
    etcd.kill(0);
    assert_eq!(
        etcd_states(&diagnose()),
        ["etcd-quorum-lost ClusterOperator/etcd"],
        "one of three answers nobody",
    );
}
