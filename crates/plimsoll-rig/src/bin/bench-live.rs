//! A large cluster on a real API server, read by `plimsoll diagnose` and by `kubectl get` of the same
//! kinds, in one run: requests, bytes, time, memory.
//!
//! `bench-live PLIMSOLL NODES PODS ROUNDS`, by `cargo xtask bench live`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, bail};
use plimsoll_rig::{ApiServer, Objects, VALID, definitions};
use serde_json::{Value, json};

const BYTES_BAR: f64 = 1.0;
const WALL_BAR: f64 = 1.2;
const MEMORY_BAR: f64 = 400.0;
/// By whose name requests are counted.
const USER: &str = "bench";

/// Kinds of which the cluster has many, as `kubectl` names them; the rest is asked for as well.
const KINDS: &str = "nodes,pods,events,endpoints,deployments.apps,daemonsets.apps,persistentvolumeclaims,certificatesigningrequests,clusteroperators.config.openshift.io,clusterversions.config.openshift.io,infrastructures.config.openshift.io,networks.config.openshift.io,machineconfigpools,machineconfigs,baremetalhosts,hardwaredata,hostfirmwarecomponents,hostfirmwaresettings,machines.machine.openshift.io,machinesets.machine.openshift.io,etcds,kubeapiservers,kubecontrollermanagers,kubeschedulers,authentications.operator.openshift.io,networks.operator.openshift.io,provisionings,apiservices,mutatingwebhookconfigurations,validatingwebhookconfigurations";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plimsoll, nodes, pods, rounds] = arguments.as_slice() else {
        bail!("bench-live PLIMSOLL NODES PODS ROUNDS");
    };
    let (nodes, pods, rounds) = (nodes.parse()?, pods.parse()?, rounds.parse()?);
    let folder = tempfile::TempDir::new()?;
    let mut server = ApiServer::start(folder.path())?;
    server.define(&definitions()?)?;
    let objects = large(nodes, pods)?;
    say(&format!("{nodes} nodes, {pods} pods, {} objects", objects.len()));
    server.load(objects)?;
    let audit = server.audited()?;
    let wire = Wire::start(server.port, audit)?;
    let admin = server.authority.sign((USER, &["system:masters"]), &[], VALID)?;
    let address = format!("https://127.0.0.1:{}", wire.port);
    let config = server.kubeconfig("wire", &address, &admin, &server.authority.pem)?;
    let config = config.display().to_string();
    let ours = [
        plimsoll,
        "diagnose",
        "--kubeconfig",
        &config,
        "--no-probe",
        "--quiet",
        "--output",
        "json",
    ];
    // What the server offers is asked for by both.
    let cache = folder.path().join("none").display().to_string();
    let theirs = [
        "kubectl",
        "--kubeconfig",
        &config,
        "--cache-dir",
        &cache,
        "get",
        KINDS,
        "--all-namespaces",
        "--output",
        "json",
    ];
    let mut rows = Vec::new();
    for (name, command, accepted) in
        [("plimsoll", &ours[..], &[0, 1, 3][..]), ("kubectl", &theirs[..], &[0][..])]
    {
        let mut best: Option<Cost> = None;
        for _ in 0..rounds {
            let _ = fs_err::remove_dir_all(&cache);
            let cost = wire.measure(folder.path(), command, accepted)?;
            best = Some(best.map_or(cost, |best| best.better(cost)));
        }
        rows.push((name, best.context("no round")?));
    }
    say("            wall s   CPU s  peak MiB     MiB received   requests   connections");
    for (name, cost) in &rows {
        say(&format!(
            "{name:10} {:8.1} {:7.1} {:9.0} {:16.1} {:10} {:13}",
            cost.wall,
            cost.cpu,
            cost.memory,
            cost.received as f64 / f64::from(1 << 20),
            cost.requests,
            cost.connections
        ));
    }
    let (ours, theirs) = (rows[0].1, rows[1].1);
    let bytes = ours.received as f64 / theirs.received as f64;
    let wall = ours.wall / theirs.wall;
    say(&format!(
        "bytes {bytes:.3}x of kubectl (bar {BYTES_BAR}), wall {wall:.2}x (bar {WALL_BAR}), peak {:.0} MiB (bar {MEMORY_BAR})",
        ours.memory
    ));
    if bytes > BYTES_BAR || wall > WALL_BAR || ours.memory > MEMORY_BAR {
        bail!("a bar is missed");
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a benchmark's answer")]
fn say(text: &str) {
    println!("{text}");
}

#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
    memory: f64,
    received: u64,
    requests: u64,
    connections: u64,
}

impl Cost {
    /// What else ran on the machine can only make a run slower; of a peak the worst counts.
    fn better(self, other: Self) -> Self {
        Self {
            wall: self.wall.min(other.wall),
            cpu: self.cpu.min(other.cpu),
            memory: self.memory.max(other.memory),
            received: self.received.max(other.received),
            requests: self.requests.max(other.requests),
            connections: self.connections.max(other.connections),
        }
    }
}

/// Counts what passes between a client and the API server.
struct Wire {
    port: u16,
    /// Where the API server writes down who asked for what.
    audit: PathBuf,
    received: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

impl Wire {
    fn start(target: u16, audit: PathBuf) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (received, connections) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (counted, opened) = (received.clone(), connections.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                opened.fetch_add(1, Ordering::Relaxed);
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                let (Ok(client_in), Ok(server_in)) = (client.try_clone(), server.try_clone())
                else {
                    continue;
                };
                let counted = counted.clone();
                std::thread::spawn(move || pass(server_in, client, Some(&counted)));
                std::thread::spawn(move || pass(client_in, server, None));
            }
        });
        Ok(Self { port, audit, received, connections })
    }

    fn requests(&self) -> Result<u64> {
        let own = format!("\"username\":\"{USER}\"");
        let lines = fs_err::read_to_string(&self.audit)?;
        Ok(lines.lines().filter(|line| line.contains(&own)).count() as u64)
    }

    fn measure(&self, folder: &Path, command: &[&str], accepted: &[i32]) -> Result<Cost> {
        self.received.store(0, Ordering::Relaxed);
        self.connections.store(0, Ordering::Relaxed);
        let before = self.requests()?;
        let report: PathBuf = folder.join("time");
        let status = Command::new("/usr/bin/time")
            .args(["--quiet", "-f", "%e %U %S %M", "-o"])
            .arg(&report)
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()?;
        if !status.code().is_some_and(|code| accepted.contains(&code)) {
            bail!("{} failed: {status}", command.join(" "));
        }
        let text = fs_err::read_to_string(report)?;
        let numbers: Vec<f64> =
            text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [wall, user, system, kibibytes] = numbers.as_slice() else {
            bail!("time wrote '{text}'")
        };
        Ok(Cost {
            wall: *wall,
            cpu: user + system,
            memory: kibibytes / 1024.0,
            received: self.received.load(Ordering::Relaxed),
            requests: self.requests()? - before,
            connections: self.connections.load(Ordering::Relaxed),
        })
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, counted: Option<&AtomicU64>) -> io::Result<()> {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let read = from.read(&mut chunk)?;
        if read == 0 {
            return to.shutdown(Shutdown::Write);
        }
        if let Some(counted) = counted {
            counted.fetch_add(read as u64, Ordering::Relaxed);
        }
        to.write_all(&chunk[..read])?;
    }
}

fn large(nodes: usize, pods: usize) -> Result<Objects> {
    let mut objects = Objects::default();
    for at in 0..nodes {
        objects.push("core", "nodes", node(at))?;
    }
    for at in 0..pods {
        objects.push("core", "pods", pod(at, at % nodes))?;
    }
    for at in 0..pods / 10 {
        objects.push("core", "events", event(at))?;
    }
    for at in 0..nodes {
        objects.push("metal3.io", "baremetalhosts", host(at))?;
    }
    for name in ["etcd", "kube-apiserver", "network", "ingress", "dns", "console"] {
        let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "lastTransitionTime": TIME});
        objects.push("config.openshift.io", "clusteroperators", json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
            "metadata": {"name": name, "uid": format!("co-{name}"), "creationTimestamp": TIME}, "spec": {},
            "status": {"conditions": [condition("Available", "True"), condition("Degraded", "False"), condition("Progressing", "False")]}
        }))?;
    }
    Ok(objects)
}

const TIME: &str = "2025-11-01T00:00:00Z";

fn metadata(name: &str, namespace: Option<&str>) -> Value {
    let mut metadata = json!({
        "name": name,
        "uid": format!("{:032x}", scattered(name)),
        "creationTimestamp": TIME,
        "labels": {"app": "shop", "team": "a-team-with-a-long-name", "pod-template-hash": "5d8f7c9b6"},
        "annotations": {"k8s.ovn.org/pod-networks": "{\"default\":{\"ip_addresses\":[\"10.128.2.17/23\"],\"mac_address\":\"0a:58:0a:80:02:11\",\"gateway_ips\":[\"10.128.2.1\"]}}"},
        // Half of what a list of a real cluster is made of.
        "managedFields": [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": TIME, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:lastTransitionTime": {}, "f:status": {}, "f:type": {}}}, "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}}}],
    });
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    metadata
}

/// As good as chance, and the same in every run: what real ids are for a packer.
fn scattered(text: &str) -> u128 {
    let mut state: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    for byte in text.bytes() {
        state = (state ^ u128::from(byte)).wrapping_mul(0xda94_2042_e4dd_58b5_0000_0001_0000_01b3);
        state ^= state >> 61;
    }
    state
}

fn node(at: usize) -> Value {
    let images: Vec<Value> = (0..50)
        .map(|image| json!({"names": [format!("quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:{:064x}", image * 7919 + at)], "sizeBytes": 300_000_000 + image}))
        .collect();
    let mut metadata = metadata(&format!("node-{at:04}"), None);
    if at < 3 {
        metadata["labels"]["node-role.kubernetes.io/master"] = "".into();
    }
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"providerID": format!("baremetalhost:///openshift-machine-api/node-{at}")},
        "status": {
            "addresses": [{"type": "InternalIP", "address": format!("10.{}.{}.{}", at / 62_500, at / 250 % 250, at % 250 + 1)}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status", "lastHeartbeatTime": TIME, "lastTransitionTime": TIME}],
            "images": images,
            "nodeInfo": {"kubeletVersion": "v1.31.4", "osImage": "Red Hat Enterprise Linux CoreOS 418.94"}
        }
    })
}

fn pod(at: usize, node: usize) -> Value {
    let namespace = format!("shop-{:03}", at % 200);
    let env: Vec<Value> = (0..20)
        .map(|variable| json!({"name": format!("SETTING_{variable}"), "value": format!("value-of-setting-{variable}-of-pod-{at}")}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata(&format!("shop-5d8f7c9b6-{at:05}"), Some(&namespace)),
        "spec": {
            "nodeName": format!("node-{node:04}"),
            "containers": [{"name": "shop", "image": "registry.example.com/shop:1", "env": env, "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            "volumes": [{"name": "data", "emptyDir": {}}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
        },
        "status": {
            "phase": "Running", "podIP": "10.128.2.17", "hostIP": "10.0.0.1", "startTime": TIME,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": TIME}, {"type": "PodScheduled", "status": "True", "lastTransitionTime": TIME}],
            "containerStatuses": [{"name": "shop", "ready": true, "restartCount": 0, "image": "registry.example.com/shop:1", "imageID": format!("registry.example.com/shop@sha256:{:032x}{:032x}", scattered(&at.to_string()), scattered(&format!("{at}-image"))),
                "containerID": format!("cri-o://{:032x}{:032x}", scattered(&format!("{at}-c")), scattered(&format!("{at}-d"))), "state": {"running": {"startedAt": TIME}}}]
        }
    })
}

fn event(at: usize) -> Value {
    let namespace = format!("shop-{:03}", at % 200);
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": metadata(&format!("shop-{at:05}.17f"), Some(&namespace)),
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": format!("shop-5d8f7c9b6-{at:05}")},
        "reason": "Pulled", "message": "Container image already present on machine", "type": "Normal",
        "firstTimestamp": TIME, "lastTimestamp": TIME, "count": 3, "source": {"component": "kubelet"}
    })
}

fn host(at: usize) -> Value {
    json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": metadata(&format!("node-{at:04}"), Some("openshift-machine-api")),
        "spec": {"online": true, "bmc": {"address": format!("redfish-virtualmedia://10.9.{}.{}/redfish/v1/Systems/1", at / 250, at % 250 + 1), "credentialsName": "bmc"}},
        "status": {"operationalStatus": "OK", "poweredOn": true, "errorMessage": "", "errorCount": 0, "provisioning": {"state": "provisioned"}}
    })
}
