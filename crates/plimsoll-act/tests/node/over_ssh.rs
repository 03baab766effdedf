//! The same over the system's `ssh`, from a real `sshd` on loopback. `systemctl` is a stand-in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use plimsoll_act::{NodeTarget, Standing, Target, Trouble, read_file};
use plimsoll_live::Node;
use plimsoll_model::plan::UnitVerb;
use plimsoll_rig::{Running, free_port, real, wait_for};
use tempfile::tempdir;

use crate::support::*;

fn script(file: &Path, text: &str) {
    fs_err::write(file, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(file, mode).unwrap();
}

fn key(file: &Path) {
    let mut keygen = Command::new("ssh-keygen");
    keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
    assert!(keygen.status().unwrap().success());
}

/// Says and does what systemd would of a unit whose state is a file.
const SYSTEMCTL: &str = r#"echo "systemctl $*" >> "$PLIMSOLL_ROOT/asked"
state=$PLIMSOLL_ROOT/state
for last; do :; done
[ "$last" = kubelet ] || { [ "$1" = show ] && echo LoadState=not-found; exit 0; }
case $1 in
  show) echo LoadState=loaded; echo "ActiveState=$(cat "$state")"; echo "InvocationID=$(wc -l < "$PLIMSOLL_ROOT/runs")" ;;
  stop) echo inactive > "$state" ;;
  start | restart)
    if [ -e "$PLIMSOLL_ROOT/broken" ]; then echo failed > "$state"; echo 'Job for kubelet failed.' >&2; exit 1; fi
    echo active > "$state"; echo run >> "$PLIMSOLL_ROOT/runs" ;;
esac"#;

/// A shell on a node whose root is a folder: of what is asked (how many words, the verb, the root, and so on,
/// a line each), the root is replaced.
const SHELL: &str = r#"{
  for one in count verb; do IFS= read -r line; printf '%s\n' "$line"; done
  IFS= read -r line; printf '%s\n' "${line:-$PLIMSOLL_ROOT}"
  exec cat
} | exec /bin/sh "$@""#;

fn start(folder: &Path) -> Running {
    real("apt.sh", &["openssh-server", "openssh-client"]).unwrap();
    let at = |name: &str| folder.join(name);
    let show = |path: PathBuf| path.display().to_string();
    for name in ["remote", "bin", "root"] {
        fs_err::create_dir_all(at(name)).unwrap();
    }
    key(&at("host"));
    key(&at("user"));
    let port = free_port().unwrap();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nSetEnv PLIMSOLL_ROOT={} PATH={}:/usr/bin:/bin\n",
        show(at("host")),
        show(at("user.pub")),
        show(at("root")),
        show(at("remote")),
    );
    fs_err::write(at("sshd_config"), config).unwrap();
    fs_err::create_dir_all("/run/sshd").unwrap();
    let mut command = Command::new("/usr/sbin/sshd");
    command.arg("-D").arg("-e").arg("-f").arg(at("sshd_config"));
    let sshd = Running::start(&mut command, &at("sshd.log")).unwrap();
    let client = format!(
        "Host master-1\n  HostName 127.0.0.1\n  Port {port}\n  User root\n  IdentityFile {}\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\nHost nowhere\n  HostName 127.0.0.1\n  Port {}\n",
        show(at("user")),
        free_port().unwrap()
    );
    fs_err::write(at("ssh_config"), client).unwrap();
    let ssh = format!("exec /usr/bin/ssh -F {} \"$@\"", show(at("ssh_config")));
    script(&at("bin/ssh"), &ssh);
    script(&at("remote/sudo"), "exit 1");
    script(&at("remote/sh"), SHELL);
    script(&at("remote/systemctl"), SYSTEMCTL);
    let answers = || {
        let mut ssh = Command::new(at("bin/ssh"));
        ssh.args(["-o", "BatchMode=yes", "master-1", "true"]);
        ssh.output().is_ok_and(|output| output.status.success())
    };
    wait_for("sshd", Duration::from_secs(20), answers).unwrap();
    sshd
}

#[test]
fn a_node_is_repaired_over_ssh_and_taken_back() {
    let folder = tempdir().unwrap();
    let _sshd = start(folder.path());
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "over_ssh::inner", "--nocapture"])
        .current_dir(folder.path())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.path().join("bin").display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "run by the test above, with its `ssh`"]
fn inner() {
    let root = Path::new("root");
    lay_out(root);
    fs_err::write(root.join("state"), "active\n").unwrap();
    fs_err::write(root.join("runs"), "run\n").unwrap();
    fs_err::write(root.join("asked"), "").unwrap();
    let node = Node::Ssh { destination: "master-1".into() };
    let target = NodeTarget::new("master-1", node.clone(), "s-1", &Nobody).unwrap();
    let before = tree(root);

    let (stop, begin) =
        (unit(UnitVerb::Stop), plimsoll_model::plan::Step { number: 4, ..unit(UnitVerb::Start) });
    does(&target, &stop);
    assert_eq!(standing(&target, &stop), Standing::Done);
    let written = write(NEW);
    does(&target, &written);
    assert_eq!(standing(&target, &written), Standing::Done);
    assert_eq!(fs_err::read_to_string(at(root, KUBECONFIG)).unwrap(), NEW);
    let aside = retire();
    does(&target, &aside);
    assert_eq!(standing(&target, &aside), Standing::Done);
    does(&target, &begin);
    assert_eq!(standing(&target, &begin), Standing::Done);
    let restart = plimsoll_model::plan::Step { number: 5, ..unit(UnitVerb::Restart) };
    let first = target.look(&restart).unwrap().hash;
    does(&target, &restart);
    let again = target.look(&restart).unwrap();
    assert_eq!(again.standing, Standing::Ahead, "a restart may be done twice");
    assert_ne!(again.hash, first);

    for step in [&begin, &aside, &written, &stop] {
        assert_eq!(standing(&target, step), Standing::Done);
        target.undo(step, None).unwrap();
    }
    let mut after = tree(root);
    assert_eq!(after["state"], before["state"], "what ran runs again");
    for name in ["runs", "asked"] {
        after.insert(name.into(), before[name].clone());
    }
    assert_eq!(after, before);

    // A content is never in a command line, nor said.
    let asked = fs_err::read_to_string(root.join("asked")).unwrap();
    assert!(asked.contains("systemctl restart -- kubelet"), "{asked}");
    assert!(!fs_err::read_to_string("sshd.log").unwrap().contains("token"));

    fs_err::write(root.join("broken"), "").unwrap();
    let said = target.act(&restart).unwrap_err();
    let Trouble::Failed(why) = &said else { panic!("{said:?}") };
    assert!(
        why.ends_with("systemctl restart kubelet does not work: Job for kubelet failed."),
        "{why}"
    );
    let odd = plimsoll_model::plan::Action::Unit { unit: "nothing".into(), verb: UnitVerb::Start };
    assert!(target.look(&step(6, odd)).unwrap_err().to_string().contains("no unit of this node"));

    let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    fs_err::write(root.join("etc/large"), &bytes).unwrap();
    assert!(read_file(&node, "/etc/large").unwrap() == bytes);

    let nowhere = Node::Ssh { destination: "nowhere".into() };
    let nowhere = NodeTarget::new("master-2", nowhere, "s-1", &Nobody).unwrap();
    let said = nowhere.look(&written).unwrap_err();
    assert!(matches!(&said, Trouble::Lost(why) if why.contains("Connection refused")), "{said}");
}
