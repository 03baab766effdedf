//! Repairs of machine-config pools, with an operator and daemons that react as those of OpenShift do.

use serde_json::{Value, json};

use crate::actor::Kubectl;
use crate::objects::{Part, heal};
use crate::repair::{Repair, Scene, USUAL};
use crate::site::named_case;

const LOST: &str = "rendered-worker-553d5d527988f8cd22e7791f6013fe42";
const NEXT: &str = "rendered-master-0123456789abcdef0123456789abcdef";
const WORKER: &str = "MachineConfigPool/worker";
const MASTER: &str = "MachineConfigPool/master";
const UPDATED: &[Part] = &[
    ("ClusterOperator/machine-config", "/status"),
    ("ClusterVersion/version", "/status"),
    (MASTER, "/status"),
    ("Node/master-0", "/metadata/annotations"),
    ("Node/master-1", "/metadata/annotations"),
    ("Node/master-2", "/metadata/annotations"),
];
const SERVED: &[Part] = &[
    (WORKER, "/status"),
    ("BareMetalHost/openshift-machine-api/worker-1", "/status"),
    ("Machine/openshift-machine-api/ostest-cktts-worker-0-njsv9", "/status"),
    ("Node/worker-1", ""),
];

pub static REPAIRS: &[Repair] = &[
    Repair {
        id: "recreate-rendered-config",
        tree: || {
            named_case(
                "knowledge/machine-config/rendered-config-missing/tests/cases.md",
                "two workers run a config that nobody knows",
                "",
            )
        },
        before: |scene| {
            // As the machine-config server sent it, on the disk of the node.
            let etc = scene.folder.join("worker-0/etc");
            fs_err::create_dir_all(&etc).unwrap();
            fs_err::write(etc.join("hostname"), "worker-0\n").unwrap();
            let copy = rendered(scene, "worker", LOST);
            fs_err::write(etc.join("mcs-machine-config-content.json"), copy.to_string()).unwrap();
        },
        run: |site| {
            let root = site.folder.path().join("worker-0");
            site.sources = vec!["kube:".into(), format!("node:{}", root.display())];
        },
        typed: &["worker", LOST],
        reacts: |scene| {
            operate(&scene.hands, "worker");
        },
        theirs: &[
            (WORKER, "/status"),
            ("Node/worker-0", "/metadata/annotations"),
            ("Node/worker-1", "/metadata/annotations"),
        ],
        ours: &[
            (WORKER, "/spec/paused"),
            ("MachineConfig/rendered-worker-553d5d527988f8cd22e7791f6013fe42", ""),
        ],
        holds: |hands| {
            let pool = hands.json(&["get", "machineconfigpool", "worker"]).unwrap_or_default();
            let wanted = &pool["spec"]["configuration"]["name"];
            let config = hands.json(&["get", "machineconfig", LOST]).ok_or("no config")?;
            let owner = &config["metadata"]["ownerReferences"][0]["uid"];
            let node = hands.json(&["get", "node", "worker-0"]).unwrap_or_default();
            match *wanted == told(&node, "currentConfig") && *owner == pool["metadata"]["uid"] {
                true if pool["spec"]["paused"] != true => Ok(()),
                _ => Err(format!("{pool:#}\n{:#}", node["metadata"])),
            }
        },
        ..USUAL
    },
    Repair {
        id: "unpause-pool",
        tree: || {
            named_case(
                "knowledge/machine-config/pool-paused/tests/cases.md",
                "the control-plane pool was paused before an update",
                "",
            )
        },
        before: |scene| scene.hands.create(&rendered(scene, "master", NEXT)).unwrap(),
        typed: &["master"],
        // The operator is well when its pool is, and then the update is over.
        reacts: |scene| {
            operate(&scene.hands, "master");
            let pool =
                scene.hands.json(&["get", "machineconfigpool", "master"]).unwrap_or_default();
            if pool["status"]["configuration"]["name"] == NEXT {
                heal(&scene.hands, scene.healthy, &UPDATED[..1]);
                end_update(scene);
            }
        },
        overtakes: Some(|hands| {
            let patch = r#"{"spec": {"paused": false}}"#;
            let words = ["patch", "machineconfigpool", "master", "--type=merge", "-p", patch];
            hands.run(&words).unwrap();
        }),
        theirs: UPDATED,
        ours: &[(MASTER, "/spec/paused")],
        holds: |hands| {
            let node = hands.json(&["get", "node", "master-2"]).unwrap_or_default();
            let current = told(&node, "currentConfig");
            (current == NEXT).then_some(()).ok_or_else(|| current.to_string())
        },
        ..USUAL
    },
    Repair {
        id: "converge-pool-once",
        tree: || {
            named_case(
                "knowledge/ignition/mcs-500-no-config/tests/cases.md",
                "the worker pool never converged and a worker asks",
                "",
            )
        },
        // The machine gets its config, joins, and with it the pool has an updated machine.
        reacts: |scene| {
            let pool =
                scene.hands.json(&["get", "machineconfigpool", "worker"]).unwrap_or_default();
            if pool["status"]["configuration"]["name"].is_string() {
                heal(&scene.hands, scene.healthy, &SERVED[1..]);
                heal(&scene.hands, scene.healthy, &SERVED[..1]);
            }
        },
        theirs: SERVED,
        holds: |hands| {
            let pool = hands.json(&["get", "machineconfigpool", "worker"]).unwrap_or_default();
            let status = &pool["status"]["configuration"]["name"];
            let is_so = *status == pool["spec"]["configuration"]["name"];
            is_so.then_some(()).ok_or_else(|| format!("{status}"))
        },
        ..USUAL
    },
];

fn end_update(scene: &Scene) {
    let history = &scene.healthy["ClusterVersion/version"]["status"]["history"];
    let version = scene.hands.json(&["get", "clusterversion", "version"]).unwrap_or_default();
    if version["status"]["history"] == *history {
        return;
    }
    // The validator of this server takes null for nothing at all.
    let patch = json!([
        {"op": "add", "path": "/status/availableUpdates", "value": []},
        {"op": "add", "path": "/status/history", "value": history},
    ]);
    let words = ["patch", "clusterversion", "version", "--subresource=status", "--type=json", "-p"];
    scene.hands.run(&[&words[..], &[&patch.to_string()]].concat());
}

/// The config of a pool under another name, as it was rendered before.
pub fn rendered(scene: &Scene, pool: &str, name: &str) -> Value {
    let key = scene.healthy[&format!("MachineConfigPool/{pool}")]["spec"]["configuration"]["name"]
        .as_str();
    let mut config = scene.healthy[&format!("MachineConfig/{}", key.unwrap())].clone();
    config["metadata"]["name"] = json!(name);
    // A must-gather has the names only.
    config["spec"] = json!({"config": {"ignition": {"version": "3.2.0"}}});
    config["metadata"].as_object_mut().unwrap().remove("uid");
    config
}

/// The pool is given another config, which its nodes take one after the other.
pub fn roll_out(scene: &Scene, pool_name: &str, config: &str) {
    let hands = &scene.hands;
    let Some(pool) = hands.json(&["get", "machineconfigpool", pool_name]) else { return };
    if hands.run(&["get", "machineconfig", config]).is_none() {
        hands.create(&rendered(scene, pool_name, config));
    }
    if pool["spec"]["configuration"]["name"] != config {
        let patch = json!([{"op": "add", "path": "/spec/configuration/name", "value": config}]);
        let words = ["patch", "machineconfigpool", pool_name, "--type=json", "-p"];
        hands.run(&[&words[..], &[&patch.to_string()]].concat());
    }
    operate(hands, pool_name);
}

const OF: &str = "machineconfiguration.openshift.io";

/// What the daemon of a node tells by annotations.
fn told<'n>(node: &'n Value, key: &str) -> &'n str {
    node["metadata"]["annotations"][format!("{OF}/{key}")].as_str().unwrap_or_default()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn items(list: Option<Value>) -> Option<Vec<Value>> {
    list?["items"].as_array().cloned()
}

fn tell(hands: &Kubectl, node: &str, tells: &[(&str, &str)]) {
    let tells: Vec<String> =
        tells.iter().map(|(key, value)| format!("{OF}/{key}={value}")).collect();
    let mut words = vec!["annotate", "--overwrite", "node", node];
    words.extend(tells.iter().map(String::as_str));
    hands.run(&words);
}

/// One pool, looked at once: its daemons first, then who gives them work, then what is told of all.
pub fn operate(hands: &Kubectl, pool_name: &str) -> Option<()> {
    let pool = hands.json(&["get", "machineconfigpool", pool_name])?;
    let label = format!("node-role.kubernetes.io/{pool_name}=");
    let nodes = items(hands.json(&["get", "nodes", "-l", &label]))?;
    let configs = items(hands.json(&["get", "machineconfigs"]))?;
    let exists = |wanted: &str| configs.iter().any(|config| name(config) == wanted);
    let wanted = pool["spec"]["configuration"]["name"].as_str()?;
    let is_done = |node: &Value| {
        told(node, "state") == "Done" && told(node, "currentConfig") == told(node, "desiredConfig")
    };
    let mut at_work = nodes.iter().any(|node| !is_done(node));
    for node in &nodes {
        let (current, desired) = (told(node, "currentConfig"), told(node, "desiredConfig"));
        match () {
            () if !exists(current) => {
                let reason = format!("missing MachineConfig {current}");
                tell(hands, name(node), &[("state", "Degraded"), ("reason", &reason)]);
            }
            // It compares its disk with the config that it finds again.
            () if told(node, "state") == "Degraded" => {
                tell(hands, name(node), &[("state", "Done"), ("reason", "")]);
            }
            () if current != desired && pool["spec"]["paused"] != true => {
                tell(hands, name(node), &[("currentConfig", desired), ("state", "Done")]);
            }
            () if pool["spec"]["paused"] != true && desired != wanted && !at_work => {
                at_work = true;
                tell(hands, name(node), &[("desiredConfig", wanted)]);
            }
            () => {}
        }
    }
    let nodes = items(hands.json(&["get", "nodes", "-l", &label]))?;
    report(hands, &pool, &nodes, wanted)
}

fn report(hands: &Kubectl, pool: &Value, nodes: &[Value], wanted: &str) -> Option<()> {
    let count = |is: &dyn Fn(&Value) -> bool| nodes.iter().filter(|node| is(node)).count();
    let degraded = count(&|node| told(node, "state") == "Degraded");
    let updated =
        count(&|node| told(node, "state") == "Done" && told(node, "currentConfig") == wanted);
    let paused = pool["spec"]["paused"] == true;
    let all = updated == nodes.len();
    let mut status = pool["status"].clone();
    for (key, number) in [
        ("machineCount", nodes.len()),
        ("updatedMachineCount", updated),
        ("readyMachineCount", updated),
        ("unavailableMachineCount", 0),
        ("degradedMachineCount", degraded),
    ] {
        status[key] = json!(number);
    }
    if all {
        status["configuration"] = pool["spec"]["configuration"].clone();
    }
    let truth = |is: bool| if is { "True" } else { "False" };
    let waiting = format!("Pool is paused; will not update to MachineConfig {wanted}");
    let message = if paused && !all { waiting.as_str() } else { "" };
    for condition in status["conditions"].as_array_mut()? {
        let (is, says) = match condition["type"].as_str()? {
            "NodeDegraded" | "Degraded" => (degraded > 0, ""),
            "Updated" => (all, ""),
            "Updating" => (!all && !paused, message),
            _ => continue,
        };
        // Since when is the base's: here it is always the same moment.
        condition["status"] = json!(truth(is));
        condition["message"] = json!(says);
    }
    if status == pool["status"] {
        return Some(());
    }
    let patch = json!([{"op": "replace", "path": "/status", "value": status}]).to_string();
    let words = ["patch", "machineconfigpool", name(pool), "--subresource=status"];
    hands.run(&[&words[..], &["--type=json", "-p", &patch]].concat()).map(|_| ())
}
