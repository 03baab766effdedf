//! Objects of a plausible bare-metal cluster, as `oc` writes them. One worker is degraded, and with
//! it its pool and one operator, so that a diagnosis has something to find.

use std::fmt::Write;

use super::random::Random;

pub const VERSION: &str = "4.18.14";
pub const DEGRADED: &str = "worker-3";
const RENDERED: [(&str, &str); 2] = [
    ("master", "rendered-master-5f1c9a7be0d34c2f8a6b7c1d2e3f4a5b"),
    ("worker", "rendered-worker-0b9a8c7d6e5f4a3b2c1d0e9f8a7b6c5d"),
];
const MISMATCH: &str = "unexpected on-disk state validating against \
    rendered-worker-0b9a8c7d6e5f4a3b2c1d0e9f8a7b6c5d: content mismatch for file \
    \\\"/etc/chrony.conf\\\"";

pub const OPERATORS: [&str; 33] = [
    "authentication",
    "baremetal",
    "cloud-controller-manager",
    "cloud-credential",
    "cluster-autoscaler",
    "config-operator",
    "console",
    "control-plane-machine-set",
    "csi-snapshot-controller",
    "dns",
    "etcd",
    "image-registry",
    "ingress",
    "insights",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kube-storage-version-migrator",
    "machine-api",
    "machine-approver",
    "machine-config",
    "marketplace",
    "monitoring",
    "network",
    "node-tuning",
    "openshift-apiserver",
    "openshift-controller-manager",
    "openshift-samples",
    "operator-lifecycle-manager",
    "operator-lifecycle-manager-catalog",
    "operator-lifecycle-manager-packageserver",
    "service-ca",
    "storage",
];

/// A machine: the first three are the control plane.
pub fn node_name(index: u64) -> String {
    match index {
        0..3 => format!("master-{index}"),
        _ => format!("worker-{}", index - 3),
    }
}

fn node_address(index: u64) -> String {
    format!("10.0.0.{}", 10 + index)
}

/// The head of every object, with the bookkeeping that makes up a fifth of a real one.
fn head(
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    extra: &str,
    random: &mut Random,
) -> String {
    let namespace = namespace.map_or(String::new(), |name| format!("  namespace: {name}\n"));
    let (uid, version) = (random.uid(), 10_000_000 + random.below(9_000_000));
    format!(
        "apiVersion: {api_version}\nkind: {kind}\nmetadata:\n{extra}  creationTimestamp: \"2026-01-12T08:31:05Z\"\n  generation: 1\n{}  name: {name}\n{namespace}  resourceVersion: \"{version}\"\n  uid: {uid}\n",
        managed_fields(random),
    )
}

fn managed_fields(random: &mut Random) -> String {
    let mut text = String::from("  managedFields:\n");
    for manager in ["cluster-version-operator", "kube-controller-manager"] {
        let _ = write!(
            text,
            "  - apiVersion: v1\n    fieldsType: FieldsV1\n    fieldsV1:\n      f:metadata:\n        f:annotations:\n          .: {{}}\n          f:include.release.openshift.io/self-managed-high-availability: {{}}\n        f:labels:\n          f:k8s-app: {{}}\n      f:spec:\n        f:selector: {{}}\n    manager: {manager}\n    operation: Update\n    time: \"2026-03-0{}T0{}:12:41Z\"\n",
            1 + random.below(9),
            random.below(10),
        );
    }
    text
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> String {
    format!(
        "  - lastTransitionTime: \"2026-03-0{}T10:41:07Z\"\n    message: {message}\n    reason: {reason}\n    status: \"{status}\"\n    type: {kind}\n",
        if status == "True" && kind == "Degraded" { 9 } else { 1 },
    )
}

pub fn cluster_version(random: &mut Random) -> String {
    let mut text = head("config.openshift.io/v1", "ClusterVersion", None, "version", "", random);
    text.push_str("spec:\n  channel: stable-4.18\n  clusterID: 2f5b1c0e-9a47-4a8e-8a53-5d3a1e6f7b10\nstatus:\n  conditions:\n");
    text.push_str(&condition("Available", "True", "AsExpected", "Done applying 4.18.14"));
    text.push_str(&condition("Failing", "False", "AsExpected", "\"\""));
    text.push_str(&condition("Progressing", "False", "AsExpected", "Cluster version is 4.18.14"));
    let _ = write!(
        text,
        "  desired:\n    image: quay.io/openshift-release-dev/ocp-release@sha256:{}\n    version: {VERSION}\n  history:\n  - completionTime: \"2026-01-12T09:20:00Z\"\n    startedTime: \"2026-01-12T08:31:05Z\"\n    state: Completed\n    verified: false\n    version: {VERSION}\n  observedGeneration: 1\n",
        random.hex(64),
    );
    text
}

pub fn infrastructure(random: &mut Random) -> String {
    head("config.openshift.io/v1", "Infrastructure", None, "cluster", "", random)
        + "spec:\n  platformSpec:\n    baremetal:\n      apiServerInternalIPs:\n      - 10.0.0.5\n      ingressIPs:\n      - 10.0.0.6\n      machineNetworks:\n      - 10.0.0.0/16\n    type: BareMetal\nstatus:\n  apiServerInternalURI: https://api-int.ocp.example.com:6443\n  apiServerURL: https://api.ocp.example.com:6443\n  controlPlaneTopology: HighlyAvailable\n  infrastructureName: ocp-x7k2p\n  infrastructureTopology: HighlyAvailable\n  platform: BareMetal\n  platformStatus:\n    baremetal:\n      apiServerInternalIP: 10.0.0.5\n      apiServerInternalIPs:\n      - 10.0.0.5\n      ingressIP: 10.0.0.6\n      ingressIPs:\n      - 10.0.0.6\n      machineNetworks:\n      - 10.0.0.0/16\n    type: BareMetal\n"
}

pub fn network(random: &mut Random) -> String {
    head("config.openshift.io/v1", "Network", None, "cluster", "", random)
        + "spec:\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n  networkType: OVNKubernetes\n  serviceNetwork:\n  - 172.30.0.0/16\nstatus:\n  clusterNetwork:\n  - cidr: 10.128.0.0/14\n    hostPrefix: 23\n  networkType: OVNKubernetes\n  serviceNetwork:\n  - 172.30.0.0/16\n"
}

pub fn cluster_operator(name: &str, random: &mut Random) -> String {
    let mut text = head("config.openshift.io/v1", "ClusterOperator", None, name, "", random);
    text.push_str("spec: {}\nstatus:\n  conditions:\n");
    if name == "machine-config" {
        let message = "'Failed to resync 4.18.14 because: error required MachineConfigPool worker is not ready, retrying. Status: (pool degraded: true total: 57, ready 56, updated: 56, unavailable: 1)'";
        text.push_str(&condition("Degraded", "True", "RequiredPoolsFailed", message));
    } else {
        text.push_str(&condition("Degraded", "False", "AsExpected", "All is well"));
    }
    text.push_str(&condition("Progressing", "False", "AsExpected", "All is well"));
    text.push_str(&condition("Available", "True", "AsExpected", "All is well"));
    text.push_str(&condition("Upgradeable", "True", "AsExpected", "All is well"));
    text.push_str("  extension: null\n  relatedObjects:\n");
    for index in 0..12 {
        let _ = write!(
            text,
            "  - group: operator.openshift.io\n    name: {name}-{index}\n    resource: {name}s\n"
        );
    }
    let _ = write!(text, "  versions:\n  - name: operator\n    version: {VERSION}\n");
    text
}

pub fn node(index: u64, random: &mut Random) -> String {
    let name = node_name(index);
    let role = if index < 3 { "master" } else { "worker" };
    let rendered = RENDERED.iter().find(|(pool, _)| *pool == role).map_or("", |(_, name)| *name);
    let (state, reason) = if name == DEGRADED { ("Degraded", MISMATCH) } else { ("Done", "") };
    let extra = format!(
        "  annotations:\n    machine.openshift.io/machine: openshift-machine-api/ocp-{name}\n    machineconfiguration.openshift.io/currentConfig: {rendered}\n    machineconfiguration.openshift.io/desiredConfig: {rendered}\n    machineconfiguration.openshift.io/reason: \"{reason}\"\n    machineconfiguration.openshift.io/state: {state}\n  labels:\n    kubernetes.io/hostname: {name}\n    node-role.kubernetes.io/{role}: \"\"\n"
    );
    let mut text = head("v1", "Node", None, &name, &extra, random);
    let _ = write!(
        text,
        "spec:\n  providerID: baremetalhost:///openshift-machine-api/{name}/{}\nstatus:\n  addresses:\n  - address: {}\n    type: InternalIP\n  - address: {name}\n    type: Hostname\n  allocatable:\n    cpu: 63500m\n    memory: 262144000Ki\n  capacity:\n    cpu: \"64\"\n    memory: 263294976Ki\n  conditions:\n",
        random.uid(),
        node_address(index),
    );
    for (kind, status, reason) in [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ] {
        let _ = write!(
            text,
            "  - lastHeartbeatTime: \"2026-03-10T13:58:12Z\"\n    lastTransitionTime: \"2026-01-12T08:51:02Z\"\n    message: kubelet reports {reason}\n    reason: {reason}\n    status: \"{status}\"\n    type: {kind}\n"
        );
    }
    text.push_str("  images:\n");
    for _ in 0..40 {
        let _ = write!(
            text,
            "  - names:\n    - quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}\n    sizeBytes: {}\n",
            random.hex(64),
            400_000_000 + random.below(900_000_000),
        );
    }
    text.push_str("  nodeInfo:\n    architecture: amd64\n    containerRuntimeVersion: cri-o://1.31.8-2.rhaos4.18.el9\n    kernelVersion: 5.14.0-427.68.1.el9_4.x86_64\n    kubeletVersion: v1.31.8\n    operatingSystem: linux\n    osImage: Red Hat Enterprise Linux CoreOS 418.94.202505062142-0\n");
    text
}

pub fn pool(role: &str, machines: u64, random: &mut Random) -> String {
    let rendered = RENDERED.iter().find(|(pool, _)| *pool == role).map_or("", |(_, name)| *name);
    let api = "machineconfiguration.openshift.io/v1";
    let mut text = head(api, "MachineConfigPool", None, role, "", random);
    let degraded = u64::from(role == "worker");
    let _ = write!(
        text,
        "spec:\n  configuration:\n    name: {rendered}\n  paused: false\nstatus:\n  conditions:\n"
    );
    if degraded == 1 {
        let message = format!("'Node {DEGRADED} is reporting: \"{}\"'", MISMATCH.replace('\\', ""));
        text.push_str(&condition(
            "NodeDegraded",
            "True",
            "1 nodes are reporting degraded status on sync",
            &message,
        ));
        text.push_str(&condition("Degraded", "True", "\"\"", "\"\""));
        text.push_str(&condition("Updated", "False", "\"\"", "\"\""));
        text.push_str(&condition("Updating", "True", "\"\"", "All nodes are updating"));
    } else {
        text.push_str(&condition("NodeDegraded", "False", "\"\"", "\"\""));
        text.push_str(&condition("Degraded", "False", "\"\"", "\"\""));
        text.push_str(&condition("Updated", "True", "\"\"", "All nodes are updated"));
        text.push_str(&condition("Updating", "False", "\"\"", "\"\""));
    }
    let _ = write!(
        text,
        "  configuration:\n    name: {rendered}\n  degradedMachineCount: {degraded}\n  machineCount: {machines}\n  observedGeneration: 3\n  readyMachineCount: {}\n  unavailableMachineCount: {degraded}\n  updatedMachineCount: {}\n",
        machines - degraded,
        machines - degraded,
    );
    text
}

pub fn machine_config(name: &str, files: u64, random: &mut Random) -> String {
    let mut text =
        head("machineconfiguration.openshift.io/v1", "MachineConfig", None, name, "", random);
    text.push_str(
        "spec:\n  config:\n    ignition:\n      version: 3.4.0\n    storage:\n      files:\n",
    );
    for index in 0..files {
        let _ = write!(
            text,
            "      - contents:\n          source: data:text/plain;charset=utf-8;base64,{}\n        mode: 420\n        overwrite: true\n        path: /etc/kubernetes/static/{index}.conf\n",
            random.hex(1800),
        );
    }
    text.push_str("  kernelType: \"\"\n  osImageURL: \"\"\n");
    text
}

/// The rendered configs that the pools name.
pub fn rendered_names() -> impl Iterator<Item = &'static str> {
    RENDERED.iter().map(|(_, name)| *name)
}

pub fn bare_metal_host(index: u64, random: &mut Random) -> String {
    let name = node_name(index);
    let mut text = head(
        "metal3.io/v1alpha1",
        "BareMetalHost",
        Some("openshift-machine-api"),
        &name,
        "",
        random,
    );
    let _ = write!(
        text,
        "spec:\n  automatedCleaningMode: metadata\n  bmc:\n    address: redfish-virtualmedia://10.1.0.{index}/redfish/v1/Systems/1\n    credentialsName: {name}-bmc-secret\n  bootMACAddress: 52:54:00:00:00:{index:02x}\n  bootMode: UEFI\n  consumerRef:\n    apiVersion: machine.openshift.io/v1beta1\n    kind: Machine\n    name: ocp-{name}\n    namespace: openshift-machine-api\n  externallyProvisioned: {}\n  online: true\nstatus:\n  errorCount: 0\n  errorMessage: \"\"\n  hardware:\n    cpu:\n      arch: x86_64\n      count: 64\n    hostname: {name}\n    nics:\n",
        index < 3,
    );
    for nic in 0..6 {
        let _ = write!(
            text,
            "    - ip: {}\n      mac: 52:54:00:00:{nic:02x}:{index:02x}\n      model: 0x15b3 0x1017\n      name: ens{nic}f0np0\n      speedGbps: 25\n",
            node_address(index),
        );
    }
    text.push_str("    ramMebibytes: 262144\n  lastUpdated: \"2026-03-10T13:41:00Z\"\n  operationalStatus: OK\n  poweredOn: true\n  provisioning:\n    ID: ");
    let state = if index < 3 { "externally provisioned" } else { "provisioned" };
    let _ = writeln!(text, "{}\n    bootMode: UEFI\n    state: {state}", random.uid());
    text
}

pub fn machine(index: u64, random: &mut Random) -> String {
    let node = node_name(index);
    let name = format!("ocp-{node}");
    let mut text = head(
        "machine.openshift.io/v1beta1",
        "Machine",
        Some("openshift-machine-api"),
        &name,
        "",
        random,
    );
    let _ = write!(
        text,
        "spec:\n  providerID: baremetalhost:///openshift-machine-api/{node}/{}\nstatus:\n  addresses:\n  - address: {}\n    type: InternalIP\n  nodeRef:\n    kind: Node\n    name: {node}\n  phase: Running\n",
        random.uid(),
        node_address(index),
    );
    text
}

pub fn pod(
    namespace: &str,
    name: &str,
    node: &str,
    containers: &[&str],
    random: &mut Random,
) -> String {
    let extra = "  labels:\n    app: server\n    pod-template-hash: 5d4f8b7c9\n  ownerReferences:\n  - apiVersion: apps/v1\n    controller: true\n    kind: ReplicaSet\n    name: server-5d4f8b7c9\n    uid: 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\n";
    let mut text = head("v1", "Pod", Some(namespace), name, extra, random);
    text.push_str("spec:\n  containers:\n");
    for container in containers {
        let _ = write!(
            text,
            "  - args:\n    - --config=/var/run/configmaps/config/config.yaml\n    - -v=2\n    env:\n"
        );
        for index in 0..12 {
            let _ = write!(
                text,
                "    - name: IMAGE_{index}\n      value: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}\n",
                random.hex(64)
            );
        }
        let _ = write!(
            text,
            "    image: quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}\n    imagePullPolicy: IfNotPresent\n    name: {container}\n    resources:\n      requests:\n        cpu: 10m\n        memory: 50Mi\n    terminationMessagePolicy: FallbackToLogsOnError\n",
            random.hex(64),
        );
    }
    let _ = write!(
        text,
        "  nodeName: {node}\n  priorityClassName: system-cluster-critical\n  tolerations:\n  - effect: NoSchedule\n    key: node-role.kubernetes.io/master\n    operator: Exists\nstatus:\n  conditions:\n"
    );
    for kind in ["Initialized", "Ready", "ContainersReady", "PodScheduled"] {
        let _ = write!(
            text,
            "  - lastProbeTime: null\n    lastTransitionTime: \"2026-03-01T10:41:07Z\"\n    status: \"True\"\n    type: {kind}\n"
        );
    }
    text.push_str("  containerStatuses:\n");
    for container in containers {
        let _ = write!(
            text,
            "  - containerID: cri-o://{}\n    lastState: {{}}\n    name: {container}\n    ready: true\n    restartCount: 0\n    started: true\n    state:\n      running:\n        startedAt: \"2026-03-01T10:40:59Z\"\n",
            random.hex(64),
        );
    }
    text.push_str("  hostIP: 10.0.0.20\n  phase: Running\n  podIP: 10.128.2.17\n  qosClass: Burstable\n  startTime: \"2026-03-01T10:40:41Z\"\n");
    text
}

pub fn event(namespace: &str, random: &mut Random) -> String {
    let name = format!("server-{}.{}", random.hex(5), random.hex(16));
    let mut text = head("v1", "Event", Some(namespace), &name, "", random);
    let reason = random.pick(&["Pulled", "Created", "Started", "Scheduled", "LeaderElection"]);
    let _ = write!(
        text,
        "count: {}\neventTime: null\nfirstTimestamp: \"2026-03-10T11:12:13Z\"\ninvolvedObject:\n  apiVersion: v1\n  kind: Pod\n  name: server-{}\n  namespace: {namespace}\nlastTimestamp: \"2026-03-10T12:13:14Z\"\nmessage: Container image \"quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{}\" already present on machine\nreason: {reason}\nreportingComponent: kubelet\nsource:\n  component: kubelet\ntype: Normal\n",
        1 + random.below(9),
        random.hex(5),
        random.hex(64),
    );
    text
}

/// An object of which only the size matters: nothing in a diagnosis reads its body.
pub fn filler(
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
    lines: u64,
    random: &mut Random,
) -> String {
    let mut text = head(api_version, kind, namespace, name, "", random);
    text.push_str("data:\n  config.yaml: |\n");
    for index in 0..lines {
        let _ = writeln!(
            text,
            "    setting-{index}: {} # kept for release {}, see the notes of the operator",
            random.hex(12),
            random.below(40),
        );
    }
    text
}

/// What no healthy cluster lacks in this namespace.
pub fn essential(namespace: &str, kind: &str, random: &mut Random) -> Option<String> {
    let (name, body) = match (namespace, kind) {
        ("openshift-etcd", "ConfigMap") => (
            "etcd-endpoints",
            "data:\n  1f0c7e5a9b3d2c41: 10.0.0.10\n  5b8e2d7c6a4f1e93: 10.0.0.11\n  9d3a6f1b8c2e7054: 10.0.0.12\n",
        ),
        ("openshift-machine-config-operator", "Secret") => (
            "machine-config-server-tls",
            "data:\n  tls.key: MTY3NSBieXRlcyBsb25n\ntype: kubernetes.io/tls\n",
        ),
        _ => return None,
    };
    Some(head("v1", kind, Some(namespace), name, "", random) + body)
}

/// Objects in the list form of `oc adm inspect`.
pub fn list(kind: &str, items: &[String]) -> String {
    if items.is_empty() {
        return format!(
            "---\napiVersion: v1\nitems: []\nkind: {kind}List\nmetadata:\n  resourceVersion: \"19000000\"\n"
        );
    }
    let mut text = String::from("---\napiVersion: v1\nitems:\n");
    for item in items {
        for (index, line) in item.lines().enumerate() {
            text.push_str(if index == 0 { "- " } else { "  " });
            text.push_str(line);
            text.push('\n');
        }
    }
    let _ = write!(text, "kind: {kind}List\nmetadata:\n  resourceVersion: \"19000000\"\n");
    text
}
