//! Which ports have to be open, on whom, for whom, and when. Ports that stay within one host or
//! within the pod network are not here: no firewall has to know them.

use serde::Serialize;

use crate::Probe;
use crate::target::Target;
use Party::{
    Bmc, Bootstrap, Compute, ControlPlane, Host, IngressVip, Node, Provisioner, Registry,
    Rendezvous, TimeServer, Workstation,
};
use Phase::{Install, Provisioning, Running};
use Protocol::{Tcp, Udp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Party {
    ApiVip,
    Bmc,
    Bootstrap,
    Compute,
    ControlPlane,
    /// A machine on its way to become a node.
    Host,
    IngressVip,
    /// Of either role.
    Node,
    /// Where Ironic runs: the bootstrap machine at first, one of the control plane later.
    Provisioner,
    Registry,
    /// The first host of an agent-based installation.
    Rendezvous,
    TimeServer,
    Workstation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The bootstrap machine serves the API.
    Bootstrap,
    /// The control plane serves it, and nodes still come in.
    Install,
    Running,
    /// Machines are inspected and written, at the installation or later.
    Provisioning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Port {
    pub to: Party,
    pub protocol: Protocol,
    pub first: u16,
    /// The same as the first for a single port.
    pub last: u16,
    pub from: &'static [Party],
    pub phases: &'static [Phase],
    pub what: &'static str,
    pub if_blocked: &'static str,
}

const ALWAYS: &[Phase] = &[Phase::Bootstrap, Install, Running];
const SERVING: &[Phase] = &[Install, Running];

const fn port(
    to: Party,
    (protocol, first, last): (Protocol, u16, u16),
    from: &'static [Party],
    phases: &'static [Phase],
    what: &'static str,
    if_blocked: &'static str,
) -> Port {
    Port { to, protocol, first, last, from, phases, what, if_blocked }
}

const fn tcp(port: u16) -> (Protocol, u16, u16) {
    (Tcp, port, port)
}

const fn udp(port: u16) -> (Protocol, u16, u16) {
    (Udp, port, port)
}

#[rustfmt::skip]
pub const MATRIX: &[Port] = &[
    port(Party::ApiVip, tcp(6443), &[Host, Node, Workstation], ALWAYS, "Kubernetes API", "no node joins and no client gets an answer"),
    port(Party::ApiVip, tcp(22623), &[Host], ALWAYS, "Machine Config Server", "Ignition on a new node asks for its config for ever"),
    port(Bootstrap, tcp(6443), &[Host, Workstation], &[Phase::Bootstrap], "Kubernetes API", "the control plane does not join"),
    port(Bootstrap, tcp(22623), &[Host], &[Phase::Bootstrap], "Machine Config Server", "the control plane gets no config"),
    port(ControlPlane, tcp(6443), &[Node, Workstation], SERVING, "Kubernetes API", "no node joins and no client gets an answer"),
    port(ControlPlane, tcp(22623), &[Host], SERVING, "Machine Config Server", "Ignition on a new node asks for its config for ever"),
    port(ControlPlane, tcp(2379), &[Bootstrap, ControlPlane], ALWAYS, "etcd, clients", "API servers lose their store"),
    port(ControlPlane, tcp(2380), &[Bootstrap, ControlPlane], ALWAYS, "etcd, peers", "etcd has no quorum"),
    port(Node, tcp(10250), &[ControlPlane], SERVING, "kubelet", "no logs, no exec, no metrics of its pods"),
    port(Node, (Tcp, 10251, 10259), &[Node], SERVING, "Kubernetes components", "metrics and health of the control plane are missing"),
    port(Node, (Tcp, 9000, 9999), &[Node], SERVING, "services of hosts, node exporter on 9100", "metrics of nodes and the network operator are missing"),
    port(Node, (Udp, 9000, 9999), &[Node], SERVING, "services of hosts", "services of hosts fail"),
    port(Node, udp(6081), &[Node], SERVING, "Geneve, the pod network", "pods of different nodes do not reach each other"),
    port(Node, udp(500), &[Node], SERVING, "IPsec, keys", "with IPsec, pods of different nodes do not reach each other"),
    port(Node, udp(4500), &[Node], SERVING, "IPsec behind NAT", "with IPsec, pods of different nodes do not reach each other"),
    port(Node, (Tcp, 30000, 32767), &[Node], SERVING, "node ports", "services of type NodePort are not reached"),
    port(Node, (Udp, 30000, 32767), &[Node], SERVING, "node ports", "services of type NodePort are not reached"),
    port(IngressVip, tcp(80), &[Node, Workstation], SERVING, "routes", "routes without TLS are not reached"),
    port(IngressVip, tcp(443), &[Node, Workstation], SERVING, "routes with TLS, console, sign-in", "authentication and console stay unavailable"),
    port(Compute, tcp(80), &[Node, Workstation], SERVING, "router", "routes without TLS are not reached"),
    port(Compute, tcp(443), &[Node, Workstation], SERVING, "router with TLS", "authentication and console stay unavailable"),
    port(Compute, tcp(1936), &[Node], SERVING, "health of the router", "a load balancer takes the router for dead"),
    port(TimeServer, udp(123), &[Bootstrap, Host, Node], ALWAYS, "NTP", "clocks drift until certificates seem invalid"),
    port(Registry, tcp(443), &[Bootstrap, Host, Node], ALWAYS, "images", "images are not pulled"),
    port(Rendezvous, tcp(8090), &[Host, Workstation], &[Phase::Bootstrap, Install], "assisted service", "hosts do not register"),
    port(Rendezvous, tcp(8888), &[Host], &[Phase::Bootstrap, Install], "image service", "hosts get no image"),
    port(Provisioner, tcp(6385), &[Host], &[Provisioning], "Ironic", "inspection and provisioning never end"),
    port(Provisioner, tcp(6180), &[Bmc], &[Provisioning], "virtual media", "the BMC does not get its image"),
    port(Provisioner, tcp(6183), &[Bmc], &[Provisioning], "virtual media with TLS", "the BMC does not get its image"),
    port(Provisioner, tcp(80), &[Host], &[Provisioning], "image to be written", "the image is not written"),
    port(Provisioner, udp(67), &[Host], &[Provisioning], "DHCP, with a provisioning network only", "machines do not boot from the network"),
    port(Provisioner, udp(69), &[Host], &[Provisioning], "TFTP, with a provisioning network only", "machines do not boot from the network"),
    port(Host, tcp(9999), &[Provisioner], &[Provisioning], "Ironic's agent", "provisioning never ends"),
    port(Bmc, tcp(443), &[Provisioner], &[Provisioning], "Redfish", "the machine is not registered and has no power control"),
    port(Bmc, udp(623), &[Provisioner], &[Provisioning], "IPMI, where Redfish is not used", "the machine is not registered and has no power control"),
];

impl Port {
    /// Nothing for a range, and for UDP, where silence means nothing.
    pub fn probe(&self, host: &str) -> Option<Probe> {
        let single = self.protocol == Tcp && self.first == self.last;
        single.then(|| Probe::Tcp(Target::new(host, self.first)))
    }
}

/// What has to be open on this party in this phase, in the order of the matrix.
pub fn ports(on: Party, phase: Phase) -> impl Iterator<Item = &'static Port> {
    let is_node = matches!(on, ControlPlane | Compute);
    MATRIX.iter().filter(move |port| {
        (port.to == on || (is_node && port.to == Node)) && port.phases.contains(&phase)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn singles(on: Party, phase: Phase) -> Vec<u16> {
        let target = |probe| match probe {
            Probe::Tcp(target) => target.port,
            _ => panic!(),
        };
        ports(on, phase).filter_map(|port| port.probe("192.0.2.5")).map(target).collect()
    }

    #[test]
    fn each_party_has_its_ports_in_each_phase() {
        assert_eq!(singles(ControlPlane, Running), [6443, 22623, 2379, 2380, 10250]);
        assert_eq!(singles(Compute, Running), [10250, 80, 443, 1936]);
        assert_eq!(singles(Bootstrap, Phase::Bootstrap), [6443, 22623]);
        assert!(singles(Bootstrap, Running).is_empty());
        assert_eq!(singles(Provisioner, Provisioning), [6385, 6180, 6183, 80]);
        assert_eq!(singles(Host, Provisioning), [9999]);
    }

    #[test]
    fn the_matrix_says_nothing_twice_and_asks_for_no_port_of_the_inside() {
        let mut seen = BTreeSet::new();
        for port in MATRIX {
            assert!(port.first <= port.last && !port.from.is_empty() && !port.phases.is_empty());
            assert!(seen.insert((port.to, port.protocol, port.first)), "{port:?}");
            assert!(!(port.first..=port.last).contains(&6388), "a proxy inside of the cluster");
        }
    }
}
