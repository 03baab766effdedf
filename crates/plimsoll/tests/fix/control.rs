//! Repairs of what makes other things: operators that roll out, deployments that make pods, and what new
//! machines and their clocks are given.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::actor::Kubectl;
use crate::objects::{Part, heal};
use crate::pools::{operate, rendered};
use crate::repair::{Repair, Scene, USUAL};
use crate::site::named_case;

const IN: [&str; 2] = ["-n", "openshift-machine-api"];
const ROLLED_OUT: &[Part] =
    &[("ClusterOperator/kube-apiserver", "/status"), ("KubeAPIServer/cluster", "/status")];
const INSTALLER: &str = "installer-10-master-1";
const POD: &str = "metal3-g4nxtrjf8c-2wcg7";
const OLD_POD: &str = "Pod/openshift-machine-api/metal3-g4nxtrjf8c-2wcg7";
const MADE_ANEW: &[Part] = &[
    ("Deployment/openshift-machine-api/metal3", "/status"),
    ("ClusterOperator/baremetal", "/status"),
    ("Pod/openshift-machine-api/metal3-g4nxtrjf8c-anew", ""),
];
pub const WORKERS: &str = "worker-user-data";
/// A machine that gets its config joins.
pub const TRUSTED: &[Part] = &[
    ("BareMetalHost/openshift-machine-api/worker-1", "/status"),
    ("Machine/openshift-machine-api/ostest-cktts-worker-0-njsv9", "/status"),
    ("Node/worker-1", ""),
];
const OLD_CA: &str = "-----BEGIN CERTIFICATE-----\nb2xk\n-----END CERTIFICATE-----\n";
const NEW_CA: &str = "-----BEGIN CERTIFICATE-----\nbmV3\n-----END CERTIFICATE-----\n";
const WITH_CHRONY: &str = "rendered-master-0123456789abcdef0123456789abcdef";
const IN_TIME: &[Part] = &[
    ("MachineConfigPool/master", "/status"),
    ("MachineConfigPool/master", "/spec/configuration"),
    ("MachineConfig/rendered-master-0123456789abcdef0123456789abcdef", ""),
    ("Node/master-0", "/metadata/annotations"),
    ("Node/master-1", "/metadata/annotations"),
    ("Node/master-2", "/metadata/annotations"),
];

pub static REPAIRS: &[Repair] = &[
    Repair {
        id: "retry-revision",
        tree: || {
            named_case(
                "knowledge/control-plane/revision-failing/tests/cases.md",
                "the installer pod failed and the rollout stands",
                "",
            )
        },
        typed: &["KubeAPIServer/cluster"],
        reacts: |scene| {
            let operand =
                scene.hands.json(&["get", "kubeapiserver", "cluster"]).unwrap_or_default();
            let reason = operand["spec"]["forceRedeploymentReason"].as_str();
            if reason.is_some_and(|reason| reason.starts_with("plimsoll")) {
                heal(&scene.hands, scene.healthy, ROLLED_OUT);
            }
        },
        overtakes: Some(|hands| {
            let patch = r#"{"spec": {"forceRedeploymentReason": "somebody else"}}"#;
            let words = ["patch", "kubeapiserver", "cluster", "--type=merge", "-p", patch];
            hands.run(&words).unwrap();
        }),
        theirs: ROLLED_OUT,
        ours: &[("KubeAPIServer/cluster", "/spec/forceRedeploymentReason")],
        holds: |hands| {
            let operand = hands.json(&["get", "kubeapiserver", "cluster"]).unwrap_or_default();
            let reason = &operand["spec"]["forceRedeploymentReason"];
            (*reason == "plimsoll after revision 10").then_some(()).ok_or(format!("{reason}"))
        },
        // To put the old reason back would be a rollout more.
        reversible: false,
        remains: &["a rollout is not taken back"],
        ..USUAL
    },
    Repair {
        id: "renew-stuck-installers",
        tree: || {
            named_case(
                "knowledge/control-plane/revision-failing/tests/cases.md",
                "an installer pod hangs, and what kept it is gone",
                "",
            )
        },
        root: &["revision-failing", "--repair", "renew-stuck-installers"],
        // The kubelet lets go of it, another one comes to its end, and the operator rolls out on.
        reacts: |scene| {
            let of = ["-n", "openshift-kube-apiserver"];
            let old = scene.hands.json(&["get", "pod", INSTALLER, of[0], of[1]]);
            match old {
                Some(old) if old["metadata"]["deletionTimestamp"].is_null() => return,
                Some(_) => {
                    let now = ["--force", "--grace-period=0", of[0], of[1]];
                    scene.hands.run(&[&["delete", "pod", INSTALLER][..], &now].concat());
                }
                None => {}
            }
            heal(&scene.hands, scene.healthy, ROLLED_OUT);
        },
        theirs: ROLLED_OUT,
        ours: &[("Pod/openshift-kube-apiserver/installer-10-master-1", "")],
        holds: |hands| {
            let pod = hands.json(&["get", "pod", INSTALLER, "-n", "openshift-kube-apiserver"]);
            pod.map_or(Ok(()), |pod| Err(format!("{:#}", pod["metadata"])))
        },
        reversible: false,
        ..USUAL
    },
    Repair {
        id: "mend-metal3",
        tree: || {
            let file = "knowledge/baremetal/metal3-down/tests/cases.md";
            named_case(file, "its container crashes", "")
        },
        reacts: deployment,
        theirs: MADE_ANEW,
        ours: &[(OLD_POD, "")],
        holds: |hands| match pod(hands, POD) {
            None => Ok(()),
            Some(pod) => Err(format!("{:#}", pod["metadata"])),
        },
        reversible: false,
        ..USUAL
    },
    Repair {
        id: "refresh-pointer-ignition",
        tree: || {
            named_case(
                "knowledge/ignition/mcs-ca-mismatch/tests/cases.md",
                "the pointer ignition holds the CA of an earlier life",
                "",
            )
        },
        before: |scene| {
            let authority = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": NEW_CA},
                "metadata": {"name": "root-ca", "namespace": "kube-system"}});
            let _ = scene.hands.run(&["delete", "configmap", "root-ca", "-n", "kube-system"]);
            scene.hands.create(&authority).unwrap();
            let _ = scene.hands.run(&["delete", "secret", "worker-user-data", IN[0], IN[1]]);
            scene.hands.create(&user_data(WORKERS, OLD_CA)).unwrap();
            console(scene, REFUSES);
        },
        run: |site| site.sources = vec!["kube:".into(), "console".into()],
        typed: &[WORKERS],
        // It asks for ever, and trusts what its pointer says at the next boot.
        reacts: |scene| {
            let words = ["get", "secret", "worker-user-data", IN[0], IN[1]];
            let secret = scene.hands.json(&words).unwrap_or_default();
            if secret["data"] == user_data(WORKERS, NEW_CA)["data"] {
                console(scene, FETCHED);
                scene.kubelets.forget("machine-config-server");
                heal(&scene.hands, scene.healthy, TRUSTED);
            }
        },
        overtakes: Some(|hands| {
            let other = json!([{"op": "replace", "path": "/data", "value":
                user_data(WORKERS, "somebody else's")["data"]}]);
            let words = ["patch", "secret", "worker-user-data", IN[0], IN[1], "--type=json", "-p"];
            hands.run(&[&words[..], &[&other.to_string()]].concat()).unwrap();
        }),
        theirs: TRUSTED,
        ours: &[("Secret/openshift-machine-api/worker-user-data", "")],
        holds: |hands| {
            let words = ["get", "secret", "worker-user-data", IN[0], IN[1]];
            let secret = hands.json(&words).unwrap_or_default();
            let is_so = secret["data"] == user_data(WORKERS, NEW_CA)["data"];
            is_so.then_some(()).ok_or_else(|| format!("{:#}", secret["data"]))
        },
        ..USUAL
    },
    Repair {
        id: "restore-time-source",
        tree: || {
            let file = "knowledge/nodes/machine-trouble/tests/cases.md";
            named_case(file, "no time server", "")
        },
        answers: &["role=master", "servers=192.168.111.1"],
        typed: &["99-master-chrony"],
        reacts: render_and_follow,
        theirs: IN_TIME,
        ours: &[("MachineConfig/99-master-chrony", "")],
        holds: |hands| {
            let config = hands.json(&["get", "machineconfig", "99-master-chrony"]).ok_or("none")?;
            let role = &config["metadata"]["labels"]["machineconfiguration.openshift.io/role"];
            (*role == "master").then_some(()).ok_or_else(|| format!("{:#}", config["metadata"]))
        },
        ..USUAL
    },
];

fn pod(hands: &Kubectl, name: &str) -> Option<Value> {
    hands.json(&["get", "pod", name, IN[0], IN[1]])
}

/// The kubelet lets go of the pod that was deleted, and its deployment makes another one.
fn deployment(scene: &Scene) {
    match pod(&scene.hands, POD) {
        Some(old) if old["metadata"]["deletionTimestamp"].is_null() => return,
        Some(_) => {
            let now = ["--force", "--grace-period=0", IN[0], IN[1]];
            scene.hands.run(&[&["delete", "pod", POD][..], &now].concat());
        }
        None => {}
    }
    let name = "metal3-g4nxtrjf8c-anew";
    let mut anew = scene.healthy[OLD_POD].clone();
    anew["metadata"]["name"] = json!(name);
    anew["metadata"].as_object_mut().unwrap().remove("uid");
    if pod(&scene.hands, name).is_none() && scene.hands.create(&anew).is_some() {
        let status = json!([{"op": "add", "path": "/status", "value": anew["status"]}]);
        let words =
            ["patch", "pod", name, IN[0], IN[1], "--subresource=status", "--type=json", "-p"];
        scene.hands.run(&[&words[..], &[&status.to_string()]].concat());
    }
    heal(&scene.hands, scene.healthy, &MADE_ANEW[..2]);
}

/// The pointer ignition of new workers, as it stands in a Secret of this name.
pub fn user_data(name: &str, authority: &str) -> Value {
    let source = format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(authority));
    let pointer = json!({"ignition": {
        "config": {"merge": [{"source": "https://192.168.111.5:22623/config/worker"}]},
        "security": {"tls": {"certificateAuthorities": [{"source": source}]}},
        "version": "3.2.0",
    }});
    json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {"name": name, "namespace": "openshift-machine-api"},
        "data": {"userData": STANDARD.encode(pointer.to_string()), "disableTemplating": "dHJ1ZQ=="}})
}

pub const REFUSES: &str = "ignition[1021]: GET error: Get \"https://192.168.111.5:22623/config/worker\": tls: failed to verify certificate: x509: certificate signed by unknown authority";
pub const FETCHED: &str = "ignition[1021]: GET result: OK";

/// What the machine shows on its console, until a moment ago.
pub fn console(scene: &Scene, says: &str) {
    let folder = scene.folder.join("console/nodes/worker-1");
    fs_err::create_dir_all(&folder).unwrap();
    let lines =
        ["16:05:11", "18:20:41", "18:41:40"].map(|time| format!("Dec 03 {time} worker-1 {says}\n"));
    fs_err::write(folder.join("dmesg"), lines.concat()).unwrap();
}

/// A config more is another rendered config; who runs it has its time from there.
fn render_and_follow(scene: &Scene) {
    let hands = &scene.hands;
    let given = hands.run(&["get", "machineconfig", "99-master-chrony"]).is_some();
    let Some(pool) = hands.json(&["get", "machineconfigpool", "master"]) else { return };
    let usual = &scene.healthy["MachineConfigPool/master"]["spec"]["configuration"];
    let mut wanted = usual.clone();
    if given {
        hands.create(&rendered(scene, "master", WITH_CHRONY));
        wanted["name"] = json!(WITH_CHRONY);
        let chrony = json!({"apiVersion": "machineconfiguration.openshift.io/v1",
            "kind": "MachineConfig", "name": "99-master-chrony"});
        wanted["source"].as_array_mut().unwrap().push(chrony);
    }
    if pool["spec"]["configuration"] != wanted {
        let patch = json!([{"op": "add", "path": "/spec/configuration", "value": wanted}]);
        let words = ["patch", "machineconfigpool", "master", "--type=json", "-p"];
        hands.run(&[&words[..], &[&patch.to_string()]].concat());
    }
    operate(hands, "master");
    let Some(pool) = hands.json(&["get", "machineconfigpool", "master"]) else { return };
    if pool["status"]["configuration"]["name"] == WITH_CHRONY {
        let lost = "Dec 03 15:42:00.000000 master-1 chronyd[1234]: Can't synchronise: no selectable sources";
        let found = "Dec 03 18:41:30.000000 master-1 chronyd[1234]: Selected source 192.168.111.1";
        scene.kubelets.journal("master-1", "chronyd", &format!("{lost}\n{found}\n"));
    }
}
