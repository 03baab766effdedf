//! A rule that is broken on purpose, on a real kubelet: it speaks as the cluster's administrator for a while, and
//! nothing of that is left when it is taken back. And what somebody left is mended.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::Trial;
use plimsoll_rig::{Identity, VALID, wait_for};
use serde_json::Value;

use crate::cluster::on_a_real_kubelet;
use crate::identity::{LONG, Lost, ssh, subject};
use crate::site::words;

const ROOT: &str = "bootstrap-credential-missing";
const TYPED: &str = "break-glass master-1";
const LOCALHOST: &str = "etc/kubernetes/static-pod-resources/kube-apiserver-certs/secrets/node-kubeconfigs/localhost.kubeconfig";
/// In which it would be taken back by itself, if it were going to be.
const A_WHILE: Duration = Duration::from_secs(15);

pub fn trials() -> Vec<Trial> {
    vec![on_a_real_kubelet("borrow-admin-identity/on-a-real-kubelet", || {
        let mut lost = Lost::start();
        let before = identity(&lost);
        taken_back_when_it_fails(&mut lost);
        is_again(&lost, &before);
        let admin = lend(&lost);
        killed_half_way(&mut lost);
        is_again(&lost, &before);
        killed_while_it_is_broken(&mut lost, &admin);
        is_again(&lost, &before);
        // Nor does the credential lie anywhere that it did not lie before.
        let key = admin.key.lines().nth(1).unwrap();
        let find = format!("grep -rlF -e {key} -e {} /etc /var/lib 2> /dev/null", packed(&admin));
        assert_eq!(ssh(&lost.site, &format!("{find} || true")).trim(), format!("/{LOCALHOST}"));
        assert!(!lost.site.written().contains(key));
        left_by_somebody(&mut lost);
    })]
}

/// A part of the key as it stands in a kubeconfig.
fn packed(admin: &Identity) -> String {
    STANDARD.encode(&admin.key).chars().skip(60).take(60).collect()
}

/// What the kubelet is known by, on the disks of its node.
fn identity(lost: &Lost) -> BTreeMap<String, String> {
    let root = &lost.kubelet.root;
    let store = fs_err::read_dir(root.join("var/lib/kubelet/pki")).unwrap();
    let names = store.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let certificates = names.filter(|name| name.starts_with("kubelet-client"));
    let certificates = certificates.map(|name| format!("var/lib/kubelet/pki/{name}"));
    let configs = ["var/lib/kubelet/kubeconfig", "etc/kubernetes/kubeconfig"].map(str::to_string);
    let shown = |name: String| {
        let file = root.join(&name);
        let is = fs_err::symlink_metadata(&file).unwrap();
        let text = match is.is_symlink() {
            true => fs_err::read_link(&file).unwrap().display().to_string(),
            false => fs_err::read_to_string(&file).unwrap(),
        };
        (name, format!("{:o} {text}", is.permissions().mode()))
    };
    certificates.chain(configs).map(shown).collect()
}

/// To the byte; and the kubelet runs, as it did.
fn is_again(lost: &Lost, before: &BTreeMap<String, String>) {
    // A kubelet that starts writes the same once more.
    let waited = wait_for("what was there", LONG, || identity(lost) == *before);
    waited.unwrap_or_else(|_| panic!("{:#?}\nand not {before:#?}", identity(lost)));
    let unit = ssh(&lost.site, "systemctl show --property=ActiveState -- kubelet");
    assert!(unit.contains("ActiveState=active"), "{unit}");
}

fn shown(lost: &mut Lost) -> String {
    let plan = lost.plan(&[ROOT, "--break-glass", "--again"]);
    assert_eq!(plan["repair"], "borrow-admin-identity", "{plan:#}");
    assert_eq!(plan["break_glass_minutes"], 30, "{plan:#}");
    plan["digest"].as_str().unwrap().to_string()
}

fn apply(digest: &str) -> [&str; 9] {
    ["--apply", digest, "--break-glass", "--again", "--confirm", TYPED, "--settle", "60", "--quiet"]
}

fn taken_back(lost: &Lost) {
    let back = lost.site.fix(&["--rollback", "--output", "json"]);
    assert_eq!(back.status.code(), Some(1), "{}", words(&back));
    let session: Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(session["outcome"], "rolled-back", "{session:#}");
}

/// Not without the word for it, and nothing stays broken because a step did not go: here there is nothing yet
/// that could be borrowed.
fn taken_back_when_it_fails(lost: &mut Lost) {
    let digest = shown(lost);
    let refused = lost.site.fix(&["--apply", &digest, "--confirm", TYPED]);
    assert_eq!(refused.status.code(), Some(5), "{}", words(&refused));
    assert!(!lost.site.journal(&digest).exists());
    let done = lost.site.fix(&[&apply(&digest)[..], &["--output", "json"]].concat());
    assert_eq!(done.status.code(), Some(1), "{}", words(&done));
    let session: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(session["outcome"], "rolled-back", "{session:#}");
    assert!(session["entries"].to_string().contains("localhost.kubeconfig"), "{session:#}");
}

/// What the API server's operator puts on the disk of every master.
fn lend(lost: &Lost) -> Identity {
    let subject = ("system:admin", &["system:masters"][..]);
    let admin = lost.server.authority.sign(subject, &[], VALID).unwrap();
    let root = &lost.kubelet.root;
    let nobody = fs_err::read_to_string(root.join("etc/kubernetes/kubeconfig")).unwrap();
    let user = format!(
        "  user:\n    client-certificate-data: {}\n    client-key-data: {}\n",
        STANDARD.encode(&admin.certificate),
        STANDARD.encode(&admin.key)
    );
    let lent = nobody.replace("  user: {}\n", &user);
    assert_ne!(lent, nobody);
    let file = root.join(LOCALHOST);
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    fs_err::write(file, lent).unwrap();
    admin
}

fn killed_half_way(lost: &mut Lost) {
    let digest = shown(lost);
    let is_at_it = |one: &Value| one["what"] == "intends" && one["step"] == 2;
    let far = |events: &[Value]| events.iter().any(is_at_it);
    let killed = lost.site.kill_at(&apply(&digest), &digest, far);
    killed.unwrap_or_else(|done| panic!("{}", words(&done)));
    taken_back(lost);
}

/// The node is ready, by the administrator's word; whoever goes on with it keeps it so for its time.
fn killed_while_it_is_broken(lost: &mut Lost, admin: &Identity) {
    let digest = shown(lost);
    let is_ready = |one: &Value| one["what"] == "holds" && one["step"] == 4;
    let far = |events: &[Value]| events.iter().any(is_ready);
    let killed = lost.site.kill_at(&apply(&digest), &digest, far);
    killed.unwrap_or_else(|done| panic!("{}\n{}", words(&done), lost.kubelet.last_words()));
    assert_eq!(lost.kubelet.ready(&lost.server).as_deref(), Some("True"));
    // The kubelet has copied what it was lent.
    let copied = subject(&lost.site);
    assert!(copied.contains("system:admin"), "{copied}");
    let mut on = lost.site.begin(&["--resume", "--settle", "60"]);
    std::thread::sleep(A_WHILE);
    assert!(on.try_wait().unwrap().is_none(), "it ended before its time");
    on.kill().unwrap();
    on.wait().unwrap();
    let events = lost.site.events(&digest);
    assert!(!events.iter().any(|one| one["what"] == "intends-undo"), "{events:#?}");
    taken_back(lost);
    let told = lost.site.written();
    assert!(!told.contains(&packed(admin)));
}

/// As the field documents have it: the copy is made, and stays.
fn left_by_somebody(lost: &mut Lost) {
    ssh(&lost.site, "systemctl stop kubelet");
    ssh(&lost.site, &format!("install -m 0600 /{LOCALHOST} /var/lib/kubelet/kubeconfig"));
    ssh(&lost.site, "systemctl start kubelet");
    let is_ready = || lost.kubelet.ready(&lost.server).as_deref() == Some("True");
    wait_for("the administrator", LONG, is_ready).unwrap();
    // It asks for a certificate of its own in that name, and nobody answers.
    let asks = || {
        let all = lost.hands.json(&["get", "csr"]).unwrap_or_default();
        let all = all["items"].as_array().cloned().unwrap_or_default();
        all.iter().any(|one| one["spec"]["username"] == "system:admin")
    };
    wait_for("its request", LONG, asks).unwrap();
    lost.rebuilt_from("kubelet-as-admin");
}
