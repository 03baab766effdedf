//! Machines from the inside: what a node has on its disks, and what commands on it said.
//!
//! Sources keep of these files only what holds no credential. That something is not there is told
//! only of folders that were seen as a whole.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plimsoll_model::snapshot::{GapStatus, Machine};
use plimsoll_model::{Entity, EntityId, Evidence, FactBase, Snapshot, Value, clip};
use plimsoll_yaml::{Limits, Node, parse};
use serde_json::Value as Json;

use super::certificates::{Certificate, first_certificate};
use super::logs;

const CERTIFICATES: &str = "var/lib/kubelet/pki/kubelet-client-";
const KUBELET: &str = "var/lib/kubelet/";
const KUBECONFIG: &str = "var/lib/kubelet/kubeconfig";
const BOOTSTRAP: &str = "etc/kubernetes/kubeconfig";
const URL_ENV: &str = "etc/kubernetes/apiserver-url.env";
const MANIFESTS: &str = "etc/kubernetes/manifests/";
const CNI: &str = "etc/kubernetes/cni/net.d/";
const CURRENT: &str = "etc/machine-config-daemon/currentconfig";
const CONTAINERS: &str = "commands/crictl_ps";
const RESOLV: &str = "etc/resolv.conf";
const IGNITION: &str = "etc/.ignition-result.json";
const ADDRESSES: &str = "commands/ip_addr";
/// Of both families: one without a default route in the other is well.
const ROUTES: [&str; 2] = ["commands/ip_route", "commands/ip6_route"];
const SERVED: &str = "mcs-machine-config-content.json";

/// What is asked of sources.
pub const FILES: [&str; 20] = [
    "var/lib/kubelet/pki/kubelet-client-*.pem",
    KUBECONFIG,
    BOOTSTRAP,
    URL_ENV,
    "etc/kubernetes/manifests/*",
    "etc/kubernetes/cni/net.d/*",
    CURRENT,
    "etc/mcs-machine-config-content.json",
    "machine_config_ondisk/*/mcs-machine-config-content.json",
    "sos_commands/filesys/df_-al*",
    "agent-gather/df",
    "sos_commands/chrony/chronyc_tracking",
    "commands/df",
    "commands/chronyc_tracking",
    CONTAINERS,
    RESOLV,
    IGNITION,
    ADDRESSES,
    ROUTES[0],
    ROUTES[1],
];

/// The files of one machine, by path below its folder.
struct Root<'s> {
    source: usize,
    source_name: &'s str,
    folder: &'s str,
    files: BTreeMap<&'s str, &'s [u8]>,
    seen: &'s BTreeSet<String>,
}

/// Static pods of which it is known which container they run. Of another manifest, nobody here can say
/// which container is its own: criometricsproxy.yaml runs `kube-rbac-proxy-crio`.
const STATIC_PODS: [(&str, &str); 7] = [
    ("etcd-pod.yaml", "etcd"),
    ("kube-apiserver-pod.yaml", "kube-apiserver"),
    ("kube-controller-manager-pod.yaml", "kube-controller-manager"),
    ("kube-scheduler-pod.yaml", "kube-scheduler"),
    ("coredns.yaml", "coredns"),
    ("haproxy.yaml", "haproxy"),
    ("keepalived.yaml", "keepalived"),
];

pub fn extract(snapshot: &Snapshot, base: &mut FactBase) {
    let mut found: BTreeMap<EntityId, Entity> = BTreeMap::new();
    // What was read later takes the place of what was read before.
    for source in snapshot.newest_first().into_iter().rev() {
        let of_source = (source, String::new())..(source + 1, String::new());
        for ((_, folder), machine) in snapshot.machines.range(of_source) {
            if let Some((id, entity)) = machine_of(snapshot, (source, folder), machine, base) {
                renew(found.entry(id).or_default(), entity);
            }
        }
    }
    found.into_iter().for_each(|(id, entity)| super::merge(base, id, entity));
}

/// Each fact as a whole: half of what was and half of what is would be true at no time.
fn renew(known: &mut Entity, newer: Entity) {
    for fact in newer.facts.keys() {
        let part = format!("{fact}.");
        known.provenance.retain(|of, _| of != fact && !of.starts_with(&part));
    }
    known.facts.extend(newer.facts);
    known.provenance.extend(newer.provenance);
}

fn machine_of(
    snapshot: &Snapshot,
    (source, folder): (usize, &str),
    machine: &Machine,
    base: &FactBase,
) -> Option<(EntityId, Entity)> {
    let root = Root::new(snapshot, source, folder, machine);
    let mut entity = Entity::default();
    let certificate = root.certificate();
    root.kubelet(snapshot, certificate.as_ref(), &mut entity);
    root.folders(snapshot, &mut entity);
    root.configs(&mut entity);
    root.commands(&mut entity);
    root.manifests_down(&mut entity);
    root.network(&mut entity);
    root.ignition(&mut entity);
    if entity.facts.is_empty() {
        return None;
    }
    // The certificate has the name by which the API knows the node.
    let certified = certificate.as_ref().and_then(|(_, certificate)| {
        certificate.common_name.as_deref()?.strip_prefix("system:node:")
    });
    let id = match (certified, &machine.name) {
        (Some(name), _) => EntityId::cluster_scoped("Node", name),
        (None, Some(name)) => logs::machine(base, "Node", name),
        (None, None) => return None,
    };
    Some((id, entity))
}

impl<'s> Root<'s> {
    fn new(snapshot: &'s Snapshot, source: usize, folder: &'s str, machine: &'s Machine) -> Self {
        let below = |path: &'s str| match folder {
            "" => Some(path),
            _ => path.strip_prefix(folder)?.strip_prefix('/'),
        };
        let files = snapshot
            .files
            .iter()
            .filter(|((of, _), _)| *of == source)
            .filter_map(|((_, path), bytes)| Some((below(path)?, bytes.as_slice())))
            .collect();
        let source_name = snapshot.sources.get(source).map_or("", |source| &source.name);
        Self { source, source_name, folder, files, seen: &machine.seen }
    }

    fn at(&self, path: &str, line: Option<u64>, text: impl AsRef<str>) -> Evidence {
        let path = match self.folder {
            "" => path.to_string(),
            folder => format!("{folder}/{path}"),
        };
        Evidence {
            source: self.source_name.into(),
            path,
            line,
            pointer: None,
            time: None,
            text: clip(text.as_ref()),
        }
    }

    /// Whether what is not below `folder` is not on the machine either.
    fn is_whole(&self, snapshot: &Snapshot, folder: &str) -> bool {
        let shown = self.at(folder, None, "").path;
        let gaps = snapshot.sources.get(self.source).map(|s| s.gaps.as_slice()).unwrap_or_default();
        let hides = |what: &str| what == self.source_name || what.starts_with(&shown);
        self.seen.contains(folder)
            && !gaps.iter().any(|gap| gap.status != GapStatus::NotCollected && hides(&gap.what))
    }

    /// The kubelet's client certificate: the current one, else the newest.
    fn certificate(&self) -> Option<(&'s str, Certificate)> {
        let all = self.files.iter().filter(|(path, _)| path.starts_with(CERTIFICATES));
        let mut readable: Vec<(&str, Certificate)> =
            all.filter_map(|(path, pem)| Some((*path, first_certificate(pem)?))).collect();
        readable.sort_by_key(|(path, certificate)| {
            (path.ends_with("-current.pem"), certificate.not_before, *path)
        });
        readable.pop()
    }

    fn kubelet(
        &self,
        snapshot: &Snapshot,
        certificate: Option<&(&'s str, Certificate)>,
        entity: &mut Entity,
    ) {
        if let Some((path, certificate)) = certificate {
            let mut map = exists(true);
            map.insert("subject".into(), certificate.subject.as_str().into());
            map.insert("issuer".into(), certificate.issuer.as_str().into());
            if let (Some(from), Some(to)) = (certificate.not_before, certificate.not_after) {
                map.insert("notBefore".into(), from.into());
                map.insert("notAfter".into(), to.into());
            }
            entity.set("kubeletCert", Value::Map(map), self.at(path, Some(1), &certificate.text));
        } else if self.is_whole(snapshot, "var/lib/kubelet")
            && !self.files.keys().any(|path| path.starts_with(CERTIFICATES))
        {
            let at = self.at("var/lib/kubelet/pki", None, "there is no kubelet-client-*.pem");
            entity.set("kubeletCert", Value::Map(exists(false)), at);
        }
        for (fact, path) in [("bootstrapKubeconfig", BOOTSTRAP), ("apiserverUrlEnv", URL_ENV)] {
            let there = self.files.contains_key(path);
            if there || self.is_whole(snapshot, "etc/kubernetes") {
                let text = if there { "it is there" } else { "it is not there" };
                entity.set(fact, Value::Map(exists(there)), self.at(path, None, text));
            }
        }
        if let Some(user) = self.user(certificate.map(|(_, certificate)| certificate)) {
            let User { name, is_admin, line } = user;
            let group = if is_admin { ", of system:masters" } else { "" };
            let at = self.at(KUBECONFIG, Some(line), format!("speaks as {name}{group}"));
            entity.set("kubeletUser", name, at.clone());
            entity.set("kubeletIsAdmin", is_admin, at);
        }
    }

    /// Whom the kubelet's kubeconfig speaks as, and the line that says so.
    fn user(&self, certificate: Option<&Certificate>) -> Option<User> {
        let text = std::str::from_utf8(self.files.get(KUBECONFIG)?).ok()?;
        let config = parse(text, &Limits::USER_FILE).ok()?;
        let user = config.at(&["users"])?.items().first()?.at(&["user"])?;
        let line = |node: &Node| u64::from(node.line.max(1));
        let by = |certificate: &Certificate, node: &Node| {
            Some(User {
                name: certificate.common_name.clone()?,
                is_admin: certificate.organizations.iter().any(|one| one == "system:masters"),
                line: line(node),
            })
        };
        if let Some(node) = user.get("client-certificate") {
            let written = node.as_text()?;
            let path = match written.strip_prefix('/') {
                Some(path) => path.to_string(),
                None => format!("{KUBELET}{}", written.trim_start_matches("./")),
            };
            let named = self.files.get(path.as_str()).and_then(|pem| first_certificate(pem));
            // The file that is named is mostly a link to the newest one.
            let is_current = path.starts_with(CERTIFICATES);
            let own = named.as_ref().or(certificate.filter(|_| is_current))?;
            return by(own, node);
        }
        if let Some(node) = user.get("client-certificate-data") {
            let pem = STANDARD.decode(node.as_text()?).ok()?;
            return by(&first_certificate(&pem)?, node);
        }
        let token = ["token", "tokenFile"].iter().find_map(|key| user.get(key))?;
        Some(User { name: "token".into(), is_admin: false, line: line(token) })
    }

    fn folders(&self, snapshot: &Snapshot, entity: &mut Entity) {
        for (fact, folder) in [("manifests", MANIFESTS), ("cni", CNI)] {
            let names: Vec<&str> =
                self.files.keys().filter_map(|path| path.strip_prefix(folder)).collect();
            if !names.is_empty() || self.is_whole(snapshot, "etc/kubernetes") {
                let shown = if names.is_empty() { "no file".into() } else { names.join(", ") };
                let at = self.at(folder.trim_end_matches('/'), None, shown);
                entity.set(fact, names, at);
            }
        }
    }

    fn configs(&self, entity: &mut Entity) {
        let served = self.files.keys().find(|path| path.ends_with(SERVED)).copied();
        for (fact, path) in [("diskConfig", Some(CURRENT)), ("mcsContent", served)] {
            let json = path.and_then(|path| {
                let json: Json = serde_json::from_slice(self.files.get(path)?).ok()?;
                Some((path, json))
            });
            let named = json
                .as_ref()
                .and_then(|(path, json)| Some((*path, json.pointer("/metadata/name")?.as_str()?)));
            if let Some((path, name)) = named {
                let at = Evidence {
                    pointer: Some("/metadata/name".into()),
                    ..self.at(path, Some(1), format!("name: {name}"))
                };
                entity.set(fact, name, at);
            }
        }
    }

    fn commands(&self, entity: &mut Entity) {
        for (path, bytes) in &self.files {
            let text = String::from_utf8_lossy(bytes);
            if path.contains("filesys/df_-al") || *path == "df" || *path == "commands/df" {
                let disks = disks(&text);
                if let Some((line, fullest)) = fullest(&text) {
                    entity.set("disks", Value::List(disks), self.at(path, Some(line), fullest));
                }
            } else if path.ends_with("chronyc_tracking")
                && let Some((clock, line, shown)) = clock(&text)
            {
                entity.set("clock", Value::Map(clock), self.at(path, Some(line), shown));
            } else if *path == CONTAINERS
                && let Some(running) = running(bytes)
            {
                let shown = format!("running: {}", running.join(", "));
                entity.set("containers", running, self.at(path, None, shown));
            }
        }
    }

    fn network(&self, entity: &mut Entity) {
        if let Some(text) = self.files.get(RESOLV) {
            let servers = nameservers(&String::from_utf8_lossy(text));
            let shown = format!("nameservers: {}", servers.join(", "));
            entity.set("nameservers", servers, self.at(RESOLV, None, shown));
        }
        let routes = ROUTES.map(|path| default_routes(self.files.get(path)?));
        if let [Some(four), Some(six)] = routes {
            let devices = [four, six].concat();
            let shown = format!("default routes by: {}", devices.join(", "));
            entity.set("defaultRoutes", devices, self.at(ROUTES[0], None, shown));
        }
        if let Some(own) = self.files.get(ADDRESSES).and_then(|json| own_addresses(json)) {
            let shown = format!("addresses: {}", own.join(", "));
            entity.set("ownAddresses", own, self.at(ADDRESSES, None, shown));
        }
    }

    /// Whether Ignition found a config at the first boot.
    fn ignition(&self, entity: &mut Entity) {
        let result: Option<Json> =
            self.files.get(IGNITION).and_then(|json| serde_json::from_slice(json).ok());
        if let Some(given) = result.and_then(|json| json.get("userConfigProvided")?.as_bool()) {
            let at = Evidence {
                pointer: Some("/userConfigProvided".into()),
                ..self.at(IGNITION, None, format!("userConfigProvided: {given}"))
            };
            entity.set("ignitionConfigGiven", given, at);
        }
    }

    /// Manifests of which no container runs.
    fn manifests_down(&self, entity: &mut Entity) {
        let names = |fact: &str| -> Option<Vec<String>> {
            let Some(Value::List(all)) = entity.facts.get(fact) else { return None };
            Some(all.iter().filter_map(|one| one.text().map(str::to_string)).collect())
        };
        let Some((manifests, running)) = names("manifests").zip(names("containers")) else {
            return;
        };
        let known: Vec<(&str, &str)> = STATIC_PODS
            .into_iter()
            .filter(|(file, _)| manifests.iter().any(|m| m == file))
            .collect();
        if known.is_empty() && !manifests.is_empty() {
            return;
        }
        let is_down = |(_, container): &(&str, &str)| !running.iter().any(|name| name == container);
        let down: Vec<&str> = known.into_iter().filter(is_down).map(|(file, _)| file).collect();
        let shown = format!("of {} runs nothing", down.join(", "));
        entity.set("manifestsDown", down, self.at(CONTAINERS, None, shown));
    }
}

/// Names of the containers that run, as `crictl ps -a -o json` tells.
fn running(json: &[u8]) -> Option<Vec<String>> {
    let all: Json = serde_json::from_slice(json).ok()?;
    let running = all.get("containers")?.as_array()?.iter().filter_map(|container| {
        let runs = container["state"] == "CONTAINER_RUNNING";
        let name = container.pointer("/metadata/name")?.as_str()?;
        runs.then(|| clip(name))
    });
    let names: BTreeSet<String> = running.collect();
    Some(names.into_iter().collect())
}

fn nameservers(text: &str) -> Vec<String> {
    let server = |line: &str| {
        let mut words = line.split_whitespace();
        (words.next()? == "nameserver").then(|| words.next().map(clip))?
    };
    text.lines().filter_map(server).collect()
}

/// Devices of the default routes that `ip -j route` tells; nothing of what is no such answer.
fn default_routes(json: &[u8]) -> Option<Vec<String>> {
    let all: Vec<Json> = serde_json::from_slice(json).ok()?;
    let defaults = all.iter().filter(|route| route["dst"] == "default");
    Some(defaults.map(|route| clip(route["dev"].as_str().unwrap_or("several"))).collect())
}

/// Every address that `ip -j address` tells, but those of loopback.
fn own_addresses(json: &[u8]) -> Option<Vec<String>> {
    let links: Vec<Json> = serde_json::from_slice(json).ok()?;
    let infos = links.iter().filter_map(|link| link["addr_info"].as_array()).flatten();
    let shown = infos.filter(|info| info["scope"] != "host").filter_map(|info| {
        let local = info["local"].as_str()?;
        Some(clip(local))
    });
    Some(shown.collect())
}

fn exists(there: bool) -> BTreeMap<String, Value> {
    BTreeMap::from([("exists".to_string(), Value::Bool(there))])
}

/// Mount point and percentage of one line of `df`: file systems on devices, without those of pods.
fn disk(line: &str) -> Option<(&str, i64)> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [device, _, _, _, used, mount] = columns.as_slice() else { return None };
    let own = !["/var/lib/kubelet/pods", "/var/lib/containers", "/run/"]
        .iter()
        .any(|of_pods| mount.starts_with(of_pods));
    let used = used.strip_suffix('%')?.parse().ok()?;
    (device.starts_with("/dev/") && own).then_some((*mount, used))
}

fn disks(text: &str) -> Vec<Value> {
    let shown = |(mount, used): (&str, i64)| {
        Value::Map(BTreeMap::from([
            ("mount".to_string(), mount.into()),
            ("usedPercent".to_string(), used.into()),
        ]))
    };
    text.lines().filter_map(disk).map(shown).collect()
}

/// The line of the fullest disk.
fn fullest(text: &str) -> Option<(u64, &str)> {
    let disks = (1..).zip(text.lines()).filter_map(|(at, line)| Some((disk(line)?.1, at, line)));
    disks
        .max_by_key(|(used, at, _)| (*used, std::cmp::Reverse(*at)))
        .map(|(_, at, line)| (at, line))
}

/// What `chronyc tracking` says, with the line that says whether the clock follows anything.
fn clock(text: &str) -> Option<(BTreeMap<String, Value>, u64, &str)> {
    let field = |name: &str| {
        let mut lines = (1..).zip(text.lines());
        lines.find_map(|(at, line)| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then_some((at, line, value.trim()))
        })
    };
    let (at, line, leap) = field("Leap status")?;
    let mut clock =
        BTreeMap::from([("synchronised".to_string(), Value::Bool(leap != "Not synchronised"))]);
    // `0.000012 seconds fast of NTP time`
    if let Some((_, _, offset)) = field("System time") {
        let mut words = offset.split_whitespace();
        if let (Some(seconds), Some("seconds"), Some(direction)) =
            (words.next().and_then(|s| s.parse::<f64>().ok()), words.next(), words.next())
        {
            let signed = if direction == "slow" { -seconds } else { seconds };
            clock.insert("offset".into(), Value::Float(signed));
        }
    }
    Some((clock, at, line))
}

/// Whom a kubeconfig speaks as, and the line that says so.
struct User {
    name: String,
    /// One of system:masters, who may do everything.
    is_admin: bool,
    line: u64,
}

#[cfg(test)]
mod tests {
    use plimsoll_model::snapshot::SourceInfo;

    use super::*;

    /// The facts of master-0 by its files of yesterday and of today, in whatever order they were given.
    fn of_two_days(old: &[(&str, &str)], new: &[(&str, &str)]) -> Entity {
        let mut snapshot = Snapshot::default();
        let days = [("2025-12-03T18:40:00Z", new), ("2025-12-02T18:40:00Z", old)];
        for (source, (taken, files)) in days.into_iter().enumerate() {
            snapshot
                .sources
                .push(SourceInfo { taken: taken.parse().ok(), ..SourceInfo::default() });
            let machine = Machine { name: Some("master-0".into()), ..Machine::default() };
            snapshot.machines.insert((source, String::new()), machine);
            for (path, text) in files {
                snapshot.files.insert((source, (*path).into()), text.as_bytes().to_vec());
            }
        }
        let mut base = FactBase::default();
        extract(&snapshot, &mut base);
        base.entities.into_values().next().unwrap_or_default()
    }

    #[test]
    fn of_two_readings_the_newer_counts_whatever_was_given_first() {
        let unsynchronised =
            "System time : 9.0 seconds slow of NTP time\nLeap status : Not synchronised\n";
        let old =
            [(CONTAINERS, "{\"containers\": []}"), ("commands/chronyc_tracking", unsynchronised)];
        let new = [("commands/chronyc_tracking", "Leap status : Normal\n")];
        let node = of_two_days(&old, &new);
        let synchronised = BTreeMap::from([("synchronised".to_string(), Value::Bool(true))]);
        assert_eq!(node.facts["clock"], Value::Map(synchronised), "and no offset of yesterday");
        assert_eq!(node.provenance["clock"][0].text, "Leap status : Normal");
        assert!(node.facts.contains_key("containers"), "of which today nothing is told");
    }

    #[test]
    fn a_manifest_whose_container_is_not_known_is_not_judged() {
        let manifest = |name: &str| format!("{MANIFESTS}{name}");
        let (known, other) = (manifest("etcd-pod.yaml"), manifest("criometricsproxy.yaml"));
        let containers = |name: &str| {
            format!(
                r#"{{"containers": [{{"metadata": {{"name": "{name}"}}, "state": "CONTAINER_RUNNING"}}]}}"#
            )
        };
        let down = |files: &[&str], running: &str| {
            let containers = containers(running);
            let mut all: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
            all.push((CONTAINERS, &containers));
            of_two_days(&[], &all).facts.get("manifestsDown").cloned()
        };
        let none = Some(Value::List(Vec::new()));
        assert_eq!(down(&[&known, &other], "etcd"), none);
        assert_eq!(down(&[&known, &other], "x"), Some(vec!["etcd-pod.yaml"].into()));
        assert_eq!(down(&[&other], "kube-rbac-proxy-crio"), None);
        assert_eq!(down(&[], "x"), None, "of the folder nothing is told");
    }

    #[test]
    fn disks_are_read_as_df_prints_them() {
        let text = "Filesystem     1K-blocks     Used Available Use% Mounted on\ntmpfs 100 1 99 1% /run\n/dev/sda4      125293548 118000000 7293548 95% /sysroot\n/dev/sda4 125293548 118000000 7293548 95% /var\n/dev/sdb 1 1 1 99% /var/lib/kubelet/pods/x\n/dev/sda3 - - - - /boot\n";
        let mounts: Vec<_> = text.lines().filter_map(disk).collect();
        assert_eq!(mounts, [("/sysroot", 95), ("/var", 95)]);
        assert_eq!(fullest(text).unwrap().0, 3);
        assert_eq!(fullest("rubbish"), None);
    }

    #[test]
    fn the_network_is_read_as_its_tools_print_it() {
        let text = "# by NetworkManager\nsearch lab\nnameserver 192.0.2.5\nnameserver ::1\n#nameserver x\nnameserver\n";
        assert_eq!(nameservers(text), ["192.0.2.5", "::1"]);
        let routes = br#"[{"dst":"default","gateway":"192.0.2.1","dev":"br-ex"},{"dst":"192.0.2.0/24","dev":"br-ex"}]"#;
        assert_eq!(default_routes(routes), Some(vec!["br-ex".into()]));
        assert_eq!(default_routes(b"[]"), Some(Vec::new()));
        assert_eq!(default_routes(b""), None, "the command failed");
        let links = br#"[{"addr_info":[{"local":"127.0.0.1","scope":"host"}]},{},{"addr_info":[{"local":"192.0.2.20","scope":"global"}]}]"#;
        assert_eq!(own_addresses(links), Some(vec!["192.0.2.20".into()]));
        assert_eq!(own_addresses(b"{}"), None);
    }

    #[test]
    fn the_clock_is_read_as_chrony_prints_it() {
        let text = "Reference ID    : C0000201 (ntp.example.com)\nSystem time     : 0.000123 seconds slow of NTP time\nLeap status     : Normal\n";
        let (found, line, _) = clock(text).unwrap();
        assert_eq!(found["synchronised"], Value::Bool(true));
        assert_eq!((found["offset"].clone(), line), (Value::Float(-0.000_123), 3));
        let (lost, _, _) = clock("Leap status     : Not synchronised\n").unwrap();
        assert_eq!(lost["synchronised"], Value::Bool(false));
        assert!(clock("506 Cannot talk to daemon\n").is_none());
    }
}
