//! What users type: a live diagnosis, and a capture that tells the same.

use std::process::{Command, Output};

use libtest_mimic::Trial;
use plimsoll_lab::parse_cases;
use plimsoll_rig::free_port;
use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::{Cluster, Shared, trial};

const NOW: &str = "2025-12-03T18:42:00Z";

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&Cluster)| {
        trial(format!("captured/{name}"), shared, move |cluster| {
            run(&cluster);
            Ok(())
        })
    };
    vec![
        with("byte-for-byte", byte_for_byte),
        with("no-secrets", no_secrets),
        with("without-an-api", without_an_api),
        with("follow", follow),
        with("disguised", disguised),
    ]
}

fn plimsoll(kubeconfig: &str, folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(arguments)
        .current_dir(folder.path())
        .env("KUBECONFIG", kubeconfig)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn incident(cluster: &Cluster) -> String {
    let text = include_str!("../../../../fixtures/incidents/four-hours.md");
    cluster.load(&parse_cases(text).unwrap()[0].tree().unwrap());
    cluster.server.admin().unwrap().display().to_string()
}

/// Two readings of one cluster differ in nothing but their order; what is kept is what was read.
fn byte_for_byte(cluster: &Cluster) {
    let config = incident(cluster);
    let folder = TempDir::new().unwrap();
    let json = ["--output", "json", "--now", NOW, "--no-probe"];
    let live =
        plimsoll(&config, &folder, &[&["diagnose", "--keep", "kept.tar.gz"][..], &json].concat());
    assert_eq!(live.status.code(), Some(1), "{}", String::from_utf8_lossy(&live.stderr));
    let captured = plimsoll(
        &config,
        &folder,
        &["capture", "kube:admin", "-o", "captured.tar.gz", "--now", NOW, "--no-probe"],
    );
    assert_eq!(captured.status.code(), Some(0), "{}", text(&captured));
    let archived =
        |file: &str| text(&plimsoll(&config, &folder, &["diagnose", file, "--output", "json"]));
    assert_eq!(archived("kept.tar.gz"), text(&live));
    // Another reading of a cluster that lives: its size may be another.
    let but_for_size = |answer: &str| {
        let mut answer: Value = serde_json::from_str(answer).unwrap();
        answer["sources"][0]["bytes"] = 0.into();
        answer
    };
    assert_eq!(but_for_size(&archived("captured.tar.gz")), but_for_size(&text(&live)));
    let answer: Value = serde_json::from_str(&text(&live)).unwrap();
    let roots: Vec<&str> = answer["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["id"].as_str().unwrap())
        .collect();
    assert_eq!(roots, ["kubelet-anonymous", "vip-outside-machine-network", "inspection-stuck"]);
    // A second capture never takes the place of the first.
    let again = plimsoll(&config, &folder, &["capture", "-o", "captured.tar.gz"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));
    let unpacked = folder.path().join("unpacked");
    fs_err::create_dir(&unpacked).unwrap();
    let untar = Command::new("tar")
        .arg("xzf")
        .arg(folder.path().join("kept.tar.gz"))
        .current_dir(&unpacked)
        .status();
    assert!(untar.unwrap().success());
    let of_folder = plimsoll(&config, &folder, &["diagnose", "unpacked", "--output", "json"]);
    assert_eq!(text(&of_folder), text(&live), "unpacked");
}

fn no_secrets(cluster: &Cluster) {
    let config = incident(cluster);
    let folder = TempDir::new().unwrap();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: master-0-bmc-secret, namespace: openshift-machine-api, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"stringData\":{\"password\":\"hunter2hunter2\"}}'}}\nstringData: {username: admin, password: hunter2hunter2}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: leaky, namespace: kube-system}\ndata: {config: 'password: hunter2hunter2', db-password: hunter2hunter2, token: 'Authorization: Bearer sha256~abcdefghijklmnopqrstuvwxyz0123456789'}\n";
    cluster.server.kubectl(&["create", "namespace", "openshift-machine-api"], "").ok();
    plimsoll_rig::wait_for("the secret", std::time::Duration::from_secs(20), || {
        cluster.server.kubectl(&["apply", "-f", "-"], secret).is_ok()
    })
    .unwrap();
    let captured = plimsoll(&config, &folder, &["capture", "-o", "c.tar.gz", "--no-probe"]);
    assert_eq!(captured.status.code(), Some(0), "{}", text(&captured));
    let unpacked =
        Command::new("tar").args(["xzOf", "c.tar.gz"]).current_dir(folder.path()).output().unwrap();
    let all = String::from_utf8_lossy(&unpacked.stdout);
    assert!(all.contains("master-0-bmc-secret"), "the secret itself is there");
    for secret in [
        "hunter2hunter2",
        "aHVudGVyMmh1bnRlcjI",
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "PRIVATE KEY",
    ] {
        assert!(!all.contains(secret), "{secret}");
    }
    let mode = fs_err::metadata(folder.path().join("c.tar.gz")).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
}

fn without_an_api(cluster: &Cluster) {
    let folder = TempDir::new().unwrap();
    let admin = cluster
        .server
        .authority
        .sign(("admin", &["system:masters"]), &[], plimsoll_rig::VALID)
        .unwrap();
    let dead = format!("https://127.0.0.1:{}", free_port().unwrap());
    let config =
        cluster.server.kubeconfig("dead", &dead, &admin, &cluster.server.authority.pem).unwrap();
    let config = config.display().to_string();
    let live = plimsoll(&config, &folder, &["diagnose", "--no-probe"]);
    assert_eq!(live.status.code(), Some(3), "{}", text(&live));
    assert!(text(&live).contains("connection refused"), "{}", text(&live));
    // With an older gather beside it, that is diagnosed.
    let both = plimsoll(
        &config,
        &folder,
        &[
            "diagnose",
            "kube:dead",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/four-hours.tar.gz"),
            "--no-probe",
        ],
    );
    assert_eq!(both.status.code(), Some(1), "{}", text(&both));
    let nothing = plimsoll("/nowhere", &folder, &["diagnose"]);
    assert_eq!(nothing.status.code(), Some(66));
    let stranger = plimsoll(&config, &folder, &["diagnose", "kube:other"]);
    assert_eq!(stranger.status.code(), Some(66));
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("there are: dead"));
}

/// A root that goes away between two rounds is told, and a round that could read nothing ends nothing.
fn follow(cluster: &Cluster) {
    let folder = TempDir::new().unwrap();
    let config = folder.path().join("config");
    let usable = fs_err::read_to_string(incident(cluster)).unwrap();
    fs_err::write(&config, &usable).unwrap();
    let out = folder.path().join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
        .args(["diagnose", "--follow=1", "--no-probe", "--quiet"])
        .env("KUBECONFIG", &config)
        .current_dir(folder.path())
        .stdout(fs_err::File::create(&out).unwrap().into_parts().0)
        .spawn()
        .unwrap();
    let said = |text: &str| fs_err::read_to_string(&out).is_ok_and(|all| all.contains(text));
    let patience = std::time::Duration::from_secs(60);
    let first = plimsoll_rig::wait_for("the first answer", patience, || {
        said("vip-outside-machine-network")
    });
    fs_err::write(&config, "no kubeconfig").unwrap();
    let unseen = plimsoll_rig::wait_for("the round without a kubeconfig", patience, || {
        said("nothing new was seen")
    });
    fs_err::write(&config, &usable).unwrap();
    let again = plimsoll_rig::wait_for("the round with it", patience, || {
        said("everything can be read again")
    });
    let text = include_str!("../../../../fixtures/incidents/healthy.md");
    cluster.load(&parse_cases(text).unwrap()[0].tree().unwrap());
    let moved = plimsoll_rig::wait_for("what moved", patience, || said("no longer a root"));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    let status = child.wait().unwrap();
    first.unwrap();
    unseen.unwrap();
    again.unwrap();
    moved.unwrap();
    assert!(interrupted.unwrap().success());
    assert_eq!(status.code(), Some(130));
}

/// Other names, the same answer.
fn disguised(cluster: &Cluster) {
    let config = incident(cluster);
    let folder = TempDir::new().unwrap();
    let capture = |file: &str| {
        let captured = plimsoll(
            &config,
            &folder,
            &["capture", "-o", file, "--disguise", "names.json", "--now", NOW, "--no-probe"],
        );
        assert_eq!(
            captured.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&captured.stderr)
        );
    };
    capture("first.tar.gz");
    capture("second.tar.gz");
    let unpacked = Command::new("tar")
        .args(["tvzf", "first.tar.gz", "--to-stdout", "-x"])
        .current_dir(folder.path())
        .output();
    let all = String::from_utf8_lossy(&unpacked.unwrap().stdout).into_owned();
    for own in ["master-0", "master-2", "192.168.111."] {
        assert!(!all.contains(own), "{own} is still in it");
    }
    let diagnose = |arguments: &[&str]| -> Value {
        let output = plimsoll(&config, &folder, arguments);
        serde_json::from_str(&text(&output)).unwrap()
    };
    let of = |file: &str| diagnose(&["diagnose", file, "--output", "json"]);
    let (first, second) = (of("first.tar.gz"), of("second.tar.gz"));
    assert_eq!(first["roots"], second["roots"], "one site has the same names in all captures");
    let live = diagnose(&["diagnose", "--now", NOW, "--no-probe", "--output", "json"]);
    let told = |answer: &Value, what: &str| -> Vec<(String, String)> {
        let all = answer[what].as_array().unwrap().iter();
        let said = |part: &Value| part.as_str().unwrap().to_string();
        all.map(|one| (said(&one["id"]), said(&one["entity"]))).collect()
    };
    let names = fs_err::read_to_string(folder.path().join("names.json")).unwrap();
    let names: Value = serde_json::from_str(&names).unwrap();
    let mut expected = told(&live, "roots");
    for (_, entity) in &mut expected {
        for (own, other) in names["names"].as_object().unwrap() {
            *entity = entity.replace(own, other.as_str().unwrap());
        }
    }
    assert_eq!(told(&first, "roots"), expected);
    let ids = |answer: &Value| -> Vec<String> {
        told(answer, "states").into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(ids(&first), ids(&live));
}
