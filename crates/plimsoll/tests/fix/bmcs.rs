//! Repairs that go through BMCs. Those of the cluster's hosts are the emulator's. It tells no serial number,
//! by which alone a foreign machine may be switched off: such machines are of the Redfish service of
//! `plimsoll-bmc`.

use std::path::Path;

use libtest_mimic::Trial;
use plimsoll_bmc::mock::{Server, dell_r750};
use plimsoll_rig::{Emulator, System};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::cluster::{Cluster, Shared, trial};
use crate::hosts::{AWAKE, HOST, IN, JOINS, expect, host};
use crate::objects::{Part, heal};
use crate::repair::{self, Moment, Repair, Scene, USUAL};
use crate::site::{Site, case, edited, named_case, words};

const PASSWORD: &str = "secret-of-the-bmc";
const WORKER_1: &str = "00000000-0000-0000-0000-000000000005";
const HOSTS: [(&str, &str); 5] = [
    ("master-0", "00000000-0000-0000-0000-000000000001"),
    ("master-1", "00000000-0000-0000-0000-000000000002"),
    ("master-2", "00000000-0000-0000-0000-000000000003"),
    ("worker-0", "00000000-0000-0000-0000-000000000004"),
    ("worker-1", WORKER_1),
];
const SYSTEM: &str = "/redfish/v1/Systems/System.Embedded.1";
const RETIRED: &str = "rack-7";
const NEIGHBOUR: &str = "rack-8";
const RACK: [(&str, &str); 2] = [(RETIRED, "CN7475102A0042"), (NEIGHBOUR, "CN7475102A0043")];
const READY: &[Part] = &[("Node/worker-1", "/status")];

/// What answers for the machines of a trial.
pub enum Bmcs {
    Emulated(Emulator),
    Mocked(Rack),
}

impl Bmcs {
    /// Of the cluster's hosts, which are all on, but for the last of which it is said.
    fn of_hosts(worker_1: &str) -> Self {
        let systems = HOSTS.map(|(name, uuid)| {
            let power = if uuid == WORKER_1 { worker_1 } else { "On" };
            System { uuid, name, power, macs: &["52:54:00:00:00:10"] }
        });
        Bmcs::Emulated(Emulator::start(PASSWORD, &systems, "").unwrap())
    }

    fn emulator(&self) -> &Emulator {
        match self {
            Bmcs::Emulated(emulator) => emulator,
            Bmcs::Mocked(_) => panic!("these are not emulated"),
        }
    }

    fn rack(&self) -> &Rack {
        match self {
            Bmcs::Mocked(rack) => rack,
            Bmcs::Emulated(_) => panic!("these are emulated"),
        }
    }
}

impl Scene {
    fn emulator(&self) -> &Emulator {
        self.bmcs.as_deref().unwrap().emulator()
    }

    fn rack(&self) -> &Rack {
        self.bmcs.as_deref().unwrap().rack()
    }
}

/// Machines that are none of the cluster's, and that tell their serial numbers.
pub struct Rack {
    machines: Vec<(&'static str, Server)>,
    _runtime: Runtime,
}

impl Rack {
    fn start() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let started = |(name, serial): (&'static str, &str)| {
            let mut tree = dell_r750();
            let reset = json!({"target": format!("{SYSTEM}/Actions/ComputerSystem.Reset"),
                "ResetType@Redfish.AllowableValues": ["On", "ForceOff"]});
            tree.set(SYSTEM, "/Actions", json!({"#ComputerSystem.Reset": reset}));
            tree.set(SYSTEM, "/SerialNumber", json!(serial));
            let server = Server::of(tree).credentials("admin", PASSWORD);
            (name, runtime.block_on(server.start()).unwrap())
        };
        let machines = RACK.map(started).into();
        Self { machines, _runtime: runtime }
    }

    fn machine(&self, name: &str) -> &Server {
        &self.machines.iter().find(|(known, _)| *known == name).unwrap().1
    }

    fn power(&self, name: &str) -> Value {
        self.machine(name).document(SYSTEM).unwrap()["PowerState"].clone()
    }

    /// How it was asked to be switched, one after the other. Nothing else can be asked of it.
    fn asked(&self, name: &str) -> Vec<Value> {
        let all = self.machine(name).requests().into_iter();
        let changes = all.filter(|request| request.method != "GET");
        changes.map(|request| request.body["ResetType"].clone()).collect()
    }

    fn list_in(&self, folder: &Path) {
        let host = |(name, server): &(&str, Server)| listed(name, &server.address(SYSTEM));
        list_in(folder, &self.machines.iter().map(host).collect::<String>());
    }
}

/// A host of `bmc:FILE`.
fn listed(name: &str, address: &str) -> String {
    format!("- name: {name}\n  address: {address}\n  username: admin\n  passwordFile: password\n")
}

fn list_in(folder: &Path, hosts: &str) {
    fs_err::write(folder.join("password"), format!("{PASSWORD}\n")).unwrap();
    fs_err::write(folder.join("bmcs.yaml"), format!("hosts:\n{hosts}")).unwrap();
}

/// The hosts of the cluster have these BMCs and their password.
fn adopt(scene: &Scene) {
    let patch = |kind: &str, name: &str, patch: Value| {
        let patch = patch.to_string();
        let words = ["patch", kind, name, IN[0], IN[1], "--type=merge", "-p", &patch];
        scene.hands.run(&words).unwrap();
    };
    for (name, uuid) in HOSTS {
        let address = scene.emulator().address(uuid);
        patch("baremetalhost", name, json!({"spec": {"bmc": {"address": address}}}));
        let account = json!({"stringData": {"username": "admin", "password": PASSWORD}});
        patch("secret", &format!("{name}-bmc-secret"), account);
    }
}

static EMULATED: &[Repair] = &[
    Repair {
        id: "eject-virtual-media",
        tree: || {
            named_case(
                "knowledge/baremetal/virtual-media-stuck/tests/cases.md",
                "it is written, and boots the image at every start",
                "",
            )
        },
        bmcs: || Some(Bmcs::of_hosts("On")),
        before: |scene| {
            adopt(scene);
            scene.emulator().insert(WORKER_1).unwrap();
            scene.emulator().boot_from(WORKER_1, "Cd").unwrap();
        },
        run: |site| site.sources = vec!["bmc:cluster".into()],
        typed: &["worker-1"],
        // With nothing in the drive the step by hand is done, and it starts from its disk.
        reacts: |scene| {
            let bmc = scene.emulator();
            if bmc.is_inserted(WORKER_1).is_ok_and(|is_in| !is_in) {
                let _ = bmc.boot_from(WORKER_1, "Hdd");
                heal(&scene.hands, scene.healthy, JOINS);
            }
        },
        theirs: JOINS,
        holds: |hands| match hands.json(&["get", "node", "worker-1"]) {
            Some(_) => Ok(()),
            None => Err("it did not join".into()),
        },
        machines: |bmcs, _| match (bmcs.emulator().is_inserted(WORKER_1), ejections(bmcs)) {
            (Ok(false), 1) => Ok(()),
            other => Err(format!("{other:?}")),
        },
        reversible: false,
        remains: &["what was in the drive is known to its owner only"],
        ..USUAL
    },
    Repair {
        id: "align-power",
        tree: || {
            named_case(
                "knowledge/baremetal/power-state-desync/tests/cases.md",
                "the node is Ready and the BMC says off",
                "set BareMetalHost/worker-1 spec.online = false",
            )
        },
        bmcs: || Some(Bmcs::of_hosts("Off")),
        // Somebody switches on what is wanted off, and the cluster has not looked at it since.
        before: |scene| {
            adopt(scene);
            let bmc = scene.emulator();
            bmc.switch(WORKER_1, "On").unwrap();
            list_emulated(&scene.folder, bmc, "worker-1");
        },
        run: by_file,
        typed: &["worker-1"],
        // Who powers hosts looks at one again when something else is wanted of it.
        reacts: |scene| {
            let is_on = || scene.emulator().power(WORKER_1).is_ok_and(|power| power == "On");
            if host(&scene.hands)["spec"]["online"] == true && is_on() {
                heal(&scene.hands, scene.healthy, &[(HOST, "/status")]);
            }
        },
        overtakes: Some(|hands| {
            let on = r#"{"spec": {"online": true}}"#;
            let patch = ["patch", "baremetalhost", "worker-1", IN[0], IN[1], "--type=merge", "-p"];
            hands.run(&[&patch[..], &[on]].concat()).unwrap();
        }),
        theirs: &[(HOST, "/status")],
        ours: &[(HOST, "/spec/online")],
        holds: |hands| expect(&host(hands)["spec"]["online"], true.into()),
        // What is wanted was changed, not the machine: it was switched once, and that was before.
        machines: |bmcs, _| {
            let bmc = bmcs.emulator();
            match (bmc.power(WORKER_1), bmc.changes().len()) {
                (Ok(power), 1) if power == "On" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        },
        ..USUAL
    },
    Repair {
        id: "align-power",
        variant: "-wanted-on",
        tree: || {
            named_case(
                "knowledge/baremetal/power-state-desync/tests/cases.md",
                "a server that is off, and nobody powers it",
                "",
            )
        },
        bmcs: || Some(Bmcs::of_hosts("Off")),
        before: |scene| {
            adopt(scene);
            list_emulated(&scene.folder, scene.emulator(), "worker-1");
        },
        run: by_file,
        typed: &["worker-1"],
        // Who powers hosts waits for hours after errors, and looks at once when an annotation changes.
        reacts: |scene| {
            let host = host(&scene.hands);
            let is_woken = host["metadata"]["annotations"][AWAKE].is_string();
            if host["spec"]["online"] == true && is_woken {
                let bmc = scene.emulator();
                if bmc.power(WORKER_1).is_ok_and(|power| power == "Off") {
                    let _ = bmc.switch(WORKER_1, "On");
                }
                heal(&scene.hands, scene.healthy, POWERED);
            }
        },
        overtakes: Some(|hands| {
            let off = r#"{"spec": {"online": false}}"#;
            let patch = ["patch", "baremetalhost", "worker-1", IN[0], IN[1], "--type=merge", "-p"];
            hands.run(&[&patch[..], &[off]].concat()).unwrap();
        }),
        theirs: POWERED,
        holds: |hands| {
            expect(&host(hands)["metadata"]["annotations"][AWAKE], Value::Null)?;
            expect(&host(hands)["status"]["poweredOn"], true.into())
        },
        // Switched on once, and by its controller. That it was woken is taken back; that it runs is not.
        machines: |bmcs, _| {
            let bmc = bmcs.emulator();
            match (bmc.power(WORKER_1), bmc.changes().len()) {
                (Ok(power), 1) if power == "On" => Ok(()),
                other => Err(format!("{other:?}")),
            }
        },
        ..USUAL
    },
];

const POWERED: &[Part] = &[(HOST, "/status"), ("Node/worker-1", "/status")];

static MOCKED: &[Repair] = &[Repair {
    id: "isolate-second-machine",
    tree: || edited("metal-3-2", CONFLICT).tree().unwrap(),
    bmcs: || Some(Bmcs::Mocked(Rack::start())),
    before: |scene| scene.rack().list_in(&scene.folder),
    run: by_file,
    answers: &["machine=rack-7", "serial=CN7475102A0042"],
    typed: &[RETIRED],
    reacts: |scene| {
        if scene.rack().power(RETIRED) == "Off" {
            scene.kubelets.journal("worker-1", "NetworkManager", OVER);
            heal(&scene.hands, scene.healthy, READY);
        }
    },
    theirs: READY,
    machines: |bmcs, when| {
        let wanted: &[&str] = match when {
            Moment::CarriedOut => &["ForceOff"],
            Moment::TakenBack => &["ForceOff", "On"],
        };
        match [RETIRED, NEIGHBOUR].map(|name| bmcs.rack().asked(name)) {
            [retired, neighbour] if retired == wanted && neighbour.is_empty() => Ok(()),
            other => Err(format!("{other:?}")),
        }
    },
    ..USUAL
}];

const CONFLICT: &str = r#"journal NetworkManager worker-1 from=-2h to=-1m every=1m "<info>  [1764776521.4208] device (eno1): conflict detected for IP address 192.168.111.24 with host 0C:42:A1:AA:BB:CC"
condition Node/worker-1 Ready=Unknown reason=NodeStatusUnknown since=-1h50m message="Kubelet stopped posting node status.""#;
const OVER: &str = "Dec 03 17:40:00.000000 worker-1 NetworkManager[2451]: <info>  [1764783600.4208] device (eno1): conflict detected for IP address 192.168.111.24 with host 0C:42:A1:AA:BB:CC
Dec 03 18:41:30.000000 worker-1 NetworkManager[2451]: <info>  [1764787290.1213] device (eno1): carrier: link connected
";

pub fn trials(shared: &Shared) -> Vec<Trial> {
    let with = |name: &str, run: fn(&mut Cluster)| {
        trial(name, shared, move |mut cluster| {
            run(&mut cluster);
            Ok(())
        })
    };
    let mut all = repair::trials(shared, MOCKED);
    all.push(with("isolate-second-machine/refused-without-proof", refused_without_proof));
    let mut emulated = repair::trials(shared, EMULATED);
    emulated.push(with("eject-virtual-media/somebody-was-faster", ejected_by_another));
    emulated.push(with("isolate-second-machine/no-number-is-no-proof", no_number_is_no_proof));
    all.extend(where_emulated(emulated));
    all
}

/// Trials with the emulator, where it is not to be left out.
#[expect(clippy::print_stderr, reason = "what is not tried is told")]
fn where_emulated(trials: Vec<Trial>) -> impl Iterator<Item = Trial> {
    let why = Emulator::cannot_run();
    if let Some(why) = &why {
        eprintln!("BMCs are not emulated: {why}");
    }
    trials.into_iter().map(move |trial| trial.with_ignored_flag(why.is_some()))
}

fn by_file(site: &mut Site) {
    site.sources = vec!["kube:".into(), "bmc:bmcs.yaml".into()];
}

/// By its certificate, which an authority signed that nobody else knows.
fn list_emulated(folder: &Path, emulator: &Emulator, name: &str) {
    fs_err::write(folder.join("ca.pem"), &emulator.ca_pem).unwrap();
    let listed = listed(name, &emulator.address(WORKER_1));
    list_in(folder, &format!("{listed}  caFile: ca.pem\n"));
}

fn ejections(bmcs: &Bmcs) -> usize {
    let changes = bmcs.emulator().changes();
    changes.iter().filter(|one| one.ends_with("/VirtualMedia.EjectMedia")).count()
}

/// The drive was emptied after the plan was made: there is nothing left to do.
fn ejected_by_another(cluster: &mut Cluster) {
    let repair = EMULATED.iter().find(|one| one.id == "eject-virtual-media").unwrap();
    let shown = repair.shown(cluster);
    let bmcs = shown.site.bmcs.as_deref().unwrap();
    bmcs.emulator().eject(WORKER_1).unwrap();
    let apply = repair.words(&["--apply", shown.digest(), "--output", "json"]);
    let done = shown.site.fix(&apply);
    assert_eq!(done.status.code(), Some(4), "{}", words(&done));
    assert!(words(&done).contains("is not there any more"), "{}", words(&done));
    assert_eq!(ejections(bmcs), 1, "by the other one");
}

/// A plan to switch off what answers in the place of a master, carried out: its exit code, and what it said.
fn tried(site: &Site, machine: &str, serial: &str) -> (Option<i32>, String) {
    let answers = [format!("machine={machine}"), format!("serial={serial}")];
    let plan = site.plan(&["--set", &answers[0], "--set", &answers[1]]);
    let digest = plan["digest"].as_str().unwrap();
    let confirmed = ["--confirm", "by-hand", "--confirm", machine];
    let apply = ["--apply", digest, "--output", "json"];
    let done = site.fix(&[&apply[..], &confirmed].concat());
    (done.status.code(), words(&done))
}

/// Somebody answers at the address of master-1.
fn conflict(cluster: &Cluster) -> Site {
    let mut site = Site::new(cluster);
    cluster.load(&case("knowledge/network/duplicate-host-ip/tests/cases.md"));
    by_file(&mut site);
    site
}

fn refused_without_proof(cluster: &mut Cluster) {
    let site = conflict(cluster);
    let rack = Rack::start();
    rack.list_in(site.folder.path());
    let lacking = site.plan(&["--set", "machine=rack-7"]);
    assert!(lacking["hindrances"].to_string().contains("--set serial=VALUE"), "{lacking:#}");
    for (machine, serial, code, why) in [
        (RETIRED, "", 5, "without its serial number nobody knows which machine"),
        // Its own, in other letters than the cluster has it.
        (RETIRED, "7xk1037", 5, "serial number 7xk1037 is that of master-1"),
        (RETIRED, RACK[1].1, 4, "rack-7: the machine is CN7475102A0042, not CN7475102A0043"),
        ("master-1", "7XK1037", 5, "the machine is not this node itself"),
    ] {
        let (found, said) = tried(&site, machine, serial);
        assert_eq!(found, Some(code), "{machine} {serial}: {said}");
        assert!(said.contains(why), "{machine} {serial}: {said}");
    }
    for (name, _) in RACK {
        assert_eq!(rack.asked(name), Vec::<Value>::new(), "{name}");
    }
}

/// The emulator's machines have no serial number: whatever is expected, none of them is it.
fn no_number_is_no_proof(cluster: &mut Cluster) {
    let site = conflict(cluster);
    let bmcs = Bmcs::of_hosts("On");
    let emulator = bmcs.emulator();
    list_emulated(site.folder.path(), emulator, RETIRED);
    let (code, said) = tried(&site, RETIRED, "CN7475102A0042");
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("the machine is unknown, not CN7475102A0042"), "{said}");
    assert_eq!(emulator.power(WORKER_1).unwrap(), "On");
    assert_eq!(emulator.changes(), Vec::<String>::new());
}
