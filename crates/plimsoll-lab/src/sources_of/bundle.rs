//! What the installer leaves behind when an installation fails: `gather bootstrap`, `agent-gather`.
//!
//! Files and names follow `installer-gather.sh`, `bootstrap-cluster-gather.sh` and `agent-gather` of
//! openshift/installer.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Line, container_id, container_logs, journal, list, objects, pretty, text_of};
use crate::edit::{gather_time, klog_header};
use crate::tree::Tree;

/// (file in `resources/`, kind)
const RESOURCES: [(&str, &str); 14] = [
    ("apiservices", "APIService"),
    ("clusteroperators", "ClusterOperator"),
    ("clusterversion", "ClusterVersion"),
    ("configmaps", "ConfigMap"),
    ("csr", "CertificateSigningRequest"),
    ("events", "Event"),
    ("kubeapiserver", "KubeAPIServer"),
    ("kubecontrollermanager", "KubeControllerManager"),
    ("machineconfigpools", "MachineConfigPool"),
    ("machineconfigs", "MachineConfig"),
    ("machines", "Machine"),
    ("namespaces", "Namespace"),
    ("nodes", "Node"),
    ("pods", "Pod"),
];

/// What the bootstrap machine says when all goes well: unit, program, minutes before the end, text.
const BOOTSTRAP: [(&str, &str, i64, &str); 11] = [
    (
        "release-image",
        "release-image-download.sh[1432]",
        19,
        "Pulling quay.io/openshift-release-dev/ocp-release...",
    ),
    ("crio", "crio[2011]", 18, "level=info msg=\"Starting CRI-O\""),
    (
        "kubelet",
        "kubelet.sh[2103]",
        18,
        "I1203 18:24:00.000000    2103 server.go:491] \"Kubelet version\" kubeletVersion=\"v1.31.8\"",
    ),
    ("bootkube", "bootkube.sh[2200]", 17, "Rendering Cluster Version Operator Manifests..."),
    ("bootkube", "bootkube.sh[2200]", 16, "Rendering CEO Manifests..."),
    ("bootkube", "bootkube.sh[2200]", 15, "Rendering MCO manifests..."),
    ("bootkube", "bootkube.sh[2200]", 13, "Starting cluster-bootstrap..."),
    (
        "approve-csr",
        "approve-csr.sh[2188]",
        10,
        "Approving all CSR requests until bootstrapping is complete...",
    ),
    ("bootkube", "bootkube.sh[2200]", 4, "Waiting for CEO to finish..."),
    ("bootkube", "bootkube.sh[2200]", 2, "bootkube.service complete"),
    ("systemd", "systemd[1]", 1, "bootkube.service: Deactivated successfully."),
];

/// What the rendezvous host says, in the words of its scripts: unit, program, minutes, text.
const AGENT: [(&str, &str, i64, &str); 5] = [
    ("node-zero", "set-node-zero.sh[1540]", 20, "Node 0 IP 192.168.111.20 found on this host"),
    ("node-zero", "set-node-zero.sh[1540]", 20, "Created file /etc/assisted/node0"),
    ("agent", "start-agent.sh[2950]", 19, "Waiting for infra-env-id to be available"),
    ("agent", "start-agent.sh[2950]", 19, "Querying assisted-service for infra-env-id..."),
    ("assisted-service-db", "podman[2880]", 19, "database system is ready to accept connections"),
];

/// `openshift-install gather bootstrap`, below its folder `log-bundle-<time>`.
pub fn log_bundle(gather: &Tree) -> Tree {
    let now = gather_time(gather).unwrap_or(Timestamp::UNIX_EPOCH);
    let root = format!("log-bundle-{}", now.strftime("%Y%m%d%H%M%S"));
    let mut bundle = Tree::new();
    let mut put =
        |path: String, bytes: Vec<u8>| drop(bundle.insert(format!("{root}/{path}"), bytes));
    put("gather.log".into(), b"Gathering bootstrap service records ...\n".to_vec());
    let failed = "  UNIT LOAD ACTIVE SUB DESCRIPTION\n0 loaded units listed.\n";
    put("failed-units.txt".into(), failed.into());
    machine(&mut put, "bootstrap", "bootstrap", &bootstrap_lines(now));
    for (file, kind) in RESOURCES {
        put(format!("resources/{file}.json"), list(objects(gather, kind)));
    }
    let lines = journal(gather);
    for node in objects(gather, "Node").iter().filter(|node| is_master(node)) {
        let name = text_of(node, "/metadata/name");
        let folder = format!("control-plane/{}", internal_ip(node));
        let own: Vec<&Line> = lines.iter().filter(|line| line.host == name).collect();
        machine(&mut put, &folder, name, &own);
        for log in container_logs(gather, name) {
            let id = container_id(&format!("{name} {} {}", log.pod, log.container));
            let stem = format!("{folder}/containers/{}-{id}", log.container);
            let labels = json!({"io.kubernetes.container.name": log.container, "io.kubernetes.pod.name": log.pod, "io.kubernetes.pod.namespace": log.namespace});
            put(
                format!("{stem}.inspect"),
                pretty(&json!({"status": {"id": id, "labels": labels}})),
            );
            put(format!("{stem}.log"), without_times(log.text));
        }
    }
    bundle
}

/// `agent-gather` on one of the hosts, below its folder `agent-gather`.
pub fn agent_gather(gather: &Tree, node: &str) -> Tree {
    let now = gather_time(gather).unwrap_or(Timestamp::UNIX_EPOCH);
    let own = journal(gather).into_iter().filter(|line| line.host == node);
    let mut lines: Vec<Line> = own.chain(lines_before(now, node, &AGENT)).collect();
    lines.sort_by_key(|line| line.time);
    let export: Vec<u8> = lines.iter().flat_map(export_entry).collect();
    let files = [
        ("journal.export", export),
        ("df", b"Filesystem      Size  Used Avail Use% Mounted on\n/dev/loop0      1.0G  1.0G     0 100% /run/media/iso\n/dev/sda4       120G   14G  106G  12% /var\n".to_vec()),
        ("container-status", b"CONTAINER ID  IMAGE  COMMAND  CREATED  STATUS  PORTS  NAMES\n".to_vec()),
        ("etc/containers/registries.conf", b"".to_vec()),
    ];
    files.into_iter().map(|(path, bytes)| (format!("agent-gather/{path}"), bytes)).collect()
}

fn bootstrap_lines(now: Timestamp) -> Vec<Line> {
    lines_before(now, "localhost", &BOOTSTRAP).collect()
}

fn lines_before<'l>(
    now: Timestamp,
    host: &'l str,
    lines: &'l [(&'l str, &'l str, i64, &'l str)],
) -> impl Iterator<Item = Line> + 'l {
    lines.iter().map(move |(unit, writer, minutes, text)| Line {
        time: now.checked_sub(SignedDuration::from_mins(*minutes)).unwrap_or(now),
        host: host.into(),
        unit: (*unit).into(),
        writer: (*writer).into(),
        text: (*text).into(),
    })
}

/// Journals of one machine, each unit alone and all together.
fn machine<L: std::borrow::Borrow<Line>>(
    put: &mut impl FnMut(String, Vec<u8>),
    folder: &str,
    host: &str,
    lines: &[L],
) {
    put(format!("{folder}/network/hostname.txt"), format!("{host}\n").into_bytes());
    let mut units: BTreeMap<&str, String> = BTreeMap::new();
    let mut whole = GzEncoder::new(Vec::new(), Compression::fast());
    for line in lines {
        let line = line.borrow();
        *units.entry(&line.unit).or_default() += &line.short();
        // Writing into memory does not fail.
        let _ = whole.write_all(line.with_unit().as_bytes());
    }
    for (unit, text) in units.into_iter().filter(|(unit, _)| *unit != "systemd") {
        put(format!("{folder}/journals/{unit}.log"), text.into_bytes());
    }
    put(format!("{folder}/journals/sssd.log"), b"-- No entries --\n".to_vec());
    put(format!("{folder}/journals/journal.log.gz"), whole.finish().unwrap_or_default());
}

fn is_master(node: &Value) -> bool {
    node.pointer("/metadata/labels/node-role.kubernetes.io~1master").is_some()
}

fn internal_ip(node: &Value) -> String {
    let addresses = node.pointer("/status/addresses").and_then(Value::as_array);
    let internal = addresses.into_iter().flatten().find(|a| a["type"] == "InternalIP");
    internal.map(|a| text_of(a, "/address").to_string()).unwrap_or_default()
}

/// `crictl logs` gives what the container wrote, without the kubelet's time before each line. Every
/// component writes a time of its own; lines of the lab that lack it get one.
fn without_times(log: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(log);
    let bare = |line: &str| {
        let Some((stamp, rest)) = line.split_once(' ') else { return "\n".to_string() };
        let is_klog = rest.starts_with(['I', 'W', 'E', 'F'])
            && rest.as_bytes().get(1..5).is_some_and(|day| day.iter().all(u8::is_ascii_digit));
        let has_time = is_klog || rest.starts_with(|c: char| c.is_ascii_digit() || c == '{');
        let header = match stamp.parse() {
            Ok(time) if !has_time => klog_header('I', time, 1),
            _ => String::new(),
        };
        format!("{header}{rest}\n")
    };
    text.lines().map(bare).collect::<String>().into_bytes()
}

/// One entry of `journalctl -o export`.
fn export_entry(line: &Line) -> Vec<u8> {
    let (program, process) = line.writer.split_once('[').unwrap_or((&line.writer, "1]"));
    format!(
        "__CURSOR=s=0;i=0\n__REALTIME_TIMESTAMP={}\n_HOSTNAME={}\n_SYSTEMD_UNIT={}.service\nSYSLOG_IDENTIFIER={program}\n_PID={}\nPRIORITY=6\nMESSAGE={}\n\n",
        line.time.as_microsecond(),
        line.host,
        line.unit,
        process.trim_end_matches(']'),
        line.text
    )
    .into_bytes()
}
