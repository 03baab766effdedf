//! Who is expected in a cluster, from everything that says so: Machines, BareMetalHosts, Nodes, and the
//! user's own list.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use plimsoll_model::Time;
use serde_json::Value;

use crate::expected::Expected;

/// A resource of the API that says who is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voucher {
    /// `core` for the core group, as gathers call it.
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    /// As it is told where it cannot be read.
    pub called: &'static str,
}

pub const NODES: Voucher =
    Voucher { group: "core", version: "v1", plural: "nodes", called: "Nodes" };

/// All that [`Inventory::add`] takes.
pub const VOUCHERS: [Voucher; 4] = [
    NODES,
    Voucher {
        group: "machine.openshift.io",
        version: "v1beta1",
        plural: "machines",
        called: "Machines",
    },
    Voucher {
        group: "metal3.io",
        version: "v1alpha1",
        plural: "baremetalhosts",
        called: "BareMetalHosts",
    },
    Voucher {
        group: "config.openshift.io",
        version: "v1",
        plural: "infrastructures",
        called: "Infrastructures",
    },
];

impl Voucher {
    /// Of its list, in all namespaces.
    pub fn path(&self) -> String {
        let Self { group, version, plural, .. } = self;
        match *group {
            "core" => format!("/api/{version}/{plural}"),
            group => format!("/apis/{group}/{version}/{plural}"),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Inventory {
    pub machines: Vec<Machine>,
    pub hosts: Vec<Host>,
    pub nodes: Vec<Node>,
    pub expected: Vec<Expected>,
    /// Addresses that the cluster moves around, which belong to no node.
    pub vips: Vec<IpAddr>,
    /// All Nodes were listed: one that is not among them does not exist.
    pub all_nodes: bool,
    /// What could not be read, and why: `Machines: …`.
    pub gaps: Vec<String>,
    /// The node that somebody is repairing: its Node exists and its kubelet asks like a new one.
    pub repairing: Option<String>,
    /// By node: the certificate that its kubelet serves today, where somebody asked for it.
    pub serving: BTreeMap<String, Serving>,
}

#[derive(Clone, Debug, Default)]
pub struct Serving {
    pub pem: String,
    /// Its chain ends at the authority of kubelets, for the address that was asked.
    pub trusted: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub name: String,
    pub created: Option<Time>,
    pub node: Option<String>,
    /// Of type InternalDNS.
    pub internal_names: Vec<String>,
    pub addresses: Addresses,
}

#[derive(Clone, Debug, Default)]
pub struct Host {
    pub name: String,
    /// As the inspection found it.
    pub hostname: Option<String>,
    pub provisioned: bool,
    /// When its last provisioning began and ended.
    pub provision: (Option<Time>, Option<Time>),
    /// Machine that uses it.
    pub consumer: Option<String>,
    pub addresses: Addresses,
}

#[derive(Clone, Debug, Default)]
pub struct Node {
    pub name: String,
    pub ready: bool,
    pub addresses: Addresses,
    /// Where its kubelet serves: first inner address, and port.
    pub kubelet: Option<(IpAddr, u16)>,
}

/// What something may be called. Names in lower case and without a dot at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    pub names: BTreeSet<String>,
    pub ips: BTreeSet<IpAddr>,
}

impl Addresses {
    pub fn add(&mut self, text: &str) {
        match text.parse::<IpAddr>() {
            Ok(address) => _ = self.ips.insert(address),
            Err(_) if text.is_empty() => {}
            Err(_) => _ = self.names.insert(plain(text)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.ips.is_empty()
    }

    pub fn extend(&mut self, other: &Addresses) {
        self.names.extend(other.names.iter().cloned());
        self.ips.extend(&other.ips);
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(&plain(name))
    }
}

pub fn plain(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

impl Inventory {
    /// Takes over an object of the API; one that says nothing of nodes is passed over.
    pub fn add(&mut self, group: &str, plural: &str, object: &Value) {
        match (group, plural) {
            ("machine.openshift.io", "machines") => self.machines.push(machine(object)),
            ("metal3.io", "baremetalhosts") => self.hosts.push(host(object)),
            ("core" | "", "nodes") => self.nodes.push(node(object)),
            ("config.openshift.io", "infrastructures") => self.vips.extend(vips(object)),
            _ => {}
        }
    }

    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    pub fn expected(&self, name: &str) -> Option<&Expected> {
        self.expected.iter().find(|expected| expected.name == name)
    }

    /// The Machine that has this name inside the cluster.
    pub fn machine_called(&self, name: &str) -> Option<&Machine> {
        let is_it = |known: &String| known.eq_ignore_ascii_case(name);
        self.machines.iter().find(|machine| machine.internal_names.iter().any(is_it))
    }

    pub fn machine_of_node(&self, name: &str) -> Option<&Machine> {
        self.machines.iter().find(|machine| machine.node.as_deref() == Some(name))
    }

    pub fn host_called(&self, name: &str) -> Option<&Host> {
        let is_it = |known: &String| plain(known) == plain(name);
        self.hosts.iter().find(|host| host.hostname.as_ref().is_some_and(is_it))
    }

    /// Addresses of a node by those who do not take its own word for it.
    pub fn vouched(&self, name: &str) -> (Addresses, Vec<String>) {
        let (mut addresses, mut by) = (Addresses::default(), Vec::new());
        let mut take = |found: &Addresses, who: String| {
            if !found.is_empty() {
                addresses.extend(found);
                by.push(who);
            }
        };
        if let Some(machine) = self.machine_of_node(name).or_else(|| self.machine_called(name)) {
            take(&machine.addresses, format!("Machine {}", machine.name));
        }
        if let Some(host) = self.host_called(name) {
            take(&host.addresses, format!("BareMetalHost {}", host.name));
        }
        if let Some(expected) = self.expected(name) {
            take(&expected.addresses, "the expected-nodes file".into());
        }
        (addresses, by)
    }

    /// Who else has this name or address.
    pub fn other_owner(&self, node: &str, name: Result<IpAddr, &str>) -> Option<String> {
        let has = |addresses: &Addresses| match name {
            Ok(address) => addresses.ips.contains(&address),
            Err(name) => addresses.has_name(name),
        };
        if let Ok(address) = name
            && self.vips.contains(&address)
        {
            return Some("a VIP of the cluster".into());
        }
        let other = |known: &str| plain(known) != plain(node);
        let nodes = self.nodes.iter().filter(|one| other(&one.name) && has(&one.addresses));
        if let Some(found) = nodes.into_iter().next() {
            return Some(format!("Node {}", found.name));
        }
        let is_this = |machine: &Machine| {
            machine.node.as_deref() == Some(node)
                || machine.internal_names.iter().any(|known| known.eq_ignore_ascii_case(node))
        };
        let machines = self.machines.iter().filter(|one| !is_this(one) && has(&one.addresses));
        if let Some(found) = machines.into_iter().next() {
            return Some(format!("Machine {}", found.name));
        }
        let mut expected = self.expected.iter();
        let found = expected.find(|one| other(&one.name) && has(&one.addresses))?;
        Some(format!("the expected node {}", found.name))
    }

    pub fn gap_of(&self, what: &str) -> Option<&String> {
        self.gaps.iter().find(|gap| gap.starts_with(what))
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

pub(super) fn time(value: &Value, pointer: &str) -> Option<Time> {
    text(value, pointer)?.parse().ok()
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn named(object: &Value) -> String {
    text(object, "/metadata/name").unwrap_or_default().into()
}

fn status_addresses(object: &Value) -> Addresses {
    let mut addresses = Addresses::default();
    for entry in list(object, "/status/addresses") {
        addresses.add(text(entry, "/address").unwrap_or_default());
    }
    addresses
}

fn machine(object: &Value) -> Machine {
    let internal =
        list(object, "/status/addresses").iter().filter(|one| one["type"] == "InternalDNS");
    let internal = internal.filter_map(|one| text(one, "/address"));
    Machine {
        name: named(object),
        created: time(object, "/metadata/creationTimestamp"),
        node: text(object, "/status/nodeRef/name").map(str::to_string),
        internal_names: internal.map(|name| name.trim_end_matches('.').to_string()).collect(),
        addresses: status_addresses(object),
    }
}

fn host(object: &Value) -> Host {
    let hostname = text(object, "/status/hardware/hostname").map(str::to_string);
    let mut addresses = Addresses::default();
    for nic in list(object, "/status/hardware/nics") {
        // Dual-stack inspection writes one entry an address; zones are of the link.
        let ip = text(nic, "/ip").unwrap_or_default();
        addresses.add(ip.split('%').next().unwrap_or_default());
    }
    if let (Some(hostname), false) = (&hostname, addresses.is_empty()) {
        addresses.add(hostname);
    }
    let provision = "/status/operationHistory/provision";
    let state = text(object, "/status/provisioning/state").unwrap_or_default();
    Host {
        name: named(object),
        hostname,
        provisioned: matches!(state, "provisioned" | "externally provisioned"),
        provision: (
            time(object, &format!("{provision}/start")),
            time(object, &format!("{provision}/end")),
        ),
        consumer: text(object, "/spec/consumerRef/name").map(str::to_string),
        addresses,
    }
}

fn node(object: &Value) -> Node {
    let ready = list(object, "/status/conditions")
        .iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let inner = list(object, "/status/addresses").iter().find(|one| one["type"] == "InternalIP");
    let inner = inner.and_then(|one| text(one, "/address")?.parse().ok());
    let port = object.pointer("/status/daemonEndpoints/kubeletEndpoint/Port");
    let port = port.and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
    let kubelet = inner.zip(port.filter(|port| *port > 0));
    Node { name: named(object), ready, addresses: status_addresses(object), kubelet }
}

fn vips(object: &Value) -> Vec<IpAddr> {
    let platform = "/status/platformStatus/baremetal";
    let lists = ["apiServerInternalIPs", "ingressIPs"].map(|key| format!("{platform}/{key}"));
    let all = lists.iter().flat_map(|pointer| list(object, pointer));
    all.filter_map(|address| address.as_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whoever_vouches_is_listed_and_taken_over() {
        let object = json!({"metadata": {"name": "a"}, "status": {"platformStatus": {
            "baremetal": {"apiServerInternalIPs": ["192.0.2.5"]}}}});
        for voucher in VOUCHERS {
            let mut inventory = Inventory::default();
            inventory.add(voucher.group, voucher.plural, &object);
            let Inventory { machines, hosts, nodes, vips, .. } = inventory;
            let taken = machines.len() + hosts.len() + nodes.len() + vips.len();
            assert_eq!(taken, 1, "{}", voucher.called);
        }
        assert_eq!(NODES.path(), "/api/v1/nodes");
        assert_eq!(VOUCHERS[1].path(), "/apis/machine.openshift.io/v1beta1/machines");
    }
}
