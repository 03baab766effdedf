//! A machine network that is too narrow, appended to: the whole life of a plan.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;
use plimsoll_rig::{VALID, wait_for};
use serde_json::Value;

use crate::actor::{Actor, Kubectl};
use crate::cluster::{Cluster, Shared, trial};
use crate::site::{Site, case, words};

const FILE: &str = "knowledge/network/vip-outside-machine-network/tests/cases.md";
const SUBNET: &str = "192.168.112.0/24";
const QUICK: [&str; 6] = ["--dwell", "1", "--settle", "20", "--confirm", "Infrastructure/cluster"];
const LONG: Duration = Duration::from_secs(60);

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster)| {
        trial(format!("machine-network/{name}"), shared, move |mut cluster| {
            cluster.load(&case(FILE));
            run(&mut cluster);
            Ok(())
        })
    };
    vec![
        with("shown-and-nothing-changes", shown),
        with("carried-out-and-taken-back", carried_out),
        with("nobody-is-there", nobody_is_there),
        with("stale", stale),
        with("tampered", tampered),
        with("somebody-else-is-at-work", held),
        with("without-the-rights", without_rights),
        with("killed", killed),
        with("of-another-cluster", of_another_cluster),
        with("the-api-goes", the_api_goes),
        with("two-at-once", two_at_once),
        with("lower-layer-first", lower_layer_first),
    ]
}

fn networks(hands: &Kubectl) -> Value {
    let found = hands.json(&["get", "infrastructure", "cluster"]).unwrap();
    found["spec"]["platformSpec"]["baremetal"]["machineNetworks"].clone()
}

/// The network operator: degraded as long as a VIP is in no machine network.
fn network_operator(hands: &Kubectl) {
    let Some(found) = hands.json(&["get", "infrastructure", "cluster"]) else { return };
    let networks = found["spec"]["platformSpec"]["baremetal"]["machineNetworks"].to_string();
    let (status, message) = match networks.contains(SUBNET) {
        true => ("False", ""),
        false => ("True", "VIP '192.168.112.5' cannot be found in any machine network"),
    };
    hands.condition("network", "Degraded", status, message);
}

fn digest(plan: &Value) -> String {
    assert_eq!(plan["hindrances"], Value::Null, "{plan:#}");
    plan["digest"].as_str().unwrap().to_string()
}

fn shown(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let before = site.hands().json(&["get", "infrastructure", "cluster"]).unwrap();
    let plan = site.plan(&[]);
    let step = &plan["steps"][0];
    assert_eq!(step["target"]["uid"], before["metadata"]["uid"]);
    assert_eq!(step["target"]["resource_version"], before["metadata"]["resourceVersion"]);
    let diff = step["diff"].to_string();
    assert!(
        diff.contains(&format!("+ /spec/platformSpec/baremetal/machineNetworks/1: \\\"{SUBNET}")),
        "{diff}"
    );
    assert_eq!(plan["root"]["id"], "vip-outside-machine-network");
    assert_eq!(site.hands().json(&["get", "infrastructure", "cluster"]).unwrap(), before);
    let text = words(&site.fix(&["vip-outside-machine-network"]));
    let short: String = digest(&plan).chars().take(12).collect();
    assert!(text.contains(&format!("plimsoll fix --apply {short}")), "{text}");
}

fn carried_out(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let before = networks(&site.hands());
    let digest = digest(&site.plan(&[]));
    let actor = Actor::start(site.hands(), network_operator);
    let done = site.fix(&[&["--apply", &digest, "--output", "json"][..], &QUICK].concat());
    assert_eq!(done.status.code(), Some(0), "{}", words(&done));
    let session: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(session["outcome"], "fixed");
    assert!(networks(&site.hands()).to_string().contains(SUBNET));
    // What was there is kept, for its owner only.
    let kept =
        site.state().join("sessions").join(&digest).join("kept/01-Infrastructure-cluster.json");
    let mode = fs_err::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let copy: Value = serde_json::from_slice(&fs_err::read(&kept).unwrap()).unwrap();
    assert_eq!(copy["spec"]["platformSpec"]["baremetal"]["machineNetworks"], before);
    let again = site.fix(&["--apply", &digest]);
    assert_eq!(again.status.code(), Some(2), "{}", words(&again));
    // The network operator forbids to remove one again, and so nobody tries.
    let now = networks(&site.hands());
    let back = site.fix(&["--rollback", "--output", "json"]);
    assert_eq!(back.status.code(), Some(1), "{}", words(&back));
    let session: Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(session["outcome"], "partly-rolled-back", "{session:#}");
    assert_eq!(networks(&site.hands()), now);
    drop(actor);
}

/// The same names in another cluster are other things.
fn of_another_cluster(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let plan = site.plan(&[]);
    let digest = digest(&plan);
    let before = networks(&site.hands());
    let mut other = case(FILE);
    let id = plan["cluster"]["id"].as_str().unwrap();
    for (_, text) in other.iter_mut().filter(|(path, _)| path.contains("clusterversions")) {
        let known = String::from_utf8(std::mem::take(text)).unwrap();
        *text = known.replace(id, "00000000-0000-4000-8000-000000000000").into_bytes();
    }
    cluster.load(&other);
    let done = site.fix(&["--apply", &digest]);
    assert_eq!(done.status.code(), Some(5), "{}", words(&done));
    assert!(words(&done).contains("the plan was made for cluster"), "{}", words(&done));
    assert_eq!(networks(&site.hands()), before);
    assert!(!site.journal(&digest).exists());
}

/// What nobody named and nobody allowed is not begun where nobody can be asked.
fn nobody_is_there(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let before = networks(&site.hands());
    let policy = site.folder.path().join("plimsoll.toml");
    let without = &QUICK[..4];
    for says in ["", "[unattended]\nblast = 2\n"] {
        fs_err::write(&policy, says).unwrap();
        let refused = site.fix(&[&["--apply", &digest][..], without].concat());
        assert_eq!(refused.status.code(), Some(5), "{}", words(&refused));
        let told = words(&refused).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            told.contains(
                "nobody sits at a terminal to be asked: --confirm 'Infrastructure/cluster'"
            ),
            "{told}"
        );
        // It cannot be taken back: no policy lets that pass.
        assert!(!told.contains("steps up to level"), "{told}");
    }
    fs_err::write(&policy, "[unattended]\nblast = 4\n").unwrap();
    let wrong = site.fix(&[&["--apply", &digest][..], &QUICK].concat());
    assert_eq!(wrong.status.code(), Some(2), "{}", words(&wrong));
    assert_eq!(networks(&site.hands()), before);
    assert_eq!(site.events(&digest), Vec::<Value>::new());
}

fn stale(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let theirs = r#"[{"op":"add","path":"/spec/platformSpec/baremetal/machineNetworks/-","value":"10.9.0.0/16"}]"#;
    site.hands().run(&["patch", "infrastructure", "cluster", "--type=json", "-p", theirs]).unwrap();
    let now = networks(&site.hands());
    let done = site.fix(&[&["--apply", &digest][..], &QUICK].concat());
    assert_eq!(done.status.code(), Some(4), "{}", words(&done));
    assert_eq!(networks(&site.hands()), now);
}

fn tampered(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let plan = site.plan(&["--save", "plan.json"]);
    let digest = digest(&plan);
    let file = site.folder.path().join("plan.json");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(&file, text.replace(SUBNET, "0.0.0.0/0")).unwrap();
    let done = site.fix(&["--apply", &digest, "--plan", "plan.json"]);
    assert_eq!(done.status.code(), Some(5), "{}", words(&done));
    assert!(!networks(&site.hands()).to_string().contains("0.0.0.0/0"));
}

#[expect(clippy::disallowed_methods, reason = "leases have the time of day")]
fn held(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
    let lease = format!(
        "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {{name: plimsoll-fix, namespace: kube-system}}\nspec: {{holderIdentity: somebody, leaseDurationSeconds: 120, renewTime: \"{now}\"}}\n"
    );
    cluster.server.kubectl(&["apply", "-f", "-"], &lease).unwrap();
    let done = site.fix(&["--apply", &digest]);
    assert_eq!(done.status.code(), Some(5), "{}", words(&done));
    assert!(words(&done).contains("another session is at work"), "{}", words(&done));
    cluster.server.kubectl(&["delete", "lease", "-n", "kube-system", "plimsoll-fix"], "").unwrap();
}

fn without_rights(cluster: &mut Cluster) {
    let mut site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let server = &cluster.server;
    let reader = server.authority.sign(("viewer", &[]), &[], VALID).unwrap();
    let role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: viewer}\nrules:\n- {apiGroups: ['*'], resources: ['*'], verbs: [get, list]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: viewer}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: viewer}\nsubjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}]\n";
    server.kubectl(&["apply", "-f", "-"], role).unwrap();
    site.config =
        server.kubeconfig("viewer", &server.server(), &reader, &server.authority.pem).unwrap();
    let done = site.fix(&["--apply", &digest]);
    let told = words(&done);
    assert_eq!(done.status.code(), Some(5), "{told}");
    assert!(told.contains("no right to patch infrastructures.config.openshift.io"), "{told}");
    assert!(!site.journal(&digest).exists());
}

/// At every line of the journal that can be met, and then on or back.
fn killed(cluster: &mut Cluster) {
    let mut met = 0;
    for lines in 1..=6 {
        cluster.load(&case(FILE));
        let site = Site::new(cluster);
        let before = networks(&site.hands());
        let digest = digest(&site.plan(&[]));
        let actor = Actor::start(site.hands(), network_operator);
        let mut child = site.begin(&[&["--apply", &digest][..], &QUICK].concat());
        let journal = site.journal(&digest);
        let reached = wait_for("a line", LONG, || {
            let text = fs_err::read_to_string(&journal).unwrap_or_default();
            text.lines().count() >= lines || child.try_wait().unwrap().is_some()
        });
        reached.unwrap();
        met += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        match lines % 2 {
            0 => {
                let on = site.fix(&[&["--resume"][..], &QUICK].concat());
                let ended = [Some(0), Some(5)].contains(&on.status.code());
                assert!(ended, "{lines}: {}", words(&on));
                assert!(networks(&site.hands()).to_string().contains(SUBNET), "{lines}");
            }
            _ => {
                let back = site.fix(&["--rollback"]);
                assert_eq!(back.status.code(), Some(1), "{lines}: {}", words(&back));
                // Once it is done there is no way back, which is told.
                let told = fs_err::read_to_string(&journal).unwrap().contains("cannot-undo");
                assert!(told || networks(&site.hands()) == before, "{lines}");
            }
        }
        drop(actor);
    }
    assert!(met >= 3, "only {met} were killed while they ran");
}

/// Without an API there is nothing to be sure of: it waits until it is told to stop, and goes on when it is
/// back.
fn the_api_goes(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let short = ["--request-timeout", "3", "--timeout", "10"];
    let mut child = site.begin(&[&["--apply", &digest][..], &QUICK, &short].concat());
    let journal = site.journal(&digest);
    let told = |word: &str| fs_err::read_to_string(&journal).unwrap_or_default().contains(word);
    wait_for("the step", LONG, || told("\"did\"")).unwrap();
    cluster.server.kill();
    // Not by Child::kill: this is what Ctrl-C sends.
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    wait_for("the end", LONG, || child.try_wait().unwrap().is_some()).unwrap();
    assert_ne!(child.wait().unwrap().code(), Some(0));
    assert!(told("\"stopped\""), "{}", fs_err::read_to_string(&journal).unwrap());
    cluster.server.restart().unwrap();
    let actor = Actor::start(site.hands(), network_operator);
    let on = site.fix(&[&["--resume"][..], &QUICK].concat());
    assert_eq!(on.status.code(), Some(0), "{}", words(&on));
    drop(actor);
}

fn two_at_once(cluster: &mut Cluster) {
    let site = Site::new(cluster);
    let digest = digest(&site.plan(&[]));
    let mut child = site.begin(&[&["--apply", &digest][..], &QUICK].concat());
    let journal = site.journal(&digest);
    wait_for("the first", LONG, || journal.exists()).unwrap();
    // From the same folder the lock tells, from another one the lease.
    let second = site.fix(&["--resume"]);
    assert_eq!(second.status.code(), Some(5), "{}", words(&second));
    let other = Site::new(cluster);
    let plan = site.state().join("plans").join(format!("{digest}.json")).display().to_string();
    let third = other.fix(&["--apply", &digest, "--plan", &plan]);
    assert_eq!(third.status.code(), Some(5), "{}", words(&third));
    assert!(words(&third).contains("another session is at work"), "{}", words(&third));
    child.kill().unwrap();
    child.wait().unwrap();
    // It would hold for its time, and the next trial is on the same server.
    cluster.server.kubectl(&["delete", "lease", "-n", "kube-system", "plimsoll-fix"], "").unwrap();
}

/// etcd before the rest: with a kubelet that takes etcd with it, nothing else is begun.
fn lower_layer_first(cluster: &mut Cluster) {
    cluster.load(&case("fixtures/incidents/four-hours.md"));
    let site = Site::new(cluster);
    let before = networks(&site.hands());
    let plan = site.plan(&["vip-outside-machine-network"]);
    let done = site.fix(&[&["--apply", &digest(&plan)][..], &QUICK].concat());
    let told = words(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(done.status.code(), Some(5), "{told}");
    assert!(told.contains("kubelet-anonymous (Node/master-1) comes first"), "{told}");
    assert_eq!(networks(&site.hands()), before);
}
