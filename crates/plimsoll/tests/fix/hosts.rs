//! Repairs of hosts, with a controller of hosts that reacts as metal3 does.

use serde_json::Value;

use crate::actor::Kubectl;
use crate::objects::{Part, heal};
use crate::repair::{Repair, Scene, USUAL};
use crate::site::{edited, named_case};

pub const HOST: &str = "BareMetalHost/openshift-machine-api/worker-1";
const MACHINE: &str = "Machine/openshift-machine-api/ostest-cktts-worker-0-njsv9";
/// A host that can be worked on gets its Machine and becomes a node.
pub const JOINS: &[Part] = &[(HOST, "/status"), (MACHINE, "/status"), ("Node/worker-1", "")];
pub const IN: [&str; 2] = ["-n", "openshift-machine-api"];

pub fn host(hands: &Kubectl) -> Value {
    named(hands, "worker-1")
}

fn named(hands: &Kubectl, name: &str) -> Value {
    hands.json(&["get", "baremetalhost", name, IN[0], IN[1]]).unwrap_or_default()
}

/// By which a host is looked at.
pub const AWAKE: &str = "plimsoll.io/power";
const MASTER_IS_OFF: &str = "set BareMetalHost/master-2 status.poweredOn = false\n\
    condition Node/master-2 Ready=Unknown reason=NodeStatusUnknown since=-3h message=\"Kubelet stopped posting node status.\"";
const MASTER_IS_ON: &[Part] =
    &[("BareMetalHost/openshift-machine-api/master-2", "/status"), ("Node/master-2", "/status")];

pub fn expect(is: &Value, wanted: Value) -> Result<(), String> {
    (*is == wanted).then_some(()).ok_or_else(|| format!("{is} and not {wanted}"))
}

/// Joins when its BMC can be spoken to, and is left as it is otherwise.
macro_rules! joins_when {
    ($host:ident, $that:expr) => {
        |scene| {
            let $host = host(&scene.hands);
            if $that {
                heal(&scene.hands, scene.healthy, JOINS);
            }
        }
    };
}

pub const ADDRESS: &str =
    "redfish-virtualmedia://192.168.110.24/redfish/v1/Systems/System.Embedded.1";

pub static REPAIRS: &[Repair] = &[
    Repair {
        id: "trust-bmc",
        typed: &["worker-1"],
        tree: || {
            named_case(
                "knowledge/baremetal/bmc-tls-untrusted/tests/cases.md",
                "a host that cannot be registered keeps its Machine without a node",
                "unset BareMetalHost/worker-1 spec.bmc.disableCertificateVerification",
            )
        },
        reacts: joins_when!(host, host["spec"]["bmc"]["disableCertificateVerification"] == true),
        overtakes: Some(|hands| {
            let other = r#"{"spec": {"bmc": {"address": "ipmi://192.168.110.24"}}}"#;
            let patch = ["patch", "baremetalhost", "worker-1", IN[0], IN[1], "--type=merge", "-p"];
            hands.run(&[&patch[..], &[other]].concat()).unwrap();
        }),
        theirs: JOINS,
        ours: &[(HOST, "/spec/bmc/disableCertificateVerification")],
        holds: |hands| {
            expect(&host(hands)["spec"]["bmc"]["disableCertificateVerification"], true.into())
        },
        ..USUAL
    },
    Repair {
        id: "correct-bmc-address",
        typed: &["worker-1"],
        tree: || {
            named_case(
                "knowledge/baremetal/bmc-address-wrong/tests/cases.md",
                "a host that cannot be registered keeps its Machine without a node",
                "",
            )
        },
        answers: &[
            "address=redfish-virtualmedia://192.168.110.24/redfish/v1/Systems/System.Embedded.1",
        ],
        reacts: joins_when!(host, host["spec"]["bmc"]["address"] == ADDRESS),
        theirs: JOINS,
        ours: &[(HOST, "/spec/bmc/address")],
        holds: |hands| expect(&host(hands)["spec"]["bmc"]["address"], ADDRESS.into()),
        ..USUAL
    },
    Repair {
        id: "replace-bmc-secret",
        typed: &["worker-1"],
        tree: || {
            named_case(
                "knowledge/baremetal/bmc-auth-failed/tests/cases.md",
                "a host that cannot be registered keeps its Machine without a node",
                "",
            )
        },
        before: |scene| {
            let secret = ["create", "secret", "generic", "worker-1-new", IN[0], IN[1]];
            let data = ["--from-literal=username=root", "--from-literal=password=x"];
            scene.hands.run(&[&secret[..], &data].concat()).unwrap();
        },
        answers: &["secret=worker-1-new"],
        reacts: joins_when!(host, host["spec"]["bmc"]["credentialsName"] == "worker-1-new"),
        theirs: JOINS,
        ours: &[(HOST, "/spec/bmc/credentialsName")],
        holds: |hands| {
            expect(&host(hands)["spec"]["bmc"]["credentialsName"], "worker-1-new".into())
        },
        ..USUAL
    },
    Repair {
        id: "align-power-of-master",
        tree: || edited("metal-3-2", MASTER_IS_OFF).tree().unwrap(),
        root: &["power-state-desync"],
        typed: &["master-2"],
        // Who powers hosts waits for hours after errors, and looks at once when an annotation changes.
        reacts: |scene| {
            if named(&scene.hands, "master-2")["metadata"]["annotations"][AWAKE].is_string() {
                heal(&scene.hands, scene.healthy, MASTER_IS_ON);
            }
        },
        theirs: MASTER_IS_ON,
        holds: |hands| {
            let host = named(hands, "master-2");
            expect(&host["metadata"]["annotations"][AWAKE], Value::Null)?;
            expect(&host["status"]["poweredOn"], true.into())
        },
        ..USUAL
    },
    Repair {
        id: "restart-inspection",
        tree: || {
            named_case(
                "knowledge/baremetal/inspection-stuck/tests/cases.md",
                "a worker waits for the ramdisk since nine hours",
                "",
            )
        },
        typed: &["worker-1"],
        reacts: |scene| boots(scene, INSPECTED),
        theirs: INSPECTED,
        holds: |hands| {
            expect(&host(hands)["status"]["provisioning"]["state"], "provisioned".into())
        },
        // A boot is not taken back by taking off what asked for it: whoever boots does that.
        reversible: false,
        ours: &[(HOST, "/metadata/annotations")],
        ..USUAL
    },
    Repair {
        id: "retry-worker",
        tree: || {
            let file = "knowledge/baremetal/provisioning-stuck/tests/cases.md";
            named_case(file, "four hours and no error", "")
        },
        // The one that is proposed is by hand.
        root: &["--repair", "retry-worker"],
        typed: &["worker-1"],
        reacts: |scene| boots(scene, JOINS),
        overtakes: Some(|hands| {
            let other = r#"{"spec": {"online": false}}"#;
            let patch = ["patch", "baremetalhost", "worker-1", IN[0], IN[1], "--type=merge", "-p"];
            hands.run(&[&patch[..], &[other]].concat()).unwrap();
        }),
        theirs: JOINS,
        holds: |hands| {
            let node = hands.run(&["get", "node", "worker-1"]);
            node.ok_or("its node has not joined")?;
            expect(&host(hands)["status"]["provisioning"]["state"], "provisioned".into())
        },
        // As above.
        reversible: false,
        ours: &[(HOST, "/metadata/annotations")],
        ..USUAL
    },
];

/// The annotation is taken off by who acts on it, and then the host goes on.
fn boots(scene: &Scene, then: &[Part]) {
    if host(&scene.hands)["metadata"]["annotations"]["reboot.metal3.io"].is_string() {
        heal(&scene.hands, scene.healthy, then);
        let off = ["annotate", "baremetalhost", "worker-1", IN[0], IN[1], "reboot.metal3.io-"];
        scene.hands.run(&off);
    }
}

const INSPECTED: &[Part] = &[
    (HOST, "/status"),
    (HOST, "/spec/consumerRef"),
    (MACHINE, "/metadata/annotations"),
    (MACHINE, "/status"),
    ("Node/worker-1", ""),
];
