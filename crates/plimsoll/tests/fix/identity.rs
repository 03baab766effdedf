//! A real kubelet that lost its identity: its certificate is gone, and what it would ask for a new one with
//! is worth nothing. It gets it back over `ssh`, from the plan to the node that is ready again.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use libtest_mimic::Trial;
use plimsoll_rig::{ApiServer, IMAGE, Objects, RealKubelet, Running, definitions, wait_for};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::actor::Kubectl;
use crate::cluster::on_a_real_kubelet;
use crate::handshake::text;
use crate::requests::{BOOTSTRAPPER, signer_and};
use crate::site::{Site, edited, words};
use crate::support::NEEDS;

const NODE: &str = "master-1";
const MCO: &str = "openshift-machine-config-operator";
pub const LONG: Duration = Duration::from_secs(120);
/// Machines that are not there would be asked for their logs.
const OF_OTHERS: [&str; 2] = ["/core/nodes", "/pods"];

pub fn trials() -> Vec<Trial> {
    vec![on_a_real_kubelet("rebuild-kubelet-identity/on-a-real-kubelet", || {
        Lost::start().rebuilt_from("bootstrap-credential-missing");
    })]
}

#[expect(clippy::disallowed_methods, reason = "the kubelet has the clock of this machine")]
fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// One node at a time: each has the whole machine for itself.
static TURNS: Mutex<()> = Mutex::new(());

/// A cluster of one real node, whose kubelet lost its identity and is heard of no more.
pub struct Lost {
    pub site: Site,
    _controllers: Running,
    pub kubelet: RealKubelet,
    pub hands: Kubectl,
    pub server: ApiServer,
    _folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

impl Lost {
    pub fn start() -> Self {
        let turn = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let server = ApiServer::start_for_kubelets(folder.path()).unwrap();
        server.define(&definitions().unwrap()).unwrap();
        let mut tree = edited("metal-3-2", "").tree().unwrap();
        tree.retain(|path, _| !OF_OTHERS.iter().any(|of| path.contains(of)));
        server.load(Objects::of_gather(&tree, &NEEDS).unwrap()).unwrap();
        let hands = Kubectl(server.admin().unwrap());
        let mut kubelet = RealKubelet::start(&server, folder.path(), NODE).unwrap();
        let role = "node-role.kubernetes.io/master=";
        hands.run(&["label", "node", NODE, role, "kubernetes.io/hostname=master-1"]).unwrap();
        credential(&server, &hands, &kubelet);
        run_control_plane(&hands, &kubelet);
        let programs = kubelet.serve_ssh(folder.path()).unwrap();
        kubelet.kill().unwrap();
        let resolver = "nameserver 198.51.100.53\n";
        fs_err::write(kubelet.root.join("etc/resolv.conf"), resolver).unwrap();
        lose_identity(&kubelet);
        let mut site = Site::new_at(server.admin().unwrap(), now());
        site.programs = Some(programs);
        site.sources = vec!["kube:admin".into(), format!("ssh:{NODE}")];
        ssh(&site, "systemctl start kubelet");
        let refused = || kubelet.last_words().matches("system:anonymous").count() > 3;
        let told = wait_for("the refusals", LONG, refused);
        told.unwrap_or_else(|_| panic!("{}", kubelet.last_words()));
        let grace = ["--node-monitor-grace-period=8s", "--node-monitor-period=1s"];
        let controllers = signer_and(&server, "nodelifecycle,csrsigning", &grace);
        let is_silent = || kubelet.ready(&server).as_deref() == Some("Unknown");
        wait_for("the silence", LONG, is_silent).unwrap();
        let _controllers = controllers;
        Self { site, _controllers, kubelet, hands, server, _folder: folder, _turn: turn }
    }

    /// A plan of this moment.
    pub fn plan(&mut self, arguments: &[&str]) -> Value {
        self.site.now = now();
        let plan = self.site.plan(arguments);
        assert_eq!(plan["hindrances"], Value::Null, "{plan:#}");
        plan
    }

    /// From the plan for this root to a node that is ready under its own name.
    pub fn rebuilt_from(&mut self, root: &str) {
        let plan = self.plan(&[root]);
        assert_eq!(plan["repair"], "rebuild-kubelet-identity", "{plan:#}");
        let Self { site, kubelet, hands, server, .. } = self;
        let digest = plan["digest"].as_str().unwrap();
        let typed = ["--confirm", NODE, "--dwell", "1", "--settle", "60", "--output", "json"];
        // Killed while it puts the old identity aside, which may be done or not.
        let is_at_it = |one: &Value| one["what"] == "intends" && one["step"] == 3;
        let apply = [&["--apply", digest][..], &typed].concat();
        let killed = site.kill_at(&apply, digest, |events| events.iter().any(is_at_it));
        killed.unwrap_or_else(|done| panic!("{}", words(&done)));
        let done = site.fix(&[&["--resume"][..], &typed].concat());
        assert_eq!(done.status.code(), Some(0), "{}\n{}", words(&done), kubelet.last_words());
        let session: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(session["outcome"], "fixed", "{session:#}");
        assert_eq!(kubelet.ready(server).as_deref(), Some("True"));
        let subject = subject(site);
        let is_own = subject.contains("system:nodes") && subject.contains("system:node:master-1");
        assert!(is_own, "{subject}");
        // No word of the credential is anywhere but on the node and in the cluster.
        let told = [words(&done), site.written()].concat();
        assert!(!token(hands).iter().any(|token| told.contains(token)));
    }
}

/// Whom the kubelet's certificate is of.
pub fn subject(site: &Site) -> String {
    ssh(site, "openssl x509 -noout -subject -in /var/lib/kubelet/pki/kubelet-client-current.pem")
}

/// Something of the name of each static pod of a master.
const STATIC: [(&str, &str); 4] = [
    ("openshift-etcd", "etcd"),
    ("openshift-kube-apiserver", "kube-apiserver"),
    ("openshift-kube-controller-manager", "kube-controller-manager"),
    ("openshift-kube-scheduler", "openshift-kube-scheduler"),
];

fn run_control_plane(hands: &Kubectl, kubelet: &RealKubelet) {
    for (namespace, name) in STATIC {
        let _ = hands.run(&["create", "namespace", namespace]);
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"hostNetwork": true, "containers": [{
                "name": name, "image": IMAGE, "imagePullPolicy": "Never",
                "command": ["/bin/sleep", "100000"],
            }]},
        });
        kubelet.run(&pod).unwrap();
    }
    for (namespace, name) in STATIC {
        let mirror = format!("{name}-{NODE}");
        let is_there = || hands.run(&["get", "pod", &mirror, "-n", namespace]).is_some();
        wait_for(&mirror, LONG, is_there).unwrap();
    }
}

/// What OpenShift has for kubelets that ask: who may ask, with what, and where.
fn credential(server: &ApiServer, hands: &Kubectl, kubelet: &RealKubelet) {
    for namespace in [MCO, "openshift-kube-controller-manager"] {
        let _ = hands.run(&["create", "namespace", namespace]);
    }
    let binding = ["create", "clusterrolebinding", "system-bootstrap-node-bootstrapper"];
    let of = ["--clusterrole=system:node-bootstrapper", "--user", BOOTSTRAPPER];
    hands.run(&[&binding[..], &of].concat()).unwrap();
    hands.run(&["create", "serviceaccount", "node-bootstrapper", "-n", MCO]).unwrap();
    let path = format!("/api/v1/namespaces/{MCO}/serviceaccounts/node-bootstrapper/token");
    let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600}});
    let made = server.kubectl(&["create", "--raw", &path, "-f", "-"], &asked.to_string()).unwrap();
    let made: Value = serde_json::from_str(&made).unwrap();
    let token = format!("--from-literal=token={}", made["status"]["token"].as_str().unwrap());
    let away = ["delete", "--ignore-not-found"];
    hands.run(&[&away[..], &["secret", "node-bootstrapper-token", "-n", MCO]].concat()).unwrap();
    let secret = ["create", "secret", "generic", "node-bootstrapper-token", "-n", MCO, &token];
    hands.run(&secret).unwrap();
    let kept = ["serviceaccount-ca", "-n", "openshift-kube-controller-manager"];
    hands.run(&[&away[..], &["configmap"], &kept].concat()).unwrap();
    let bundle = format!("--from-literal=ca-bundle.crt={}", server.authority.pem);
    hands.run(&[&["create", "configmap"], &kept[..], &[&bundle]].concat()).unwrap();
    let config = fs_err::read_to_string(kubelet.root.join("var/lib/kubelet/kubeconfig")).unwrap();
    let api = config.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let patch = json!({"status": {"apiServerInternalURI": api}}).to_string();
    let words =
        ["patch", "infrastructure", "cluster", "--subresource=status", "--type=merge", "-p"];
    hands.run(&[&words[..], &[&patch]].concat()).unwrap();
}

/// As it stands in its Secret, and as it is given.
fn token(hands: &Kubectl) -> [String; 2] {
    let path = ["get", "secret", "node-bootstrapper-token", "-n", MCO];
    let secret = hands.json(&path).unwrap();
    [secret["data"]["token"].as_str().unwrap().to_string(), text(&secret, "token")]
}

/// The certificate is gone; the bootstrap kubeconfig is there, and nobody's.
fn lose_identity(kubelet: &RealKubelet) {
    let at = |name: &str| kubelet.root.join(name);
    fs_err::remove_file(at("var/lib/kubelet/pki/kubelet-client-current.pem")).unwrap();
    let config = fs_err::read_to_string(at("var/lib/kubelet/kubeconfig")).unwrap();
    let file = "/var/lib/kubelet/pki/kubelet-client-current.pem";
    let nobody = config
        .replace(&format!("    client-certificate: {file}\n    client-key: {file}\n"), "    {}\n")
        .replace("  user:\n    {}", "  user: {}");
    assert_ne!(nobody, config);
    fs_err::write(at("etc/kubernetes/kubeconfig"), nobody).unwrap();
}

/// What a command on the node says.
pub fn ssh(site: &Site, command: &str) -> String {
    let ssh = site.programs.as_ref().unwrap().join("ssh");
    let output = std::process::Command::new(ssh).args([NODE, command]).output().unwrap();
    assert!(output.status.success(), "{command}: {}", words(&output));
    words(&output)
}
