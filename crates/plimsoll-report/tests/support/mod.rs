//! Diagnoses made by hand for the tests of the renderers.
#![expect(clippy::unwrap_used, reason = "a test stops at the first thing that is wrong")]
#![allow(dead_code, reason = "every file uses another part")]

pub mod check;

use plimsoll_model::diagnosis::*;
use plimsoll_model::{EntityId, Evidence, Time};

pub fn at(time: &str) -> Time {
    format!("2025-12-{time}:00Z").parse().unwrap()
}

pub fn entity(text: &str) -> EntityId {
    text.parse().unwrap()
}

pub fn state_ref(id: &str, on: &str) -> StateRef {
    StateRef { id: id.into(), entity: entity(on) }
}

pub fn state(id: &str, on: &str, status: Status, since: &str, summary: &str) -> State {
    State {
        id: id.into(),
        entity: entity(on),
        status,
        since: (!since.is_empty()).then(|| at(since)),
        summary: summary.into(),
        evidence: vec![],
        note: false,
    }
}

pub fn line(path: &str, line: u64, time: &str, text: &str) -> Evidence {
    Evidence {
        source: "must-gather.local.5512.tar.gz".into(),
        path: path.into(),
        line: Some(line),
        pointer: None,
        time: (!time.is_empty()).then(|| at(time)),
        text: text.into(),
    }
}

pub fn field(path: &str, pointer: &str, text: &str) -> Evidence {
    Evidence { line: None, pointer: Some(pointer.into()), ..line(path, 0, "", text) }
}

pub fn edge(from: (&str, &str), to: (&str, &str), because: &str) -> Edge {
    Edge {
        from: state_ref(from.0, from.1),
        to: state_ref(to.0, to.1),
        rule: format!("lost-client-certificate/{}->{}", from.0, to.0),
        because: because.into(),
    }
}

pub fn empty(verdict: Verdict, reason: &str) -> Diagnosis {
    Diagnosis {
        schema: SCHEMA.into(),
        generated_for: Some(at("03T18:42")),
        cluster: Cluster {
            version: Some("4.18.14".into()),
            platform: Some("BareMetal".into()),
            topology: Some("HighlyAvailable".into()),
            id: Some("1f6a3f0c-7f6e-4f0e-9c53-0f3b8e1f4a11".into()),
            control_plane_nodes: 3,
            worker_nodes: 0,
        },
        sources: vec![Source {
            kind: "must-gather".into(),
            name: "must-gather.local.5512.tar.gz".into(),
            complete: true,
            gaps: vec![],
            files: 3_918,
            bytes: 148 << 20,
        }],
        verdict,
        reason: reason.into(),
        costs: None,
        roots: vec![],
        states: vec![],
        edges: vec![],
        deadlocks: vec![],
        unexplained: vec![],
        ruled_out: vec![],
        alternatives: vec![],
        next_checks: vec![],
        suppressed: vec![],
        notes: vec![],
    }
}

/// One accepted state that took an effect along, one entry that is over.
pub fn accepting() -> Diagnosis {
    let mut d =
        empty(Verdict::Healthy, "nothing is wrong beyond what you accepted; 1 accepted as known");
    let (known, along) = (("old-dimm", "Node/worker-1"), ("node-slow", "Node/worker-1"));
    for (id, entity) in [known, along] {
        d.states.push(state(id, entity, Status::Active, "03T11:20", "It is slow."));
    }
    d.edges = vec![edge(known, along, "Corrected errors take time.")];
    d.suppressed = vec![Suppressed {
        id: known.0.into(),
        entity: entity(known.1),
        reason: "<b>Replacement</b> ordered, CHG-4711".into(),
        until: "2027-01-31".into(),
        status: Status::Active,
        evidence: vec![line("worker-1.log", 12, "03T11:20", "corrected error")],
        explains: vec![state_ref(along.0, along.1)],
    }];
    d.notes = vec!["suppression of disk-full is not applied: it ended on 2025-01-31".into()];
    d
}

pub fn healthy() -> Diagnosis {
    let mut d = empty(Verdict::Healthy, "No fault found; 33 of 33 cluster operators are available");
    d.states = vec![state(
        "etcd-leader-lost",
        "Cluster/cluster",
        Status::Recovered,
        "03T11:20",
        "etcd had no leader for 12 s.",
    )];
    d
}

pub fn not_provable() -> Diagnosis {
    let mut d = empty(
        Verdict::NotProvable,
        "master-2 never joined, and this gather holds nothing from that host",
    );
    d.sources[0].complete = false;
    d.sources[0].gaps = vec![
        "the gather was cut after 61 MiB".into(),
        "host_service_logs: not collected".into(),
        "namespaces/openshift-machine-api/pods: not collected".into(),
    ];
    d.states = vec![
        state("node-missing", "Node/master-2", Status::Active, "03T09:31", "No Node object."),
        state(
            "ramdisk-not-booted",
            "BareMetalHost/openshift-machine-api/master-2",
            Status::Unknown,
            "",
            "",
        ),
        state("provisioning-network-down", "Network/provisioning", Status::Unknown, "", ""),
    ];
    d.unexplained = vec![state_ref("node-missing", "Node/master-2")];
    let rivals = vec![
        state_ref("provisioning-network-down", "Network/provisioning"),
        state_ref("ramdisk-not-booted", "BareMetalHost/openshift-machine-api/master-2"),
    ];
    d.next_checks = vec![
        Check {
            id: "ramdisk-not-booted".into(),
            entity: entity("BareMetalHost/openshift-machine-api/master-2"),
            how: "read the power state and the boot order in the BMC of master-2".into(),
            cost: Cost::Low,
            separates: rivals.clone(),
        },
        Check {
            id: "provisioning-network-down".into(),
            entity: entity("Network/provisioning"),
            how: "oc adm inspect ns/openshift-machine-api, then diagnose both together".into(),
            cost: Cost::Medium,
            separates: rivals,
        },
    ];
    d
}

const KUBELET_LOG: &str = "host_service_logs/masters/kubelet_service.log";
const MASTER_1: &str = "Node/master-1";
const ETCD_POD: &str = "Pod/openshift-etcd/etcd-master-1";
const METAL3: &str = "Deployment/openshift-machine-api/metal3";
const HOST: &str = "BareMetalHost/openshift-machine-api/master-2";
const VIP: &str = "Infrastructure/cluster";

/// Three independent faults at once, with everything that an answer can hold.
pub fn example() -> Diagnosis {
    let mut d = empty(Verdict::Recoverable, "3 independent faults, none of them touches data");
    d.costs = Some(Costs { repair_minutes: Some(55), reinstall_minutes: None });
    d.sources[0].gaps = vec!["master-2 never joined".into(), "no BMC data".into()];
    d.states = example_states();
    d.edges = example_edges();
    d.roots = vec![kubelet_root(&d.states), vip_root(), inspection_root()];
    d.deadlocks = vec![Deadlock {
        members: vec![
            state_ref("authentication-waits-for-three", "ClusterOperator/authentication"),
            state_ref("etcd-at-two-members", "ClusterOperator/etcd"),
            state_ref("pool-update-blocked", "MachineConfigPool/master"),
        ],
        entry: Some(state_ref("pool-update-blocked", "MachineConfigPool/master")),
        breakers: vec![Breaker {
            state: state_ref("pool-update-blocked", "MachineConfigPool/master"),
            action: "unpause the master pool once master-1 reports again".into(),
        }],
    }];
    d.unexplained =
        vec![state_ref("container-restarting", "Pod/openshift-monitoring/prometheus-k8s-0")];
    d.ruled_out = vec![
        RuledOut {
            id: "clock-skewed".into(),
            entity: entity(MASTER_1),
            by: "chrony reports 0.4 ms of offset at 18:40".into(),
            evidence: vec![line(
                "host_service_logs/masters/chronyd_service.log",
                88,
                "03T18:40",
                "System clock within 0.0004 seconds",
            )],
        },
        RuledOut {
            id: "network-operator-down".into(),
            entity: entity("ClusterOperator/network"),
            by: "its pods run, and other nodes have their CNI configuration".into(),
            evidence: vec![],
        },
    ];
    d.alternatives = vec![Alternative {
        id: "boot-mode-wrong".into(),
        entity: entity(HOST),
        instead_of: state_ref("inspection-stuck", HOST),
        tie: true,
        separated_by: vec![state_ref("bmc-boot-mode-legacy", HOST)],
    }];
    d.next_checks = vec![Check {
        id: "bmc-boot-mode-legacy".into(),
        entity: entity(HOST),
        how: "read the BMC: plimsoll diagnose must-gather.local.5512.tar.gz bmc:hosts.yaml".into(),
        cost: Cost::Low,
        separates: vec![state_ref("boot-mode-wrong", HOST), state_ref("inspection-stuck", HOST)],
    }];
    d
}

fn waiting_pods() -> Vec<String> {
    (0..14).map(|n| format!("Pod/openshift-workload/worker-{n:02}")).collect()
}

fn example_states() -> Vec<State> {
    use Status::{Active, Expected, Recovered};
    let mut states = vec![
        state(
            "kubelet-anonymous",
            MASTER_1,
            Active,
            "03T14:12",
            "The kubelet speaks as system:anonymous.",
        ),
        state(
            "mirror-pod-missing",
            ETCD_POD,
            Active,
            "03T14:13",
            "The static pod runs, its mirror pod is gone.",
        ),
        state(
            "etcd-operand-missing",
            "ClusterOperator/etcd",
            Active,
            "03T14:15",
            "GuardControllerDegraded: Missing operand on node master-1.",
        ),
        state(
            "etcd-at-two-members",
            "ClusterOperator/etcd",
            Active,
            "03T14:40",
            "Two of three etcd members are healthy.",
        ),
        state(
            "authentication-waits-for-three",
            "ClusterOperator/authentication",
            Active,
            "03T14:44",
            "Waits for three API servers.",
        ),
        state(
            "pool-update-blocked",
            "MachineConfigPool/master",
            Active,
            "03T14:31",
            "The pool waits for master-1.",
        ),
        state("metal3-not-recreated", METAL3, Active, "03T15:02", "The deployment has no pod."),
        state(
            "cni-config-missing",
            MASTER_1,
            Active,
            "03T15:40",
            "No CNI configuration in /etc/kubernetes/cni/net.d.",
        ),
        state(
            "vip-outside-machine-network",
            VIP,
            Active,
            "02T18:02",
            "API VIP 10.46.124.13 is in no machine network.",
        ),
        state(
            "network-operator-degraded",
            "ClusterOperator/network",
            Active,
            "02T19:44",
            "The operator cannot use the infrastructure object.",
        ),
        state(
            "inspection-stuck",
            HOST,
            Active,
            "03T09:20",
            "The host has been inspecting for 9 h.",
        ),
        state(
            "host-not-provisioned",
            "Machine/openshift-machine-api/master-2",
            Active,
            "03T09:50",
            "The machine has no node.",
        ),
        state(
            "container-restarting",
            "Pod/openshift-monitoring/prometheus-k8s-0",
            Active,
            "",
            "Restarted 4 times.",
        ),
        state(
            "etcd-leader-lost",
            "Cluster/cluster",
            Recovered,
            "03T11:20",
            "etcd had no leader for 12 s.",
        ),
        state(
            "node-cordoned",
            "Node/master-0",
            Expected,
            "03T17:58",
            "Drained for the update of its pool.",
        ),
    ];
    let mut note = state(
        "mlx5-port-without-module",
        "Node/master-2",
        Active,
        "03T09:21",
        "A port has no transceiver.",
    );
    note.note = true;
    states.push(note);
    states.extend(waiting_pods().iter().map(|pod| {
        state(
            "pods-waiting-network",
            pod,
            Active,
            "03T15:41",
            "FailedCreatePodSandBox: no CNI configuration.",
        )
    }));
    states[0].evidence = vec![line(
        KUBELET_LOG,
        20_113,
        "03T14:12",
        "User \"system:anonymous\" cannot get resource \"nodes\" in API group \"\"",
    )];
    states[2].evidence = vec![field(
        "cluster-scoped-resources/config.openshift.io/clusteroperators/etcd.yaml",
        "/status/conditions/3/message",
        "GuardControllerDegraded: Missing operand on node master-1",
    )];
    states.sort_by(|a, b| (&a.id, &a.entity).cmp(&(&b.id, &b.entity)));
    states
}

fn example_edges() -> Vec<Edge> {
    let etcd = ("etcd-operand-missing", "ClusterOperator/etcd");
    let two = ("etcd-at-two-members", "ClusterOperator/etcd");
    let waits = ("authentication-waits-for-three", "ClusterOperator/authentication");
    let pool = ("pool-update-blocked", "MachineConfigPool/master");
    let kubelet = ("kubelet-anonymous", MASTER_1);
    let cni = ("cni-config-missing", MASTER_1);
    let mut edges = vec![
        edge(
            kubelet,
            ("mirror-pod-missing", ETCD_POD),
            "A kubelet without a name cannot create mirror pods.",
        ),
        edge(("mirror-pod-missing", ETCD_POD), etcd, "The guard controller counts mirror pods."),
        edge(
            etcd,
            ("metal3-not-recreated", METAL3),
            "The operator stops before it applies the deployment.",
        ),
        edge(kubelet, pool, "The pool waits for a node that cannot report."),
        edge(kubelet, cni, "Multus needs the API through the kubelet's identity."),
        edge(two, waits, "Authentication wants three API servers."),
        edge(waits, pool, "The update waits for stable operators."),
        edge(pool, two, "The third member waits for the update of its node."),
        edge(
            ("vip-outside-machine-network", VIP),
            ("network-operator-degraded", "ClusterOperator/network"),
            "The operator checks the VIP against the machine networks.",
        ),
        edge(
            ("inspection-stuck", HOST),
            ("host-not-provisioned", "Machine/openshift-machine-api/master-2"),
            "A machine waits for its host.",
        ),
    ];
    edges.extend(waiting_pods().iter().map(|pod| {
        edge(cni, ("pods-waiting-network", pod), "A sandbox needs a CNI configuration.")
    }));
    edges
}

fn kubelet_root(states: &[State]) -> Root {
    let mine = [
        "mirror-pod-missing",
        "etcd-operand-missing",
        "etcd-at-two-members",
        "authentication-waits-for-three",
        "pool-update-blocked",
        "metal3-not-recreated",
        "cni-config-missing",
        "pods-waiting-network",
    ];
    let mut evidence = vec![line(
        KUBELET_LOG,
        20_113,
        "03T14:12",
        "User \"system:anonymous\" cannot get resource \"nodes\" in API group \"\" at the cluster scope",
    )];
    evidence.extend((0..5).map(|n| {
        line(
            KUBELET_LOG,
            20_160 + 11 * n,
            "03T14:13",
            "Failed to ensure lease exists, will retry: leases.coordination.k8s.io is forbidden",
        )
    }));
    Root {
        id: "kubelet-anonymous".into(),
        entity: entity(MASTER_1),
        confidence: Confidence::Confirmed,
        since: Some(at("03T14:12")),
        summary: "The kubelet lost its client certificate and speaks as system:anonymous, so no static pod of this node can be seen in the API.".into(),
        explains: states
            .iter()
            .filter(|state| mine.contains(&state.id.as_str()))
            .map(|state| state.state())
            .collect(),
        evidence,
        repairs: vec![Repair {
            id: "renew-kubelet-client-certificate".into(),
            summary: "renew the kubelet's client certificate on master-1".into(),
            minutes: Some(10),
            blast: Some(3),
            by: Some(DoneBy::Plimsoll),
        }],
        folklore: vec!["network operator: it reports an infrastructure field, not CNI".into()],
        ties: vec![],
    }
}

fn vip_root() -> Root {
    Root {
        id: "vip-outside-machine-network".into(),
        entity: entity(VIP),
        confidence: Confidence::Confirmed,
        since: Some(at("02T18:02")),
        summary: "API VIP 10.46.124.13 is in no machine network (10.46.120.0/22); the nodes' own subnet holds it, so the list is too narrow and the address is right.".into(),
        explains: vec![state_ref("network-operator-degraded", "ClusterOperator/network")],
        evidence: vec![field(
            "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-5a0c1e/cluster-scoped-resources/config.openshift.io/infrastructures/cluster.yaml",
            "/status/platformStatus/baremetal/apiServerInternalIPs/0",
            "10.46.124.13",
        )],
        repairs: vec![Repair {
            id: "append-machine-network".into(),
            summary: "append 10.46.124.0/24 to the machine networks; no reboot".into(),
            minutes: Some(5),
            blast: Some(2),
            by: Some(DoneBy::Hand),
        }],
        folklore: vec![],
        ties: vec![],
    }
}

fn inspection_root() -> Root {
    Root {
        id: "inspection-stuck".into(),
        entity: entity(HOST),
        confidence: Confidence::Probable,
        since: Some(at("03T09:20")),
        summary: "Waiting for the ramdisk's call-back for 9 h. The mlx5 line says only that a port has no transceiver; it is no proof of a hang.".into(),
        explains: vec![state_ref("host-not-provisioned", "Machine/openshift-machine-api/master-2")],
        evidence: vec![field(
            "namespaces/openshift-machine-api/metal3.io/baremetalhosts/master-2.yaml",
            "/status/provisioning/state",
            "inspecting",
        )],
        repairs: vec![],
        folklore: vec![],
        ties: vec![state_ref("boot-mode-wrong", HOST)],
    }
}
