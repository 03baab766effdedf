//! The one API server of all trials. They take turns: each has its own objects in it.

use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use libtest_mimic::{Failed, Trial};
use plimsoll_lab::parse_cases;
use plimsoll_rig::{ApiServer, Objects, VALID, definitions, wait_for};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::NEEDS;

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const BOOTSTRAPPER: &str =
    "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
const BOOTSTRAPPER_GROUPS: [&str; 2] =
    ["system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator"];
pub const CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
pub const SERVING: &str = "kubernetes.io/kubelet-serving";
/// Who may ask, as OpenShift has it; and anybody who is called mallory.
const RIGHTS: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: system-bootstrap-node-bootstrapper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:node-bootstrapper'}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: 'system:serviceaccount:openshift-machine-config-operator:node-bootstrapper'}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reads-all}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reads-all}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reads-all}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: reader}
";

pub struct Cluster {
    pub server: ApiServer,
    folder: TempDir,
}

pub type Shared = Arc<Mutex<Option<Cluster>>>;

pub fn shared() -> Shared {
    Arc::default()
}

pub fn trial(name: &str, shared: &Shared, run: fn(&Cluster)) -> Trial {
    let shared = shared.clone();
    Trial::test(name, move || {
        let mut cluster = shared.lock().unwrap_or_else(PoisonError::into_inner);
        run(cluster.get_or_insert_with(start));
        Ok::<(), Failed>(())
    })
}

fn start() -> Cluster {
    let folder = TempDir::new().unwrap();
    let server = ApiServer::start(folder.path()).unwrap();
    server.define(&definitions().unwrap()).unwrap();
    server.kubectl(&["apply", "-f", "-"], RIGHTS).unwrap();
    Cluster { server, folder }
}

/// What somebody asks for.
pub struct Asking<'a> {
    pub name: &'a str,
    /// Common name and groups of who asks.
    pub by: (&'a str, &'a [&'a str]),
    pub signer: &'a str,
    pub subject: (&'a str, &'a str),
    pub names: &'a [&'a str],
}

impl Asking<'_> {
    /// As a new kubelet does.
    pub fn client<'a>(name: &'a str, subject: &'a str) -> Asking<'a> {
        Asking {
            name,
            by: (BOOTSTRAPPER, &BOOTSTRAPPER_GROUPS),
            signer: CLIENT,
            subject: ("system:nodes", subject),
            names: &[],
        }
    }

    /// As a kubelet does that has its first certificate.
    pub fn serving<'a>(name: &'a str, node: &'a str, names: &'a [&'a str]) -> Asking<'a> {
        Asking {
            name,
            by: (node, &["system:nodes"]),
            signer: SERVING,
            subject: ("system:nodes", node),
            names,
        }
    }
}

impl Cluster {
    /// In place of what was there: the usual cluster with these edits.
    pub fn load(&self, edits: &str) {
        let case = format!(
            "# x\n\n## fires: x\n\n```edits base=metal-3-2\n{edits}\n```\n\n```expect\nverdict recoverable\n```\n"
        );
        let tree = parse_cases(&case).unwrap()[0].tree().unwrap();
        self.server.load(Objects::of_gather(&tree, &NEEDS).unwrap()).unwrap();
    }

    pub fn config_of(&self, user: &str, groups: &[&str]) -> String {
        let identity = self.server.authority.sign((user, groups), &[], VALID).unwrap();
        let file = user.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let server = &self.server;
        let config = server.kubeconfig(&file, &server.server(), &identity, &server.authority.pem);
        config.unwrap().display().to_string()
    }

    /// Files a request with the certificate of who asks.
    pub fn ask(&self, asking: &Asking<'_>) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, asking.subject.0);
        params.distinguished_name.push(DnType::CommonName, asking.subject.1);
        params.subject_alt_names = (asking.names.iter())
            .map(|name| match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*name).try_into().unwrap()),
            })
            .collect();
        let pem = params.serialize_request(&KeyPair::generate().unwrap()).unwrap().pem().unwrap();
        let purpose = if asking.signer == CLIENT { "client auth" } else { "server auth" };
        let request = json!({
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": asking.name},
            "spec": {"request": STANDARD.encode(pem), "signerName": asking.signer,
                "usages": ["digital signature", purpose]},
        });
        let file = self.folder.path().join(format!("{}.json", asking.name));
        fs_err::write(&file, request.to_string()).unwrap();
        let config = self.config_of(asking.by.0, asking.by.1);
        let made = Command::new("kubectl")
            .args(["--kubeconfig", &config, "create", "-f", &file.display().to_string()])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    /// `Approved`, or nothing.
    pub fn decision(&self, request: &str) -> String {
        let path = "jsonpath={.status.conditions[*].type}";
        self.server.kubectl(&["get", "csr", request, "-o", path], "").unwrap()
    }

    /// By that process, whose words are told where it does not come.
    #[track_caller]
    pub fn await_approval(&self, request: &str, mut by: Child) -> Child {
        let waited = wait_for(request, PATIENCE, || self.decision(request) == "Approved");
        if let Err(error) = waited {
            // It may be over already.
            let _ = by.kill();
            panic!("{error}: {}", text(&by.wait_with_output().unwrap()));
        }
        by
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.server.admin().unwrap())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn plimsoll(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub fn write(&self, name: &str, text: &str) {
        fs_err::write(self.folder.path().join(name), text).unwrap();
    }
}

pub fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}", text(&output.stdout), text(&output.stderr))
}

#[track_caller]
pub fn answer(output: &Output, code: i32) -> Value {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    serde_json::from_slice(&output.stdout).unwrap()
}
