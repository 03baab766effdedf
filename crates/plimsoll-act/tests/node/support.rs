//! Steps, a cluster to make contents from, and trees to compare.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_act::{LOCALHOST_KUBECONFIG, NodeTarget, Reads, Standing, Target, Trouble};
use plimsoll_live::Node;
use plimsoll_model::Time;
use plimsoll_model::plan::{
    Action, Content, LOCALHOST_MAKER, Object, Rehearsal, Step, Target as Where, Undo, UnitVerb,
};
use serde_json::{Value, json};

pub const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";
pub const NEW: &str = "kind: Config\ntoken: 'new \"$(id)\" token'\n";

/// Nobody to ask.
pub struct Nobody;

impl Reads for Nobody {
    fn object(&self, _: &Object) -> Result<Option<Value>, Trouble> {
        Err(Trouble::Lost("the API does not answer".into()))
    }

    fn file(&self, _: &str, _: &str) -> Result<Vec<u8>, Trouble> {
        Err(Trouble::Lost("the node does not answer".into()))
    }

    fn local(&self, _: &str) -> Result<Vec<u8>, Trouble> {
        Err(Trouble::Failed("there is no such file".into()))
    }

    fn now(&self) -> Time {
        Time::UNIX_EPOCH
    }
}

pub fn step(number: usize, action: Action) -> Step {
    Step {
        number,
        title: String::new(),
        action,
        target: Where::Node { name: "master-1".into() },
        diff: Vec::new(),
        require: Vec::new(),
        unless: Vec::new(),
        expect: Vec::new(),
        undo: Undo::Restore,
        blast: 3,
        permissions: Vec::new(),
        minutes: None,
        commands: Vec::new(),
        rehearsal: Rehearsal::Impossible { because: "a node has no dry run".into() },
    }
}

pub fn write(text: &str) -> Step {
    let content = Content::Plan { value: json!(text) };
    step(1, Action::WriteFile { path: KUBECONFIG.into(), mode: 0o600, content })
}

pub fn made_by(maker: &str, path: &str) -> Step {
    let content = Content::Maker { maker: maker.into(), inputs: json!({}) };
    step(1, Action::WriteFile { path: path.into(), mode: 0o600, content })
}

pub fn retire() -> Step {
    let paths = ["/var/lib/kubelet/kubeconfig", "/var/lib/kubelet/pki/kubelet-client-*"];
    step(2, Action::Retire { paths: paths.map(str::to_string).into() })
}

pub fn unit(verb: UnitVerb) -> Step {
    step(3, Action::Unit { unit: "kubelet".into(), verb })
}

pub fn at(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}

/// Of a master whose kubelet lost its identity.
pub fn lay_out(root: &Path) {
    let put = |path: &str, text: &str, mode: u32| {
        let file = at(root, path);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(&file, text).unwrap();
        fs_err::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    };
    put(KUBECONFIG, "kind: Config\ntoken: old\n", 0o644);
    put("/var/lib/kubelet/kubeconfig", "kind: Config\n", 0o600);
    put("/var/lib/kubelet/pki/kubelet-client-2025-12-03.pem", "old key\n", 0o600);
    put("/var/lib/kubelet/pki/kubelet-client-it's $(odd).pem", "odd key\n", 0o640);
    put("/var/lib/kubelet/pki/kubelet-server-2025-12-03.pem", "server key\n", 0o600);
    let current = at(root, "/var/lib/kubelet/pki/kubelet-client-current.pem");
    let target = "/var/lib/kubelet/pki/kubelet-client-2025-12-03.pem";
    symlink(target, current).unwrap();
}

/// Whose certificate stands in the node's own administrator kubeconfig.
pub const LENT: &str = "administrator";

fn certificate(of: &str) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{of}\n-----END CERTIFICATE-----\n")
}

/// Puts it where it can be borrowed from.
pub fn lend(root: &Path) {
    let file = at(root, LOCALHOST_KUBECONFIG);
    fs_err::create_dir_all(file.parent().unwrap()).unwrap();
    let packed = STANDARD.encode(certificate(LENT));
    let user = format!("    client-certificate-data: {packed}\n    client-key-data: a2V5\n");
    fs_err::write(file, format!("users:\n- name: admin\n  user:\n{user}")).unwrap();
}

pub fn borrow() -> Step {
    made_by(LOCALHOST_MAKER, "/var/lib/kubelet/kubeconfig")
}

/// What a kubelet does with the certificate that it starts with, or that it got: it is the newest in its store.
pub fn kubelet_stores(root: &Path, of: &str) {
    let file = format!("/var/lib/kubelet/pki/kubelet-client-of-{of}.pem");
    fs_err::write(at(root, &file), format!("{}key of {of}\n", certificate(of))).unwrap();
    let current = at(root, "/var/lib/kubelet/pki/kubelet-client-current.pem");
    fs_err::remove_file(&current).unwrap();
    symlink(file, current).unwrap();
}

/// Every file with its mode, but for what is kept.
pub fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs_err::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let about = fs_err::symlink_metadata(&path).unwrap();
            if about.is_symlink() {
                found.insert(name, format!("-> {}", fs_err::read_link(&path).unwrap().display()));
            } else if about.is_dir() {
                if name != "var/lib/plimsoll" {
                    folders.push(path);
                }
            } else {
                let text = fs_err::read_to_string(&path).unwrap();
                found.insert(name, format!("{:o} {text}", about.permissions().mode() & 0o7777));
            }
        }
    }
    found
}

pub fn below<'r>(root: &Path, reads: &'r dyn Reads) -> NodeTarget<'r> {
    NodeTarget::new("master-1", Node::Here { root: root.into() }, "20251203-1", reads).unwrap()
}

pub fn standing(target: &NodeTarget, step: &Step) -> Standing {
    target.look(step).unwrap().standing
}

pub fn does(target: &NodeTarget, step: &Step) {
    assert_eq!(standing(target, step), Standing::Ahead);
    target.rehearse(step).unwrap();
    target.keep(step).unwrap();
    assert_eq!(standing(target, step), Standing::Ahead);
    target.act(step).unwrap();
}
