//! What may happen to a run of several steps: rights that are withdrawn, and a disk that is full.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Trial;
use plimsoll_rig::wait_for;
use serde_json::Value;

use crate::actor::{Actor, Kubectl};
use crate::cluster::{Cluster, Shared, trial};
use crate::hosts;
use crate::objects::{self, Part, differences};
use crate::pools;
use crate::repair::Repair;
use crate::site::words;

const LONG: Duration = Duration::from_secs(60);

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster, &Repair)| {
        trial(format!("faults/{name}"), shared, move |mut cluster| {
            let repair = pools::REPAIRS.iter().find(|one| one.id == "recreate-rendered-config");
            run(&mut cluster, repair.unwrap());
            Ok(())
        })
    };
    vec![
        with("rights-withdrawn-half-way", rights_withdrawn),
        with("another-session-takes-over", taken_over),
        trial("faults/worse-is-taken-back", shared, |mut cluster| {
            let repair = hosts::REPAIRS.iter().find(|one| one.id == "correct-bmc-address");
            worse(&mut cluster, repair.unwrap());
            Ok(())
        }),
        with("a-full-disk-before-the-act", |cluster, repair| full_disk(cluster, repair, "kept")),
        with("a-full-disk-after-the-act", |cluster, repair| full_disk(cluster, repair, "intends")),
    ]
}

/// It stops where it may not go on, and goes on when it may.
fn rights_withdrawn(cluster: &mut Cluster, repair: &Repair) {
    let mut shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let mut child = shown.site.begin(&repair.words(&["--apply", shown.digest()]));
    let reached = || shown.events().iter().any(|one| one["what"] == "did" && one["step"] == 2);
    wait_for("the second step", LONG, reached).unwrap();
    let plan = std::mem::take(&mut shown.plan);
    let digest = plan["digest"].as_str().unwrap().to_string();
    shown.site.with_rights_of(cluster, &serde_json::json!({"steps": []}));
    // Nobody reacted so far, so that it waits; now it goes on to its last step.
    let actor = repair.act(cluster, &shown.site);
    // Half-way it is worse than before, and cannot be taken back either: that is told.
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let events = shown.site.events(&digest);
    let why = |what: &str| events.iter().find(|one| one["what"] == what).unwrap().to_string();
    assert!(why("refused").contains("MachineConfigPool/worker: no right"), "{events:#?}");
    assert!(why("cannot-undo").contains(": no right"), "{events:#?}");
    let pool = hands.json(&["get", "machineconfigpool", "worker"]).unwrap();
    assert_eq!(pool["spec"]["paused"], true);
    shown.site.with_rights_of(cluster, &plan);
    // It was on its way back, and who wants it forward says so.
    let on = shown.site.fix(&repair.words(&["--resume", "--again"]));
    assert_eq!(on.status.code(), Some(0), "{}", words(&on));
    drop(actor);
    repair.after(&hands, &shown.before, "with its rights again");
}

/// Who lost the lease writes nothing more, and goes on when it is free again.
fn taken_over(cluster: &mut Cluster, repair: &Repair) {
    const LEASE: [&str; 4] = ["lease", "plimsoll-fix", "-n", "kube-system"];
    let shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let mut child = shown.site.begin(&repair.words(&["--apply", shown.digest()]));
    let reached = || shown.events().iter().any(|one| one["what"] == "did" && one["step"] == 2);
    wait_for("the second step", LONG, reached).unwrap();
    let theirs = r#"{"spec": {"holderIdentity": "somebody"}}"#;
    let patch = ["--type=merge", "-p", theirs];
    hands.run(&[&["patch"], &LEASE[..], &patch].concat()).unwrap();
    let left = objects::all(&hands);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let told = Value::from(shown.events()).to_string();
    assert!(told.contains("another session took over: somebody"), "{told}");
    assert_eq!(differences(&left, &objects::all(&hands)), Vec::<String>::new());
    hands.run(&[&["delete"], &LEASE[..]].concat()).unwrap();
    let actor = repair.act(cluster, &shown.site);
    let on = shown.site.fix(&repair.words(&["--resume"]));
    assert_eq!(on.status.code(), Some(0), "{}", words(&on));
    drop(actor);
    repair.after(&hands, &shown.before, "after somebody else");
}

/// A change that breaks something else is taken back by itself, to the byte.
fn worse(cluster: &mut Cluster, repair: &Repair) {
    const INGRESS: Part = ("ClusterOperator/ingress", "/status");
    let shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let actor = repair.act(cluster, &shown.site);
    let breaker = Actor::start(hands.clone(), |hands| {
        if hosts::host(hands)["spec"]["bmc"]["address"] == hosts::ADDRESS {
            hands.condition("ingress", "Degraded", "True", "the routers lost their address");
            hands.condition("ingress", "Available", "False", "the routers lost their address");
        }
    });
    let typed = repair.typed.iter().chain(&["by-hand"]).flat_map(|name| ["--confirm", name]);
    let apply = ["--apply", shown.digest(), "--dwell", "8", "--settle", "4", "--output", "json"];
    let done = shown.site.fix(&apply.into_iter().chain(typed).collect::<Vec<_>>());
    assert_eq!(done.status.code(), Some(1), "{}", words(&done));
    let session: Value = serde_json::from_slice(&done.stdout).unwrap();
    // What was done by hand is taken back by hand, and nothing else is left.
    let says = session["says"].as_str().unwrap();
    let by_hand = "left: step 1: what was done by hand is taken back by hand";
    assert!(says == by_hand || session["outcome"] == "rolled-back", "{session:#}");
    drop((actor, breaker));
    let found = differences(&shown.before, &objects::all(&hands));
    let theirs = [repair.theirs, &[INGRESS]].concat();
    assert_eq!(objects::outside(&found, &theirs), Vec::<String>::new());
}

/// No file may grow any more from the first line of that kind on. What cannot be written down is not done,
/// and what was done is found when there is room again.
fn full_disk(cluster: &mut Cluster, repair: &Repair, line: &str) {
    let mut shown = repair.shown(cluster);
    let hands = Kubectl(cluster.server.admin().unwrap());
    let actor = repair.act(cluster, &shown.site);
    // Whoever writes more than it may is told so, and not ended.
    let under = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh"];
    shown.site.under = under.map(str::to_string).to_vec();
    let mut child = shown.site.begin(&repair.words(&["--apply", shown.digest()]));
    let reached = || shown.events().iter().any(|one| one["what"] == line);
    wait_for(line, LONG, reached).unwrap();
    let size = fs_err::metadata(shown.site.journal(shown.digest())).unwrap().len();
    let limit = [format!("--pid={}", child.id()), format!("--fsize={size}")];
    assert!(Command::new("prlimit").args(limit).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(66));
    let events: Vec<Value> = shown.events();
    assert!(!events.iter().any(|one| one["what"] == "ended"), "{events:#?}");
    if !events.iter().any(|one| one["what"] == "intends") {
        let now = differences(&shown.before, &objects::all(&hands));
        assert_eq!(objects::outside(&now, repair.theirs), Vec::<String>::new());
    }
    shown.site.under.clear();
    let on = shown.site.fix(&repair.words(&["--resume"]));
    assert_eq!(on.status.code(), Some(0), "{}", words(&on));
    drop(actor);
    repair.after(&hands, &shown.before, "with room again");
}
