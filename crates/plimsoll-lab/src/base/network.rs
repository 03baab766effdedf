//! Addresses: of machines, of the cluster's own networks, in one family or in both.

use std::collections::BTreeMap;

use super::BaseParams;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    V4,
    V6,
    /// Both, IPv4 first.
    Dual,
}

const V4_HOSTS: &str = "192.168.111.";
const V6_HOSTS: &str = "fd2e:6f44:5dd8:c956::";

/// An address as it stands in a URL.
pub(crate) fn bracketed(ip: &str) -> String {
    if ip.contains(':') { format!("[{ip}]") } else { ip.to_string() }
}

/// The machine's address in the other family.
fn other_family(ip: &str) -> String {
    match ip.rsplit_once('.') {
        Some((_, last)) => format!("{V6_HOSTS}{last}"),
        None => ip.to_string(),
    }
}

pub(super) fn addresses<'n>(
    nodes: impl Iterator<Item = &'n String>,
    stack: Stack,
) -> BTreeMap<String, String> {
    let head = if stack == Stack::V6 { V6_HOSTS } else { V4_HOSTS };
    nodes.zip(20..).map(|(node, host)| (node.clone(), format!("{head}{host}"))).collect()
}

impl BaseParams {
    /// Gives every machine and VIP an address of the stack.
    pub fn address(&mut self, stack: Stack) {
        let nodes: Vec<String> = self.masters.iter().chain(&self.workers).cloned().collect();
        self.node_ips = addresses(nodes.iter(), stack);
        self.stack = stack;
        let (head, network) = match stack {
            Stack::V6 => (V6_HOSTS, format!("{V6_HOSTS}/64")),
            Stack::V4 | Stack::Dual => (V4_HOSTS, format!("{V4_HOSTS}0/24")),
        };
        self.machine_network = network;
        self.api_vip = format!("{head}5");
        self.ingress_vip = format!("{head}4");
    }

    fn each(&self, ip: &str) -> Vec<String> {
        match self.stack {
            Stack::Dual => vec![ip.to_string(), other_family(ip)],
            _ => vec![ip.to_string()],
        }
    }

    /// The machine's addresses, the primary first.
    pub(super) fn ips(&self, node: &str) -> Vec<String> {
        self.each(self.ip(node))
    }

    pub(super) fn api_vips(&self) -> Vec<String> {
        self.each(&self.api_vip)
    }

    pub(super) fn ingress_vips(&self) -> Vec<String> {
        self.each(&self.ingress_vip)
    }

    pub(super) fn machine_networks(&self) -> Vec<String> {
        let mut networks = vec![self.machine_network.clone()];
        if self.stack == Stack::Dual {
            networks.push(format!("{V6_HOSTS}/64"));
        }
        networks
    }

    fn by_stack<T>(&self, v4: T, v6: T) -> Vec<T> {
        match self.stack {
            Stack::V4 => vec![v4],
            Stack::V6 => vec![v6],
            Stack::Dual => vec![v4, v6],
        }
    }

    /// Range of the pods and the prefix that each node gets of it.
    pub(super) fn cluster_networks(&self) -> Vec<(&'static str, u8)> {
        self.by_stack(("10.128.0.0/14", 23), ("fd01::/48", 64))
    }

    pub(super) fn service_networks(&self) -> Vec<&'static str> {
        self.by_stack("172.30.0.0/16", "fd02::/112")
    }

    pub(super) fn families(&self) -> Vec<&'static str> {
        self.by_stack("IPv4", "IPv6")
    }

    /// A service's address; 1 is the API's, 10 the DNS's.
    pub(super) fn service_ip(&self, number: u64) -> String {
        match self.stack {
            Stack::V6 => format!("fd02::{number:x}"),
            _ => format!("172.30.{}.{}", number / 256 % 256, number % 256),
        }
    }

    /// Pod subnets of the node with this number.
    pub(super) fn node_subnets(&self, number: usize) -> Vec<String> {
        let number = number + 128;
        self.by_stack(format!("10.{number}.0.0/23"), format!("fd01:0:0:{number:x}::/64"))
    }

    pub(super) fn pod_ips(&self, number: usize, host: u64) -> Vec<String> {
        let number = number + 128;
        self.by_stack(
            format!("10.{number}.{}.{}", host / 256, host % 256),
            format!("fd01:0:0:{number:x}::{host:x}"),
        )
    }

    /// Of the machine that brings up the first control plane.
    pub(crate) fn bootstrap_ip(&self) -> String {
        self.stranger(30)
    }

    /// An address of the machine network that belongs to no node.
    pub(super) fn stranger(&self, host: u8) -> String {
        let head = if self.stack == Stack::V6 { V6_HOSTS } else { V4_HOSTS };
        format!("{head}{host}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stack_gives_addresses_of_its_families() {
        let mut params = BaseParams::default();
        let before = params.clone();
        params.address(Stack::V4);
        assert_eq!(params, before);
        params.address(Stack::V6);
        assert_eq!(params.ip("master-1"), "fd2e:6f44:5dd8:c956::21");
        assert_eq!(params.machine_networks(), ["fd2e:6f44:5dd8:c956::/64"]);
        assert_eq!(params.service_ip(1), "fd02::1");
        assert_eq!(bracketed(&params.api_vip), "[fd2e:6f44:5dd8:c956::5]");
        params.address(Stack::Dual);
        assert_eq!(params.ips("worker-0"), ["192.168.111.23", "fd2e:6f44:5dd8:c956::23"]);
        assert_eq!(params.families(), ["IPv4", "IPv6"]);
        assert_eq!(params.api_vips().len(), 2);
    }
}
