//! The synthetic must-gather: 1 GiB is 16,000 files, of them 10,000 YAML files (61 MB) and 2,000 logs
//! that hold the rest. Other sizes are the same tree with fewer of everything.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;

use super::logs;
use super::objects;
use super::random::Random;

/// Raise it whenever the tree changes: older trees are made anew.
const RECIPE: &str = "plimsoll-bench-tree 3\n";
const SEED: u64 = 0x506c_696d_736f_6c6c;
const GIB: f64 = (1u64 << 30) as f64;
const IMAGE: &str = "quay-io-openshift-release-dev-ocp-v4-0-art-dev-sha256-1f2e3d4c5b6a";

pub struct Tree {
    pub folder: PathBuf,
    pub archive: PathBuf,
}

/// Makes the tree of `size` bytes below `home`, unless it is there.
pub fn make(home: &Path, size: u64) -> Result<Tree> {
    let tree = Tree {
        folder: home.join("must-gather.local.5512345678901234567"),
        archive: home.join("must-gather.tar.gz"),
    };
    let stamp = home.join("stamp");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == RECIPE) {
        return Ok(tree);
    }
    if tree.folder.exists() {
        fs::remove_dir_all(&tree.folder)?;
    }
    fs::create_dir_all(home)?;
    let mut writer = Writer { root: tree.folder.clone(), files: 0, bytes: 0 };
    write_tree(&mut writer, size)?;
    pack(&tree)?;
    let packed = fs::metadata(&tree.archive)?.len();
    println!(
        "made {} files, {} MiB, {} MiB as .tar.gz",
        writer.files,
        writer.bytes >> 20,
        packed >> 20
    );
    fs::write(&stamp, RECIPE)?;
    Ok(tree)
}

struct Writer {
    root: PathBuf,
    files: u64,
    bytes: u64,
}

impl Writer {
    fn file(&mut self, path: &str, text: &str) -> Result<()> {
        let path = self.root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)?;
        self.files += 1;
        self.bytes += text.len() as u64;
        Ok(())
    }

    fn gathered(&mut self, path: &str, text: &str) -> Result<()> {
        self.file(&format!("{IMAGE}/{path}"), text)
    }

    fn log(
        &mut self,
        path: &str,
        kind: &logs::Kind,
        bytes: u64,
        random: &mut Random,
    ) -> Result<()> {
        let path = self.root.join(IMAGE).join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut out = BufWriter::new(fs::File::create(path)?);
        self.bytes += logs::write(&mut out, kind, bytes, random)?;
        out.flush()?;
        self.files += 1;
        Ok(())
    }
}

fn write_tree(writer: &mut Writer, size: u64) -> Result<()> {
    let scaled = |at_one_gib: u64| ((at_one_gib as f64 * size as f64 / GIB) as u64).max(1);
    let mut random = Random::new(SEED);
    let nodes = scaled(60).max(8);
    let namespaces: Vec<String> = namespaces(scaled(64));
    let pods: Vec<Pod> = pods(scaled(1000), nodes, &namespaces, &mut random);
    write_top(writer)?;
    write_cluster(writer, nodes, &mut random)?;
    for namespace in &namespaces {
        let own: Vec<&Pod> = pods.iter().filter(|pod| pod.namespace == *namespace).collect();
        write_namespace(writer, namespace, &own, scaled(11_000) / scaled(64), &mut random)?;
    }
    for index in 0..scaled(120) {
        let name = format!("kind{index}.example.openshift.io");
        let api = "apiextensions.k8s.io/v1";
        let kind = "CustomResourceDefinition";
        let text = objects::filler(api, kind, None, &name, 700, &mut random);
        let path = format!(
            "cluster-scoped-resources/apiextensions.k8s.io/customresourcedefinitions/{name}.yaml"
        );
        writer.gathered(&path, &text)?;
    }
    write_small_objects(writer, scaled(8_100), &namespaces, &mut random)?;
    write_logs(writer, size, nodes, &pods, &mut random)
}

struct Pod {
    namespace: String,
    name: String,
    node: String,
}

const CONTAINERS: [&str; 2] = ["server", "kube-rbac-proxy"];

fn namespaces(count: u64) -> Vec<String> {
    let real = [
        "openshift-etcd",
        "openshift-kube-apiserver",
        "openshift-machine-api",
        "openshift-machine-config-operator",
        "openshift-ovn-kubernetes",
        "openshift-monitoring",
        "openshift-dns",
        "openshift-ingress",
        "openshift-authentication",
    ];
    let more = (0..).map(|index| format!("openshift-component-{index}"));
    real.iter().map(ToString::to_string).chain(more).take(count.max(4) as usize).collect()
}

fn pods(count: u64, nodes: u64, namespaces: &[String], random: &mut Random) -> Vec<Pod> {
    (0..count)
        .map(|index| Pod {
            namespace: namespaces[(index as usize) % namespaces.len()].clone(),
            name: format!("server-5d4f8b7c9-{}", random.hex(5)),
            node: objects::node_name(random.below(nodes)),
        })
        .collect()
}

fn write_top(writer: &mut Writer) -> Result<()> {
    let times = "2026-03-10 13:52:31.750000000 +0000 UTC m=+0.340000000\n2026-03-10 14:00:02.110000000 +0000 UTC m=+450.700000000\n";
    writer.file("timestamp", times)?;
    writer.file(
        "must-gather.logs",
        "[must-gather      ] OUT pod for plug-in image quay.io/openshift-release-dev created\n",
    )?;
    writer.gathered("timestamp", times)?;
    writer.gathered("version", "openshift/must-gather\n4.18.0-202505062142.p0\n")?;
    writer.gathered(
        "gather.logs",
        "2026-03-10T13:52:40Z [must-gather] Wrote inspect data to must-gather.\n",
    )
}

fn write_cluster(writer: &mut Writer, nodes: u64, random: &mut Random) -> Result<()> {
    const CONFIG: &str = "cluster-scoped-resources/config.openshift.io";
    const MACHINE_CONFIG: &str = "cluster-scoped-resources/machineconfiguration.openshift.io";
    const MACHINE_API: &str = "namespaces/openshift-machine-api";
    let version = objects::cluster_version(random);
    writer.gathered(&format!("{CONFIG}/clusterversions/version.yaml"), &document(&version))?;
    writer.gathered(
        &format!("{CONFIG}/clusterversions.yaml"),
        &objects::list("ClusterVersion", &[version]),
    )?;
    let infrastructure = objects::infrastructure(random);
    writer.gathered(
        &format!("{CONFIG}/infrastructures.yaml"),
        &objects::list("Infrastructure", &[infrastructure]),
    )?;
    let network = objects::network(random);
    writer.gathered(&format!("{CONFIG}/networks.yaml"), &objects::list("Network", &[network]))?;

    let mut operators = Vec::new();
    for name in objects::OPERATORS {
        let text = objects::cluster_operator(name, random);
        writer.gathered(&format!("{CONFIG}/clusteroperators/{name}.yaml"), &document(&text))?;
        operators.push(text);
    }
    writer.gathered(
        &format!("{CONFIG}/clusteroperators.yaml"),
        &objects::list("ClusterOperator", &operators),
    )?;

    for index in 0..nodes {
        let name = objects::node_name(index);
        let path = format!("cluster-scoped-resources/core/nodes/{name}.yaml");
        writer.gathered(&path, &document(&objects::node(index, random)))?;
        let host = objects::bare_metal_host(index, random);
        writer.gathered(
            &format!("{MACHINE_API}/metal3.io/baremetalhosts/{name}.yaml"),
            &document(&host),
        )?;
        let machine = objects::machine(index, random);
        let path = format!("{MACHINE_API}/machine.openshift.io/machines/ocp-{name}.yaml");
        writer.gathered(&path, &document(&machine))?;
    }
    for (role, machines) in [("master", 3), ("worker", nodes - 3)] {
        let text = objects::pool(role, machines, random);
        writer.gathered(
            &format!("{MACHINE_CONFIG}/machineconfigpools/{role}.yaml"),
            &document(&text),
        )?;
    }
    let parts = (0..24).map(|index| format!("{index:02}-worker-part"));
    for name in parts.chain(objects::rendered_names().map(ToString::to_string)) {
        let files = if name.starts_with("rendered") { 60 } else { 3 };
        let text = objects::machine_config(&name, files, random);
        writer
            .gathered(&format!("{MACHINE_CONFIG}/machineconfigs/{name}.yaml"), &document(&text))?;
    }
    Ok(())
}

fn document(text: &str) -> String {
    format!("---\n{text}")
}

fn write_namespace(
    writer: &mut Writer,
    namespace: &str,
    pods: &[&Pod],
    events: u64,
    random: &mut Random,
) -> Result<()> {
    let home = format!("namespaces/{namespace}");
    let own = objects::filler("v1", "Namespace", None, namespace, 2, random);
    writer.gathered(&format!("{home}/{namespace}.yaml"), &document(&own))?;
    let mut texts = Vec::new();
    for pod in pods {
        let text = objects::pod(namespace, &pod.name, &pod.node, &CONTAINERS, random);
        let path = format!("{home}/pods/{0}/{0}.yaml", pod.name);
        writer.gathered(&path, &document(&text))?;
        texts.push(text);
    }
    writer.gathered(&format!("{home}/core/pods.yaml"), &objects::list("Pod", &texts))?;
    let events: Vec<String> = (0..events).map(|_| objects::event(namespace, random)).collect();
    writer.gathered(&format!("{home}/core/events.yaml"), &objects::list("Event", &events))?;
    for (plural, kind, count, lines) in
        [("configmaps", "ConfigMap", 12, 100), ("secrets", "Secret", 16, 20)]
    {
        let mut texts: Vec<String> = (0..count)
            .map(|index| {
                let name = format!("{plural}-{index}");
                objects::filler("v1", kind, Some(namespace), &name, lines, random)
            })
            .collect();
        texts.extend(objects::essential(namespace, kind, random));
        writer.gathered(&format!("{home}/core/{plural}.yaml"), &objects::list(kind, &texts))?;
    }
    for (group, plural, kind) in [
        ("apps", "daemonsets", "DaemonSet"),
        ("apps", "statefulsets", "StatefulSet"),
        ("batch", "jobs", "Job"),
        ("batch", "cronjobs", "CronJob"),
        ("core", "persistentvolumeclaims", "PersistentVolumeClaim"),
        ("core", "replicationcontrollers", "ReplicationController"),
        ("route.openshift.io", "routes", "Route"),
    ] {
        writer.gathered(&format!("{home}/{group}/{plural}.yaml"), &objects::list(kind, &[]))?;
    }
    Ok(())
}

fn write_small_objects(
    writer: &mut Writer,
    count: u64,
    namespaces: &[String],
    random: &mut Random,
) -> Result<()> {
    const KINDS: [(&str, &str, &str, &str); 8] = [
        ("rbac.authorization.k8s.io", "v1", "roles", "Role"),
        ("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
        ("apps", "v1", "replicasets", "ReplicaSet"),
        ("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
        ("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
        ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
        ("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
        ("coordination.k8s.io", "v1", "leases", "Lease"),
    ];
    for index in 0..count {
        let (group, version, plural, kind) = KINDS[(index % 8) as usize];
        let namespace = &namespaces[random.below(namespaces.len() as u64) as usize];
        let name = format!("{plural}-{index}");
        let lines = 1 + random.below(14);
        let api = format!("{group}/{version}");
        let text = objects::filler(&api, kind, Some(namespace), &name, lines, random);
        writer.gathered(
            &format!("namespaces/{namespace}/{group}/{plural}/{name}.yaml"),
            &document(&text),
        )?;
    }
    Ok(())
}

/// Sizes are log-normal: half of the logs are small, a few hold most of the bytes.
fn write_logs(
    writer: &mut Writer,
    size: u64,
    nodes: u64,
    pods: &[Pod],
    random: &mut Random,
) -> Result<()> {
    let rest = size.saturating_sub(writer.bytes);
    let journals = rest / 20;
    let weights: Vec<f64> =
        (0..pods.len() * CONTAINERS.len()).map(|_| (random.normal() * 2.0).exp()).collect();
    let sum: f64 = weights.iter().sum();
    for (index, weight) in weights.iter().enumerate() {
        let pod = &pods[index / CONTAINERS.len()];
        let container = CONTAINERS[index % CONTAINERS.len()];
        let home =
            format!("namespaces/{}/pods/{}/{container}/{container}/logs", pod.namespace, pod.name);
        let bytes = ((rest - journals) as f64 * weight / sum) as u64;
        writer.log(&format!("{home}/current.log"), &logs::Kind::Container, bytes, random)?;
        writer.gathered(&format!("{home}/previous.log"), "")?;
        writer.gathered(&format!("{home}/previous.insecure.log"), "")?;
    }
    let hosts: Vec<String> = (0..nodes.min(3)).map(objects::node_name).collect();
    for (unit, share) in [("kubelet", 6), ("crio", 3), ("NetworkManager", 1)] {
        let kind = logs::Kind::Journal { unit, hosts: hosts.clone() };
        let path = format!("host_service_logs/masters/{unit}_service.log");
        writer.log(&path, &kind, journals * share / 10, random)?;
    }
    Ok(())
}

/// Sorted and without times, so that the same tree gives the same archive.
fn pack(tree: &Tree) -> Result<()> {
    let out = BufWriter::new(fs::File::create(&tree.archive)?);
    let mut builder = tar::Builder::new(GzEncoder::new(out, Compression::default()));
    builder.mode(tar::HeaderMode::Deterministic);
    let home = tree.folder.parent().unwrap_or(&tree.folder);
    for entry in walkdir::WalkDir::new(&tree.folder).sort_by_file_name() {
        let entry = entry?;
        let name = entry.path().strip_prefix(home)?;
        if entry.file_type().is_dir() {
            builder.append_dir(name, entry.path())?;
        } else {
            builder.append_path_with_name(entry.path(), name)?;
        }
    }
    builder.into_inner()?.finish()?.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_gives_the_same_archive_and_a_made_tree_is_kept() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = make(one.path(), 4 << 20).unwrap();
        let second = make(two.path(), 4 << 20).unwrap();
        assert_eq!(fs::read(&first.archive).unwrap(), fs::read(&second.archive).unwrap());
        let modified = fs::metadata(&first.archive).unwrap().modified().unwrap();
        make(one.path(), 4 << 20).unwrap();
        assert_eq!(fs::metadata(&first.archive).unwrap().modified().unwrap(), modified);
    }
}
