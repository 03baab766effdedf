//! Repairs of what the machine-config server shows and new machines trust: authorities and certificates are
//! real ones, and a machine joins when its handshake is good.

use libtest_mimic::Trial;
use plimsoll_rig::{Authority, VALID};
use serde_json::{Value, json};

use crate::actor::Kubectl;
use crate::cluster::{Cluster, Shared, trial};
use crate::control::{FETCHED, REFUSES, TRUSTED, WORKERS, console, user_data};
use crate::handshake::{is_taken, text};
use crate::objects::{self, Part, differences, heal};
use crate::pools::roll_out;
use crate::repair::{Repair, Scene, USUAL};
use crate::site::{Site, edited, named_case, words};

const MCO: &str = "openshift-machine-config-operator";
const TLS: &str = "machine-config-server-tls";
const CA: &str = "machine-config-server-ca";
const MANAGED: &str = "worker-user-data-managed";
/// What every machine of the base may call the server.
const NAMES: [&str; 2] = ["api-int.ostest.lab.example", "192.168.111.5"];
/// By every clock.
const ENDED: (i32, i32) = (2015, 2025);
const EXPIRED: &str = "knowledge/ignition/mcs-cert-expired/tests/cases.md";
const MISSING: &str = "knowledge/ignition/mcs-tls-secret-missing/tests/cases.md";
const MISMATCH: &str = "knowledge/ignition/mcs-ca-mismatch/tests/cases.md";
const NEXT: [(&str, &str); 2] = [
    ("master", "rendered-master-0123456789abcdef0123456789abcdef"),
    ("worker", "rendered-worker-0123456789abcdef0123456789abcdef"),
];
const ISSUED: &[Part] = &[
    ("Secret/openshift-machine-config-operator/machine-config-server-ca", ""),
    ("ConfigMap/openshift-machine-config-operator/machine-config-server-ca", ""),
    ("Secret/openshift-machine-config-operator/machine-config-server-tls", ""),
    ("Secret/openshift-machine-api/worker-user-data", ""),
];
const STARTED: &[Part] = &[
    ("DaemonSet/openshift-machine-config-operator/machine-config-server", "/status"),
    ("Pod/openshift-machine-config-operator/machine-config-server-2rbtv", "/status"),
    TRUSTED[0],
    TRUSTED[1],
    TRUSTED[2],
];
const RENDERED: &[Part] = &[
    ("Secret/openshift-machine-api/worker-user-data-managed", ""),
    ("MachineConfig/rendered-master-0123456789abcdef0123456789abcdef", ""),
    ("MachineConfig/rendered-worker-0123456789abcdef0123456789abcdef", ""),
    ("MachineConfigPool/master", "/spec/configuration"),
    ("MachineConfigPool/master", "/status"),
    ("MachineConfigPool/worker", "/spec/configuration"),
    ("MachineConfigPool/worker", "/status"),
    ("Node/master-0", "/metadata/annotations"),
    ("Node/master-1", "/metadata/annotations"),
    ("Node/master-2", "/metadata/annotations"),
    ("Node/worker-0", "/metadata/annotations"),
    TRUSTED[0],
    TRUSTED[1],
    TRUSTED[2],
];

pub static REPAIRS: &[Repair] = &[
    Repair {
        id: "reissue-mcs-certificate",
        tree: || named_case(EXPIRED, "ten years are over", ""),
        before: |scene| installed(scene, ENDED),
        typed: &[CA, TLS, WORKERS],
        reacts: machine,
        overtakes: Some(|hands| {
            let other = Authority::new("somebody else's").unwrap();
            hands.create(&secret(CA, "Opaque", &[("tls.crt", &other.pem)])).unwrap();
        }),
        theirs: TRUSTED,
        ours: ISSUED,
        holds: |hands| {
            is_taken(hands, WORKERS, &NAMES)?;
            let kind = get(hands, "secret", TLS)["type"].clone();
            (kind == "Opaque").then_some(()).ok_or_else(|| format!("{TLS} is {kind}"))
        },
        ..USUAL
    },
    // Its authority is in the cluster with its key, and nobody rotates it.
    Repair {
        id: "reissue-mcs-certificate",
        variant: "-on-4.19-without-a-machine-set",
        tree: || edited("metal-4.19", "delete MachineSet/ostest-cktts-worker-0").tree().unwrap(),
        before: |scene| rotated(scene, ENDED),
        typed: &[CA, TLS, WORKERS],
        ours: ISSUED,
        holds: |hands| {
            is_taken(hands, WORKERS, &NAMES)?;
            // Who joined by the old one still trusts it.
            let bundle = get(hands, "configmap", CA)["data"]["ca-bundle.crt"].to_string();
            match bundle.matches("BEGIN CERTIFICATE").count() {
                2 => Ok(()),
                other => Err(format!("{other} authorities in the bundle")),
            }
        },
        ..USUAL
    },
    Repair {
        id: "restore-mcs-certificate",
        tree: || named_case(MISSING, "somebody deleted the secret to renew it", ""),
        before: |scene| {
            installed(scene, VALID);
            let hands = &scene.hands;
            let copy = hands.run(&["get", "secret", TLS, "-n", MCO, "-o", "yaml"]).unwrap();
            fs_err::write(scene.folder.join("tls.yaml"), copy).unwrap();
            hands.run(&["delete", "secret", TLS, "-n", MCO]).unwrap();
        },
        root: &["--repair", "restore-mcs-certificate"],
        answers: &["backup=tls.yaml"],
        typed: &[TLS],
        // Its pods wait for nothing else.
        reacts: |scene| {
            if scene.hands.run(&["get", "secret", TLS, "-n", MCO]).is_some() {
                heal(&scene.hands, scene.healthy, &STARTED[..2]);
                machine(scene);
            }
        },
        theirs: STARTED,
        ours: &[("Secret/openshift-machine-config-operator/machine-config-server-tls", "")],
        holds: |hands| is_taken(hands, WORKERS, &NAMES),
        ..USUAL
    },
    Repair {
        id: "renew-root-ca",
        tree: || {
            named_case(MISMATCH, "the pointer ignition holds the CA of an earlier life", ROLLS_OUT)
        },
        before: |scene| {
            rotated(scene, VALID);
            let root = Authority::new("root-ca").unwrap();
            put(&scene.hands, &config_map("kube-system", "root-ca", ("ca.crt", &root.pem)));
            put(&scene.hands, &user_data(MANAGED, &root.pem));
            console(scene, REFUSES);
        },
        run: |site| site.sources = vec!["kube:".into(), "console".into()],
        root: &["--repair", "renew-root-ca"],
        typed: &["root-ca"],
        reacts: operator,
        overtakes: Some(|hands| {
            let other = Authority::new("somebody else's").unwrap();
            put(hands, &config_map("kube-system", "root-ca", ("ca.crt", &other.pem)));
        }),
        theirs: RENDERED,
        ours: &[("ConfigMap/kube-system/root-ca", "")],
        holds: |hands| {
            is_taken(hands, MANAGED, &NAMES)?;
            for (pool, name) in NEXT {
                let pool = hands.json(&["get", "machineconfigpool", pool]).unwrap_or_default();
                if pool["status"]["configuration"]["name"] != name {
                    return Err(format!("{:#}", pool["status"]["configuration"]));
                }
            }
            Ok(())
        },
        ..USUAL
    },
];

/// Up to 4.17 the CA is in the config of every node; new workers are given what the operator renders.
const ROLLS_OUT: &str = "set ClusterVersion/version status.desired.version = 4.17.20\n\
    set ClusterVersion/version status.history = [{state: Completed, version: 4.17.20, \
    startedTime: \"2025-06-02T16:00:00Z\", completionTime: \"2025-06-02T16:50:00Z\"}]\n\
    set MachineSet/ostest-cktts-worker-0 spec.template.spec.providerSpec.value.userData.name = \
    worker-user-data-managed";

/// What the machine-config operator of 4.19 does by itself is not done beside it, and what only that of 4.18
/// takes is not given to another.
pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster)| {
        trial(name, shared, move |mut cluster| {
            run(&mut cluster);
            Ok(())
        })
    };
    vec![
        with("reissue-mcs-certificate/not-beside-its-rotation", not_beside_its_rotation),
        with("renew-root-ca/not-from-4.19-on", not_from_4_19_on),
        with("restore-mcs-certificate/not-of-another-authority", not_of_another_authority),
    ]
}

fn not_beside_its_rotation(cluster: &mut Cluster) {
    let repair = Repair {
        tree: || edited("metal-4.19", "").tree().unwrap(),
        before: |scene| {
            rotated(scene, ENDED);
            console(scene, MISNAMED);
        },
        run: |site| site.sources = vec!["kube:".into(), "console".into()],
        ..USUAL
    };
    let site = repair.site(cluster);
    let proposed = site.plan(&["mcs-cert-expired"]);
    assert_eq!(proposed["repair"], "await-mcs-rotation", "{proposed:#}");
    let named = site.fix(&["mcs-cert-expired", "--repair", "reissue-mcs-certificate"]);
    assert_eq!(named.status.code(), Some(2), "{}", words(&named));
    // Where names are wrong it can be named, and is hindered.
    let wanted = ["mcs-san-mismatch", "--repair", "reissue-mcs-certificate"];
    hindered(cluster, &site, &wanted, "nobody in this release and cluster makes it anew");
}

fn not_from_4_19_on(cluster: &mut Cluster) {
    let repair = Repair {
        tree: || edited("metal-4.19", "").tree().unwrap(),
        before: |scene| {
            rotated(scene, VALID);
            console(scene, REFUSES);
        },
        run: |site| site.sources = vec!["kube:".into(), "console".into()],
        ..USUAL
    };
    let site = repair.site(cluster);
    let wanted = ["mcs-ca-mismatch", "--repair", "renew-root-ca"];
    hindered(cluster, &site, &wanted, "the operator of this release takes it from there");
}

/// Shown, with what speaks against it; and refused.
fn hindered(cluster: &Cluster, site: &Site, wanted: &[&str], why: &str) {
    let hands = Kubectl(cluster.server.admin().unwrap());
    let before = objects::all(&hands);
    let plan = site.plan(wanted);
    assert!(plan["hindrances"].to_string().contains(why), "{plan:#}");
    let done = site.fix(&["--apply", plan["digest"].as_str().unwrap(), "--confirm", CA]);
    assert_eq!(done.status.code(), Some(5), "{}", words(&done));
    assert_eq!(differences(&before, &objects::all(&hands)), Vec::<String>::new());
}

/// A copy that new machines would refuse is found out before anything is made of it.
fn not_of_another_authority(cluster: &mut Cluster) {
    let row = REPAIRS.iter().find(|one| one.id == "restore-mcs-certificate").unwrap();
    let shown = row.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let stranger = Authority::new("root-ca").unwrap();
    put(&hands, &config_map("kube-system", "root-ca", ("ca.crt", &stranger.pem)));
    let before = objects::all(&hands);
    let done = shown.site.fix(&row.words(&["--apply", shown.digest()]));
    assert_eq!(done.status.code(), Some(1), "{}", words(&done));
    let told = words(&done).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("the authority that new machines trust has not signed it"), "{told}");
    assert_eq!(differences(&before, &objects::all(&hands)), Vec::<String>::new());
}

const MISNAMED: &str = "ignition[1021]: GET error: Get \"https://192.168.111.9:22623/config/worker\": tls: failed to verify certificate: x509: certificate is valid for api-int.ostest.lab.example, 192.168.111.5, not 192.168.111.9";

fn get(hands: &Kubectl, kind: &str, name: &str) -> Value {
    hands.json(&["get", kind, name, "-n", MCO]).unwrap_or_default()
}

fn secret(name: &str, kind: &str, data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        data.iter().map(|(key, text)| (key.to_string(), json!(text))).collect();
    json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "stringData": data,
        "metadata": {"name": name, "namespace": MCO}})
}

fn config_map(namespace: &str, name: &str, (key, text): (&str, &str)) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {key: text},
        "metadata": {"name": name, "namespace": namespace}})
}

/// In place of what was there.
fn put(hands: &Kubectl, object: &Value) {
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let of = |key: &str| object["metadata"][key].as_str().unwrap();
    let place = ["delete", "--ignore-not-found", &kind, of("name"), "-n", of("namespace")];
    hands.run(&place).unwrap();
    hands.create(object).unwrap();
}

/// What the server shows from here on, and whom machines trust that are given `worker-user-data`.
fn serve(scene: &Scene, authority: &Authority, kind: &str, years: (i32, i32)) {
    let server = authority.sign(("system:machine-config-server", &[]), &NAMES, years).unwrap();
    let data = [("tls.crt", server.certificate.as_str()), ("tls.key", server.key.as_str())];
    put(&scene.hands, &secret(TLS, kind, &data));
    put(&scene.hands, &user_data(WORKERS, &authority.pem));
}

/// As the installer leaves it up to 4.18: nobody has the key of the root any more.
fn installed(scene: &Scene, years: (i32, i32)) {
    let root = Authority::new("root-ca").unwrap();
    put(&scene.hands, &config_map("kube-system", "root-ca", ("ca.crt", &root.pem)));
    serve(scene, &root, "Opaque", years);
}

/// As it is from 4.19 on, and where somebody issued it anew before: an authority of its own, with its key.
fn rotated(scene: &Scene, years: (i32, i32)) {
    let authority = Authority::new(CA).unwrap();
    let key = fs_err::read_to_string(authority.write_key(&scene.folder, CA).unwrap()).unwrap();
    let data = [("tls.crt", authority.pem.as_str()), ("tls.key", key.as_str())];
    put(&scene.hands, &secret(CA, "kubernetes.io/tls", &data));
    put(&scene.hands, &config_map(MCO, CA, ("ca-bundle.crt", &authority.pem)));
    serve(scene, &authority, "kubernetes.io/tls", years);
}

/// It asks for ever, and joins when what it is shown is what it trusts.
fn machine(scene: &Scene) {
    if is_taken(&scene.hands, WORKERS, &[]).is_ok() {
        joins(scene);
    }
}

fn joins(scene: &Scene) {
    scene.kubelets.forget("machine-config-server");
    heal(&scene.hands, scene.healthy, TRUSTED);
}

/// It renders the root into the pointer that it manages and into the config of every node, which rolls out.
/// The machine of the plan has its pointer from there.
fn operator(scene: &Scene) {
    let hands = &scene.hands;
    let root = hands.json(&["get", "configmap", "root-ca", "-n", "kube-system"]);
    let root = root.unwrap_or_default()["data"]["ca.crt"].as_str().unwrap_or_default().to_string();
    if root != text(&get(hands, "secret", CA), "tls.crt") {
        return;
    }
    let wanted = user_data(MANAGED, &root);
    let words = ["secret", MANAGED, "-n", "openshift-machine-api"];
    let now = hands.json(&[&["get"][..], &words].concat()).unwrap_or_default();
    if now["data"] != wanted["data"] {
        let patch = json!([{"op": "add", "path": "/data", "value": wanted["data"]}]).to_string();
        hands.run(&[&["patch"][..], &words, &["--type=json", "-p", &patch]].concat());
    }
    for (pool, name) in NEXT {
        roll_out(scene, pool, name);
    }
    if is_taken(hands, MANAGED, &[]).is_ok() {
        console(scene, FETCHED);
        joins(scene);
    }
}
