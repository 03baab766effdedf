//! The networks of a cluster, and what an address is to them.

use std::net::IpAddr;

use plimsoll_install::{File, InstallConfig, Judgement, Network, parse_ip};

/// The networks that a config gives the cluster.
#[derive(Default)]
pub struct Nets {
    /// `None` where they could not be read: then nothing is inside or outside.
    pub machine: Option<Vec<Network>>,
    /// Whether the user wrote them, or the installer's default stands for them.
    pub machine_written: bool,
    pub cluster: Vec<Network>,
    pub service: Vec<Network>,
}

impl Nets {
    pub fn of(judgement: &Judgement) -> Self {
        let Some(config) = &judgement.config.install else { return Self::default() };
        let networking = &config.networking;
        let real = |network: &Network| network.address().is_some();
        let machine: Vec<Network> = networking.machine_networks().copied().collect();
        let unread = |key: &str| judgement.unread.touches(File::Install, key);
        let half_read = unread("networking.machineNetwork") || unread("networking.machineCIDR");
        Self {
            machine_written: networking.machine.iter().any(|network| network.written),
            machine: Some(machine).filter(|_| !half_read),
            cluster: networks_of_pods(config).filter(real).collect(),
            service: networking.service.iter().map(|network| network.value).filter(real).collect(),
        }
    }

    pub fn in_machine(&self, address: IpAddr) -> Option<bool> {
        let machine = self.machine.as_ref()?;
        Some(machine.iter().any(|network| network.contains(address)))
    }

    /// The machine network that holds an address.
    pub fn machine_of(&self, address: IpAddr) -> Option<&Network> {
        self.machine.as_ref()?.iter().find(|network| network.contains(address))
    }

    /// The network inside the cluster that hides an address from pods and nodes.
    pub fn hidden_by(&self, address: IpAddr) -> Option<String> {
        let holds = |network: &&Network| network.contains(address);
        let pods = self.cluster.iter().find(holds).map(|it| format!("cluster network {it}"));
        pods.or_else(|| self.service.iter().find(holds).map(|it| format!("service network {it}")))
    }

    pub fn machine_shown(&self) -> Vec<String> {
        let real = self.machine.iter().flatten().filter(|network| network.address().is_some());
        real.map(Network::to_string).collect()
    }
}

fn networks_of_pods(config: &InstallConfig) -> impl Iterator<Item = Network> {
    config.networking.cluster.iter().map(|network| network.cidr.value)
}

/// What an address is in its network, if it is none that a machine can have.
pub fn edge(network: &Network, address: IpAddr) -> Option<&'static str> {
    // IPv6 has no broadcast, and links of two have neither.
    if !network.is_ipv4() || network.prefix() > 30 || !network.contains(address) {
        return None;
    }
    if network.masked_address() == Some(address) {
        Some("the network address")
    } else if network.last_address() == Some(address) {
        Some("the broadcast address")
    } else {
        None
    }
}

pub fn subnet(address: IpAddr, prefix: u8) -> Option<Network> {
    Network::parse(&format!("{address}/{prefix}")).map(|network| network.masked())
}

pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// Both ends of `start,end`.
pub fn range(text: &str) -> Option<(IpAddr, IpAddr)> {
    let (start, end) = text.split_once(',')?;
    let ends = (parse_ip(start.trim())?, parse_ip(end.trim())?);
    (ends.0.is_ipv4() == ends.1.is_ipv4()).then_some(ends)
}

/// How many addresses a range has; none or less where its end is before its start.
pub fn size((start, end): (IpAddr, IpAddr)) -> i64 {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let (start, end) = (bits(start), bits(end));
    let clamped = |n: u128| i64::try_from(n).unwrap_or(i64::MAX);
    if end >= start {
        clamped(end - start).saturating_add(1)
    } else {
        1_i64.saturating_sub(clamped(start - end))
    }
}

pub fn in_range((start, end): (IpAddr, IpAddr), address: IpAddr) -> bool {
    let one_family = start.is_ipv4() == address.is_ipv4() && end.is_ipv4() == address.is_ipv4();
    one_family && start <= address && address <= end
}

/// How many subnets of `host_prefix` a network has; as many as there are numbers at most.
pub fn subnets(network: &Network, host_prefix: i64) -> i64 {
    let bits = host_prefix - i64::from(network.prefix());
    match u32::try_from(bits) {
        Ok(bits) if bits < 62 => 1_i64 << bits,
        Ok(_) => i64::MAX,
        Err(_) => 0,
    }
}

/// The address in a `host`, `host:port` or `[v6]:port`.
pub fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(v6, _)| v6);
    parse_ip(bare.unwrap_or(host))
        .or_else(|| host.rsplit_once(':').and_then(|(host, _)| parse_ip(host)))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use plimsoll_install::offset;
    use proptest::prelude::*;

    use super::*;

    fn net(text: &str) -> Network {
        Network::parse(text).unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn edges_are_of_ipv4_networks_of_four_and_more() {
        assert_eq!(edge(&net("10.0.0.0/24"), ip("10.0.0.0")), Some("the network address"));
        assert_eq!(edge(&net("10.0.0.0/24"), ip("10.0.0.255")), Some("the broadcast address"));
        assert_eq!(edge(&net("10.0.0.0/23"), ip("10.0.0.255")), None);
        assert_eq!(edge(&net("10.0.0.0/31"), ip("10.0.0.0")), None);
        assert_eq!(edge(&net("fd00::/64"), ip("fd00::")), None);
        assert_eq!(edge(&net("10.0.0.0/24"), ip("10.0.1.0")), None);
    }

    #[test]
    fn literals_are_read_with_and_without_a_port() {
        assert_eq!(literal("10.0.0.1:5000"), Some(ip("10.0.0.1")));
        assert_eq!(literal("[fd00::1]:5000"), Some(ip("fd00::1")));
        assert_eq!(literal("fd00::1"), Some(ip("fd00::1")));
        assert_eq!(literal("registry.lab:5000"), None);
    }

    #[test]
    fn ranges_count_from_their_start() {
        let of = |text: &str| size(range(text).unwrap());
        assert_eq!(of("172.22.0.10,172.22.0.254"), 245);
        assert_eq!(of("172.22.0.10,172.22.0.10"), 1);
        assert_eq!(of("172.22.0.11,172.22.0.10"), 0);
        assert_eq!(of("fd00::10,fd00::f"), 0);
        assert_eq!(of("::,ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), i64::MAX);
        assert_eq!(range("172.22.0.10,fd00::1"), None);
        assert_eq!(range("172.22.0.10"), None);
    }

    fn any_ip() -> impl Strategy<Value = IpAddr> {
        prop_oneof![
            any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits))),
            any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits))),
        ]
    }

    proptest! {
        #[test]
        fn a_subnet_holds_its_address(address in any_ip(), prefix in 0u8..=128) {
            let width = if address.is_ipv4() { 32 } else { 128 };
            // An IPv4 address inside IPv6 is counted as that IPv4 address.
            prop_assume!(parse_ip(&address.to_string()) == Some(address));
            let subnet = subnet(address, prefix);
            prop_assert_eq!(subnet.is_some(), prefix <= width);
            if let Some(subnet) = subnet {
                prop_assert!(subnet.contains(address));
            }
        }

        #[test]
        fn only_the_ends_of_a_network_are_edges(address in any_ip(), prefix in 0u8..=32) {
            if let Some(network) = subnet(address, prefix) {
                let at_end = network.masked_address() == Some(address) || network.last_address() == Some(address);
                let expected = at_end && address.is_ipv4() && prefix <= 30;
                prop_assert_eq!(edge(&network, address).is_some(), expected);
            }
        }

        #[test]
        fn a_range_holds_its_ends_and_is_as_long_as_they_are_apart(start in any_ip(), by in 0i64..1_000_000) {
            prop_assume!(parse_ip(&start.to_string()) == Some(start));
            if let Some(end) = offset(start, by) {
                let ends = (start, end);
                prop_assert!(in_range(ends, start) && in_range(ends, end));
                prop_assert_eq!(size(ends), by + 1);
                prop_assert_eq!(size((end, start)), 1 - by);
                if let Some(beyond) = offset(end, 1) {
                    prop_assert!(!in_range(ends, beyond));
                }
                prop_assert_eq!(range(&format!("{start}, {end}")), Some(ends));
            }
        }

        #[test]
        fn subnets_are_counted_without_overflow(bits in any::<u32>(), prefix in 0u8..=32, host in -5i64..400) {
            let network = subnet(IpAddr::V4(Ipv4Addr::from_bits(bits)), prefix).unwrap();
            let count = subnets(&network, host);
            prop_assert_eq!(count > 0, host >= i64::from(prefix));
        }
    }
}
