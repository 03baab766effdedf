//! Webhooks that must answer and cannot: the real API server asks them, and refuses the very pods that would
//! answer.

use std::time::Duration;

use libtest_mimic::Trial;
use plimsoll_lab::Tree;
use plimsoll_rig::wait_for;
use serde_json::{Value, json};

use crate::actor::Kubectl;
use crate::cluster::{Cluster, Shared, trial};
use crate::objects::{self, Part, differences, heal, outside};
use crate::repair::{Repair, Scene, USUAL};
use crate::site::{edited, words};

const LONG: Duration = Duration::from_secs(60);
const KINDS: [&str; 2] = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];
const IN: [&str; 2] = ["-n", "policy"];
const ANSWERS: &[Part] =
    &[("ClusterOperator/kube-apiserver", "/status"), ("Pod/policy/policy-0", "")];

pub static REPAIRS: &[Repair] = &[Repair {
    id: "bypass-webhook",
    tree: service_missed,
    before: guarded,
    typed: &["policy"],
    reacts: |scene| {
        // Whoever makes its pods tries for ever.
        let hands = &scene.hands;
        let mut own = pod("policy-0");
        own["spec"]["nodeName"] = json!("worker-0");
        if !is_there(hands, "pod", "policy-0") && hands.create(&own).is_some() {
            hands.run(&[&["patch", "pod", "policy-0"][..], &IN, &RUNS].concat());
        }
        if is_there(hands, "pod", "policy-0") {
            if !is_there(hands, "endpoints", "policy-svc") {
                hands.create(&endpoints());
            }
            heal(hands, scene.healthy, &ANSWERS[..1]);
        }
    },
    overtakes: Some(|hands| {
        let theirs = json!([{"op": "add", "path": "/webhooks/0/timeoutSeconds", "value": 7}]);
        let words = ["patch", "validatingwebhookconfiguration", "policy", "--type=json", "-p"];
        hands.run(&[&words[..], &[&theirs.to_string()]].concat()).unwrap();
    }),
    theirs: ANSWERS,
    // In the end both are to the byte as they were, so the plan may leave nothing in them.
    ours: &[],
    holds: |hands| {
        if !is_there(hands, "pod", "policy-0") {
            return Err("the pod that was refused is not there".into());
        }
        // Nobody here answers for real: it guards again if it refuses again.
        match is_accepted(hands) {
            false => Ok(()),
            true => Err("pods are made without being looked at".into()),
        }
    },
    ..USUAL
}];

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster, &Repair)| {
        trial(format!("bypass-webhook/{name}"), shared, move |mut cluster| {
            run(&mut cluster, &REPAIRS[0]);
            Ok(())
        })
    };
    vec![
        with("killed-while-nobody-guards", killed_while_nobody_guards),
        with("not-one-of-the-platform", |cluster, _| not_one_of_the_platform(cluster)),
    ]
}

/// As the API server's operator tells it.
fn service_missed() -> Tree {
    let message = "ValidatingAdmissionWebhookConfigurationDegraded: policy.example.com: unable to find service policy-svc.policy: service \\\"policy-svc\\\" not found";
    let reason = "ValidatingAdmissionWebhookConfiguration_WebhookServiceNotFound";
    let edit = format!(
        "condition ClusterOperator/kube-apiserver Degraded=True reason={reason} since=-40m message=\"{message}\""
    );
    edited("metal-3-2", &edit).tree().unwrap()
}

fn is_there(hands: &Kubectl, kind: &str, name: &str) -> bool {
    hands.run(&["get", kind, name, IN[0], IN[1]]).is_some()
}

/// Whether anybody can make a pod.
fn is_accepted(hands: &Kubectl) -> bool {
    let made = hands.create(&pod("another")).is_some();
    if made {
        let now = ["--force", "--grace-period=0", "--ignore-not-found", IN[0], IN[1]];
        hands.run(&[&["delete", "pod", "another"][..], &now].concat()).unwrap();
    }
    made
}

fn pod(name: &str) -> Value {
    let containers = json!([{"name": "policy", "image": "registry.example.com/policy"}]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "policy"},
        "spec": {"containers": containers}})
}

/// What its kubelet tells of it.
const RUNS: [&str; 4] = [
    "--subresource=status",
    "--type=merge",
    "-p",
    r#"{"status": {"phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
        "containerStatuses": [{"name": "policy", "ready": true, "restartCount": 0, "image": "x", "imageID": "",
            "state": {"running": {}}}]}}"#,
];

fn endpoints() -> Value {
    json!({"apiVersion": "v1", "kind": "Endpoints",
        "metadata": {"name": "policy-svc", "namespace": "policy"},
        "subsets": [{"addresses": [{"ip": "10.128.2.9"}], "ports": [{"port": 443}]}]})
}

/// By both kinds under one name, as they are mostly made.
fn configuration(kind: &str, namespace: &str) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
    "metadata": {"name": "policy"},
    "webhooks": [{
        "name": "policy.example.com", "failurePolicy": "Fail", "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
        "clientConfig": {"service": {"name": "policy-svc", "namespace": namespace, "path": "/v"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["pods"]}],
    }]})
}

fn guarded(scene: &Scene) {
    let hands = &scene.hands;
    // These may be there from an earlier trial on this server.
    let _ = hands.run(&["create", "namespace", "policy"]);
    if !is_there(hands, "service", "policy-svc") {
        hands.run(&["create", "service", "clusterip", "policy-svc", "--tcp=443", IN[0], IN[1]]);
    }
    // The server forgets the webhooks of an earlier trial a moment later.
    wait_for("what nobody refuses", LONG, || is_accepted(hands)).unwrap();
    for kind in KINDS {
        hands.create(&configuration(kind, "policy")).unwrap();
    }
    // And learns of these a moment later.
    wait_for("the refusal", LONG, || !is_accepted(hands)).unwrap();
}

/// What was refused is accepted for as long as the plan says; killed then, it guards again by `--rollback`.
fn killed_while_nobody_guards(cluster: &mut Cluster, repair: &Repair) {
    let shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    assert!(!is_accepted(&hands));
    // Nobody brings its pods back, so that it waits for them.
    let waits = |one: &Value| one["what"] == "holds" && one["step"] == 2;
    let apply = repair.words(&["--apply", shown.digest()]);
    let killed = shown.site.kill_at(&apply, shown.digest(), |events| events.iter().any(waits));
    killed.unwrap_or_else(|done| panic!("{}", words(&done)));
    wait_for("the bypass", LONG, || is_accepted(&hands)).unwrap();
    // Whoever looks meanwhile is told what is left, and how it is put back.
    let left = shown.site.plan(&["webhook-left-ignored"]);
    assert_eq!(left["repair"], "guard-again", "{left:#}");
    assert_eq!(left["root"]["entity"], "WebhookConfiguration/policy", "{left:#}");
    let back = shown.site.fix(&["--rollback", "--output", "json"]);
    assert_eq!(back.status.code(), Some(1), "{}", words(&back));
    let session: Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(session["outcome"], "rolled-back", "{session:#}");
    let found = differences(&shown.before, &objects::all(&hands));
    assert_eq!(outside(&found, &[]), Vec::<String>::new());
    wait_for("the guard", LONG, || !is_accepted(&hands)).unwrap();
}

/// One of the platform's own is its operator's to mend, whoever asks for this by name.
fn not_one_of_the_platform(cluster: &mut Cluster) {
    let repair = Repair {
        tree: || edited("metal-3-2", "").tree().unwrap(),
        before: |scene| {
            scene.hands.create(&configuration(KINDS[0], "openshift-machine-api")).unwrap();
        },
        ..USUAL
    };
    let site = repair.site(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let before = objects::all(&hands);
    let plan = site.plan(&["webhook-unreachable", "--repair", "bypass-webhook"]);
    let why = plan["hindrances"].to_string();
    assert!(why.contains("it is none of the platform's own"), "{plan:#}");
    let digest = plan["digest"].as_str().unwrap();
    let done = site.fix(&["--apply", digest, "--confirm", "policy"]);
    assert_eq!(done.status.code(), Some(5), "{}", words(&done));
    assert_eq!(differences(&before, &objects::all(&hands)), Vec::<String>::new());
}
