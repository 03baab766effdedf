//! The plan itself: from what is known of a cluster to what is asked of it.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_model::Time;
use plimsoll_probe::{
    Bundle, DnsProbe, Headers, HttpProbe, IGNITION, NeighbourProbe, Node, Party, Phase, Plan,
    Probe, Question, Resolver, Target, TlsProbe, TlsTriesProbe, cluster_names, ports,
};

use super::{AT_ONCE, NodeAt, Outside, ntp};

const API: u16 = 6443;
const MACHINE_CONFIG: u16 = 22623;
const INGRESS: u16 = 443;
const KUBELET: u16 = 10250;
const SSH: u16 = 22;
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(300);
/// A route that every cluster has.
const A_ROUTE: &str = "console-openshift-console";

/// Whose clients come to a door: a certificate is held only against what they trust.
#[derive(Clone, Copy)]
enum Door {
    Api,
    MachineConfigs,
    Ingress,
}

impl Door {
    fn is_for(self, bundle: &str) -> bool {
        match self {
            Door::Api => bundle == "kubeconfig",
            Door::MachineConfigs => {
                ["root-ca", "machine-config-server-ca"].contains(&bundle)
                    || bundle.starts_with("user-data/")
            }
            Door::Ingress => ["ingress-ca", "kubeconfig"].contains(&bundle),
        }
    }
}

impl Outside {
    /// `on_link`: addresses that are reached without a router.
    pub fn plan(&self, now: Time, on_link: &BTreeSet<IpAddr>) -> Plan {
        let internal = self.domain.as_ref().map(|domain| format!("api-int.{domain}"));
        // A name that nobody has asked for before, so that no cache answers.
        let label = format!("plimsoll-{:x}", now.as_second());
        let mut probes = self.of_the_api(internal.as_deref());
        probes.extend(self.of_machine_configs(internal.as_deref()));
        probes.extend(self.of_ingress(&label));
        for node in self.chosen() {
            probes.extend(self.of_a_node(node, on_link));
        }
        probes.extend(self.of_names(&label));
        probes.extend(self.time_servers.iter().map(|server| ntp(server)));
        without_repeats(&mut probes);
        Plan { probes, at_once: AT_ONCE }
    }

    fn of_the_api(&self, internal: Option<&str>) -> Vec<Probe> {
        let mut hosts: BTreeSet<(String, u16)> = self.server.iter().cloned().collect();
        hosts.extend(self.domain.iter().map(|domain| (format!("api.{domain}"), API)));
        hosts.extend(internal.map(|name| (name.to_string(), API)));
        let mut probes = Vec::new();
        for (host, port) in hosts {
            let ready = get(&host, port, None, "/readyz", Headers::default());
            probes.push(self.tls(Door::Api, &host, port, None));
            probes.push(Probe::HttpDate(ready.clone()));
            probes.push(Probe::Http(ready));
        }
        for vip in &self.api_vips {
            probes.push(self.tls(Door::Api, vip, API, internal));
            probes.push(Probe::TlsTries(TlsTriesProbe {
                target: Target::new(vip, API),
                name: internal.map(str::to_string),
                tries: TRIES,
                pause: PAUSE,
                bundles: self.bundles_for(Door::Api),
            }));
        }
        let vips = self.api_vips.iter().chain(&self.ingress_vips);
        probes.extend(vips.filter_map(|vip| vip.parse().ok()).map(|vip| neighbours(vip, API)));
        for node in self.chosen().into_iter().filter(|node| node.control_plane) {
            probes.push(self.tls(Door::Api, &node.address, API, internal));
        }
        probes
    }

    fn of_machine_configs(&self, internal: Option<&str>) -> Vec<Probe> {
        let mut servers: BTreeSet<&str> = self.api_vips.iter().map(String::as_str).collect();
        servers.extend(internal);
        let masters = self.chosen().into_iter().filter(|node| node.control_plane);
        servers.extend(masters.map(|node| node.address.as_str()));
        let mut probes = Vec::new();
        for host in servers {
            let headers = Headers(vec![(IGNITION.0.into(), IGNITION.1.into())]);
            let path = "/config/worker";
            probes.push(self.tls(Door::MachineConfigs, host, MACHINE_CONFIG, internal));
            probes.push(Probe::Http(get(host, MACHINE_CONFIG, internal, path, headers)));
        }
        probes
    }

    fn of_ingress(&self, label: &str) -> Vec<Probe> {
        let route = self.domain.as_ref().map(|domain| format!("{A_ROUTE}.apps.{domain}"));
        let mut probes = Vec::new();
        if let Some(domain) = &self.domain {
            let name = format!("{label}.apps.{domain}");
            probes.push(self.tls(Door::Ingress, &name, INGRESS, None));
        }
        for vip in &self.ingress_vips {
            probes.extend(
                route.iter().map(|route| self.tls(Door::Ingress, vip, INGRESS, Some(route))),
            );
            probes.extend(self.matrix(Party::IngressVip, vip));
        }
        probes
    }

    fn of_a_node(&self, node: &NodeAt, on_link: &BTreeSet<IpAddr>) -> Vec<Probe> {
        // Whether it is there at all; every node listens on both.
        let mut probes: Vec<Probe> =
            [KUBELET, SSH].map(|port| Probe::Tcp(Target::new(&node.address, port))).into();
        let role = if node.control_plane { Party::ControlPlane } else { Party::Compute };
        probes.extend(self.matrix(role, &node.address));
        // It answers nothing to strangers, but tells the time to everybody.
        let headers = Headers::default();
        probes.push(Probe::HttpDate(get(&node.address, KUBELET, None, "/healthz", headers)));
        let near = node.address.parse().ok().filter(|address| on_link.contains(address));
        probes.extend(near.map(|address| neighbours(address, KUBELET)));
        probes
    }

    /// What has to be open there for somebody who stands where this runs.
    fn matrix(&self, party: Party, host: &str) -> Vec<Probe> {
        let here = self
            .here
            .as_ref()
            .map(|name| self.nodes.iter().any(|node| node.control_plane && is_named(node, name)));
        let parties: &[Party] = match here {
            None => &[Party::Workstation],
            Some(true) => &[Party::Node, Party::ControlPlane],
            Some(false) => &[Party::Node, Party::Compute],
        };
        ports(party, Phase::Running)
            .filter(|port| port.from.iter().any(|from| parties.contains(from)))
            .filter_map(|port| port.probe(host))
            .collect()
    }

    fn of_names(&self, label: &str) -> Vec<Probe> {
        let Some(domain) = &self.domain else { return Vec::new() };
        let nodes = self.chosen();
        let mut named = Vec::new();
        let mut questions = Vec::new();
        for node in nodes {
            let address: Option<IpAddr> = node.address.parse().ok();
            match &node.full_name {
                Some(name) => {
                    let (name, addresses) = (name.clone(), address.into_iter().collect());
                    named.push(Node { name, addresses });
                }
                // By a short name a resolver finds whatever its search list holds.
                None => questions.extend(address.map(Question::Ptr)),
            }
        }
        let names = cluster_names(domain, &named, label);
        questions.extend(names.into_iter().map(|name| name.question));
        let ask = |question| Probe::Dns(DnsProbe { question, resolver: Resolver::System });
        questions.into_iter().map(ask).collect()
    }

    fn bundles_for(&self, door: Door) -> Arc<[Bundle]> {
        let bundles = self.bundles.iter().filter(|(name, _)| door.is_for(name));
        bundles.map(|(name, pem)| Bundle::from_pem(name.clone(), pem.as_bytes())).collect()
    }

    fn tls(&self, door: Door, host: &str, port: u16, name: Option<&str>) -> Probe {
        let bundles = self.bundles_for(door);
        let target = Target::new(host, port);
        Probe::Tls(TlsProbe { target, name: name.map(str::to_string), bundles })
    }
}

/// A node knows itself by its short name, too.
fn is_named(node: &NodeAt, name: &str) -> bool {
    node.name == name || node.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'))
}

fn get(host: &str, port: u16, name: Option<&str>, path: &str, headers: Headers) -> HttpProbe {
    let name = name.map(str::to_string);
    HttpProbe { target: Target::new(host, port), name, tls: true, path: path.into(), headers }
}

fn neighbours(address: IpAddr, touch: u16) -> Probe {
    let (tries, pause) = (TRIES, PAUSE);
    Probe::Neighbour(NeighbourProbe { address, touch, tries, pause, forget: false })
}

/// Each question once; and whether a port is open is told by whoever speaks TLS with it.
fn without_repeats(probes: &mut Vec<Probe>) {
    let spoken: BTreeSet<Target> = probes
        .iter()
        .filter_map(|probe| match probe {
            Probe::Tls(tls) => Some(tls.target.clone()),
            _ => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    probes.retain(|probe| {
        let told = matches!(probe, Probe::Tcp(target) if spoken.contains(target));
        !told && seen.insert(probe.id())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, address: &str, control_plane: bool) -> NodeAt {
        let full_name = name.contains('.').then(|| name.to_string());
        NodeAt { name: name.into(), address: address.into(), full_name, control_plane }
    }

    fn lab() -> Outside {
        Outside {
            domain: Some("lab.example.com".into()),
            api_vips: vec!["192.0.2.5".into()],
            ingress_vips: vec!["192.0.2.6".into()],
            nodes: vec![
                node("worker-0", "192.0.2.30", false),
                node("master-0.lab.example.com", "192.0.2.20", true),
            ],
            time_servers: vec!["192.0.2.123".into()],
            ..Outside::default()
        }
    }

    fn ids(outside: &Outside, on_link: &[&str]) -> Vec<String> {
        let on_link = on_link.iter().map(|address| address.parse().unwrap()).collect();
        let plan = outside.plan(Time::UNIX_EPOCH, &on_link);
        plan.probes.iter().map(Probe::id).collect()
    }

    /// Of the ports that are only tried.
    fn tcp(outside: &Outside, address: &str) -> Vec<String> {
        let prefix = format!("tcp/{address}:");
        let ids = ids(outside, &[]);
        ids.iter().filter_map(|id| id.strip_prefix(&prefix)).map(str::to_string).collect()
    }

    #[test]
    fn ports_are_tried_that_are_meant_for_where_this_stands() {
        let mut outside = lab();
        assert_eq!(tcp(&outside, "192.0.2.20"), ["10250", "22"]);
        assert_eq!(tcp(&outside, "192.0.2.30"), ["10250", "22", "80", "443"]);
        assert_eq!(tcp(&outside, "192.0.2.6"), ["80"], "443 is spoken to");
        outside.here = Some("master-0".into());
        assert_eq!(tcp(&outside, "192.0.2.20"), ["10250", "22", "2379", "2380"]);
        assert_eq!(tcp(&outside, "192.0.2.30"), ["10250", "22", "80", "443", "1936"]);
        outside.here = Some("worker-0".into());
        assert_eq!(tcp(&outside, "192.0.2.20"), ["10250", "22"], "etcd is not for workers");
    }

    #[test]
    fn every_node_tells_the_time_and_those_on_the_link_who_they_are() {
        let all = ids(&lab(), &["192.0.2.30"]);
        let has = |id: &str| all.iter().any(|known| known == id);
        for id in [
            "http-date/192.0.2.20:10250/healthz",
            "http-date/192.0.2.30:10250/healthz",
            "ntp/192.0.2.123:123",
            "neighbour/192.0.2.5",
            "neighbour/192.0.2.6",
            "neighbour/192.0.2.30",
        ] {
            assert!(has(id), "{id} in {all:#?}");
        }
        assert!(!has("neighbour/192.0.2.20"), "behind a router nobody's MAC is seen");
    }

    #[test]
    fn doors_are_called_by_the_names_of_their_certificates() {
        let all = ids(&lab(), &[]);
        for id in [
            "tls/192.0.2.6:443/console-openshift-console.apps.lab.example.com",
            "tls/plimsoll-0.apps.lab.example.com:443",
            "tls/192.0.2.20:6443/api-int.lab.example.com",
            "tls/192.0.2.20:22623/api-int.lab.example.com",
            "tls/192.0.2.5:22623/api-int.lab.example.com",
        ] {
            assert!(all.iter().any(|known| known == id), "{id} in {all:#?}");
        }
        let mut once = all.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), all.len(), "nothing is asked twice");
    }

    #[test]
    fn nodes_are_asked_for_by_full_names_only() {
        let all = ids(&lab(), &[]);
        let dns: Vec<&String> = all.iter().filter(|id| id.starts_with("dns/")).collect();
        let asks = |part: &str| dns.iter().any(|id| id.contains(part));
        assert!(asks("dns/master-0.lab.example.com/") && asks("dns/192.0.2.20/"), "{dns:#?}");
        assert!(!asks("worker-0"), "{dns:#?}");
        assert!(asks("dns/192.0.2.30/"), "{dns:#?}");
    }

    #[test]
    fn a_certificate_is_held_against_what_its_clients_trust() {
        let bundles = ["kubeconfig", "root-ca", "user-data/worker", "ingress-ca"];
        let bundles = bundles.map(|name| (name.to_string(), String::new())).into();
        let outside = Outside { bundles, ..lab() };
        let plan = outside.plan(Time::UNIX_EPOCH, &BTreeSet::new());
        let held = |target: &str| -> Vec<String> {
            let mut found = plan.probes.iter().filter_map(|probe| match probe {
                Probe::Tls(tls) if tls.target.to_string() == target => Some(&tls.bundles),
                _ => None,
            });
            found.next().unwrap().iter().map(|bundle| bundle.name.clone()).collect()
        };
        assert_eq!(held("192.0.2.5:6443"), ["kubeconfig"]);
        assert_eq!(held("192.0.2.20:22623"), ["root-ca", "user-data/worker"]);
        assert_eq!(held("192.0.2.6:443"), ["kubeconfig", "ingress-ca"]);
    }

    #[test]
    fn of_a_large_cluster_the_control_plane_comes_first() {
        let mut outside = lab();
        let others = (0..200).map(|n| node(&format!("a-{n}"), &format!("198.51.100.{n}"), false));
        outside.nodes.splice(0..0, others);
        let tried = ids(&outside, &[]).into_iter().filter(|id| id.ends_with(":22"));
        let tried: Vec<String> = tried.collect();
        assert_eq!(
            (tried.len(), tried[0].as_str()),
            (super::super::MOST_NODES, "tcp/192.0.2.20:22")
        );
    }

    #[test]
    fn nothing_known_nothing_asked() {
        assert_eq!(ids(&Outside::default(), &[]), Vec::<String>::new());
    }
}
